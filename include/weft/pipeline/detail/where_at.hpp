// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/pipeline/instructions.hpp>
#include <weft/schedule/action_name.hpp>
#include <weft/transport/endpoint.hpp>

#include <cstddef>
#include <string>
#include <vector>

namespace weft::inline v1::detail {

/// Which action of its row a rank is at, and the words for it in messages; ranks are called by their numbers in the
/// outermost endpoint. Keeps references to both arguments.
class where_at {
 public:
  where_at(transport::endpoint const& door, std::vector<instruction> const& row) : door_(door), row_(row) {}

  /// Null: at none, before the first one or after the last.
  void set(instruction const* current) { current_ = current; }

  [[nodiscard]] int own_rank() const { return door_.global_rank(door_.rank()); }

  /// "F of stage 1, micro-batch 0", "NORM".
  [[nodiscard]] std::string description() const {
    if (current_ == nullptr) return "the end of the step";
    return schedule::describe_action(current_->what, current_->stage, current_->micro_batch);
  }

  /// ", after B2 SEND_B2 W1": what this rank did last.
  [[nodiscard]] std::string recent_actions() const {
    constexpr std::ptrdiff_t most = 6;
    auto const done = current_ == nullptr ? static_cast<std::ptrdiff_t>(row_.size()) : current_ - row_.data();
    std::string text;
    for (auto index = done > most ? done - most : 0; index < done; ++index) {
      instruction const& each = row_[static_cast<std::size_t>(index)];
      text += (text.empty() ? ", after " : " ") + schedule::action_name(each.what, each.micro_batch);
    }
    return text;
  }

  /// What precedes the words of somebody who does not know where he is.
  [[nodiscard]] std::string prefix() const {
    return "rank " + std::to_string(own_rank()) + ", " + description() + ": ";
  }

  [[nodiscard]] error_location location() const {
    error_location where{.rank = own_rank()};
    if (current_ == nullptr) return where;
    if (schedule::has_stage(current_->what)) where.stage = current_->stage;
    if (schedule::has_micro_batch(current_->what)) where.micro_batch = current_->micro_batch;
    return where;
  }

  /// "3, tag 17".
  [[nodiscard]] std::string name_of(port const& end) const {
    return std::to_string(door_.global_rank(end.peer)) + ", tag " + std::to_string(end.tag);
  }

  /// Throws: a wait for `what` has taken too long. `peer`: of this endpoint, or -1.
  [[noreturn]] void overdue(double waited, std::string const& what, int peer) const {
    error_location where = location();
    where.peer = peer < 0 ? -1 : door_.global_rank(peer);
    throw error("weft::pipeline: rank " + std::to_string(own_rank()) + " waited " +
                    std::to_string(static_cast<long>(waited)) + " s at " + description() + " for " + what +
                    recent_actions() +
                    "; the peer is slow, stopped or plays another program (raise pipeline_options::deadline if slow)",
                where);
  }

  /// What a rank that computes says where another one has given up waiting.
  [[nodiscard]] std::string busy() const {
    return "weft::pipeline: rank " + std::to_string(own_rank()) + " computes " + description() + recent_actions() +
           "; another rank has given up waiting";
  }

 private:
  transport::endpoint const& door_;
  std::vector<instruction> const& row_;
  instruction const* current_ = nullptr;
};

}  // namespace weft::inline v1::detail
