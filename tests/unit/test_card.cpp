// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <weft/execution/device.hpp>
#include <weft/topology/placement.hpp>
#include <weft/train/start.hpp>
#include <weft/transport/card.hpp>
#include <weft/transport/in_process.hpp>

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <vector>

using weft::vendor;
using weft::transport::card;
using weft::transport::mixed_rules;

namespace {

using space = Kokkos::DefaultHostExecutionSpace;

card made(vendor whose, std::string const& identity, std::string const& node = "n1") {
  card each;
  each.whose = whose;
  each.space = whose == vendor::cuda ? "Cuda" : whose == vendor::hip ? "HIP" : "Serial";
  each.device = whose == vendor::cuda ? "NVIDIA H200" : whose == vendor::hip ? "AMD Instinct MI300X" : "a processor";
  each.identity = identity;
  each.node = node;
  each.bytes = std::int64_t{141} << 30;
  each.free_bytes = std::int64_t{140} << 30;
  each.messages = "MPICH 4.0.2, no device memory";
  each.precision = "4";
  each.fingerprint = "00ab";
  each.build.add("Kokkos", whose == vendor::host ? "30401" : "50200");
  return each;
}

std::vector<card> two_vendors() {
  return {made(vendor::cuda, "u0"), made(vendor::cuda, "u1"), made(vendor::hip, "p0"), made(vendor::hip, "p1")};
}

/// What is wrong with these cards; empty: nothing.
std::string why(std::vector<card> const& cards, std::vector<std::vector<int>> const& holders = {},
                mixed_rules const& rules = {}) {
  try {
    weft::transport::require_cards(cards, holders, rules);
  } catch (weft::agreed_error const& found) {
    return found.what();
  }
  return "";
}

bool has(std::string const& text, char const* words) { return text.find(words) != std::string::npos; }

}  // namespace

TEST_CASE("card: what travels is what was written, whatever stands in a name") {
  card mine = made(vendor::hip, "0000:c1:00.0");
  mine.device = "a\tname\nwith breaks";
  mine.shares_device = true;
  mine.build.add("BLAS", "OpenBLAS\t0.3\n");
  card const read = weft::transport::read_card(mine.text(), 3);
  CHECK(read.whose == vendor::hip);
  CHECK(read.device == "a name with breaks");
  CHECK(read.identity == mine.identity);
  CHECK(read.free_bytes == mine.free_bytes);
  CHECK(read.shares_device);
  CHECK(read.build.all().size() == 2);
  CHECK(read.text() == mine.text());

  auto const refused = [](std::string const& text) -> std::string {
    try {
      static_cast<void>(weft::transport::read_card(text, 3));
    } catch (weft::agreed_error const& found) {
      return found.what();
    }
    return "";
  };
  CHECK(has(refused("rubbish"), "weft::transport: the card of rank 3 cannot be read; build"));
  CHECK(has(refused("card\t2\n"), "is of version 2, and this one reads version 1"));
  CHECK(has(refused("card\t1\nvendor\tSYCL\n"), "names the vendor SYCL"));
  CHECK(has(refused("card\t1\nbytes\t-5\n"), "names -5 bytes"));
}

TEST_CASE("card: a rank that lies about its vendor, or is not what the plan promised, is named") {
  CHECK(why(two_vendors()).empty());
  auto cards = two_vendors();
  cards[1].whose = vendor::hip;  // and computes on Cuda
  CHECK(why(cards) ==
        "weft::transport: rank 1 says that its device is HIP's, and computes on Cuda; start each rank with the "
        "executable that was built for its device, and let weft write its card");
  cards = two_vendors();
  cards[2].space = "OpenMP";  // a host that calls itself a device
  CHECK(has(why(cards), "rank 2 says that its device is HIP's, and computes on OpenMP"));
  cards = two_vendors();
  cards[3].identity.clear();
  CHECK(has(why(cards), "rank 3 says that its device is HIP's, and names no such device"));
  cards[3] = made(vendor::cuda, "");
  cards[3].whose = vendor::host;  // a device that calls itself a host
  CHECK(has(why(cards), "rank 3 says that its device is host's, and computes on Cuda"));

  mixed_rules const rules{.vendors = {vendor::cuda, vendor::hip, vendor::hip, vendor::hip}};
  CHECK(why(two_vendors(), {}, rules) ==
        "weft::transport: the plan's rank_vendors say HIP for rank 1, and it is CUDA (NVIDIA H200); start the "
        "executables in the order of the plan");
  CHECK(has(why(two_vendors(), {}, {.vendors = {vendor::cuda}}),
            "the plan names the vendors of 1 ranks, and there are 4; give rank_vendors one for each rank"));
  cards = two_vendors();
  cards[3].fingerprint = "00cd";
  CHECK(has(why(cards), "rank 3 has the fingerprint 00cd of plan and model, and rank 0 has 00ab; build both"));
}

TEST_CASE("card: two ranks on one device are refused by its name, unless both were asked to share") {
  auto cards = two_vendors();
  cards[3] = cards[2];
  CHECK(why(cards) ==
        "weft::transport: ranks 2 and 3 are on one device, AMD Instinct MI300X (p0) of n1; start fewer ranks on this "
        "node, let the launcher show each its own device, or set WEFT_SHARE_DEVICES=1 where that is meant");
  CHECK(why(cards, {}, {.shared_devices = true}).empty());
  cards[2].shares_device = true;
  CHECK(has(why(cards), "are on one device"));
  cards[3].shares_device = true;
  CHECK(why(cards).empty());
  cards = two_vendors();
  cards[3] = made(vendor::hip, "p0", "n2");  // the same place on the bus of another node
  CHECK(why(cards).empty());
  CHECK(why({made(vendor::host, ""), made(vendor::host, "")}).empty());  // hosts are shared
  cards = two_vendors();
  cards[3] = cards[2];
  cards[2].process = cards[3].process = "77";  // ranks that are threads of one process
  CHECK(why(cards).empty());
  cards[3].process = "78";
  CHECK(has(why(cards), "are on one device"));
}

TEST_CASE("card: vendors meet along the pipeline, and over data only where that is allowed") {
  weft::topology::mesh_shape const two_by_two =
      weft::mesh<weft::axis<weft::data_axis, 2>, weft::axis<weft::pipeline_axis, 2>>::shape(4);
  auto const graph = weft::topology::stage_graph::chain(2).place(weft::topology::placement::loop{}, 2);
  auto const holders = weft::train::holders_of_stages(two_by_two, graph.view());
  CHECK(holders == std::vector<std::vector<int>>{{0, 2}, {1, 3}});
  CHECK(why(two_vendors(), holders) ==
        "weft::transport: ranks 0 and 2 hold the same layers, and are CUDA and HIP; vendors meet along the pipeline "
        "alone: give all pipelines the same vendors in the same places, or allow it (allow_mixed<data_axis>)");
  CHECK(why(two_vendors(), holders, {.over_data = true}).empty());
  auto cards = two_vendors();
  std::swap(cards[1], cards[2]);  // each pipeline: CUDA, then HIP
  CHECK(why(cards, holders).empty());
  CHECK(weft::train::held_by_ranks(two_by_two, graph.view(), {{0, 3}, {3, 4}}) ==
        std::vector<std::string>{"layers 0-2", "layers 3", "layers 0-2", "layers 3"});
}

TEST_CASE("card: what differs between builds is named, and the table has a line per rank") {
  auto cards = two_vendors();
  CHECK(weft::transport::differences(cards).empty());
  cards[0] = made(vendor::host, "");
  cards[2].messages = "MPICH 5.0.0, CUDA and HIP memory";
  cards[3].build.add("threads", "4");
  CHECK(weft::transport::differences(cards) ==
        std::vector<std::string>{
            "Kokkos is 30401 on rank 0, 50200 on ranks 1 to 3",
            "what moves messages is MPICH 4.0.2, no device memory on ranks 0, 1 and 3, MPICH 5.0.0, CUDA and HIP "
            "memory on rank 2",
            "threads is 4 on rank 3"});
  auto const table = weft::transport::card_table(cards, {"layers 0-3", "layers 4", "layers 5", "no layers"});
  CHECK(has(table, "\n0     layers 0-3  host    Serial  a processor          140.0 GiB of 141.0 GiB  n1\n"));
  CHECK(has(table, "\n3     no layers   HIP     HIP     AMD Instinct MI300X  140.0 GiB of 141.0 GiB  n1\n"));
}

TEST_CASE("ranks that meet: all agree and know each other's cards, or none starts") {
  struct told {
    std::string model = "gpt2";
    std::string executable = "a";
    mixed_rules rules{};
  };
  auto const meet = [](std::vector<told> const& ranks) {
    std::vector<std::string> words(ranks.size());
    std::vector<std::size_t> cards(ranks.size());
    try {
      weft::transport::in_process::run(static_cast<int>(ranks.size()), [&](auto& door) {
        auto const own = static_cast<std::size_t>(door.rank());
        try {
          weft::transport::facts common;
          if (!ranks[own].model.empty()) common.add("model", ranks[own].model);
          common.add("precision (bytes per number)", "4");
          auto const all = weft::train::meet<space>(door, common, {{{"executable", ranks[own].executable}}, "threads"},
                                                    {}, ranks[own].rules, true, 60.0);
          cards[own] = all.size();
          if (all[own].whose != vendor::host || all[own].precision != "4" || all[own].bytes < 1 ||
              all[own].node.empty())
            words[own] = "wrong card";
        } catch (weft::agreed_error const& found) {
          words[own] = found.what();
          throw;
        }
      });
    } catch (weft::agreed_error const&) {
    }
    for (auto const& each : words) CHECK(each == words[0]);
    if (words[0].empty())
      for (std::size_t const each : cards) CHECK(each == ranks.size());
    return words[0];
  };
  mixed_rules const several{.several_builds = true};
  CHECK(meet({{}, {}, {}}).empty());
  CHECK(has(meet({{}, {.model = "llama"}}), "model is \"gpt2\" on rank 0 and \"llama\" on rank 1"));
  CHECK(has(meet({{}, {}, {.model = ""}}), "rank 0 says its model, and rank 2 does not"));
  CHECK(has(meet({{.rules = several}, {.model = "llama", .rules = several}}), "model is \"gpt2\" on rank 0"));
  auto const builds = meet({{}, {}, {.executable = "b"}});
  CHECK(has(builds, "executable is \"a\" on rank 0 and \"b\" on rank 2"));
  CHECK(has(builds, "or allow a mixed job (trainer_options::mixed) where ranks of several builds are meant"));
  CHECK(meet({{.rules = several}, {.executable = "b", .rules = several}}).empty());
  CHECK(has(meet({{.rules = several}, {.executable = "b"}}), "a mixed job is \"allowed\" on rank 0"));
  mixed_rules const promised{.vendors = {vendor::host, vendor::hip}};
  CHECK(has(meet({{.rules = promised}, {.rules = promised}}),
            "the plan's rank_vendors say HIP for rank 1, and it is host"));
  CHECK(has(meet({{.rules = promised}, {}}), "vendors of the ranks is \"host HIP\" on rank 0 and \"as they are\""));
}

TEST_CASE("device: ranks of a node take its devices in turn, by what their launcher says") {
  using weft::execution::device_of_rank;
  CHECK(device_of_rank(3, 0) == -1);
  CHECK(device_of_rank(-1, 4) == 0);
  for (int rank = 0; rank < 4; ++rank) CHECK(device_of_rank(rank, 4) == rank);
  CHECK(device_of_rank(5, 4) == 1);
  CHECK(device_of_rank(3, 1) == 0);  // its launcher shows it one of its own, or four ranks share: the cards know

  std::vector<char const*> const names{"MPI_LOCALRANKID",           "OMPI_COMM_WORLD_LOCAL_RANK",
                                       "MV2_COMM_WORLD_LOCAL_RANK", "PMI_LOCAL_RANK",
                                       "PALS_LOCAL_RANKID",         "PMIX_LOCAL_RANK",
                                       "FLUX_TASK_LOCAL_ID",        "SLURM_LOCALID"};
  for (char const* each : names) unsetenv(each);
  CHECK(weft::execution::launched_node_rank() == -1);
  for (char const* each : names) {
    setenv(each, "7", 1);
    CHECK(weft::execution::launched_node_rank() == 7);
    for (char const* rubbish : {"", "x", "-2", "7x"}) {
      setenv(each, rubbish, 1);
      CHECK(weft::execution::launched_node_rank() == -1);
    }
    unsetenv(each);
  }
  setenv("SLURM_LOCALID", "0", 1);  // of the daemon that Open MPI's launcher started
  setenv("OMPI_COMM_WORLD_LOCAL_RANK", "2", 1);
  CHECK(weft::execution::launched_node_rank() == 2);
  unsetenv("SLURM_LOCALID");
  unsetenv("OMPI_COMM_WORLD_LOCAL_RANK");
}

TEST_CASE("device: beside ranks of another vendor, a rank counts among its like") {
  using weft::execution::number_for_device;
  CHECK(number_for_device(3, {.number = 2, .alike = 4, .ranks = 4}) == 3);  // as it has chosen before MPI began
  CHECK(number_for_device(-1, {.number = 2, .alike = 4, .ranks = 4}) == 2);
  // CUDA, HIP, CUDA, HIP: both CUDA ranks see devices 0 and 1.
  CHECK(number_for_device(2, {.number = 1, .alike = 2, .ranks = 4}) == 1);
  CHECK(number_for_device(-1, {.number = 1, .alike = 2, .ranks = 4}) == 1);
}

TEST_CASE("device: what the user says to Kokkos goes before") {
  auto const chosen = [](std::vector<char const*> arguments) {
    arguments.insert(arguments.begin(), "program");
    return weft::execution::is_device_chosen(static_cast<int>(arguments.size()), arguments.data());
  };
  CHECK_FALSE(chosen({}));
  CHECK_FALSE(chosen({"--steps", "3", "--kokkos-threads=2"}));
  CHECK(chosen({"--steps", "3", "--kokkos-device-id=1"}));
  CHECK(chosen({"--kokkos-num-devices=4"}));
  CHECK(chosen({"--kokkos-map-device-id-by=random"}));
  setenv("KOKKOS_DEVICE_ID", "1", 1);
  CHECK(chosen({}));
  unsetenv("KOKKOS_DEVICE_ID");
  CHECK_FALSE(chosen({}));
  // A build without a device backend has none to deal out.
  if (weft::execution::vendor_of<Kokkos::DefaultExecutionSpace>() == vendor::host)
    CHECK(weft::execution::count_devices() == 0);
}
