// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Bodies from memory to memory between two ranks, half a round trip, in one run and in turns:
//
//     mpi        plain MPI, where it may read the memory
//     hand       a double-buffered loop of copies and MPI calls, written by hand for this case
//     weft       transport::staged, with as large chunks
//     automatic  transport::automatic, which has measured staging and plain MPI beforehand
//
// ratio = hand / weft (1 is as fast as by hand; the target is 0.95 from 4 MiB on), and automatic / the one of the two
// that it chooses from which has the lower median, medians of the turns with quartiles. The label is what it chose.
// All of weft's are prepared as a pipeline does it: each size is an edge of its own, with a tag of its own.
//
//     mpiexec -n 2 staged

#include "machine.hpp"

#include <weft/transport/automatic.hpp>
#include <weft/transport/device_aware.hpp>
#include <weft/transport/mpi.hpp>
#include <weft/transport/staged.hpp>

#include <sched.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace {

using clock_type = std::chrono::steady_clock;
using weft::transport::request;

constexpr std::size_t chunk = std::size_t{1} << 19;
constexpr int hand_tag = 1;
constexpr std::size_t most = std::size_t{1} << 26;

using host_bytes = Kokkos::View<char*, Kokkos::HostSpace>;  // at a cache line, as boundaries are

weft::transport::mpi* world = nullptr;
std::vector<weft::transport::way> ways;
weft::transport::automatic* chooses = nullptr;
char* moved = nullptr;  // one for all, measured links included: from some places copies take twice as long

void finish(MPI_Request& posted) {
  for (int is_done = 0;;) {
    MPI_Test(&posted, &is_done, MPI_STATUS_IGNORE);
    if (is_done != 0) return;
    if (world->is_crowded()) sched_yield();
  }
}

/// Two chunks, one of which is copied while the other is sent.
class hand_written {
 public:
  hand_written() : buffers_{host_bytes("hand", chunk), host_bytes("hand", chunk)} {}

  void send(char const* body, std::size_t bytes) {
    MPI_Request posted[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int turn = 0;
    for (std::size_t done = 0; done < bytes; done += chunk, turn = 1 - turn) {
      std::size_t const part = std::min(chunk, bytes - done);
      finish(posted[turn]);
      std::memcpy(buffers_[turn].data(), body + done, part);
      MPI_Isend(buffers_[turn].data(), static_cast<int>(part), MPI_BYTE, 1 - world->rank(), hand_tag,
                world->communicator(), &posted[turn]);
    }
    finish(posted[0]);
    finish(posted[1]);
  }
  void receive(char* body, std::size_t bytes) {
    MPI_Request posted[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    std::size_t asked = 0;
    auto const ask = [&](int turn) {
      if (asked >= bytes) return;
      std::size_t const part = std::min(chunk, bytes - asked);
      MPI_Irecv(buffers_[turn].data(), static_cast<int>(part), MPI_BYTE, 1 - world->rank(), hand_tag,
                world->communicator(), &posted[turn]);
      asked += part;
    };
    ask(0);
    ask(1);
    int turn = 0;
    for (std::size_t done = 0; done < bytes; done += chunk, turn = 1 - turn) {
      finish(posted[turn]);
      std::memcpy(body + done, buffers_[turn].data(), std::min(chunk, bytes - done));
      ask(turn);
    }
  }

 private:
  host_bytes buffers_[2];
};

void meet() {
  MPI_Request posted = MPI_REQUEST_NULL;
  MPI_Ibarrier(world->communicator(), &posted);
  finish(posted);
}

/// Half a round trip in seconds, the longer of both ranks'.
template <class Send, class Receive>
double measure(Send&& send, Receive&& receive) {
  meet();
  auto const begin = clock_type::now();
  if (world->rank() == 0) {
    send();
    receive();
  } else {
    receive();
    send();
  }
  double seconds = std::chrono::duration<double>(clock_type::now() - begin).count() / 2.0;
  MPI_Request posted = MPI_REQUEST_NULL;
  MPI_Iallreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, world->communicator(), &posted);
  finish(posted);
  return seconds;
}

double measure(weft::transport::endpoint& door, char* body, std::size_t bytes, int tag) {
  int const peer = 1 - door.rank();
  auto const settle = [&](request posted) {
    while (!door.test(posted)) door.yield();
  };
  return measure(
      [&] {
        settle(door.send_parts({nullptr, 0, body, bytes}, peer, tag));
      },
      [&] {
        settle(door.receive_parts({nullptr, 0, body, bytes}, peer, tag));
      });
}

void staged(benchmark::State& state) {
  auto const bytes = static_cast<std::size_t>(state.range(0));
  hand_written by_hand;
  static int tag = hand_tag;
  ++tag;
  for (bool const sends : {false, true}) {
    for (auto const& each : ways) each.door->prepare_parts(sends, bytes, 1 - world->rank(), tag);
    chooses->prepare_parts(sends, bytes, 1 - world->rank(), tag);
  }
  std::vector<double> mpi_s;
  std::vector<double> hand_s;
  std::vector<double> weft_s;
  std::vector<double> automatic_s;
  std::vector<double> ratio;
  int turn = 0;
  for (auto _ : state) {
    double times[4] = {};
    for (int each = 0; each < 4; ++each) {
      int const which = (each + turn) % 4;
      if (which == 0) times[0] = measure(*ways[0].door, moved, bytes, tag);
      if (which == 1) times[1] = measure([&] { by_hand.send(moved, bytes); }, [&] { by_hand.receive(moved, bytes); });
      if (which == 2) times[2] = measure(*ways[1].door, moved, bytes, tag);
      if (which == 3) times[3] = measure(*chooses, moved, bytes, tag);
    }
    state.SetIterationTime(times[2]);
    if (turn++ < 4) continue;  // to warm up
    mpi_s.push_back(times[0]);
    hand_s.push_back(times[1]);
    weft_s.push_back(times[2]);
    automatic_s.push_back(times[3]);
    ratio.push_back(times[1] / times[2]);
  }
  // The better one of all turns: the better one of each turn would be the lucky one, which no choice can equal.
  auto const& better = bench::quantile(mpi_s, 0.5) < bench::quantile(weft_s, 0.5) ? mpi_s : weft_s;
  std::vector<double> automatic_ratio;
  for (std::size_t each = 0; each < better.size(); ++each) automatic_ratio.push_back(automatic_s[each] / better[each]);
  auto const rate = [&](std::vector<double> const& seconds) {
    return static_cast<double>(bytes) / bench::quantile(seconds, 0.5) / 1e9;
  };
  state.counters["mpi_GB/s"] = rate(mpi_s);
  state.counters["hand_GB/s"] = rate(hand_s);
  state.counters["weft_GB/s"] = rate(weft_s);
  state.counters["automatic_GB/s"] = rate(automatic_s);
  bench::add_quartiles(state, "ratio", ratio);
  bench::add_quartiles(state, "automatic", automatic_ratio);
  state.SetLabel(chooses->choice(1 - world->rank(), bytes));
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  Kokkos::initialize();
  int status = 0;
  {
    weft::transport::mpi door(MPI_COMM_WORLD);
    if (door.size() != 2) {
      if (door.rank() == 0) std::fprintf(stderr, "staged: it takes 2 ranks, and there are %d\n", door.size());
      status = 2;
    } else {
      world = &door;
      weft::transport::staged<chunk, weft::transport::host_copies> by_chunks(door);
      weft::transport::device_aware direct(door, Kokkos::HostSpace::name());
      ways = {{"direct", &direct}, {"staged", &by_chunks}};
      host_bytes const bytes_to_move("body", most);
      moved = bytes_to_move.data();
      auto const table = weft::transport::measure_links(door, ways, Kokkos::HostSpace::name(), moved, most);
      weft::transport::automatic automatic(door, Kokkos::HostSpace::name(), ways, table);
      chooses = &automatic;
      for (std::size_t bytes = std::size_t{1} << 20; bytes <= most; bytes *= 4)
        benchmark::RegisterBenchmark("staged", staged)
            ->Arg(static_cast<std::int64_t>(bytes))
            ->Iterations(bytes <= std::size_t{1} << 24 ? 104 : 44)
            ->UseManualTime()
            ->Unit(benchmark::kMillisecond);
      bench::add_machine_facts();
      benchmark::Initialize(&argc, argv);
      if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
        status = 2;
      } else {
        bench::silent_reporter silent;
        benchmark::RunSpecifiedBenchmarks(door.rank() == 0 ? nullptr : &silent);
      }
    }
  }
  Kokkos::finalize();
  MPI_Finalize();
  return status;
}
