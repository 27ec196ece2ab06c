// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>

#include <mpi.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <fstream>
#include <tuple>
#include <vector>

namespace weft::inline v1::transport::detail {

/// What names a node: the identifier of its running kernel, which containers on it share however they call themselves;
/// the host name where a system has none. Cut or filled with zeros to one length.
using node_name = std::array<char, 80>;

inline node_name name_of_this_node() {
  node_name name{};
  std::ifstream boot("/proc/sys/kernel/random/boot_id");
  boot.read(name.data(), static_cast<std::streamsize>(name.size()));
  if (boot.gcount() == 0 && gethostname(name.data(), name.size()) != 0) name[0] = '?';
  return name;
}

/// The ranks of `ranks` that are on this node, in their order, as a communicator that the caller frees. Not by
/// MPI_COMM_TYPE_SHARED: that is the ranks between which this MPI can share memory, and a library built without such a
/// transport answers with every rank by itself. Returns MPI's code. Collective.
inline int split_by_node(MPI_Comm ranks, MPI_Comm* node) {
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(ranks, &rank);
  MPI_Comm_size(ranks, &size);
  node_name const own = name_of_this_node();
  std::vector<node_name> all(static_cast<std::size_t>(size));
  constexpr int length = static_cast<int>(std::tuple_size_v<node_name>);
  if (int const code = MPI_Allgather(own.data(), length, MPI_CHAR, all.data(), length, MPI_CHAR, ranks);
      code != MPI_SUCCESS)
    return code;
  std::size_t first = 0;
  while (all[first] != own) ++first;
  return MPI_Comm_split(ranks, static_cast<int>(first), rank, node);
}

}  // namespace weft::inline v1::transport::detail
