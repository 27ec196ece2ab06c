// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

#include <stdexcept>
#include <string>

namespace weft::inline v1 {

/// Where in a run something went wrong; -1 where a field does not apply.
struct error_location {
  int rank = -1;
  int stage = -1;
  int micro_batch = -1;
  int peer = -1;
  int tag = -1;
};

/// Every run-time error of weft. `what()` reads "weft::<where>: <what is wrong>; <what to do>".
class error : public std::runtime_error {
 public:
  explicit error(std::string const& message, error_location location = {})
      : std::runtime_error(message),
        location_(location) {}

  [[nodiscard]] error_location const& location() const noexcept { return location_; }

 private:
  error_location location_;
};

/// Memory that a rank could not get. Who knows the rank says it.
class memory_error : public error {
 public:
  explicit memory_error(std::string const& finding, int rank = -1)
      : error("weft::memory: " + (rank < 0 ? std::string() : "rank " + std::to_string(rank) + ": ") + finding,
              {.rank = rank}),
        finding_(finding) {}

  [[nodiscard]] memory_error on_rank(int rank) const { return memory_error(finding_, rank); }

 private:
  std::string finding_;
};

/// Thrown on every rank alike, with the same words: nobody is left waiting, and each rank may end in its own time.
class agreed_error : public error {
 public:
  using error::error;
};

/// Thrown on the ranks that were healthy when another rank failed; carries that rank's own message.
class remote_error : public error {
 public:
  using error::error;
};

/// Thrown by a look at the failure channel where another rank's deadline has passed: the looker answers what it waits
/// for (transport/standstill.hpp) and ends.
class standstill : public remote_error {
 public:
  using remote_error::remote_error;
};

}  // namespace weft::inline v1
