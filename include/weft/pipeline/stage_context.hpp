// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

namespace weft::inline v1 {

/// What makes pending messages move while a stage computes; implemented by the engine.
class progress_source {
 public:
  virtual void progress() = 0;

 protected:
  ~progress_source() = default;
};

/// What the engine tells a stage about the action it is asked to run.
template <class ExecutionSpace>
class stage_context {
 public:
  using execution_space = ExecutionSpace;

  stage_context(ExecutionSpace const& space, progress_source* source) : space_(space), source_(source) {}

  [[nodiscard]] int stage() const { return stage_; }
  [[nodiscard]] int micro_batch() const { return micro_batch_; }

  /// Where F keeps what backward reads: 0 .. slot_counts::activation - 1 of this stage.
  [[nodiscard]] int slot() const { return slot_; }

  /// Where I keeps what W reads: 0 .. slot_counts::weight_context - 1 of this stage, as `prepare` was told; 0 where B
  /// does both and no I and W come apart.
  [[nodiscard]] int weight_slot() const { return weight_slot_; }

  /// Which weights to read: 0, the newest, or those of so many STEPs of the stage before (asynchronous programs).
  [[nodiscard]] int weights_age() const { return weights_age_; }

  /// The instance to launch on. The engine fences it once after the call, before anything is sent.
  [[nodiscard]] ExecutionSpace const& space() const { return space_; }

  /// Lets MPI move pending messages, and throws `remote_error` if another rank has failed; call between kernels of long
  /// stages. Does not block.
  void progress() const {
    if (source_ != nullptr) source_->progress();
  }

  void set(int stage, int micro_batch, int slot, int weight_slot, int weights_age = 0) {
    stage_ = stage;
    micro_batch_ = micro_batch;
    slot_ = slot;
    weight_slot_ = weight_slot;
    weights_age_ = weights_age;
  }

 private:
  ExecutionSpace space_;
  progress_source* source_;
  int stage_ = 0;
  int micro_batch_ = 0;
  int slot_ = 0;
  int weight_slot_ = 0;
  int weights_age_ = 0;
};

}  // namespace weft::inline v1
