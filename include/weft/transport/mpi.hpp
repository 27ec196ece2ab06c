// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/transport/detail/node.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/launch_mutex.hpp>

#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <new>
#include <string>
#include <vector>

namespace weft::inline v1::transport {

/// One MPI rank's door: non-blocking point-to-point messages on a duplicate of the user's communicator, and a second
/// duplicate for the failure channel. Both return errors in place of aborting; the user's communicator is untouched.
/// (MPI reports some errors, a truncated message among them, to MPI_COMM_WORLD's handler all the same. That one is the
/// user's; weft::environment sets it where weft owns MPI.)
///
/// Construction and destruction are collective over `communicator`.
class mpi final : public endpoint {
 public:
  explicit mpi(MPI_Comm communicator) {
    int is_initialised = 0;
    MPI_Initialized(&is_initialised);
    if (is_initialised == 0)
      throw error(
          "weft::transport::mpi: MPI is not initialised; make a weft::environment or call MPI_Init_thread first");
    check(MPI_Comm_dup(communicator, &data_), "MPI_Comm_dup");
    check(MPI_Comm_dup(communicator, &alarm_), "MPI_Comm_dup");
    MPI_Comm_set_errhandler(data_, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(alarm_, MPI_ERRORS_RETURN);
    MPI_Comm_rank(data_, &rank_);
    MPI_Comm_size(data_, &size_);
    crowded_ = ranks_on_this_node() > cores_of_this_rank();
    post_alarm_receive();
  }

  ~mpi() override {
    int is_finalised = 0;
    MPI_Finalized(&is_finalised);
    if (is_finalised != 0) return;
    bool const everybody_leaves = leave();
    if (alarm_receive_ != MPI_REQUEST_NULL) {
      MPI_Cancel(&alarm_receive_);
      MPI_Wait(&alarm_receive_, MPI_STATUS_IGNORE);
    }
    if (!everybody_leaves) return;
    MPI_Comm_free(&alarm_);
    MPI_Comm_free(&data_);
  }

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }

  [[nodiscard]] request send(void const* data, std::size_t bytes, int peer, int tag) override {
    return post(true, bytes, peer, tag, "MPI_Isend", [&](int count, MPI_Datatype type, MPI_Request* handle) {
      return MPI_Isend(data, count, type, peer, tag, data_, handle);
    });
  }
  [[nodiscard]] request receive(void* data, std::size_t bytes, int peer, int tag) override {
    return post(false, bytes, peer, tag, "MPI_Irecv", [&](int count, MPI_Datatype type, MPI_Request* handle) {
      return MPI_Irecv(data, count, type, peer, tag, data_, handle);
    });
  }

  [[nodiscard]] bool test(request& posted) override {
    if (!posted.pending) return true;
    MPI_Request handle = unpack(posted);
    int is_done = 0;
    MPI_Status status;
    int const code = MPI_Test(&handle, &is_done, &status);
    if (code != MPI_SUCCESS) {
      posted = {};
      check(code, "MPI_Test");
    }
    if (is_done == 0) {
      posted.handle = pack(handle);
      return false;
    }
    bool const has_status = !posted.is_send && !posted.is_collective;
    posted = {};
    MPI_Count bytes = 0;
    if (has_status) {
#if MPI_VERSION >= 4  // which has it under this name; from 4.1 on the other one is deprecated
      MPI_Get_elements_c(&status, MPI_BYTE, &bytes);
#else
      MPI_Get_elements_x(&status, MPI_BYTE, &bytes);
#endif
    }
    received_ = bytes == MPI_UNDEFINED ? 0 : static_cast<std::size_t>(bytes);
    return true;
  }

  [[nodiscard]] std::size_t received_bytes() const override { return received_; }

  [[nodiscard]] bool abandon(request& posted) noexcept override {
    if (!posted.pending) return true;
    MPI_Request handle = unpack(posted);
    bool const is_send = posted.is_send;
    bool const is_collective = posted.is_collective;
    posted = {};
    has_failed_ = true;
    if (is_collective) {  // may be neither cancelled nor freed: done already, or its buffer stays with MPI
      int is_done = 0;
      return MPI_Test(&handle, &is_done, MPI_STATUS_IGNORE) == MPI_SUCCESS && is_done != 0;
    }
    if (!is_send) {  // cancelled or complete: either way this rank alone decides, and the buffer is free
      MPI_Cancel(&handle);
      MPI_Wait(&handle, MPI_STATUS_IGNORE);
      return true;
    }
    // A send cannot be taken back. Most have left already; one that waits for its receive keeps its buffer.
    // All sends of this endpoint share one moment to leave.
    using clock = std::chrono::steady_clock;
    if (grace_end_ == clock::time_point{}) grace_end_ = clock::now() + std::chrono::milliseconds(50);
    for (int is_done = 0;; sched_yield()) {
      if (MPI_Test(&handle, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS || is_done != 0) return true;
      if (clock::now() >= grace_end_) break;
    }
    MPI_Request_free(&handle);
    return false;
  }

  void announce_failure(std::string_view message) noexcept override {
    if (has_failed_) return;
    has_failed_ = true;
    MPI_Request* const sends = raise_alarm(alarm_kind::failure, -1, message);
    if (sends == nullptr) return;
    // A peer that never looks again must not hold this rank: give the messages a moment, then go.
    using clock = std::chrono::steady_clock;
    auto const end = clock::now() + std::chrono::milliseconds(500);
    for (int is_done = 0; is_done == 0 && clock::now() < end; sched_yield())
      MPI_Testall(size_, sends, &is_done, MPI_STATUSES_IGNORE);
  }

  void check_failure() override {
    if (alarm_receive_ == MPI_REQUEST_NULL) return;
    int is_done = 0;
    MPI_Status status;
    check(MPI_Test(&alarm_receive_, &is_done, &status), "MPI_Test");
    if (is_done == 0) return;
    has_failed_ = true;
    alarm_text_.text[text_bytes - 1] = '\0';
    if (alarm_text_.kind == alarm_kind::standstill) {
      first_answer_ = {true, alarm_text_.waits_for, alarm_text_.text};
      first_answer_from_ = status.MPI_SOURCE;
      throw standstill(alarm_text_.text, {.rank = status.MPI_SOURCE});
    }
    throw remote_error(alarm_text_.text, {.rank = status.MPI_SOURCE});
  }

  /// Every rank sends its answer to all others: who gave up at the same time needs it, too.
  [[nodiscard]] std::vector<whereabouts> exchange_whereabouts(whereabouts const& own, double seconds) override {
    using clock = std::chrono::steady_clock;
    auto const end = clock::now() + std::chrono::duration<double>(seconds);
    std::vector<whereabouts> all(static_cast<std::size_t>(size_));
    all[static_cast<std::size_t>(rank_)] = own;
    if (first_answer_from_ >= 0) all[static_cast<std::size_t>(first_answer_from_)] = first_answer_;
    has_failed_ = true;
    MPI_Request* const sends = raise_alarm(alarm_kind::standstill, own.waits_for, own.text);
    int sent = sends == nullptr ? 1 : 0;
    auto const is_known = [](auto const& each) { return each.is_known; };
    while (clock::now() < end && (sent == 0 || !std::all_of(all.begin(), all.end(), is_known))) {
      if (sent == 0) MPI_Testall(size_, sends, &sent, MPI_STATUSES_IGNORE);
      if (alarm_receive_ == MPI_REQUEST_NULL) post_alarm_receive();
      int is_done = 0;
      MPI_Status status;
      check(MPI_Test(&alarm_receive_, &is_done, &status), "MPI_Test");
      if (is_done == 0) {
        sched_yield();
        continue;
      }
      alarm_text_.text[text_bytes - 1] = '\0';
      bool const waits = alarm_text_.kind == alarm_kind::standstill;
      all[static_cast<std::size_t>(status.MPI_SOURCE)] = {true, waits ? alarm_text_.waits_for : -1, alarm_text_.text};
    }
    return all;
  }

  void yield() noexcept override {
    if (crowded_) sched_yield();
  }

  [[nodiscard]] launch_guard launch_lock() override { return {}; }

  [[nodiscard]] std::unique_ptr<library_collectives> make_library(std::vector<int> const& members) override {
    return std::make_unique<group_library>(*this, members);
  }

  /// MPI_Iallreduce.
  [[nodiscard]] bool has_library() const override { return true; }
  [[nodiscard]] request library_all_reduce(void* data, std::int64_t elements, summand type) override {
    return post_sum(data_, data, elements, type);
  }

  /// More ranks on this node than cores that this one may run on: a wait gives its core away.
  [[nodiscard]] bool is_crowded() const { return crowded_; }

  /// The communicator of the data messages, for code that talks MPI beside weft (a benchmark's peer).
  [[nodiscard]] MPI_Comm communicator() const { return data_; }

 private:
  static constexpr std::size_t text_bytes = 1024;
  enum class alarm_kind : std::int32_t { failure, standstill };
  struct alarm_message {
    alarm_kind kind = alarm_kind::failure;
    std::int32_t waits_for = -1;
    char text[text_bytes] = {};
  };

  /// True once every rank has come to the end unharmed. Otherwise, or after two seconds, the communicators must stay:
  /// who frees one alone gives its number to the next, and a message that a failed rank still had under way (Open MPI
  /// puts that number into it) would end up there, or end the job.
  [[nodiscard]] bool leave() noexcept {
    if (has_failed_ || std::uncaught_exceptions() > exceptions_) return false;
    MPI_Request everybody = MPI_REQUEST_NULL;
    if (MPI_Ibarrier(data_, &everybody) != MPI_SUCCESS) return false;
    using clock = std::chrono::steady_clock;
    for (auto const end = clock::now() + std::chrono::seconds(2);; sched_yield()) {
      int is_done = 0;
      if (MPI_Test(&everybody, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
      if (is_done != 0) return true;
      if (alarm_receive_ == MPI_REQUEST_NULL || clock::now() > end) return false;
      if (MPI_Test(&alarm_receive_, &is_done, MPI_STATUS_IGNORE) != MPI_SUCCESS || is_done != 0) return false;
    }
  }

  void post_alarm_receive() {
    check(MPI_Irecv(&alarm_text_, static_cast<int>(sizeof alarm_text_), MPI_BYTE, MPI_ANY_SOURCE, 0, alarm_,
                    &alarm_receive_),
          "MPI_Irecv");
  }

  /// Posts the message to every other rank; the requests, one per rank, or null where memory is out. Neither they nor
  /// the message are ever freed: a peer may fetch it after this rank has left, and a failing process does not need the
  /// kilobyte.
  MPI_Request* raise_alarm(alarm_kind kind, int waits_for, std::string_view text) const noexcept {
    auto* const message = new (std::nothrow) alarm_message;
    auto* const sends = new (std::nothrow) MPI_Request[static_cast<std::size_t>(size_)];
    if (message == nullptr || sends == nullptr) return nullptr;
    message->kind = kind;
    message->waits_for = waits_for;
    std::memcpy(message->text, text.data(), (std::min)(text.size(), text_bytes - 1));
    for (int peer = 0; peer < size_; ++peer) {
      sends[peer] = MPI_REQUEST_NULL;
      if (peer != rank_) MPI_Isend(message, static_cast<int>(sizeof *message), MPI_BYTE, peer, 0, alarm_, &sends[peer]);
    }
    return sends;
  }
  static constexpr std::size_t chunk_bytes = std::size_t{1} << 30;

  static_assert(sizeof(MPI_Request) <= sizeof(std::uintptr_t));
  static std::uintptr_t pack(MPI_Request handle) {
    std::uintptr_t bits = 0;
    std::memcpy(&bits, &handle, sizeof(handle));
    return bits;
  }
  static MPI_Request unpack(request const& posted) {
    MPI_Request handle{};
    std::memcpy(&handle, &posted.handle, sizeof(handle));
    return handle;
  }

  void check(int code, char const* call, int peer = -1, int tag = -1) const {
    if (code == MPI_SUCCESS) return;
    char text[MPI_MAX_ERROR_STRING + 1] = {};
    int length = 0;
    MPI_Error_string(code, text, &length);
    int kind = MPI_SUCCESS;
    MPI_Error_class(code, &kind);
    throw error(
        "weft::transport::mpi: " + std::string(call) + " failed on rank " + std::to_string(rank_) +
            (peer >= 0 ? " with rank " + std::to_string(peer) + ", tag " + std::to_string(tag) : "") + ": " +
            std::string(text, static_cast<std::size_t>(length)) +
            (kind == MPI_ERR_TRUNCATE ? "; the message is longer than what this rank declares for the edge, so the "
                                        "ranks run different plans or models, or name other element types"
                                      : "; see the MPI library's documentation"),
        {.rank = rank_, .peer = peer, .tag = tag});
  }

  /// Counts are int in MPI 3.1: above 1 GiB the message is described by a derived type.
  template <class Call>
  request post(bool is_send, std::size_t bytes, int peer, int tag, char const* name, Call&& call) {
    MPI_Request handle = MPI_REQUEST_NULL;
    if (bytes <= chunk_bytes) {
      check(call(static_cast<int>(bytes), MPI_BYTE, &handle), name, peer, tag);
    } else {
      MPI_Datatype whole = large_type(bytes);
      int const code = call(1, whole, &handle);
      MPI_Type_free(&whole);  // lives on until the message is complete
      check(code, name, peer, tag);
    }
    return {pack(handle), true, is_send};
  }

  request post_sum(MPI_Comm ranks, void* data, std::int64_t elements, summand type) const {
    if (elements > (std::numeric_limits<int>::max)())
      throw error("weft::transport::mpi: MPI_Iallreduce takes no more than 2,147,483,647 numbers, and " +
                      std::to_string(elements) + " were given; reduce them in several parts",
                  {.rank = rank_});
    MPI_Request handle = MPI_REQUEST_NULL;
    check(MPI_Iallreduce(MPI_IN_PLACE, data, static_cast<int>(elements), type == summand::f32 ? MPI_FLOAT : MPI_DOUBLE,
                         MPI_SUM, ranks, &handle),
          "MPI_Iallreduce");
    return {pack(handle), true, false, true};
  }

  /// A communicator of its own for some of the ranks. Made and freed collectively over them.
  class group_library final : public library_collectives {
   public:
    group_library(mpi& door, std::vector<int> const& members) : door_(door) {
      MPI_Group all = MPI_GROUP_NULL;
      MPI_Group some = MPI_GROUP_NULL;
      door_.check(MPI_Comm_group(door_.data_, &all), "MPI_Comm_group");
      int code = MPI_Group_incl(all, static_cast<int>(members.size()), members.data(), &some);
      MPI_Group_free(&all);
      door_.check(code, "MPI_Group_incl");
      code = MPI_Comm_create_group(door_.data_, some, 0, &ranks_);
      MPI_Group_free(&some);
      door_.check(code, "MPI_Comm_create_group");
      MPI_Comm_set_errhandler(ranks_, MPI_ERRORS_RETURN);
    }
    ~group_library() override {
      int is_finalised = 0;
      MPI_Finalized(&is_finalised);
      // Freeing is collective, and after a failure the others may be gone.
      if (is_finalised != 0 || door_.has_failed_ || std::uncaught_exceptions() > exceptions_) return;
      MPI_Comm_free(&ranks_);
    }

    [[nodiscard]] request all_reduce(void* data, std::int64_t elements, summand type) override {
      return door_.post_sum(ranks_, data, elements, type);
    }

   private:
    mpi& door_;
    MPI_Comm ranks_ = MPI_COMM_NULL;
    int exceptions_ = std::uncaught_exceptions();
  };

  static MPI_Datatype large_type(std::size_t bytes) {
    std::size_t const chunks = bytes / chunk_bytes;
    std::size_t const rest = bytes % chunk_bytes;
    MPI_Datatype chunk = MPI_DATATYPE_NULL;
    MPI_Type_contiguous(static_cast<int>(chunk_bytes), MPI_BYTE, &chunk);
    int const lengths[2] = {static_cast<int>(chunks), static_cast<int>(rest)};
    MPI_Aint const offsets[2] = {0, static_cast<MPI_Aint>(chunks * chunk_bytes)};
    MPI_Datatype const types[2] = {chunk, MPI_BYTE};
    MPI_Datatype whole = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(2, lengths, offsets, types, &whole);
    MPI_Type_commit(&whole);
    MPI_Type_free(&chunk);
    return whole;
  }

  [[nodiscard]] int ranks_on_this_node() const {
    MPI_Comm node = MPI_COMM_NULL;
    check(detail::split_by_node(data_, &node), "looking for the ranks of this node");
    int ranks = 1;
    MPI_Comm_size(node, &ranks);
    MPI_Comm_free(&node);
    return ranks;
  }
  static int cores_of_this_rank() {
    cpu_set_t cores;
    CPU_ZERO(&cores);
    return sched_getaffinity(0, sizeof(cores), &cores) == 0 ? CPU_COUNT(&cores) : 1;
  }

  MPI_Comm data_ = MPI_COMM_NULL;
  MPI_Comm alarm_ = MPI_COMM_NULL;
  MPI_Request alarm_receive_ = MPI_REQUEST_NULL;
  alarm_message alarm_text_;
  whereabouts first_answer_;  ///< of the rank whose standstill was heard of first
  int first_answer_from_ = -1;
  int rank_ = -1;
  int size_ = 0;
  std::size_t received_ = 0;
  bool crowded_ = false;
  bool has_failed_ = false;
  int exceptions_ = std::uncaught_exceptions();
  std::chrono::steady_clock::time_point grace_end_{};  // until when sends that were given up may still leave
};

}  // namespace weft::inline v1::transport
