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
template <class Policy, int Ranks, int MicroBatches, schedule::lower_options Options, schedule::send_model Model,
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
template <class Policy, int Ranks, int MicroBatches, schedule::lower_options Options, schedule::send_model Model,
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

/// The proof of one count that stands for `MicroBatches` and every larger one of its residue (schedule/induction.hpp):
/// a few counts are tried, beginning with the smallest that can have a cut. `answer.holds()` is false where the policy
/// does not repeat or no cut was found.
template <class Policy, int Ranks, int MicroBatches, schedule::lower_options Options, schedule::send_model Model>
struct inductive_proof {
  static constexpr schedule::repetition how = schedule::repetition_of(Policy{}, Ranks, MicroBatches);

  static constexpr bool has_bodies() {
    if constexpr (how.repeats() && MicroBatches >= how.first)
      return schedule::detail::turns_of(Ranks, MicroBatches, how, Policy{}).found();
    else
      return true;
  }
  static_assert(
      has_bodies(),
      "weft::schedule: repeats() says that rows repeat, but those of neighbouring counts do not differ by one body; "
      "correct repeats(), or remove it");

  template <int Count>
  struct attempt {
    using sample = typename proved_program<Policy, Ranks, Count, Options, Model>::type;
    static constexpr schedule::induction answer =
        schedule::detail::induce(sample::play::scanned, sample::proof,
                                 schedule::detail::turns_of(Ranks, Count, how, Policy{}), how.base_of(Count));
  };

  struct none {
    static constexpr schedule::induction answer = {};
  };

  template <int Count, int Tries>
  static constexpr auto choose() {
    if constexpr (attempt<Count>::answer.fault == schedule::induction_fault::no_cut && Tries > 1)
      return choose<Count + how.step, Tries - 1>();
    else
      return attempt<Count>{};
  }
  static constexpr auto start() {
    if constexpr (how.repeats() && has_bodies() && MicroBatches >= how.first &&
                  Model == schedule::send_model::rendezvous)
      return choose<schedule::first_count(MicroBatches, how, Options), 4>();
    else
      return none{};
  }
  using type = decltype(start());
  static constexpr schedule::induction answer = type::answer;
};

/// What a plan knows of its program: `verdict` for its count, and `sample`, a program with the same slots and
/// placement. Where the policy repeats and the count is large, that is a smaller one, and the plan costs no more than
/// it; else it is the plan's own. `program` is always the plan's own, made when it is asked for.
template <class Policy, int Ranks, int MicroBatches, schedule::lower_options Options, schedule::send_model Model>
struct plan_proof {
 private:
  using induction = inductive_proof<Policy, Ranks, MicroBatches, Options, Model>;

  static constexpr bool is_large() {
    if constexpr (induction::how.repeats() && MicroBatches >= induction::how.first &&
                  Model == schedule::send_model::rendezvous)
      return MicroBatches > schedule::first_count(MicroBatches, induction::how, Options);
    else
      return false;
  }
  static constexpr bool is_inductive() {
    if constexpr (is_large())  // what cannot be played with fewer cannot with more: rows begin alike
      return MicroBatches > induction::answer.micro_batches &&
             (induction::answer.holds() || induction::answer.fault == schedule::induction_fault::not_playable);
    else
      return false;
  }
  static constexpr auto choose() {
    if constexpr (is_inductive())
      return typename induction::type::sample{};
    else
      return typename proved_program<Policy, Ranks, MicroBatches, Options, Model>::type{};
  }

 public:
  static constexpr bool by_induction = is_inductive();
  using sample = decltype(choose());
  static constexpr schedule::verdict verdict = [] {
    if constexpr (by_induction)
      return induction::answer.of(MicroBatches);
    else
      return sample::proof;
  }();
  using program = static_program<Policy, Ranks, MicroBatches, Options, Model, sample::send_slots>;
};

/// Whether every number of micro-batches that the policy allows is proved: those that are too few to repeat directly,
/// each residue of the rest by induction. False where the policy does not repeat, or is not held to rendezvous.
template <class Policy, int Ranks, schedule::lower_options Options, schedule::send_model Model>
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
          inductive_proof<Policy, Ranks, how.first + Residue, Options, Model>::answer;
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
