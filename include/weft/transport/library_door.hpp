// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/transport/agreement.hpp>
#include <weft/transport/chosen_ranks.hpp>
#include <weft/transport/detail/library_group.hpp>
#include <weft/transport/detail/library_members.hpp>
#include <weft/transport/detail/library_queue.hpp>
#include <weft/transport/detail/library_sums.hpp>
#include <weft/transport/device_library.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/guarded.hpp>
#include <weft/transport/issue_order.hpp>
#include <weft/transport/relay.hpp>
#include <weft/transport/run_collective.hpp>
#include <weft/transport/subgroup.hpp>
#include <weft/transport/wait.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace weft::inline v1::transport {

struct library_options {
  /// Among which bodies go by the library: those of its vendor. Ranks that share one name the same.
  chosen_ranks members = chosen_ranks::all();
  double deadline = default_deadline;  ///< seconds that its start may take
};

/// Bodies by a vendor's library (NCCL, RCCL): a door around one that moves heads in host memory.
///
/// A library has one queue of groups per rank and no tags, so a program is proved under `send_model::in_issue_order`
/// first, and what stands next to each other in it is one group (`begin_posts`). A post outside of that is a group of
/// its own. The library's order is the program's; heads go by the inner door, under their tags, each with the body's
/// length: the library itself wants the same size at both ends, so what is sent are the most bytes that a body may have
/// there (`message_parts::most_bytes`, of every post: pipelines that share tags may have boundaries of several sizes),
/// and a receive takes as many as it has room for.
///
/// Nothing waits: groups are launched one after the other in `test`, which also asks the library for errors that
/// happened behind its back; a failure, here or on another rank, ends what is under way (`device_library::abort`).
/// Allocates in `prepare_parts` and at the first posts. MPI with device memory is refused beside it.
///
/// Collectives over ranks that are all members (`make_device_library`) have a communicator and a queue of their own, in
/// which they stand in the program's order: that is the same on all ranks that share a stage, as the proof has found
/// (schedule/play.hpp), and no message of the pipeline waits for one.
template <device_library Library>
class library_door final : public relay {
 public:
  /// Collective over `inner`'s ranks, also those that are no members. Throws the same `agreed_error` on every rank
  /// where the program has no issue order.
  library_door(endpoint& inner, schedule::program_view const& program, Library library, library_options options = {})
      : relay(inner),
        library_(std::move(library)),
        members_(inner, options.members),
        deadline_(options.deadline) {
    require_issue_order(program);
    all_or_none(
        inner, [&] { require_no_other_carrier(); }, options.deadline);
    guarded(inner, [&] {
      try {
        members_.connect(library_, deadline_);
      } catch (...) {
        give_up();
        throw;
      }
    });
  }
  ~library_door() override {
    if (std::uncaught_exceptions() > exceptions_) give_up();
  }

  [[nodiscard]] bool moves_parts(int peer, std::string_view memory) const override {
    return members_.contains(peer) ? memory == library_.memory() : inner().moves_parts(peer, memory);
  }
  [[nodiscard]] carrier carries(int peer, std::string_view memory) const override {
    return moves(peer, memory) ? carrier::library : inner().carries(peer, memory);
  }

  [[nodiscard]] bool keeps_issue_order() const override { return true; }
  /// Also of programs that came after the one it was made with: of evaluations, or another trainer.
  void require_program(schedule::program_view const& program) const override {
    inner().require_program(program);
    try {
      require_issue_order(program);
    } catch (agreed_error const& failure) {  // ranks without this door do not say so, and must be told
      throw error(failure.what(), failure.location());
    }
    if (program.work.post_validated)
      fail("the program '" + std::string(program.name) +
           "' is validated afterwards, and where that fails takes in messages in another order than its own, for which "
           "nothing is proved; leave the norm synchronous, or take another door");
  }

  void prepare_parts(bool is_send, std::size_t most_bytes, int peer, int tag) override {
    if (!members_.contains(peer)) return inner().prepare_parts(is_send, most_bytes, peer, tag);
    auto& most = announced_[{peer, tag, is_send}];
    most = (std::max)(most, most_bytes);
    while (free_parts_.size() < 2 * announced_.size()) grow();
  }

  void begin_posts() override {
    inner().begin_posts();
    if (open_ != nullptr) fail("a group of posts was begun inside another one; end that first");
    open_ = &take_group();
  }
  void end_posts() override {
    inner().end_posts();
    if (open_ == nullptr) return;
    close(*std::exchange(open_, nullptr));
    advance();
  }

  [[nodiscard]] request send_parts(outgoing_parts const& parts, int peer, int tag) override {
    if (!members_.contains(peer)) return inner().send_parts(parts, peer, tag);
    part& mine =
        take(true, parts.head_bytes, parts.body_bytes, (std::max)(parts.body_bytes, parts.most_bytes), peer, tag);
    std::uint64_t const length = parts.body_bytes;
    std::memcpy(mine.text, &length, sizeof(length));
    if (parts.head_bytes > 0) std::memcpy(mine.text + sizeof(length), parts.head, parts.head_bytes);
    mine.head_post = inner().send(mine.text, sizeof(length) + parts.head_bytes, peer, tag);
    // sends only read through this pointer
    return enqueue(mine, const_cast<void*>(parts.body), peer);
  }
  [[nodiscard]] request receive_parts(incoming_parts const& parts, int peer, int tag) override {
    if (!members_.contains(peer)) return inner().receive_parts(parts, peer, tag);
    part& mine = take(false, parts.head_bytes, parts.body_bytes, parts.body_bytes, peer, tag);
    mine.head = parts.head;
    mine.head_post = inner().receive(mine.text, text_bytes, peer, tag);
    return enqueue(mine, parts.body, peer);
  }

  /// Empty where one of them is no member, or for other memory: another vendor's, or the host's.
  [[nodiscard]] std::unique_ptr<device_collectives> make_device_library(std::vector<int> const& members,
                                                                        std::string_view memory) override {
    for (int const each : members)
      if (!members_.contains(each)) return {};
    if (memory != library_.memory()) return {};
    std::unique_ptr<sums> made;
    guarded(inner(), [&] {
      typename Library::identity id{};
      auto const among = make_subgroup(inner(), members);
      if (among->rank() == 0) id = Library::make_identity();
      broadcast(*among, &id, sizeof(id), 0, deadline_);
      Library library = library_.another();
      detail::start_library(inner(), library, id, among->rank(), among->size(), deadline_);
      made = std::make_unique<sums>(inner(), *this, std::move(library), sums_);
    });
    return made;
  }

  [[nodiscard]] bool test(request& posted) override {
    advance();
    if (posted.of == this && posted.is_collective) return sums::test(posted) || move_inner();
    if (posted.of != this) {
      if (!inner().test(posted)) return false;
      received_ = inner().received_bytes();
      return true;
    }
    part& mine = *reinterpret_cast<part*>(posted.handle);
    if (mine.head_post.pending) {
      if (!inner().test(mine.head_post)) return false;
      if (!mine.is_send) read_head(mine, inner().received_bytes());
    }
    if (mine.of->state != detail::library_state::done) return move_inner();
    if (!mine.is_send) received_ = mine.head_bytes + mine.body_bytes;
    give_back(mine, posted);
    return true;
  }

  [[nodiscard]] std::size_t received_bytes() const override { return received_; }

  /// Ends all of the library's messages: one of them cannot be taken out of its group.
  [[nodiscard]] bool abandon(request& posted) noexcept override {
    if (posted.of != this) return inner().abandon(posted);
    if (posted.is_collective) {
      sums::abandon(posted);
      return true;
    }
    give_up();
    part& mine = *reinterpret_cast<part*>(posted.handle);
    drop(mine);
    posted = {};
    return true;
  }

  void check_failure() override {
    inner().check_failure();
    if (!is_broken_ && members_.are_connected()) detail::check_library(inner(), library_);
  }

  /// Groups that were launched so far.
  [[nodiscard]] std::size_t groups() const { return queue_.launched(); }

 private:
  using group = detail::library_group;
  using sums = detail::library_sums<Library>;
  using part = detail::library_part;
  static constexpr std::size_t text_bytes = part::text_bytes;

  /// What the door inside has under way moves also while only the library is waited for: another rank may need it
  /// first. False, as `test` is then.
  [[nodiscard]] bool move_inner() {
    request nothing;
    static_cast<void>(inner().test(nothing));
    return false;
  }

  [[noreturn]] void fail(std::string const& what, int peer = -1, int tag = -1) const {
    detail::fail_library<Library>(inner(), what, peer, tag);
  }

  [[nodiscard]] bool moves(int peer, std::string_view memory) const {
    return memory == library_.memory() && members_.contains(peer);
  }

  void require_no_other_carrier() const {
    members_.require_existing();
    for (int peer = 0; peer < inner().size(); ++peer)
      if (members_.are_connected() && inner().carries(peer, library_.memory()) == carrier::mpi)
        fail(
            "MPI is handed device memory between them, and must not be in flight beside a vendor's library; build this "
            "door on one that moves host memory alone",
            peer);
  }

  void grow() {
    parts_.push_back(std::make_unique<part>());
    free_parts_.push_back(parts_.back().get());
  }

  /// `moved_bytes`: what the library is told, at both ends alike.
  part& take(bool is_send, std::size_t head_bytes, std::size_t body_bytes, std::size_t moved_bytes, int peer, int tag) {
    if (is_broken_) fail("an earlier message was given up, since a rank had failed; start the job again", peer, tag);
    if (head_bytes + sizeof(std::uint64_t) > text_bytes)
      fail("a head of " + std::to_string(head_bytes) + " bytes came where " +
               std::to_string(text_bytes - sizeof(std::uint64_t)) + " are the most; put the rest into the body",
           peer, tag);
    require_announced(is_send, moved_bytes, peer, tag);  // before anything is posted
    if (free_parts_.empty()) grow();
    part& mine = *free_parts_.back();
    free_parts_.pop_back();
    mine.head = nullptr;
    mine.head_bytes = head_bytes;
    mine.body_bytes = body_bytes;
    mine.moved_bytes = moved_bytes;
    mine.peer = peer;
    mine.tag = tag;
    mine.is_send = is_send;
    return mine;
  }

  void require_announced(bool is_send, std::size_t bytes, int peer, int tag) const {
    auto const found = announced_.find({peer, tag, is_send});
    if (found != announced_.end() && bytes > found->second)
      fail("a body of " + std::to_string(bytes) + " bytes was posted where " + std::to_string(found->second) +
               " were announced by prepare_parts; announce the most, at both ends",
           peer, tag);
  }

  request enqueue(part& mine, void* data, int peer) {
    group& target = open_ != nullptr ? *open_ : take_group();
    mine.of = &target;
    ++target.users;
    if (mine.moved_bytes > 0)
      target.bodies.push_back({data, mine.moved_bytes, members_.library_rank(peer), mine.is_send});
    if (open_ == nullptr) {
      close(target);
      try {
        advance();
      } catch (...) {  // nobody else knows of this post
        give_up();
        drop(mine);
        throw;
      }
    }
    request made{reinterpret_cast<std::uintptr_t>(&mine), true, mine.is_send};
    made.is_in_parts = true;
    made.of = this;
    return made;
  }

  /// Gives up a head; its memory may have to stay for ever.
  void drop(part& mine) noexcept {
    if (inner().abandon(mine.head_post)) return;
    for (auto& each : parts_)
      if (each.get() == &mine) static_cast<void>(each.release());
  }

  group& take_group() {
    if (free_groups_.empty()) {
      groups_.push_back(std::make_unique<group>());
      free_groups_.push_back(groups_.back().get());
    }
    group& mine = *free_groups_.back();
    free_groups_.pop_back();
    mine.bodies.clear();
    mine.state = detail::library_state::collecting;
    return mine;
  }

  void close(group& mine) {
    if (mine.users == 0) return free_groups_.push_back(&mine);
    if (mine.bodies.empty()) {  // nothing for the library
      mine.state = detail::library_state::done;
      return;
    }
    queue_.push(mine);
  }

  void advance() {
    if (queue_.is_empty() || is_broken_) return;
    detail::check_library(inner(), library_);
    queue_.advance(
        library_, [this](group& mine) { launch(mine); },
        [this](group& ended) {
          if (ended.users == 0) free_groups_.push_back(&ended);
        });
  }

  void launch(group& mine) {
    library_.begin_group();
    try {
      for (auto const& each : mine.bodies)
        if (each.is_send)
          library_.send(each.data, each.bytes, each.peer);
        else
          library_.receive(each.data, each.bytes, each.peer);
    } catch (...) {  // an open group would swallow whatever the library is told next, also its end
      try {
        library_.end_group();
      } catch (error const&) {  // the first words count
      }
      give_up();
      throw;
    }
    library_.end_group();
  }

  void read_head(part& mine, std::size_t bytes) {
    std::uint64_t length = 0;
    if (bytes != sizeof(length) + mine.head_bytes)
      fail("a head of " + std::to_string(bytes) + " bytes came where " +
               std::to_string(sizeof(length) + mine.head_bytes) +
               " are right; both ends must hand bodies over in the same way",
           mine.peer, mine.tag);
    std::memcpy(&length, mine.text, sizeof(length));
    if (length > mine.body_bytes)
      fail("a body of " + std::to_string(length) + " bytes came where " + std::to_string(mine.body_bytes) +
               " are the most; both ranks must use the same plan and model",
           mine.peer, mine.tag);
    if (mine.head_bytes > 0) std::memcpy(mine.head, mine.text + sizeof(length), mine.head_bytes);
    mine.body_bytes = static_cast<std::size_t>(length);
  }

  void give_back(part& mine, request& posted) {
    if (--mine.of->users == 0) free_groups_.push_back(mine.of);
    free_parts_.push_back(&mine);
    posted = {};
  }

  void give_up() noexcept {
    if (is_broken_) return;
    is_broken_ = true;
    library_.abort();
    for (auto* const each : sums_) each->give_up();
  }

  Library library_;
  detail::library_members<Library> members_;
  double deadline_;
  std::vector<sums*> sums_;                                      // that live
  std::map<std::tuple<int, int, bool>, std::size_t> announced_;  // the most, of all that share a tag
  std::vector<std::unique_ptr<part>> parts_;
  std::vector<part*> free_parts_;
  std::vector<std::unique_ptr<group>> groups_;
  std::vector<group*> free_groups_;
  group* open_ = nullptr;  // that posts go to
  detail::library_queue<group> queue_;
  std::size_t received_ = 0;
  bool is_broken_ = false;
  int exceptions_ = std::uncaught_exceptions();
};

}  // namespace weft::inline v1::transport
