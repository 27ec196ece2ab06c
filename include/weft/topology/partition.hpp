// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/error.hpp>

#include <string>
#include <utility>
#include <vector>

namespace weft::inline v1::topology {

/// Layers first .. last - 1 of a chain; empty where both are equal.
struct layer_range {
  int first = 0;
  int last = 0;

  [[nodiscard]] constexpr int size() const { return last - first; }
  friend constexpr bool operator==(layer_range const&, layer_range const&) = default;
};

/// Why layers cannot be laid over stages.
enum class partition_fault : unsigned char {
  none,
  no_stages,
  no_layers,
  ends_need_layers,
  negative_size,
  wrong_sum,
  bad_cost,
  no_memory
};

struct partition_check {
  partition_fault what = partition_fault::none;
  int stage = -1;
  int found = 0;
  int wanted = 0;

  [[nodiscard]] constexpr bool legal() const { return what == partition_fault::none; }
};

/// "weft::partition: ..." for `error::what`.
inline std::string explain(partition_check const& check) {
  std::string const where = "weft::partition: ";
  auto const number = [](int value) { return std::to_string(value); };
  switch (check.what) {
    case partition_fault::none: return where + "legal";
    case partition_fault::no_stages: return where + number(check.found) + " stages; use 1 or more";
    case partition_fault::no_layers: return where + number(check.found) + " layers; a model has 1 or more";
    case partition_fault::ends_need_layers:
      return where + "stage " + number(check.stage) +
             " has no layers; only stages between the first and the last may be empty, so give it one or use fewer "
             "stages";
    case partition_fault::negative_size:
      return where + "stage " + number(check.stage) + " has " + number(check.found) + " layers; use 0 or more";
    case partition_fault::wrong_sum:
      return where + "the stages hold " + number(check.found) + " layers and the model has " + number(check.wanted) +
             "; " + (check.found < check.wanted ? "add " : "remove ") +
             number(check.found < check.wanted ? check.wanted - check.found : check.found - check.wanted);
    case partition_fault::bad_cost:
      return where + "the cost of layer " + number(check.found) +
             " or the speed of a stage is negative, zero or not a number; "
             "measure it again";
    case partition_fault::no_memory:
      if (check.stage == 0)
        return where +
               "stage 0 has no memory for even one of its layers; give its rank more memory, or make the "
               "micro-batch smaller";
      if (check.stage > 0)
        return where + "the stages before stage " + number(check.stage) + " have memory for the first " +
               number(check.found) + " of " + number(check.wanted) + " layers, and stage " + number(check.stage) +
               " has none for those that follow; give their ranks more memory, use more of them, or make the "
               "micro-batch smaller";
      return where + "the stages have memory for the first " + number(check.found) + " of " + number(check.wanted) +
             " layers; give their ranks more memory, use more of them, or make the micro-batch smaller";
  }
  return where + "unknown fault";
}

/// Checks explicit sizes: they must add up to `layers`, and only interior stages may be empty.
constexpr partition_check check_sizes(int const* sizes, int stages, int layers) {
  if (stages < 1) return {partition_fault::no_stages, -1, stages, 1};
  if (layers < 1) return {partition_fault::no_layers, -1, layers, 1};
  int sum = 0;
  for (int stage = 0; stage < stages; ++stage) {
    if (sizes[stage] < 0) return {partition_fault::negative_size, stage, sizes[stage], 0};
    sum += sizes[stage];
  }
  if (sum != layers) return {partition_fault::wrong_sum, -1, sum, layers};
  if (sizes[0] == 0) return {partition_fault::ends_need_layers, 0, 0, 1};
  if (sizes[stages - 1] == 0) return {partition_fault::ends_need_layers, stages - 1, 0, 1};
  return {};
}

/// Devices with memory for everything.
struct any_layers_fit {
  constexpr bool operator()(int /*stage*/, layer_range const&) const { return true; }
};

/// Which layers each stage holds: contiguous, in order, every layer exactly once. The first and the last stage hold at
/// least one layer each (they take the inputs and yield the loss); stages between them may be empty and pass through.
///
/// The one source of this rule: engine, model, checkpoints and proofs all ask here. Works while compiling; an illegal
/// request is then "not a constant expression" at the throw that says why.
class partition {
 public:
  constexpr partition() = default;

  /// As equal as possible by count; the earlier stages take the remainder. Embedding and head count as one layer each.
  [[nodiscard]] static constexpr partition even(int layers, int stages) {
    require_room(layers, stages);
    weft::detail::buffer<int> sizes(stages);
    if (layers >= stages) {
      for (int stage = 0; stage < stages; ++stage) sizes[stage] = layers / stages + (stage < layers % stages ? 1 : 0);
    } else {
      for (int stage = 0; stage < layers - 1; ++stage) sizes[stage] = 1;
      sizes[stages - 1] = 1;
    }
    return partition(sizes);
  }

  /// Explicit sizes, one per stage.
  [[nodiscard]] static constexpr partition of(int const* sizes, int stages, int layers) {
    partition_check const check = check_sizes(sizes, stages, layers);
    if (!check.legal()) throw error(explain(check));
    weft::detail::buffer<int> copy(stages);
    for (int stage = 0; stage < stages; ++stage) copy[stage] = sizes[stage];
    return partition(copy);
  }
  [[nodiscard]] static partition of(std::vector<int> const& sizes, int layers) {
    return of(sizes.data(), static_cast<int>(sizes.size()), layers);
  }

  /// Minimises the time of the slowest stage, exactly; among the best, the sum of squares of the stages' times; among
  /// those, later stages take more.
  ///
  /// `costs[layer]`: time of one layer in any unit, embedding and head with their own. `speeds[stage]`: work per time
  /// of the stage's device, for mixed hardware; null where all are equal. `fits(stage, range)`: whether the device of
  /// the stage has memory for these layers; where a range does not fit, no larger one does. Throws weft::error where
  /// nothing fits, and says how far the layers go. O(stages * layers^2).
  template <class Fits = any_layers_fit>
  [[nodiscard]] static constexpr partition by_cost(double const* costs, int layers, int stages,
                                                   double const* speeds = nullptr, Fits const& fits = {}) {
    require_room(layers, stages);
    weft::detail::buffer<double> sum(layers + 1);
    for (int layer = 0; layer < layers; ++layer) {
      if (!(costs[layer] >= 0.0)) throw error(explain({partition_fault::bad_cost, -1, layer, 0}));
      sum[layer + 1] = sum[layer] + costs[layer];
    }
    if (speeds != nullptr)
      for (int stage = 0; stage < stages; ++stage)
        if (!(speeds[stage] > 0.0)) throw error(explain({partition_fault::bad_cost, stage, -1, 0}));
    plan const slowest = search(sum, layers, stages, speeds, -1.0, fits);
    if (!slowest.check.legal()) throw error(explain(slowest.check));
    plan const best = search(sum, layers, stages, speeds, slowest.value, fits);
    weft::detail::buffer<int> sizes(stages);
    int end = layers;
    for (int stage = stages - 1; stage >= 0; --stage) {
      int const begin = best.from[stage * (layers + 1) + end];
      sizes[stage] = end - begin;
      end = begin;
    }
    return partition(sizes);
  }
  [[nodiscard]] static partition by_cost(std::vector<double> const& costs, int stages);

  [[nodiscard]] constexpr int stages() const { return ranges_.size(); }
  [[nodiscard]] constexpr int layers() const { return ranges_.empty() ? 0 : ranges_[ranges_.size() - 1].last; }
  constexpr layer_range const& operator[](int stage) const { return ranges_[stage]; }
  [[nodiscard]] constexpr layer_range const* begin() const { return ranges_.begin(); }
  [[nodiscard]] constexpr layer_range const* end() const { return ranges_.end(); }
  [[nodiscard]] std::vector<layer_range> ranges() const { return {begin(), end()}; }

  [[nodiscard]] constexpr int stage_of(int layer) const {
    for (int stage = 0; stage < stages(); ++stage)
      if (layer >= ranges_[stage].first && layer < ranges_[stage].last) return stage;
    return -1;
  }

 private:
  struct plan {
    weft::detail::buffer<int> from;  ///< [stage][layers + 1]: where the stage begins when it ends at that layer
    double value = 0.0;
    partition_check check;
  };

  explicit constexpr partition(weft::detail::buffer<int> const& sizes) : ranges_(sizes.size()) {
    int first = 0;
    for (int stage = 0; stage < sizes.size(); ++stage) {
      ranges_[stage] = layer_range{first, first + sizes[stage]};
      first += sizes[stage];
    }
  }

  static constexpr void require_room(int layers, int stages) {
    if (stages < 1) throw error(explain({partition_fault::no_stages, -1, stages, 1}));
    if (layers < 1) throw error(explain({partition_fault::no_layers, -1, layers, 1}));
    if (stages > 1 && layers < 2) throw error(explain({partition_fault::ends_need_layers, stages - 1, 0, 1}));
  }

  /// Dynamic programming over (stage, end). With `limit` < 0 it minimises the largest stage time, else the sum of
  /// squares of stage times under that limit.
  template <class Fits>
  static constexpr plan search(weft::detail::buffer<double> const& sum, int layers, int stages, double const* speeds,
                               double limit, Fits const& fits) {
    constexpr double impossible = 1e300;
    int const width = layers + 1;
    plan result;
    result.from = weft::detail::buffer<int>(stages * width);
    weft::detail::buffer<double> before(width);
    weft::detail::buffer<double> here(width);
    for (double& value : before) value = impossible;
    before[0] = 0.0;
    int reached = 0;  // the last end that some cut has
    for (int stage = 0; stage < stages; ++stage) {
      bool const interior = stage > 0 && stage + 1 < stages;
      double const speed = speeds == nullptr ? 1.0 : speeds[stage];
      int const reached_before = reached;
      reached = -1;
      for (int end = 0; end <= layers; ++end) {
        here[end] = impossible;
        for (int begin = interior ? end : end - 1; begin >= 0; --begin) {
          if (before[begin] == impossible) continue;
          if (!fits(stage, layer_range{begin, end})) break;
          reached = end;
          double const time = (sum[end] - sum[begin]) / speed;
          double candidate = impossible;
          if (limit < 0.0)
            candidate = time > before[begin] ? time : before[begin];
          else if (time <= limit)
            candidate = before[begin] + time * time;
          if (candidate <= here[end] && candidate != impossible) {
            here[end] = candidate;
            result.from[stage * width + end] = begin;
          }
        }
      }
      if (reached < 0) {
        result.check = {partition_fault::no_memory, stage, reached_before, layers};
        return result;
      }
      std::swap(before, here);
    }
    result.value = before[layers];
    if (result.value == impossible) result.check = {partition_fault::no_memory, -1, reached, layers};
    return result;
  }

  weft::detail::buffer<layer_range> ranges_;
};

// Not in the class: some compilers would instantiate there what the class has not defined yet.
inline partition partition::by_cost(std::vector<double> const& costs, int stages) {
  return by_cost(costs.data(), static_cast<int>(costs.size()), stages);
}

}  // namespace weft::inline v1::topology
