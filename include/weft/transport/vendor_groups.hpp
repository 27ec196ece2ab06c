// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/transport/agreement.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/relay.hpp>
#include <weft/transport/run_collective.hpp>
#include <weft/transport/subgroup.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::inline v1::transport {

/// A door that knows which of its ranks share a vendor's library and memory (`carrier::library` between them), for sums
/// in two levels (transport/running_hierarchical.hpp): CUDA's ranks are one group, HIP's another one, and a rank that
/// shares a library with nobody, as on a host, is a group of its own. The lowest rank of each group leads it.
///
/// All collectives of a group come in one order on all of its ranks, and only its leader knows when the leaders are
/// through with a sum. So the sums of leaders take turns, in the order of their starts: sum k's broadcast stands before
/// sum k + 1's reduction there. Leaders that are alone in their groups take turns, too, unless all are: who waits for
/// one sum then moves the earlier ones, for which others may wait first. The other ranks post both calls at once.
class vendor_groups final : public relay {
 public:
  /// A sum that takes turns with others: one at a time is advanced, until it has posted its last call.
  class turn {
   public:
    turn() = default;
    turn(turn const&) = delete;
    turn& operator=(turn const&) = delete;

   protected:
    ~turn() = default;

   private:
    friend class vendor_groups;
    /// Posts and tests what is possible, never blocks. True once the next sum may begin.
    virtual bool advance_turn() = 0;
    /// Changes whenever a part of it is through.
    [[nodiscard]] virtual std::size_t progress_of_turn() const = 0;
    /// A rank of the outermost endpoint; -1: not known.
    [[nodiscard]] virtual int waits_for_in_turn() const = 0;
    turn* next_ = nullptr;
  };

  /// `memory`: what Kokkos calls that of this rank's numbers. `is_device`: whether the host may not touch it; then the
  /// leaders must hand bodies to each other, as they do where the library's door was built on `staged`. Throws the same
  /// `agreed_error` on every rank where they do not. Collective over `inner`'s ranks; so is destruction over those of a
  /// group. Each rank hears a byte of every pair, once: n^2 of n ranks. `inner` must outlive it.
  vendor_groups(endpoint& inner, std::string_view memory, bool is_device, double deadline = default_deadline)
      : relay(inner) {
    auto const facts = exchange(memory, is_device, deadline);
    find_groups(facts);
    in_parts_ = groups() > 1 && std::any_of(leader_of_.begin(), leader_of_.end(),
                                            [&](int each) { return (facts[at(each, each)] & on_device) != 0; });
    if (in_parts_) require_parts(facts);
    auto const mine = members();
    if (mine.size() > 1) library_ = inner.make_device_library(mine, memory);
    all_or_none(
        inner,
        [&] {
          if (mine.size() > 1 && library_ == nullptr)
            fail("its library moves messages and makes no sums; let the library's door be the outermost one");
        },
        deadline);
    if (leads() && groups() > 1) leaders_ = make_subgroup(inner, leader_of_);
  }

  [[nodiscard]] vendor_groups* by_vendor() override { return this; }

  /// Of each rank, in the order of the groups' leaders: what `collective::all_reduce_by_groups` takes.
  [[nodiscard]] std::vector<int> const& group_of() const { return group_of_; }
  [[nodiscard]] int groups() const { return static_cast<int>(leader_of_.size()); }
  /// Of this rank's group, a rank of this door; rank 0 of its library.
  [[nodiscard]] int leader() const { return leader_of_[index(group_of_[index(rank())])]; }
  /// Null where this rank is alone in its group.
  [[nodiscard]] device_collectives* library() const { return library_.get(); }
  [[nodiscard]] bool leads() const { return leader() == rank(); }
  /// Those that lead a group, in the order of the groups; null where this rank does not, or there is one group.
  [[nodiscard]] endpoint* leaders() const { return leaders_.get(); }
  /// Whether leaders send to each other in parts, from and into each one's own memory.
  [[nodiscard]] bool in_parts() const { return in_parts_; }

  /// Whether leaders take turns: all of them, or none.
  [[nodiscard]] bool takes_turns() const { return groups() < size(); }
  /// Advances a sum once all earlier ones have posted everything.
  void take_turn(turn& mine) {
    mine.next_ = nullptr;
    (first_ == nullptr ? first_ : last_->next_) = &mine;
    last_ = &mine;
    advance();
  }
  /// Advances the sum whose turn it is, and those behind it as far as they can.
  void advance() {
    while (first_ != nullptr) {
      auto const before = first_->progress_of_turn();
      bool const is_over = first_->advance_turn();
      if (is_over || first_->progress_of_turn() != before) ++progress_;
      if (!is_over) return;
      first_ = first_->next_;
    }
  }
  /// Changes whenever a part of the sum whose turn it is is through.
  [[nodiscard]] std::size_t progress() const { return progress_; }
  /// For which rank of the outermost endpoint the sum waits whose turn it is; -1: not known.
  [[nodiscard]] int waits_for() const { return first_ == nullptr ? -1 : first_->waits_for_in_turn(); }
  /// After a failure.
  void leave(turn& mine) noexcept {
    for (turn** each = &first_; *each != nullptr; each = &(*each)->next_)
      if (*each == &mine) {
        *each = mine.next_;
        break;
      }
    last_ = first_;
    while (last_ != nullptr && last_->next_ != nullptr) last_ = last_->next_;
  }

 private:
  static constexpr std::uint8_t on_device = 1;      // a rank of itself: the host may not touch its numbers
  static constexpr std::uint8_t share_library = 2;  // of another one: they share a vendor's library
  static constexpr std::uint8_t hand_bodies = 4;    // bodies are handed over in another way

  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  /// Of what rank `one` says of rank `other`.
  [[nodiscard]] std::size_t at(int one, int other) const { return index(one) * index(size()) + index(other); }

  std::vector<std::uint8_t> exchange(std::string_view memory, bool is_device, double deadline) {
    std::vector<std::uint8_t> own(index(size()));
    for (int peer = 0; peer < size(); ++peer) {
      auto& said = own[index(peer)];
      if (peer == rank())
        said = is_device ? on_device : 0;
      else if (inner().carries(peer, memory) == carrier::library)
        said = share_library;
      else if (inner().moves_parts(peer, memory))
        said = hand_bodies;
    }
    std::vector<std::uint8_t> all(own.size() * own.size());
    all_gather(inner(), own.data(), own.size(), all.data(), deadline);
    return all;
  }

  void find_groups(std::vector<std::uint8_t> const& facts) {
    group_of_.resize(index(size()));
    for (int each = 0; each < size(); ++each) {
      int leads = each;
      for (int lower = each - 1; lower >= 0; --lower)
        if ((facts[at(each, lower)] & facts[at(lower, each)] & share_library) != 0) leads = lower;
      if (leads == each) leader_of_.push_back(each);
      group_of_[index(each)] = leads == each ? groups() - 1 : group_of_[index(leads)];
    }
  }

  void require_parts(std::vector<std::uint8_t> const& facts) const {
    for (int const one : leader_of_)
      for (int const other : leader_of_)
        if (one != other && (facts[at(one, other)] & hand_bodies) == 0)
          throw agreed_error(where() + "rank " + std::to_string(global_rank(one)) + " does not hand bodies to rank " +
                                 std::to_string(global_rank(other)) +
                                 ", and sums across vendors go from and into a device's memory; build the library's "
                                 "door on transport::staged on every rank, or choose another all-reduce",
                             {.rank = global_rank(one), .peer = global_rank(other)});
  }

  [[nodiscard]] std::vector<int> members() const {
    std::vector<int> mine;
    for (int each = 0; each < size(); ++each)
      if (group_of_[index(each)] == group_of_[index(rank())]) mine.push_back(each);
    return mine;
  }

  static std::string where() { return "weft::transport::vendor_groups: "; }
  [[noreturn]] void fail(std::string const& what) const {
    int const own = global_rank(rank());
    throw error(where() + "rank " + std::to_string(own) + ": " + what, {.rank = own});
  }

  std::vector<int> group_of_;
  std::vector<int> leader_of_;  // of each group
  bool in_parts_ = false;
  std::unique_ptr<device_collectives> library_;
  std::unique_ptr<endpoint> leaders_;
  turn* first_ = nullptr;  // whose turn it is
  turn* last_ = nullptr;
  std::size_t progress_ = 0;
};

}  // namespace weft::inline v1::transport
