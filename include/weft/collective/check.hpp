// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/collective/step_list.hpp>
#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>

#include <cstdint>
#include <string>

namespace weft::inline v1::collective {

/// What a step list must achieve.
enum class goal : std::uint8_t { broadcast, reduce, all_gather, reduce_scatter, all_reduce };

enum class list_fault : std::uint8_t {
  none,
  bad_step,            ///< a rank, chunk or round that does not exist, a message to oneself, or rounds out of order
  written_twice,       ///< two messages for one chunk of one rank in one round
  read_while_written,  ///< a chunk that is sent in the very round in which it is replaced
  missing,             ///< a contribution that did not arrive
  counted_twice,       ///< a contribution that was added more than once
  foreign              ///< a contribution that does not belong there
};

struct list_verdict {
  list_fault what = list_fault::none;
  int step = -1;
  int rank = -1;
  int chunk = -1;
  int contributor = -1;
  int count = 0;

  [[nodiscard]] constexpr bool correct() const { return what == list_fault::none; }
};

/// Plays a step list on sets of contributions and checks that at its end every rank holds each contribution that the
/// goal promises exactly once, and no other. Does not communicate. O(steps * ranks).
///
/// Before the first round: broadcast: `root` has the chunk. all_gather: rank r has chunk r. The others: every rank has
/// its own contribution to every chunk.
constexpr list_verdict check(step_list const& list, goal wanted, int root = 0) {
  int const ranks = list.ranks;
  int const chunks = list.chunks;
  detail::buffer<int> now(ranks * chunks * ranks);
  auto const at = [=](int rank, int chunk, int contributor) { return (rank * chunks + chunk) * ranks + contributor; };
  for (int rank = 0; rank < ranks; ++rank)
    for (int chunk = 0; chunk < chunks; ++chunk) {
      bool const has = wanted == goal::broadcast ? rank == root : wanted == goal::all_gather ? rank == chunk : true;
      if (has) now[at(rank, chunk, rank)] = 1;
    }

  detail::buffer<int> written_in(ranks * chunks);   // 1 + round
  detail::buffer<int> replaced_in(ranks * chunks);  // 1 + round, where the arrival is a copy
  detail::buffer<int> sent_in(ranks * chunks);      // 1 + round
  int most = 0;                                     // steps of one round
  for (int first = 0, last = 0; first < list.size(); first = last) {
    while (last < list.size() && list.steps[last].round == list.steps[first].round) ++last;
    most = last - first > most ? last - first : most;
  }
  detail::buffer<int> sent(most * ranks);  // what the rounds before left behind
  int* const held = now.data();
  int* const arriving = sent.data();
  int round = 0;
  for (int first = 0, last = 0; first < list.size(); first = last) {
    for (; last < list.size() && list.steps[last].round == list.steps[first].round; ++last) {
      step const each = list.steps[last];
      if (each.from < 0 || each.from >= ranks || each.to < 0 || each.to >= ranks || each.from == each.to ||
          each.chunk < 0 || each.chunk >= chunks || each.round < round || each.round >= list.rounds)
        return {list_fault::bad_step, last, each.from, each.chunk, -1, 0};
      round = each.round;
      int& written = written_in[each.to * chunks + each.chunk];
      if (written == round + 1) return {list_fault::written_twice, last, each.to, each.chunk, -1, 0};
      written = round + 1;
      if (each.what == arrival::copy) replaced_in[each.to * chunks + each.chunk] = round + 1;
      sent_in[each.from * chunks + each.chunk] = round + 1;
      if (replaced_in[each.from * chunks + each.chunk] == round + 1)
        return {list_fault::read_while_written, last, each.from, each.chunk, -1, 0};
      if (each.what == arrival::copy && sent_in[each.to * chunks + each.chunk] == round + 1)
        return {list_fault::read_while_written, last, each.to, each.chunk, -1, 0};
      int const* const from = held + at(each.from, each.chunk, 0);
      int* const to = arriving + (last - first) * ranks;
      for (int contributor = 0; contributor < ranks; ++contributor) to[contributor] = from[contributor];
    }
    for (int index = first; index < last; ++index) {
      step const each = list.steps[index];
      int const* const from = arriving + (index - first) * ranks;
      int* const to = held + at(each.to, each.chunk, 0);
      if (each.what == arrival::add)
        for (int contributor = 0; contributor < ranks; ++contributor) to[contributor] += from[contributor];
      else
        for (int contributor = 0; contributor < ranks; ++contributor) to[contributor] = from[contributor];
    }
  }

  for (int rank = 0; rank < ranks; ++rank)
    for (int chunk = 0; chunk < chunks; ++chunk) {
      bool const promised = wanted == goal::reduce           ? rank == root
                            : wanted == goal::reduce_scatter ? rank == chunk
                                                             : true;
      if (!promised) continue;
      int const* const held_here = held + at(rank, chunk, 0);
      for (int contributor = 0; contributor < ranks; ++contributor) {
        bool const due = wanted == goal::broadcast    ? contributor == root
                         : wanted == goal::all_gather ? contributor == chunk
                                                      : true;
        int const count = held_here[contributor];
        if (count == (due ? 1 : 0)) continue;
        list_fault const what = !due         ? list_fault::foreign
                                : count == 0 ? list_fault::missing
                                             : list_fault::counted_twice;
        return {what, -1, rank, chunk, contributor, count};
      }
    }
  return {};
}

/// One sentence; empty for a correct list.
inline std::string explain(list_verdict const& found) {
  auto const number = [](int value) { return std::to_string(value); };
  std::string const where = "weft::collective: ";
  std::string const place = "chunk " + number(found.chunk) + " on rank " + number(found.rank) + ": ";
  switch (found.what) {
    case list_fault::none: return "";
    case list_fault::bad_step:
      return where + "step " + number(found.step) +
             " names a rank, chunk or round that does not exist, or itself; correct it";
    case list_fault::written_twice:
      return where + place + "step " + number(found.step) + " writes it a second time in one round; use a later round";
    case list_fault::read_while_written:
      return where + place + "step " + number(found.step) +
             " replaces it in the round that sends it; use a later round";
    case list_fault::missing:
      return where + place + "the part of rank " + number(found.contributor) + " never arrives; add a step";
    case list_fault::counted_twice:
      return where + place + "the part of rank " + number(found.contributor) + " is counted " + number(found.count) +
             " times; remove a step";
    case list_fault::foreign:
      return where + place + "holds the part of rank " + number(found.contributor) +
             ", which does not belong there; copy, not add";
  }
  return where + "unknown fault";
}

static_assert(check(step_list{1, 1, 0, {}}, goal::broadcast).correct());

}  // namespace weft::inline v1::collective
