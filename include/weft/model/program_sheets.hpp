// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/model/call_sheets.hpp>
#include <weft/model/call_values.hpp>
#include <weft/model/program_batches.hpp>
#include <weft/model/token_batch.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace weft::inline v1::model {

/// The batches of the program that is played, on call sheets: what each call finds there beside its addresses. Does not
/// communicate.
template <class Space>
class program_sheets {
 public:
  /// For micro-batches of up to `largest`, and which tokens some layer here reads. Call once.
  void lay_out(extents largest, bool has_inputs, bool has_targets) {
    has_inputs_ = has_inputs;
    has_targets_ = has_targets;
    sheets_.lay_out(largest.tokens(), has_inputs, has_targets);
  }

  /// Of what training batches drop, from the next program on. Throws weft::error unless 0 <= rate < 1.
  void set_dropout(double rate) {
    if (!(rate >= 0.0 && rate < 1.0))
      throw error("weft::model_stage: the dropout rate " + std::to_string(rate) +
                  " is no probability below 1; choose one from 0 to 0.99");
    dropout_rate_ = rate;
  }
  /// From the next call on that reads it.
  void set_loss_scale(double scale) {
    has_old_scale_ = has_old_scale_ || scale != loss_scale_;
    loss_scale_ = scale;
  }

  /// Writes and sends the sheets of batches that were checked. Waits for calls of the program before, which may still
  /// read theirs; nothing more may be set before `space` was fenced.
  void begin(Space const& space, std::span<token_batch const> batches) {
    batches_.assign(batches);
    execution::fence(space, "weft::begin");
    std::size_t const count = batches_.micro_batches();
    sheets_.begin(count);
    for (std::size_t index = 0; index < count; ++index) write_tokens(index);
    send(space);
  }

  /// From here on kernels find this micro-batch's sheet. `has_tokens`: the call reads tokens, or the loss scale.
  void take(Space const& space, int micro_batch, bool has_tokens) {
    if (has_old_scale_) {
      execution::fence(space, "weft::sheets");  // what was sent last may be on its way
      send(space);
    }
    if (has_tokens || dropout_rate_ > 0.0) sheets_.take(space, static_cast<std::size_t>(micro_batch), has_tokens);
  }

  [[nodiscard]] program_batches const& batches() const { return batches_; }
  [[nodiscard]] double dropout_rate(token_batch const& batch) const { return batch.training ? dropout_rate_ : 0.0; }
  /// Of one layer in a call.
  [[nodiscard]] dropout_keys keys_of(program_batches::share const& which, int layer) const {
    token_batch const& batch = which.batch;
    return {dropout_rate(batch), batch.seed, batch.step, batch.first_sequence + which.range().first, layer};
  }

  /// What kernels read, at places that never move.
  [[nodiscard]] call_sheets<Space> const& now() const { return sheets_; }

 private:
  void write_tokens(std::size_t index) {
    auto const [batch, micro_batch] = batches_[static_cast<int>(index)];
    sequence_range const range = micro_batch_range(batch, micro_batch);
    std::int64_t const first = static_cast<std::int64_t>(range.first) * batch.sequence_length;
    std::int64_t const count = static_cast<std::int64_t>(range.count) * batch.sequence_length;
    if (has_inputs_) sheets_.set_inputs(index, batch.inputs + first, count);
    if (has_targets_) sheets_.set_targets(index, batch.targets + first, count);
  }
  void send(Space const& space) {
    for (std::size_t index = 0; index < batches_.micro_batches(); ++index) {
      auto const which = batches_[static_cast<int>(index)];
      auto const counted = static_cast<double>(which.batch.counted_tokens);
      sheets_.set_values(index, call_values::make(keys_of(which, 0), counted > 0 ? loss_scale_ / counted : 0.0));
    }
    has_old_scale_ = false;
    sheets_.upload(space);
  }

  program_batches batches_;
  call_sheets<Space> sheets_;
  double dropout_rate_ = 0.0;
  double loss_scale_ = 1.0;
  bool has_old_scale_ = false;  ///< on the sheets that were sent
  bool has_inputs_ = false;
  bool has_targets_ = false;
};

}  // namespace weft::inline v1::model
