// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/allocate.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/marks.hpp>
#include <weft/execution/pinned.hpp>

#include <Kokkos_Core.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string_view>
#include <type_traits>
#include <utility>

namespace weft::inline v1::transport {

/// How a transport gets at memory that neither the host nor MPI may read. A copy is begun and has a number, larger than
/// those of earlier ones; once `is_done(number)` both of its sides may be used again.
template <class Copies>
concept memory_copies = requires(Copies& copies, void* host, void const* from, std::size_t bytes,
                                 std::uint64_t number) {
  { std::as_const(copies).memory() } -> std::convertible_to<std::string_view>;
  { *copies.make_host_buffer(bytes).data() } -> std::convertible_to<unsigned char>;
  { copies.to_host(host, from, bytes) } -> std::same_as<std::uint64_t>;
  { copies.to_device(host, from, bytes) } -> std::same_as<std::uint64_t>;
  { copies.is_done(number) } -> std::same_as<bool>;
};

/// For bodies in plain host memory: what a rank without a device runs where its peer stages.
class host_copies {
 public:
  class host_buffer {
   public:
    explicit host_buffer(std::size_t bytes) : data_(static_cast<unsigned char*>(::operator new(bytes, cache_line))) {}
    [[nodiscard]] unsigned char* data() const { return data_.get(); }

   private:
    static constexpr std::align_val_t cache_line{64};  // as Kokkos's own: some copies are slow between other places
    struct release {
      void operator()(unsigned char* data) const { ::operator delete(data, cache_line); }
    };
    std::unique_ptr<unsigned char, release> data_;
  };

  [[nodiscard]] std::string_view memory() const { return Kokkos::HostSpace::name(); }
  [[nodiscard]] host_buffer make_host_buffer(std::size_t bytes) { return host_buffer(bytes); }

  std::uint64_t to_host(void* host, void const* body, std::size_t bytes) { return copy(host, body, bytes); }
  std::uint64_t to_device(void* body, void const* host, std::size_t bytes) { return copy(body, host, bytes); }
  [[nodiscard]] bool is_done(std::uint64_t) { return true; }

 private:
  static std::uint64_t copy(void* to, void const* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
    return 0;
  }
};

/// By Kokkos, on an instance of its own or of the caller's, better not the one that computes: a copy would wait for its
/// kernels. Bodies are whole before they are sent, since the engine has waited for the instance that wrote them.
/// `is_done` asks a mark behind the copy, and never waits.
///
/// Launches no kernel: between a device and pinned memory Kokkos asks the device's copy engine, and host memory, where
/// it might use its threads, is copied without it. So ranks that are threads need no launch lock for it, which a rank
/// that moves messages between its kernels holds already.
template <class Space = Kokkos::DefaultExecutionSpace>
class kokkos_copies {
 public:
  using memory_space = typename Space::memory_space;
  using host_buffer = Kokkos::View<unsigned char*, Kokkos::LayoutRight, execution::pinned<memory_space>>;

  kokkos_copies() : kokkos_copies(execution::new_instance<Space>()) {}
  explicit kokkos_copies(Space const& space) : space_(space), marks_(space_) {}

  [[nodiscard]] std::string_view memory() const { return memory_space::name(); }
  [[nodiscard]] host_buffer make_host_buffer(std::size_t bytes) {
    return execution::allocate<host_buffer>("weft::chunk", bytes);
  }

  std::uint64_t to_host(void* host, void const* body, std::size_t bytes) {
    if constexpr (is_host)
      copy_here(host, body, bytes);
    else
      Kokkos::deep_copy(space_, view<Kokkos::HostSpace, unsigned char>(host, bytes),
                        view<memory_space, unsigned char const>(body, bytes));
    return marks_.mark();
  }
  std::uint64_t to_device(void* body, void const* host, std::size_t bytes) {
    if constexpr (is_host)
      copy_here(body, host, bytes);
    else
      Kokkos::deep_copy(space_, view<memory_space, unsigned char>(body, bytes),
                        view<Kokkos::HostSpace, unsigned char const>(host, bytes));
    return marks_.mark();
  }
  [[nodiscard]] bool is_done(std::uint64_t number) { return marks_.is_done(number); }

 private:
  static constexpr bool is_host = std::is_same_v<memory_space, Kokkos::HostSpace>;

  static void copy_here(void* to, void const* from, std::size_t bytes) {
    if (bytes > 0) std::memcpy(to, from, bytes);
  }
  template <class Memory, class Byte, class Data>
  static auto view(Data* data, std::size_t bytes) {
    return Kokkos::View<Byte*, Kokkos::LayoutRight, Memory, Kokkos::MemoryUnmanaged>(static_cast<Byte*>(data), bytes);
  }

  Space space_;
  execution::marks<Space> marks_;
};

}  // namespace weft::inline v1::transport
