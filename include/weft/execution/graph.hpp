// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Calls that come again and again, with the same kernels and the same arguments, are recorded once and then started by
/// one launch: a CUDA or HIP graph. What a host saves is the launches, some microseconds each; kernels and their bits
/// are the same.

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/execution/device_runtime.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/recording.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

// A test sees where a call begins and ends, as it sees launches (kokkos.hpp).
#ifndef WEFT_OBSERVE_CALL
#define WEFT_OBSERVE_CALL(which, begins) static_cast<void>(0)
#endif

namespace weft::inline v1::execution {

namespace detail {

/// Hosts have no graphs: a replay is the call.
struct host_graph {
  [[nodiscard]] bool can_replay() const { return false; }

  template <class Space, class Call>
  void record(Space const&, Call const& call) {
    recording const guard;
    call();
  }
  template <class Space>
  void replay(Space const&) {}
};

/// One recorded call. `Calls`: see device_runtime.hpp.
template <class Calls>
class device_graph {
 public:
  device_graph() = default;
  device_graph(device_graph const&) = delete;
  device_graph& operator=(device_graph const&) = delete;
  ~device_graph() {
    if (made_ != nullptr) Calls::destroy(made_);
  }

  [[nodiscard]] bool can_replay() const { return made_ != nullptr; }

  /// Nothing of `call` runs yet. What it launches on other instances is not recorded, and waits and allocations fail.
  template <class Space, class Call>
  void record(Space const& space, Call const& call) {
    auto const stream = Calls::stream_of(space);
    if (stream == nullptr)
      throw error(
          "weft::graph: the execution space is the device's default stream, which cannot be recorded; use an "
          "instance of its own, or train without capture");
    check(Calls::begin(stream), "begin to record");
    typename Calls::graph recorded = nullptr;
    try {
      recording const guard;
      call();
    } catch (error const&) {
      give_up(stream);
      throw;
    } catch (std::exception const& failure) {
      give_up(stream);
      throw error(std::string("weft::graph: the call cannot be recorded, since something in it waits, allocates or "
                              "looks at device memory: ") +
                  failure.what() + "; do that in prepare or begin, or train without capture");
    } catch (...) {
      give_up(stream);
      throw;
    }
    check(Calls::end(stream, &recorded), "end the recording (something in the call waits or allocates)");
    typename Calls::executable made = nullptr;
    auto const status = Calls::instantiate(&made, recorded);
    Calls::destroy(recorded);
    check(status, "make a graph of the recorded call");
    made_ = made;
  }

  template <class Space>
  void replay(Space const& space) {
    check(Calls::launch(made_, Calls::stream_of(space)), "launch a recorded call");
  }

 private:
  static void check(typename Calls::status status, char const* what) {
    if (status == Calls::success) return;
    Calls::forget_error();
    throw error(std::string("weft::graph: ") + Calls::vendor + " could not " + what + ": " + Calls::words(status) +
                "; train without capture");
  }
  static void give_up(typename Calls::stream stream) {
    typename Calls::graph left = nullptr;
    static_cast<void>(Calls::end(stream, &left));
    if (left != nullptr) Calls::destroy(left);
    Calls::forget_error();
  }

  typename Calls::executable made_ = nullptr;
};

template <class Space>
struct graph_of {
  using type = host_graph;
};
#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP)
template <>
struct graph_of<device_space> {
  using type = device_graph<graph_calls>;
};
#endif

}  // namespace detail

/// A stage's calls by key. A key names all that the arguments of a call's kernels depend on: op, slots, shapes, and the
/// addresses of buffers, so that a call whose buffers have moved is another one, and is recorded again. The first call
/// with a key runs as it is, and makes whatever is made at first; the second is recorded; from then on it is replayed.
/// Does not wait; does not communicate.
template <class Space>
class call_graphs {
 public:
  using key = std::vector<std::uint64_t>;

  struct counts {
    std::int64_t plain = 0;
    std::int64_t recorded = 0;
    std::int64_t replayed = 0;
  };

  /// Off at first, and then every call runs as it is.
  void enable(bool is_on) {
    is_on_ = is_on;
    calls_.clear();
  }
  [[nodiscard]] bool is_enabled() const { return is_on_; }
  [[nodiscard]] counts const& seen() const { return counts_; }

  /// For what no key names: every call is recorded anew.
  void forget() { calls_.clear(); }

  /// `call(bool records)` queues kernels on `space` and does nothing else that a replay would have to do; where it
  /// records it must not call back into the engine.
  template <class Call>
  void run(Space const& space, key const& which, Call const& call) {
    if (!is_on_) return call(false);
    WEFT_OBSERVE_CALL(which, true);
    auto place = calls_.find(which);
    if (place == calls_.end()) {
      if (calls_.size() >= most) drop_oldest();
      place = calls_.try_emplace(which).first;
    }
    recorded_call& known = place->second;
    known.last = ++turn_;
    if (known.graph.can_replay()) {
      known.graph.replay(space);
      ++counts_.replayed;
    } else if (known.runs == 1) {
      known.graph.record(space, [&] { call(true); });
      if (known.graph.can_replay()) known.graph.replay(space);
      ++counts_.recorded;
    } else {
      call(false);
      ++(known.runs == 0 ? counts_.plain : counts_.replayed);
    }
    ++known.runs;
    WEFT_OBSERVE_CALL(which, false);
  }

 private:
  static constexpr std::size_t most = 4096;
  struct recorded_call {
    std::int64_t runs = 0;
    std::int64_t last = 0;
    typename detail::graph_of<Space>::type graph;
  };

  /// Of calls that do not come again, such as of growing lengths: the half that was run longest ago.
  void drop_oldest() {
    std::vector<std::int64_t> turns;
    for (auto const& each : calls_) turns.push_back(each.second.last);
    auto const middle = turns.begin() + static_cast<std::ptrdiff_t>(turns.size() / 2);
    std::nth_element(turns.begin(), middle, turns.end());
    for (auto each = calls_.begin(); each != calls_.end();)
      each = each->second.last < *middle ? calls_.erase(each) : std::next(each);
  }

  bool is_on_ = false;
  std::map<key, recorded_call> calls_;
  std::int64_t turn_ = 0;
  counts counts_;
};

}  // namespace weft::inline v1::execution
