// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/collective/step_list.hpp>
#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/number_memory.hpp>
#include <weft/transport/wait.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace weft::inline v1::transport {

/// One step list under way over an endpoint. Never blocks: `advance` posts, tests and adds. Collective
/// over the endpoint's ranks: all of them construct it and start it with the same list, sizes and tag. Any number may
/// be under way at once, each with a tag of its own; they move only while they are advanced, so a rank that waits for
/// one of them goes on advancing those that others may wait for (`on_turn`).
///
/// How. A chunk is cut into cells of at most one segment; a message carries one cell, or several neighbouring chunks
/// that fit into one segment together. A cell knows how often it was written and read in this run, and every message
/// knows how often that must have been before it may go: so cells wander through the rounds independently of each
/// other, and one segment is added while the next one travels. Cutting changes no addition: which chunk an element is
/// in, and what is added to it in which order, follow from the list alone.
///
/// Both ends post the messages between them in one order, (round, segment, place in the list), which is also an order
/// in which everything can be completed; a receive is posted only once all earlier ones have been. That is why a
/// bounded number of posts and of scratch segments cannot deadlock, whatever the transport buffers: the first message
/// of that order which is not through yet waits for none but itself.
///
/// Memory: `scratch_bytes()`, allocated by the constructor; nothing is allocated afterwards. `Memory`: where the
/// numbers are and how they are added, with one association and so the same bits; memory that the host may not touch
/// needs messages in parts.
template <class Number, class Memory = host_numbers<Number>>
  requires number_memory<Memory, Number>
class running_collective {
 public:
  /// `what` names the operation in messages and must outlive this object. `in_parts`: messages have no head, and bodies
  /// where the numbers are; the same on all ranks, see `bodies_in_place`. Does not communicate.
  running_collective(endpoint& door, collective::step_list const& list, std::int64_t elements, int tag,
                     char const* what, std::int64_t segment_elements = collective::segment_bytes / sizeof(Number),
                     bool in_parts = false, Memory memory = Memory())
      : door_(door),
        tag_(tag),
        what_(what),
        in_parts_(in_parts),
        memory_(std::move(memory)) {
    if (list.ranks != door.size())
      throw error(where() + "the step list is for " + std::to_string(list.ranks) + " ranks and there are " +
                      std::to_string(door.size()) + "; make one of the right size",
                  {.rank = own_global_rank()});
    if (elements < 0 || segment_elements < 1)
      throw error(where() + std::to_string(elements) + " elements in segments of " + std::to_string(segment_elements) +
                      "; neither may be negative, and a segment holds at least 1",
                  {.rank = own_global_rank()});
    compile(list, elements, segment_elements);
  }
  running_collective(running_collective const&) = delete;
  running_collective& operator=(running_collective const&) = delete;
  ~running_collective() { give_up(); }

  /// Begins on `data`, which must stay where it is until the run is complete. Posts what can be posted.
  void start(Number* data) {
    if (is_running_)
      throw error(where() + "it is under way already; wait for it before it is started again",
                  {.rank = own_global_rank(), .tag = tag_});
    data_ = data;
    std::fill(cells_.begin(), cells_.end(), uses{});
    sends_done_ = sends_posted_ = receives_done_ = receives_posted_ = 0;
    adds_posted_ = adds_done_ = 0;
    is_running_ = sends_.size() + receives_.size() > 0;
    if (is_running_) post();
  }

  /// True once this rank's part is complete: its buffer holds the result, and may be changed. Does not block.
  [[nodiscard]] bool advance() {
    if (!is_running_) return true;
    for (; sends_done_ < sends_posted_; ++sends_done_) {
      if (!door_.test(posted_send(sends_done_))) break;
      for (auto& cell : cells_of(sends_[sends_done_])) ++cell.reads;
    }
    for (std::size_t index = receives_done_; index < receives_posted_; ++index) settle(index);
    for (; receives_done_ < receives_posted_ && posted_receive(receives_done_).is_through; ++receives_done_)
      if (receives_[receives_done_].adds) ++adds_done_;
    post();
    is_running_ = sends_done_ < sends_.size() || receives_done_ < receives_.size();
    return !is_running_;
  }

  /// Advances until complete, letting other ranks run in between. Throws `remote_error` when another rank has failed,
  /// and `error` when nothing has happened for `deadline` seconds (0 or less: never).
  void wait(double deadline) {
    wait(deadline, [] {});
  }

  /// The same; `on_turn()` is called in every unsuccessful turn, for whoever has other messages to move meanwhile.
  template <class OnTurn>
  void wait(double deadline, OnTurn&& on_turn) {
    wait_by_parts(
        door_, deadline, [&] { return advance(); }, [&] { return progress(); },
        [&](double waited) { refuse_to_wait(waited); }, on_turn);
  }

  /// Abandons what is under way, after a failure. False where the transport may go on reading from the data: its owner
  /// must then keep that memory for ever.
  bool give_up() noexcept {
    bool is_free = true;
    for (std::size_t index = sends_done_; index < sends_posted_; ++index)
      is_free = door_.abandon(posted_send(index)) && is_free;
    for (std::size_t index = receives_done_; index < receives_posted_; ++index)
      is_free = door_.abandon(posted_receive(index).posted) && is_free;
    sends_done_ = sends_posted_;
    receives_done_ = receives_posted_;
    if (is_running_) memory_.finish();
    is_running_ = false;
    return is_free;
  }

  [[nodiscard]] bool is_running() const { return is_running_; }
  /// Of this run: messages that are through.
  [[nodiscard]] std::size_t progress() const { return sends_done_ + receives_done_; }
  /// While it runs: the rank of the outermost endpoint whose message must come next.
  [[nodiscard]] int waits_for() const {
    bool const receives = receives_done_ < receives_posted_;
    return door_.global_rank(receives ? receives_[receives_done_].peer : sends_[sends_done_].peer);
  }
  [[nodiscard]] std::size_t scratch_bytes() const { return slots_ * slot_elements_ * sizeof(Number); }

 private:
  /// How often a cell was, or must have been, written by arrivals and read by sends that have completed.
  struct uses {
    int writes = 0;
    int reads = 0;
  };

  /// One message of this rank.
  struct message {
    int peer = -1;
    bool adds = false;
    int first_cell = 0;
    int cell_count = 0;
    std::size_t needs = 0;   // the first cell's place in `needs_`
    std::int64_t begin = 0;  // elements
    std::size_t count = 0;
  };

  struct arrival_state {
    request posted;
    Number* scratch = nullptr;
    bool has_arrived = false;
    bool is_adding = false;
    bool is_through = false;
    std::uint64_t added = 0;
  };

  /// Messages of one peer in one round that are cut alike: neighbouring chunks.
  struct run {
    int peer = -1;
    bool is_send = false;
    bool adds = false;
    int first_chunk = 0;
    int last_chunk = 0;
  };

  template <class Uses>
  struct range {
    Uses* first;
    Uses* last;
    Uses* begin() const { return first; }
    Uses* end() const { return last; }
  };

  void compile(collective::step_list const& list, std::int64_t elements, std::int64_t segment) {
    int const rank = door_.rank();
    auto const begin_of = [&](int chunk) { return collective::chunk_begin(elements, list.chunks, chunk); };
    auto const size_of = [&](int chunk) { return begin_of(chunk + 1) - begin_of(chunk); };
    auto const pieces_of = [&](int chunk) { return static_cast<int>((size_of(chunk) + segment - 1) / segment); };
    std::vector<int> first_cell(static_cast<std::size_t>(list.chunks) + 1, 0);
    for (int chunk = 0; chunk < list.chunks; ++chunk)
      first_cell[static_cast<std::size_t>(chunk) + 1] = first_cell[static_cast<std::size_t>(chunk)] + pieces_of(chunk);
    auto const cell_of = [&](int chunk) { return first_cell[static_cast<std::size_t>(chunk)]; };
    cells_.resize(static_cast<std::size_t>(first_cell.back()));
    std::vector<uses> so_far(cells_.size());

    std::size_t most_sends = 0;  // of one segment in one round
    std::size_t most_receives = 0;
    std::size_t largest_add = 0;
    std::size_t adds = 0;
    std::vector<run> runs;
    for (int index = 0; index < list.size();) {
      int const round = list.steps[index].round;
      runs.clear();
      for (; index < list.size() && list.steps[index].round == round; ++index) {
        auto const& step = list.steps[index];
        if ((step.from != rank && step.to != rank) || size_of(step.chunk) == 0) continue;
        join(runs,
             run{step.from == rank ? step.to : step.from, step.from == rank, step.what == collective::arrival::add,
                 step.chunk, step.chunk},
             [&](int first, int last) { return begin_of(last + 1) - begin_of(first) <= segment; });
      }
      int most_pieces = 0;
      std::size_t round_sends = 0;
      for (auto const& each : runs) {
        int const pieces = cell_of(each.last_chunk + 1) - cell_of(each.first_chunk);
        most_pieces = (std::max)(most_pieces, pieces);
        if (!each.is_send) continue;
        ++round_sends;
        for (int cell = cell_of(each.first_chunk); cell < cell_of(each.last_chunk + 1); ++cell)
          ++so_far[static_cast<std::size_t>(cell)].reads;
      }
      most_sends = (std::max)(most_sends, round_sends);
      most_receives = (std::max)(most_receives, runs.size() - round_sends);
      for (int piece = 0; piece < most_pieces; ++piece)
        for (auto const& each : runs) {
          bool const is_whole = each.first_chunk < each.last_chunk;
          int const pieces = is_whole ? 1 : pieces_of(each.first_chunk);
          if (piece >= pieces) continue;
          message made{each.peer, each.adds, cell_of(each.first_chunk) + piece, 1, needs_.size(), 0, 0};
          if (is_whole) made.cell_count = cell_of(each.last_chunk + 1) - made.first_cell;
          std::int64_t const first = begin_of(each.first_chunk);
          std::int64_t const size = begin_of(each.last_chunk + 1) - first;
          made.begin = first + collective::chunk_begin(size, pieces, piece);
          made.count = static_cast<std::size_t>(first + collective::chunk_begin(size, pieces, piece + 1) - made.begin);
          for (int cell = 0; cell < made.cell_count; ++cell)
            needs_.push_back(so_far[static_cast<std::size_t>(made.first_cell + cell)]);
          (each.is_send ? sends_ : receives_).push_back(made);
          if (each.is_send || !each.adds) continue;
          ++adds;
          largest_add = (std::max)(largest_add, made.count);
        }
      for (auto const& each : runs)
        if (!each.is_send)
          for (int cell = cell_of(each.first_chunk); cell < cell_of(each.last_chunk + 1); ++cell)
            ++so_far[static_cast<std::size_t>(cell)].writes;
    }

    // At least all of one segment of one round, see the class comment.
    posted_sends_.resize((std::min)(sends_.size(), (std::max)(most_sends, most_posted_sends)));
    posted_receives_.resize((std::min)(receives_.size(), (std::max)(most_receives, most_posted_receives)));
    slots_ = (std::min)(adds, (std::max)(most_receives, most_scratch_segments));
    slot_elements_ = largest_add;
    if (slots_ * slot_elements_ > 0) scratch_ = memory_.make_scratch(slots_ * slot_elements_);
    if (in_parts_) announce();
  }

  /// Both ends of a message count the same.
  void announce() {
    for (bool const is_send : {true, false})
      for (int peer = 0; peer < door_.size(); ++peer) {
        std::size_t most = 0;
        for (auto const& each : is_send ? sends_ : receives_)
          if (each.peer == peer) most = (std::max)(most, each.count * sizeof(Number));
        if (most > 0) door_.prepare_parts(is_send, most, peer, tag_);
      }
  }

  /// Appends a message, or lengthens the last one of the same kind where both fit into one segment.
  template <class Fits>
  static void join(std::vector<run>& runs, run const& next, Fits&& fits) {
    for (auto each = runs.rbegin(); each != runs.rend(); ++each) {
      if (each->peer != next.peer || each->is_send != next.is_send) continue;
      if (each->adds == next.adds && each->last_chunk + 1 == next.first_chunk &&
          fits(each->first_chunk, next.last_chunk)) {
        each->last_chunk = next.last_chunk;
        return;
      }
      break;
    }
    runs.push_back(next);
  }

  void post() {
    for (; receives_posted_ < receives_.size() && receives_posted_ - receives_done_ < posted_receives_.size();
         ++receives_posted_) {
      message const& each = receives_[receives_posted_];
      auto& state = posted_receive(receives_posted_);
      Number* into = data_ + each.begin;
      if (each.adds) {
        if (adds_posted_ - adds_done_ >= slots_) break;
        into = scratch_ + adds_posted_ % slots_ * slot_elements_;
      } else if (!may_write(each)) {
        break;
      }
      state = {};
      state.scratch = into;
      state.posted = post_receive(into, each);
      if (each.adds) ++adds_posted_;
    }
    for (; sends_posted_ < sends_.size() && sends_posted_ - sends_done_ < posted_sends_.size(); ++sends_posted_) {
      message const& each = sends_[sends_posted_];
      if (!may_read(each)) break;
      posted_send(sends_posted_) = post_send(each);
    }
  }
  [[nodiscard]] request post_receive(Number* into, message const& each) {
    std::size_t const bytes = each.count * sizeof(Number);
    if (in_parts_) return door_.receive_parts({nullptr, 0, into, bytes}, each.peer, tag_);
    return door_.receive(into, bytes, each.peer, tag_);
  }
  [[nodiscard]] request post_send(message const& each) {
    std::size_t const bytes = each.count * sizeof(Number);
    if (in_parts_) return door_.send_parts({nullptr, 0, data_ + each.begin, bytes}, each.peer, tag_);
    return door_.send(data_ + each.begin, bytes, each.peer, tag_);
  }

  /// Looks at one posted receive; adds what has arrived as soon as nobody reads the old value any more.
  void settle(std::size_t index) {
    auto& state = posted_receive(index);
    if (state.is_through) return;
    message const& each = receives_[index];
    if (!state.has_arrived) {
      if (!door_.test(state.posted)) return;
      if (door_.received_bytes() != each.count * sizeof(Number)) refuse_size(each);
      state.has_arrived = true;
    }
    if (each.adds) {
      if (!state.is_adding) {
        if (!may_write(each)) return;
        state.added = memory_.add(data_ + each.begin, state.scratch, each.count);
        state.is_adding = true;
      }
      if (!memory_.is_done(state.added)) return;
    }
    for (auto& cell : cells_of(each)) ++cell.writes;
    state.is_through = true;
  }

  [[nodiscard]] bool may_read(message const& each) const {
    for (int cell = 0; cell < each.cell_count; ++cell)
      if (cells_[static_cast<std::size_t>(each.first_cell + cell)].writes !=
          needs_[each.needs + static_cast<std::size_t>(cell)].writes)
        return false;
    return true;
  }
  [[nodiscard]] bool may_write(message const& each) const {
    for (int cell = 0; cell < each.cell_count; ++cell) {
      uses const& now = cells_[static_cast<std::size_t>(each.first_cell + cell)];
      uses const& needed = needs_[each.needs + static_cast<std::size_t>(cell)];
      if (now.writes != needed.writes || now.reads < needed.reads) return false;
    }
    return true;
  }

  [[nodiscard]] range<uses> cells_of(message const& each) {
    uses* const first = cells_.data() + each.first_cell;
    return {first, first + each.cell_count};
  }

  [[nodiscard]] request& posted_send(std::size_t index) { return posted_sends_[index % posted_sends_.size()]; }
  [[nodiscard]] arrival_state& posted_receive(std::size_t index) {
    return posted_receives_[index % posted_receives_.size()];
  }

  [[nodiscard]] std::string where() const { return "weft::transport: " + std::string(what_) + ": "; }
  [[nodiscard]] int own_global_rank() const { return door_.global_rank(door_.rank()); }

  [[noreturn]] void refuse_size(message const& each) const {
    throw error(
        where() + "rank " + std::to_string(own_global_rank()) + " received " + std::to_string(door_.received_bytes()) +
            " bytes from rank " + std::to_string(door_.global_rank(each.peer)) + " where " +
            std::to_string(each.count * sizeof(Number)) + " are right; all ranks must call it with the same sizes",
        {.rank = own_global_rank(), .peer = door_.global_rank(each.peer), .tag = tag_});
  }

  [[noreturn]] void refuse_to_wait(double waited) const {
    int const peer = waits_for();
    throw error(where() + "rank " + std::to_string(own_global_rank()) + " waited " +
                    std::to_string(static_cast<long>(waited)) + " s for rank " + std::to_string(peer) +
                    "; it is slow, stopped, or does something else",
                {.rank = own_global_rank(), .peer = peer, .tag = tag_});
  }

  static constexpr std::size_t most_posted_sends = 16;
  static constexpr std::size_t most_posted_receives = 8;
  static constexpr std::size_t most_scratch_segments = collective::scratch_segments;

  endpoint& door_;
  int tag_;
  char const* what_;
  bool in_parts_;
  Memory memory_;
  Number* data_ = nullptr;
  Number* scratch_ = nullptr;
  bool is_running_ = false;

  std::vector<message> sends_;     // in the order of the posts
  std::vector<message> receives_;  // likewise
  std::vector<uses> needs_;        // of every message, cell by cell
  std::vector<uses> cells_;        // now
  std::vector<request> posted_sends_;
  std::vector<arrival_state> posted_receives_;
  std::size_t slots_ = 0;
  std::size_t slot_elements_ = 0;

  std::size_t sends_posted_ = 0;
  std::size_t sends_done_ = 0;
  std::size_t receives_posted_ = 0;
  std::size_t receives_done_ = 0;  // all before it are through
  std::size_t adds_posted_ = 0;    // a scratch segment each, in turn
  std::size_t adds_done_ = 0;
};

}  // namespace weft::inline v1::transport
