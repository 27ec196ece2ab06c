// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "guarded_memory.hpp"

#include <weft/error.hpp>
#include <weft/transport/device_library.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft_test {

/// What NCCL documents of its point-to-point calls, among threads of one process: each rank has one queue of groups, of
/// which the first one runs; a message moves once both of its ends are in groups that run, the k-th send of a pair
/// meeting its k-th receive; a group ends as a whole. Where NCCL would stand still for ever (ranks whose running groups
/// wait for what stands behind another one's running group, in a circle), or move what was not meant (sizes that
/// differ), it says so on every rank. A collective stands in the queue as a group does, and runs once every rank runs
/// one, the same one: each k-th collective of a rank is the k-th of all others.
class host_ranks {
 public:
  enum class what : std::uint8_t { message, all_reduce, reduce, broadcast };
  struct message {
    void* data = nullptr;
    std::size_t bytes = 0;  ///< of a collective: elements
    int peer = -1;          ///< of a collective: its root
    bool is_send = false;
    bool is_done = false;
    what kind = what::message;  ///< a collective is alone in its group
    weft::transport::summand type = weft::transport::summand::f32;
    [[nodiscard]] bool is_message() const { return kind == what::message; }
  };
  using group = std::vector<message>;

  static std::uint64_t make() {
    auto& all = registry();
    std::lock_guard const lock(all.mutex);
    all.ranks[++all.last] = std::make_shared<host_ranks>();
    return all.last;
  }
  static std::shared_ptr<host_ranks> find(std::uint64_t number) {
    auto& all = registry();
    std::lock_guard const lock(all.mutex);
    return all.ranks.at(number);
  }

  void join(int size) {
    std::lock_guard const lock(mutex_);
    streams_.resize(static_cast<std::size_t>(size));
    ended_.resize(static_cast<std::size_t>(size));
    ++joined_;
  }
  bool is_whole() {
    std::lock_guard const lock(mutex_);
    return joined_ == static_cast<int>(streams_.size());
  }

  void launch(int rank, group&& made) {
    std::lock_guard const lock(mutex_);
    streams_[static_cast<std::size_t>(rank)].push_back(std::move(made));
  }
  /// How many groups of a rank have ended.
  std::uint64_t ended(int rank) {
    std::lock_guard const lock(mutex_);
    move();
    return ended_[static_cast<std::size_t>(rank)];
  }
  std::string problem() {
    std::lock_guard const lock(mutex_);
    move();
    return problem_;
  }
  /// As where a cable is pulled: an error that no call returns.
  void break_down(std::string text) {
    std::lock_guard const lock(mutex_);
    problem_ = std::move(text);
  }
  void abort(int rank) {
    std::lock_guard const lock(mutex_);
    streams_[static_cast<std::size_t>(rank)].clear();  // the others may wait for ever
  }
  /// Groups that nobody will end.
  std::size_t left(int rank) {
    std::lock_guard const lock(mutex_);
    return streams_[static_cast<std::size_t>(rank)].size();
  }

 private:
  /// The first message of a rank's running group that goes the other way and is not through; null where there is none.
  message* other_end(message const& mine, std::size_t rank) {
    auto& stream = streams_[static_cast<std::size_t>(mine.peer)];
    if (stream.empty()) return nullptr;
    for (message& each : stream.front())
      if (!each.is_done && each.is_message() && each.is_send != mine.is_send && each.peer == static_cast<int>(rank))
        return &each;
    return nullptr;
  }

  void move() {
    if (!problem_.empty()) return;
    for (bool has_moved = true; has_moved;) {
      has_moved = false;
      for (std::size_t rank = 0; rank < streams_.size(); ++rank) {
        if (streams_[rank].empty()) continue;
        bool is_through = true;
        if (runs_collective(rank)) {
          if (!streams_[rank].front().front().is_done && !run_collective()) return;
          is_through = streams_[rank].front().front().is_done;
        }
        for (message& each : streams_[rank].front()) {
          if (each.is_done || !each.is_message()) continue;
          message* const other = is_first_of_its_kind(each, rank) ? other_end(each, rank) : nullptr;
          if (other == nullptr) {
            is_through = false;
            continue;
          }
          if (!match(each.is_send ? each : *other, each.is_send ? *other : each, rank, each)) return;
          has_moved = true;
        }
        if (!is_through) continue;
        streams_[rank].pop_front();
        ++ended_[rank];
        has_moved = true;
      }
    }
    find_circle();
  }

  bool runs_collective(std::size_t rank) const {
    return !streams_[rank].empty() && !streams_[rank].front().front().is_message();
  }

  /// If all ranks run one. False where they differ.
  bool run_collective() {
    for (std::size_t rank = 0; rank < streams_.size(); ++rank)
      if (!runs_collective(rank) || streams_[rank].front().front().is_done) return true;
    message const& first = streams_[0].front().front();
    for (std::size_t rank = 1; rank < streams_.size(); ++rank) {
      message const& other = streams_[rank].front().front();
      if (other.bytes == first.bytes && other.type == first.type && other.kind == first.kind &&
          other.peer == first.peer)
        continue;
      problem_ = "rank 0 " + words_of(first) + " where rank " + std::to_string(rank) + " " + words_of(other);
      return false;
    }
    if (first.type == weft::transport::summand::f32)
      run_collective<float>(first.kind, first.bytes, first.peer);
    else
      run_collective<double>(first.kind, first.bytes, first.peer);
    return true;
  }
  static std::string words_of(message const& each) {
    auto const root = each.peer < 0 ? std::string() : " by rank " + std::to_string(each.peer);
    return (each.kind == what::broadcast ? "is told " : "sums ") + std::to_string(each.bytes) + " elements" + root;
  }
  /// Adds from the last rank down, as no step list of weft's does.
  template <class Number>
  void run_collective(what kind, std::size_t count, int root) {
    std::vector<Number> total(count);
    for (std::size_t rank = streams_.size(); rank-- > 0;) {
      if (kind == what::broadcast && static_cast<int>(rank) != root) continue;
      message const& each = streams_[rank].front().front();
      guarded_memory::opened const open(each.data);
      for (std::size_t index = 0; index < count; ++index) total[index] += static_cast<Number const*>(each.data)[index];
    }
    for (std::size_t rank = 0; rank < streams_.size(); ++rank) {
      message& each = streams_[rank].front().front();
      each.is_done = true;
      if (kind == what::reduce && static_cast<int>(rank) != root) continue;
      guarded_memory::opened const open(each.data);
      std::memcpy(each.data, total.data(), count * sizeof(Number));
    }
  }

  bool is_first_of_its_kind(message const& mine, std::size_t rank) const {
    for (message const& each : streams_[rank].front())
      if (!each.is_done && each.is_message() && each.is_send == mine.is_send && each.peer == mine.peer)
        return &each == &mine;
    return false;
  }

  bool match(message& from, message& to, std::size_t rank, message const& mine) {
    if (from.bytes != to.bytes) {
      auto const one = std::to_string(mine.is_send ? static_cast<int>(rank) : mine.peer);
      auto const other = std::to_string(mine.is_send ? mine.peer : static_cast<int>(rank));
      problem_ = "rank " + one + " sends " + std::to_string(from.bytes) + " bytes where rank " + other + " receives " +
                 std::to_string(to.bytes);
      return false;
    }
    guarded_memory::opened const read(from.data);
    guarded_memory::opened const written(to.data);
    std::memcpy(to.data, from.data, from.bytes);
    from.is_done = to.is_done = true;
    return true;
  }

  /// Rank a waits for rank b where b's running group lacks the other end of a message in a's.
  void find_circle() {
    std::size_t const count = streams_.size();
    std::vector<std::vector<bool>> waits(count, std::vector<bool>(count));
    for (std::size_t rank = 0; rank < count; ++rank) {
      if (streams_[rank].empty()) continue;
      if (runs_collective(rank) && !streams_[rank].front().front().is_done)
        for (std::size_t other = 0; other < count; ++other)
          if (!streams_[other].empty() && !runs_collective(other)) waits[rank][other] = true;
      for (message& each : streams_[rank].front())
        if (!each.is_done && each.is_message() && !streams_[static_cast<std::size_t>(each.peer)].empty() &&
            other_end(each, rank) == nullptr)
          waits[rank][static_cast<std::size_t>(each.peer)] = true;
    }
    for (std::size_t over = 0; over < count; ++over)
      for (std::size_t one = 0; one < count; ++one)
        for (std::size_t other = 0; other < count; ++other)
          if (waits[one][over] && waits[over][other]) waits[one][other] = true;
    for (std::size_t rank = 0; rank < count; ++rank)
      if (waits[rank][rank])
        problem_ = "the group that rank " + std::to_string(rank) +
                   " runs waits in a circle for what stands behind another rank's group";
  }

  struct known {
    std::mutex mutex;
    std::map<std::uint64_t, std::shared_ptr<host_ranks>> ranks;
    std::uint64_t last = 0;
  };
  static known& registry() {
    static known all;
    return all;
  }

  std::mutex mutex_;
  std::vector<std::deque<group>> streams_;
  std::vector<std::uint64_t> ended_;
  int joined_ = 0;
  std::string problem_;
};

/// One rank of it. `Guarded`: bodies are in memory that the host may not touch; otherwise in the host's.
template <bool Guarded>
class host_library {
 public:
  static constexpr char const* name = "host_library";
  struct identity {
    std::uint64_t number = 0;
  };
  struct counts {
    int aborts = 0;
    std::size_t left = 0;  ///< groups that had not ended when the rank left
    std::shared_ptr<host_ranks> ranks{};
    counts* of_another = nullptr;
  };

  explicit host_library(counts* told = nullptr) : told_(told) {}
  host_library(host_library&&) = default;
  host_library& operator=(host_library&&) = default;
  ~host_library() {
    if (ranks_ != nullptr && told_ != nullptr) told_->left = ranks_->left(rank_);
  }

  [[nodiscard]] std::string_view memory() const { return Guarded ? "Guarded" : "Host"; }
  static identity make_identity() { return {host_ranks::make()}; }
  void connect(identity id, int rank, int size) {
    rank_ = rank;
    ranks_ = host_ranks::find(id.number);
    ranks_->join(size);
    if (told_ != nullptr) told_->ranks = ranks_;
  }
  [[nodiscard]] bool is_ready() {
    check();
    if (turns_ < 2) return ++turns_ == 2 && ranks_->is_whole();  // a library takes its time
    return ranks_->is_whole();
  }
  void follow() {}
  void begin_group() {
    if (is_open_) throw weft::error("host library: a group inside another one");
    is_open_ = true;
  }
  void send(void const* data, std::size_t bytes, int peer) { add(const_cast<void*>(data), bytes, peer, true); }
  void receive(void* data, std::size_t bytes, int peer) { add(data, bytes, peer, false); }
  void end_group() {
    is_open_ = false;
    launch();
  }
  void all_reduce(void* data, std::int64_t elements, weft::transport::summand type) {
    launch(host_ranks::what::all_reduce, data, elements, type, -1);
  }
  void reduce(void* data, std::int64_t elements, weft::transport::summand type, int root) {
    launch(host_ranks::what::reduce, data, elements, type, root);
  }
  void broadcast(void* data, std::int64_t elements, weft::transport::summand type, int root) {
    launch(host_ranks::what::broadcast, data, elements, type, root);
  }
  /// Not counted, but where there is a count for it.
  [[nodiscard]] host_library another() const { return host_library(told_ == nullptr ? nullptr : told_->of_another); }
  [[nodiscard]] std::uint64_t mark() const { return launched_; }
  [[nodiscard]] bool is_done(std::uint64_t mark) { return ranks_->ended(rank_) >= mark; }
  void check() {
    if (auto const text = ranks_->problem(); !text.empty()) throw weft::error("host library: " + text);
  }
  void abort() {
    if (told_ != nullptr) ++told_->aborts;
    if (ranks_ != nullptr) ranks_->abort(rank_);
  }

 private:
  void add(void* data, std::size_t bytes, int peer, bool is_send) {
    if (!is_open_) throw weft::error("host library: a message outside of a group");
    open_.push_back({data, bytes, peer, is_send});
  }
  void launch(host_ranks::what kind, void* data, std::int64_t elements, weft::transport::summand type, int root) {
    if (is_open_) throw weft::error("host library: a collective inside of a group");
    open_.push_back({data, static_cast<std::size_t>(elements), root, false, false, kind, type});
    launch();
  }
  void launch() {
    turns_ = 0;
    ++launched_;
    ranks_->launch(rank_, std::move(open_));
    open_ = {};
  }

  counts* told_;
  std::shared_ptr<host_ranks> ranks_;
  host_ranks::group open_;
  std::uint64_t launched_ = 0;
  int rank_ = -1;
  int turns_ = 0;
  bool is_open_ = false;
};
static_assert(weft::transport::device_library<host_library<true>>);

}  // namespace weft_test
