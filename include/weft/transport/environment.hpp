// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/execution/device.hpp>
#include <weft/topology/vendor.hpp>
#include <weft/transport/detail/node.hpp>
#include <weft/transport/mpi.hpp>

#include <mpi.h>
#include <Kokkos_Core.hpp>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace weft::inline v1 {

namespace detail {

/// How many processes the launcher says it started; 1 where no launcher says anything.
inline int launched_processes() {
  // A step's own count, not the allocation's: a program may run alone inside an allocation of many.
  for (char const* name : {"PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "PMIX_SIZE"})
    if (char const* const text = std::getenv(name)) {
      int const count = std::atoi(text);
      if (count > 1) return count;
    }
  return 1;
}

/// Where this rank is among those of its node. Collective over `world`.
inline execution::node_place place_on_node(MPI_Comm world, topology::vendor own) {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm alike = MPI_COMM_NULL;
  execution::node_place place;
  if (transport::detail::split_by_node(world, &node) != MPI_SUCCESS)
    throw error("weft::environment: MPI cannot tell which ranks share a node (MPI_Allgather or MPI_Comm_split failed)");
  MPI_Comm_size(node, &place.ranks);
  MPI_Comm_split(node, static_cast<int>(own), 0, &alike);
  MPI_Comm_rank(alike, &place.number);
  MPI_Comm_size(alike, &place.alike);
  MPI_Comm_free(&alike);
  MPI_Comm_free(&node);
  return place;
}

/// Where weft owns MPI, an exception that nobody caught ends every rank, with its own words.
[[noreturn]] inline void abort_all_ranks() noexcept {
  int rank = -1;
  int is_initialised = 0;
  int is_finalised = 0;
  MPI_Initialized(&is_initialised);
  MPI_Finalized(&is_finalised);
  bool const can_abort = is_initialised != 0 && is_finalised == 0;
  if (can_abort) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  try {
    if (auto const failure = std::current_exception()) std::rethrow_exception(failure);
    std::fprintf(stderr, "weft: rank %d: std::terminate was called\n", rank);
  } catch (remote_error const& failure) {
    // The rank that failed says so itself; here one line is enough to see who else was waiting.
    std::fprintf(stderr, "weft: rank %d stops: %.*s\n", rank, static_cast<int>(std::strcspn(failure.what(), "\n")),
                 failure.what());
  } catch (std::exception const& failure) {
    std::fprintf(stderr, "weft: rank %d failed: %s\n", rank, failure.what());
  } catch (...) {
    std::fprintf(stderr, "weft: rank %d failed with an exception that is no std::exception\n", rank);
  }
  std::fflush(nullptr);
  // Launchers read a rank's output through a pipe and drop what is in it once the job is aborted.
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  if (can_abort) MPI_Abort(MPI_COMM_WORLD, 1);
  std::_Exit(1);
}

}  // namespace detail

/// MPI first, Kokkos second, and back down in reverse; leaves alone what was up before.
///
/// Where it starts MPI itself, an exception that leaves `main` prints its message and ends all ranks (MPI_Abort);
/// where the user owns MPI, exceptions are the user's and nothing is aborted. Construction and destruction are
/// collective over MPI_COMM_WORLD.
///
/// Where Kokkos has a device backend, the ranks of a node take its devices in turn, by their number on the node, and
/// before MPI starts where the launcher says that number: some MPIs bind to the device they find. On a node with ranks
/// of several vendors they count among their like, which is known once MPI has started. What the user says to Kokkos
/// (`--kokkos-device-id`, KOKKOS_DEVICE_ID and the like) goes before.
class environment {
 public:
  environment(int& argc, char**& argv) {
    int is_initialised = 0;
    int provided = MPI_THREAD_SINGLE;
    MPI_Initialized(&is_initialised);
    bool const deals_devices = !Kokkos::is_initialized() && !execution::is_device_chosen(argc, argv);
    int const devices = deals_devices ? execution::count_devices() : 0;
    int const launched = execution::launched_node_rank();
    if (is_initialised == 0) {
      if (devices > 0 && launched >= 0) execution::use_device(execution::device_of_rank(launched, devices));
      MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
      owns_mpi_ = true;
      // Errors become exceptions, with ranks and tags, in place of MPI's own abort.
      MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
      MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
      previous_ = std::set_terminate(&detail::abort_all_ranks);
    }
    refuse_singletons();
    // On every rank, whatever devices it has itself and whatever its user has said: others may need it.
    auto const place = detail::place_on_node(MPI_COMM_WORLD, execution::vendor_of<Kokkos::DefaultExecutionSpace>());
    if (!Kokkos::is_initialized()) {
      int const number = execution::number_for_device(launched, place);
      initialize_kokkos(argc, argv, execution::device_of_rank(number, devices));
      owns_kokkos_ = true;
    }
    if (is_initialised != 0) MPI_Query_thread(&provided);
    if (provided < MPI_THREAD_FUNNELED && Kokkos::DefaultHostExecutionSpace().concurrency() > 1)
      throw error(
          "weft::environment: MPI was started without MPI_THREAD_FUNNELED, which ranks with several threads need; call "
          "MPI_Init_thread(..., MPI_THREAD_FUNNELED, ...) before");
    world_ = std::make_unique<transport::mpi>(MPI_COMM_WORLD);
  }

  environment(environment const&) = delete;
  environment& operator=(environment const&) = delete;

  ~environment() {
    // Unwinding: other ranks may wait for this one, and MPI_Finalize would wait for them.
    if (owns_mpi_ && std::uncaught_exceptions() > exceptions_) {
      std::fprintf(stderr, "weft: rank %d leaves its environment by an exception; all ranks end\n", world_->rank());
      std::fflush(nullptr);
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
      MPI_Abort(MPI_COMM_WORLD, 1);
    }
    world_.reset();
    if (owns_kokkos_) Kokkos::finalize();
    if (owns_mpi_) {
      std::set_terminate(previous_);
      MPI_Finalize();
    }
  }

  /// All ranks of MPI_COMM_WORLD.
  [[nodiscard]] transport::endpoint& world() { return *world_; }

 private:
  /// Kokkos gets its own arguments alone (it would answer --help for the program), and they are taken out. `device`: -1
  /// where it chooses itself.
  static void initialize_kokkos(int& argc, char** argv, int device) {
    std::vector<char*> own;
    std::string chosen = "--kokkos-device-id=" + std::to_string(device);
    int kept = 0;
    for (int index = 0; index < argc; ++index) {
      bool const is_own = std::strncmp(argv[index], "--kokkos", 8) == 0;
      if (index == 0 || is_own) own.push_back(argv[index]);
      if (!is_own) argv[kept++] = argv[index];
    }
    if (kept < argc) argv[kept] = nullptr;
    argc = kept;
    if (device >= 0) own.push_back(chosen.data());
    int count = static_cast<int>(own.size());
    own.push_back(nullptr);
    Kokkos::initialize(count, own.data());
  }

  /// mpiexec of another MPI starts processes that each believe to be alone; all of them would train the whole model.
  static void refuse_singletons() {
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int const launched = detail::launched_processes();
    if (size != 1 || launched == 1) return;
    char library[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    MPI_Get_library_version(library, &length);
    std::string first_line(library, static_cast<std::size_t>(length));
    first_line.resize((std::min)(first_line.find('\n'), first_line.size()));
    throw error(
        "weft::environment: the launcher started " + std::to_string(launched) +
        " processes, but MPI sees only 1 each: the launcher belongs to another MPI; launch with the mpiexec of " +
        first_line + " (with Slurm: srun --mpi=pmi2 or pmix)");
  }

  bool owns_mpi_ = false;
  bool owns_kokkos_ = false;
  int exceptions_ = std::uncaught_exceptions();
  std::terminate_handler previous_ = nullptr;
  std::unique_ptr<transport::mpi> world_;
};

}  // namespace weft::inline v1
