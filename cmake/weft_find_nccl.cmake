# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# weft_find_nccl(<found> nccl|rccl): an imported target weft::nccl_library, or weft::rccl_library. Hints: NCCL_ROOT and
# CUDAToolkit's folders, RCCL_ROOT and ROCM_PATH, or the cache entries weft_NCCL_INCLUDE_DIR, weft_NCCL_LIBRARY and so on.
function(weft_find_nccl found name)
  if(TARGET weft::${name}_library)
    set(${found} TRUE PARENT_SCOPE)
    return()
  endif()
  string(TOUPPER "${name}" upper)
  set(header "nccl.h")
  if(name STREQUAL "rccl")
    set(header "rccl/rccl.h")
  endif()
  find_path(weft_${upper}_INCLUDE_DIR NAMES "${header}"
            HINTS "${${upper}_ROOT}" ENV ${upper}_ROOT ENV ROCM_PATH ${CUDAToolkit_INCLUDE_DIRS} PATH_SUFFIXES include)
  find_library(weft_${upper}_LIBRARY NAMES ${name}
               HINTS "${${upper}_ROOT}" ENV ${upper}_ROOT ENV ROCM_PATH "${CUDAToolkit_LIBRARY_DIR}" PATH_SUFFIXES lib lib64)
  mark_as_advanced(weft_${upper}_INCLUDE_DIR weft_${upper}_LIBRARY)
  if(NOT weft_${upper}_INCLUDE_DIR OR NOT weft_${upper}_LIBRARY)
    set(${found} FALSE PARENT_SCOPE)
    return()
  endif()
  add_library(weft::${name}_library INTERFACE IMPORTED GLOBAL)
  target_link_libraries(weft::${name}_library INTERFACE "${weft_${upper}_LIBRARY}")
  # A compiler's own include folder must not be repeated: it would move in front of the C++ library's.
  if(NOT weft_${upper}_INCLUDE_DIR IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
    target_include_directories(weft::${name}_library SYSTEM INTERFACE "${weft_${upper}_INCLUDE_DIR}")
  endif()
  set(${found} TRUE PARENT_SCOPE)
endfunction()
