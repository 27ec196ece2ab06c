// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/collective/binomial_tree.hpp>
#include <weft/collective/by_groups.hpp>
#include <weft/collective/hierarchical.hpp>
#include <weft/collective/recursive_doubling.hpp>
#include <weft/collective/recursive_halving.hpp>
#include <weft/collective/ring.hpp>
#include <weft/collective/step_list.hpp>
#include <weft/concepts/collective_policy.hpp>
#include <weft/config.hpp>
#include <weft/error.hpp>

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::inline v1::collective {

/// The names of weft's own all-reduces, as command lines take them.
inline constexpr char const* all_reduce_names[] = {ring::name, recursive_doubling::name, recursive_halving::name,
                                                   binomial_tree::name, hierarchical::name};

/// The transport's own all-reduce, by its library; see `endpoint::library_all_reduce`.
inline constexpr char const* library_all_reduce_name = "mpi";

/// The library's all-reduce as a policy of a plan. It promises no order of additions: repeatable and equal on all ranks
/// with the MPIs that we know, but no serial run can have its bits.
struct library {
  static constexpr char const* name = library_all_reduce_name;
};

/// The all-reduce of a device vendor's library: NCCL's, or RCCL's under the same name.
inline constexpr char const* device_library_all_reduce_name = "nccl";

/// As a policy of a plan: for ranks of one vendor, over a door of its library. Equal on all ranks, in an order of
/// additions that the library chooses by topology, size and version.
struct device_library {
  static constexpr char const* name = device_library_all_reduce_name;
};

/// The same within each vendor, and weft's recursive halving across: transport/running_hierarchical.hpp.
inline constexpr char const* vendor_hierarchy_all_reduce_name = "hierarchical:nccl";

/// As a policy of a plan: for ranks of several vendors, and hosts. Equal on all ranks; the order of additions within a
/// vendor is its library's.
struct vendor_hierarchy {
  static constexpr char const* name = vendor_hierarchy_all_reduce_name;
};

}  // namespace weft::inline v1::collective

namespace weft::inline v1::detail {

[[noreturn]] inline void refuse_all_reduce(std::string_view name) {
  std::string names;
  for (char const* const each : collective::all_reduce_names) names += std::string(each) + ", ";
  throw error(
      "weft::collective: there is no all-reduce \"" + std::string(name) + "\"; choose one of " + names +
      "hierarchical:G (groups of G ranks), hierarchical:0,0,1 (the group of each rank), " +
      collective::library_all_reduce_name + " (the MPI library's own, over MPI alone), " +
      collective::device_library_all_reduce_name + " (the device vendor's library's, over its door alone) and " +
      collective::vendor_hierarchy_all_reduce_name + " (that within each vendor, and recursive-halving across)");
}

/// G of "hierarchical:G", 0 of "hierarchical", -1 of anything else.
inline int group_size_of(std::string_view name) {
  std::string_view const prefix = collective::hierarchical::name;
  if (name.substr(0, prefix.size()) != prefix) return -1;
  name.remove_prefix(prefix.size());
  if (name.empty()) return 0;
  if (name.front() != ':') return -1;
  name.remove_prefix(1);
  int size = -1;
  auto const [end, problem] = std::from_chars(name.data(), name.data() + name.size(), size);
  return problem == std::errc() && end == name.data() + name.size() && size >= 1 ? size : -1;
}

/// {0, 0, 1} of "hierarchical:0,0,1", the group of each rank; empty for anything else.
inline std::vector<int> groups_of_ranks(std::string_view name) {
  std::string_view const prefix = collective::hierarchical::name;
  if (name.substr(0, prefix.size()) != prefix || name.find(',') == std::string_view::npos) return {};
  std::vector<int> groups;
  char const* at = name.data() + prefix.size();
  char const* const last = name.data() + name.size();
  for (char before = ':'; at < last && *at == before; before = ',') {
    groups.push_back(-1);
    auto const [end, problem] = std::from_chars(at + 1, last, groups.back());
    if (problem != std::errc() || groups.back() < 0) return {};
    at = end;
  }
  return at == last ? groups : std::vector<int>();
}

}  // namespace weft::inline v1::detail

namespace weft::inline v1::collective {

/// A step list by name: `all_reduce_names`, "hierarchical:G", or "hierarchical:0,0,1". Throws `weft::error`, which
/// lists them, for any other.
inline step_list make_all_reduce(std::string_view name, int ranks) {
  if (ranks < 1)
    throw error("weft::collective: an all-reduce of " + std::to_string(ranks) + " ranks; ask for at least 1");
  if (name == ring::name) return ring::all_reduce(ranks);
  if (name == recursive_doubling::name) return recursive_doubling::all_reduce(ranks);
  if (name == recursive_halving::name) return recursive_halving::all_reduce(ranks);
  if (name == binomial_tree::name) return binomial_tree::all_reduce(ranks);
  if (int const size = detail::group_size_of(name); size >= 0) return hierarchical::all_reduce(ranks, size);
  if (auto const groups = detail::groups_of_ranks(name); !groups.empty()) {
    if (static_cast<int>(groups.size()) == ranks) return all_reduce_by_groups(groups.data(), ranks);
    throw error("weft::collective: the all-reduce \"" + std::string(name) + "\" names the groups of " +
                std::to_string(groups.size()) + " ranks, and there are " + std::to_string(ranks) +
                "; name each rank's group");
  }
  char const* const instead =
      name == library_all_reduce_name          ? "is the MPI library's own all-reduce and has no step list"
      : name == device_library_all_reduce_name ? "is the device vendor's library's all-reduce and has no step list"
      : name == vendor_hierarchy_all_reduce_name
          ? "has the device vendor's library within each vendor, and no step list"
          : nullptr;
  if (instead != nullptr)
    throw error("weft::collective: \"" + std::string(name) + "\" " + instead +
                "; choose another one where the order of additions must be known");
  detail::refuse_all_reduce(name);
}

/// How sums over ranks are to be made: one of weft's step lists, or a library. A name that was checked.
class all_reduce_choice {
 public:
  enum class kind_type : std::uint8_t {
    step_list,
    mpi,              ///< the MPI library's own
    device_library,   ///< the device vendor's, among ranks of one vendor
    vendor_hierarchy  ///< that within each vendor, a step list across
  };

  all_reduce_choice() = default;

  /// Throws `weft::error`, which lists the names, for one that does not exist.
  explicit all_reduce_choice(std::string_view name) : name_(name) {
    auto const groups = static_cast<int>(detail::groups_of_ranks(name).size());
    if (!is_library()) static_cast<void>(list(groups > 0 ? groups : 1));
  }

  /// That of a policy, the user's own too.
  template <collective_policy Policy>
  [[nodiscard]] static all_reduce_choice of() {
    all_reduce_choice made;
    made.name_ = Policy::name;
    made.make_ = [](int ranks) { return Policy::all_reduce(ranks); };
    return made;
  }

  [[nodiscard]] std::string const& name() const { return name_; }
  [[nodiscard]] kind_type kind() const {
    return name_ == library_all_reduce_name            ? kind_type::mpi
           : name_ == device_library_all_reduce_name   ? kind_type::device_library
           : name_ == vendor_hierarchy_all_reduce_name ? kind_type::vendor_hierarchy
                                                       : kind_type::step_list;
  }
  /// Whether a library adds, if only within each vendor: then it begins in one order on all ranks, and has no list.
  [[nodiscard]] bool is_library() const { return kind() != kind_type::step_list; }
  [[nodiscard]] bool is_device_library() const { return kind() == kind_type::device_library; }
  [[nodiscard]] bool is_by_vendor() const { return kind() == kind_type::vendor_hierarchy; }

  /// Throws where `is_library()`: the library's order of additions is its own affair.
  [[nodiscard]] step_list list(int ranks) const {
    return make_ != nullptr ? make_(ranks) : make_all_reduce(name_, ranks);
  }

 private:
  step_list (*make_)(int ranks) = nullptr;
  std::string name_ = ring::name;
};

}  // namespace weft::inline v1::collective
