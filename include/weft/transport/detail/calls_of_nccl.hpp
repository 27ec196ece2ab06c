// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/execution/marks.hpp>
#include <weft/transport/endpoint.hpp>

#include <Kokkos_Core.hpp>

#if defined(KOKKOS_ENABLE_HIP)
#include <rccl/rccl.h>  // the same calls
#else
#include <nccl.h>
#endif

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace weft::inline v1::transport::detail {

static_assert(NCCL_VERSION_CODE >= 21400, "weft::transport::nccl: communicators that never block came with NCCL 2.14");

/// A `device_library` by NCCL's calls, on a stream of its own and a communicator that never blocks: its start, and the
/// first messages of a pair, for which connections are made, can then be ended when another rank fails. `Runtime`:
/// streams and events of the vendor.
template <class Runtime>
class nccl_calls {
 public:
  static constexpr char const* name = Runtime::library_name;
  struct identity {  // with a name of its own, for compilers that trip over a nameless struct in a std::vector (nvcc
                     // 13)
    ncclUniqueId is;
  };

  /// Does not communicate. `compute`: whose work comes before messages that are posted after it.
  explicit nccl_calls(typename Runtime::space const& compute) : nccl_calls(Runtime::stream_of(compute)) {}

  [[nodiscard]] std::string_view memory() const { return Runtime::space::memory_space::name(); }

  /// After the same work; not connected.
  [[nodiscard]] nccl_calls another() const { return nccl_calls(state_->computes); }

  static identity make_identity() {
    identity made{};
    require(ncclGetUniqueId(&made.is), "ncclGetUniqueId", nullptr);
    return made;
  }

  void connect(identity const& id, int rank, int size) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    begun(ncclCommInitRankConfig(&state_->ranks, size, id.is, rank, &config), "ncclCommInitRankConfig");
  }
  [[nodiscard]] bool is_ready() { return progress() == ncclSuccess; }

  void follow() { state_->follow_compute(); }
  void begin_group() { begun(ncclGroupStart(), "ncclGroupStart"); }
  void send(void const* data, std::size_t bytes, int peer) {
    begun(ncclSend(data, bytes, ncclInt8, peer, state_->ranks, state_->messages), "ncclSend");
  }
  void receive(void* data, std::size_t bytes, int peer) {
    begun(ncclRecv(data, bytes, ncclInt8, peer, state_->ranks, state_->messages), "ncclRecv");
  }
  void all_reduce(void* data, std::int64_t elements, summand type) {
    begun(ncclAllReduce(data, data, static_cast<std::size_t>(elements), vendor_type(type), ncclSum, state_->ranks,
                        state_->messages),
          "ncclAllReduce");
  }
  void reduce(void* data, std::int64_t elements, summand type, int root) {
    begun(ncclReduce(data, data, static_cast<std::size_t>(elements), vendor_type(type), ncclSum, root, state_->ranks,
                     state_->messages),
          "ncclReduce");
  }
  void broadcast(void* data, std::int64_t elements, summand type, int root) {
    begun(ncclBroadcast(data, data, static_cast<std::size_t>(elements), vendor_type(type), root, state_->ranks,
                        state_->messages),
          "ncclBroadcast");
  }
  void end_group() { begun(ncclGroupEnd(), "ncclGroupEnd"); }

  [[nodiscard]] std::uint64_t mark() { return state_->launched.mark(); }
  [[nodiscard]] bool is_done(std::uint64_t number) { return state_->launched.is_done(number); }

  /// What went wrong behind the caller's back, on this rank or another one.
  void check() { static_cast<void>(progress()); }

  void abort() noexcept { state_->abort(); }

 private:
  using event = typename Runtime::event;

  explicit nccl_calls(typename Runtime::stream compute) : state_(std::make_unique<state>(compute)) {}

  struct state {
    explicit state(typename Runtime::stream compute)
        : computes(compute),
          messages(Runtime::make_stream()),
          computed(Runtime::make_event()),
          launched(messages) {}
    state(state const&) = delete;
    state& operator=(state const&) = delete;

    /// Collective over the communicator where nothing has failed; then it may take a moment, and gives up after two
    /// seconds.
    ~state() {
      ncclResult_t found = ranks == nullptr ? ncclInternalError : ncclCommFinalize(ranks);
      using clock = std::chrono::steady_clock;
      for (auto const end = clock::now() + std::chrono::seconds(2); found == ncclInProgress && clock::now() < end;
           std::this_thread::yield())
        if (ncclCommGetAsyncError(ranks, &found) != ncclSuccess) break;
      if (found == ncclSuccess && ncclCommDestroy(ranks) == ncclSuccess) ranks = nullptr;
      abort();
      Runtime::free_event(computed);
      Runtime::free_stream(messages);
    }

    void follow_compute() {
      Runtime::record(computed, computes);
      Runtime::let_wait(messages, computed);
    }
    void abort() noexcept {
      if (ranks != nullptr) static_cast<void>(ncclCommAbort(std::exchange(ranks, nullptr)));
    }

    typename Runtime::stream computes;
    typename Runtime::stream messages;
    event computed;
    ncclComm_t ranks = nullptr;
    execution::stream_marks<Runtime> launched;
  };

  static ncclDataType_t vendor_type(summand type) { return type == summand::f32 ? ncclFloat32 : ncclFloat64; }

  static void require(ncclResult_t result, char const* call, ncclComm_t ranks) {
    if (result == ncclSuccess || result == ncclInProgress) return;
    char const* const more = ncclGetLastError(ranks);
    throw error("weft::transport::" + std::string(name) + ": " + call + ": " + ncclGetErrorString(result) +
                (more != nullptr && *more != '\0' ? " (" + std::string(more) + ")" : std::string()) +
                "; NCCL_DEBUG=WARN says more");
  }
  void begun(ncclResult_t result, char const* call) const { require(result, call, state_->ranks); }

  ncclResult_t progress() {
    if (state_->ranks == nullptr)
      throw error("weft::transport::" + std::string(name) +
                  ": it was aborted after a failure, or never started; see the first message of this rank, and start "
                  "the job again");
    ncclResult_t found = ncclSuccess;
    begun(ncclCommGetAsyncError(state_->ranks, &found), "ncclCommGetAsyncError");
    begun(found, "a message");
    return found;
  }

  std::unique_ptr<state> state_;
};

}  // namespace weft::inline v1::transport::detail
