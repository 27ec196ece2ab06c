// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/guarded_memory.hpp"
#include "support/settle.hpp"
#include "toy_stage.hpp"

#include <weft/pipeline/pipeline.hpp>
#include <weft/schedule/lower.hpp>
#include <weft/schedule/one_f_one_b.hpp>
#include <weft/schedule/write_table.hpp>
#include <weft/transport/automatic.hpp>
#include <weft/transport/device_aware.hpp>
#include <weft/transport/device_support.hpp>
#include <weft/transport/in_process.hpp>
#include <weft/transport/link_report.hpp>
#include <weft/transport/relay.hpp>
#include <weft/transport/staged.hpp>

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace {

using weft::transport::device_answer;
using weft::transport::device_aware;
using weft::transport::device_test_bytes;
using weft::transport::endpoint;
using weft::transport::find_device_support;
using weft::transport::host_copies;
using weft::transport::in_process;
using weft::transport::link_table;
using weft::transport::request;
using small_staged = weft::transport::staged<1024, host_copies>;

constexpr char const* host = "Host";

/// Says that it takes device memory, and sends something else.
class lying_door final : public weft::transport::relay {
 public:
  using relay::relay;
  [[nodiscard]] request send(void const* data, std::size_t bytes, int peer, int tag) override {
    return relay::send(bytes > 1U << 20U ? other_.data() : data, bytes, peer, tag);
  }

 private:
  std::vector<char> other_ = std::vector<char>(device_test_bytes);
};

/// Posts no more than some bytes.
class refusing_door final : public weft::transport::relay {
 public:
  using relay::relay;
  [[nodiscard]] request send(void const* data, std::size_t bytes, int peer, int tag) override {
    if (bytes > most) throw weft::error("there is no memory for it");
    return relay::send(data, bytes, peer, tag);
  }
  [[nodiscard]] bool abandon(request& posted) noexcept override {
    abandoned += posted.pending ? 1 : 0;
    return relay::abandon(posted);
  }
  std::size_t most = 50;
  int abandoned = 0;
};

/// Says that it takes device memory, and answers with an error: at once, or when it is asked how far it is.
class failing_door final : public weft::transport::relay {
 public:
  failing_door(endpoint& inner, bool sends, bool at_post) : relay(inner), sends_(sends), at_post_(at_post) {}
  [[nodiscard]] request send(void const* data, std::size_t bytes, int peer, int tag) override {
    if (bytes > 1U << 20U && sends_) refuse(at_post_);
    request const made = relay::send(data, bytes, peer, tag);
    if (bytes > 1U << 20U && sends_) refused_ = made.handle;
    return made;
  }
  [[nodiscard]] request receive(void* data, std::size_t bytes, int peer, int tag) override {
    if (bytes > 1U << 20U && !sends_) refuse(at_post_);
    request const made = relay::receive(data, bytes, peer, tag);
    if (bytes > 1U << 20U && !sends_) refused_ = made.handle;
    return made;
  }
  [[nodiscard]] bool test(request& posted) override {
    refuse(posted.pending && posted.handle == refused_);
    return relay::test(posted);
  }
  [[nodiscard]] bool abandon(request& posted) noexcept override {
    if (posted.handle == refused_) refused_ = 0;
    return relay::abandon(posted);
  }

 private:
  static void refuse(bool is_so) {
    if (is_so) throw weft::error("MPI_ERR_BUFFER");
  }
  bool sends_;
  bool at_post_;
  std::uintptr_t refused_ = 0;
};

/// What each of some ranks finds, with the words of the first.
std::string support(int ranks, std::vector<int> const& saying_yes, int lying, std::vector<bool> const& expected) {
  std::string words;
  std::atomic<int> wrong{0};
  in_process::run(ranks, [&](endpoint& world) {
    lying_door lies(world);
    bool const says_yes = std::find(saying_yes.begin(), saying_yes.end(), world.rank()) != saying_yes.end();
    std::vector<unsigned char> memory(2 * device_test_bytes);
    host_copies copies;
    endpoint& door = world.rank() == lying ? static_cast<endpoint&>(lies) : world;
    auto const found = find_device_support(door, device_answer::unknown,
                                           says_yes ? device_answer::yes : device_answer::no, copies, memory.data());
    wrong += found.by_rank == expected ? 0 : 1;
    if (world.rank() == 0) words = found.text();
  });
  CHECK(wrong == 0);
  return words;
}

}  // namespace

TEST_CASE("device-aware: heads and bodies of every size, several under way, both directions") {
  std::atomic<int> wrong{0};
  in_process::run(2, [&](endpoint& world) {
    device_aware door(world, host);
    int const peer = 1 - world.rank();
    std::vector<std::vector<char>> sent;
    std::vector<std::vector<char>> received;
    std::vector<std::vector<char>> heads;
    std::vector<request> posts;
    std::vector<std::size_t> const sizes{0, 1, 7, 4096, 1 << 20};
    for (std::size_t const bytes : sizes)
      for (std::size_t const head : {std::size_t(0), std::size_t(16)}) {
        sent.emplace_back(bytes, static_cast<char>(65 + world.rank()));
        received.emplace_back(bytes + 5, '?');
        heads.emplace_back(head, '?');
        posts.push_back(door.send_parts({"0123456789abcdef", head, sent.back().data(), bytes}, peer, 2));
        posts.push_back(door.receive_parts({heads.back().data(), head, received.back().data(), bytes + 5}, peer, 2));
      }
    for (std::size_t index = 0; index < posts.size(); ++index) {
      settle(door, posts[index]);
      if (index % 2 == 0) continue;
      std::size_t const bytes = sizes[index / 4];
      auto const& head = heads[index / 2];
      wrong += door.received_bytes() == bytes + head.size() ? 0 : 1;
      std::vector<char> right(bytes, static_cast<char>(65 + peer));
      right.resize(bytes + 5, '?');
      wrong += received[index / 2] == right ? 0 : 1;
      wrong += std::string(head.begin(), head.end()) == std::string("0123456789abcdef").substr(0, head.size()) ? 0 : 1;
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("device-aware: no peers are none, and with other ranks than its own it hands on to the inner door") {
  weft::transport::device_support const nobody{{false, false, true, true}, {"", "", "", ""}};
  std::atomic<int> wrong{0};
  in_process::run(4, [&](endpoint& world) {
    device_aware some(world, host, nobody.peers_of(world.rank()));
    small_staged none(world, {}, {.peers = {}});
    small_staged around(some, {}, {.peers = world.rank() < 2 ? std::vector<int>{0, 1} : std::vector<int>{}});
    for (int peer = 0; peer < 4; ++peer) {
      wrong += some.moves_parts(peer, host) == (world.rank() > 1 && peer > 1) ? 0 : 1;
      wrong += none.moves_parts(peer, host) ? 1 : 0;
      wrong += around.moves_parts(peer, host) == ((world.rank() > 1) == (peer > 1)) ? 0 : 1;
    }
    int const peer = world.rank() ^ 1;
    std::vector<char> const body(5000, static_cast<char>(65 + world.rank()));
    std::vector<char> got(5000, '?');
    for (bool const sends : {false, true}) around.prepare_parts(sends, 5000, peer, 2);
    request receive = around.receive_parts({nullptr, 0, got.data(), 5000}, peer, 2);
    request send = around.send_parts({nullptr, 0, body.data(), 3000}, peer, 2);
    settle(around, receive);
    wrong += around.received_bytes() == 3000 && got[2999] == 65 + peer && got[3000] == '?' ? 0 : 1;
    settle(around, send);
    wrong += (around.buffer_bytes() > 0) == (world.rank() < 2) ? 0 : 1;
    request given_up = around.receive_parts({nullptr, 0, got.data(), 5000}, peer, 3);
    wrong += around.abandon(given_up) && !given_up.pending ? 0 : 1;
  });
  CHECK(wrong == 0);
}

TEST_CASE("device-aware: where a body cannot be posted its head is given up") {
  in_process group(1);
  in_process::door world(group, 0);
  refusing_door refuses(world);
  device_aware door(refuses, host);
  std::vector<char> body(100);
  CHECK_THROWS_WITH_AS(static_cast<void>(door.send_parts({"0123456789abcdef", 16, body.data(), 100}, 0, 2)),
                       "there is no memory for it", weft::error);
  CHECK(refuses.abandoned == 1);
  refuses.most = 1000;
  char head[16] = {};
  request receive = door.receive_parts({head, 16, body.data(), 100}, 0, 2);
  request send = door.send_parts({"0123456789abcdef", 16, body.data(), 10}, 0, 2);  // meets no old head
  settle(door, receive);
  CHECK(door.received_bytes() == 26);
  settle(door, send);
}

TEST_CASE("device support: what is believed first, and in which words") {
  using weft::transport::detail::opinion_on_device;
  auto const words = [](device_answer option, device_answer mpi, bool expected) {
    auto const found = opinion_on_device(option, mpi);
    CHECK((found.answer == device_answer::yes) == expected);
    return found.reason;
  };
  unsetenv("WEFT_DEVICE_AWARE");
  unsetenv("MPICH_GPU_SUPPORT_ENABLED");
  CHECK(words(device_answer::no, device_answer::yes, false) == "the options say no");
  CHECK(words(device_answer::unknown, device_answer::yes, true) == "the MPI says yes");
  CHECK(words(device_answer::unknown, device_answer::no, false) == "the MPI says no");
  CHECK(words(device_answer::unknown, device_answer::unknown, false) == "the MPI does not say, so it is taken as no");
  setenv("MPICH_GPU_SUPPORT_ENABLED", "0", 1);
  CHECK(words(device_answer::unknown, device_answer::yes, false) == "MPICH_GPU_SUPPORT_ENABLED is 0");
  setenv("WEFT_DEVICE_AWARE", "yes", 1);
  CHECK(words(device_answer::unknown, device_answer::no, true) == "WEFT_DEVICE_AWARE says yes");
  CHECK(words(device_answer::no, device_answer::no, false) == "the options say no");
  setenv("WEFT_DEVICE_AWARE", "perhaps", 1);
  CHECK_THROWS_WITH_AS(opinion_on_device(device_answer::unknown, device_answer::no),
                       "weft::transport::find_device_support: WEFT_DEVICE_AWARE is 'perhaps'; say 1 or 0", weft::error);
  unsetenv("WEFT_DEVICE_AWARE");
  unsetenv("MPICH_GPU_SUPPORT_ENABLED");
}

TEST_CASE("device support: a large message is believed rather than the MPI's word") {
  CHECK(support(3, {}, -1, {false, false, false}) == "device memory: ranks 0 to 2: the MPI says no");
  CHECK(support(1, {0}, -1, {true}) == "device memory: rank 0: the MPI says yes, and a large message came through");
  CHECK(support(3, {0, 2}, -1, {true, false, true}) ==
        "device memory: rank 0: the MPI says yes, and a large message came through; rank 1: the MPI says no; rank 2: "
        "the MPI says yes, and a large message came through");
  CHECK(support(4, {0, 1, 2, 3}, 1, {true, false, false, true}) ==
        "device memory: rank 0: the MPI says yes, and a large message came through; ranks 1 to 2: the MPI says yes, "
        "but a large message came with wrong bytes; rank 3: the MPI says yes, and a large message came through");
  weft::transport::device_support const found{{true, false, true}, {"", "", ""}};
  CHECK(found.between(0, 2));
  CHECK_FALSE(found.between(0, 1));
  CHECK(found.peers_of(2) == std::vector<int>{0, 2});
  CHECK(found.peers_of(1).empty());
}

TEST_CASE("device support: an MPI that answers with an error, at one end, is found, and nobody waits for it") {
  for (bool const sends : {true, false})
    for (bool const at_post : {true, false})
      for (int const ranks : {1, 2, 4}) {
        CAPTURE(sends);
        CAPTURE(at_post);
        CAPTURE(ranks);
        std::vector<std::string> words(static_cast<std::size_t>(ranks));
        in_process::run(ranks, [&](endpoint& world) {
          failing_door fails(world, sends, at_post);
          std::vector<unsigned char> memory(2 * device_test_bytes);
          host_copies copies;
          bool const is_failing = world.rank() == ranks / 2;
          endpoint& door = is_failing ? static_cast<endpoint&>(fails) : world;
          auto const found =
              find_device_support(door, device_answer::yes, device_answer::unknown, copies, memory.data(), 20.0);
          words[static_cast<std::size_t>(world.rank())] = found.text();
        });
        std::string const wrong = "the options say yes, but a large message was refused: MPI_ERR_BUFFER";
        std::string const right = "the options say yes, and a large message came through";
        // Who sent and who received are the two.
        std::string const expected = ranks == 1   ? " rank 0: " + wrong
                                     : ranks == 2 ? " ranks 0 to 1: " + wrong
                                     : sends      ? " ranks 0 to 1: " + right + "; ranks 2 to 3: " + wrong
                                             : " rank 0: " + right + "; ranks 1 to 2: " + wrong + "; rank 3: " + right;
        for (auto const& each : words) CHECK(each == "device memory:" + expected);
      }
}

TEST_CASE("device support: ranks that are threads share the words for a memory fault, and the last takes them back") {
  struct sigaction before = {};
  sigaction(SIGSEGV, nullptr, &before);
  auto const is_as_before = [&] {
    struct sigaction now = {};
    sigaction(SIGSEGV, nullptr, &now);
    return now.sa_handler == before.sa_handler;
  };
  using weft::transport::detail::fault_words;
  auto one = std::make_unique<fault_words>();
  auto other = std::make_unique<fault_words>();
  CHECK_FALSE(is_as_before());
  one.reset();  // not in the order of a stack
  CHECK_FALSE(is_as_before());
  other.reset();
  CHECK(is_as_before());
}

TEST_CASE("device support: an MPI that reads device memory with the host's hands says so before it dies") {
  int ends[2] = {};
  REQUIRE(pipe(ends) == 0);
  pid_t const child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    for (int each : {SIGSEGV, SIGBUS}) signal(each, SIG_DFL);  // the test framework's
    in_process group(1);
    in_process::door door(group, 0);
    weft_test::guarded_copies copies;
    void* const memory = weft_test::guarded_memory::allocate(2 * device_test_bytes);
    static_cast<void>(find_device_support(door, device_answer::yes, device_answer::unknown, copies, memory));
    _exit(0);
  }
  close(ends[1]);
  std::string words;
  char buffer[512];
  for (ssize_t got = 0; (got = read(ends[0], buffer, sizeof buffer)) > 0;)
    words.append(buffer, static_cast<std::size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status));
  CHECK(words.find("weft::transport::find_device_support: this MPI is said to take pointers to device memory, and the "
                   "first large message from there was a memory fault; start with WEFT_DEVICE_AWARE=0") == 0);
}

TEST_CASE("link table: lines between measured points, and the quickest way for each size") {
  link_table table;
  for (auto const& [bytes, seconds] : {std::pair<std::size_t, double>{1000, 10.0}, {2000, 12.0}, {4000, 40.0}})
    table.add(1, 0, {bytes, seconds});
  table.add(1, 1, {1000, 11.0});
  table.add(1, 1, {4000, 20.0});
  CHECK(table.seconds(1, 0, 0) == 10.0);
  CHECK(table.seconds(1, 0, 1500) == doctest::Approx(11.0));
  CHECK(table.seconds(1, 0, 3000) == doctest::Approx(26.0));
  CHECK(table.seconds(1, 0, 5000) == doctest::Approx(54.0));
  CHECK(table.best(1, 2, 1000) == 0);
  CHECK(table.best(1, 2, 4000) == 1);
  CHECK(table.best(1, 2, 2000) == 0);  // 12 and 14
  CHECK(table.best(2, 2, 1000) == -1);
  table.add(4, 0, {1000, 10.4});
  table.add(4, 1, {1000, 10.6});
  table.add(4, 2, {1000, 10.0});
  CHECK(table.best(4, 3, 1000) == 0);  // as good as the quickest, and listed before it
  CHECK(table.best(4, 2, 1000) == 0);
  CHECK_FALSE(table.knows(1, 2));
  table.add(3, 0, {1000, 9.0});
  table.add(3, 0, {2000, 8.0});  // noise
  CHECK(table.seconds(3, 0, 4000) == 8.0);
}

TEST_CASE("link table: every rank can say what was measured and chosen") {
  std::vector<std::string> texts(3);
  in_process::run(3, [&](endpoint& world) {
    link_table table;
    if (world.rank() < 2) {
      int const peer = 1 - world.rank();
      table.add(peer, 0, {4096, 4e-6});
      table.add(peer, 0, {1 << 20, 100e-6});
      table.add(peer, 1, {4096, 3e-6});
      table.add(peer, 1, {1 << 20, 200e-6});
    }
    texts[static_cast<std::size_t>(world.rank())] =
        weft::transport::report_links(world, {{"direct", nullptr}, {"staged", nullptr}}, table);
  });
  CHECK(texts[0] ==
        "links: ranks 0 and 1: 4 KiB direct 4.0, staged 3.0 us; 1 MiB direct 100.0, staged 200.0 us; staged, from 1 "
        "MiB on direct\n");
  CHECK(texts[1] == texts[0]);
  CHECK(texts[2] == texts[0]);
}

namespace {

/// A way whose messages are late by so many microseconds, told by their number.
class late : public weft::transport::relay {
 public:
  late(endpoint& way, int (*delay)(int)) : relay(way), delay_(delay) {}
  [[nodiscard]] request send_parts(weft::transport::outgoing_parts const& parts, int peer, int tag) override {
    std::this_thread::sleep_for(std::chrono::microseconds(delay_(sent++)));
    return relay::send_parts(parts, peer, tag);
  }
  int sent = 0;

 private:
  int (*delay_)(int);
};

}  // namespace

TEST_CASE("link table: a way that others disturb at first is measured until it was quiet, and chosen") {
  std::string chosen[2];
  int sent[2] = {};
  in_process::run(2, [&](endpoint& world) {
    device_aware direct(world, host, {0, 1});
    device_aware other(world, host, {0, 1});
    late slow(direct, [](int) { return 2000; });
    late disturbed(other, [](int number) { return number < 22 ? number % 5 * 4000 : 0; });
    std::vector<weft::transport::way> const ways{{"slow", &slow}, {"disturbed", &disturbed}};
    std::vector<char> body(4096);
    auto const table = weft::transport::measure_links(world, ways, host, body.data(), body.size());
    chosen[world.rank()] = weft::transport::automatic(world, host, ways, table).choice(1 - world.rank(), 4096);
    sent[world.rank()] = disturbed.sent;
  });
  for (int rank = 0; rank < 2; ++rank) {
    CHECK(chosen[rank] == "disturbed");
    CHECK(sent[rank] > 11);  // more than one round
    CHECK(sent[rank] <= 66);
  }
}

TEST_CASE("link table: a pair named twice is measured once; what measures nothing is refused on every rank") {
  std::string said[2][2];
  std::size_t points = 0;
  in_process::run(2, [&](endpoint& world) {
    device_aware direct(world, host, {0, 1});
    std::vector<weft::transport::way> const ways{{"direct", &direct}};
    std::vector<char> body(4096);
    auto const measure = [&](weft::transport::link_measurement const& how) {
      return weft::transport::measure_links(world, ways, host, body.data(), body.size(), how);
    };
    auto const table = measure({.pairs = {{0, 1}, {1, 0}}});
    if (world.rank() == 0) points = table.points(1, 0).size();
    auto& own = said[world.rank()];
    try {
      static_cast<void>(measure({.repetitions = 0}));
    } catch (weft::error const& failure) {
      own[0] = failure.what();
    }
    try {
      static_cast<void>(measure({.pairs = {{1, 1}}}));
    } catch (weft::error const& failure) {
      own[1] = failure.what();
    }
  });
  CHECK(points == 1);
  for (auto const& own : said) {
    CHECK(own[0] == "weft::transport::measure_links: 0 repetitions measure nothing; ask for at least 1");
    CHECK(own[1] == "weft::transport::measure_links: rank 1 has no link to itself; name pairs of two ranks");
  }
}

TEST_CASE("automatic: both ends of every pair choose alike, by what was measured, and messages arrive by it") {
  std::atomic<int> wrong{0};
  std::string names[3][3][2];
  in_process::run(3, [&](endpoint& world) {
    small_staged staged(world, {}, {.peers = world.rank() == 1 ? std::vector<int>{0, 2} : std::vector<int>{1}});
    device_aware direct(world, host, world.rank() == 1 ? std::vector<int>{2} : std::vector<int>{0, 1, 2});
    std::vector<weft::transport::way> const ways{{"staged", &staged}, {"direct", &direct}};
    std::vector<char> body(50000);
    auto const table = weft::transport::measure_links(world, ways, host, body.data(), body.size(), {.repetitions = 3});
    // 0 and 1 can only stage, 0 and 2 only go directly, 1 and 2 have the choice.
    int const next = (world.rank() + 1) % 3;
    for (int const peer : {next, 3 - next - world.rank()}) {
      bool const stages = peer == 1 || world.rank() == 1;
      wrong += table.knows(peer, 0) == stages ? 0 : 1;
      wrong += table.knows(peer, 1) == (peer + world.rank() != 1) ? 0 : 1;
    }
    weft::transport::automatic door(world, host, ways, table);
    wrong += door.moves_parts(next, host) && !door.moves_parts(next, "Guarded") ? 0 : 1;
    std::vector<request> posts;
    std::vector<std::vector<char>> bodies;
    bodies.reserve(16);
    int tag = 0;
    for (std::size_t const most : {std::size_t{100}, std::size_t{40000}}) {
      for (int peer = 0; peer < 3; ++peer) {
        if (peer == world.rank()) continue;
        names[world.rank()][peer][tag] = door.choice(peer, most);
        for (bool const sends : {false, true}) door.prepare_parts(sends, most, peer, tag);
        bodies.emplace_back(most / 2, static_cast<char>(65 + world.rank()));
        posts.push_back(door.send_parts({nullptr, 0, bodies.back().data(), most / 2}, peer, tag));
        bodies.emplace_back(most, '?');
        posts.push_back(door.receive_parts({nullptr, 0, bodies.back().data(), most}, peer, tag));
      }
      ++tag;
    }
    for (std::size_t left = posts.size(); left-- > 0;) {
      bool const is_receive = !posts[left].is_send;
      settle(door, posts[left]);
      if (!is_receive) continue;
      auto const& body_of = bodies[left];
      wrong += door.received_bytes() == body_of.size() / 2 ? 0 : 1;
      wrong += body_of[0] != '?' && body_of[0] != static_cast<char>(65 + world.rank()) &&
                       body_of[body_of.size() / 2 - 1] == body_of[0] && body_of[body_of.size() / 2] == '?'
                   ? 0
                   : 1;
    }
    try {
      static_cast<void>(door.send_parts({nullptr, 0, body.data(), 1}, next, 9));
      ++wrong;
    } catch (weft::error const& failure) {
      wrong += std::string(failure.what()).find("call prepare_parts first, at both ends") != std::string::npos ? 0 : 1;
    }
  });
  CHECK(wrong == 0);
  for (int one = 0; one < 3; ++one)
    for (int other = 0; other < one; ++other)
      for (int tag = 0; tag < 2; ++tag) CHECK(names[one][other][tag] == names[other][one][tag]);
  CHECK(names[0][1][0] == "staged");
  CHECK(names[0][2][1] == "direct");
}

TEST_CASE("automatic: a pipeline has the bits of the plain one, by whichever way its messages go") {
  constexpr int ranks = 3;
  auto const lowered = weft::schedule::lower(weft::schedule::write_table<weft::schedule::one_f_one_b>(ranks, 4).view(),
                                             {.tied = weft::schedule::tied_stages::none, .optimizer = false});
  auto const train = [&](int small_way) {  // -1: no door in between
    std::vector<toy::stage> stages;
    for (int rank = 0; rank < ranks; ++rank) stages.emplace_back(ranks, 4);
    in_process::run(ranks, [&](endpoint& world) {
      small_staged staged(world);
      device_aware direct(world, host);
      link_table table;  // activations take 72 bytes, gradients 40: each kind goes by another way
      for (int peer = 0; peer < ranks; ++peer)
        for (int each = 0; each < 2; ++each) {
          table.add(peer, each, {40, each == small_way ? 1.0 : 2.0});
          table.add(peer, each, {72, each == small_way ? 2.0 : 1.0});
        }
      weft::transport::automatic chooses(world, host, {{"staged", &staged}, {"direct", &direct}}, table);
      endpoint& door = small_way < 0 ? world : chooses;
      if (small_way >= 0) CHECK(chooses.choice(0, 40) == (small_way == 0 ? "staged" : "direct"));
      if (small_way >= 0) CHECK(chooses.choice(0, 72) == (small_way == 0 ? "direct" : "staged"));
      weft::pipeline<toy::stage, toy::space> engine(lowered.view(), door,
                                                    stages[static_cast<std::size_t>(world.rank())]);
      for (int step = 0; step < 3; ++step) engine.step();
    });
    std::vector<double> all;
    for (auto const& each : stages) all.insert(all.end(), each.weight_gradient.begin(), each.weight_gradient.end());
    all.insert(all.end(), stages.back().losses.begin(), stages.back().losses.end());
    return all;
  };
  auto const plain = train(-1);
  CHECK(plain.back() > 0.0);
  CHECK(train(0) == plain);
  CHECK(train(1) == plain);
}
