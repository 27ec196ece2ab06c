// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

/// Orders that others published, as small literals: what a schedule *is*. `peaks` and `makespan` (F = I = W = 1, B = 2,
/// no hop time) were computed elsewhere. The whole collection is read where WEFT_VECTORS_DIR names its folder.
namespace published {

struct table {
  char const* schedule;
  int ranks;
  int micro_batches;
  double makespan;
  char const* peaks;  ///< per rank
  char const* text;
};

// clang-format off
inline constexpr table tables[] = {
    {"gpipe", 2, 4, 15.0, "4 4",
     "0F0,0F1,0F2,0F3,,,0B0,0B1,0B2,0B3\n"
     ",1F0,1F1,1F2,1F3,1B0,1B1,1B2,1B3,\n"},
    {"gpipe", 4, 4, 21.0, "4 4 4 4",
     "0F0,0F1,0F2,0F3,0B0,0B1,0B2,0B3\n1F0,1F1,1F2,1F3,1B0,1B1,1B2,1B3\n"
     "2F0,2F1,2F2,2F3,2B0,2B1,2B2,2B3\n3F0,3F1,3F2,3F3,3B0,3B1,3B2,3B3\n"},
    {"1f1b", 2, 4, 15.0, "2 1",
     "0F0,0F1,0B0,0F2,0B1,0F3,0B2,0B3\n1F0,1B0,1F1,1B1,1F2,1B2,1F3,1B3\n"},
    {"1f1b", 4, 4, 21.0, "4 3 2 1",
     "0F0,0F1,0F2,0F3,0B0,0B1,0B2,0B3\n1F0,1F1,1F2,1B0,1F3,1B1,1B2,1B3\n"
     "2F0,2F1,2B0,2F2,2B1,2F3,2B2,2B3\n3F0,3B0,3F1,3B1,3F2,3B2,3F3,3B3\n"},
    {"1f1b", 4, 8, 33.0, "4 3 2 1",
     "0F0,0F1,0F2,0F3,0B0,0F4,0B1,0F5,0B2,0F6,0B3,0F7,0B4,0B5,0B6,0B7\n"
     "1F0,1F1,1F2,1B0,1F3,1B1,1F4,1B2,1F5,1B3,1F6,1B4,1F7,1B5,1B6,1B7\n"
     "2F0,2F1,2B0,2F2,2B1,2F3,2B2,2F4,2B3,2F5,2B4,2F6,2B5,2F7,2B6,2B7\n"
     "3F0,3B0,3F1,3B1,3F2,3B2,3F3,3B3,3F4,3B4,3F5,3B5,3F6,3B6,3F7,3B7\n"},
    {"zb-h1", 2, 4, 13.0, "2 2",
     "0F0,0F1,,0I0,0W0,0F2,0I1,0W1,0F3,0I2,0W2,0I3,0W3\n,1F0,1I0,1F1,1I1,1W0,1F2,1I2,1W1,1F3,1I3,1W2,1W3\n"},
    {"zb-h1", 4, 8, 27.0, "4 4 4 4",
     "0F0,0F1,0F2,0F3,0I0,0W0,0F4,0I1,0W1,0F5,0I2,0W2,0F6,0I3,0W3,0F7,0I4,0W4,0I5,0W5,0I6,0W6,0I7,0W7\n"
     "1F0,1F1,1F2,1I0,1F3,1I1,1W0,1F4,1I2,1W1,1F5,1I3,1W2,1F6,1I4,1W3,1F7,1I5,1W4,1I6,1W5,1I7,1W6,1W7\n"
     "2F0,2F1,2I0,2F2,2I1,2F3,2I2,2W0,2F4,2I3,2W1,2F5,2I4,2W2,2F6,2I5,2W3,2F7,2I6,2W4,2I7,2W5,2W6,2W7\n"
     "3F0,3I0,3F1,3I1,3F2,3I2,3F3,3I3,3W0,3F4,3I4,3W1,3F5,3I5,3W2,3F6,3I6,3W3,3F7,3I7,3W4,3W5,3W6,3W7\n"},
};

/// Printed by a released program outside the range in which it works.
inline constexpr char const* negative_micro_batch =
    "0F0,0F1,0F2,0B-1,0B0,0B1\n1F0,1F1,1B0,1B1\n2F0,2F1,2B0,2B1\n3F0,3B0,3F1,3B1\n";

/// A split backward on two ranks with two stages each (V placement), posts written out.
inline constexpr char const* v_with_posts =
    "0F0,0SEND_F0,0F1,0SEND_F1,3RECV_F0,0F2,0SEND_F2,3F0,3RECV_F1,3I0,3SEND_B0,3W0,3F1,3I1,3SEND_B1,0RECV_B0,3W1,0F3,"
    "0SEND_F3,3RECV_F2,0I0,0W0,3F2,3I2,3SEND_B2,0RECV_B1,3W2,0I1,3RECV_F3,0W1,3F3,3I3,3SEND_B3,0RECV_B2,3W3,0I2,0RECV_B3,"
    "0W2,0I3,0W3\n"
    "1RECV_F0,1F0,1RECV_F1,2F0,2SEND_F0,1RECV_F2,1F1,2F1,2SEND_F1,2RECV_B0,2I0,2W0,1F2,2RECV_B1,1I0,1SEND_B0,1W0,1RECV_F3,"
    "2F2,2SEND_F2,2I1,2W1,1F3,2RECV_B2,1I1,1SEND_B1,1W1,2F3,2SEND_F3,2I2,2W2,2RECV_B3,1I2,1SEND_B2,2I3,1I3,1SEND_B3,1W2,"
    "2W3,1W3\n";
// clang-format on

/// The folder of the whole collection, or "".
inline std::string folder() {
#ifdef WEFT_VECTORS_DIR
  return WEFT_VECTORS_DIR;
#else
  char const* const found = std::getenv("WEFT_VECTORS_DIR");
  return found == nullptr ? "" : found;
#endif
}

/// Lines end with \n here, whatever they end with there.
inline std::string read_file(std::string const& path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  std::erase(text, '\r');
  return text;
}

inline std::vector<std::string> split(std::string const& line, char separator) {
  std::vector<std::string> fields;
  std::stringstream text(line);
  for (std::string field; std::getline(text, field, separator);) fields.push_back(field);
  return fields;
}

}  // namespace published
