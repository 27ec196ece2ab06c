// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/collective/all_reduce.hpp>
#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/running_collective.hpp>
#include <weft/transport/running_hierarchical.hpp>
#include <weft/transport/vendor_groups.hpp>
#include <weft/transport/wait.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace weft::inline v1::transport {

struct all_reduce_options {
  std::int64_t segment_elements = 0;  ///< of one message; 0: `collective::segment_bytes`. Changes no bit of the result
  bool in_parts = false;              ///< of step lists: bodies where the numbers are; see `bodies_in_place`
};

/// A sum over ranks under way, by one of weft's step lists, by the transport's library, or by both in two levels. Never
/// blocks: `advance` posts, tests and adds. Collective over the endpoint's ranks: all of them construct it and start it
/// with the same choice, number of elements and tag, libraries' ones in the same order too.
///
/// Several may be under way at once over one endpoint, each with a tag of its own (`schedule::running_tag`); they are
/// completed in any order. One object serves any number of runs, one after the other, and allocates in its constructor
/// alone. With a step list, the result has the bits of `collective::play_locally` on every rank; with a library, an
/// order of additions of the library's own. `Memory`: see running_collective.
template <class Number, class Memory = host_numbers<Number>>
class running_all_reduce {
  static_assert(std::is_arithmetic_v<Number>,
                "weft::transport::running_all_reduce: adds numbers; give float or double");

 public:
  running_all_reduce(endpoint& door, collective::all_reduce_choice const& how, std::int64_t elements, int tag,
                     all_reduce_options const& options = {}, Memory memory = Memory())
      : door_(door),
        elements_(elements) {
    if (how.is_library()) {
      if constexpr (!has_summand)
        throw error("weft::transport::running_all_reduce: the library sums float and double alone; choose a step list",
                    {.rank = own_global_rank()});
      if (how.is_by_vendor()) {
        sum_by_vendor(tag, segment_of(options), std::move(memory));
        return;
      }
      if (how.is_device_library() && !door.has_device_library())
        throw error("weft::transport: the all-reduce \"" + how.name() +
                        "\" is the device vendor's library's, and here not all ranks have a door of one vendor's; run "
                        "over transport::nccl or transport::rccl, or choose ring, recursive-doubling, "
                        "recursive-halving, tree or hierarchical",
                    {.rank = own_global_rank()});
      if (!door.has_library()) static_cast<void>(door.library_all_reduce(nullptr, 0, summand::f32));  // says why not
    } else {
      own_.emplace(door, how.list(door.size()), elements, tag, "all_reduce", segment_of(options), options.in_parts,
                   std::move(memory));
    }
  }
  running_all_reduce(running_all_reduce const&) = delete;
  running_all_reduce& operator=(running_all_reduce const&) = delete;
  ~running_all_reduce() { give_up(); }

  /// Begins to sum `data` of all ranks into `data` of each; it must stay where it is, untouched, until complete.
  void start(Number* data) {
    if (own_) return own_->start(data);
    if (by_vendor_) return by_vendor_->start(data);
    if constexpr (has_summand) {
      if (library_.pending)
        throw error(
            "weft::transport::running_all_reduce: it is under way already; wait for it before it is started again",
            {.rank = own_global_rank()});
      library_ = door_.library_all_reduce(data, elements_, std::is_same_v<Number, float> ? summand::f32 : summand::f64);
    }
  }

  /// True once this rank's buffer holds the sum and may be changed. Does not block.
  [[nodiscard]] bool advance() {
    if (by_vendor_) return by_vendor_->advance();
    return own_ ? own_->advance() : door_.test(library_);
  }

  /// Advances until complete, letting other ranks run in between. Throws `remote_error` when another rank has failed,
  /// and `error`, naming the rank it waits for, when nothing has happened for `deadline` seconds (0 or less: never).
  void wait(double deadline) {
    wait(deadline, [] {});
  }

  /// The same; `on_turn()` is called in every unsuccessful turn, for whoever has other messages to move meanwhile. A
  /// rank that waits for one of several goes on advancing the others, unless all ranks wait for them in the same order.
  template <class OnTurn>
  void wait(double deadline, OnTurn&& on_turn) {
    if (own_) return own_->wait(deadline, on_turn);
    if (by_vendor_) return by_vendor_->wait(deadline, on_turn);
    auto const overdue = [&](double waited) {
      throw error("weft::transport: all_reduce: rank " + std::to_string(own_global_rank()) + " waited " +
                      std::to_string(static_cast<long>(waited)) +
                      " s for the library's all-reduce; a rank is slow, stopped, or does something else",
                  {.rank = own_global_rank()});
    };
    transport::wait(door_, library_, deadline, overdue, on_turn);
  }

  /// Abandons what is under way, after a failure. False where the transport may go on using the data: its owner must
  /// then keep that memory for ever.
  bool give_up() noexcept {
    if (by_vendor_) return by_vendor_->give_up();
    return own_ ? own_->give_up() : door_.abandon(library_);
  }

  [[nodiscard]] std::int64_t elements() const { return elements_; }

  /// Memory beside the data: segments that have arrived and wait to be added.
  [[nodiscard]] std::size_t scratch_bytes() const {
    if (by_vendor_) return by_vendor_->scratch_bytes();
    return own_ ? own_->scratch_bytes() : 0;
  }

 private:
  static constexpr bool has_summand = std::is_same_v<Number, float> || std::is_same_v<Number, double>;
  static constexpr std::int64_t default_segment_elements =
      collective::segment_bytes / static_cast<std::int64_t>(sizeof(Number));

  [[nodiscard]] static std::int64_t segment_of(all_reduce_options const& options) {
    return options.segment_elements > 0 ? options.segment_elements : default_segment_elements;
  }

  void sum_by_vendor(int tag, std::int64_t segment_elements, Memory memory) {
    auto* const groups = door_.by_vendor();
    if (groups == nullptr)
      throw error(std::string("weft::transport: the all-reduce \"") + collective::vendor_hierarchy_all_reduce_name +
                      "\" sums within each vendor by its library, and this door does not know which ranks share one; "
                      "sum over a transport::vendor_groups",
                  {.rank = own_global_rank()});
    by_vendor_.emplace(*groups, elements_, tag, segment_elements, std::move(memory));
  }

  [[nodiscard]] int own_global_rank() const { return door_.global_rank(door_.rank()); }

  endpoint& door_;
  std::int64_t elements_;
  std::optional<running_collective<Number, Memory>> own_;
  std::optional<running_hierarchical<Number, Memory>> by_vendor_;
  request library_;
};

}  // namespace weft::inline v1::transport
