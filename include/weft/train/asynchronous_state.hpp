// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/parameters/parameter_descriptor.hpp>
#include <weft/schedule/tags.hpp>
#include <weft/train/loss_scale.hpp>
#include <weft/train/state.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/guarded.hpp>
#include <weft/transport/posted.hpp>
#include <weft/transport/run_collective.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

/// @file
/// What an asynchronous run carries over a window's end beside values and moments (state.hpp): older weights that are
/// still read, gradients of tied parameters that are still to be applied, norms that later steps are clipped by. With
/// it a saved run goes on bit for bit. Which weights are old depends on the stage, so a run goes on with the stages it
/// was saved with; with others it goes on from the newest weights (`set_steps_done`), as another run.

namespace weft::inline v1::train {

/// The numbers among it.
struct carried_numbers {
  std::int64_t steps_done = 0;
  std::int64_t optimizer_steps = 0;
  std::int64_t begun_at = 0;
  std::vector<std::int64_t> applied;       ///< of each stage: STEPs that changed its weights
  std::vector<std::int64_t> tied_applied;  ///< of each tied parameter
  std::vector<double> norms;               ///< of the last steps, oldest first
  double loss_scale = 1.0;                 ///< in the sums of tied gradients; a power of two

  friend bool operator==(carried_numbers const&, carried_numbers const&) = default;
};

/// The kinds of tensors that `collect_carried` hands on, for a parameter of a stage that keeps so many `versions`; the
/// same on every rank. Values of age 1, 2 ... ("value.1") as far as they exist, and for a tied parameter the sums
/// ("tied_gradient.0" the oldest).
template <class Trainer>
std::vector<std::string> carried_kinds(Trainer const& trainer, std::size_t stage,
                                       parameters::parameter_descriptor const& parameter) {
  std::vector<std::string> kinds;
  std::int64_t const steps = trainer.steps_done() - trainer.begun_at();
  std::int64_t const ages = std::min<std::int64_t>(steps, trainer.weight_versions()[stage] - 1);
  for (std::int64_t age = 1; age <= ages; ++age) kinds.push_back("value." + std::to_string(age));
  if (parameter.tie_group >= 0) {
    std::int64_t const sums = std::min<std::int64_t>(steps, trainer.plan().delay());
    for (std::int64_t sum = 0; sum < sums; ++sum) kinds.push_back("tied_gradient." + std::to_string(sum));
  }
  return kinds;
}

namespace detail {

/// "value.3" -> 3.
inline std::int64_t number_of(std::string const& kind) { return std::stoll(kind.substr(kind.find('.') + 1)); }

template <class Trainer, class Entry>
auto carried_view(Trainer& trainer, Entry const& entry, std::string const& kind) {
  auto& stage = trainer.stage();
  std::int64_t const number = number_of(kind);
  if (kind.starts_with("value.")) return stage.store().value(entry, static_cast<int>(number));
  std::int64_t const steps = trainer.steps_done() - trainer.begun_at();
  std::int64_t const step = std::max<std::int64_t>(0, steps - stage.delay()) + number;
  for (std::size_t index = 0; index < stage.tied_groups(); ++index)
    if (stage.tied_name(index) == entry.descriptor.name) return stage.tied_gradient_of(index).restore(step);
  throw error("weft::train: " + entry.descriptor.name + " is not tied, and has no \"" + kind + "\"");
}

}  // namespace detail

/// The numbers, on every rank. Between windows. Collective.
template <class Trainer>
carried_numbers collect_carried_numbers(Trainer& trainer) {
  auto& stage = trainer.stage();
  auto& door = trainer.door();
  carried_numbers result;
  result.steps_done = trainer.steps_done();
  result.optimizer_steps = trainer.optimizer_steps();
  result.begun_at = trainer.begun_at();
  result.loss_scale = stage.loss_scale();
  std::vector<double> counts(static_cast<std::size_t>(door.size()) + stage.tied_groups(), 0.0);
  counts[static_cast<std::size_t>(door.rank())] = static_cast<double>(stage.applied());
  for (std::size_t index = 0; index < stage.tied_groups(); ++index)
    if (stage.tied_gradient_of(index).is_owner())
      counts[static_cast<std::size_t>(door.size()) + index] = static_cast<double>(stage.tied_applied(index));
  transport::all_reduce_sum(door, counts.data(), counts.size(), trainer.deadline());
  for (std::size_t index = 0; index < counts.size(); ++index)
    (index < static_cast<std::size_t>(door.size()) ? result.applied : result.tied_applied)
        .push_back(static_cast<std::int64_t>(counts[index]));
  std::int64_t const steps = result.steps_done - result.begun_at;
  for (std::int64_t step = std::max<std::int64_t>(0, steps - stage.delay()); step < steps; ++step)
    result.norms.push_back(stage.norms().take(step, [] {}));
  return result;
}

/// Hands every carried tensor to `sink(kind, descriptor, std::span<Real const>)` on rank 0, parameters (use site 0) in
/// chain order, of each its `carried_kinds`. Between windows. Collective.
template <class Trainer, class Sink>
void collect_carried(Trainer& trainer, Sink&& sink) {
  using real = typename Trainer::real;
  auto& door = trainer.door();
  transport::guarded(door, [&] {
    std::vector<real> host;
    for (std::size_t stage = 0; stage < trainer.partition().size(); ++stage) {
      int const owner = static_cast<int>(stage);
      for (auto const& each : Trainer::stage_type::model_type::describe(trainer.partition()[stage])) {
        if (each.use_site != 0 || (door.rank() != owner && door.rank() != 0)) continue;
        for (auto const& kind : carried_kinds(trainer, stage, each)) {
          host.resize(static_cast<std::size_t>(each.elements()));
          if (door.rank() == owner) {
            auto const lock = door.launch_lock();
            for (auto const& entry : trainer.stage().store().entries())
              if (entry.descriptor.name == each.name && entry.descriptor.use_site == 0)
                trainer.stage().store().read(detail::carried_view(trainer, entry, kind), host.data());
          }
          if (owner != 0) {
            transport::posted_messages moved(door, "collect_carried", trainer.deadline());
            if (door.rank() == 0)
              moved.receive(host.data(), host.size() * sizeof(real), owner, schedule::tags::state);
            else
              moved.send(host.data(), host.size() * sizeof(real), 0, schedule::tags::state);
            moved.settle();
          }
          if (door.rank() == 0) sink(kind, each, std::span<real const>(host));
        }
      }
    }
  });
}

/// Goes on with a run: first `restore_state` with moments, then this, before the first window. Fills what this rank
/// needs from `source(kind, descriptor, Real* out)`. Another loss scale than the run was saved with is taken into
/// account. Throws where the numbers are of other stages. Does not communicate.
template <class Trainer, class Source>
void restore_carried(Trainer& trainer, carried_numbers const& numbers, Source&& source) {
  using real = typename Trainer::real;
  auto& stage = trainer.stage();
  auto& door = trainer.door();
  if (static_cast<int>(numbers.applied.size()) != door.size() || numbers.tied_applied.size() != stage.tied_groups())
    throw error("weft::train: the run was saved with " + std::to_string(numbers.applied.size()) +
                " asynchronous stages, and there are " + std::to_string(door.size()) +
                "; go on with as many, or from the newest weights alone");
  trainer.resume(numbers.steps_done, numbers.optimizer_steps, numbers.begun_at);
  stage.applied() = numbers.applied[static_cast<std::size_t>(door.rank())];
  for (std::size_t index = 0; index < stage.tied_groups(); ++index)
    stage.tied_applied(index) = numbers.tied_applied[index];
  std::int64_t const steps = numbers.steps_done - numbers.begun_at;
  std::int64_t step = std::max<std::int64_t>(0, steps - stage.delay());
  for (double const norm : numbers.norms) stage.norms().restore(step++, norm);
  if (!loss_scaling::is_scale(numbers.loss_scale))
    throw error("weft::train: the run was saved with the loss scale " + std::to_string(numbers.loss_scale) +
                ", which is no power of two from 1 to 2^30; go on with another one");
  real const rescale = static_cast<real>(stage.loss_scale() / numbers.loss_scale);  // rounds nothing
  std::vector<real> host;
  for (auto const& entry : stage.store().entries()) {
    host.resize(static_cast<std::size_t>(entry.elements));
    for (auto const& kind : carried_kinds(trainer, static_cast<std::size_t>(entry.stage), entry.descriptor)) {
      source(kind, entry.descriptor, host.data());
      if (rescale != real{1} && kind.starts_with("tied_gradient."))
        for (real& each : host) each *= rescale;
      auto const lock = door.launch_lock();
      stage.store().write(detail::carried_view(trainer, entry, kind), host.data());
    }
  }
  auto const lock = door.launch_lock();
  stage.store().refresh_copies();
}

}  // namespace weft::inline v1::train
