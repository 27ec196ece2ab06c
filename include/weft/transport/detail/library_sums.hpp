// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/transport/detail/library_members.hpp>
#include <weft/transport/detail/library_queue.hpp>
#include <weft/transport/device_library.hpp>
#include <weft/transport/endpoint.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

namespace weft::inline v1::transport::detail {

/// Collectives by a vendor's library, on a communicator and in a queue of their own, so that none stands behind a
/// message of the pipeline; see library_door.hpp, which makes, tests and outlives it.
template <device_library Library>
class library_sums final : public device_collectives {
 public:
  enum class what : std::uint8_t { all_reduce, reduce, broadcast };

  /// One of them; a request's handle is its address.
  struct sum {
    library_sums* of = nullptr;
    void* data = nullptr;
    std::int64_t elements = 0;
    summand type = summand::f32;
    what kind = what::all_reduce;
    int root = 0;
    library_state state = library_state::collecting;
    std::uint64_t mark = 0;
    sum* next = nullptr;  ///< launched after this one
  };

  /// `library`: connected. `all`: those of one door.
  library_sums(endpoint& inner, endpoint const& door, Library library, std::vector<library_sums*>& all)
      : inner_(inner),
        door_(door),
        library_(std::move(library)),
        all_(all) {
    all_.push_back(this);
  }
  ~library_sums() override {
    if (std::uncaught_exceptions() > exceptions_) give_up();
    all_.erase(std::find(all_.begin(), all_.end(), this));
  }

  [[nodiscard]] request all_reduce(void* data, std::int64_t elements, summand type) override {
    return post(data, elements, type, what::all_reduce, 0);
  }
  [[nodiscard]] request reduce(void* data, std::int64_t elements, summand type, int root) override {
    return post(data, elements, type, what::reduce, root);
  }
  [[nodiscard]] request broadcast(void* data, std::int64_t elements, summand type, int root) override {
    return post(data, elements, type, what::broadcast, root);
  }

  [[nodiscard]] static bool test(request& posted) {
    sum& mine = *reinterpret_cast<sum*>(posted.handle);
    library_sums& of = *mine.of;
    if (of.is_broken_) of.fail();
    of.advance();
    if (mine.state != library_state::done) return false;
    of.free_.push_back(&mine);
    posted = {};
    return true;
  }

  /// Ends all sums of the communicator: one of them cannot be taken out of its queue.
  static void abandon(request& posted) noexcept {
    sum& mine = *reinterpret_cast<sum*>(posted.handle);
    mine.of->give_up();
    posted = {};
  }

  [[nodiscard]] std::size_t ended() const override { return queue_.ended(); }

  void give_up() noexcept override {
    if (is_broken_) return;
    is_broken_ = true;
    library_.abort();
  }

 private:
  [[nodiscard]] request post(void* data, std::int64_t elements, summand type, what kind, int root) {
    if (is_broken_) fail();
    if (free_.empty()) {
      owned_.push_back(std::make_unique<sum>());
      free_.push_back(owned_.back().get());
    }
    sum& mine = *free_.back();
    free_.pop_back();
    mine = {this, data, elements, type, kind, root, library_state::done, 0, nullptr};
    if (elements > 0) queue_.push(mine);
    try {
      advance();
    } catch (...) {  // it may have been launched, and nobody else knows of it
      give_up();
      throw;
    }
    request made{reinterpret_cast<std::uintptr_t>(&mine), true, false, true};
    made.of = &door_;
    return made;
  }

  [[noreturn]] void fail() const {
    fail_library<Library>(inner_, "an earlier collective was given up, since a rank had failed; start the job again");
  }

  void advance() {
    if (queue_.is_empty()) return;
    check_library(inner_, library_);
    queue_.advance(
        library_, [this](sum const& mine) { launch(mine); }, [](sum const&) {});
  }

  void launch(sum const& mine) {
    switch (mine.kind) {
      case what::all_reduce: return library_.all_reduce(mine.data, mine.elements, mine.type);
      case what::reduce: return library_.reduce(mine.data, mine.elements, mine.type, mine.root);
      case what::broadcast: return library_.broadcast(mine.data, mine.elements, mine.type, mine.root);
    }
  }

  endpoint& inner_;
  endpoint const& door_;
  Library library_;
  std::vector<library_sums*>& all_;
  std::vector<std::unique_ptr<sum>> owned_;
  std::vector<sum*> free_;
  library_queue<sum> queue_;
  bool is_broken_ = false;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace weft::inline v1::transport::detail
