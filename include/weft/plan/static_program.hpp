// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/plan/errors.hpp>
#include <weft/schedule/induction.hpp>
#include <weft/schedule/lower.hpp>
#include <weft/schedule/play.hpp>
#include <weft/schedule/table.hpp>
#include <weft/schedule/write_table.hpp>

namespace weft::inline v1 {

/// A policy's program as a constant: lowered, stored and proved while compiling, each in a constant of its own (so that
/// no single evaluation meets a compiler's limit). `view` is what engine and trainer play; nothing of it exists twice.
template <class Policy, int Ranks, int MicroBatches, schedule::lower_options const& Options, schedule::send_model Model,
          int SendSlots = Options.send_slots>
struct static_program {
  static constexpr int send_slots = SendSlots;
  static constexpr schedule::lower_options options = [] {
    schedule::lower_options result = Options;
    result.send_slots = SendSlots;
    return result;
  }();

  static constexpr schedule::table_size size = schedule::lowered_size<Policy>(Ranks, MicroBatches, options);
  static constexpr schedule::table<size> storage = schedule::freeze<size>(
      schedule::lower_once(schedule::write_table<Policy>(Ranks, MicroBatches).view(), options).view());
  static constexpr schedule::table_rows<Ranks> rows = schedule::rows_of(storage);
  static constexpr schedule::program_view view = schedule::view_of(storage, rows, Policy::name);
  using play = schedule::static_play<view, Model>;
  static constexpr schedule::verdict proof = play::value;
};

/// The same with as many send slots as the proof needs: twice as many each time, as `lower` does.
template <class Policy, int Ranks, int MicroBatches, schedule::lower_options const& Options, schedule::send_model Model,
          int SendSlots = Options.send_slots>
struct proved_program {
  using attempt = static_program<Policy, Ranks, MicroBatches, Options, Model, SendSlots>;

  /// Asked of a deadlock alone, since it costs as much as the proof.
  static constexpr bool needs_slots() {
    if constexpr (attempt::proof.what == schedule::defect::deadlock && SendSlots < MicroBatches)
      return schedule::play(attempt::view, schedule::send_model::buffered).playable();
    else
      return false;
  }
  static constexpr auto choose() {
    if constexpr (needs_slots())
      return proved_program<Policy, Ranks, MicroBatches, Options, Model,
                            schedule::more_send_slots(SendSlots, MicroBatches)>::choose();
    else
      return attempt{};
  }
  using type = decltype(choose());
};

namespace plan_detail {

/// Whether a program is proved in one constant of its own. It costs less than the arrays of fixed size that larger ones
/// need (clang: a million steps per constant), whose code is instantiated for every size.
template <class Policy>
constexpr bool is_small(int ranks, int micro_batches) {
  return ranks * Policy::chunks * Policy::placement::copies * micro_batches <= 400;
}

/// The direct proof of one count.
template <class Policy, int Ranks, int MicroBatches, schedule::lower_options const& Options, schedule::send_model Model>
constexpr schedule::induction prove_directly() {
  if constexpr (is_small<Policy>(Ranks, MicroBatches)) {
    schedule::induction result;
    schedule::lower_options options = Options;
    (void)schedule::lower_for(schedule::write_table<Policy>(Ranks, MicroBatches).view(), options, Model, result.found);
    result.micro_batches = MicroBatches;
    result.send_slots = options.send_slots;
    return result;
  } else {
    using program = typename proved_program<Policy, Ranks, MicroBatches, Options, Model>::type;
    return {.micro_batches = MicroBatches, .send_slots = program::send_slots, .found = program::proof};
  }
}

/// The proof of a few micro-batches that stands for `MicroBatches` and every larger count of its residue
/// (schedule/induction.hpp); `holds()` is false where no cut was found.
template <class Policy, int Ranks, int MicroBatches, schedule::lower_options const& Options>
struct inductive_proof {
  static constexpr schedule::repetition how = schedule::repetition_of(Policy{}, Ranks, MicroBatches);
  static constexpr int first = schedule::first_count(MicroBatches, how, Options);

  template <int Count, int Tries>
  static constexpr schedule::induction attempt() {
    using program = typename proved_program<Policy, Ranks, Count, Options, schedule::send_model::rendezvous>::type;
    constexpr schedule::induction found =
        schedule::detail::induce(program::play::scanned, program::proof,
                                 schedule::detail::pattern_of(Ranks, Count, how, Policy{}).bodies, how.base_of(Count));
    if constexpr (found.fault == schedule::induction_fault::no_cut && Tries > 1) {
      return attempt<Count + how.step, Tries - 1>();
    } else {
      schedule::induction result = found;
      result.send_slots = program::send_slots;
      return result;
    }
  }
  static constexpr schedule::induction find() {
    if constexpr (is_small<Policy>(Ranks, first))
      return schedule::find_induction<Policy>(Ranks, MicroBatches, Options);
    else
      return attempt<first, 4>();
  }
  static constexpr schedule::induction answer = find();
  static_assert(
      answer.fault != schedule::induction_fault::rows_differ,
      "weft::schedule: repeats() says that rows repeat, but those of neighbouring counts do not differ by one body; "
      "correct repeats(), or remove it");
};

}  // namespace plan_detail

/// What a plan knows of its program: `verdict` for its count, and `sample`, a program with the same slots and
/// placement. Where the policy repeats and the count is large, that is a smaller one, and the plan costs no more than
/// it; else it is the plan's own. Both `sample` and `program`, the plan's own, are made when they are asked for.
template <class Policy, int Ranks, int MicroBatches, schedule::lower_options const& Options, schedule::send_model Model>
struct plan_proof {
 private:
  static constexpr schedule::repetition how = schedule::repetition_of(Policy{}, Ranks, MicroBatches);

  static constexpr bool is_large() {
    if constexpr (how.repeats() && MicroBatches >= how.first && Model == schedule::send_model::rendezvous)
      return MicroBatches > schedule::first_count(MicroBatches, how, Options);
    else
      return false;
  }
  /// What cannot be played with fewer cannot with more, since rows begin alike.
  static constexpr bool is_inductive() {
    if constexpr (is_large()) {
      constexpr schedule::induction answer = plan_detail::inductive_proof<Policy, Ranks, MicroBatches, Options>::answer;
      return MicroBatches > answer.micro_batches &&
             (answer.holds() || answer.fault != schedule::induction_fault::no_cut);
    } else {
      return false;
    }
  }
  static constexpr schedule::induction prove() {
    if constexpr (is_inductive())
      return plan_detail::inductive_proof<Policy, Ranks, MicroBatches, Options>::answer;
    else
      return plan_detail::prove_directly<Policy, Ranks, MicroBatches, Options, Model>();
  }
  static constexpr schedule::induction proof = prove();

 public:
  static constexpr bool by_induction = proof.micro_batches != MicroBatches;
  static constexpr schedule::verdict verdict = by_induction ? proof.of(MicroBatches) : proof.found;
  using sample = static_program<Policy, Ranks, proof.micro_batches, Options, Model, proof.send_slots>;
  using program = static_program<Policy, Ranks, MicroBatches, Options, Model, proof.send_slots>;
};

/// Whether every number of micro-batches that the policy allows is proved: those that are too few to repeat directly,
/// each residue of the rest by induction. False where the policy does not repeat, or is not held to rendezvous.
template <class Policy, int Ranks, schedule::lower_options const& Options, schedule::send_model Model>
struct proof_of_all_counts {
 private:
  static constexpr schedule::repetition how = schedule::repetition_of(Policy{}, Ranks, 1);

  template <int Count>
  static constexpr bool is_allowed() {
    return Policy::check(Ranks, Count).legal();
  }

  /// The first count of a residue for which induction stands, or 0.
  template <int Residue>
  static constexpr int first() {
    if constexpr (!is_allowed<how.first + Residue>()) {
      return 1;
    } else {
      constexpr schedule::induction answer =
          plan_detail::inductive_proof<Policy, Ranks, how.first + Residue, Options>::answer;
      return answer.holds() ? answer.micro_batches : 0;
    }
  }
  template <int Count>
  static constexpr bool plays() {
    if constexpr (is_allowed<Count>()) {
      constexpr bool playable = [] {
        schedule::verdict found;
        (void)schedule::lower(schedule::write_table<Policy>(Ranks, Count).view(), Options, &found);
        return found.playable();
      }();
      return playable;
    } else {
      return true;
    }
  }
  /// Counts of a residue from its smallest up to that of the induction.
  template <int Count, int End>
  static constexpr bool play_to() {
    if constexpr (Count >= End)
      return true;
    else
      return plays<Count>() && play_to<Count + how.step, End>();
  }

  template <int Residue>
  static constexpr bool holds_from() {
    if constexpr (Residue == how.step)
      return true;
    else if constexpr (first<Residue>() == 0)
      return false;
    else
      return play_to<(how.first + Residue - 1) % how.step + 1, first<Residue>()>() && holds_from<Residue + 1>();
  }

 public:
  static constexpr bool value = [] {
    if constexpr (how.repeats() && Model == schedule::send_model::rendezvous)
      return holds_from<0>();
    else
      return false;
  }();
};

}  // namespace weft::inline v1
