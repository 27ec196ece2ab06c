// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/tags.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/posted.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace weft::inline v1::train {

/// What all ranks have to know before a step counts; the last rank of a pipeline is the first to know it.
struct whole_state {
  double norm = 0.0;      ///< of all gradients
  double loss_sum = 0.0;  ///< of all micro-batches
  double stop = 0.0;      ///< above 0: some rank wishes to stop
  double redo = 0.0;      ///< above 0: some rank has stepped by other numbers, so all do the forwards since then again
};

/// The messages of post-validation (Qi et al., arXiv 2401.10241, sec. 4), of one pipeline: partial state goes from rank
/// to rank, each of which adds its part, and steps by what it has; the last one tells all others the whole, at once
/// and not by way of their neighbours, so that nobody's news depend on how far another rank has come.
///
///     rank 0   PARTIAL_NORM --numbers--> rank 1 --numbers--> ... --> rank p - 1
///              next turn's VALIDATE <------------------whole_state-----------+
///
/// In every turn: `begin`, `collect`, then `pass_on` (on the last rank `tell`), and in the next turn `hear`. Everything
/// is posted ahead and waited for where it is needed, so that a rank which is late keeps nobody waiting but for it.
class post_validation {
 public:
  /// `numbers`: how many the ranks pass on. Does not communicate.
  post_validation(transport::endpoint& pipeline, std::size_t numbers, double deadline)
      : door_(pipeline),
        own_(std::make_unique<buffers>()),
        from_before_(pipeline, "the part of the gradient norm that the rank before passes on", deadline),
        to_next_(pipeline, "the part of the gradient norm that is passed on", deadline),
        from_last_(pipeline, "the validation of the last step", deadline),
        to_all_(pipeline, "the validation of the last step", deadline) {
    own_->numbers.resize(numbers);
  }
  post_validation(post_validation const&) = delete;
  post_validation& operator=(post_validation const&) = delete;

  /// Memory that a transport may go on reading after a failure is never given back.
  ~post_validation() {
    bool is_free = from_before_.give_up();
    is_free = from_last_.give_up() && is_free;
    is_free = to_next_.give_up() && is_free;
    is_free = to_all_.give_up() && is_free;
    if (!is_free) static_cast<void>(own_.release());
  }

  [[nodiscard]] bool is_last() const { return door_.rank() == door_.size() - 1; }

  /// Before a turn's PARTIAL_NORM, and after `hear`. Posts.
  void begin() {
    if (door_.rank() > 0)
      from_before_.receive(own_->numbers.data(), bytes(), door_.rank() - 1, schedule::tags::partial_norm);
  }

  /// Waits for the rank before. Zeros on rank 0. `on_turn()` is called while it waits.
  template <class OnTurn>
  std::vector<double>& collect(OnTurn&& on_turn) {
    if (door_.rank() == 0) std::fill(own_->numbers.begin(), own_->numbers.end(), 0.0);
    from_before_.settle(on_turn);
    return own_->numbers;
  }

  /// All but the last rank: to the next one. Does not wait.
  void pass_on() {
    to_next_.send(own_->numbers.data(), bytes(), door_.rank() + 1, schedule::tags::partial_norm);
    from_last_.receive(&own_->heard, sizeof(whole_state), door_.size() - 1, schedule::tags::whole_norm);
  }

  /// The last rank: to all others, once they have heard of the turn before. Does not wait for them to hear of this one.
  template <class OnTurn>
  void tell(whole_state const& whole, OnTurn&& on_turn) {
    to_all_.settle(on_turn);
    own_->heard = own_->told = whole;
    for (int rank = 0; rank + 1 < door_.size(); ++rank)
      to_all_.send(&own_->told, sizeof(whole_state), rank, schedule::tags::whole_norm);
  }

  /// Waits for the last rank's word about the turn; a second call in one turn returns the same.
  template <class OnTurn>
  whole_state const& hear(OnTurn&& on_turn) {
    from_last_.settle(on_turn);
    to_next_.settle(on_turn);  // has been received: else the last rank would not know
    return own_->heard;
  }

  /// The last rank: until all others have heard.
  template <class OnTurn>
  void finish(OnTurn&& on_turn) {
    to_all_.settle(on_turn);
  }

 private:
  struct buffers {
    std::vector<double> numbers;
    whole_state heard;
    whole_state told;
  };

  [[nodiscard]] std::size_t bytes() const { return own_->numbers.size() * sizeof(double); }

  transport::endpoint& door_;
  std::unique_ptr<buffers> own_;
  transport::posted_messages from_before_;
  transport::posted_messages to_next_;
  transport::posted_messages from_last_;
  transport::posted_messages to_all_;
};

}  // namespace weft::inline v1::train
