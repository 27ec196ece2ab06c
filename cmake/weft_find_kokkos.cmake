# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# weft_find_kokkos(<found>): a usable Kokkos::kokkos, mending what Debian's package gets wrong. Installed beside
# weftConfig.cmake, since whoever uses weft meets the same package.

include("${CMAKE_CURRENT_LIST_DIR}/weft_promote.cmake")

# Debian's and Ubuntu's libtrilinos-kokkos-dev computes the include folder of Kokkos::kokkos from a path it does not
# have. A folder that does not exist stops CMake, so it is replaced by the one that holds the header.
function(weft_mend_kokkos)
  get_target_property(folders Kokkos::kokkos INTERFACE_INCLUDE_DIRECTORIES)
  set(usable "${folders}")
  if(folders)
    foreach(folder IN LISTS folders)
      if(NOT folder MATCHES "\\$<" AND NOT EXISTS "${folder}")
        set(usable "")
      endif()
    endforeach()
  endif()
  if(usable OR NOT Kokkos_INCLUDE_DIRS)
    return()
  endif()
  set(mended "")
  foreach(folder IN LISTS Kokkos_INCLUDE_DIRS)
    get_filename_component(folder "${folder}" REALPATH)
    if(EXISTS "${folder}/Kokkos_Core.hpp")
      list(APPEND mended "${folder}")
    endif()
  endforeach()
  if(mended)
    set_target_properties(Kokkos::kokkos PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${mended}")
  endif()
endfunction()

# A function, so that what Kokkos's own configuration sets (compilers, flags) stays in here.
function(weft_find_kokkos found)
  set(known FALSE)
  if(TARGET Kokkos::kokkos)
    set(known TRUE)
  endif()
  # Kokkos 3 forces this into the cache, for everybody, unless it is off already.
  set(CMAKE_CXX_EXTENSIONS OFF)
  set(Kokkos_FIND_QUIETLY ON)
  find_package(Kokkos QUIET CONFIG)
  if(TARGET Kokkos::kokkos)
    weft_mend_kokkos()
    if(NOT known)
      weft_promote(Kokkos::kokkos)
    endif()
    set(${found} TRUE PARENT_SCOPE)
    foreach(name IN ITEMS DIR VERSION DEVICES ENABLE_CUDA ENABLE_HIP)
      set(Kokkos_${name} "${Kokkos_${name}}" PARENT_SCOPE)
    endforeach()
  else()
    set(${found} FALSE PARENT_SCOPE)
  endif()
endfunction()
