// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/launch_mutex.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::inline v1::transport {

/// A door to some ranks of a larger one: rank i is `members[i]` of the parent. Messages, failure channel, waiting and
/// the launch lock are the parent's; a failure is announced to all of its ranks.
///
/// Tags are the parent's too: what is under way between the same two ranks, in the parent and in its subgroups, takes
/// different tags, or starts in the same order on both.
class subgroup final : public endpoint {
 public:
  /// See `make_subgroup`.
  subgroup(endpoint& parent, std::vector<int> members, bool with_library, std::string_view device_memory)
      : parent_(parent),
        members_(std::move(members)) {
    require(!members_.empty(), "it has no member", "name at least the calling rank");
    auto sorted = members_;
    std::sort(sorted.begin(), sorted.end());
    require(sorted.front() >= 0 && sorted.back() < parent.size(),
            "rank " + std::to_string(sorted.front() < 0 ? sorted.front() : sorted.back()) + " is not one of the " +
                std::to_string(parent.size()) + " ranks",
            "check the mesh");
    auto const twice = std::adjacent_find(sorted.begin(), sorted.end());
    require(twice == sorted.end(), twice == sorted.end() ? "" : "rank " + std::to_string(*twice) + " is named twice",
            "name every rank once");
    auto const own = std::find(members_.begin(), members_.end(), parent.rank());
    require(own != members_.end(), "rank " + std::to_string(parent.rank()) + " makes it and is no member",
            "call make_subgroup on the members alone");
    rank_ = static_cast<int>(own - members_.begin());
    if (with_library && device_memory.empty()) library_ = parent.make_library(members_);
    if (!with_library || device_memory.empty()) return;
    library_ = parent.make_device_library(members_, device_memory);
    is_device_library_ = library_ != nullptr;
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return static_cast<int>(members_.size()); }
  [[nodiscard]] int global_rank(int rank) const override { return parent_.global_rank(of_parent(rank)); }

  [[nodiscard]] request send(void const* data, std::size_t bytes, int peer, int tag) override {
    return parent_.send(data, bytes, checked(peer, tag), tag);
  }
  [[nodiscard]] request receive(void* data, std::size_t bytes, int peer, int tag) override {
    return parent_.receive(data, bytes, checked(peer, tag), tag);
  }
  [[nodiscard]] bool moves_parts(int peer, std::string_view memory) const override {
    return parent_.moves_parts(of_parent(peer), memory);
  }
  [[nodiscard]] carrier carries(int peer, std::string_view memory) const override {
    return parent_.carries(of_parent(peer), memory);
  }
  [[nodiscard]] bool keeps_issue_order() const override { return parent_.keeps_issue_order(); }
  void require_program(schedule::program_view const& program) const override { parent_.require_program(program); }
  void begin_posts() override { parent_.begin_posts(); }
  void end_posts() override { parent_.end_posts(); }
  void prepare_parts(bool is_send, std::size_t most_bytes, int peer, int tag) override {
    parent_.prepare_parts(is_send, most_bytes, checked(peer, tag), tag);
  }
  [[nodiscard]] request send_parts(outgoing_parts const& parts, int peer, int tag) override {
    return parent_.send_parts(parts, checked(peer, tag), tag);
  }
  [[nodiscard]] request receive_parts(incoming_parts const& parts, int peer, int tag) override {
    return parent_.receive_parts(parts, checked(peer, tag), tag);
  }
  [[nodiscard]] bool test(request& posted) override { return parent_.test(posted); }
  [[nodiscard]] std::size_t received_bytes() const override { return parent_.received_bytes(); }
  [[nodiscard]] bool abandon(request& posted) noexcept override { return parent_.abandon(posted); }

  void announce_failure(std::string_view message) noexcept override { parent_.announce_failure(message); }
  void check_failure() override { parent_.check_failure(); }
  [[nodiscard]] std::vector<whereabouts> exchange_whereabouts(whereabouts const& own, double seconds) override {
    return parent_.exchange_whereabouts(own, seconds);
  }
  void yield() noexcept override { parent_.yield(); }
  [[nodiscard]] launch_guard launch_lock() override { return parent_.launch_lock(); }

  [[nodiscard]] std::unique_ptr<library_collectives> make_library(std::vector<int> const& members) override {
    std::vector<int> ranks;
    for (int const each : members) ranks.push_back(of_parent(each));
    return parent_.make_library(ranks);
  }
  [[nodiscard]] std::unique_ptr<device_collectives> make_device_library(std::vector<int> const& members,
                                                                        std::string_view memory) override {
    std::vector<int> ranks;
    for (int const each : members) ranks.push_back(of_parent(each));
    return parent_.make_device_library(ranks, memory);
  }
  [[nodiscard]] bool has_device_library() const override { return is_device_library_; }
  [[nodiscard]] bool has_library() const override { return library_ != nullptr; }
  [[nodiscard]] request library_all_reduce(void* data, std::int64_t elements, summand type) override {
    if (!library_) return endpoint::library_all_reduce(data, elements, type);
    return library_->all_reduce(data, elements, type);
  }

 private:
  void require(bool holds, std::string const& problem, char const* remedy) const {
    if (!holds)
      throw error("weft::transport::make_subgroup: " + problem + "; " + remedy,
                  {.rank = parent_.global_rank(parent_.rank())});
  }

  [[nodiscard]] int of_parent(int rank) const { return members_[static_cast<std::size_t>(rank)]; }

  [[nodiscard]] int checked(int peer, int tag) const {
    if (peer < 0 || peer >= size())
      throw error("weft::transport::subgroup: there is no rank " + std::to_string(peer) + " among " +
                      std::to_string(size()) + " ranks; check the placement",
                  {.rank = global_rank(rank_), .peer = peer, .tag = tag});
    return of_parent(peer);
  }

  endpoint& parent_;
  std::vector<int> members_;
  int rank_ = -1;
  std::unique_ptr<library_collectives> library_;
  bool is_device_library_ = false;
};

/// A door to `members` of `parent`, which the calling rank is one of; the order of the members is that of the new
/// ranks. Does not communicate, unless `with_library`: then it is collective over the members alone (over MPI it makes
/// a communicator for the library's collectives, by MPI_Comm_create_group), and so is its destruction. `device_memory`,
/// where it is not empty: the library is the device vendor's, for data in that memory. The parent must
/// outlive it. Throws `weft::error` for a member that does not exist, is named twice, or where the calling rank is
/// missing.
[[nodiscard]] inline std::unique_ptr<endpoint> make_subgroup(endpoint& parent, std::vector<int> const& members,
                                                             bool with_library = false,
                                                             std::string_view device_memory = {}) {
  return std::make_unique<subgroup>(parent, members, with_library, device_memory);
}

}  // namespace weft::inline v1::transport
