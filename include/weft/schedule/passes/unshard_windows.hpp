// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/detail/buffer.hpp>
#include <weft/schedule/passes/rewrite.hpp>

namespace weft::inline v1::schedule::passes {

/// Surrounds what a rank does with the weights of a stage by UNSHARD (gather the parts that data ranks hold) and
/// RESHARD (drop the others' parts). At every compute action the window is the next `most_active` different stages of
/// the row, the action's own first: what leaves the window is dropped, then what enters it is gathered. Larger windows
/// gather less often and keep more.
///
///     most_active = 1:  UNSHARD 0, 0F0, 0F1, RESHARD 0, UNSHARD 2, 2F0, ...
constexpr program unshard_windows(program_view const& from, int most_active = 3) {
  int const stages = from.stages() * from.graph.copies;
  int const most = most_active > 0 ? most_active : 1;
  program result = like(from, action_count(from) + 2 * action_count(from) + 2 * stages);
  for (int rank = 0; rank < from.ranks(); ++rank) {
    row_view const row = from.row(rank);
    weft::detail::buffer<bool> active(stages);
    weft::detail::buffer<int> order(stages);  // active stages, oldest first
    int actives = 0;
    auto const put = [&](op what, int which) {
      action cell = make_action(what, which % from.stages(), 0);
      cell.where = lane::communication;
      cell.copy = static_cast<std::uint8_t>(which / from.stages());
      result.append(cell);
    };
    auto const drop = [&](auto const& keep) {
      int kept = 0;
      for (int index = 0; index < actives; ++index) {
        int const which = order[index];
        if (keep(which)) {
          order[kept++] = which;
          continue;
        }
        active[which] = false;
        put(op::reshard, which);
      }
      actives = kept;
    };
    for (int index = 0; index < row.size; ++index) {
      if (row[index].what == op::none) continue;
      if (traits_of(row[index].what).is_compute) {
        weft::detail::buffer<bool> wanted(stages);
        weft::detail::buffer<int> window(most);
        int size = 0;
        for (int later = index; later < row.size && size < most; ++later) {
          int const which = row[later].copy * from.stages() + row[later].stage;
          if (!traits_of(row[later].what).is_compute || wanted[which]) continue;
          wanted[which] = true;
          window[size++] = which;
        }
        drop([&](int which) { return wanted[which]; });
        for (int next = 0; next < size; ++next) {
          if (active[window[next]]) continue;
          active[window[next]] = true;
          order[actives++] = window[next];
          put(op::unshard, window[next]);
        }
      }
      result.append(row[index]);
    }
    drop([](int) { return false; });
    result.end_row();
  }
  return result;
}

}  // namespace weft::inline v1::schedule::passes
