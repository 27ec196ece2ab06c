// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/transport/detail/library_queue.hpp>
#include <weft/transport/endpoint.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::inline v1::transport::detail {

/// What a vendor's library is told between the begin and the end of a group; see library_door.hpp.
struct library_group {
  struct body {
    void* data = nullptr;
    std::size_t bytes = 0;
    int peer = -1;  ///< as the library counts
    bool is_send = false;
  };

  std::vector<body> bodies;
  library_state state = library_state::collecting;
  std::uint64_t mark = 0;
  std::size_t users = 0;          ///< requests that were not tested to their end
  library_group* next = nullptr;  ///< launched after this one
};

/// One message: its body is in a group, its head goes another way.
struct library_part {
  static constexpr std::size_t text_bytes = 1024;  ///< of the body's length and the head

  library_group* of = nullptr;
  unsigned char text[text_bytes] = {};
  request head_post;
  void* head = nullptr;
  std::size_t head_bytes = 0;
  std::size_t body_bytes = 0;   ///< of a receive: the room, until its head has come
  std::size_t moved_bytes = 0;  ///< by the library
  int peer = -1;
  int tag = -1;
  bool is_send = false;
};

}  // namespace weft::inline v1::transport::detail
