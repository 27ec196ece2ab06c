// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/schedule/tags.hpp>
#include <weft/transport/agreement.hpp>
#include <weft/transport/copies.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/wait.hpp>

#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
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

/// While one lives, a memory fault ends the process with a sentence in place of a bare signal. Signals are the
/// process's, and ranks may be its threads: the first one says what happens, and the last one takes it back.
class fault_words {
 public:
  fault_words() {
    auto& all = of_process();
    std::lock_guard const lock(all.mutex);
    if (all.alive++ > 0) return;
    struct sigaction mine = {};
    mine.sa_handler = &tell;
    sigemptyset(&mine.sa_mask);
    sigaction(SIGSEGV, &mine, &all.before_segv);
    sigaction(SIGBUS, &mine, &all.before_bus);
  }
  fault_words(fault_words const&) = delete;
  fault_words& operator=(fault_words const&) = delete;
  ~fault_words() {
    auto& all = of_process();
    std::lock_guard const lock(all.mutex);
    if (--all.alive > 0) return;
    sigaction(SIGSEGV, &all.before_segv, nullptr);
    sigaction(SIGBUS, &all.before_bus, nullptr);
  }

 private:
  struct handlers {
    std::mutex mutex;
    int alive = 0;
    struct sigaction before_segv = {};
    struct sigaction before_bus = {};
  };
  static handlers& of_process() {
    static handlers all;
    return all;
  }
  static void tell(int signal_number) {
    static constexpr char text[] =
        "weft::transport::find_device_support: this MPI is said to take pointers to device memory, and the first large "
        "message from there was a memory fault; start with WEFT_DEVICE_AWARE=0, or with an MPI built for the device\n";
    static_cast<void>(!write(STDERR_FILENO, text, sizeof(text) - 1));
    signal(signal_number, SIG_DFL);
    raise(signal_number);
  }
};

/// One direction of the test's message. An MPI may refuse device memory by an error at one end alone, and the other end
/// would wait; so both tell each other, from host memory, how theirs went.
class tried_message {
 public:
  /// `post()` returns the message's request; `peer` tells by `tag_of_peer` what this end tells by `tag`.
  template <class Post>
  tried_message(endpoint& door, int peer, int tag, int tag_of_peer, Post&& post) : door_(door),
                                                                                   peer_(peer),
                                                                                   tag_(tag) {
    heard_ = door_.receive(&theirs_, 1, peer, tag_of_peer);
    attempt([&] { posted_ = post(); });
  }
  tried_message(tried_message const&) = delete;
  tried_message& operator=(tried_message const&) = delete;
  ~tried_message() {
    for (request* const each : {&posted_, &heard_, &told_}) static_cast<void>(door_.abandon(*each));
  }

  /// True once both ends know how both went.
  bool is_through() {
    if (!has_heard_) has_heard_ = door_.test(heard_);
    if (!has_ended_) {
      attempt([&] { has_ended_ = door_.test(posted_); });
      if (!has_ended_ && has_heard_ && theirs_ == failed) end("did not come through");
      if (!has_ended_) return false;
    }
    if (!is_told_) {
      own_ = problem_.empty() ? '+' : failed;
      told_ = door_.send(&own_, 1, peer_, tag_);
      is_told_ = true;
    }
    return door_.test(told_) && has_heard_;
  }

  /// Why it did not come to its end; empty where it did.
  [[nodiscard]] std::string const& problem() const { return problem_; }

 private:
  static constexpr char failed = '-';

  template <class Try>
  void attempt(Try&& once) {
    if (has_ended_) return;
    try {
      once();
    } catch (remote_error const&) {
      throw;
    } catch (error const& refusal) {
      end(std::string("was refused: ") + refusal.what());
    }
  }
  void end(std::string problem) {
    problem_ = std::move(problem);
    has_ended_ = true;
    static_cast<void>(door_.abandon(posted_));
  }

  endpoint& door_;
  int peer_;
  int tag_;
  char own_ = '?';
  char theirs_ = '?';
  request posted_;
  request heard_;
  request told_;
  std::string problem_;
  bool has_heard_ = false;
  bool has_ended_ = false;
  bool is_told_ = false;
};

/// What each rank says of the message it received, and of the one it sent.
inline std::string join_problems(std::string received, std::string sent) {
  for (std::string* const text : {&received, &sent})
    for (char& letter : *text)
      if (letter == '\n') letter = ' ';
  return received + '\n' + sent;
}

}  // namespace detail

/// Bytes that the test message has, and that each half of `find_device_support`'s memory needs.
inline constexpr std::size_t device_test_bytes = (std::size_t{1} << 21) + 24;

/// Finds out, on all ranks together, which of them may hand device pointers to `door`. `mpi`: the library's own word on
/// this rank (transport/mpi_device_support.hpp). `memory`: 2 * device_test_bytes of the device's, to be overwritten.
///
/// Ranks that are said to, send a message around the ring of themselves; who receives other bytes than were sent does
/// not, and neither does who sent them; the same where one end's MPI answers with an error. Where MPI ends the process
/// by a memory fault, it says why. Collective. Throws `agreed_error` where an answer cannot be read.
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
  std::string received;  // what was wrong with it
  std::string sent;
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
      namespace tags = schedule::tags;  // those of training are free, which has not begun
      detail::tried_message incoming(door, before, tags::whole_norm, tags::partial_norm,
                                     [&] { return door.receive(in, device_test_bytes, before, tags::state); });
      detail::tried_message outgoing(door, next, tags::partial_norm, tags::whole_norm,
                                     [&] { return door.send(out, device_test_bytes, next, tags::state); });
      auto const overdue = [&](double waited) {
        int const rank = door.global_rank(door.rank());
        throw error("weft::transport::find_device_support: rank " + std::to_string(rank) + " waited " +
                        std::to_string(static_cast<long>(waited)) + " s for the large messages of ranks " +
                        std::to_string(door.global_rank(before)) + " and " + std::to_string(door.global_rank(next)) +
                        "; they are slow, stopped, or do something else",
                    {.rank = rank, .peer = door.global_rank(before)});
      };
      wait_until(
          door, deadline,
          [&] {
            bool const has_come = incoming.is_through();
            return outgoing.is_through() && has_come;
          },
          overdue, [] {});
      received = incoming.problem();
      sent = outgoing.problem();
    }
    if (received.empty()) {
      wait_for(copies.to_host(host, in, device_test_bytes));
      for (std::size_t index = 0; index < device_test_bytes; ++index)
        if (host[index] != byte_of(index, before)) received = "came with wrong bytes";
    }
  }
  auto const judged = gather_texts(door, detail::join_problems(received, sent), deadline);
  auto const problem_of = [&](std::size_t index) {  // of the message to able[index]; who sent it may know better
    auto const& to = judged[static_cast<std::size_t>(able[index])];
    auto const& from = judged[static_cast<std::size_t>(able[(index + able.size() - 1) % able.size()])];
    std::string const at_end = to.substr(0, to.find('\n'));
    std::string const at_start = from.substr(from.find('\n') + 1);
    auto const is_refusal = [](std::string const& problem) { return problem.rfind("was refused", 0) == 0; };
    if (is_refusal(at_end) || at_start.empty()) return at_end;
    return is_refusal(at_start) || at_end.empty() ? at_start : at_end;
  };
  device_support found;
  for (auto const& each : gathered) {
    found.by_rank.push_back(each[0] == '+');
    found.reasons.push_back(each.substr(1) + (each[0] == '+' ? ", and a large message came through" : ""));
  }
  for (std::size_t index = 0; index < able.size(); ++index)
    if (std::string const problem = problem_of(index); !problem.empty())
      for (int const rank : {able[index], able[(index + able.size() - 1) % able.size()]}) {
        auto const place = static_cast<std::size_t>(rank);
        found.by_rank[place] = false;
        found.reasons[place] = gathered[place].substr(1) + ", but a large message " + problem;
      }
  return found;
}

}  // namespace weft::inline v1::transport
