// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/transport/launch_mutex.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weft::inline v1::schedule {
struct program_view;
}

namespace weft::inline v1::transport {

class endpoint;
class vendor_groups;

/// A posted send or receive. Owned by whoever posted it; complete once `endpoint::test` has said so, and then empty.
struct request {
  std::uintptr_t handle = 0;
  bool pending = false;
  bool is_send = false;
  bool is_collective = false;
  bool is_in_parts = false;      ///< posted by `send_parts` or `receive_parts`
  std::uint8_t way = 0;          ///< which door has it, where one chooses among several
  endpoint const* of = nullptr;  ///< in parts: the door that moves it, which may be inside of another one
};

/// A message whose head is in host memory and whose body is in memory of another kind.
template <class Data>
struct message_parts {
  Data* head = nullptr;
  std::size_t head_bytes = 0;
  Data* body = nullptr;
  std::size_t body_bytes = 0;
  /// Of a send: how many bytes the receive has room for, which may be read behind `body`, too: some libraries move as
  /// many always. 0: no more than `body_bytes`.
  std::size_t most_bytes = 0;
};
using outgoing_parts = message_parts<void const>;
using incoming_parts = message_parts<void>;  ///< `body_bytes`: the most that may come

/// What takes a body from one memory to another.
enum class carrier : std::uint8_t {
  none,
  host,    ///< host memory alone: what MPI was made for
  mpi,     ///< MPI, which is handed pointers to a device's memory
  library  ///< the device vendor's library, as NCCL
};

/// What a transport's library can sum.
enum class summand : std::uint8_t { f32, f64 };

/// The collectives of a transport's own library, among ranks that were fixed when it was made.
class library_collectives {
 public:
  library_collectives() = default;
  library_collectives(library_collectives const&) = delete;
  library_collectives& operator=(library_collectives const&) = delete;
  virtual ~library_collectives() = default;

  /// Posts data[i] = sum over the ranks, in an order of additions of the library's own; `endpoint::test` completes it.
  [[nodiscard]] virtual request all_reduce(void* data, std::int64_t elements, summand type) = 0;
};

/// Those of a device vendor's library, which also sums on one rank and tells what one has. All of them are posted in
/// one order on all ranks.
class device_collectives : public library_collectives {
 public:
  /// Posts data[i] = sum over the ranks, on rank `root` alone; elsewhere data stay as they are.
  [[nodiscard]] virtual request reduce(void* data, std::int64_t elements, summand type, int root) = 0;
  /// Posts data[i] = that of rank `root`.
  [[nodiscard]] virtual request broadcast(void* data, std::int64_t elements, summand type, int root) = 0;

  /// How many have ended, as far as tests have seen.
  [[nodiscard]] virtual std::size_t ended() const = 0;
  /// After a failure: ends all of them, for the other ranks also where this one has posted none yet.
  virtual void give_up() noexcept = 0;
};

/// What a rank was doing when the deadline of some rank's wait passed.
struct whereabouts {
  bool is_known = false;
  int waits_for = -1;  ///< a rank of the outermost endpoint; -1: for none, it computes
  std::string text;    ///< begins with "rank <n>"; the first 1,000 characters of it travel
};

/// One rank's door to the others: posts, tests, and the failure channel. Everything above (engine, collectives,
/// trainer) is written against this class, so that it is compiled once and cannot know which transport runs below.
///
/// All members are called by the rank's own thread only. Buffers belong to the endpoint's memory (host memory in
/// `transport::mpi` and `transport::in_process`) from the post until the request completes.
class endpoint {
 public:
  endpoint() = default;
  endpoint(endpoint const&) = delete;
  endpoint& operator=(endpoint const&) = delete;
  virtual ~endpoint() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;

  /// What messages to people call a rank: its number in the outermost endpoint that this one is a part of.
  [[nodiscard]] virtual int global_rank(int rank) const { return rank; }

  /// Posts; never block. Messages of one (peer, tag) pair arrive in the order they were posted. Tags are 0..32767.
  [[nodiscard]] virtual request send(void const* data, std::size_t bytes, int peer, int tag) = 0;
  [[nodiscard]] virtual request receive(void* data, std::size_t bytes, int peer, int tag) = 0;

  /// True once the request is complete; makes progress; does not communicate otherwise.
  [[nodiscard]] virtual bool test(request& posted) = 0;

  /// Whether messages between this rank and `peer` are posted by `send_parts` and `receive_parts`, with bodies in
  /// `memory` (what Kokkos calls a memory space). Both ends of a pair say the same. By default none are, and whoever
  /// has a body where the host cannot read copies it.
  [[nodiscard]] virtual bool moves_parts(int peer, std::string_view memory) const {
    static_cast<void>(peer), static_cast<void>(memory);
    return false;
  }

  /// What those bodies go by. The libraries of vendors and an MPI that is handed device memory must not be in flight
  /// together: each may wait for the device's other work, and so for the other one.
  [[nodiscard]] virtual carrier carries(int peer, std::string_view memory) const {
    return moves_parts(peer, memory) ? carrier::host : carrier::none;
  }

  /// Whether posts must come in an order in which one queue per rank can run them (`send_model::in_issue_order`): what
  /// is lowered for this door then posts its receives at their use. The same on every rank that has such a door.
  [[nodiscard]] virtual bool keeps_issue_order() const { return false; }

  /// Throws where a program cannot be played here, in the same words on every rank that has such a door; whoever plays
  /// one asks first. Does not communicate.
  virtual void require_program(schedule::program_view const& program) const { static_cast<void>(program); }

  /// Around posts that belong together: those that stand next to each other in the program. For libraries to which a
  /// group of posts is one thing, which begins and ends as a whole (NCCL). Must not be nested; no test in between.
  virtual void begin_posts() {}
  virtual void end_posts() {}

  /// Announces messages of one direction, peer and tag with bodies of at most `most_bytes`, the same at both ends: what
  /// they need is allocated here and not at the posts. Does not communicate.
  virtual void prepare_parts(bool is_send, std::size_t most_bytes, int peer, int tag) {
    static_cast<void>(is_send), static_cast<void>(most_bytes), static_cast<void>(peer), static_cast<void>(tag);
  }

  /// As `send` and `receive`, from and into two places. The head's length is the same at both ends, the body's may be
  /// less than what the receive has room for.
  [[nodiscard]] virtual request send_parts(outgoing_parts const& parts, int peer, int tag) {
    static_cast<void>(parts);
    refuse_parts(peer, tag);
  }
  [[nodiscard]] virtual request receive_parts(incoming_parts const& parts, int peer, int tag) {
    static_cast<void>(parts);
    refuse_parts(peer, tag);
  }

  /// Bytes that arrived by the last receive for which `test` returned true, the head's included.
  [[nodiscard]] virtual std::size_t received_bytes() const = 0;

  /// Gives up a pending request (after a failure). False where the transport may go on reading a send's buffer: its
  /// owner must then keep the memory for ever. Blocks for a fraction of a second at most.
  [[nodiscard]] virtual bool abandon(request& posted) noexcept = 0;

  /// Tells every other rank that this one failed and why (the first 1,000 characters of it); the first call counts.
  /// Waits for half a second at most for the messages to leave.
  virtual void announce_failure(std::string_view message) noexcept = 0;

  /// Throws `remote_error` once another rank has announced a failure, and `standstill` once another rank's deadline has
  /// passed. Does not block.
  virtual void check_failure() = 0;

  /// Tells every other rank that this one has given up waiting, or answers one that has; returns, by rank of the
  /// outermost endpoint, what each said within `seconds`. Empty where the transport has no such channel. Counts as a
  /// failure: what is announced afterwards goes nowhere.
  [[nodiscard]] virtual std::vector<whereabouts> exchange_whereabouts(whereabouts const& own, double seconds) {
    static_cast<void>(own), static_cast<void>(seconds);
    return {};
  }

  /// Lets another rank have this core; called between unsuccessful tests.
  virtual void yield() noexcept = 0;

  /// Held around whatever launches kernels. Where ranks are threads it is one lock for the process (Kokkos kernels
  /// must not be launched by several threads at once); elsewhere it costs nothing. Never held while waiting: whoever
  /// waits for it looks at the failure channel, throws as a wait for a message does, and answers at a standstill. Empty
  /// where this thread holds it already, so that what moves messages may ask in the midst of a launch.
  [[nodiscard]] virtual launch_guard launch_lock() = 0;

  /// The transport's library among `members`, ranks of this endpoint of which the calling one is a member; empty where
  /// the transport has none. Collective over the members; blocks. Must not outlive this endpoint.
  [[nodiscard]] virtual std::unique_ptr<library_collectives> make_library(std::vector<int> const& members) {
    static_cast<void>(members);
    return {};
  }

  /// The library of a device's vendor among `members`, for sums of data in `memory` (what Kokkos calls it); empty where
  /// not all of them have a door of the same vendor's. Otherwise as `make_library`.
  [[nodiscard]] virtual std::unique_ptr<device_collectives> make_device_library(std::vector<int> const& members,
                                                                                std::string_view memory) {
    static_cast<void>(members), static_cast<void>(memory);
    return {};
  }

  /// Whether `library_all_reduce` is a device vendor's, with data in the device's memory.
  [[nodiscard]] virtual bool has_device_library() const { return false; }

  /// The ranks by the vendor's library that they share; null where nobody asked (transport/vendor_groups.hpp).
  [[nodiscard]] virtual vendor_groups* by_vendor() { return nullptr; }

  /// Whether `library_all_reduce` is possible here.
  [[nodiscard]] virtual bool has_library() const { return false; }

  /// Posts a sum over all ranks of this endpoint, by the transport's own library. Throws where there is none.
  [[nodiscard]] virtual request library_all_reduce(void* data, std::int64_t elements, summand type) {
    static_cast<void>(data), static_cast<void>(elements), static_cast<void>(type);
    throw error(
        "weft::transport: this transport has no library of collectives, so there is no all-reduce \"mpi\"; choose "
        "ring, "
        "recursive-doubling, recursive-halving, tree or hierarchical, or run over MPI",
        {.rank = global_rank(rank())});
  }

 private:
  [[noreturn]] void refuse_parts(int peer, int tag) const {
    throw error("weft::transport: this transport moves no messages in parts; ask moves_parts first",
                {.rank = global_rank(rank()), .peer = peer, .tag = tag});
  }
};

}  // namespace weft::inline v1::transport
