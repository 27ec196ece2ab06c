// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/collective/all_reduce.hpp>
#include <weft/collective/association.hpp>
#include <weft/collective/check.hpp>
#include <weft/concepts/collective_policy.hpp>
#include <weft/config.hpp>
#include <weft/error.hpp>
#include <weft/plan/detail/select.hpp>
#include <weft/plan/errors.hpp>
#include <weft/plan/policies.hpp>
#include <weft/plan/report.hpp>
#include <weft/plan/static_program.hpp>
#include <weft/schedule/breadth_first.hpp>
#include <weft/schedule/checked_program.hpp>
#include <weft/schedule/chimera.hpp>
#include <weft/schedule/dual_pipe.hpp>
#include <weft/schedule/dual_pipe_v.hpp>
#include <weft/schedule/eager_1f1b.hpp>
#include <weft/schedule/forward_only.hpp>
#include <weft/schedule/gpipe.hpp>
#include <weft/schedule/interleaved_1f1b.hpp>
#include <weft/schedule/interleaved_zero_bubble.hpp>
#include <weft/schedule/one_f_one_b.hpp>
#include <weft/schedule/serial.hpp>
#include <weft/schedule/v_half.hpp>
#include <weft/schedule/v_min.hpp>
#include <weft/schedule/wave.hpp>
#include <weft/schedule/words.hpp>
#include <weft/schedule/zero_bubble_h1.hpp>
#include <weft/schedule/zero_bubble_h2.hpp>
#include <weft/schedule/zero_bubble_v.hpp>

#include <string>

namespace weft::inline v1 {

namespace plan_detail {

/// A policy of the user's own is held to what weft's are held to, for the very number of ranks.
template <class Reduction, int DataRanks>
constexpr bool gives_every_sum_once() {
  if constexpr (collective_policy<Reduction> && DataRanks > 1)
    return collective::check(Reduction::all_reduce(DataRanks), collective::goal::all_reduce).correct() &&
           collective::has_one_association(Reduction::all_reduce(DataRanks));
  return true;
}

/// The policies of a plan by name, each checked: one static_assert per clause.
template <class... Policies>
struct settings {
  using mesh = typename first<is_mesh, pipeline_ranks<1>, Policies...>::type;
  using counts = typename first<is_micro_batches, weft::micro_batches<1>, Policies...>::type;
  using schedule = typename chosen_schedule<typename first<is_schedule, weft::schedule::serial, Policies...>::type,
                                            mesh::template extent<pipeline_axis>(), counts::count>::type;
  using recompute = typename first<is_recompute, weft::schedule::recompute::none, Policies...>::type;
  using limit = typename first<is_memory_limit, weft::memory_limit<0>, Policies...>::type;
  using layers = typename first<is_stage_layers, stage_layers<>, Policies...>::type;
  using speeds = typename first<is_rank_speeds, rank_speeds<>, Policies...>::type;
  using vendors = typename first<is_rank_vendors, rank_vendors<>, Policies...>::type;
  using mixed = typename first<is_allow_mixed, allow_mixed<>, Policies...>::type;
  using held = typename first<is_held_to, held_to<weft::schedule::send_model::rendezvous>, Policies...>::type;
  using reduction = typename first<is_reduction, reduce_gradients<collective::ring>, Policies...>::type::policy;

  static_assert((is_known<Policies> && ...),
                "weft::plan: one of the policies is not one that weft knows; use a schedule (see concepts/"
                "schedule_policy.hpp), mesh or pipeline_ranks, micro_batches, recompute, stage_layers, rank_speeds, "
                "rank_vendors, allow_mixed, memory_limit, held_to, reduce_gradients, post_validated, no_optimizer or "
                "no_tied_parameters");
  static_assert(count<is_schedule, Policies...> != 0,
                "weft::plan: there is no schedule; add one, such as weft::schedule::one_f_one_b");
  static_assert(count<is_schedule, Policies...> <= 1, "weft::plan: there are two schedules; keep one");
  static_assert(count<is_mesh, Policies...> != 0,
                "weft::plan: there is no mesh; add one, such as weft::pipeline_ranks<4>");
  static_assert(count<is_mesh, Policies...> <= 1, "weft::plan: there are two meshes; keep one");
  static_assert(
      count<is_micro_batches, Policies...> != 0,
      "weft::plan: nothing says how many micro-batches there are; add weft::micro_batches<8>, or <weft::dynamic>");
  static_assert(count<is_micro_batches, Policies...> <= 1, "weft::plan: micro_batches is given twice; keep one");
  static_assert(count<is_recompute, Policies...> <= 1, "weft::plan: there are two recompute policies; keep one");
  static_assert(count<is_memory_limit, Policies...> <= 1, "weft::plan: memory_limit is given twice; keep one");
  static_assert(count<is_stage_layers, Policies...> <= 1, "weft::plan: stage_layers is given twice; keep one");
  static_assert(count<is_stage_layers, Policies...> == 0 || mesh::template extent<pipeline_axis>() == dynamic ||
                    layers::stages == mesh::template extent<pipeline_axis>() * schedule::chunks,
                "weft::plan: stage_layers does not name every stage; give one number per stage");
  static_assert(count<is_rank_speeds, Policies...> <= 1, "weft::plan: rank_speeds is given twice; keep one");
  static_assert(count<is_rank_speeds, Policies...> == 0 || mesh::template extent<pipeline_axis>() == dynamic ||
                    speeds::ranks == mesh::template extent<pipeline_axis>(),
                "weft::plan: rank_speeds does not name every pipeline rank; give one number per rank");
  static_assert(speeds::legal, "weft::plan: a speed of rank_speeds is zero or negative; use numbers above 0");
  static_assert(count<is_rank_speeds, Policies...> == 0 || count<is_stage_layers, Policies...> == 0,
                "weft::plan: stage_layers says what rank_speeds would decide; keep one of them");
  static_assert(count<is_rank_vendors, Policies...> <= 1, "weft::plan: rank_vendors is given twice; keep one");
  static_assert(count<is_allow_mixed, Policies...> <= 1,
                "weft::plan: allow_mixed is given twice; name all axes in one");
  static_assert(vendors::ranks == 0 || mesh::is_static,
                "weft::plan: rank_vendors names every rank, and an axis of the mesh is dynamic; give it a number, or "
                "leave rank_vendors out: the ranks' cards are compared when the job starts");
  static_assert(vendors::ranks == 0 || !mesh::is_static || vendors::ranks == mesh::ranks(),
                "weft::plan: rank_vendors does not name every rank of the mesh; give one vendor per rank");
  static_assert(has_axes_of<mesh, mixed>, "weft::plan: allow_mixed names an axis that the mesh does not have");
  static constexpr vendor_boundary forbidden = forbidden_boundary<mesh, vendors, mixed>();
  static_assert(vendors_must_meet_along_the_pipeline<(forbidden.one < 0), forbidden.one, forbidden.other>::value);
  static constexpr vendor_boundary between_copies = forbidden_boundary_of_copies<mesh, vendors, mixed, schedule>();
  static_assert(
      copies_must_be_of_one_vendor<(between_copies.one < 0), between_copies.one, between_copies.other>::value);
  static_assert(count<is_held_to, Policies...> <= 1, "weft::plan: two send models are given; keep one");
  static_assert(count<is_reduction, Policies...> <= 1, "weft::plan: reduce_gradients is given twice; keep one");
  static_assert(collective_policy<reduction> || std::is_same_v<reduction, collective::library> ||
                    std::is_same_v<reduction, collective::device_library> ||
                    std::is_same_v<reduction, collective::vendor_hierarchy>,
                "weft::plan: reduce_gradients names no collective policy; use one such as weft::collective::ring (see "
                "concepts/collective_policy.hpp), or weft::collective::library, device_library or vendor_hierarchy");

  static_assert(count<is_reduction, Policies...> == 0 || mesh::template has_axis<data_axis>() ||
                    placement_copies<schedule> > 1,
                "weft::plan: reduce_gradients says how data ranks sum their gradients, and the mesh has no data axis; "
                "add axis<data_axis, N> (or <data_axis, dynamic>) to it, or leave reduce_gradients out");

  static constexpr int data_ranks = mesh::template extent<data_axis>();
  static constexpr bool reduces_over_data = data_ranks != 1;

  static_assert(gives_every_sum_once<reduction, data_ranks>(),
                "weft::plan: the collective of reduce_gradients does not give every data rank each gradient once and "
                "added in one order; see weft::collective::check and has_one_association");

  static constexpr bool is_complete = (is_known<Policies> && ...) && count<is_schedule, Policies...> == 1 &&
                                      count<is_mesh, Policies...> == 1 && count<is_micro_batches, Policies...> == 1;

  static constexpr int ranks = mesh::template extent<pipeline_axis>();
  static constexpr int micro_batches = counts::count;
  static constexpr bool recomputes = recompute::recomputes;
  static constexpr bool optimizer = count<is_no_optimizer, Policies...> == 0;
  static constexpr weft::schedule::tied_stages tied = optimizer && count<is_no_ties, Policies...> == 0
                                                          ? weft::schedule::tied_stages::first_and_last
                                                          : weft::schedule::tied_stages::none;
  static constexpr weft::schedule::send_model model = held::model;

  /// Of what is known while compiling; a dynamic value stands at 1 here and is checked when the program starts.
  static constexpr weft::schedule::validity legality =
      is_complete ? schedule::check(ranks == dynamic ? 1 : ranks, micro_batches == dynamic ? 1 : micro_batches)
                  : weft::schedule::validity{};
  static_assert(schedule_must_be_legal<legality.broken, legality.value, legality.nearest>::value);

  static constexpr bool is_fixed_but_for_data() {
    return mesh::is_static || mesh::template extent<data_axis>() == dynamic;
  }
  template <class Tag>
  static constexpr bool is_free = mesh::template extent<Tag>() == 1 || mesh::template extent<Tag>() == dynamic;
  static_assert(is_free<tensor_axis> && is_free<context_axis> && is_free<expert_axis>,
                "weft::plan: " WEFT_WORDS_UNUSED_AXIS);

  static constexpr weft::schedule::lower_options options{.recompute = recomputes,
                                                         .tied = tied,
                                                         .optimizer = optimizer,
                                                         .reduce_over_data = reduces_over_data,
                                                         .reduce_over_copies = optimizer,
                                                         .receives = weft::schedule::receives_under(model),
                                                         .norm = count<is_post_validated, Policies...> != 0
                                                                     ? weft::schedule::norm_kind::post_validated
                                                                     : weft::schedule::norm_kind::synchronous};

  /// The program is one pipeline's: how many of them there are may come later.
  static constexpr bool is_static =
      is_complete && legality.legal() && ranks != dynamic && is_fixed_but_for_data() && micro_batches != dynamic;
};

/// Something is known only when the program starts, or the plan is refused: no `report`, no `view`.
template <class Settings, bool Static>
struct proved {};

/// Everything is known: the proof is part of the type, and a plan that cannot be played does not compile.
template <class Settings>
struct proved<Settings, true> {
 private:
  using found = plan_proof<typename Settings::schedule, Settings::ranks, Settings::micro_batches, Settings::options,
                           Settings::model>;
  static constexpr schedule::verdict verdict = found::verdict;
  static_assert(schedule_must_be_playable<verdict.what, verdict.rank, verdict.stage, verdict.micro_batch>::value);

  /// By the policy's formula; recompute lengthens a backward by a forward.
  static constexpr double idle_share() {
    double const backward = Settings::schedule::work.backward ? (Settings::recomputes ? 3.0 : 2.0) : 0.0;
    double const busy = Settings::micro_batches * Settings::schedule::chunks * (1.0 + backward);
    return idle(backward) / (idle(backward) + busy);
  }
  static constexpr double idle(double backward) {
    if constexpr (requires { Settings::schedule::idle(1, 1, 1.0, 1.0, 1.0); })  // R comes before I
      return Settings::schedule::idle(Settings::ranks, Settings::micro_batches, 1.0, backward - 1.0, 1.0);
    else
      return Settings::schedule::idle(Settings::ranks, Settings::micro_batches, 1.0, backward);
  }

 public:
  /// Known before the job is queued.
  static constexpr plan_report report = make_report(Settings::ranks, Settings::ranks* Settings::schedule::chunks,
                                                    Settings::micro_batches, verdict, idle_share());

  /// The proof is that of fewer micro-batches, and induction (schedule/induction.hpp): large plans cost no more.
  static constexpr bool proved_by_induction = found::by_induction;

  /// A program with the slots and the placement of the plan's: its own, or that of the smaller count that proves it.
  [[nodiscard]] static constexpr schedule::program_view const& sample() { return found::sample::view; }

  /// The program itself, as constants. Made while compiling where it is asked for; `program` makes it at start-up.
  [[nodiscard]] static constexpr schedule::program_view const& view() { return found::program::view; }
};

}  // namespace plan_detail

/// Policies in any order, composed into one program per rank: a schedule, a mesh (or `pipeline_ranks<N>`), and
/// `micro_batches<N>`; if wanted `schedule::recompute::full`, `stage_layers<4, 5, 4>` or `rank_speeds<3, 3, 2>`,
/// `rank_vendors<vendor::cuda, vendor::cuda, vendor::hip, vendor::hip>`, `allow_mixed<data_axis>`,
/// `memory_limit<gib(16)>`, `held_to<send_model>`, `post_validated`, `no_optimizer`, `no_tied_parameters`, and
/// `reduce_gradients<collective::ring>` where the mesh has a data axis.
///
///     using plan = weft::plan<weft::schedule::one_f_one_b, weft::pipeline_ranks<4>, weft::micro_batches<16>>;
///     static_assert(plan::report.peak_activations <= 4);
///
/// Where ranks and micro-batches are numbers, the program is a constant, and its proof part of compiling: `report` and
/// `view()`. Where one is `weft::dynamic`, `program(...)` builds, checks and plays it by the same code when the job
/// starts, and throws `weft::error` with the same words.
template <class... Policies>
class plan
    : public plan_detail::proved<plan_detail::settings<Policies...>, plan_detail::settings<Policies...>::is_static> {
  using settings = plan_detail::settings<Policies...>;

 public:
  using schedule_policy = typename settings::schedule;
  using mesh_policy = typename settings::mesh;
  using reduction = typename settings::reduction;  ///< of gradients over the data axis

  static constexpr bool known_while_compiling = settings::is_static;
  static constexpr bool is_refused = !settings::is_complete || !settings::legality.legal();  ///< an error says why
  static constexpr bool splits_backward = schedule_policy::splits_backward;
  static constexpr bool recomputes = settings::recomputes;
  static constexpr int micro_batches = settings::micro_batches;         ///< or `dynamic`
  static constexpr int pipeline_ranks = settings::ranks;                ///< or `dynamic`
  static constexpr int data_ranks = settings::data_ranks;               ///< or `dynamic`
  static constexpr std::int64_t memory_limit = settings::limit::bytes;  ///< 0: none
  using layers = typename settings::layers;                             ///< `stage_layers<>` where cost decides
  using speeds = typename settings::speeds;                             ///< `rank_speeds<>` where all are alike
  using vendors = typename settings::vendors;                           ///< `rank_vendors<>` where nothing is said
  /// Whether ranks that hold the same layers may be of different vendors.
  static constexpr bool mixes_over_data = settings::mixed::template holds<data_axis>;
  static constexpr schedule::lower_options options = settings::options;

  /// No count of micro-batches that the schedule's rule allows can be refused when the program starts: few are played
  /// while compiling, the others follow by induction. False where the schedule does not repeat, the ranks are dynamic,
  /// or the plan is held to another send model than rendezvous.
  static constexpr bool proved_for_all_micro_batches = [] {
    if constexpr (settings::is_complete && settings::ranks != dynamic)
      return proof_of_all_counts<schedule_policy, settings::ranks, settings::options, settings::model>::value;
    else
      return false;
  }();

  /// The program of one pipeline in a world of `world` ranks: checks that the mesh multiplies and the schedule's rule,
  /// lowers, plays. Throws `weft::error`. Does not communicate: every rank makes the same.
  [[nodiscard]] static schedule::program program(int world, int count = micro_batches) {
    topology::mesh_shape const shape = mesh_policy::shape(world);
    int ranks = 1;
    for (int index = 0; index < shape.axes; ++index)
      if (topology::detail::same_name(shape.name[index], pipeline_axis::name))
        ranks = shape.extent[index];
      else if (shape.extent[index] != 1 && !topology::detail::same_name(shape.name[index], data_axis::name))
        throw error("weft::plan: " WEFT_WORDS_UNUSED_AXIS " (axis " + std::string(shape.name[index]) + " has " +
                    std::to_string(shape.extent[index]) + ")");
    if (micro_batches != dynamic && count != micro_batches)
      throw error("weft::plan: the plan says micro_batches<" + std::to_string(micro_batches) + ">, not " +
                  std::to_string(count) + "; use weft::dynamic to choose when the program starts");
    if (micro_batches == dynamic && count == dynamic)
      throw error("weft::plan: micro_batches is dynamic and no count was given; call program(ranks, micro_batches)");
    schedule::program result = schedule::make_program<schedule_policy>(ranks, count, options);
    if (settings::model != schedule::send_model::rendezvous)
      schedule::require_playable(schedule::play(result.view(), settings::model), schedule_policy::name);
    return result;
  }
};

}  // namespace weft::inline v1
