# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# Every option of weft. Nothing here sets a compiler, language or global flag when another project includes weft; what
# stands under PROJECT_IS_TOP_LEVEL concerns weft's own tests, examples and benchmarks.

# AUTO uses what is found, ON insists on it, OFF does not look. NCCL and RCCL are asked for beside CUDA and HIP alone.
foreach(feature IN ITEMS KOKKOS BLAS MPI NCCL RCCL)
  set(weft_ENABLE_${feature} "AUTO" CACHE STRING "Provide the target that needs ${feature}: AUTO, ON or OFF")
  set_property(CACHE weft_ENABLE_${feature} PROPERTY STRINGS AUTO ON OFF)
endforeach()
option(weft_ENABLE_CUDA "Provide weft::cuda; needs a Kokkos built for CUDA" OFF)
option(weft_ENABLE_HIP "Provide weft::hip; needs a Kokkos built for HIP" OFF)

option(weft_BUILD_TESTS "Build weft's tests" ${PROJECT_IS_TOP_LEVEL})
option(weft_BUILD_EXAMPLES "Build weft's examples" ${PROJECT_IS_TOP_LEVEL})
option(weft_BUILD_BENCH "Build weft's benchmarks" ${PROJECT_IS_TOP_LEVEL})
option(weft_INSTALL "Add weft's install rules" ${PROJECT_IS_TOP_LEVEL})
option(weft_WARNINGS_AS_ERRORS "Treat warnings in weft's tests, examples and benchmarks as errors" OFF)
option(weft_NATIVE "Compile weft's tests, examples and benchmarks for the processor of this machine" ${PROJECT_IS_TOP_LEVEL})
option(weft_FETCH_DEPENDENCIES "Download Kokkos and doctest where find_package does not find them" OFF)

if(PROJECT_IS_TOP_LEVEL)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
  endif()
  set(CMAKE_CXX_EXTENSIONS OFF)
  # There are no modules here, and CMake 3.28 and later would look for some in every source.
  set(CMAKE_CXX_SCAN_FOR_MODULES OFF)
  if(NOT CMAKE_RUNTIME_OUTPUT_DIRECTORY)
    set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
  endif()

  # ccache refuses precompiled headers unless told that their macros and times may be ignored; GCC must also leave the
  # pragma that names the header in the preprocessed text (see weft_developer.cmake).
  if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
    find_program(weft_CCACHE ccache)
    mark_as_advanced(weft_CCACHE)
    if(weft_CCACHE)
      set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
          "CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime" "${weft_CCACHE}")
    endif()
  endif()
endif()
