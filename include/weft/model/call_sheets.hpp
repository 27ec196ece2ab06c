// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/allocate.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/mirror.hpp>
#include <weft/model/call_values.hpp>

#include <Kokkos_Core.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace weft::inline v1::model {

/// What calls of one op and slot differ in, tokens and a few numbers: a sheet for each micro-batch of a program, in the
/// execution space's memory before it is played, and one place that never moves, to which a call's sheet is copied
/// before its kernels run. They read there, so their arguments are the same in all calls. Copies are queued on the
/// instance that runs the kernels, from device memory to device memory: no host memory is read later than `upload`'s.
/// Does not communicate.
template <class Space>
class call_sheets {
 public:
  using memory_space = typename Space::memory_space;

  /// Room for `tokens` of a micro-batch, where there is a layer that reads inputs or targets. Call once.
  void lay_out(std::int64_t tokens, bool has_inputs, bool has_targets) {
    std::size_t const bytes = static_cast<std::size_t>(tokens) * sizeof(std::int32_t);
    inputs_ = header;
    targets_ = inputs_ + (has_inputs ? bytes : 0);
    size_ = (targets_ + (has_targets ? bytes : 0) + header - 1) / header * header;
    now_ = execution::allocate<storage>("weft::call", size_ + header);
  }

  /// For a program of so many micro-batches. Nothing that was queued may still read the sheets of the one before.
  void begin(std::size_t count) {
    if (sheets_.extent(0) < count * size_) {
      sheets_ = execution::allocate<storage>("weft::call_sheets", count * size_);
      host_ = execution::make_mirror("weft::call_sheets", sheets_);
    }
    count_ = count;
  }
  void set_values(std::size_t micro_batch, call_values const& values) {
    std::memcpy(host_.data() + micro_batch * size_, &values, sizeof values);
  }
  void set_inputs(std::size_t micro_batch, std::int32_t const* tokens, std::int64_t count) {
    write(host_.data() + micro_batch * size_ + inputs_, tokens, count);
  }
  void set_targets(std::size_t micro_batch, std::int32_t const* tokens, std::int64_t count) {
    write(host_.data() + micro_batch * size_ + targets_, tokens, count);
  }

  /// Sends what was set to where kernels read. Does not wait: set nothing more before the instance was fenced.
  void upload(Space const& space) {
    held_ = nothing;
    if constexpr (!execution::is_host_space<Space>) {
      auto const used = std::make_pair(std::size_t{0}, count_ * size_);
      Kokkos::deep_copy(space, Kokkos::subview(sheets_, used), Kokkos::subview(host_, used));
    }
  }

  /// From here on kernels find this micro-batch's sheet, without its tokens where the call reads none.
  void take(Space const& space, std::size_t micro_batch, bool has_tokens) {
    std::size_t const wanted = 2 * micro_batch + (has_tokens ? 1 : 0);
    if (held_ == wanted || held_ == 2 * micro_batch + 1) return;
    copy<std::byte>(space, now_.data(), sheets_.data() + micro_batch * size_, has_tokens ? size_ : header);
    held_ = wanted;
  }

  /// Copies the loss that a head left to where the host will ask for it.
  void keep_loss(Space const& space, double* to) const { copy<double>(space, to, loss(), 1); }

  [[nodiscard]] call_values const* values() const { return reinterpret_cast<call_values const*>(now_.data()); }
  [[nodiscard]] std::int32_t const* inputs() const {
    return reinterpret_cast<std::int32_t const*>(now_.data() + inputs_);
  }
  [[nodiscard]] std::int32_t const* targets() const {
    return reinterpret_cast<std::int32_t const*>(now_.data() + targets_);
  }
  [[nodiscard]] double* loss() const { return reinterpret_cast<double*>(now_.data() + size_); }

 private:
  using storage = Kokkos::View<std::byte*, memory_space>;
  static constexpr std::size_t header = 64;  // bytes
  static constexpr std::size_t nothing = ~std::size_t{0};
  static_assert(sizeof(call_values) <= header);

  static void write(std::byte* to, std::int32_t const* tokens, std::int64_t count) {
    if (count > 0) std::memcpy(to, tokens, static_cast<std::size_t>(count) * sizeof(std::int32_t));
  }

  /// On hosts at once, without Kokkos, whose copies would cost more than what they move.
  template <class Element>
  static void copy(Space const& space, Element* to, Element const* from, std::size_t count) {
    if constexpr (execution::is_host_space<Space>) {
      static_cast<void>(space);
      std::memcpy(to, from, count * sizeof(Element));
    } else {
      using source = Kokkos::View<Element const*, memory_space, Kokkos::MemoryUnmanaged>;
      using destination = Kokkos::View<Element*, memory_space, Kokkos::MemoryUnmanaged>;
      Kokkos::deep_copy(space, destination(to, count), source(from, count));
    }
  }

  storage now_;                         ///< a sheet, and behind it the loss
  storage sheets_;                      ///< of all micro-batches
  execution::mirror_of<storage> host_;  ///< pinned: from plain host memory `upload` would wait
  std::size_t inputs_ = 0;              ///< bytes from a sheet's begin
  std::size_t targets_ = 0;
  std::size_t size_ = 0;
  std::size_t count_ = 0;
  std::size_t held_ = nothing;  ///< which sheet kernels find, and whether with its tokens
};

}  // namespace weft::inline v1::model
