// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#pragma once

// A Kokkos team of as many threads as a device would give it, played by threads of the host: what a team functor does
// with ranks, barriers and scratch is tested where Kokkos's own host spaces have teams of one.

#include <barrier>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace thread_team {

struct scratch {
  std::byte* data;
  std::size_t bytes;
  std::size_t mutable used = 0;

  void* get_shmem_aligned(std::size_t wanted, std::ptrdiff_t alignment) const {
    auto const step = static_cast<std::size_t>(alignment);
    std::size_t const at = (used + step - 1) / step * step;
    if (at + wanted > bytes) return nullptr;
    used = at + wanted;
    return data + at;
  }
};

/// The part of a team member's interface that weft uses.
class member {
 public:
  member(int league_rank, int league_size, int team_rank, int team_size, std::barrier<>& all, std::byte* memory,
         std::size_t bytes)
      : league_rank_(league_rank),
        league_size_(league_size),
        team_rank_(team_rank),
        team_size_(team_size),
        all_(all),
        scratch_{memory, bytes} {}

  [[nodiscard]] int league_rank() const { return league_rank_; }
  [[nodiscard]] int league_size() const { return league_size_; }
  [[nodiscard]] int team_rank() const { return team_rank_; }
  [[nodiscard]] int team_size() const { return team_size_; }
  void team_barrier() const { all_.arrive_and_wait(); }
  [[nodiscard]] scratch const& team_scratch(int) const { return scratch_; }

 private:
  int league_rank_;
  int league_size_;
  int team_rank_;
  int team_size_;
  std::barrier<>& all_;
  scratch scratch_;
};

/// One team after the other; scratch starts full of a number that no kernel may read.
template <class Functor>
void run(int league_size, int team_size, std::size_t scratch_bytes, Functor const& functor) {
  std::vector<double> memory(scratch_bytes / sizeof(double) + 1);
  std::barrier all(team_size);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < team_size; ++rank)
    threads.emplace_back([&, rank] {
      for (int team = 0; team < league_size; ++team) {
        if (rank == 0) std::memset(memory.data(), 0xFB, memory.size() * sizeof(double));
        all.arrive_and_wait();
        functor(member(team, league_size, rank, team_size, all, reinterpret_cast<std::byte*>(memory.data()),
                       scratch_bytes));
        all.arrive_and_wait();
      }
    });
  for (std::thread& each : threads) each.join();
}

}  // namespace thread_team
