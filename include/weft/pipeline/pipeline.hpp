// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Longer than most headers: one loop plays a row, and every wait, failure and redo of it ends in the same state.

#include <weft/concepts/pipeline_stage.hpp>
#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/marks.hpp>
#include <weft/pipeline/boundary.hpp>
#include <weft/pipeline/boundary_view.hpp>
#include <weft/pipeline/detail/require_offers.hpp>
#include <weft/pipeline/detail/where_at.hpp>
#include <weft/pipeline/instructions.hpp>
#include <weft/pipeline/stage_context.hpp>
#include <weft/pipeline/wire_buffer.hpp>
#include <weft/profiling/action_time.hpp>
#include <weft/profiling/kokkos_tools.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/launch_mutex.hpp>
#include <weft/transport/wait.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

namespace weft::inline v1 {

struct pipeline_options {
  double deadline = 300.0;    ///< seconds that one wait may take; 0: for ever
  bool record_times = false;  ///< keep begin and end of every action and message of the last step
};

/// Plays one rank's row of a program for real: posts, waits, calls the stage.
///
/// Knows no schedule: whatever made the program, the same code runs it, and so do the same kernels. Allocates in the
/// constructor alone. One object per program; several may share a stage and an endpoint as long as their steps do not
/// overlap. After an exception the object is spent: every rank has been told, and pending messages are given up.
template <class Stage, class Space = Kokkos::DefaultExecutionSpace>
class pipeline final : private progress_source {
 public:
  using context = stage_context<Space>;
  using views = boundary_views<typename Space::memory_space>;

  static_assert(pipeline_stage<Stage, context, views>,
                "weft::pipeline: the stage lacks boundary(edge), prepare(stage, slots) or forward(context, in, out); "
                "see weft/concepts/pipeline_stage.hpp");
  static constexpr bool is_split = split_backward_stage<Stage, context, views>;
  static constexpr bool is_whole = whole_backward_stage<Stage, context, views>;
  /// The stage has messages of its own under way; see concepts/pipeline_stage.hpp.
  static constexpr bool has_progress = progressing_stage<Stage>;

  /// Does not communicate. `program` must be lowered; only this rank's row of it is read, and not kept.
  pipeline(schedule::program_view const& program, transport::endpoint& door, Stage& stage,
           pipeline_options const& options = {}, Space const& space = Space())
      : door_(door),
        stage_(stage),
        options_(options),
        space_(space),
        context_(space, this),
        where_(door, instructions_) {
    if (program.slots == nullptr)
      throw error("weft::pipeline: the program '" + std::string(program.name) +
                  "' has no posts and slots; call weft::schedule::lower first");
    if (program.ranks() != door.size())
      throw error("weft::pipeline: the program is for " + std::to_string(program.ranks()) + " ranks, but there are " +
                      std::to_string(door.size()) + "; launch as many, or plan for as many",
                  {.rank = where_.own_rank()});
    door.require_program(program);
    auto list = compile_row(program, door.rank(), where_.own_rank());
    instructions_ = std::move(list.instructions);
    ports_ = std::move(list.ports);
    sent_early_ = std::move(list.sent_early);
    taken_in_.resize(sent_early_.size());
    times_.resize(options_.record_times ? instructions_.size() : 0);
    for (instruction const& each : instructions_)
      detail::require_stage_offers<Stage, is_split, is_whole>(each, where_.own_rank());
    auto const lock = door_.launch_lock();
    for (int each = 0; each < program.stages() * program.graph.copies; ++each)
      if (int const stage_index = each % program.stages(); program.graph.rank_of_stage[each] == door.rank())
        stage_.prepare(stage_index, slots_with_both_halves(program.slots[each], stage_index));
    if constexpr (is_whole && backward_preparing_stage<Stage>)
      for (instruction const& each : instructions_)
        if (each.what == schedule::op::backward) stage_.prepare_backward(each.stage);
    buffers_.reserve(list.buffers.size());
    for (buffer_need const& need : list.buffers) {
      boundary const forward = checked_boundary(stage_.boundary(program.graph.edges[need.edge]));
      buffers_.emplace_back("weft::wire", need.is_gradient ? gradient_of(forward) : forward);
      wire_bytes_ += buffers_.back().capacity();
    }
    for (instruction const& each : instructions_)
      if (auto const& facts = schedule::traits_of(each.what); facts.is_post) {
        port const& end = port_at(each.in.first);
        buffer_of(end).connect(door_, facts.is_send, end.peer, end.tag);
      }
  }

  pipeline(pipeline const&) = delete;
  pipeline& operator=(pipeline const&) = delete;
  ~pipeline() = default;

  /// Plays the row once. Communicates with the ranks that share an edge; collective over the program's ranks in the
  /// sense that each of them must call it. Any exception here ends the step on every rank.
  void step() {
    if (is_spent_)
      throw error("weft::pipeline: an earlier step of this pipeline failed, and its state is unknown; make a new one",
                  {.rank = where_.own_rank()});
    where_.set(nullptr);
    try {
      play();
    } catch (remote_error const& failure) {
      give_up();
      if (failure.location().rank == where_.own_rank()) throw;  // the words are this rank's own already
      throw remote_error(std::string(failure.what()) + " (rank " + std::to_string(where_.own_rank()) + " was at " +
                             where_.description() + ")",
                         failure.location());
    } catch (error const& failure) {
      bool const knows_where = failure.location().stage >= 0 || failure.location().peer >= 0;
      std::string const message = knows_where ? failure.what() : where_.prefix() + failure.what();
      fail(message);
      if (knows_where) throw;
      throw error(message, where_.location());
    } catch (std::exception const& failure) {
      std::string const message = where_.prefix() + failure.what();
      fail(message);
      throw error(message, where_.location());
    } catch (...) {
      fail(where_.prefix() + "an exception that is no std::exception");
      throw;
    }
  }

  /// Bytes of all wire buffers of this rank.
  [[nodiscard]] std::size_t wire_bytes() const { return wire_bytes_; }

  [[nodiscard]] std::vector<instruction> const& instructions() const { return instructions_; }
  /// Parallel to `instructions()`; empty unless `record_times` was asked for.
  [[nodiscard]] std::vector<action_time> const& times() const { return times_; }
  [[nodiscard]] double last_step_seconds() const { return last_step_seconds_; }
  /// When the last step began: what `times()` count from.
  [[nodiscard]] std::chrono::steady_clock::time_point last_step_begin() const { return step_begin_; }

 private:
  using clock = std::chrono::steady_clock;
  using buffer_type = wire_buffer<typename Space::memory_space>;

  /// Lets go of the launch lock at the end of its scope, if nobody has before.
  struct launch_turn {
    transport::launch_guard& held;
    ~launch_turn() { held = {}; }
  };

  /// Where a program has I and W as well as B for one stage, B's halves meet in a weight context of their own, so that
  /// they do not write over one that waits for its W.
  [[nodiscard]] schedule::slot_counts slots_with_both_halves(schedule::slot_counts slots, int stage) {
    if (is_whole || slots.weight_context == 0) return slots;
    bool has_both = false;
    for (instruction& each : instructions_)
      if (each.what == schedule::op::backward && each.stage == stage) {
        each.weight_slot = slots.weight_context;
        has_both = true;
      }
    slots.weight_context += has_both ? 1 : 0;
    return slots;
  }

  void play() {
    auto const start = clock::now();
    step_begin_ = start;
    has_tool_ = profiling::has_tool();
    for (std::size_t next = 0; next < instructions_.size();) {
      std::size_t const index = next++;
      instruction const& each = instructions_[index];
      where_.set(&each);
      if (each.what == schedule::op::validate) {
        if (!is_to_redo(each, index)) continue;
        take_in_early_messages();
        next = 0;
        continue;
      }
      auto const& facts = schedule::traits_of(each.what);
      if (facts.is_compute)
        compute(each, index);
      else if (facts.is_post)
        next = post(index);
      else
        other(each, index);
    }
    where_.set(nullptr);
    for (auto& buffer : buffers_) {
      wait(buffer, [&](double waited) { where_.overdue(waited, "the end of a send", -1); });
      note_completion(buffer);
    }
    last_step_seconds_ = std::chrono::duration<double>(clock::now() - start).count();
  }

  void compute(instruction const& each, std::size_t index) {
    collect_arrived(each.in, in_, 0, each);
    collect_free(each.out, out_);
    collect_arrived(each.gradient_out, gradient_out_, 1, each);
    collect_free(each.gradient_in, gradient_in_);
    context_.set(each.stage, each.micro_batch, each.slot, each.weight_slot, each.weights_age);
    launch_turn const turn{launch_ = door_.launch_lock()};
    profiling::region const named(has_tool_, each.what, each.stage, each.micro_batch);
    double const begin = options_.record_times ? now() : 0.0;
    run_stage(each);
    move_messages_until_done();
    // On this instance, once: what was written may be sent, and the next rank's thread may launch.
    execution::fence(space_, "weft::action");
    if (options_.record_times) times_[index] = {begin, now()};
    store_sizes(each.out, out_);
    store_sizes(each.gradient_in, gradient_in_);
  }

  /// While a device works its host is free for chunks that are staged, sums of gradients, others' failures. A replayed
  /// call has had no other time for these.
  void move_messages_until_done() {
    if constexpr (!execution::is_host_space<Space>) {
      auto const end = marks_.mark();
      while (!marks_.is_done(end)) progress();
    }
  }

  void run_stage(instruction const& each) {
    using schedule::op;
    switch (each.what) {
      case op::forward:
      case op::recompute: stage_.forward(context_, in_, out_); break;
      case op::backward:
        if constexpr (is_whole) {
          stage_.backward(context_, in_, gradient_out_, gradient_in_);
        } else if constexpr (is_split) {
          stage_.backward_input(context_, in_, gradient_out_, gradient_in_);
          stage_.backward_weight(context_, in_, gradient_out_);
        }
        break;
      case op::backward_input:
        if constexpr (is_split) stage_.backward_input(context_, in_, gradient_out_, gradient_in_);
        break;
      case op::backward_weight:
        if constexpr (is_split) stage_.backward_weight(context_, in_, gradient_out_);
        break;
      default:
        throw error("weft::pipeline: this engine cannot run " + std::string(schedule::traits_of(each.what).letters));
    }
  }

  void other(instruction const& each, std::size_t index) {
    using schedule::op;
    profiling::region const named(has_tool_, each.what, each.stage, each.micro_batch);
    double const begin = options_.record_times ? now() : 0.0;
    if constexpr (requires(Stage & stage) { stage.reduce_gradient(0, 0); })
      if (each.what == op::reduce_gradient) stage_.reduce_gradient(each.stage, each.group);
    if constexpr (requires(Stage & stage) { stage.partial_norm(); })
      if (each.what == op::partial_norm) stage_.partial_norm();
    if constexpr (requires(Stage & stage) { stage.norm(); })
      if (each.what == op::norm) stage_.norm();
    if constexpr (requires(Stage & stage) { stage.step(0); })
      if (each.what == op::step) stage_.step(each.stage);
    if constexpr (requires(Stage & stage) { stage.unshard(0); })
      if (each.what == op::unshard) stage_.unshard(each.stage);
    if constexpr (requires(Stage & stage) { stage.reshard(0); })
      if (each.what == op::reshard) stage_.reshard(each.stage);
    if (options_.record_times) times_[index] = {begin, now()};
  }

  /// VALIDATE: whether what stands in front of it was done with weights that were wrong, on this rank or another one.
  bool is_to_redo(instruction const& each, std::size_t index) {
    bool is_wrong = false;
    if constexpr (requires(Stage & stage) { stage.validate(); }) {
      profiling::region const named(has_tool_, each.what, each.stage, each.micro_batch);
      double const begin = options_.record_times ? now() : 0.0;
      is_wrong = stage_.validate();
      if (options_.record_times) times_[index] = {begin, now()};
    }
    return is_wrong;
  }

  /// All ranks are about to do again what stands in front of VALIDATE. Every message that was sent there is received
  /// first, on every rank, whether its receive comes before or behind VALIDATE, and forgotten: then the messages that
  /// follow meet the receives that follow. Channels do not wait for each other, nor for this rank's own sends.
  void take_in_early_messages() {
    std::fill(taken_in_.begin(), taken_in_.end(), std::size_t(0));
    auto const is_done = [&] {
      bool all = true;
      for (auto& buffer : buffers_) all = buffer.test(door_) && all;
      for (std::size_t channel = 0; channel < sent_early_.size(); ++channel) {
        auto const& posts = sent_early_[channel];
        while (taken_in_[channel] < posts.size()) {
          port const& end = port_at(instructions_[static_cast<std::size_t>(posts[taken_in_[channel]])].in.first);
          auto& buffer = buffer_of(end);
          all = false;
          if (buffer.pending.pending) break;
          buffer.receive(door_, end.peer, end.tag);
          ++taken_in_[channel];
        }
      }
      return all;
    };
    transport::wait_until(
        door_, options_.deadline, is_done,
        [&](double waited) { where_.overdue(waited, "messages that were sent before VALIDATE", -1); },
        [&] { progress_of_stage(); });
    for (auto& buffer : buffers_) {
      note_completion(buffer);
      buffer.forget();
    }
  }

  /// A run of neighbouring posts, which are one group to a transport that has such; returns the index behind it.
  std::size_t post(std::size_t index) {
    door_.begin_posts();
    for (; index < instructions_.size(); ++index) {
      instruction const& each = instructions_[index];
      auto const& facts = schedule::traits_of(each.what);
      if (!facts.is_post) break;
      where_.set(&each);
      if (facts.is_send)
        send(each, index);
      else
        receive(each, index);
    }
    door_.end_posts();
    return index;
  }

  void receive(instruction const& each, std::size_t index) {
    port const& end = port_at(each.in.first);
    note_post(buffer_of(end), index);
    buffer_of(end).receive(door_, end.peer, end.tag);
  }

  void send(instruction const& each, std::size_t index) {
    port const& end = port_at(each.in.first);
    bool const is_gradient = each.what == schedule::op::send_backward;
    note_post(buffer_of(end), index);
    buffer_of(end).send(door_, space_, end.stage, is_gradient ? 1 : 0, each.micro_batch, end.peer, end.tag);
  }

  void note_post(buffer_type& buffer, std::size_t index) {
    if (!options_.record_times) return;
    buffer.posted_by = static_cast<std::ptrdiff_t>(index);
    times_[index] = {now(), -1.0, 0};
  }

  /// The buffer's message was found to be complete before it was needed.
  void note_arrival(buffer_type& buffer) {
    if (options_.record_times && buffer.posted_by >= 0) times_[static_cast<std::size_t>(buffer.posted_by)].end = now();
  }

  /// The buffer's message is complete, and its view is the message's.
  void note_completion(buffer_type& buffer) {
    if (!options_.record_times || buffer.posted_by < 0) return;
    auto& mine = times_[static_cast<std::size_t>(buffer.posted_by)];
    if (mine.end < mine.begin) mine.end = now();
    mine.bytes = static_cast<std::int64_t>(buffer.message_bytes());
    buffer.posted_by = -1;
  }

  [[nodiscard]] port const& port_at(int index) const { return ports_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] buffer_type& buffer_of(port const& end) { return buffers_[static_cast<std::size_t>(end.buffer)]; }

  /// Waits for what an action reads.
  void collect_arrived(port_range range, views& into, int direction, instruction const& each) {
    into.clear();
    for (int index = range.first; index < range.last; ++index) {
      port const& end = port_at(index);
      auto& buffer = buffer_of(end);
      if (buffer.is_expected()) {
        wait(buffer, [&](double waited) {
          where_.overdue(
              waited, (direction == 0 ? "activations" : "gradients") + std::string(" from rank ") + where_.name_of(end),
              end.peer);
        });
        buffer.accept(door_, space_, end.stage, direction, each.micro_batch, end.peer, end.tag);
        note_completion(buffer);
      }
      into.push_back(buffer.view());
    }
  }

  /// Waits until what an action writes to is no longer being sent.
  void collect_free(port_range range, views& into) {
    into.clear();
    for (int index = range.first; index < range.last; ++index) {
      port const& end = port_at(index);
      auto& buffer = buffer_of(end);
      wait(buffer, [&](double waited) {
        where_.overdue(waited, "rank " + where_.name_of(end) + ", to take the previous message", end.peer);
      });
      note_completion(buffer);
      buffer.reset();
      into.push_back(buffer.view());
    }
  }

  /// The stage may have set smaller element counts on its copy of a view.
  void store_sizes(port_range range, views const& from) {
    for (int index = range.first; index < range.last; ++index)
      buffer_of(port_at(index)).view() = from[index - range.first];
  }

  void fail(std::string_view message) noexcept {
    door_.announce_failure(message);
    give_up();
  }

  void give_up() noexcept {
    is_spent_ = true;
    for (auto& buffer : buffers_) buffer.abandon(door_);
  }

  template <class OnDeadline>
  void wait(buffer_type& buffer, OnDeadline&& on_deadline) {
    unsigned turns = 0;
    transport::wait_until(
        door_, options_.deadline, [&] { return buffer.test(door_); }, on_deadline,
        [&] {
          progress_of_stage();
          if (++turns % 64U == 0U) poke();
        });
  }

  /// Tests the messages under way in turn until one is not complete: by that the transport has been entered once. One
  /// that is complete is noted in its buffer and collected when the row comes to it.
  void poke() {
    for (std::size_t tries = buffers_.size(); tries > 0; --tries) {
      next_poke_ = next_poke_ + 1 < buffers_.size() ? next_poke_ + 1 : 0;
      auto& buffer = buffers_[next_poke_];
      if (!buffer.pending.pending) continue;
      if (!buffer.test(door_)) return;
      note_arrival(buffer);
    }
  }

  void progress_of_stage() {
    if constexpr (has_progress) stage_.progress();
  }

  /// Of a rank that computes: where another one has given up waiting, it says what it is at. That is a wait, too, and
  /// ranks that wait for their turn to launch must be able to answer: the launch lock goes first.
  void look_around() {
    try {
      door_.check_failure();
    } catch (standstill const&) {
      launch_ = {};
      transport::join_standstill(door_, where_.busy(), where_.location());
    }
  }

  /// What a stage calls between kernels. The failure channel is looked at now and then: that costs as much as a poke.
  void progress() override {
    if (++pokes_ % 8U == 1U) look_around();
    poke();
    progress_of_stage();
  }

  [[nodiscard]] double now() const { return std::chrono::duration<double>(clock::now() - step_begin_).count(); }

  transport::endpoint& door_;
  Stage& stage_;
  pipeline_options options_;
  Space space_;
  execution::marks<Space> marks_{space_};
  context context_;
  std::vector<instruction> instructions_;
  std::vector<port> ports_;
  std::vector<buffer_type> buffers_;
  std::vector<std::vector<int>> sent_early_;  ///< see `instruction_list`
  std::vector<std::size_t> taken_in_;         ///< by channel: how many of them a redo has posted
  std::vector<action_time> times_;
  views in_;
  views out_;
  views gradient_out_;
  views gradient_in_;
  detail::where_at where_;
  transport::launch_guard launch_;  ///< held while the stage computes
  clock::time_point step_begin_;
  double last_step_seconds_ = 0.0;
  bool is_spent_ = false;
  unsigned pokes_ = 0;
  std::size_t next_poke_ = 0;
  bool has_tool_ = false;  ///< as the step began
  std::size_t wire_bytes_ = 0;
};

}  // namespace weft::inline v1
