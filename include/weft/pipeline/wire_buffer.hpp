// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/execution/allocate.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/pinned.hpp>
#include <weft/pipeline/boundary.hpp>
#include <weft/pipeline/boundary_view.hpp>
#include <weft/pipeline/wire_header.hpp>
#include <weft/transport/endpoint.hpp>

#include <Kokkos_Core.hpp>

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

namespace weft::inline v1 {

/// The boundary itself; throws `error` where it is none: a count, an element type or a size that cannot be.
inline boundary const& checked_boundary(boundary const& layout) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  auto const refuse = [](std::string const& what) {
    throw error("weft::boundary: " + what + "; see weft/pipeline/boundary.hpp");
  };
  if (layout.count < 0 || layout.count > boundary::max_components)
    refuse("it has " + std::to_string(layout.count) + " components, where 0 to " +
           std::to_string(boundary::max_components) + " are possible");
  for (int index = 0; index < layout.count; ++index) {
    component const& each = layout.components[index];
    if (size_of(each.type) == 0) refuse("component " + std::to_string(index) + " has no known element type");
    if (each.elements < 0 || each.elements > most)
      refuse("component " + std::to_string(index) + " has " + std::to_string(each.elements) + " elements, where 0 to " +
             std::to_string(most) + " are possible");
  }
  return layout;
}

/// The gradients' side of a boundary: the components that have one. Of a `checked_boundary`.
constexpr boundary gradient_of(boundary const& forward) {
  boundary result;
  for (int index = 0; index < forward.count; ++index)
    if (forward.components[index].has_gradient) result.components[result.count++] = forward.components[index];
  return result;
}

/// The storage of one boundary message: header, element counts, components, sent by one request. Host memory is sent in
/// place; device memory through a pinned mirror. Where the transport moves messages in parts, it takes the
/// components from where they are, and there is no mirror but of the header and the counts.
template <class MemorySpace>
class wire_buffer {
 public:
  /// `wire_prefix`, padded to two cache lines.
  static constexpr std::size_t prefix_bytes = 128;
  static_assert(sizeof(wire_prefix) <= prefix_bytes);

  /// Throws where the boundary is none: a count, an element type or a size that cannot be.
  wire_buffer(std::string const& label, boundary const& layout) : layout_(new boundary(checked_boundary(layout))) {
    boundary_view<MemorySpace> const whole(nullptr, layout_.get());
    capacity_ = prefix_bytes + whole.bytes();
    storage_ = execution::allocate<storage_type>(label.c_str(), capacity_);
    if constexpr (is_host) mirror_ = storage_;
    set_types(prefix_, layout);
    reset();
  }

  /// The view for the stage to write to or read from.
  [[nodiscard]] boundary_view<MemorySpace>& view() { return view_; }

  /// Back to the boundary's own element counts.
  void reset() {
    view_ = boundary_view<MemorySpace>(reinterpret_cast<std::byte*>(storage_.data()) + prefix_bytes, layout_.get());
  }

  /// Once, before the first message: says to whom or from whom the messages of this buffer go. Does not communicate.
  void connect(transport::endpoint& door, bool is_send, int peer, int tag) {
    in_parts_ = door.moves_parts(peer, MemorySpace::name());
    if (in_parts_) door.prepare_parts(is_send, capacity_ - prefix_bytes, peer, tag);
    if constexpr (!is_host) {
      std::size_t const bytes = in_parts_ ? prefix_bytes : capacity_;
      if (mirror_.size() < bytes) mirror_ = execution::allocate<mirror_type>("weft::wire", bytes);
    }
  }

  /// Posts the message; from device memory, once `space` has copied it to the mirror. Does not wait for the peer.
  template <class Space>
  void send(transport::endpoint& door, Space const& space, int stage, int direction, int micro_batch, int peer,
            int tag) {
    prefix_.header = {static_cast<std::uint16_t>(stage), static_cast<std::uint8_t>(direction), wire_version,
                      static_cast<std::uint32_t>(micro_batch), view_.bytes()};
    for (int index = 0; index < view_.count(); ++index) prefix_.counts[index] = view_.elements(index);
    std::size_t const bytes = prefix_bytes + view_.bytes();
    if constexpr (!is_host) {
      if (!in_parts_) {
        auto const range = std::make_pair(prefix_bytes, bytes);
        auto const lock = door.launch_lock();
        Kokkos::deep_copy(space, Kokkos::subview(mirror_, range), Kokkos::subview(storage_, range));
        execution::fence(space, "weft::send");
      }
    } else {
      static_cast<void>(space);
    }
    std::memcpy(mirror_.data(), &prefix_, sizeof(prefix_));
    std::size_t const most = capacity_ - prefix_bytes;
    pending = in_parts_ ? door.send_parts({mirror_.data(), prefix_bytes, body(), view_.bytes(), most}, peer, tag)
                        : door.send(mirror_.data(), bytes, peer, tag);
  }

  /// Posts the receive. Does not block.
  void receive(transport::endpoint& door, int peer, int tag) {
    pending = in_parts_
                  ? door.receive_parts({mirror_.data(), prefix_bytes, body(), capacity_ - prefix_bytes}, peer, tag)
                  : door.receive(mirror_.data(), capacity_, peer, tag);
    is_expected_ = true;
  }

  /// Tests the message that is under way, if there is one; true once there is none. Does not block.
  [[nodiscard]] bool test(transport::endpoint& door) {
    if (!pending.pending) return true;
    if (!door.test(pending)) return false;
    arrived_bytes_ = door.received_bytes();
    return true;
  }

  /// Nobody will accept the message that has arrived.
  void forget() { is_expected_ = false; }

  /// A receive has been posted, and its message is not yet accepted.
  [[nodiscard]] bool is_expected() const { return is_expected_; }

  /// Checks the message that has arrived and sets the view to its element counts. Throws `error` where it is not the
  /// one that the program expects here.
  template <class Space>
  void accept(transport::endpoint& door, Space const& space, int stage, int direction, int micro_batch, int peer,
              int tag) {
    is_expected_ = false;
    std::size_t const bytes = arrived_bytes_;
    wire_prefix came;
    std::memcpy(&came, mirror_.data(), sizeof(came));
    wire_header const& header = came.header;
    std::int64_t const* const counts = came.counts;
    auto refuse = [&](std::string const& what) {
      int const rank = door.global_rank(door.rank());
      int const source = door.global_rank(peer);
      throw error("weft::pipeline: rank " + std::to_string(rank) + " expected the " +
                      (direction == 0 ? "activations" : "gradients") + " of stage " + std::to_string(stage) +
                      ", micro-batch " + std::to_string(micro_batch) + " from rank " + std::to_string(source) +
                      ", but " + what + "; both ranks must use the same plan and model",
                  {rank, stage, micro_batch, source, tag});
    };
    if (bytes < prefix_bytes) refuse("a message of " + std::to_string(bytes) + " bytes came");
    if (header.version != wire_version)
      refuse("its version is " + std::to_string(header.version) + " where " + std::to_string(wire_version) +
             " is read, so it was built with another weft");
    if (header.stage != stage || header.direction != direction ||
        header.micro_batch != static_cast<std::uint32_t>(micro_batch))
      refuse(std::string("the ") + (header.direction == 0 ? "activations" : "gradients") + " of stage " +
             std::to_string(header.stage) + ", micro-batch " + std::to_string(header.micro_batch) + " came");
    if (std::memcmp(came.types, prefix_.types, sizeof(came.types)) != 0) {
      int other = 0;
      while (came.types[other] == prefix_.types[other]) ++other;
      refuse("its component " + std::to_string(other) + " is " + name_of(static_cast<scalar>(came.types[other])) +
             ", where " + name_of(static_cast<scalar>(prefix_.types[other])) + " is declared");
    }
    reset();
    for (int index = 0; index < view_.count(); ++index) {
      if (counts[index] < 0 || counts[index] > layout_->components[index].elements)
        refuse("component " + std::to_string(index) + " has " + std::to_string(counts[index]) + " elements where " +
               std::to_string(layout_->components[index].elements) + " are the most");
      view_.set_elements(index, counts[index]);
    }
    if (header.bytes != view_.bytes() || bytes != prefix_bytes + header.bytes)
      refuse(std::to_string(bytes) + " bytes came where " + std::to_string(prefix_bytes + view_.bytes()) +
             " are right");
    if constexpr (!is_host) {
      if (in_parts_) return;
      auto const range = std::make_pair(prefix_bytes, bytes);
      auto const lock = door.launch_lock();
      Kokkos::deep_copy(space, Kokkos::subview(storage_, range), Kokkos::subview(mirror_, range));
    } else {
      static_cast<void>(space);
    }
  }

  /// Gives up what is under way. Memory that the transport may go on reading is never given back.
  void abandon(transport::endpoint& door) noexcept {
    if (door.abandon(pending)) return;
    static_cast<void>(new (std::nothrow) mirror_type(mirror_));
    static_cast<void>(new (std::nothrow) storage_type(storage_));
  }

  [[nodiscard]] std::size_t capacity() const { return capacity_; }

  /// Of the message that the view describes.
  [[nodiscard]] std::size_t message_bytes() const { return prefix_bytes + view_.bytes(); }

  transport::request pending;     ///< the one message that may be under way from or into this buffer
  std::ptrdiff_t posted_by = -1;  ///< the instruction that posted it, where times are recorded

 private:
  using storage_type = Kokkos::View<unsigned char*, Kokkos::LayoutRight, MemorySpace>;
  static constexpr bool is_host = Kokkos::SpaceAccessibility<Kokkos::HostSpace, MemorySpace>::accessible;
  using mirror_type = Kokkos::View<unsigned char*, Kokkos::LayoutRight,
                                   std::conditional_t<is_host, MemorySpace, execution::pinned<MemorySpace>>>;

  [[nodiscard]] unsigned char* body() const { return storage_.data() + prefix_bytes; }

  std::unique_ptr<boundary> layout_;  // at a fixed address: views point to it
  storage_type storage_;
  mirror_type mirror_;
  std::size_t capacity_ = 0;
  std::size_t arrived_bytes_ = 0;
  bool is_expected_ = false;
  bool in_parts_ = false;
  wire_prefix prefix_;  // of the message that the view describes; its types never change
  boundary_view<MemorySpace> view_;
};

}  // namespace weft::inline v1
