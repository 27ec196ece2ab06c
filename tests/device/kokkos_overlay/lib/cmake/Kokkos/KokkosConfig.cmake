# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# What find_package sees of the Kokkos that this folder makes of Debian's: enough to configure weft for a device, and
# nothing to link. weft_OVERLAY_BACKEND: CUDA or HIP; weft_OVERLAY_KOKKOS: the folder of Kokkos_Core.hpp.
set(Kokkos_VERSION 5.2.2)
set(Kokkos_DEVICES "${weft_OVERLAY_BACKEND};SERIAL")
set(Kokkos_ENABLE_${weft_OVERLAY_BACKEND} ON)
if(NOT TARGET Kokkos::kokkos)
  add_library(Kokkos::kokkos INTERFACE IMPORTED)
  get_filename_component(overlay "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
  set_target_properties(Kokkos::kokkos PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${overlay};${weft_OVERLAY_KOKKOS}"
                                                  INTERFACE_COMPILE_FEATURES cxx_std_20)
endif()
