// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// A model as the engine sees it: any ranges of a chain's layers as pipeline stages, with split backward. Here are the
/// calls alone: how slots are laid out is in stage_layout.hpp, what crosses to other stages in stage_crossing.hpp, what
/// a program's batches say in program_sheets.hpp, and how a call is played again in replayed_calls.hpp. Still longer
/// than most headers, since F, B, I and W of a stage are one idea in four forms.

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/execution/blas.hpp>
#include <weft/execution/graph.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/math_mode.hpp>
#include <weft/execution/reduced.hpp>
#include <weft/model/arena.hpp>
#include <weft/model/call_key.hpp>
#include <weft/model/call_sheets.hpp>
#include <weft/model/head_logits.hpp>
#include <weft/model/layer_context.hpp>
#include <weft/model/loss_sums.hpp>
#include <weft/model/program_batches.hpp>
#include <weft/model/program_sheets.hpp>
#include <weft/model/rank_buffers.hpp>
#include <weft/model/replayed_calls.hpp>
#include <weft/model/stage_crossing.hpp>
#include <weft/model/stage_layout.hpp>
#include <weft/model/token_batch.hpp>
#include <weft/parameters/parameter_descriptor.hpp>
#include <weft/parameters/parameter_store.hpp>
#include <weft/pipeline/boundary.hpp>
#include <weft/pipeline/boundary_view.hpp>
#include <weft/pipeline/stage_context.hpp>
#include <weft/plan/precision.hpp>
#include <weft/schedule/op.hpp>
#include <weft/schedule/program_view.hpp>
#include <weft/topology/partition.hpp>
#include <weft/topology/stage_graph.hpp>

#include <Kokkos_Core.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft::inline v1::model {

/// Serves all stages of one rank. A template on model, precision and execution space only: which layers make up which
/// stage is data, and no bit of any result depends on it.
///
/// `Number` is a type of numbers or a `precision`: layers get its compute type, and what crosses to another stage is
/// converted to its wire type and back where that is another one.
///
/// Memory: one activation slot of a stage holds what its layers keep and the outputs between them; one weight-context
/// slot holds what I leaves for W of all its layers, and B needs that of one layer; the rank has one workspace. Nothing
/// here communicates.
template <class Model, class Number, class Space>
class model_stage {
 public:
  using numbers = precision_of<Number>;
  using real = typename numbers::compute;  ///< of activations
  using wire = typename numbers::wire;
  static_assert(std::is_same_v<typename numbers::weight, execution::wide<real>>,
                "weft::precision: layers add up in float where they compute in float or 16 bits, in double where they "
                "compute in double, and the weights have another type; name that one in weights_in");
  using memory_space = typename Space::memory_space;
  using views = boundary_views<memory_space>;
  using context_type = stage_context<Space>;
  using store_type = parameters::parameter_store<Number, Space>;

  /// `layers` of all stages in order; `my_stages` are this rank's; `largest` is what buffers are made for. Throws
  /// weft::error unless the ranges follow each other from 0 to Model::layer_count.
  /// `gradient_groups`: into how many groups batches come cut, see `token_batch::groups`.
  model_stage(std::vector<topology::layer_range> layers, std::vector<int> const& my_stages, extents largest,
              std::uint64_t seed, Space const& space = Space{}, int gradient_groups = 1)
      : largest_(largest),
        space_(space),
        blas_(space),
        store_(gradient_groups),
        buffers_(std::move(layers), largest),
        crossing_(largest) {
    for (int const stage : my_stages) {
      int const first_entry = store_.add_stage(stage, describe(buffers_.range_of(stage)));
      stage_layout const& layout = buffers_.add(stage, first_entry);
      for (layer_layout const& each : layout.layers)
        layer_of_entry_.insert(layer_of_entry_.end(), static_cast<std::size_t>(each.entries), each.number);
      has_embedding_ = has_embedding_ || layout.has_embedding;
      has_head_ = has_head_ || layout.has_head;
    }
    buffers_.make_workspace();
    sheets_.lay_out(largest_, has_embedding_, has_head_);
    store_.initialize(seed);
  }

  /// Drops elements of embedding, attention and branches with this probability while training; 0 at first.
  void set_dropout(double rate) {
    if constexpr (requires { Model::has_dropout; })
      if (!Model::has_dropout && rate > 0.0)
        throw error("weft::model_stage: this model has no dropout, and " + std::to_string(rate) +
                    " asks for some; set the rate to 0");
    sheets_.set_dropout(rate);
  }

  /// Parameters of any range of layers, in the order of the layers, every use site of tied ones.
  [[nodiscard]] static std::vector<parameters::parameter_descriptor> describe(topology::layer_range range) {
    return model::describe<Model>(range);
  }

  /// How devices multiply floats; in full precision at first. See blas::math_mode.
  void set_math_mode(blas::math_mode mode) {
    blas_.set_math_mode(mode);
    calls_.forget();
  }

  /// Whether calls are recorded and replayed (execution/graph.hpp); off at first. Bits do not depend on it. Throws
  /// weft::error where the space's BLAS cannot be recorded.
  void set_capture(bool is_on) {
    if (is_on) blas_.check_recordable();
    calls_.enable(is_on);
  }
  /// How many calls ran as they are, were recorded, and were replayed.
  [[nodiscard]] typename execution::call_graphs<Space>::counts const& captures() const { return calls_.seen(); }

  /// What the loss is multiplied by before backward, so that small gradients have room in 16 bits; 1 at first. From the
  /// next backward on.
  void set_loss_scale(double scale) { sheets_.set_loss_scale(scale); }

  /// What leaves the edge's source: [sequences][length][width] of `wire` between two layers, nothing before the first
  /// layer and after the last one.
  [[nodiscard]] weft::boundary boundary(topology::edge const& edge) const {
    return crossing_.boundary(buffers_.range_of(edge.source).last);
  }

  /// Makes room for the program's slots; called once per program, keeps the largest of each. Nothing is allocated while
  /// a program is played that was prepared for: on a device that would wait for all that is under way.
  void prepare(int stage, schedule::slot_counts const& slots) {
    stage_type& data = buffers_[stage];
    data.activations.grow((std::max)(1, slots.activation));
    data.weight_contexts.grow(slots.weight_context);
    crossing_.make_rooms(data.layout.range, slots.weight_context > 0);
  }

  /// The same for B of a stage, where the program has it.
  void prepare_backward(int stage) {
    topology::layer_range const range = buffers_[stage].layout.range;
    if (range.size() > 0) buffers_.make_both_halves();
    crossing_.make_rooms(range, true);
  }

  /// Copies the batch's tokens to the execution space and checks them; call before a program is played. Throws
  /// weft::error if the batch does not fit the extents or names tokens that the vocabulary lacks.
  void begin(token_batch const& batch) { begin(std::span<token_batch const>(&batch, 1)); }

  /// The same for a program that plays several batches, one or more: its micro-batches are those of the first one, then
  /// those of the next, of each equally many.
  void begin(std::span<token_batch const> batches) {
    for (token_batch const& each : batches)
      check_batch<Model>(each, largest_, store_.gradient_groups(), has_embedding_, has_head_);
    sheets_.begin(space_, batches);
    losses_.begin(space_, sheets_.batches().micro_batches());
    execution::fence(space_, "weft::begin");
  }

  void forward(context_type& where, views const& in, views& out) {
    stage_type& data = begin_call(where);
    topology::layer_range const range = data.layout.range;
    extents const size = sheets_.batches()[where.micro_batch()].size();
    if (range.size() == 0) {
      crossing_type::hand_on(where.space(), in, out, range.last, size);
      return;
    }
    std::byte* const slot = data.activations[where.slot()];
    real* const leaves = crossing_.open(out, range.last, size);
    call(schedule::op::forward, where, data, addresses_of(in, out), [&](context_type const& here) {
      real const* from = crossing_.read(here.space(), in, room::fed, range.first, size);
      for (layer_layout const& each : data.layout.layers) {
        bool const is_last_here = each.number + 1 == range.last;
        real* const to = is_last_here ? leaves : reinterpret_cast<real*>(slot + each.output);
        auto const inner = make_context(here, each, size);
        visit(each.number, [&](auto layer) { decltype(layer)::type::forward(inner, from, to, slot + each.saved); });
        from = to;
        here.progress();
      }
      crossing_.send_off(here.space(), leaves, out, range.last, size);
    });
    if (range.last == Model::layer_count) {
      last_head_ = {where.stage(), where.slot(), size};
      sheets_.now().keep_loss(where.space(), losses_.of(where.micro_batch()));
    }
  }

  /// B: both halves of one layer after the other, so that one layer's weight context is alive at a time. The same bits
  /// as I and then W, since no layer's halves read what another layer's write.
  void backward(context_type& where, views const& in, views const& grad_out, views& grad_in) {
    stage_type& data = begin_call(where);
    topology::layer_range const range = data.layout.range;
    extents const size = sheets_.batches()[where.micro_batch()].size();
    if (range.size() == 0) {
      crossing_type::hand_on(where.space(), grad_out, grad_in, range.first, size);
      return;
    }
    real* const leaves = crossing_.open(grad_in, range.first, size);
    buffers_.make_both_halves();
    arena both = buffers_.both_halves();
    real* gradients[2] = {};  // of what lies between two layers: the one that is read and the one that is written
    for (real*& each : gradients) each = both.take<real>(Model::boundary_elements(largest_));
    std::byte* const kept = both.take<std::byte>(0);
    call(schedule::op::backward, where, data, addresses_of(in, grad_out, grad_in), [&](context_type const& here) {
      real const* from = crossing_.read(here.space(), grad_out, room::gradient, range.last, size);
      for (std::size_t index = data.layout.layers.size(); index-- > 0;) {
        real* const to = index == 0 ? leaves : gradients[index % 2];
        call_backward(here, data, index, in, size,
                      [&](auto layer, auto const& inner, real const* fed, std::byte* saved) {
                        decltype(layer)::type::backward_input(inner, fed, from, to, saved, kept);
                        decltype(layer)::type::backward_weight(inner, fed, from, saved, kept);
                      });
        from = to;
        here.progress();
      }
      crossing_.send_off(here.space(), leaves, grad_in, range.first, size);
    });
  }

  /// I: the gradient of the stage's input, and in the weight-context slot what W will need.
  void backward_input(context_type& where, views const& in, views const& grad_out, views& grad_in) {
    stage_type& data = begin_call(where);
    data.weight_contexts.grow(where.weight_slot() + 1);
    topology::layer_range const range = data.layout.range;
    extents const size = sheets_.batches()[where.micro_batch()].size();
    if (range.size() == 0) {
      crossing_type::hand_on(where.space(), grad_out, grad_in, range.first, size);
      return;
    }
    real* const leaves = crossing_.open(grad_in, range.first, size);
    std::byte* const kept = data.weight_contexts[where.weight_slot()];
    call(schedule::op::backward_input, where, data, addresses_of(in, grad_out, grad_in), [&](context_type const& here) {
      real const* from = crossing_.read(here.space(), grad_out, room::gradient, range.last, size);
      for (std::size_t index = data.layout.layers.size(); index-- > 0;) {
        layer_layout const& each = data.layout.layers[index];
        real* const to = index == 0 ? leaves : reinterpret_cast<real*>(kept + each.grad_in);
        call_backward(here, data, index, in, size,
                      [&](auto layer, auto const& inner, real const* fed, std::byte* saved) {
                        decltype(layer)::type::backward_input(inner, fed, from, to, saved, kept + each.kept);
                      });
        from = to;
        here.progress();
      }
      crossing_.send_off(here.space(), leaves, grad_in, range.first, size);
    });
  }

  /// W: adds this micro-batch's share to the weight gradients.
  void backward_weight(context_type& where, views const& in, views const& grad_out) {
    stage_type& data = begin_call(where);
    topology::layer_range const range = data.layout.range;
    if (range.size() == 0) return;
    extents const size = sheets_.batches()[where.micro_batch()].size();
    std::byte* const kept = data.weight_contexts[where.weight_slot()];
    call(schedule::op::backward_weight, where, data, addresses_of(in, grad_out), [&](context_type const& here) {
      auto const& layers = data.layout.layers;
      real const* const arrived = crossing_.read(here.space(), grad_out, room::gradient, range.last, size);
      for (std::size_t index = layers.size(); index-- > 0;) {
        bool const is_last_here = index + 1 == layers.size();
        real const* const from =
            is_last_here ? arrived : reinterpret_cast<real const*>(kept + layers[index + 1].grad_in);
        call_backward(here, data, index, in, size,
                      [&](auto layer, auto const& inner, real const* fed, std::byte* saved) {
                        decltype(layer)::type::backward_weight(inner, fed, from, saved, kept + layers[index].kept);
                      });
        here.progress();
      }
    });
  }

  /// For each entry of `parameters()`, the layer it belongs to.
  [[nodiscard]] std::vector<int> const& layer_of_entry() const { return layer_of_entry_; }
  [[nodiscard]] store_type& parameters() { return store_; }
  [[nodiscard]] store_type const& parameters() const { return store_; }

  /// Sum of -log p over the counted tokens of each micro-batch, ascending; zeros where this rank has no head. Waits for
  /// the last F.
  [[nodiscard]] std::vector<double> const& loss_sums() {
    if (has_head_) losses_.fetch(space_);
    return losses_.on_host();
  }

  /// Logits [vocabulary] at a position of a sequence of the micro-batch whose F the head ran last. Only on the head's
  /// rank, and before that micro-batch's backward.
  void last_logits(int sequence, int position, float* host_out) {
    check_has_logits(last_head_, sequence, position);
    stage_type const& data = buffers_[last_head_.stage];
    layer_layout const& head = data.layout.layers.back();
    std::byte* const saved = data.activations[last_head_.slot] + head.saved;
    visit(head.number, [&](auto layer) {
      using layer_type = typename decltype(layer)::type;
      if constexpr (layer_type::is_last)
        copy_logits<layer_type, real, memory_space>(saved, last_head_.size, sequence, position, host_out);
    });
  }

  /// Bytes that this rank holds for activations, weight contexts and workspace together, that of the device's BLAS too.
  /// What a driver takes for recorded calls nobody tells.
  [[nodiscard]] std::size_t buffer_bytes() const {
    return buffers_.bytes() + crossing_.bytes() + blas::handle<Space>::workspace_bytes;
  }

 private:
  using stage_type = stage_buffers<memory_space>;
  using crossing_type = stage_crossing<Model, Number, Space>;
  using room = typename crossing_type::room;

  template <class Visitor>
  static void visit(int layer, Visitor&& visitor) {
    Model::visit(layer, [&](auto tag, int) { visitor(tag); });
  }

  stage_type& begin_call(context_type const& where) {
    stage_type& data = buffers_.of(where);
    blas_.bind(where.space());
    sheets_.take(where.space(), where.micro_batch(), data.layout.reads_tokens());
    return data;
  }

  /// Of the messages that cross the stage's edges in one call; null where there is none.
  using addresses = std::array<void const*, 3>;
  template <class... Views>
  static addresses addresses_of(Views const&... sides) {
    return {crossing_type::address(sides)...};
  }

  /// One call of the stage: see replayed_calls.
  template <class Queue>
  void call(schedule::op what, context_type const& where, stage_type const& data, addresses const& messages,
            Queue const& queue) {
    auto const write = [&](call_key& key) {
      auto const which = sheets_.batches()[where.micro_batch()];
      extents const size = which.size();
      for (int const number : {static_cast<int>(what), where.stage(), where.slot(), where.weight_slot(),
                               which.accumulator(), size.sequences_per_micro_batch, size.sequence_length})
        key.add(number);
      key.add(sheets_.dropout_rate(which.batch));
      for (void const* const each : messages) key.add(each);
      buffers_.add_addresses_to(key, data);
      crossing_.add_rooms_to(key);
      auto const& entries = store_.entries();
      for (layer_layout const& each : data.layout.layers)  // a tied value has versions of its own
        for (int index = 0; index < each.entries; ++index)
          key.add(store_.compute_value(entries[static_cast<std::size_t>(each.first_entry + index)], where.weights_age())
                      .data());
    };
    calls_.run(where, write, queue);
  }

  layer_context<real, Space> make_context(context_type const& where, layer_layout const& layer, extents size) {
    auto const which = sheets_.batches()[where.micro_batch()];
    layer_context<real, Space> made{.stage = where,
                                    .blas = blas_,
                                    .size = size,
                                    .parameters = {},
                                    .workspace = buffers_.workspace(),
                                    .dropout = {}};
    auto const& entries = store_.entries();
    int const group = which.accumulator();
    for (int index = 0; index < layer.entries; ++index) {
      auto const& entry = entries[static_cast<std::size_t>(layer.first_entry + index)];
      made.parameters.value[index] = store_.compute_value(entry, where.weights_age()).data();
      made.parameters.gradient[index] = store_.gradient(entry, group).data();
    }
    call_sheets<Space> const& now = sheets_.now();
    if (has_embedding_) made.inputs = now.inputs();
    if (has_head_) {
      made.targets = now.targets();
      made.loss_sum = now.loss();
    }
    made.now = now.values();
    made.dropout = sheets_.keys_of(which, layer.number);
    return made;
  }

  /// What both halves of backward need of one layer: its input (the stage's, or its predecessor's output) and what F
  /// kept.
  template <class Call>
  void call_backward(context_type const& where, stage_type& data, std::size_t index, views const& in, extents size,
                     Call const& call) {
    auto const& layers = data.layout.layers;
    std::byte* const slot = data.activations[where.slot()];
    real const* const fed = index == 0 ? crossing_.read(where.space(), in, room::fed, data.layout.range.first, size)
                                       : reinterpret_cast<real const*>(slot + layers[index - 1].output);
    auto const inner = make_context(where, layers[index], size);
    visit(layers[index].number, [&](auto layer) { call(layer, inner, fed, slot + layers[index].saved); });
  }

  extents largest_;
  Space space_;
  blas::handle<Space> blas_;
  store_type store_;
  std::vector<int> layer_of_entry_;
  rank_buffers<Model, real, Space> buffers_;
  crossing_type crossing_;
  program_sheets<Space> sheets_;
  model::loss_sums<Space> losses_;
  head_call last_head_;
  replayed_calls<Space> calls_;
  bool has_embedding_ = false;
  bool has_head_ = false;
};

}  // namespace weft::inline v1::model
