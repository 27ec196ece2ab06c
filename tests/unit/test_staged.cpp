// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/guarded_memory.hpp"
#include "support/settle.hpp"
#include "toy_stage.hpp"

#include <weft/pipeline/pipeline.hpp>
#include <weft/schedule/gpipe.hpp>
#include <weft/schedule/lower.hpp>
#include <weft/schedule/one_f_one_b.hpp>
#include <weft/schedule/serial.hpp>
#include <weft/schedule/write_table.hpp>
#include <weft/schedule/zero_bubble_h1.hpp>
#include <weft/transport/in_process.hpp>
#include <weft/transport/run_collective.hpp>
#include <weft/transport/staged.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace {

using weft::transport::endpoint;
using weft::transport::in_process;
using weft::transport::request;
using weft_test::guarded_copies;
using weft_test::guarded_memory;

constexpr std::size_t chunk = 1024;
template <class Copies = guarded_copies>
using small_staged = weft::transport::staged<chunk, Copies>;

constexpr unsigned char pattern(std::size_t index, std::size_t message) {
  return static_cast<unsigned char>((index * 2654435761U >> 11U) + 37U * message);
}

/// A body on the "device", that is written and read as a kernel would.
class guarded_body {
 public:
  explicit guarded_body(std::size_t bytes) : bytes_(bytes), data_(guarded_memory::allocate(bytes)) { fill(0xEE); }
  guarded_body(guarded_body const&) = delete;
  guarded_body& operator=(guarded_body const&) = delete;
  ~guarded_body() { guarded_memory::free(data_); }

  [[nodiscard]] void* data() const { return data_; }
  void fill(unsigned char value) {
    guarded_memory::opened const kernel(data_);
    std::memset(data_, value, bytes_);
  }
  void write(std::size_t message) {
    guarded_memory::opened const kernel(data_);
    for (std::size_t index = 0; index < bytes_; ++index) bytes()[index] = pattern(index, message);
  }
  /// The first `count` bytes are the message's, the others are as they were.
  [[nodiscard]] bool holds(std::size_t message, std::size_t count) const {
    guarded_memory::opened const kernel(data_);
    for (std::size_t index = 0; index < bytes_; ++index)
      if (bytes()[index] != (index < count ? pattern(index, message) : 0xEE)) return false;
    return true;
  }

 private:
  [[nodiscard]] unsigned char* bytes() const { return static_cast<unsigned char*>(data_); }
  std::size_t bytes_;
  void* data_;
};

template <class Policy>
weft::schedule::program make(int ranks, int micro_batches) {
  return weft::schedule::lower(weft::schedule::write_table<Policy>(ranks, micro_batches).view(),
                               {.tied = weft::schedule::tied_stages::none, .optimizer = false});
}

}  // namespace

TEST_CASE("staged: bodies of every size, both directions at once, on one to three channels") {
  for (int const channels : {1, 2, 3})
    for (std::size_t const head : {std::size_t{0}, std::size_t{5}, std::size_t{128}, std::size_t{960}}) {
      std::vector<std::size_t> const sizes{
          0, 1, 7, chunk - 1, chunk, chunk + 1, 2 * chunk - 1, 2 * chunk, 2 * chunk + 1, 9 * chunk + 5, 64 * chunk};
      std::atomic<int> wrong{0};
      std::vector<std::unique_ptr<in_process>> more;
      for (int each = 1; each < channels; ++each) more.push_back(std::make_unique<in_process>(2));
      std::vector<std::unique_ptr<in_process::door>> doors;  // outlive the threads, as those of `run` do
      for (int rank = 0; rank < 2; ++rank)
        for (auto& group : more) doors.push_back(std::make_unique<in_process::door>(*group, rank));
      in_process::run(2, [&](endpoint& world) {
        weft::transport::staged_options options;
        for (int each = 1; each < channels; ++each)
          options.channels.push_back(doors[static_cast<std::size_t>(world.rank() * (channels - 1) + each - 1)].get());
        small_staged<> door(world, {}, options);
        int const peer = 1 - world.rank();
        door.prepare_parts(true, 64 * chunk, peer, 3);
        door.prepare_parts(false, 64 * chunk, peer, 3);
        std::size_t const held = door.buffer_bytes();
        for (std::size_t const bytes : sizes) {
          guarded_body sent(bytes);
          guarded_body received(bytes + 10);
          sent.write(bytes + static_cast<std::size_t>(world.rank()));
          std::vector<char> head_sent(head, static_cast<char>(65 + world.rank()));
          std::vector<char> head_received(head, '?');
          request send = door.send_parts({head_sent.data(), head, sent.data(), bytes}, peer, 3);
          request receive = door.receive_parts({head_received.data(), head, received.data(), bytes + 10}, peer, 3);
          settle(door, receive);
          wrong += door.received_bytes() == head + bytes ? 0 : 1;
          settle(door, send);
          wrong += received.holds(bytes + static_cast<std::size_t>(peer), bytes) ? 0 : 1;
          wrong += head_received == std::vector<char>(head, static_cast<char>(65 + peer)) ? 0 : 1;
        }
        wrong +=
            door.buffer_bytes() == held && held == 2 * 2 * static_cast<std::size_t>(channels) * (chunk + 1024) ? 0 : 1;
      });
      CAPTURE(channels);
      CAPTURE(head);
      CHECK(wrong == 0);
    }
}

TEST_CASE("staged: many messages of several tags under way keep the order of each, whatever is asked for first") {
  std::atomic<int> wrong{0};
  in_process::run(3, [&](endpoint& world) {
    small_staged<> door(world);
    constexpr std::size_t count = 6;
    auto const size_of = [](std::size_t index) { return index % 3 == 0 ? index : 1000 * index; };
    std::vector<std::unique_ptr<guarded_body>> bodies;
    std::vector<request> posts;
    std::vector<std::size_t> kinds;  // of receives: the message; of sends: 0
    for (int tag = 0; tag < 2; ++tag)
      for (std::size_t index = 0; index < count; ++index)
        for (int peer = 0; peer < 3; ++peer) {
          if (peer == world.rank()) continue;
          auto const message = [&](int source) { return 100 * static_cast<std::size_t>(10 * source + tag) + index; };
          bodies.push_back(std::make_unique<guarded_body>(size_of(index)));
          bodies.back()->write(message(world.rank()));
          posts.push_back(door.send_parts({nullptr, 0, bodies.back()->data(), size_of(index)}, peer, tag));
          kinds.push_back(0);
          bodies.push_back(std::make_unique<guarded_body>(8000));
          posts.push_back(door.receive_parts({nullptr, 0, bodies.back()->data(), 8000}, peer, tag));
          kinds.push_back(message(peer) + 1);
        }
    for (std::size_t left = posts.size(); left-- > 0;) {  // the last ones first
      settle(door, posts[left]);
      if (kinds[left] == 0) continue;
      std::size_t const message = kinds[left] - 1;
      wrong += door.received_bytes() == size_of(message % 100) ? 0 : 1;
      wrong += bodies[left]->holds(message, size_of(message % 100)) ? 0 : 1;
    }
    // What is not in parts goes past it.
    double total = 1.0;
    weft::transport::all_reduce_sum(door, &total, 1);
    wrong += total == 3.0 ? 0 : 1;
  });
  CHECK(wrong == 0);
}

TEST_CASE("staged: a peer that fails amid a message ends the wait, and nothing stays posted") {
  in_process group(2);
  std::vector<std::unique_ptr<in_process::door>> doors;
  for (int rank = 0; rank < 2; ++rank) doors.push_back(std::make_unique<in_process::door>(group, rank));
  std::string heard[2];
  {
    guarded_body source(100 * chunk);
    guarded_body target(100 * chunk);
    auto const play = [&](int rank) {
      endpoint& world = *doors[static_cast<std::size_t>(rank)];
      small_staged<> door(world);
      request posted = rank == 0 ? door.send_parts({nullptr, 0, source.data(), 100 * chunk}, 1, 5)
                                 : door.receive_parts({nullptr, 0, target.data(), 100 * chunk}, 0, 5);
      try {
        if (rank == 1) {
          for (int turn = 0; turn < 20; ++turn) static_cast<void>(door.test(posted));
          door.announce_failure("rank 1 was pulled");
        } else {
          settle(door, posted, 20.0);
        }
      } catch (weft::error const& failure) {
        heard[rank] = failure.what();
      }
      CHECK(door.abandon(posted));
      if (rank == 1)
        CHECK_THROWS_WITH_AS(static_cast<void>(door.receive_parts({nullptr, 0, target.data(), 1}, 0, 5)),
                             "weft::transport::staged: rank 1 from rank 0, tag 5: an earlier message was given up",
                             weft::error);
    };
    std::thread other([&] { play(1); });
    play(0);
    other.join();
  }
  CHECK(heard[0] == "rank 1 was pulled");
  CHECK(heard[1].empty());
  CHECK(group.outstanding() == 0);
}

TEST_CASE("staged: ends that do not stage alike, or do not agree on a message, are told so") {
  auto const told = [](auto&& first, auto&& second) {
    std::string words;
    try {
      in_process::run(2, [&](endpoint& world) {
        if (world.rank() == 0)
          first(world);
        else
          second(world);
      });
    } catch (weft::error const& failure) {
      words = failure.what();
    }
    return words;
  };
  std::vector<char> body(4000);
  auto const send = [&](endpoint& world) {
    small_staged<weft::transport::host_copies> door(world);
    request posted = door.send_parts({nullptr, 0, body.data(), 2000}, 1, 0);
    settle(door, posted);
  };
  auto const receive_by = [&](auto bytes_of_chunk, std::size_t room, std::size_t head) {
    return [&, room, head](endpoint& world) {
      weft::transport::staged<decltype(bytes_of_chunk)::value, weft::transport::host_copies> door(world);
      std::vector<char> into(room);
      std::vector<char> start(head);
      request posted = door.receive_parts({start.data(), head, into.data(), room}, 0, 0);
      settle(door, posted);
    };
  };
  std::integral_constant<std::size_t, chunk> const same;
  std::integral_constant<std::size_t, 4 * chunk> const larger;
  CHECK(told(send, receive_by(larger, 2000, 0))
            .find("it stages by 1024 bytes on 1 channels, and this rank by 4096 on 1") != std::string::npos);
  CHECK(told(send, receive_by(same, 1999, 0)).find("0 and 2000 bytes came where 0 and at most 1999 are right") !=
        std::string::npos);
  CHECK(told(send, receive_by(same, 2000, 16)).find("0 and 2000 bytes came where 16 and at most 2000 are right") !=
        std::string::npos);
  auto const prepared = [&](bool sends, std::size_t most) {
    return [&, sends, most](endpoint& world) {
      small_staged<weft::transport::host_copies> door(world);
      std::vector<char> into(5000);
      door.prepare_parts(sends, most, 1 - world.rank(), 0);
      request posted = sends ? door.send_parts({nullptr, 0, body.data(), 500}, 1, 0)
                             : door.receive_parts({nullptr, 0, into.data(), 5000}, 0, 0);
      settle(door, posted);
    };
  };
  CHECK(told(prepared(true, 4000), prepared(false, 4000)).empty());
  CHECK(told(prepared(true, 4000), receive_by(same, 4000, 0)).empty());
  CHECK(told(prepared(true, 500), prepared(false, 4000))
            .find("a message of 1 chunks came where 4 were announced; both "
                  "ends must call prepare_parts with the same size") != std::string::npos);
  auto const send_plainly = [&](endpoint& world) {
    request posted = world.send(body.data(), 200, 1, 0);
    settle(world, posted);
  };
  CHECK(
      told(send_plainly, receive_by(same, 2000, 0)).find("a message came that was not staged; both ends must stage") !=
      std::string::npos);
}

TEST_CASE("staged: what cannot be is refused where it is made") {
  in_process::run(1, [](endpoint& world) {
    weft::transport::staged_options options;
    options.buffers_per_channel = 0;
    CHECK_THROWS_WITH_AS(small_staged<>(world, {}, options),
                         "weft::transport::staged: rank 0: 0 buffers per channel; give 2 or more", weft::error);
    options = {};
    options.chunk_bytes = 1000;
    CHECK_THROWS_WITH_AS(
        small_staged<>(world, {}, options),
        "weft::transport::staged: rank 0: chunks of 1000 bytes; give 1,024 or more, and a multiple of 64", weft::error);
    options.chunk_bytes = 4096;
    small_staged<> larger(world, {}, options);
    larger.prepare_parts(true, 1, 0, 0);
    CHECK(larger.buffer_bytes() == 2 * (4096 + 1024));
    CHECK_THROWS_WITH_AS(small_staged<>(world, {}, {.peers = {4}}),
                         "weft::transport::staged: rank 0: there is no rank 4; check the peers", weft::error);
    in_process two(2);
    in_process::door other(two, 1);
    CHECK_THROWS_WITH_AS(small_staged<>(world, {}, {.channels = {&other}}),
                         "weft::transport::staged: rank 0: a channel is a door of rank 1 of 2; make channels among the "
                         "same ranks",
                         weft::error);
    small_staged<> door(world);
    CHECK(door.moves_parts(0, "Guarded"));
    CHECK_FALSE(door.moves_parts(0, "Host"));
    char byte = 0;
    CHECK_THROWS_WITH_AS(static_cast<void>(door.send_parts({&byte, 1, nullptr, 0}, 1, 0)),
                         "weft::transport::staged: rank 0: there is no rank 1; check the placement", weft::error);
    CHECK_THROWS_WITH_AS(static_cast<void>(world.send_parts({&byte, 1, nullptr, 0}, 0, 0)),
                         "weft::transport: this transport moves no messages in parts; ask moves_parts first",
                         weft::error);
    CHECK_THROWS_WITH_AS(static_cast<void>(door.send_parts({&byte, 2000, nullptr, 0}, 0, 0)),
                         "weft::transport::staged: rank 0 to rank 0, tag 0: a head of 2000 bytes came where 960 are "
                         "the most; put the rest into the body",
                         weft::error);
  });
}

namespace {

struct gradients {
  std::vector<double> weight, bias, losses;
  friend bool operator==(gradients const&, gradients const&) = default;
};

/// Steps of a pipeline whose messages between `staged_ranks` and their neighbours are staged by chunks of 1 KiB.
gradients train(weft::schedule::program const& lowered, std::vector<std::vector<int>> const& staged_peers) {
  auto const view = lowered.view();
  std::vector<toy::stage> stages;
  for (int rank = 0; rank < view.ranks(); ++rank) {
    stages.emplace_back(view.stages(), view.micro_batches);
    stages.back().width = 301;  // 2,408 bytes of activations: three chunks
  }
  in_process::run(view.ranks(), [&](endpoint& world) {
    auto const& peers = staged_peers[static_cast<std::size_t>(world.rank())];
    small_staged<weft::transport::host_copies> staged(world, {}, {.peers = peers});
    endpoint& door = peers.empty() ? world : staged;
    weft::pipeline<toy::stage, toy::space> engine(view, door, stages[static_cast<std::size_t>(world.rank())]);
    std::size_t const held = staged.buffer_bytes();
    for (int step = 0; step < 3; ++step) engine.step();
    CHECK(staged.buffer_bytes() == held);
    CHECK((held > 0) == !peers.empty());
  });
  gradients total;
  total.weight.assign(static_cast<std::size_t>(stages[0].layers), 0.0);
  total.bias = total.weight;
  for (int stage = 0; stage < view.stages(); ++stage) {
    auto const& owner = stages[static_cast<std::size_t>(view.graph.rank_of(stage))];
    auto const range = owner.ranges[static_cast<std::size_t>(stage)];
    for (auto layer = static_cast<std::size_t>(range.first); layer < static_cast<std::size_t>(range.last); ++layer) {
      total.weight[layer] = owner.weight_gradient[layer];
      total.bias[layer] = owner.bias_gradient[layer];
    }
    if (stage == view.stages() - 1) total.losses = owner.losses;
  }
  return total;
}

}  // namespace

TEST_CASE("staged: a pipeline over staged edges, or over one staged and one direct edge, has the direct bits") {
  std::vector<std::vector<int>> const direct(4);
  auto const serial = train(make<weft::schedule::serial>(1, 5), direct);
  CHECK(serial.losses[0] > 0.0);
  std::vector<std::vector<int>> const all{{1}, {0, 2}, {1, 3}, {2}};
  std::vector<std::vector<int>> const first_edge{{1}, {0}, {}, {}};
  std::vector<std::vector<int>> const second_edge{{}, {2}, {1}, {}};
  for (auto const& peers : {direct, all, first_edge, second_edge}) {
    CHECK(train(make<weft::schedule::gpipe>(4, 5), peers) == serial);
    CHECK(train(make<weft::schedule::one_f_one_b>(4, 5), peers) == serial);
    CHECK(train(make<weft::schedule::zero_bubble_h1>(4, 5), peers) == serial);
  }
}
