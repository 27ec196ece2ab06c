// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/transport/endpoint.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

namespace weft::inline v1::transport {

/// A vendor's library that moves memory between devices, as `transport::library_door` drives it: NCCL, RCCL, or one on
/// the host for tests. What it must promise is what NCCL documents:
///
/// * groups of one rank begin in the order of their launches, each when the one before has ended, and end as a whole;
/// * within a pair of ranks, the k-th send of one meets the k-th receive of the other, and both have the same size;
/// * a group moves once the groups that hold the other ends of its messages have begun, too.
///
/// * collectives of one communicator begin in the order of their launches, the same on all of its ranks; those that end
///   with the same numbers have the same bits. In which order one adds is the library's affair.
///
/// No call waits for other ranks: `connect` and `end_group` begin something, and `is_ready` says when the library has
/// taken it over. Errors, also those that happen behind the caller's back (`check`), are thrown as `weft::error`.
template <class Library>
concept device_library = std::movable<Library> && std::is_trivially_copyable_v<typename Library::identity> &&
    requires(Library& library, typename Library::identity const& id, void* data, void const* from, std::size_t bytes,
             int rank, std::uint64_t mark, std::int64_t elements, summand type) {
  { Library::name } -> std::convertible_to<char const*>;
  { std::as_const(library).memory() } -> std::convertible_to<std::string_view>;  ///< what Kokkos calls it
  { Library::make_identity() } -> std::same_as<typename Library::identity>;      ///< of a new group of ranks
  library.connect(id, rank, rank);                                               ///< this rank, of so many
  { library.is_ready() } -> std::same_as<bool>;
  library.follow();  ///< what is launched next comes after what the computing instance was given so far
  library.begin_group();
  library.send(from, bytes, rank);
  library.receive(data, bytes, rank);
  library.end_group();
  library.all_reduce(data, elements, type);       ///< in place, over all ranks; outside of groups, as the next two
  library.reduce(data, elements, type, rank);     ///< the sum on that rank alone; the others' data stay
  library.broadcast(data, elements, type, rank);  ///< from that rank
  { std::as_const(library).another() } -> std::same_as<Library>;  ///< for other ranks, with a queue of its own
  { library.mark() } -> std::same_as<std::uint64_t>;  ///< behind the last group or collective; larger than earlier ones
  { library.is_done(mark) } -> std::same_as<bool>;
  library.check();
  library.abort();  ///< ends what is under way; afterwards nothing is read or written any more
};

}  // namespace weft::inline v1::transport
