// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/schedule/tags.hpp>
#include <weft/transport/agreement.hpp>
#include <weft/transport/copies.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/posted.hpp>

#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

/// @file
/// Whether MPI takes pointers to device memory, and how that is known: what the user says, then the environment, then
/// the MPI's own word, and then a message above 1 MiB (small ones pass by luck: they are copied inline).

namespace weft::inline v1::transport {

enum class device_answer : std::uint8_t { unknown, no, yes };

/// What each rank's MPI does with device memory, the same on every rank.
struct device_support {
  std::vector<bool> by_rank;
  std::vector<std::string> reasons;

  [[nodiscard]] bool between(int one, int other) const {
    return by_rank[static_cast<std::size_t>(one)] && by_rank[static_cast<std::size_t>(other)];
  }
  /// The ranks with which `rank` exchanges device memory.
  [[nodiscard]] std::vector<int> peers_of(int rank) const {
    std::vector<int> found;
    for (int other = 0; other < static_cast<int>(by_rank.size()); ++other)
      if (between(rank, other)) found.push_back(other);
    return found;
  }
  /// For people, one line; ranks with equal reasons are joined.
  [[nodiscard]] std::string text() const {
    std::string all = "device memory:";
    for (std::size_t first = 0; first < reasons.size();) {
      std::size_t last = first;
      while (last + 1 < reasons.size() && reasons[last + 1] == reasons[first]) ++last;
      all += (first == 0 ? " rank" : "; rank") + std::string(first == last ? " " : "s ") + std::to_string(first) +
             (first == last ? "" : " to " + std::to_string(last)) + ": " + reasons[first];
      first = last + 1;
    }
    return all;
  }
};

namespace detail {

struct device_opinion {
  device_answer answer = device_answer::unknown;
  std::string reason;
};

/// `variable` of the environment as yes or no; other words are refused.
inline device_answer answer_of_environment(char const* variable) {
  char const* const text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return device_answer::unknown;
  for (char const* const word : {"1", "on", "yes", "true"})
    if (std::strcmp(text, word) == 0) return device_answer::yes;
  for (char const* const word : {"0", "off", "no", "false"})
    if (std::strcmp(text, word) == 0) return device_answer::no;
  throw error("weft::transport::find_device_support: " + std::string(variable) + " is '" + text + "'; say 1 or 0");
}

/// The first that knows: option, environment, MPI.
inline device_opinion opinion_on_device(device_answer option, device_answer mpi) {
  auto const words = [](device_answer answer) { return answer == device_answer::yes ? "yes" : "no"; };
  if (option != device_answer::unknown) return {option, std::string("the options say ") + words(option)};
  if (auto const told = answer_of_environment("WEFT_DEVICE_AWARE"); told != device_answer::unknown)
    return {told, std::string("WEFT_DEVICE_AWARE says ") + words(told)};
  // MPIs that can, but only if they were asked to before they started.
  for (char const* const variable : {"MPICH_GPU_SUPPORT_ENABLED", "MPIR_CVAR_ENABLE_GPU", "MV2_USE_CUDA"})
    if (char const* const text = std::getenv(variable); text != nullptr && std::strcmp(text, "0") == 0)
      return {device_answer::no, std::string(variable) + " is 0"};
  if (mpi != device_answer::unknown) return {mpi, std::string("the MPI says ") + words(mpi)};
  return {device_answer::no, "the MPI does not say, so it is taken as no"};
}

/// While it lives, a memory fault ends the process with a sentence in place of a bare signal.
class fault_words {
 public:
  fault_words() {
    struct sigaction mine = {};
    mine.sa_handler = &tell;
    sigemptyset(&mine.sa_mask);
    sigaction(SIGSEGV, &mine, &before_segv_);
    sigaction(SIGBUS, &mine, &before_bus_);
  }
  fault_words(fault_words const&) = delete;
  fault_words& operator=(fault_words const&) = delete;
  ~fault_words() {
    sigaction(SIGSEGV, &before_segv_, nullptr);
    sigaction(SIGBUS, &before_bus_, nullptr);
  }

 private:
  static void tell(int signal_number) {
    static constexpr char text[] =
        "weft::transport::find_device_support: this MPI is said to take pointers to device memory, and the first large "
        "message from there was a memory fault; start with WEFT_DEVICE_AWARE=0, or with an MPI built for the device\n";
    static_cast<void>(!write(STDERR_FILENO, text, sizeof(text) - 1));
    signal(signal_number, SIG_DFL);
    raise(signal_number);
  }
  struct sigaction before_segv_ = {};
  struct sigaction before_bus_ = {};
};

}  // namespace detail

/// Bytes that the test message has, and that each half of `find_device_support`'s memory needs.
inline constexpr std::size_t device_test_bytes = (std::size_t{1} << 21) + 24;

/// Finds out, on all ranks together, which of them may hand device pointers to `door`. `mpi`: the library's own word on
/// this rank (transport/mpi_device_support.hpp). `memory`: 2 * device_test_bytes of the device's, to be overwritten.
///
/// Ranks that are said to, send a message around the ring of themselves; who receives other bytes than were sent does
/// not, and neither does who sent them. Where MPI ends the process by a memory fault, it says why. Collective. Throws
/// `agreed_error` where an answer cannot be read.
template <memory_copies Copies>
device_support find_device_support(endpoint& door, device_answer option, device_answer mpi, Copies& copies,
                                   void* memory, double deadline = default_deadline) {
  detail::device_opinion own;
  all_or_none(
      door, [&] { own = detail::opinion_on_device(option, mpi); }, deadline);
  auto gathered = gather_texts(door, (own.answer == device_answer::yes ? "+" : "-") + own.reason, deadline);
  std::vector<int> able;
  for (int rank = 0; rank < door.size(); ++rank)
    if (gathered[static_cast<std::size_t>(rank)][0] == '+') able.push_back(rank);
  bool is_right = true;
  std::size_t mine = 0;
  while (mine < able.size() && able[mine] != door.rank()) ++mine;
  if (mine < able.size()) {
    int const next = able[(mine + 1) % able.size()];
    int const before = able[(mine + able.size() - 1) % able.size()];
    auto const byte_of = [](std::size_t index, int rank) {
      return static_cast<unsigned char>((index * 2654435761U >> 13U) + 101U * static_cast<unsigned>(rank));
    };
    auto const wait_for = [&](std::uint64_t number) {
      while (!copies.is_done(number)) door.yield();
    };
    auto buffer = copies.make_host_buffer(device_test_bytes);
    unsigned char* const host = buffer.data();
    unsigned char* const out = static_cast<unsigned char*>(memory);
    unsigned char* const in = out + device_test_bytes;
    for (std::size_t index = 0; index < device_test_bytes; ++index) host[index] = byte_of(index, door.rank());
    wait_for(copies.to_device(out, host, device_test_bytes));
    std::memset(host, 0xEE, device_test_bytes);
    wait_for(copies.to_device(in, host, device_test_bytes));
    {
      detail::fault_words const words;
      posted_messages messages(door, "the test of device memory", deadline);
      messages.receive(in, device_test_bytes, before, schedule::tags::state);
      messages.send(out, device_test_bytes, next, schedule::tags::state);
      messages.settle();
    }
    wait_for(copies.to_host(host, in, device_test_bytes));
    for (std::size_t index = 0; index < device_test_bytes; ++index)
      is_right = is_right && host[index] == byte_of(index, before);
  }
  auto const judged = gather_texts(door, is_right ? "+" : "-", deadline);
  device_support found;
  for (auto const& each : gathered) {
    found.by_rank.push_back(each[0] == '+');
    found.reasons.push_back(each.substr(1) + (each[0] == '+' ? ", and a large message came through" : ""));
  }
  for (std::size_t index = 0; index < able.size(); ++index)
    if (judged[static_cast<std::size_t>(able[index])] != "+")
      for (int const rank : {able[index], able[(index + able.size() - 1) % able.size()]}) {
        auto const place = static_cast<std::size_t>(rank);
        found.by_rank[place] = false;
        found.reasons[place] = gathered[place].substr(1) + ", but a large message came with wrong bytes";
      }
  return found;
}

}  // namespace weft::inline v1::transport
