// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

#include <string>
#include <type_traits>

namespace weft::inline v1 {

/// What STEP adds to and what is saved: the master weights, with their moments. `float` where nothing is said.
template <class Type>
struct weights_in {
  using type = Type;
};
/// Of activations, of their gradients, and of the copy of the weights that products read. That of the weights where
/// nothing is said.
template <class Type>
struct compute_in {
  using type = Type;
};
/// In which the gradients of weights are added up, over micro-batches and over ranks. That of the weights, always.
template <class Type>
struct gradients_in {
  using type = Type;
};
/// In which numbers cross from stage to stage. That of the activations where nothing is said; with a narrower one the
/// bits of a result depend on where the model is cut.
template <class Type>
struct wire_in {
  using type = Type;
};

namespace plan_detail {

template <template <class> class Wanted, class Otherwise, class... Choices>
struct number {
  using type = Otherwise;
  static constexpr int count = 0;
};
template <template <class> class Wanted, class Otherwise, class First, class... Rest>
struct number<Wanted, Otherwise, First, Rest...> : number<Wanted, Otherwise, Rest...> {};
template <template <class> class Wanted, class Otherwise, class Type, class... Rest>
struct number<Wanted, Otherwise, Wanted<Type>, Rest...> {
  using type = Type;
  static constexpr int count = 1 + number<Wanted, Otherwise, Rest...>::count;
};

}  // namespace plan_detail

/// Types of numbers of a training run, in any order:
///
///     trainer<model, precision<weights_in<float>, compute_in<bfloat16>, wire_in<bfloat16>>> trainer(...);
///
/// Products add in float where factors are narrower; norms, softmax, losses and AdamW compute in the type of the
/// weights (Micikevicius et al. 2018, mixed precision training). A plain type stands for itself in all four places.
/// `bf16_mixed` and `fp16_mixed` are in execution/reduced.hpp.
template <class... Choices>
struct precision {
  using weight = typename plan_detail::number<weights_in, float, Choices...>::type;
  using compute = typename plan_detail::number<compute_in, weight, Choices...>::type;
  using gradient = typename plan_detail::number<gradients_in, weight, Choices...>::type;
  using wire = typename plan_detail::number<wire_in, compute, Choices...>::type;

 private:
  static constexpr int counts[4] = {plan_detail::number<weights_in, float, Choices...>::count,
                                    plan_detail::number<compute_in, float, Choices...>::count,
                                    plan_detail::number<gradients_in, float, Choices...>::count,
                                    plan_detail::number<wire_in, float, Choices...>::count};
  static_assert(counts[0] + counts[1] + counts[2] + counts[3] == static_cast<int>(sizeof...(Choices)),
                "weft::precision: a choice is none of weights_in, compute_in, gradients_in and wire_in; name each type "
                "through one of these");
  static_assert(counts[0] < 2 && counts[1] < 2 && counts[2] < 2 && counts[3] < 2,
                "weft::precision: one kind of numbers has two types; name each kind once");
  static_assert(std::is_same_v<weight, gradient>,
                "weft::precision: gradients are added up in the type of the weights, and another one is named; leave "
                "gradients_in away");
};

namespace plan_detail {

template <class Real>
struct numbers_of {
  using type = precision<weights_in<Real>>;
};
template <class... Choices>
struct numbers_of<precision<Choices...>> {
  using type = precision<Choices...>;
};

/// "f32"; types of weft's own say it themselves.
template <class Type>
constexpr char const* number_name() {
  if constexpr (requires { Type::name; })
    return Type::name;
  else if constexpr (std::is_same_v<Type, float>)
    return "f32";
  else if constexpr (std::is_same_v<Type, double>)
    return "f64";
  else
    return "of the user's own";
}

}  // namespace plan_detail

/// The four types that a plain type or a `precision` stands for.
template <class Real>
using precision_of = typename plan_detail::numbers_of<Real>::type;

/// "f32", or "weights f32, compute bf16, wire bf16": what ranks compare before they train together.
template <class Real>
std::string precision_name() {
  using numbers = precision_of<Real>;
  std::string const weight = plan_detail::number_name<typename numbers::weight>();
  std::string const compute = plan_detail::number_name<typename numbers::compute>();
  std::string const wire = plan_detail::number_name<typename numbers::wire>();
  if (weight == compute && weight == wire) return weight;
  return "weights " + weight + ", compute " + compute + ", wire " + wire;
}

using fp32 = float;
using fp64 = double;

}  // namespace weft::inline v1
