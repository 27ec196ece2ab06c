// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/collective/recursive_halving.hpp>
#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/running_collective.hpp>
#include <weft/transport/vendor_groups.hpp>
#include <weft/transport/wait.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

namespace weft::inline v1::transport {

/// An all-reduce in two levels: each group of ranks that share a vendor's library sums by it on the group's lowest
/// rank, those leaders all-reduce by recursive halving over the door, and the library tells their groups. Two vendors,
/// with a host:
///
///     CUDA 0 1 2   HIP 3 4   host 5      ncclReduce to 0, ncclReduce (RCCL's) to 3; 5 is a group of one
///                                        0, 3 and 5 all-reduce: messages between memories, as transport::staged's
///                                        ncclBroadcast from 0, from 3
///
/// Between vendors each leader moves about twice the buffer, whatever the sizes of groups. All ranks in one group: the
/// library's all-reduce. All ranks alone: recursive halving. The same bits on all ranks; within a group in an order of
/// the library's own, across groups in recursive halving's.
///
/// Leaders take turns: one sum among leaders at a time (see vendor_groups), unless all ranks are alone. On a device,
/// the broadcast of the other ranks waits there, in the library's queue, from the reduction's end until the leaders are
/// through.
///
/// Never blocks; otherwise as running_all_reduce, whose third kind it is: constructed and started by all ranks of the
/// door, in the same order.
template <class Number, class Memory = host_numbers<Number>>
class running_hierarchical final : private vendor_groups::turn {
 public:
  running_hierarchical(vendor_groups& door, std::int64_t elements, int tag, std::int64_t segment_elements,
                       Memory memory = Memory())
      : door_(door),
        elements_(elements) {
    if (door.leaders() != nullptr)
      among_leaders_.emplace(*door.leaders(), collective::recursive_halving::all_reduce(door.groups()), elements, tag,
                             "all_reduce among vendors", segment_elements, door.in_parts(), std::move(memory));
  }
  running_hierarchical(running_hierarchical const&) = delete;
  running_hierarchical& operator=(running_hierarchical const&) = delete;
  ~running_hierarchical() { give_up(); }

  /// Begins to sum `data` of all ranks into `data` of each; it must stay where it is, untouched, until complete. Where
  /// it throws, only `give_up` is left.
  void start(Number* data) {
    if (phase_ != phase::idle)
      throw error(where() + "it is under way already; wait for it before it is started again", {.rank = own()});
    data_ = data;
    if (elements_ == 0) return;
    if (door_.groups() == 1) {
      if (library() == nullptr) return;  // one rank
      phase_ = phase::starting;
      broadcast_ = library()->all_reduce(data, elements_, type);
      phase_ = phase::broadcasting;
    } else if (takes_turns()) {
      phase_ = phase::queued;
      door_.take_turn(*this);
    } else if (among_leaders_) {
      phase_ = phase::starting;
      among_leaders_->start(data);
      phase_ = phase::among_leaders;
    } else {
      phase_ = phase::starting;
      reduction_ = library()->reduce(data, elements_, type, leader);
      broadcast_ = library()->broadcast(data, elements_, type, leader);
      phase_ = phase::broadcasting;
    }
  }

  /// True once this rank's buffer holds the sum and may be changed. Does not block.
  [[nodiscard]] bool advance() {
    if (phase_ == phase::starting) throw error(where() + "its start failed; give it up", {.rank = own()});
    door_.advance();
    if (phase_ == phase::among_leaders && !takes_turns() && among_leaders_->advance()) phase_ = phase::idle;
    if (phase_ == phase::broadcasting && door_.test(reduction_) && door_.test(broadcast_)) phase_ = phase::idle;
    return phase_ == phase::idle;
  }

  /// As running_all_reduce's; `deadline`: of each part (see `progress`).
  template <class OnTurn>
  void wait(double deadline, OnTurn&& on_turn) {
    wait_by_parts(
        door_, deadline, [&] { return advance(); }, [&] { return progress(); },
        [&](double waited) { refuse_to_wait(waited); }, on_turn);
  }

  /// Changes whenever a part is through: a call of the library, or a message among leaders; of this sum, or of an
  /// earlier one that it waits for.
  [[nodiscard]] std::size_t progress() const {
    std::size_t parts = door_.progress();
    if (library() != nullptr) parts += library()->ended();
    if (among_leaders_ && !takes_turns()) parts += among_leaders_->progress();
    return parts;
  }

  /// Abandons what is under way, after a failure, and with it all that the group's library sums, also where this rank
  /// has posted nothing yet that others wait for. False where the transport may go on using the data: its owner must
  /// then keep that memory for ever.
  bool give_up() noexcept {
    bool is_free = !among_leaders_ || among_leaders_->give_up();
    if (phase_ == phase::idle) return is_free;
    door_.leave(*this);
    for (request* const each : {&reduction_, &broadcast_}) is_free = door_.abandon(*each) && is_free;
    if (library() != nullptr) library()->give_up();
    phase_ = phase::idle;
    return is_free;
  }

  /// Memory beside the data, on ranks that lead.
  [[nodiscard]] std::size_t scratch_bytes() const { return among_leaders_ ? among_leaders_->scratch_bytes() : 0; }

 private:
  enum class phase : std::uint8_t { idle, starting, queued, reducing, among_leaders, broadcasting };
  static constexpr int leader = 0;  // as the library of the group counts
  static constexpr summand type = std::is_same_v<Number, float> ? summand::f32 : summand::f64;

  [[nodiscard]] bool takes_turns() const { return among_leaders_ && door_.takes_turns(); }

  bool advance_turn() override {
    if (phase_ == phase::queued) {
      if (library() != nullptr) reduction_ = library()->reduce(data_, elements_, type, leader);
      phase_ = phase::reducing;
    }
    if (phase_ == phase::reducing) {
      if (!door_.test(reduction_)) return false;
      among_leaders_->start(data_);
      phase_ = phase::among_leaders;
    }
    if (!among_leaders_->advance()) return false;
    if (library() != nullptr) broadcast_ = library()->broadcast(data_, elements_, type, leader);
    phase_ = phase::broadcasting;
    return true;
  }
  [[nodiscard]] std::size_t progress_of_turn() const override {
    return static_cast<std::size_t>(phase_) + among_leaders_->progress();
  }
  [[nodiscard]] int waits_for_in_turn() const override {
    return phase_ == phase::among_leaders ? among_leaders_->waits_for() : -1;
  }

  [[nodiscard]] device_collectives* library() const { return door_.library(); }
  [[nodiscard]] int own() const { return door_.global_rank(door_.rank()); }
  static std::string where() { return "weft::transport::running_hierarchical: "; }

  [[noreturn]] void refuse_to_wait(double waited) const {
    bool const is_broadcast = phase_ == phase::broadcasting && !reduction_.pending && door_.groups() > 1;
    int const peer = phase_ == phase::queued          ? door_.waits_for()
                     : phase_ == phase::among_leaders ? among_leaders_->waits_for()
                     : is_broadcast                   ? door_.global_rank(door_.leader())
                                                      : -1;
    std::string const of_peer = "rank " + std::to_string(peer);
    std::string const what = phase_ == phase::queued
                                 ? "an earlier sum among leaders" + (peer < 0 ? "" : ", which waits for " + of_peer)
                             : phase_ == phase::among_leaders ? of_peer + ", which leads another group"
                             : is_broadcast                   ? "its vendor's library, by a broadcast from " + of_peer
                                                              : "its vendor's library, which sums over its group";
    throw error("weft::transport: all_reduce: rank " + std::to_string(own()) + " waited " +
                    std::to_string(static_cast<long>(waited)) + " s for " + what +
                    "; a rank is slow, stopped, or does something else",
                {.rank = own(), .peer = peer == own() ? -1 : peer});
  }

  vendor_groups& door_;
  std::int64_t elements_;
  std::optional<running_collective<Number, Memory>> among_leaders_;
  Number* data_ = nullptr;
  phase phase_ = phase::idle;
  request reduction_;
  request broadcast_;  // of one group: the all-reduce
};

}  // namespace weft::inline v1::transport
