// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

#include <cstddef>
#include <cstdint>

namespace weft::inline v1::transport::detail {

/// Where something stands that a vendor's library is told: not yet closed, behind others, told, told and taken over by
/// the library, or through.
enum class library_state : std::uint8_t { collecting, waiting, launching, running, done };

/// What one communicator is told, in the order of `push`: each is launched once the library has taken over the one
/// before, and nothing waits. `Item` has `state`, a `mark` and a pointer `next`, and stays where it is until it is
/// done.
template <class Item>
class library_queue {
 public:
  [[nodiscard]] bool is_empty() const { return first_ == nullptr; }
  /// How many were launched, and have ended, so far.
  [[nodiscard]] std::size_t launched() const { return launched_; }
  [[nodiscard]] std::size_t ended() const { return ended_; }

  void push(Item& mine) {
    mine.state = library_state::waiting;
    mine.next = nullptr;
    (last_ == nullptr ? first_ : last_->next) = &mine;
    last_ = &mine;
    if (next_ == nullptr) next_ = &mine;
  }

  /// Launches what the library can take, by `launch(item)`, and tells `ended(item)` of what is through. What `launch`
  /// throws leaves the queue of no use.
  template <class Library, class Launch, class Ended>
  void advance(Library& library, Launch const& launch, Ended const& ended) {
    for (; next_ != nullptr; next_ = next_->next) {
      if (next_->state == library_state::waiting) {
        library.follow();
        launch(*next_);
        next_->state = library_state::launching;
        ++launched_;
      }
      if (!library.is_ready()) break;
      next_->mark = library.mark();
      next_->state = library_state::running;
    }
    while (first_ != nullptr && first_->state == library_state::running && library.is_done(first_->mark)) {
      Item& through = *first_;
      first_ = through.next;
      if (first_ == nullptr) last_ = nullptr;
      through.state = library_state::done;
      ++ended_;
      ended(through);
    }
  }

 private:
  Item* first_ = nullptr;  // of those that have not ended, in the order of their launches
  Item* last_ = nullptr;
  Item* next_ = nullptr;  // to be launched, or being so
  std::size_t launched_ = 0;
  std::size_t ended_ = 0;
};

}  // namespace weft::inline v1::transport::detail
