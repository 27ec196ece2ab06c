// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <doctest/doctest.h>

#include <weft/schedule/csv.hpp>
#include <weft/schedule/lower.hpp>
#include <weft/schedule/make_program.hpp>
#include <weft/schedule/passes/all.hpp>
#include <weft/topology/placement.hpp>

#include "published_tables.hpp"
#include "schedule_support.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

// The passes against the results that others publish (lowering_vectors.json where WEFT_VECTORS_DIR names its folder),
// and against small tables of our own.
#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>
#define WEFT_TEST_JSON
#endif

using namespace weft::schedule;
namespace topology = weft::topology;

namespace {

/// A row as a table would show it: "0F1", "2SEND_B3", "0REDUCE_GRAD".
std::vector<std::string> cells_of(row_view row) {
  std::vector<std::string> result;
  for (action const& cell : row) {
    if (cell.what == op::none) continue;
    std::string text = std::to_string(cell.stage) + traits_of(cell.what).letters;
    if (cell.what < op::reduce_gradient) text += std::to_string(cell.micro_batch);
    result.push_back(text);
  }
  return result;
}

std::string text_of(program_view const& program) {
  std::string text;
  for (int rank = 0; rank < program.ranks(); ++rank) {
    std::string line;
    for (auto const& cell : cells_of(program.row(rank))) line += (line.empty() ? "" : ",") + cell;
    text += line + "\n";
  }
  return text;
}

/// How many rounds it takes to play a table with posts when every rank does one action a round. A rank that cannot go
/// on in its turn is asked again at the end of the round. Sends and receives are actions; a receive waits for its send.
int simulated_steps(program_view const& program) {
  auto const place = [&](op what, int stage, std::uint32_t micro_batch) {
    return (static_cast<std::size_t>(what) * static_cast<std::size_t>(program.stages()) +
            static_cast<std::size_t>(stage)) *
               static_cast<std::size_t>(program.micro_batches) +
           micro_batch;
  };
  std::vector<char> done(place(static_cast<op>(op_count), 0, 0));
  std::vector<int> position(static_cast<std::size_t>(program.ranks()));
  auto const has = [&](op what, int stage, std::uint32_t micro_batch) {
    return done[place(what, stage, micro_batch)] != 0;
  };
  auto const ready = [&](action const& cell) {
    int const stage = cell.stage;
    std::uint32_t const micro_batch = cell.micro_batch;
    int const last = program.stages() - 1;
    switch (cell.what) {
      case op::forward:
        return stage == 0 || has(op::receive_forward, stage, micro_batch) ||
               (program.graph.rank_of(stage - 1) == program.graph.rank_of(stage) &&
                has(op::forward, stage - 1, micro_batch));
      case op::backward:
      case op::backward_input:
        return stage == last || has(op::receive_backward, stage, micro_batch) ||
               (program.graph.rank_of(stage + 1) == program.graph.rank_of(stage) &&
                (has(op::backward, stage + 1, micro_batch) || has(op::backward_input, stage + 1, micro_batch)));
      case op::send_forward: return has(op::forward, stage, micro_batch);
      case op::send_backward:
        return has(op::backward, stage, micro_batch) || has(op::backward_input, stage, micro_batch);
      case op::receive_forward: return has(op::send_forward, stage - 1, micro_batch);
      case op::receive_backward: return has(op::send_backward, stage + 1, micro_batch);
      default: return true;
    }
  };
  int rounds = 0;
  for (;;) {
    std::vector<bool> moved(position.size());
    bool any = false;
    bool left = false;
    for (int pass = 0; pass < 2; ++pass)
      for (int turn = 0; turn < program.ranks(); ++turn) {
        int const rank = pass == 0 ? turn : program.ranks() - 1 - turn;
        auto const at = static_cast<std::size_t>(rank);
        if (moved[at] || position[at] == program.row(rank).size) continue;
        left = true;
        action const& cell = program.row(rank)[position[at]];
        if (!ready(cell)) continue;
        done[place(cell.what, cell.stage, cell.micro_batch)] = 1;
        ++position[at];
        moved[at] = true;
        any = true;
      }
    if (!left) return rounds;
    if (!any) return -1;
    ++rounds;
  }
}

#ifdef WEFT_TEST_JSON

using json = nlohmann::json;

std::string table_text(json const& rows) {
  std::string text;
  for (auto const& row : rows) {
    std::string line;
    for (auto const& cell : row) line += (line.empty() ? "" : ",") + cell.get<std::string>();
    text += line + "\n";
  }
  return text;
}

/// A table with its empty cells, which CSV files lose: to `insert_posts` they are turns.
program with_empty_cells(json const& rows) {
  auto const table = read_csv(table_text(rows));
  int cells = 0;
  for (auto const& row : rows) cells += static_cast<int>(row.size());
  program result = passes::like(table.view(), cells);
  for (int rank = 0; rank < table.view().ranks(); ++rank) {
    int next = 0;
    for (auto const& cell : rows[static_cast<std::size_t>(rank)])
      result.append(cell.get<std::string>().empty() ? action{} : table.view().row(rank)[next++]);
    result.end_row();
  }
  return result;
}

std::vector<std::string> strings(json const& list) { return list.get<std::vector<std::string>>(); }

/// One vector; false where its kind is not known here.
bool check_vector(json const& each, std::string const& folder) {
  std::string const kind = each.at("kind");
  auto const row = [&] { return read_csv(table_text(json::array({each.at("input")}))); };
  if (kind == "action_parse") {
    int const stage = each.at("expected")[0];
    csv_options options;
    options.stages = stage + 1;
    std::string text = each.at("token");
    for (int other = 0; other < stage; ++other) text += "," + std::to_string(other) + "F0";
    auto const cell = read_csv(text + "\n", options).view().row(0)[0];
    CHECK(cell.stage == stage);
    CHECK(traits_of(cell.what).letters == each.at("expected")[1].get<std::string>());
    CHECK(cell.micro_batch == each.at("expected")[2].get<unsigned>());
  } else if (kind == "merge_bw") {
    CHECK(cells_of(passes::merge_backward(row().view()).view().row(0)) == strings(each.at("expected")));
  } else if (kind == "reduce_grad") {
    auto const made = passes::reduce_gradients(row().view());
    CHECK(cells_of(made.view().row(0)) == strings(each.at("expected")));
    CHECK(play(made.view()).playable());
  } else if (kind == "unshard_reshard") {
    auto const made = passes::unshard_windows(row().view(), each.at("max_active_stages"));
    CHECK(cells_of(made.view().row(0)) == strings(each.at("expected")));
  } else if (kind == "unshard_count") {
    shape chosen;
    chosen.chunks = each.at("v");
    auto const table = make_table("interleaved-1f1b", each.at("p"), each.at("m"), chosen);
    for (auto const& [limit, count] : each.at("expected_unshards").items()) {
      auto const made = passes::unshard_windows(table.view(), std::stoi(limit.substr(limit.find('=') + 1)));
      int found = 0;
      for (action const& cell : made.view().row(each.at("rank")))
        found += cell.what == op::unshard && cell.stage == each.at("stage").get<int>();
      CHECK(found == count.get<int>());
    }
  } else if (kind == "send_recv") {
    auto const made = passes::insert_posts(with_empty_cells(each.at("input")).view());
    CHECK(text_of(made.view()) == table_text(each.at("expected")));
    CHECK(simulated_steps(made.view()) == each.at("simulated_steps").get<int>());
    CHECK(play(made.view()).playable());
  } else if (kind == "defer_recv") {
    csv_options options;
    options.old_letters = table_text(each.at("input")).find('W') != std::string::npos;  // B is the input gradient there
    auto const made = passes::defer_receives(read_csv(table_text(each.at("input")), options).view());
    CHECK(text_of(made.view()) == text_of(read_csv(table_text(each.at("expected")), options).view()));
    CHECK(play(made.view()).playable());
    auto const hoisted = passes::hoist_receives(made.view());
    for (auto const model : {send_model::rendezvous, send_model::in_issue_order, send_model::blocking})
      CHECK(explain(play(hoisted.view(), model)) == "");
  } else if (kind == "csv_lowering") {
    csv_options options;
    options.old_letters = true;
    auto const read = [&](char const* key) {
      return read_csv(published::read_file(folder + "/" + each.at(key).get<std::string>()), options);
    };
    auto const made = passes::insert_posts(passes::merge_backward(read("input_file").view()).view());
    CHECK(text_of(made.view()) == text_of(read("expected_file").view()));
    CHECK(simulated_steps(made.view()) == each.at("simulated_steps").get<int>());
    CHECK(play(made.view()).playable());
  } else if (kind == "csv_schedule") {
    auto const table = read_csv(published::read_file(folder + "/" + each.at("expected_file").get<std::string>()));
    CHECK(text_of(make_table("dual-pipe-v", each.at("p"), each.at("m")).view()) == text_of(table.view()));
    CHECK(play(table.view()).playable());
    CHECK(make_program(table.view()).view().ranks() == each.at("p").get<int>());
  } else if (kind == "liveness") {
    auto const made = passes::assign_slots(row().view());
    std::map<std::string, int> slots;
    for (action const& cell : made.view().row(0))
      if (cell.what == op::forward) slots["0," + std::to_string(cell.micro_batch)] = cell.slot;
    for (auto const& [item, slot] : each.at("slots").items()) CHECK(slots.at(item) == slot.get<int>());
    CHECK(made.view().slots[0].activation == each.at("num_slots").get<int>());
  } else if (kind == "validator_must_reject") {
    std::map<std::string, defect> const reasons{{"multiple forwards", defect::duplicate_forward},
                                                {"multiple input backwards", defect::duplicate_backward},
                                                {"multiple release actions", defect::duplicate_weight},
                                                {"Forward actions missing", defect::missing_forward}};
    CHECK(play(row().view()).what == reasons.at(each.at("reason")));
  } else if (kind == "schedule_plan") {
    for (auto const& shape_of_case : each.at("cases")) {
      int const chunks = shape_of_case[0];
      int const count = shape_of_case[1];
      int const ranks = shape_of_case[2];
      CAPTURE(chunks);
      CAPTURE(count);
      CAPTURE(ranks);
      shape chosen;
      chosen.chunks = chunks;
      for (char const* name : {"interleaved-1f1b", "looped-bfs", "interleaved-zb"}) {
        CAPTURE(name);
        auto const table = make_table(name, ranks, count, chosen);
        auto const posted = passes::insert_posts(table.view());
        CHECK(simulated_steps(posted.view()) > 0);
        CHECK(play(posted.view()).playable());
        if (name != std::string("interleaved-1f1b") || count / std::max(1, count / ranks) * (count / ranks) != count)
          continue;
        // Forwards in front of the first backward, by the published formula.
        int const last = (chunks - 1) * (count / std::max(1, count / ranks));
        for (int rank = 0; rank < ranks; ++rank) {
          int const wanted = std::min(last + 2 * (ranks - 1 - rank), count * chunks);
          int forwards = 0;
          while (table.view().row(rank)[forwards].what == op::forward) ++forwards;
          CHECK(forwards == std::min(wanted + 1, count * chunks));
        }
      }
    }
  } else if (kind == "adjacency_guard") {
    // A post names an edge of the graph, so what is no edge cannot be posted; with a skip edge it can.
    auto const chain = topology::stage_graph::chain(4).place(topology::placement::loop{}, 4);
    auto const skips = topology::stage_graph::chain(4).skip(0, 2).skip(0, 3).place(topology::placement::loop{}, 4);
    CHECK(passes::post_between(chain.view(), 0, 1, 0, true).what == op::send_forward);
    CHECK(passes::post_between(chain.view(), 0, 2, 0, true).what == op::none);
    CHECK(passes::post_between(chain.view(), 3, 0, 0, false).what == op::none);
    CHECK(passes::post_between(skips.view(), 0, 2, 0, true).what == op::send_forward);
    CHECK(passes::post_between(skips.view(), 3, 0, 0, false).what == op::receive_forward);
    CHECK(passes::post_between(skips.view(), 3, 0, 0, false).group == 0);
  } else if (kind == "edge_rounds") {
    auto const graph = topology::stage_graph::chain(8).place(topology::placement::loop{}, 4);
    auto const pairs = passes::edge_rounds(graph.view());
    std::vector<std::vector<std::vector<int>>> rounds;
    for (auto const& pair : pairs) {
      if (rounds.size() <= static_cast<std::size_t>(pair.round))
        rounds.resize(static_cast<std::size_t>(pair.round) + 1);
      rounds[static_cast<std::size_t>(pair.round)].push_back({pair.from, pair.to});
    }
    CHECK(json(rounds) == each.at("rounds"));
  } else {
    return false;
  }
  return true;
}

#endif

}  // namespace

#ifdef WEFT_TEST_JSON
TEST_CASE("passes: every published lowering vector") {
  std::string const folder = published::folder();
  if (folder.empty()) return;
  int kinds = 0;
  for (auto const& each : json::parse(published::read_file(folder + "/lowering_vectors.json"))) {
    INFO(each.at("kind").get<std::string>() << " " << each.at("name").get<std::string>());
    bool const known = check_vector(each, folder);
    CHECK(known);
    kinds += known;
  }
  CHECK(kinds >= 21);
}
#endif

TEST_CASE("passes: I and W that stand apart, or are of different copies, are not merged") {
  auto const row = [](char const* text) {
    return cells_of(passes::merge_backward(read_csv(text).view()).view().row(0));
  };
  CHECK(row("0F0,0F1,0I0,0I1,0W1,0W0\n") == std::vector<std::string>{"0F0", "0F1", "0I0", "0B1", "0W0"});
  CHECK(row("0F0,1F0,1I0,0I0,1W0,0W0\n") == std::vector<std::string>{"0F0", "1F0", "1I0", "0I0", "1W0", "0W0"});
  auto const zb = make_table("zb-h1", 2, 4);
  auto const merged = passes::merge_backward(zb.view());
  CHECK(cells_of(merged.view().row(0)) ==
        std::vector<std::string>{"0F0", "0F1", "0B0", "0F2", "0B1", "0F3", "0B2", "0B3"});
  CHECK(play(merged.view()).playable());
  // A program lowered from the merged table keeps no weight contexts where all halves were neighbours.
  CHECK(make_program(merged.view()).view().slots[0].weight_context == 0);
}

TEST_CASE("passes: every schedule is playable once posts are inserted, deferred and hoisted") {
  for (char const* name : {"gpipe", "1f1b", "zb-h1", "interleaved-1f1b", "breadth-first", "zb-v"})
    for (int ranks : {2, 3, 4})
      for (int count : {1, 2, 5, 8}) {
        CAPTURE(name);
        CAPTURE(ranks);
        CAPTURE(count);
        auto const posted = passes::insert_posts(make_table(name, ranks, count).view());
        CHECK(explain(play(posted.view())) == "");
        auto const ordered = passes::hoist_receives(passes::defer_receives(posted.view()).view());
        auto const slotted = passes::assign_slots(ordered.view());
        for (auto const model : {send_model::rendezvous, send_model::in_issue_order, send_model::blocking})
          CHECK(explain(play(slotted.view(), model)) == "");
      }
}

TEST_CASE("passes: windows of weights hold what each action needs, and gather no more often than they must") {
  auto const table = make_table("interleaved-1f1b", 2, 6);
  for (int most : {1, 2}) {
    CAPTURE(most);
    auto const made = passes::unshard_windows(table.view(), most);
    CHECK(play(made.view()).playable());
    for (int rank = 0; rank < 2; ++rank) {
      std::map<int, bool> active;
      int gathered = 0;
      for (action const& cell : made.view().row(rank)) {
        if (cell.what == op::unshard) {
          CHECK_FALSE(active[cell.stage]);
          active[cell.stage] = true;
          ++gathered;
        } else if (cell.what == op::reshard) {
          CHECK(active[cell.stage]);
          active[cell.stage] = false;
        } else {
          CHECK(active[cell.stage]);
        }
        CHECK(active[rank] + active[rank + 2] <= most);
      }
      CHECK_FALSE(active[rank]);
      CHECK_FALSE(active[rank + 2]);
      if (most == 2) CHECK(gathered == 2);
      if (most == 1) CHECK(gathered > 4);
    }
  }
}

TEST_CASE("passes: reductions begin where a stage's gradient is complete") {
  auto const made = passes::reduce_gradients(read_csv("0F0,1F0,1I0,0I0,0W0,1W0\n").view());
  CHECK(cells_of(made.view().row(0)) ==
        std::vector<std::string>{"0F0", "1F0", "1I0", "0I0", "0W0", "0REDUCE_GRAD", "1W0", "1REDUCE_GRAD"});
  CHECK(made.view().work.reduces_over_data);
}

TEST_CASE("passes: in every round of making communicators a rank meets at most one other") {
  for (int ranks = 1; ranks <= 8; ++ranks) {
    auto const graph = topology::stage_graph::chain(3 * ranks).skip(0, 2).place(topology::placement::loop{}, ranks);
    std::map<int, std::vector<int>> busy;
    auto const pairs = passes::edge_rounds(graph.view());
    for (auto const& pair : pairs) {
      for (int const rank : {pair.from, pair.to}) {
        auto& meets = busy[pair.round];
        CHECK(std::find(meets.begin(), meets.end(), rank) == meets.end());
        meets.push_back(rank);
      }
      int back = 0;
      for (auto const& other : pairs) back += other.from == pair.to && other.to == pair.from;
      CHECK(back == 1);
    }
    CHECK((pairs.size() > 0) == (ranks > 1));
  }
}
