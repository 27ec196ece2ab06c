// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/model/token_batch.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <string>

namespace weft::inline v1::model {

/// The micro-batch whose F the head ran last: its logits are there until its backward. stage -1: there is none.
struct head_call {
  int stage = -1;
  int slot = 0;
  extents size;
};

/// Throws weft::error where the call has no such logits, or was another rank's.
inline void check_has_logits(head_call const& last, int sequence, int position) {
  if (last.stage < 0 || sequence < 0 || sequence >= last.size.sequences_per_micro_batch || position < 0 ||
      position >= last.size.sequence_length)
    throw error("weft::model_stage: there are no logits for sequence " + std::to_string(sequence) + ", position " +
                std::to_string(position) + "; ask the rank of the head, for a micro-batch that ran last");
}

/// Copies them [vocabulary] out of what the head `Layer` has saved. Waits.
template <class Layer, class Real, class MemorySpace>
void copy_logits(std::byte* saved, extents size, int sequence, int position, float* host_out) {
  std::size_t const columns = static_cast<std::size_t>(Layer::vocabulary);
  std::size_t const row = static_cast<std::size_t>(sequence) * static_cast<std::size_t>(size.sequence_length) +
                          static_cast<std::size_t>(position);
  Kokkos::View<Real const*, MemorySpace, Kokkos::MemoryUnmanaged> const on_device(
      Layer::template logits<Real>(saved, size) + row * columns, columns);
  auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, on_device);
  for (std::size_t index = 0; index < columns; ++index) host_out[index] = static_cast<float>(host(index));
}

}  // namespace weft::inline v1::model
