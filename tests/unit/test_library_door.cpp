// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "support/guarded_memory.hpp"
#include "support/host_library.hpp"
#include "support/settle.hpp"
#include "support/small_program.hpp"
#include "toy_stage.hpp"

#include <weft/pipeline/pipeline.hpp>
#include <weft/schedule/forward_program.hpp>
#include <weft/schedule/gpipe.hpp>
#include <weft/schedule/interleaved_1f1b.hpp>
#include <weft/schedule/lower.hpp>
#include <weft/schedule/one_f_one_b.hpp>
#include <weft/schedule/passes/post_validate.hpp>
#include <weft/schedule/serial.hpp>
#include <weft/schedule/write_table.hpp>
#include <weft/schedule/zero_bubble_h1.hpp>
#include <weft/schedule/zero_bubble_v.hpp>
#include <weft/transport/automatic.hpp>
#include <weft/transport/device_aware.hpp>
#include <weft/transport/in_process.hpp>
#include <weft/transport/library_door.hpp>
#include <weft/transport/no_library.hpp>
#include <weft/transport/staged.hpp>
#include <weft/transport/subgroup.hpp>

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace {

using weft::transport::endpoint;
using weft::transport::in_process;
using weft::transport::request;
using weft_test::guarded_memory;
using weft_test::small_program;

using guarded_library = weft_test::host_library<true>;
using guarded_door = weft::transport::library_door<guarded_library>;
using plain_library = weft_test::host_library<false>;
using plain_door = weft::transport::library_door<plain_library>;
namespace schedule = weft::schedule;

template <class Policy>
schedule::program made(int ranks, int micro_batches, schedule::receive_time receives) {
  return schedule::lower(schedule::write_table<Policy>(ranks, micro_batches).view(),
                         {.tied = schedule::tied_stages::none, .optimizer = false, .receives = receives});
}

/// What each rank does with a door of its own; the words of the failure that ended it, and what the library counted.
template <class Function>
std::string play(int ranks, Function&& function, std::vector<guarded_library::counts>* told = nullptr,
                 weft::transport::chosen_ranks const& members = weft::transport::chosen_ranks::all()) {
  auto const program = small_program();
  std::vector<guarded_library::counts> counted(static_cast<std::size_t>(ranks));
  std::string words;
  try {
    in_process::run(ranks, [&](endpoint& world) {
      guarded_door door(world, program.view(), guarded_library(&counted[static_cast<std::size_t>(world.rank())]),
                        {.members = members, .deadline = 20.0});
      function(door);
    });
  } catch (weft::error const& failure) {
    words = failure.what();
  }
  if (told != nullptr) *told = counted;
  return words;
}

class guarded_bytes {
 public:
  explicit guarded_bytes(std::size_t bytes, char value = '?') : data_(guarded_memory::allocate(bytes)), bytes_(bytes) {
    guarded_memory::opened const kernel(data_);
    std::memset(data_, value, bytes);
  }
  guarded_bytes(guarded_bytes const&) = delete;
  guarded_bytes& operator=(guarded_bytes const&) = delete;
  ~guarded_bytes() { guarded_memory::free(data_); }
  [[nodiscard]] void* data() const { return data_; }
  [[nodiscard]] bool begins_with(char value, std::size_t count) const {
    guarded_memory::opened const kernel(data_);
    for (std::size_t index = 0; index < count && index < bytes_; ++index)
      if (static_cast<char const*>(data_)[index] != value) return false;
    return true;
  }

 private:
  void* data_;
  std::size_t bytes_;
};

}  // namespace

TEST_CASE("library door: bodies of every length up to what was announced, both ways at once, and alone") {
  std::vector<guarded_library::counts> told;
  std::atomic<int> wrong{0};
  auto const words = play(
      2,
      [&](guarded_door& door) {
        int const peer = 1 - door.rank();
        constexpr std::size_t most = 5000;
        for (int const tag : {3, 4})
          for (bool const sends : {false, true}) door.prepare_parts(sends, most, peer, tag);
        wrong += door.moves_parts(peer, "Guarded") && !door.moves_parts(peer, "Host") ? 0 : 1;
        wrong += door.carries(peer, "Guarded") == weft::transport::carrier::library ? 0 : 1;
        guarded_bytes out(most, static_cast<char>('a' + door.rank()));
        for (std::size_t const bytes : {std::size_t{0}, std::size_t{1}, std::size_t{4999}, most})
          for (std::size_t const head : {std::size_t{0}, std::size_t{128}, std::size_t{1016}}) {
            std::vector<char> first(head, static_cast<char>('A' + door.rank()));
            std::vector<char> got(head);
            guarded_bytes in(most);
            guarded_bytes in_too(most);
            door.begin_posts();
            request send = door.send_parts({first.data(), head, out.data(), bytes, most}, peer, 3);
            request send_too = door.send_parts({first.data(), head, out.data(), most}, peer, 4);
            request receive = door.receive_parts({got.data(), head, in.data(), most}, peer, 3);
            request receive_too = door.receive_parts({got.data(), head, in_too.data(), most}, peer, 4);
            door.end_posts();
            settle(door, receive_too);
            wrong += door.received_bytes() == head + most ? 0 : 1;
            settle(door, receive);
            wrong += door.received_bytes() == head + bytes ? 0 : 1;
            settle(door, send);
            settle(door, send_too);
            wrong += in.begins_with(static_cast<char>('a' + peer), bytes) ? 0 : 1;
            wrong += in_too.begins_with(static_cast<char>('a' + peer), most) ? 0 : 1;
            wrong += got == std::vector<char>(head, static_cast<char>('A' + peer)) ? 0 : 1;
          }
        wrong += door.groups() == 12 ? 0 : 1;
        // Each post a group of its own: one sends while the other receives.
        guarded_bytes in(most);
        for (int turn = 0; turn < 2; ++turn) {
          bool const sends = turn == door.rank();
          request posted = sends ? door.send_parts({nullptr, 0, out.data(), 7, most}, peer, 3)
                                 : door.receive_parts({nullptr, 0, in.data(), most}, peer, 3);
          settle(door, posted);
        }
        wrong += in.begins_with(static_cast<char>('a' + peer), 7) ? 0 : 1;
        double sum = 1.0;  // what is not in parts goes past it
        weft::transport::all_reduce_sum(door, &sum, 1);
        wrong += sum == 2.0 ? 0 : 1;
      },
      &told);
  CHECK(words.empty());
  CHECK(wrong == 0);
  for (auto const& each : told) {
    CHECK(each.left == 0);
    CHECK(each.aborts == 0);
  }
}

TEST_CASE("library door: boundaries of two sizes share a tag, and each post moves its own size") {
  std::atomic<int> wrong{0};
  auto const words = play(2, [&](guarded_door& door) {
    int const peer = 1 - door.rank();
    constexpr std::size_t large = 40000;
    constexpr std::size_t small = 100;
    for (std::size_t const most : {large, small})  // two pipelines; behind the smaller one's memory is nothing
      for (bool const sends : {false, true}) door.prepare_parts(sends, most, peer, 3);
    for (std::size_t const most : {small, large, small}) {
      guarded_bytes out(most, static_cast<char>('a' + door.rank()));
      guarded_bytes in(most);
      door.begin_posts();
      request send = door.send_parts({nullptr, 0, out.data(), 50, most}, peer, 3);
      request receive = door.receive_parts({nullptr, 0, in.data(), most}, peer, 3);
      door.end_posts();
      settle(door, receive);
      wrong += door.received_bytes() == 50 ? 0 : 1;
      settle(door, send);
      wrong += in.begins_with(static_cast<char>('a' + peer), 50) ? 0 : 1;
    }
  });
  CHECK(words.empty());
  CHECK(wrong == 0);
}

TEST_CASE("library door: what stands still in one queue per rank is found, and a group lets it go") {
  auto const both = [](guarded_door& door, bool is_group) {
    int const peer = 1 - door.rank();
    guarded_bytes out(10);
    guarded_bytes in(10);
    if (is_group) door.begin_posts();
    request send = door.send_parts({nullptr, 0, out.data(), 10}, peer, 1);
    request receive = door.receive_parts({nullptr, 0, in.data(), 10}, peer, 1);
    if (is_group) door.end_posts();
    try {
      settle(door, receive);
      settle(door, send);
    } catch (...) {  // as whoever posts does it
      static_cast<void>(door.abandon(send));
      static_cast<void>(door.abandon(receive));
      throw;
    }
  };
  CHECK(play(2, [&](guarded_door& door) { both(door, true); }).empty());
  std::vector<guarded_library::counts> told;
  auto const words = play(
      2, [&](guarded_door& door) { both(door, false); }, &told);
  CHECK(words.find("waits in a circle for what stands behind another rank's group") != std::string::npos);
  for (auto const& each : told) {
    CHECK(each.aborts == 1);
    CHECK(each.left == 0);
  }
}

TEST_CASE("library door: ends that disagree, late errors and failing ranks end all waits") {
  auto const one_message = [](guarded_door& door, std::size_t sent, std::size_t room) {
    int const peer = 1 - door.rank();
    guarded_bytes body(100);
    request posted = door.rank() == 0 ? door.send_parts({nullptr, 0, body.data(), sent}, peer, 1)
                                      : door.receive_parts({nullptr, 0, body.data(), room}, peer, 1);
    try {
      settle(door, posted);
    } catch (...) {
      static_cast<void>(door.abandon(posted));
      throw;
    }
  };
  CHECK(play(2, [&](guarded_door& door) {
          one_message(door, 10, 20);
        }).find("rank 0 sends 10 bytes where rank 1 receives 20") != std::string::npos);
  CHECK(play(2,
             [&](guarded_door& door) {
               door.prepare_parts(door.rank() == 0, 5, 1 - door.rank(), 1);
               one_message(door, 10, 5);
             })
            .find("host_library: rank 0 and rank 1: a body of 10 bytes was posted where 5 were announced") !=
        std::string::npos);
  std::vector<guarded_library::counts> told;
  auto const late = play(
      2,
      [&](guarded_door& door) {
        // Rank 0 waits for a body, rank 1 for something else.
        guarded_bytes body(10);
        char other = 0;
        request posted =
            door.rank() == 0 ? door.receive_parts({nullptr, 0, body.data(), 10}, 1, 1) : door.receive(&other, 1, 0, 9);
        if (door.rank() == 0) weft_test::host_ranks::find(weft_test::host_ranks::make() - 1)->break_down("no route");
        try {
          settle(door, posted);
        } catch (...) {
          static_cast<void>(door.abandon(posted));
          throw;
        }
      },
      &told);
  CHECK(late.find("host library: no route") != std::string::npos);
  CHECK(told[0].aborts == 1);
  CHECK(told[1].aborts == 1);
  auto const failed = play(
      2,
      [&](guarded_door& door) {
        if (door.rank() == 1) throw weft::error("rank 1 was pulled");
        one_message(door, 10, 10);
      },
      &told);
  CHECK(failed == "rank 1 was pulled");
  CHECK(told[0].aborts == 1);
}

TEST_CASE("library door: what it cannot do is refused where it is made") {
  auto const early = made<schedule::one_f_one_b>(3, 4, schedule::receive_time::early);
  std::string words;
  try {
    in_process::run(3, [&](endpoint& world) { guarded_door door(world, early.view(), guarded_library()); });
  } catch (weft::agreed_error const& failure) {
    words = failure.what();
  }
  CHECK(words.find("cannot run over a library that has one queue of messages per rank") != std::string::npos);
  CHECK(words.find("lower it with receive_time::at_use") != std::string::npos);

  auto const program = small_program();
  auto const refused = [&](auto&& build) {
    std::string told;
    try {
      in_process::run(2, build);
    } catch (weft::error const& failure) {
      told = failure.what();
    }
    return told;
  };
  std::string const beside = "must not be in flight";
  CHECK(refused([&](endpoint& world) {
          weft::transport::device_aware direct(world, "Guarded");
          guarded_door door(direct, program.view(), guarded_library());
        }).find(beside) != std::string::npos);
  CHECK(refused([&](endpoint& world) {
          guarded_door door(world, program.view(), guarded_library());
          weft::transport::device_aware direct(door, "Guarded");
        }).find(beside) != std::string::npos);
  CHECK(refused([&](endpoint& world) {
          guarded_door door(world, program.view(), guarded_library());
          weft::transport::device_aware direct(world, "Guarded");
          weft::transport::automatic chooses(world, "Guarded", {{"library", &door}, {"direct", &direct}}, {});
        }).find(beside) != std::string::npos);
  CHECK(refused([&](endpoint& world) {
          weft::transport::device_aware direct(world, "Host");  // host memory is MPI's own trade
          guarded_door door(direct, program.view(), guarded_library());
        }).empty());
  std::atomic<int> wrong{0};
  CHECK(play(2, [&](guarded_door& door) { wrong += door.moves_parts(1 - door.rank(), "Guarded") ? 1 : 0; }, nullptr, {})
            .empty());  // no member at all
  CHECK(wrong == 0);
  CHECK(play(2, [](guarded_door&) {}, nullptr, {0, 5}).find("one of its ranks does not exist") != std::string::npos);
}

namespace {

/// Groups that are open, and posts until one fails.
struct group_watch {
  int open = 0;
  int posts_left = -1;
  int open_at_abort = -1;
};

/// Its posts may fail in the midst of a group, and its start on a rank.
class failing_library : public weft_test::host_library<true> {
 public:
  failing_library(group_watch* watch, int failing_start) : watch_(watch), failing_start_(failing_start) {}

  void connect(identity id, int rank, int size) {
    if (rank == failing_start_) throw weft::error("the library has no memory left");
    host_library::connect(id, rank, size);
  }
  void begin_group() {
    host_library::begin_group();
    ++watch_->open;
  }
  void send(void const* data, std::size_t bytes, int peer) {
    if (watch_->posts_left-- == 0) throw weft::error("the library was given a wrong pointer");
    host_library::send(data, bytes, peer);
  }
  void end_group() {
    host_library::end_group();
    --watch_->open;
  }
  [[nodiscard]] failing_library another() const { return {watch_, failing_start_}; }
  void abort() {
    watch_->open_at_abort = watch_->open;
    host_library::abort();
  }

 private:
  group_watch* watch_;
  int failing_start_;
};
using failing_door = weft::transport::library_door<failing_library>;

}  // namespace

TEST_CASE("library door: a group in which a post fails is ended before anything else") {
  auto const program = small_program();
  group_watch watches[2];
  watches[0].posts_left = 1;
  std::string words;
  try {
    in_process::run(2, [&](endpoint& world) {
      failing_door door(world, program.view(), failing_library(&watches[world.rank()], -1), {.deadline = 20.0});
      guarded_bytes body(10);
      std::vector<request> posts;
      try {
        door.begin_posts();
        for (int const tag : {1, 2})
          posts.push_back(world.rank() == 0 ? door.send_parts({nullptr, 0, body.data(), 10}, 1, tag)
                                            : door.receive_parts({nullptr, 0, body.data(), 10}, 0, tag));
        door.end_posts();
        for (auto& each : posts) settle(door, each);
      } catch (...) {
        for (auto& each : posts) static_cast<void>(door.abandon(each));
        throw;
      }
    });
  } catch (weft::error const& failure) {
    words = failure.what();
  }
  CHECK(words == "the library was given a wrong pointer");
  CHECK(watches[0].open == 0);
  CHECK(watches[0].open_at_abort == 0);
}

TEST_CASE("library door: where its start fails on one rank, the others hear why at once") {
  auto const program = small_program();
  group_watch watches[3];
  std::string told[3];
  in_process::run(3, [&](endpoint& world) {
    try {
      failing_door door(world, program.view(), failing_library(&watches[world.rank()], 1), {.deadline = 20.0});
    } catch (weft::error const& failure) {
      told[world.rank()] = failure.what();
    }
  });
  for (auto const& each : told) CHECK(each == "the library has no memory left");
}

TEST_CASE("library door: ranks that name other members, or have no library and say they do, are told so") {
  auto const with = [](auto make) {
    std::string words;
    try {
      in_process::run(3, [&](endpoint& world) { make(world); });
    } catch (weft::error const& failure) {
      words = failure.what();
    }
    return words;
  };
  auto const program = small_program();
  for (weft::transport::chosen_ranks const& by_first : {weft::transport::chosen_ranks{}, {0, 1}}) {
    auto const said = with([&](endpoint& world) {
      guarded_door door(
          world, program.view(), guarded_library(),
          {.members = world.rank() == 0 ? by_first : weft::transport::chosen_ranks{0, 1, 2}, .deadline = 20.0});
    });
    CAPTURE(said);
    CHECK(said.find("the one names ranks 0, 1") != std::string::npos);
    CHECK(said.find(" as members, and the other one does not; name the same ranks on all of them") !=
          std::string::npos);
  }
  CHECK(with([&](endpoint& world) {
          weft::transport::library_door<weft::transport::no_library> door(world, program.view(), {}, {});
        }) ==
        "weft::transport::no_library: this rank has no vendor's library and is a member of a library's door; "
        "leave it out of library_options::members, on every rank (on rank 0)");
  CHECK(with([&](endpoint& world) {
          weft::transport::library_door<weft::transport::no_library> door(world, program.view(), {}, {.members = {}});
          if (door.moves_parts(0, "Host") || door.moves_parts(0, "") || !door.keeps_issue_order())
            throw weft::error("it moves something");
        }) == "");
}

TEST_CASE("library door: with its members it moves the library's memory alone, whatever the inner door moves") {
  auto const program = small_program();
  std::atomic<int> wrong{0};
  in_process::run(3, [&](endpoint& world) {
    weft::transport::device_aware direct(world, "Host");
    guarded_door door(direct, program.view(), guarded_library(), {.members = {0, 1}});
    for (int peer = 0; peer < 3; ++peer) {
      bool const by_library = peer < 2 && world.rank() < 2;
      wrong += door.moves_parts(peer, "Guarded") == by_library ? 0 : 1;
      wrong += door.moves_parts(peer, "Host") == !by_library ? 0 : 1;
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("library door: another door around it, for other ranks, hands the library's messages on") {
  auto const program = small_program();
  std::atomic<int> wrong{0};
  in_process::run(3, [&](endpoint& world) {
    guarded_door library(world, program.view(), guarded_library(), {.members = {0, 1}});
    std::vector<int> const others = world.rank() == 2 ? std::vector<int>{0, 1} : std::vector<int>{2};
    weft::transport::staged<1024, weft_test::guarded_copies> door(library, {}, {.peers = others});
    constexpr std::size_t most = 3000;
    guarded_bytes out(most, static_cast<char>('a' + world.rank()));
    guarded_bytes in[2] = {guarded_bytes(most), guarded_bytes(most)};
    std::vector<request> posts;
    int const peers[2] = {(world.rank() + 1) % 3, (world.rank() + 2) % 3};
    for (int const peer : peers) {
      bool const by_library = peer < 2 && world.rank() < 2;
      wrong += door.moves_parts(peer, "Guarded") ? 0 : 1;
      wrong += (door.carries(peer, "Guarded") == weft::transport::carrier::library) == by_library ? 0 : 1;
      for (bool const sends : {false, true}) door.prepare_parts(sends, most, peer, 5);
    }
    door.begin_posts();
    for (int each = 0; each < 2; ++each) {
      posts.push_back(door.receive_parts({nullptr, 0, in[each].data(), most}, peers[each], 5));
      posts.push_back(door.send_parts({nullptr, 0, out.data(), most / 2, most}, peers[each], 5));
    }
    door.end_posts();
    for (auto& each : posts) {
      bool const is_receive = !each.is_send;
      settle(door, each);
      wrong += !is_receive || door.received_bytes() == most / 2 ? 0 : 1;
    }
    for (int each = 0; each < 2; ++each)
      wrong += in[each].begins_with(static_cast<char>('a' + peers[each]), most / 2) ? 0 : 1;
    wrong += library.groups() == (world.rank() < 2 ? 1U : 0U) ? 0 : 1;
    std::size_t const two_links = 2 * 2 * (1024 + 1024);
    wrong += door.buffer_bytes() == (world.rank() == 2 ? 2 : 1) * two_links ? 0 : 1;
  });
  CHECK(wrong == 0);
}

TEST_CASE("library door: among some of the ranks, the others' messages are the inner door's") {
  std::atomic<int> wrong{0};
  CHECK(play(3,
             [&](guarded_door& door) {
               bool const is_member = door.rank() != 1;
               wrong += door.moves_parts(2 - door.rank(), "Guarded") == is_member ? 0 : 1;
               wrong += door.moves_parts(1, "Guarded") ? 1 : 0;
               if (!is_member) return;
               guarded_bytes out(10, static_cast<char>('a' + door.rank()));
               guarded_bytes in(10);
               door.begin_posts();
               request send = door.send_parts({nullptr, 0, out.data(), 10}, 2 - door.rank(), 1);
               request receive = door.receive_parts({nullptr, 0, in.data(), 10}, 2 - door.rank(), 1);
               door.end_posts();
               settle(door, send);
               settle(door, receive);
               wrong += in.begins_with(static_cast<char>('a' + 2 - door.rank()), 10) ? 0 : 1;
             },
             nullptr, {2, 0})
            .empty());
  CHECK(wrong == 0);
}

namespace {

struct gradients {
  std::vector<double> weight, losses;
  friend bool operator==(gradients const&, gradients const&) = default;
};

/// Steps of a pipeline whose boundaries go by the library; as many groups as the program has runs of posts.
gradients train(schedule::program const& lowered, bool by_library) {
  auto const view = lowered.view();
  std::vector<toy::stage> stages;
  for (int rank = 0; rank < view.ranks(); ++rank) stages.emplace_back(view.stages(), view.micro_batches);
  constexpr int steps = 3;
  in_process::run(view.ranks(), [&](endpoint& world) {
    plain_library::counts told;
    {
      plain_door library(world, view, plain_library(&told));
      endpoint& door = by_library ? static_cast<endpoint&>(library) : world;
      weft::pipeline<toy::stage, toy::space> engine(view, door, stages[static_cast<std::size_t>(world.rank())]);
      for (int step = 0; step < steps; ++step) engine.step();
      std::size_t runs = 0;
      auto const row = view.row(world.rank());
      for (int index = 0; index < row.size; ++index) {
        auto const is_post = [&](int place) { return schedule::traits_of(row[place].what).is_post; };
        if (is_post(index) && (index == 0 || !is_post(index - 1))) ++runs;
      }
      CHECK(library.groups() == (by_library ? steps * runs : 0));
    }
    CHECK(told.left == 0);
    CHECK(told.aborts == 0);
  });
  gradients total;
  for (auto const& each : stages) {
    if (total.weight.empty()) total.weight.assign(each.weight_gradient.size(), 0.0);
    for (std::size_t layer = 0; layer < total.weight.size(); ++layer)
      total.weight[layer] += each.weight_gradient[layer];
  }
  total.losses = stages[static_cast<std::size_t>(view.graph.rank_of(view.stages() - 1))].losses;
  return total;
}

template <class Policy>
void compare(int ranks, int micro_batches) {
  CAPTURE(ranks);
  auto const lowered = made<Policy>(ranks, micro_batches, schedule::receive_time::at_use);
  auto const plain = train(lowered, false);
  CHECK(plain.losses.back() > 0.0);
  CHECK(train(lowered, true) == plain);
}

}  // namespace

namespace {

/// The words in which a pipeline over the library refuses a program; empty where it plays it.
std::string played(schedule::program const& lowered) {
  auto const view = lowered.view();
  auto const first = small_program();
  std::string words;
  try {
    in_process::run(view.ranks(), [&](endpoint& world) {
      toy::stage stage(view.stages(), view.micro_batches);
      plain_door door(world, first.view(), plain_library());
      auto const group = weft::transport::make_subgroup(door, {0, 1});
      CHECK(group->keeps_issue_order());
      CHECK_FALSE(world.keeps_issue_order());
      weft::pipeline<toy::stage, toy::space> engine(view, *group, stage);
      if (!view.work.backward) engine.step();
    });
  } catch (weft::error const& failure) {
    words = failure.what();
  }
  return words;
}

}  // namespace

TEST_CASE_TEMPLATE("library door: every program that is played over it is proved, evaluations too", Policy,
                   schedule::interleaved_1f1b<2>, schedule::zero_bubble_v) {
  auto const training = made<Policy>(2, 4, schedule::receive_time::at_use);
  CHECK(played(schedule::forward_program(training.view(), 3)).find("cannot run over a library that has one queue") !=
        std::string::npos);
  CHECK(played(schedule::forward_program(training.view(), 3, true)).empty());
}

TEST_CASE("library door: post-validation is refused, since what is done again is not in the program's order") {
  auto const training =
      schedule::lower(schedule::write_table<schedule::one_f_one_b>(2, 4).view(),
                      {.tied = schedule::tied_stages::none, .receives = schedule::receive_time::at_use});
  CHECK(played(schedule::passes::post_validate(training.view())).find("leave the norm synchronous") !=
        std::string::npos);
}

TEST_CASE("library door: a pipeline has the bits of the plain one, in the groups that the program says") {
  for (int const ranks : {2, 3, 4}) {
    compare<schedule::gpipe>(ranks, 4);
    compare<schedule::one_f_one_b>(ranks, 5);
    compare<schedule::zero_bubble_h1>(ranks, 5);
  }
  compare<schedule::interleaved_1f1b<2>>(2, 4);
}
