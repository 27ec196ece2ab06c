// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

/// @file
/// Endpoints and what runs over them. Needs MPI and Kokkos; transport/in_process.hpp alone needs neither.

#include <weft/transport/agreement.hpp>
#include <weft/transport/automatic.hpp>
#include <weft/transport/bodies_in_place.hpp>
#include <weft/transport/card.hpp>
#include <weft/transport/chosen_ranks.hpp>
#include <weft/transport/copies.hpp>
#include <weft/transport/device_aware.hpp>
#include <weft/transport/device_library.hpp>
#include <weft/transport/device_numbers.hpp>
#include <weft/transport/device_support.hpp>
#include <weft/transport/endpoint.hpp>
#include <weft/transport/environment.hpp>
#include <weft/transport/in_process.hpp>
#include <weft/transport/launch_mutex.hpp>
#include <weft/transport/library_door.hpp>
#include <weft/transport/link_report.hpp>
#include <weft/transport/link_table.hpp>
#include <weft/transport/mpi.hpp>
#include <weft/transport/mpi_device_support.hpp>
#include <weft/transport/no_library.hpp>
#include <weft/transport/number_memory.hpp>
#include <weft/transport/relay.hpp>
#include <weft/transport/run_collective.hpp>
#include <weft/transport/running_all_reduce.hpp>
#include <weft/transport/running_collective.hpp>
#include <weft/transport/running_hierarchical.hpp>
#include <weft/transport/staged.hpp>
#include <weft/transport/standstill.hpp>
#include <weft/transport/subgroup.hpp>
#include <weft/transport/vendor_groups.hpp>
#include <weft/transport/wait.hpp>
