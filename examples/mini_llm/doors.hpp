// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "options.hpp"
#include "plan_report.hpp"
#include "vendor_door.hpp"
#include "vendor_library.hpp"

#include <weft/topology/mesh.hpp>
#include <weft/train/replica.hpp>
#include <weft/transport/agreement.hpp>
#include <weft/transport/automatic.hpp>
#include <weft/transport/copies.hpp>
#include <weft/transport/device_aware.hpp>
#include <weft/transport/device_support.hpp>
#include <weft/transport/link_report.hpp>
#include <weft/transport/mpi.hpp>
#include <weft/transport/mpi_device_support.hpp>
#include <weft/transport/staged.hpp>

#include <algorithm>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace mini_llm {

/// The door by which boundary messages go, built on the ranks' own one as `--door` says. Every choice has the same
/// bits; the device vendor's library also makes sums of gradients possible that have others (`--reduce`).
class doors {
 public:
  using space = Kokkos::DefaultExecutionSpace;
  using memory = space::memory_space;

  /// Rank 0 prints what was found out. Collective; throws the same `weft::agreed_error` on every rank where the choice
  /// cannot be had.
  doors(options const& chosen, weft::transport::endpoint& inner) : inner_(inner), outer_(&inner) {
    double const deadline = chosen.timeout_seconds;
    if (chosen.door == door_kind::plain) return;
    if (chosen.door == door_kind::nccl) {
      stage(chosen);
      by_vendor_ = make_vendor_door<own_vendor>(chosen, *staged_, deadline);
      outer_ = by_vendor_.get();
      return;
    }
    std::vector<int> direct_peers = all_ranks();
    if (chosen.door != door_kind::staged) {
      auto const found = find_support(chosen, deadline);
      print(found.text() + "\n");
      direct_peers = found.peers_of(inner.rank());
      for (int rank = 0; rank < inner.size(); ++rank)
        if (chosen.door == door_kind::device_aware && !found.by_rank[static_cast<std::size_t>(rank)])
          throw weft::agreed_error("--door device-aware needs an MPI that takes device memory, and on rank " +
                                       std::to_string(rank) + " " + found.reasons[static_cast<std::size_t>(rank)] +
                                       "; say WEFT_DEVICE_AWARE=1 if it does, or choose --door staged or automatic",
                                   {.rank = rank});
    }
    direct_ = std::make_unique<weft::transport::device_aware>(inner, memory::name(), direct_peers);
    outer_ = direct_.get();
    if (chosen.door == door_kind::device_aware) return;
    stage(chosen);
    if (chosen.door == door_kind::staged) return;
    choose(chosen, deadline);
  }

  [[nodiscard]] weft::transport::endpoint& outermost() { return *outer_; }

 private:
  using staged_door = weft::transport::staged<std::size_t{1} << 19U, weft::transport::kokkos_copies<space>>;
  static constexpr bool is_host = Kokkos::SpaceAccessibility<Kokkos::HostSpace, memory>::accessible;

  [[nodiscard]] std::vector<int> all_ranks() const {
    std::vector<int> all;
    for (int rank = 0; rank < inner_.size(); ++rank) all.push_back(rank);
    return all;
  }

  void print(std::string const& text) const {
    if (inner_.rank() == 0) std::cout << text << std::flush;
  }

  void stage(options const& chosen) {
    weft::transport::staged_options how;
    how.chunk_bytes = static_cast<std::size_t>(chosen.chunk_bytes);
    for (int each = 1; each < chosen.channels; ++each) {
      channels_.push_back(std::make_unique<weft::transport::mpi>(MPI_COMM_WORLD));
      how.channels.push_back(channels_.back().get());
    }
    staged_ = std::make_unique<staged_door>(inner_, weft::transport::kokkos_copies<space>(), how);
    outer_ = staged_.get();
  }

  weft::transport::device_support find_support(options const& chosen, double deadline) {
    using namespace weft::transport;
    bool const asks_mpi = chosen.transport == transport_kind::mpi && !is_host;
    // Ranks on the host beside ranks on devices: each says what it has.
    device_answer const option = is_host ? device_answer::yes : device_answer::unknown;
    device_answer mpi = device_answer::unknown;
#if defined(KOKKOS_ENABLE_CUDA)
    if (asks_mpi) mpi = ask_mpi_for_device(weft::vendor::cuda);
#elif defined(KOKKOS_ENABLE_HIP)
    if (asks_mpi) mpi = ask_mpi_for_device(weft::vendor::hip);
#endif
    static_cast<void>(asks_mpi);
    kokkos_copies<space> copies;
    Kokkos::View<unsigned char*, memory> const tested("mini_llm::device_test", 2 * device_test_bytes);
    auto found = find_device_support(inner_, option, mpi, copies, tested.data(), deadline);
    for (std::string& reason : found.reasons)
      if (std::string const said = "the options say yes"; reason.substr(0, said.size()) == said)
        reason = "bodies lie in host memory" + reason.substr(said.size());
    return found;
  }

  /// Measures the pairs of ranks between which the plan has edges.
  void choose(options const& chosen, double deadline) {
    weft::schedule::program program;
    weft::topology::mesh_shape shape;
    weft::transport::all_or_none(
        inner_,
        [&] {
          program = make_program(chosen, inner_.size());
          shape = weft::train::pipelines_of(program.view().ranks(), inner_.size());
        },
        deadline);
    auto const view = program.view();
    std::set<std::pair<int, int>> pairs;
    for (int copy = 0; copy < view.graph.copies; ++copy)
      for (int edge = 0; edge < view.graph.edge_count; ++edge)
        for (int pipeline = 0; pipeline < shape.extent[1]; ++pipeline) {
          auto const world_rank = [&](int stage) {
            return view.graph.rank_of(stage, copy) * shape.stride[0] + pipeline * shape.stride[1];
          };
          int const one = world_rank(view.graph.edges[edge].source);
          int const other = world_rank(view.graph.edges[edge].destination);
          if (one != other) pairs.insert({(std::min)(one, other), (std::max)(one, other)});
        }
    constexpr std::size_t most = std::size_t{1} << 22U;  // longer bodies follow the line
    Kokkos::View<unsigned char*, memory> const body("mini_llm::link_test", most);
    std::vector<weft::transport::way> const ways{{"direct", direct_.get()}, {"staged", staged_.get()}};
    auto const table =
        pairs.empty() ? weft::transport::link_table()
                      : weft::transport::measure_links(inner_, ways, memory::name(), body.data(), most,
                                                       {.pairs = {pairs.begin(), pairs.end()}, .deadline = deadline});
    print(weft::transport::report_links(inner_, ways, table, deadline));
    automatic_ = std::make_unique<weft::transport::automatic>(inner_, memory::name(), ways, table);
    outer_ = automatic_.get();
  }

  weft::transport::endpoint& inner_;
  std::vector<std::unique_ptr<weft::transport::mpi>> channels_;
  std::unique_ptr<weft::transport::device_aware> direct_;
  std::unique_ptr<staged_door> staged_;
  std::unique_ptr<weft::transport::endpoint> by_vendor_;
  std::unique_ptr<weft::transport::automatic> automatic_;
  weft::transport::endpoint* outer_;
};

}  // namespace mini_llm
