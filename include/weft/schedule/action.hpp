// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/schedule/op.hpp>

#include <cstdint>

namespace weft::inline v1::schedule {

/// Which of a device's queues an action belongs to.
enum class lane : std::uint8_t { compute, communication, copy };

/// `action::group` of a REDUCE_GRAD: over which ranks.
enum class reduction : std::uint8_t {
  tied,   ///< the ranks of one pipeline that hold use sites of one parameter
  data,   ///< the ranks that hold the same stages of other pipelines: the data axis
  copies  ///< the ranks that hold one stage's copies in one pipeline (Chimera, DualPipe)
};

/// `action::part`: which part of a pass an action is. A fused pair (DualPipe overlaps the forward of one micro-batch
/// with the backward of another) is two neighbouring compute actions, first F, then B or I, marked as its halves;
/// whoever cannot overlap plays them one after the other and is right.
namespace parts {
inline constexpr std::uint8_t whole = 0;
inline constexpr std::uint8_t fused_forward = 1;
inline constexpr std::uint8_t fused_backward = 2;
}  // namespace parts

/// One cell of a program, 16 bytes. Most fields are zero in most schedules; the room is there so that nothing has to
/// be widened later.
struct action {
  op what = op::none;
  lane where = lane::compute;
  std::uint16_t stage = 0;  ///< global stage number
  std::uint32_t micro_batch = 0;
  std::uint16_t slice = 0;   ///< part of a sequence, where sequences are cut
  std::uint8_t copy = 0;     ///< which model copy (DualPipe, Chimera)
  std::uint8_t version = 0;  ///< which stashed weights (PipeDream)
  std::uint8_t part = 0;     ///< see `parts`: half of a fused pair; attention or dispatch apart from the rest
  std::uint8_t group = 0;    ///< of a collective: which axis; of a post: ordinal of the edge at this stage
  std::uint16_t slot = 0;    ///< the buffer, see schedule/lower.hpp

  friend constexpr bool operator==(action const&, action const&) = default;
};

static_assert(sizeof(action) == 16);

/// The common case: an op on a stage and a micro-batch.
constexpr action make_action(op what, int stage, int micro_batch) {
  action result;
  result.what = what;
  result.where = traits_of(what).is_post ? lane::communication : lane::compute;
  result.stage = static_cast<std::uint16_t>(stage);
  result.micro_batch = static_cast<std::uint32_t>(micro_batch);
  return result;
}

}  // namespace weft::inline v1::schedule
