// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/graph.hpp>
#include <weft/model/call_key.hpp>
#include <weft/pipeline/stage_context.hpp>

namespace weft::inline v1::model {

/// A stage's calls, each recorded once and then replayed where that is wanted (execution/graph.hpp); else, and at
/// first, they run as they are. Does not wait; does not communicate.
template <class Space>
class replayed_calls {
 public:
  using context_type = stage_context<Space>;

  void enable(bool is_on) { graphs_.enable(is_on); }
  void forget() { graphs_.forget(); }
  [[nodiscard]] typename execution::call_graphs<Space>::counts const& seen() const { return graphs_.seen(); }

  /// Lets `queue(context)` launch one call's kernels, or replays what it launched before. `write(key)` adds all that
  /// their arguments depend on: tokens, sample, step and loss scale are on the call's sheet. A call is recorded without
  /// messages moving in its midst; around a replay the engine moves them until the device is done.
  template <class Write, class Queue>
  void run(context_type const& where, Write const& write, Queue const& queue) {
    if (!graphs_.is_enabled()) return queue(where);
    key_.clear();
    write(key_);
    graphs_.run(where.space(), key_.parts(), [&](bool records) {
      if (!records) return queue(where);
      context_type calm(where.space(), nullptr);
      calm.set(where.stage(), where.micro_batch(), where.slot(), where.weight_slot(), where.weights_age());
      queue(calm);
    });
  }

 private:
  execution::call_graphs<Space> graphs_;
  call_key key_;
};

}  // namespace weft::inline v1::model
