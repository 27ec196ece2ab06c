// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/transport/endpoint.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

namespace weft_test {

/// A door that hands everything to another one; a test overrides what it wants to be different.
class forwarding_door : public weft::transport::endpoint {
 public:
  explicit forwarding_door(weft::transport::endpoint& inner) : inner_(inner) {}
  [[nodiscard]] int rank() const override { return inner_.rank(); }
  [[nodiscard]] int size() const override { return inner_.size(); }
  [[nodiscard]] int global_rank(int rank) const override { return inner_.global_rank(rank); }
  [[nodiscard]] weft::transport::request send(void const* data, std::size_t bytes, int peer, int tag) override {
    return inner_.send(data, bytes, peer, tag);
  }
  [[nodiscard]] weft::transport::request receive(void* data, std::size_t bytes, int peer, int tag) override {
    return inner_.receive(data, bytes, peer, tag);
  }
  [[nodiscard]] bool test(weft::transport::request& posted) override { return inner_.test(posted); }
  [[nodiscard]] std::size_t received_bytes() const override { return inner_.received_bytes(); }
  [[nodiscard]] bool abandon(weft::transport::request& posted) noexcept override { return inner_.abandon(posted); }
  void announce_failure(std::string_view message) noexcept override { inner_.announce_failure(message); }
  void check_failure() override { inner_.check_failure(); }
  [[nodiscard]] std::vector<weft::transport::whereabouts> exchange_whereabouts(weft::transport::whereabouts const& own,
                                                                               double seconds) override {
    return inner_.exchange_whereabouts(own, seconds);
  }
  void yield() noexcept override { inner_.yield(); }
  [[nodiscard]] weft::transport::launch_guard launch_lock() override { return inner_.launch_lock(); }

 private:
  weft::transport::endpoint& inner_;
};

}  // namespace weft_test
