# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# weft_find_cblas(<found>): an imported target weft::cblas, a BLAS with its C interface. OpenBLAS is asked first, then
# the system's default. Hints: CBLAS_ROOT, or the cache entries weft_CBLAS_INCLUDE_DIR and weft_CBLAS_LIBRARY.
function(weft_find_cblas found)
  if(TARGET weft::cblas)
    set(${found} TRUE PARENT_SCOPE)
    return()
  endif()
  find_path(weft_CBLAS_INCLUDE_DIR NAMES cblas.h HINTS "${CBLAS_ROOT}" ENV CBLAS_ROOT ENV OPENBLAS_ROOT
            PATH_SUFFIXES include openblas include/openblas)
  find_library(weft_CBLAS_LIBRARY NAMES openblas blis cblas blas HINTS "${CBLAS_ROOT}" ENV CBLAS_ROOT ENV OPENBLAS_ROOT
               PATH_SUFFIXES lib lib64 openblas-pthread)
  mark_as_advanced(weft_CBLAS_INCLUDE_DIR weft_CBLAS_LIBRARY)
  if(weft_CBLAS_INCLUDE_DIR AND weft_CBLAS_LIBRARY)
    add_library(weft::cblas INTERFACE IMPORTED GLOBAL)
    target_link_libraries(weft::cblas INTERFACE "${weft_CBLAS_LIBRARY}")
    # A compiler's own include folder must not be repeated: it would move in front of the C++ library's.
    if(NOT weft_CBLAS_INCLUDE_DIR IN_LIST CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES)
      target_include_directories(weft::cblas SYSTEM INTERFACE "${weft_CBLAS_INCLUDE_DIR}")
    endif()
    set(${found} TRUE PARENT_SCOPE)
  else()
    set(${found} FALSE PARENT_SCOPE)
  endif()
endfunction()
