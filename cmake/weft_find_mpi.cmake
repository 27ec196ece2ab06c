# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# weft_find_mpi(<found>): MPI::MPI_CXX by CMake's own module, for the C interface alone (the C++ bindings of MPI 2 are
# left out), and what is needed to launch: MPIEXEC_EXECUTABLE, MPIEXEC_NUMPROC_FLAG.

include("${CMAKE_CURRENT_LIST_DIR}/weft_promote.cmake")

function(weft_find_mpi found)
  set(known FALSE)
  if(TARGET MPI::MPI_CXX)
    set(known TRUE)
  endif()
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI 3.1 QUIET COMPONENTS CXX)
  if(TARGET MPI::MPI_CXX)
    if(NOT known)
      weft_promote(MPI::MPI_CXX)
    endif()
    set(${found} TRUE PARENT_SCOPE)
    foreach(name IN ITEMS MPIEXEC_EXECUTABLE MPIEXEC_NUMPROC_FLAG MPI_CXX_VERSION)
      set(${name} "${${name}}" PARENT_SCOPE)
    endforeach()
  else()
    set(${found} FALSE PARENT_SCOPE)
  endif()
endfunction()
