// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/launch_mutex.hpp>

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

namespace weft::inline v1::transport {

/// A door that hands everything to another one; what is built on it overrides what it does differently. The other one
/// must outlive it.
class relay : public endpoint {
 public:
  explicit relay(endpoint& inner) : inner_(inner) {}

  [[nodiscard]] int rank() const override { return inner_.rank(); }
  [[nodiscard]] int size() const override { return inner_.size(); }
  [[nodiscard]] int global_rank(int rank) const override { return inner_.global_rank(rank); }

  [[nodiscard]] request send(void const* data, std::size_t bytes, int peer, int tag) override {
    return inner_.send(data, bytes, peer, tag);
  }
  [[nodiscard]] request receive(void* data, std::size_t bytes, int peer, int tag) override {
    return inner_.receive(data, bytes, peer, tag);
  }
  [[nodiscard]] bool moves_parts(int peer, std::string_view memory) const override {
    return inner_.moves_parts(peer, memory);
  }
  [[nodiscard]] carrier carries(int peer, std::string_view memory) const override {
    return inner_.carries(peer, memory);
  }
  [[nodiscard]] bool keeps_issue_order() const override { return inner_.keeps_issue_order(); }
  void require_program(schedule::program_view const& program) const override { inner_.require_program(program); }
  void begin_posts() override { inner_.begin_posts(); }
  void end_posts() override { inner_.end_posts(); }
  void prepare_parts(bool is_send, std::size_t most_bytes, int peer, int tag) override {
    inner_.prepare_parts(is_send, most_bytes, peer, tag);
  }
  [[nodiscard]] request send_parts(outgoing_parts const& parts, int peer, int tag) override {
    return inner_.send_parts(parts, peer, tag);
  }
  [[nodiscard]] request receive_parts(incoming_parts const& parts, int peer, int tag) override {
    return inner_.receive_parts(parts, peer, tag);
  }
  [[nodiscard]] bool test(request& posted) override { return inner_.test(posted); }
  [[nodiscard]] std::size_t received_bytes() const override { return inner_.received_bytes(); }
  [[nodiscard]] bool abandon(request& posted) noexcept override { return inner_.abandon(posted); }

  void announce_failure(std::string_view message) noexcept override { inner_.announce_failure(message); }
  void check_failure() override { inner_.check_failure(); }
  [[nodiscard]] std::vector<whereabouts> exchange_whereabouts(whereabouts const& own, double seconds) override {
    return inner_.exchange_whereabouts(own, seconds);
  }
  void yield() noexcept override { inner_.yield(); }
  [[nodiscard]] launch_guard launch_lock() override { return inner_.launch_lock(); }

  [[nodiscard]] std::unique_ptr<library_collectives> make_library(std::vector<int> const& members) override {
    return inner_.make_library(members);
  }
  [[nodiscard]] std::unique_ptr<device_collectives> make_device_library(std::vector<int> const& members,
                                                                        std::string_view memory) override {
    return inner_.make_device_library(members, memory);
  }
  [[nodiscard]] vendor_groups* by_vendor() override { return inner_.by_vendor(); }
  [[nodiscard]] bool has_device_library() const override { return inner_.has_device_library(); }
  [[nodiscard]] bool has_library() const override { return inner_.has_library(); }
  [[nodiscard]] request library_all_reduce(void* data, std::int64_t elements, summand type) override {
    return inner_.library_all_reduce(data, elements, type);
  }

 protected:
  [[nodiscard]] endpoint& inner() { return inner_; }
  [[nodiscard]] endpoint const& inner() const { return inner_; }

 private:
  endpoint& inner_;
};

}  // namespace weft::inline v1::transport
