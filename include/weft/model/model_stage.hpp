// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// A model as the engine sees it: any ranges of a chain's layers as pipeline stages, with split backward. Larger than
/// most headers, since it is the one place where slots, parameters, tokens and layers meet.

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/execution/allocate.hpp>
#include <weft/execution/blas.hpp>
#include <weft/execution/graph.hpp>
#include <weft/execution/kokkos.hpp>
#include <weft/execution/math_mode.hpp>
#include <weft/execution/reduced.hpp>
#include <weft/model/arena.hpp>
#include <weft/model/call_sheets.hpp>
#include <weft/model/call_values.hpp>
#include <weft/model/chain.hpp>
#include <weft/model/layer_context.hpp>
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
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft::inline v1::model {

namespace kernels {

template <class From, class To>
struct convert {
  static constexpr char const* label = "weft::convert";
  From const* from;
  To* to;

  KOKKOS_INLINE_FUNCTION void operator()(std::int64_t index) const {
    to[index] = static_cast<To>(static_cast<execution::wide<To>>(execution::widen(from[index])));
  }
};

}  // namespace kernels

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
      : layers_(std::move(layers)),
        largest_(largest),
        space_(space),
        blas_(space),
        store_(gradient_groups),
        stages_(layers_.size()) {
    check_layers();
    std::size_t scratch = 0;
    for (int const stage : my_stages) {
      if (stage < 0 || stage >= static_cast<int>(layers_.size()))
        throw error("weft::model_stage: stage " + std::to_string(stage) + " does not exist; there are " +
                        std::to_string(layers_.size()),
                    {.stage = stage});
      scratch = (std::max)(scratch, lay_out(stage));
    }
    workspace_ = execution::allocate<bytes>("weft::workspace", scratch, Kokkos::WithoutInitializing);
    sheets_.lay_out(largest_.tokens(), has_embedding_, has_head_);
    store_.initialize(seed);
  }

  /// Drops elements of embedding, attention and branches with this probability while training; 0 at first.
  void set_dropout(double rate) {
    if (!(rate >= 0.0 && rate < 1.0))
      throw error("weft::model_stage: the dropout rate " + std::to_string(rate) +
                  " is no probability below 1; choose one from 0 to 0.99");
    if constexpr (requires { Model::has_dropout; })
      if (!Model::has_dropout && rate > 0.0)
        throw error("weft::model_stage: this model has no dropout, and " + std::to_string(rate) +
                    " asks for some; set the rate to 0");
    dropout_rate_ = rate;
  }

  /// Parameters of any range of layers, in the order of the layers, every use site of tied ones.
  [[nodiscard]] static std::vector<parameters::parameter_descriptor> describe(topology::layer_range range) {
    std::vector<parameters::parameter_descriptor> all;
    for (int layer = range.first; layer < range.last; ++layer)
      for (auto& each : describe(layer)) all.push_back(std::move(each));
    return all;
  }

  /// How devices multiply floats; in full precision at first. See blas::math_mode.
  void set_math_mode(blas::math_mode mode) {
    blas_.set_math_mode(mode);
    graphs_.forget();
  }

  /// Whether calls are recorded and replayed (execution/graph.hpp); off at first. Bits do not depend on it. Throws
  /// weft::error where the space's BLAS cannot be recorded.
  void set_capture(bool is_on) {
    if (is_on) blas_.check_recordable();
    graphs_.enable(is_on);
  }
  /// How many calls ran as they are, were recorded, and were replayed.
  [[nodiscard]] typename execution::call_graphs<Space>::counts const& captures() const { return graphs_.seen(); }

  /// What the loss is multiplied by before backward, so that small gradients have room in 16 bits; 1 at first. From the
  /// next backward on.
  void set_loss_scale(double scale) {
    has_old_scale_ = has_old_scale_ || scale != loss_scale_;
    loss_scale_ = scale;
  }

  /// What leaves the edge's source: [sequences][length][width] of `wire` between two layers, nothing before the first
  /// layer and after the last one.
  [[nodiscard]] weft::boundary boundary(topology::edge const& edge) const {
    int const position = layers_[static_cast<std::size_t>(edge.source)].last;
    weft::boundary result;
    result.add(scalar_of<wire>, is_between_layers(position) ? Model::boundary_elements(largest_) : 0);
    return result;
  }

  /// Makes room for the program's slots; called once per program, keeps the largest of each. Nothing is allocated while
  /// a program is played that was prepared for: on a device that would wait for all that is under way.
  void prepare(int stage, schedule::slot_counts const& slots) {
    stage_data& data = stages_[static_cast<std::size_t>(stage)];
    grow(data.activations, data.activation_slots, (std::max)(1, slots.activation), data.activation_bytes,
         "weft::activations");
    if (slots.weight_context > 0) make_weight_slots(data, slots.weight_context);
    make_rooms(data, slots.weight_context > 0);
  }

  /// The same for B of a stage, where the program has it.
  void prepare_backward(int stage) {
    stage_data const& data = stages_[static_cast<std::size_t>(stage)];
    if (!data.layers.empty()) make_both_halves();
    make_rooms(data, true);
  }

  /// Copies the batch's tokens to the execution space and checks them; call before a program is played. Throws
  /// weft::error if the batch does not fit the extents or names tokens that the vocabulary lacks.
  void begin(token_batch const& batch) { begin(std::span<token_batch const>(&batch, 1)); }

  /// The same for a program that plays several batches, one or more: its micro-batches are those of the first one, then
  /// those of the next, of each equally many.
  void begin(std::span<token_batch const> batches) {
    for (token_batch const& each : batches) {
      check_batch(each);
      if (each.micro_batches != batches[0].micro_batches)
        throw error("weft::model_stage: one program plays batches of " + std::to_string(batches[0].micro_batches) +
                    " and of " + std::to_string(each.micro_batches) +
                    " micro-batches; cut all of them into equally many");
    }
    batches_.assign(batches.begin(), batches.end());
    std::size_t const micro_batches = batches.size() * static_cast<std::size_t>(batches[0].micro_batches);
    execution::fence(space_, "weft::begin");  // calls of the program before may still read their sheets
    sheets_.begin(micro_batches);
    for (std::size_t index = 0; index < micro_batches; ++index) fill_tokens(index);
    send_sheets(space_);
    if (loss_sums_.extent(0) < micro_batches) {
      loss_sums_ = decltype(loss_sums_)("weft::loss_sums", micro_batches);
      loss_sums_host_ = Kokkos::create_mirror_view(loss_sums_);
    }
    host_sums_.assign(micro_batches, 0.0);
    Kokkos::deep_copy(space_, loss_sums_, 0.0);
    execution::fence(space_, "weft::begin");
  }

  void forward(context_type& where, views const& in, views& out) {
    stage_data& data = begin_call(where);
    extents const size = size_of(where.micro_batch());
    std::byte* const slot = data.activations.data() + data.activation_bytes * static_cast<std::size_t>(where.slot());
    if (data.layers.empty()) {
      copy(where.space(), in, out, data.range.last, size);
      return;
    }
    real* const leaves = output(out, data.range.last, size);
    call(schedule::op::forward, where, data, size, {address(in), address(out)}, [&](context_type const& here) {
      real const* from = input(here, in, fed_room, data.range.first, size);
      for (layer_place const& place : data.layers) {
        bool const is_last_here = place.number + 1 == data.range.last;
        real* const to = is_last_here ? leaves : reinterpret_cast<real*>(slot + place.output);
        auto const inner = make_context(here, data, place, size);
        visit(place.number, [&](auto layer) { decltype(layer)::type::forward(inner, from, to, slot + place.saved); });
        from = to;
        here.progress();
      }
      send_off(here, leaves, out, data.range.last, size);
    });
    if (data.range.last == Model::layer_count) {
      last_forward_ = {where.stage(), where.slot(), size};
      sheets_.keep_loss(where.space(), loss_sums_.data() + where.micro_batch());
    }
  }

  /// B: both halves of one layer after the other, so that one layer's weight context is alive at a time. The same bits
  /// as I and then W, since no layer's halves read what another layer's write.
  void backward(context_type& where, views const& in, views const& grad_out, views& grad_in) {
    stage_data& data = begin_call(where);
    extents const size = size_of(where.micro_batch());
    if (data.layers.empty()) {
      copy(where.space(), grad_out, grad_in, data.range.first, size);
      return;
    }
    real* const leaves = output(grad_in, data.range.first, size);
    make_both_halves();
    arena room(both_halves_.data());
    real* gradients[2] = {};  // of what lies between two layers: the one that is read and the one that is written
    for (real*& each : gradients) each = room.take<real>(Model::boundary_elements(largest_));
    std::byte* const kept = room.take<std::byte>(0);
    places const buffers{address(in), address(grad_out), address(grad_in)};
    call(schedule::op::backward, where, data, size, buffers, [&](context_type const& here) {
      real const* from = input(here, grad_out, gradient_room, data.range.last, size);
      for (std::size_t index = data.layers.size(); index-- > 0;) {
        real* const to = index == 0 ? leaves : gradients[index % 2];
        call_backward(here, data, index, in, size,
                      [&](auto layer, auto const& inner, real const* fed, std::byte* saved) {
                        decltype(layer)::type::backward_input(inner, fed, from, to, saved, kept);
                        decltype(layer)::type::backward_weight(inner, fed, from, saved, kept);
                      });
        from = to;
        here.progress();
      }
      send_off(here, leaves, grad_in, data.range.first, size);
    });
  }

  /// I: the gradient of the stage's input, and in the weight-context slot what W will need.
  void backward_input(context_type& where, views const& in, views const& grad_out, views& grad_in) {
    stage_data& data = begin_call(where);
    make_weight_slots(data, where.weight_slot() + 1);
    extents const size = size_of(where.micro_batch());
    if (data.layers.empty()) {
      copy(where.space(), grad_out, grad_in, data.range.first, size);
      return;
    }
    real* const leaves = output(grad_in, data.range.first, size);
    std::byte* const kept = weight_slot(data, where);
    places const buffers{address(in), address(grad_out), address(grad_in)};
    call(schedule::op::backward_input, where, data, size, buffers, [&](context_type const& here) {
      real const* from = input(here, grad_out, gradient_room, data.range.last, size);
      for (std::size_t index = data.layers.size(); index-- > 0;) {
        layer_place const& place = data.layers[index];
        real* const to = index == 0 ? leaves : reinterpret_cast<real*>(kept + place.grad_in);
        call_backward(here, data, index, in, size,
                      [&](auto layer, auto const& inner, real const* fed, std::byte* saved) {
                        decltype(layer)::type::backward_input(inner, fed, from, to, saved, kept + place.kept);
                      });
        from = to;
        here.progress();
      }
      send_off(here, leaves, grad_in, data.range.first, size);
    });
  }

  /// W: adds this micro-batch's share to the weight gradients.
  void backward_weight(context_type& where, views const& in, views const& grad_out) {
    stage_data& data = begin_call(where);
    if (data.layers.empty()) return;
    extents const size = size_of(where.micro_batch());
    std::byte* const kept = weight_slot(data, where);
    places const buffers{address(in), address(grad_out)};
    call(schedule::op::backward_weight, where, data, size, buffers, [&](context_type const& here) {
      real const* const arrived = input(here, grad_out, gradient_room, data.range.last, size);
      for (std::size_t index = data.layers.size(); index-- > 0;) {
        bool const is_last_here = index + 1 == data.layers.size();
        real const* const from =
            is_last_here ? arrived : reinterpret_cast<real const*>(kept + data.layers[index + 1].grad_in);
        call_backward(here, data, index, in, size,
                      [&](auto layer, auto const& inner, real const* fed, std::byte* saved) {
                        decltype(layer)::type::backward_weight(inner, fed, from, saved, kept + data.layers[index].kept);
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
    if (has_head_) {
      Kokkos::deep_copy(space_, loss_sums_host_, loss_sums_);
      execution::fence(space_, "weft::loss_sums");
      for (std::size_t index = 0; index < host_sums_.size(); ++index) host_sums_[index] = loss_sums_host_(index);
    }
    return host_sums_;
  }

  /// Logits [vocabulary] at a position of a sequence of the micro-batch whose F the head ran last. Only on the head's
  /// rank, and before that micro-batch's backward.
  void last_logits(int sequence, int position, float* host_out) {
    int const stage = last_forward_.stage;
    extents const size = last_forward_.size;
    if (stage < 0 || sequence < 0 || sequence >= size.sequences_per_micro_batch || position < 0 ||
        position >= size.sequence_length)
      throw error("weft::model_stage: there are no logits for sequence " + std::to_string(sequence) + ", position " +
                  std::to_string(position) + "; ask the rank of the head, for a micro-batch that ran last");
    stage_data& data = stages_[static_cast<std::size_t>(stage)];
    layer_place const& place = data.layers.back();
    std::byte* const saved =
        data.activations.data() + data.activation_bytes * static_cast<std::size_t>(last_forward_.slot) + place.saved;
    visit(place.number, [&](auto layer) {
      using layer_type = typename decltype(layer)::type;
      if constexpr (layer_type::is_last) {
        std::size_t const columns = static_cast<std::size_t>(layer_type::vocabulary);
        std::size_t const row = static_cast<std::size_t>(sequence) * static_cast<std::size_t>(size.sequence_length) +
                                static_cast<std::size_t>(position);
        Kokkos::View<real const*, memory_space, Kokkos::MemoryUnmanaged> const on_device(
            layer_type::template logits<real>(saved, size) + row * columns, columns);
        auto const host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace{}, on_device);
        for (std::size_t index = 0; index < columns; ++index) host_out[index] = static_cast<float>(host(index));
      }
    });
  }

  /// Bytes that this rank holds for activations, weight contexts and workspace together.
  [[nodiscard]] std::size_t buffer_bytes() const {
    std::size_t sum = workspace_.extent(0) + both_halves_.extent(0);
    for (stage_data const& each : stages_) sum += each.activations.extent(0) + each.weight_contexts.extent(0);
    for (auto const& each : rooms_) sum += each.extent(0) * sizeof(real);
    return sum;
  }

 private:
  using bytes = Kokkos::View<std::byte*, memory_space>;
  using sum_view = Kokkos::View<double*, memory_space>;

  /// Where a layer's things lie in its stage's slots, in bytes from the slot's begin.
  struct layer_place {
    int number = 0;       ///< in the whole model
    int first_entry = 0;  ///< of its parameters in the store
    int entries = 0;
    std::size_t saved = 0;    ///< in the activation slot
    std::size_t output = 0;   ///< in the activation slot, unless it is the stage's last layer
    std::size_t kept = 0;     ///< in the weight-context slot
    std::size_t grad_in = 0;  ///< in the weight-context slot, unless it is the stage's first layer
  };

  struct stage_data {
    bool is_mine = false;
    bool reads_tokens = false;  ///< or the loss scale: has an embedding or the head
    topology::layer_range range{};
    std::vector<layer_place> layers;
    std::size_t activation_bytes = 0;
    std::size_t weight_bytes = 0;
    int activation_slots = 0;
    int weight_slots = 0;
    bytes activations;
    bytes weight_contexts;
  };

  struct last_forward {
    int stage = -1;
    int slot = 0;
    extents size;
  };

  template <class Visitor>
  static void visit(int layer, Visitor&& visitor) {
    Model::visit(layer, [&](auto tag, int) { visitor(tag); });
  }
  static std::vector<parameters::parameter_descriptor> describe(int layer) {
    return Model::visit(layer, [](auto tag, int index) { return decltype(tag)::type::describe(index); });
  }
  static bool is_between_layers(int position) { return position > 0 && position < Model::layer_count; }

  /// The rule is the partition's own: among others, no empty stage at either end, since the ranks of the first and the
  /// last stage take part in the reduction of tied gradients.
  void check_layers() const {
    std::vector<int> sizes;
    int next = 0;
    for (std::size_t stage = 0; stage < layers_.size(); ++stage) {
      if (layers_[stage].first != next)
        throw error("weft::model_stage: stage " + std::to_string(stage) + " has layers [" +
                        std::to_string(layers_[stage].first) + ", " + std::to_string(layers_[stage].last) +
                        "), but must begin with layer " + std::to_string(next) +
                        "; give every stage the range that follows its predecessor's",
                    {.stage = static_cast<int>(stage)});
      next = layers_[stage].last;
      sizes.push_back(layers_[stage].size());
    }
    auto const check = topology::check_sizes(sizes.data(), static_cast<int>(sizes.size()), Model::layer_count);
    if (!check.legal()) throw error(topology::explain(check), {.stage = check.stage});
    if (largest_.sequences_per_micro_batch < 0 || largest_.sequence_length < 1 ||
        largest_.sequence_length > Model::positions)
      throw error("weft::model_stage: sequences of " + std::to_string(largest_.sequence_length) +
                  " tokens do not fit the model's " + std::to_string(Model::positions) +
                  " positions; choose a length from 1 to that");
  }

  /// Some layers work otherwise on a device, with less scratch than a plan announces.
  template <class Layer>
  [[nodiscard]] std::size_t workspace_of() const {
    if constexpr (requires { Layer::template workspace_bytes<real, Space>(largest_); }) {
      return Layer::template workspace_bytes<real, Space>(largest_);
    } else {
      return Layer::template workspace_bytes<real>(largest_);
    }
  }

  /// Registers a stage's parameters, finds its layout, returns the workspace that it needs.
  std::size_t lay_out(int stage) {
    stage_data& data = stages_[static_cast<std::size_t>(stage)];
    data.is_mine = true;
    data.range = layers_[static_cast<std::size_t>(stage)];
    int entry = store_.add_stage(stage, describe(data.range));
    std::size_t scratch = 0;
    arena saved;
    arena kept;
    for (int number = data.range.first; number < data.range.last; ++number) {
      layer_place place;
      place.number = number;
      place.first_entry = entry;
      place.entries = static_cast<int>(describe(number).size());
      if (place.entries > layer_parameters<real>::most)
        throw error("weft::model_stage: layer " + std::to_string(number) + " describes " +
                        std::to_string(place.entries) + " parameters, and a layer may have " +
                        std::to_string(layer_parameters<real>::most) + "; cut it into several layers",
                    {.stage = stage});
      entry += place.entries;
      layer_of_entry_.insert(layer_of_entry_.end(), static_cast<std::size_t>(place.entries), number);
      visit(number, [&](auto tag) {
        using layer = typename decltype(tag)::type;
        has_embedding_ = has_embedding_ || layer::is_first;
        has_head_ = has_head_ || layer::is_last;
        data.reads_tokens = data.reads_tokens || layer::is_first || layer::is_last;
        place.saved = saved.used();
        static_cast<void>(
            saved.take<std::byte>(static_cast<std::int64_t>(layer::template saved_bytes<real>(largest_))));
        place.output = saved.used();
        if (number + 1 < data.range.last) static_cast<void>(saved.take<real>(layer::output_elements(largest_)));
        arena one_layer;
        for (int gradient = 0; gradient < 2; ++gradient)
          static_cast<void>(one_layer.take<real>(Model::boundary_elements(largest_)));
        static_cast<void>(
            one_layer.take<std::byte>(static_cast<std::int64_t>(layer::template weight_context_bytes<real>(largest_))));
        both_halves_bytes_ = (std::max)(both_halves_bytes_, one_layer.used());
        place.kept = kept.used();
        static_cast<void>(
            kept.take<std::byte>(static_cast<std::int64_t>(layer::template weight_context_bytes<real>(largest_))));
        place.grad_in = kept.used();
        if (number > data.range.first) static_cast<void>(kept.take<real>(Model::boundary_elements(largest_)));
        scratch = (std::max)(scratch, workspace_of<layer>());
      });
      data.layers.push_back(place);
    }
    data.activation_bytes = saved.used();
    data.weight_bytes = kept.used();
    return scratch;
  }

  static void grow(bytes& buffer, int& slots, int wanted, std::size_t slot_bytes, char const* label) {
    if (wanted <= slots) return;
    slots = wanted;
    buffer = bytes();  // gives the old one back first
    buffer =
        execution::allocate<bytes>(label, slot_bytes * static_cast<std::size_t>(wanted), Kokkos::WithoutInitializing);
  }
  static void make_weight_slots(stage_data& data, int wanted) {
    grow(data.weight_contexts, data.weight_slots, wanted, data.weight_bytes, "weft::weight_contexts");
  }
  void make_both_halves() {
    if (both_halves_.extent(0) < both_halves_bytes_)
      both_halves_ =
          execution::allocate<bytes>("weft::weight_context", both_halves_bytes_, Kokkos::WithoutInitializing);
  }
  static std::byte* weight_slot(stage_data& data, context_type const& where) {
    return data.weight_contexts.data() + data.weight_bytes * static_cast<std::size_t>(where.weight_slot());
  }

  void check_batch(token_batch const& batch) const {
    auto const refuse = [](std::string const& message) { throw error("weft::model_stage: " + message); };
    if (batch.micro_batches < 1 || batch.sequences < 0)
      refuse("a batch of " + std::to_string(batch.sequences) + " sequences cannot be cut into " +
             std::to_string(batch.micro_batches) + " micro-batches; name at least one");
    if (batch.groups < 1 || batch.copies < 1 || batch.groups > store_.gradient_groups() * batch.copies ||
        batch.groups % batch.copies != 0 || batch.micro_batches % batch.groups != 0)
      refuse(std::to_string(batch.micro_batches) + " micro-batches in " + std::to_string(batch.groups) +
             " gradient groups, where there are accumulators for " +
             std::to_string(store_.gradient_groups() * batch.copies) +
             "; use that many groups or fewer, of equally many micro-batches");
    if (batch.sequence_length < 1 || batch.sequence_length > largest_.sequence_length)
      refuse("sequences have " + std::to_string(batch.sequence_length) + " tokens, buffers are for " +
             std::to_string(largest_.sequence_length) + "; raise extents::sequence_length or cut the sequences");
    if (micro_batch_range(batch, 0).count > largest_.sequences_per_micro_batch)
      refuse("a micro-batch has " + std::to_string(micro_batch_range(batch, 0).count) + " sequences, buffers are for " +
             std::to_string(largest_.sequences_per_micro_batch) +
             "; raise extents::sequences_per_micro_batch or the number of micro-batches");
    std::int64_t const count = static_cast<std::int64_t>(batch.sequences) * batch.sequence_length;
    if (has_embedding_) check_tokens(batch.inputs, count, 0, "input");
    if (has_head_) check_tokens(batch.targets, count, -1, "target");
  }
  static void check_tokens(std::int32_t const* tokens, std::int64_t count, std::int32_t smallest, char const* what) {
    for (std::int64_t index = 0; index < count; ++index)
      if (tokens[index] < smallest || tokens[index] >= Model::vocabulary)
        throw error("weft::model_stage: " + std::string(what) + " number " + std::to_string(index) + " is " +
                    std::to_string(tokens[index]) + ", outside the vocabulary of " + std::to_string(Model::vocabulary) +
                    "; check how the text was made into tokens");
  }

  void fill_tokens(std::size_t index) {
    auto const [which, micro_batch] = place_of(static_cast<int>(index));
    token_batch const& batch = batches_[which];
    sequence_range const range = micro_batch_range(batch, micro_batch);
    std::int64_t const first = static_cast<std::int64_t>(range.first) * batch.sequence_length;
    std::int64_t const count = static_cast<std::int64_t>(range.count) * batch.sequence_length;
    if (has_embedding_) sheets_.set_inputs(index, batch.inputs + first, count);
    if (has_head_) sheets_.set_targets(index, batch.targets + first, count);
  }
  void send_sheets(Space const& space) {
    std::size_t const count = batches_.size() * static_cast<std::size_t>(batches_[0].micro_batches);
    for (std::size_t index = 0; index < count; ++index) {
      auto const [which, micro_batch] = place_of(static_cast<int>(index));
      token_batch const& batch = batches_[which];
      sheets_.set_values(
          index,
          call_values::make(keys_of(batch, micro_batch, 0),
                            batch.counted_tokens > 0 ? loss_scale_ / static_cast<double>(batch.counted_tokens) : 0.0));
    }
    has_old_scale_ = false;
    sheets_.upload(space);
  }

  /// Of one layer in a call.
  [[nodiscard]] dropout_keys keys_of(token_batch const& batch, int micro_batch, int layer) const {
    return {batch.training ? dropout_rate_ : 0.0, batch.seed, batch.step,
            batch.first_sequence + micro_batch_range(batch, micro_batch).first, layer};
  }

  stage_data& begin_call(context_type const& where) {
    stage_data& data = stages_[static_cast<std::size_t>(where.stage())];
    if (!data.is_mine)
      throw error("weft::model_stage: stage " + std::to_string(where.stage()) +
                      " was not given to this rank; name it in my_stages",
                  {.stage = where.stage(), .micro_batch = where.micro_batch()});
    if (where.slot() >= data.activation_slots)
      throw error("weft::model_stage: activation slot " + std::to_string(where.slot()) + " of stage " +
                      std::to_string(where.stage()) + " does not exist; call prepare with the program's slots",
                  {.stage = where.stage(), .micro_batch = where.micro_batch()});
    blas_.bind(where.space());
    if (has_old_scale_) {
      execution::fence(where.space(), "weft::sheets");  // what was sent last may be on its way
      send_sheets(where.space());
    }
    if (data.reads_tokens || dropout_rate_ > 0.0)
      sheets_.take(where.space(), static_cast<std::size_t>(where.micro_batch()), data.reads_tokens);
    return data;
  }

  /// The batch that a micro-batch of the program belongs to, and its number there.
  struct batch_place {
    std::size_t batch;
    int micro_batch;
  };
  [[nodiscard]] batch_place place_of(int micro_batch) const {
    int const each = batches_[0].micro_batches;
    return {static_cast<std::size_t>(micro_batch / each), micro_batch % each};
  }
  [[nodiscard]] extents size_of(int micro_batch) const {
    auto const [batch, inner] = place_of(micro_batch);
    return {micro_batch_range(batches_[batch], inner).count, batches_[batch].sequence_length};
  }

  /// Of what crosses the stage's edges in one call; 0 where there is nothing.
  using places = std::array<std::uint64_t, 3>;
  template <class Address>
  static std::uint64_t number_of(Address const* address) {
    return reinterpret_cast<std::uintptr_t>(address);
  }
  static std::uint64_t address(views const& side) {
    return side.empty() ? 0 : number_of(side[0].template view<wire>(0).data());
  }

  /// Lets `queue(context)` launch one call's kernels, or replays what it launched before. The key has all that their
  /// arguments depend on: tokens, sample, step and loss scale are on the call's sheet. A call is recorded without
  /// messages moving in its midst; around a replay the engine moves them until the device is done.
  template <class Queue>
  void call(schedule::op what, context_type const& where, stage_data const& data, extents size, places const& crossing,
            Queue const& queue) {
    if (!graphs_.is_enabled()) return queue(where);
    auto const [which, micro_batch] = place_of(where.micro_batch());
    token_batch const& batch = batches_[which];
    int const group = accumulator_of(batch, micro_batch);
    auto const& entries = store_.entries();
    key_.clear();
    for (int const number : {static_cast<int>(what), where.stage(), where.slot(), where.weight_slot(), group,
                             size.sequences_per_micro_batch, size.sequence_length})
      key_.push_back(static_cast<std::uint64_t>(number));
    key_.push_back(std::bit_cast<std::uint64_t>(batch.training ? dropout_rate_ : 0.0));
    for (std::uint64_t const each : crossing) key_.push_back(each);
    key_.push_back(number_of(data.activations.data()));
    key_.push_back(number_of(data.weight_contexts.data()));
    key_.push_back(number_of(both_halves_.data()));
    for (auto const& each : rooms_) key_.push_back(number_of(each.data()));
    for (layer_place const& place : data.layers)  // a tied value has versions of its own
      for (int index = 0; index < place.entries; ++index)
        key_.push_back(number_of(
            store_.compute_value(entries[static_cast<std::size_t>(place.first_entry + index)], where.weights_age())
                .data()));
    graphs_.run(where.space(), key_, [&](bool records) {
      if (!records) return queue(where);
      context_type calm(where.space(), nullptr);
      calm.set(where.stage(), where.micro_batch(), where.slot(), where.weight_slot(), where.weights_age());
      queue(calm);
    });
  }

  layer_context<real, Space> make_context(context_type const& where, stage_data const&, layer_place const& place,
                                          extents size) {
    auto const [which, micro_batch] = place_of(where.micro_batch());
    token_batch const& batch = batches_[which];
    layer_context<real, Space> made{.stage = where,
                                    .blas = blas_,
                                    .size = size,
                                    .parameters = {},
                                    .workspace = arena(workspace_.data()),
                                    .dropout = {}};
    auto const& entries = store_.entries();
    int const group = accumulator_of(batch, micro_batch);
    for (int index = 0; index < place.entries; ++index) {
      auto const& entry = entries[static_cast<std::size_t>(place.first_entry + index)];
      made.parameters.value[index] = store_.compute_value(entry, where.weights_age()).data();
      made.parameters.gradient[index] = store_.gradient(entry, group).data();
    }
    if (has_embedding_) made.inputs = sheets_.inputs();
    if (has_head_) {
      made.targets = sheets_.targets();
      made.loss_sum = sheets_.loss();
    }
    made.now = sheets_.values();
    made.dropout = keys_of(batch, micro_batch, place.number);
    return made;
  }

  /// What both halves of backward need of one layer: its input (the stage's, or its predecessor's output) and what F
  /// kept.
  template <class Call>
  void call_backward(context_type const& where, stage_data& data, std::size_t index, views const& in, extents size,
                     Call const& call) {
    std::byte* const slot = data.activations.data() + data.activation_bytes * static_cast<std::size_t>(where.slot());
    layer_place const& place = data.layers[index];
    real const* const fed = index == 0 ? input(where, in, fed_room, data.range.first, size)
                                       : reinterpret_cast<real const*>(slot + data.layers[index - 1].output);
    auto const inner = make_context(where, data, place, size);
    visit(place.number, [&](auto layer) { call(layer, inner, fed, slot + place.saved); });
  }

  // Where the wire has the layers' type, messages are read and written in place; else each of these is converted.
  enum : std::size_t { fed_room, gradient_room, leaving_room };
  static constexpr bool is_converted = !std::is_same_v<wire, real>;

  [[nodiscard]] static std::int64_t elements_at(int position, extents size) {
    return is_between_layers(position) ? Model::boundary_elements(size) : 0;
  }

  real* room_for(std::size_t which) {
    if (rooms_[which].extent(0) == 0)
      rooms_[which] = execution::allocate<Kokkos::View<real*, memory_space>>(
          "weft::converted", static_cast<std::size_t>(Model::boundary_elements(largest_)), Kokkos::WithoutInitializing);
    return rooms_[which].data();
  }

  /// For what F of a stage converts, and backward of it.
  void make_rooms(stage_data const& data, bool has_backward) {
    if (!is_converted || data.layers.empty()) return;
    bool const has_before = is_between_layers(data.range.first);
    bool const has_after = is_between_layers(data.range.last);
    if (has_before) room_for(fed_room);
    if (has_after && has_backward) room_for(gradient_room);
    if (has_after || (has_before && has_backward)) room_for(leaving_room);
  }

  /// What has arrived, as the layers read it.
  real const* input(context_type const& where, views const& side, std::size_t which, int position, extents size) {
    if (side.empty()) return nullptr;
    wire const* const arrived = side[0].template view<wire>(0).data();
    if constexpr (is_converted) {
      std::int64_t const elements = elements_at(position, size);
      execution::for_each(where.space(), elements, kernels::convert<wire, real>{arrived, room_for(which)});
      return room_for(which);
    } else {
      static_cast<void>(where);
      static_cast<void>(which);
      static_cast<void>(position);
      static_cast<void>(size);
      return arrived;
    }
  }

  /// Where layers put what leaves the stage at `position`; null where nothing does.
  real* output(views& side, int position, extents size) {
    if (side.empty()) return nullptr;
    side[0].set_elements(0, elements_at(position, size));
    if constexpr (is_converted)
      return room_for(leaving_room);
    else
      return side[0].template view<real>(0).data();
  }

  void send_off(context_type const& where, real const* leaves, views& side, int position, extents size) const {
    if constexpr (is_converted) {
      if (side.empty()) return;
      execution::for_each(where.space(), elements_at(position, size),
                          kernels::convert<real, wire>{leaves, side[0].template view<wire>(0).data()});
    } else {
      static_cast<void>(where);
      static_cast<void>(leaves);
      static_cast<void>(side);
      static_cast<void>(position);
      static_cast<void>(size);
    }
  }

  /// A stage without layers hands on what it got.
  static void copy(Space const& space, views const& from, views& to, int position, extents size) {
    std::int64_t const elements = elements_at(position, size);
    if (!to.empty()) to[0].set_elements(0, elements);
    if (elements == 0 || to.empty() || from.empty()) return;
    using source = Kokkos::View<wire const*, memory_space, Kokkos::MemoryUnmanaged>;
    using destination = Kokkos::View<wire*, memory_space, Kokkos::MemoryUnmanaged>;
    Kokkos::deep_copy(space, destination(to[0].template view<wire>(0).data(), static_cast<std::size_t>(elements)),
                      source(from[0].template view<wire>(0).data(), static_cast<std::size_t>(elements)));
  }

  std::vector<topology::layer_range> layers_;
  extents largest_;
  Space space_;
  blas::handle<Space> blas_;
  store_type store_;
  std::vector<int> layer_of_entry_;
  std::vector<stage_data> stages_;
  bytes workspace_;
  bytes both_halves_;  ///< of B: two gradients between layers, and one layer's weight context
  std::size_t both_halves_bytes_ = 0;
  call_sheets<Space> sheets_;
  bool has_old_scale_ = false;  ///< on the sheets that were sent
  sum_view loss_sums_;
  decltype(Kokkos::create_mirror_view(std::declval<sum_view const&>())) loss_sums_host_;
  std::vector<double> host_sums_;
  std::vector<token_batch> batches_{token_batch{}};  ///< of the program that is played
  last_forward last_forward_;
  execution::call_graphs<Space> graphs_;
  typename execution::call_graphs<Space>::key key_;  ///< of the call under way; here, so that it allocates once
  double dropout_rate_ = 0.0;
  double loss_scale_ = 1.0;
  Kokkos::View<real*, memory_space> rooms_[3];  ///< of what the wire has in another type
  bool has_embedding_ = false;
  bool has_head_ = false;
};

}  // namespace weft::inline v1::model
