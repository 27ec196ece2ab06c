// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

// Every way by which a message leaves a device's memory, and arrays that become messages.
#include <weft/execution/reduced.hpp>
#include <weft/pipeline/logical_order.hpp>
#include <weft/pipeline/wire_buffer.hpp>
#include <weft/transport/automatic.hpp>
#include <weft/transport/copies.hpp>
#include <weft/transport/device_aware.hpp>
#include <weft/transport/device_numbers.hpp>
#include <weft/transport/device_support.hpp>
#include <weft/transport/in_process.hpp>
#include <weft/transport/running_all_reduce.hpp>
#include <weft/transport/staged.hpp>

namespace {

using space = Kokkos::DefaultExecutionSpace;
using copies = weft::transport::kokkos_copies<space>;
using buffer = weft::wire_buffer<space::memory_space>;

static_assert(weft::transport::memory_copies<copies>);

}  // namespace

template class weft::wire_buffer<space::memory_space>;
template class weft::transport::kokkos_copies<space>;
template class weft::transport::running_all_reduce<float, weft::transport::device_numbers<float, space>>;
template class weft::transport::running_all_reduce<double, weft::transport::device_numbers<double, space>>;
template class weft::transport::staged<std::size_t{1} << 19, copies>;
template weft::transport::device_support weft::transport::find_device_support(weft::transport::endpoint&,
                                                                              weft::transport::device_answer,
                                                                              weft::transport::device_answer, copies&,
                                                                              void*, double);

void exchange(weft::transport::endpoint& door, space const& instance, buffer& out, buffer& in) {
  weft::transport::staged<std::size_t{1} << 19, copies> staged(door, copies(instance));
  weft::transport::device_aware direct(door, space::memory_space::name());
  for (weft::transport::endpoint* const each :
       {static_cast<weft::transport::endpoint*>(&staged), static_cast<weft::transport::endpoint*>(&direct)}) {
    out.connect(*each, true, 0, 1);
    in.connect(*each, false, 0, 1);
    in.receive(*each, 0, 1);
    out.send(*each, instance, 1, 0, 0, 0, 1);
    while (!in.test(*each) || !out.test(*each)) each->yield();
    in.accept(*each, instance, 1, 0, 0, 0, 1);
  }
}

void arrays(space const& instance, Kokkos::View<float**, Kokkos::LayoutLeft, space::memory_space> const& array,
            weft::boundary_view<space::memory_space>& wire) {
  weft::to_wire<float>(instance, array, wire, 0);
  weft::from_wire<float>(instance, wire, 0, array);
  weft::to_wire<weft::bfloat16>(instance, array, wire, 1);
  weft::from_wire<weft::bfloat16>(instance, wire, 1, array);
}
