// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/parameters/parameter_descriptor.hpp>
#include <weft/schedule/tags.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/guarded.hpp>
#include <weft/transport/posted.hpp>

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

/// @file
/// The state of a training, tensor by tensor and under the parameters' own names: what is saved knows nothing of ranks,
/// stages or schedules, so that it can be resumed on any number of them. Files are the caller's (see the example's
/// checkpoint.hpp).

namespace weft::inline v1::train {

inline constexpr std::array<char const*, 3> state_kinds{"value", "first_moment", "second_moment"};

/// All parameters of the model that own their name (use site 0), in chain order; the same on every rank.
template <class Trainer>
std::vector<parameters::parameter_descriptor> owned_parameters(Trainer& trainer) {
  std::vector<parameters::parameter_descriptor> all;
  for (auto const& range : trainer.partition())
    for (auto const& each : Trainer::stage_type::model_type::describe(range))
      if (each.use_site == 0) all.push_back(each);
  return all;
}

namespace detail {

template <class Trainer, class Sink>
void collect_state(Trainer& trainer, bool moments, Sink& sink) {
  using real = typename Trainer::real;
  trainer.require_equal_replicas();
  if (trainer.ranks().index() != 0) return;  // the other pipelines hold the same
  auto& door = trainer.ranks().pipeline();
  auto& store = trainer.stage().store();
  std::vector<real> host;
  int const kinds = moments ? 3 : 1;
  for (std::size_t stage = 0; stage < trainer.partition().size(); ++stage) {
    int const owner = trainer.program().graph.rank_of(static_cast<int>(stage));
    for (auto const& each : Trainer::stage_type::model_type::describe(trainer.partition()[stage])) {
      if (each.use_site != 0 || (door.rank() != owner && door.rank() != 0)) continue;
      for (int kind = 0; kind < kinds; ++kind) {
        host.resize(static_cast<std::size_t>(each.elements()));
        if (door.rank() == owner) {
          auto const lock = door.launch_lock();
          for (auto const& entry : store.entries())
            if (entry.descriptor.name == each.name && entry.descriptor.use_site == 0)
              store.read(kind == 0   ? store.value(entry)
                         : kind == 1 ? store.first_moment(entry)
                                     : store.second_moment(entry),
                         host.data());
        }
        if (owner != 0) {
          transport::posted_messages moved(door, "collect_state", trainer.deadline());
          if (door.rank() == 0)
            moved.receive(host.data(), host.size() * sizeof(real), owner, schedule::tags::state);
          else
            moved.send(host.data(), host.size() * sizeof(real), 0, schedule::tags::state);
          moved.settle();
        }
        if (door.rank() == 0) sink(state_kinds[static_cast<std::size_t>(kind)], each, std::span<real const>(host));
      }
    }
  }
}

}  // namespace detail

/// Hands every tensor to `sink(kind, descriptor, std::span<Real const>)` on rank 0, in the order of
/// `owned_parameters`; with `moments`, a value is followed by its two moments. Rank 0 never holds more than one tensor
/// beyond its own. Replicas are compared first. Collective.
template <class Trainer, class Sink>
void collect_state(Trainer& trainer, bool moments, Sink&& sink) {
  transport::guarded(trainer.door(), [&] { detail::collect_state(trainer, moments, sink); });
}

/// Fills this rank's parameters from `source(kind, descriptor, Real* out)`; every use site of a tied parameter gets the
/// same values. Does not communicate: each rank reads what it needs.
template <class Trainer, class Source>
void restore_state(Trainer& trainer, bool moments, Source&& source) {
  using real = typename Trainer::real;
  if constexpr (requires { trainer.require_settled(); }) trainer.require_settled();
  auto& store = trainer.stage().store();
  std::vector<real> host;
  for (auto const& entry : store.entries()) {
    host.resize(static_cast<std::size_t>(entry.elements));
    for (int kind = 0; kind < (moments ? 3 : 1); ++kind) {
      source(state_kinds[static_cast<std::size_t>(kind)], entry.descriptor, host.data());
      auto const lock = trainer.door().launch_lock();
      store.write(kind == 0   ? store.value(entry)
                  : kind == 1 ? store.first_moment(entry)
                              : store.second_moment(entry),
                  host.data());
    }
  }
  auto const lock = trainer.door().launch_lock();
  store.refresh_copies();
}

}  // namespace weft::inline v1::train
