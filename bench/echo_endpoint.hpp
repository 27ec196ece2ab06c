// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/pipeline/wire_buffer.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/schedule/tags.hpp>
#include <weft/transport/endpoint.hpp>

#include <cstring>
#include <vector>

namespace bench {

/// A transport that takes no time: every message that a rank waits for has come already, well-formed. What is left of a
/// step is the host cost of weft itself, without MPI and without waiting.
class echo_endpoint final : public weft::transport::endpoint {
 public:
  echo_endpoint(weft::schedule::program_view const& program, int rank, weft::boundary const& layout)
      : program_(program),
        rank_(rank),
        layout_(layout),
        coming_(static_cast<std::size_t>(2 * program.graph.edge_count * program.graph.copies)),
        next_(coming_.size()) {
    weft::boundary_view<Kokkos::HostSpace> const view(nullptr, &layout_);
    payload_ = view.bytes();
    for (auto const& each : program.row(rank)) {
      bool const forward = each.what == weft::schedule::op::receive_forward;
      if (forward || each.what == weft::schedule::op::receive_backward)
        coming_[static_cast<std::size_t>(
                    weft::schedule::message_tag(edge_of(each, forward), forward, each.copy, program.graph.edge_count))]
            .push_back(static_cast<int>(each.micro_batch));
    }
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return program_.ranks(); }
  [[nodiscard]] weft::transport::request send(void const*, std::size_t, int, int) override { return {1, true, false}; }
  [[nodiscard]] weft::transport::request receive(void* data, std::size_t, int, int tag) override {
    auto const& edge = program_.graph.edges[tag / 2 % program_.graph.edge_count];
    bool const is_gradient = tag % 2 == 1;
    auto const& order = coming_[static_cast<std::size_t>(tag)];
    auto& next = next_[static_cast<std::size_t>(tag)];
    int const micro_batch = order[next];
    weft::wire_prefix prefix;
    prefix.header = {static_cast<std::uint16_t>(is_gradient ? edge.source : edge.destination),
                     static_cast<std::uint8_t>(is_gradient), weft::wire_version,
                     static_cast<std::uint32_t>(micro_batch), payload_};
    prefix.counts[0] = layout_.components[0].elements;
    weft::set_types(prefix, layout_);
    std::memcpy(data, &prefix, sizeof prefix);
    if (++next == order.size()) next = 0;
    return {1, true, false};
  }
  [[nodiscard]] bool test(weft::transport::request& posted) override {
    posted = {};
    return true;
  }
  [[nodiscard]] std::size_t received_bytes() const override { return 128 + payload_; }
  [[nodiscard]] bool abandon(weft::transport::request& posted) noexcept override {
    posted = {};
    return true;
  }
  void announce_failure(std::string_view) noexcept override {}
  void check_failure() override {}
  void yield() noexcept override {}
  [[nodiscard]] weft::transport::launch_guard launch_lock() override { return {}; }

 private:
  /// Forward messages enter a stage, gradients come back over what leaves it; `group` counts them.
  [[nodiscard]] int edge_of(weft::schedule::action const& each, bool forward) const {
    int skip = each.group;
    for (int edge = 0; edge < program_.graph.edge_count; ++edge) {
      auto const& ends = program_.graph.edges[edge];
      if ((forward ? ends.destination : ends.source) == each.stage && skip-- == 0) return edge;
    }
    return 0;
  }

  weft::schedule::program_view program_;
  int rank_;
  weft::boundary layout_;
  std::size_t payload_ = 0;
  std::vector<std::vector<int>> coming_;  ///< [tag]: micro-batches in the order in which they are received
  std::vector<std::size_t> next_;         ///< [tag]: the next one's place
};

/// A stage that does nothing.
struct empty_stage {
  using views = weft::boundary_views<Kokkos::HostSpace>;
  template <class Context>
  void forward(Context&, views const&, views&) {}
  template <class Context>
  void backward_input(Context&, views const&, views const&, views&) {}
  template <class Context>
  void backward_weight(Context&, views const&, views const&) {}
  static void step(int) {}  // asynchronous tables have their own
  static weft::boundary boundary(weft::topology::edge const&) { return weft::boundary().add(weft::scalar::f32, 16); }
  static void prepare(int, weft::schedule::slot_counts const&) {}
};

}  // namespace bench
