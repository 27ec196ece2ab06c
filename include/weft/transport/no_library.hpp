// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/transport/device_library.hpp>
#include <weft/transport/endpoint.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft::inline v1::transport {

/// For ranks that have no vendor's library, as a build for hosts, in a job with ranks that have one: all of them make
/// the library's door (transport/library_door.hpp), and these are no members of it (`{.members = {}}`).
class no_library {
 public:
  static constexpr char const* name = "no library";
  struct identity {};

  [[nodiscard]] std::string_view memory() const { return {}; }
  static identity make_identity() { refuse(); }
  void connect(identity const&, int, int) { refuse(); }
  [[nodiscard]] bool is_ready() { refuse(); }
  void follow() { refuse(); }
  void begin_group() { refuse(); }
  void send(void const*, std::size_t, int) { refuse(); }
  void receive(void*, std::size_t, int) { refuse(); }
  void end_group() { refuse(); }
  void all_reduce(void*, std::int64_t, summand) { refuse(); }
  void reduce(void*, std::int64_t, summand, int) { refuse(); }
  void broadcast(void*, std::int64_t, summand, int) { refuse(); }
  [[nodiscard]] no_library another() const { return {}; }
  [[nodiscard]] std::uint64_t mark() { refuse(); }
  [[nodiscard]] bool is_done(std::uint64_t) { refuse(); }
  void check() {}
  void abort() noexcept {}

 private:
  [[noreturn]] static void refuse() {
    throw error(
        "weft::transport::no_library: this rank has no vendor's library and is a member of a library's door; "
        "leave it out of library_options::members, on every rank");
  }
};
static_assert(device_library<no_library>);

}  // namespace weft::inline v1::transport
