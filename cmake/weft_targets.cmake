# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# weft's targets, all INTERFACE. Each is exported in a set of its own, so that an installed weft asks for Kokkos, MPI or
# BLAS only where a consumer names that component.
#
#   weft::weft      the headers and C++20; no dependency
#   weft::numerics  what equal bits need from the compiler
#   weft::kokkos    weft::weft, weft::numerics and Kokkos
#   weft::blas      weft::weft and a BLAS with C interface
#   weft::mpi       weft::weft and MPI
#   weft::cuda      weft::kokkos on a CUDA device, with cuBLAS
#   weft::hip       weft::kokkos on a HIP device, with hipBLAS
#   weft::nccl      weft::cuda with NCCL, where that is found; weft::rccl: weft::hip with RCCL
#   weft::all       every one of the above that this build has

include(weft_find_kokkos)
include(weft_find_cblas)
include(weft_find_mpi)
include(weft_find_nccl)

set(weft_COMPONENTS weft numerics)

# weft_add_component(<name> <link>...): the target weft_<name>, known to everybody as weft::<name>.
function(weft_add_component name)
  add_library(weft_${name} INTERFACE)
  add_library(weft::${name} ALIAS weft_${name})
  set_target_properties(weft_${name} PROPERTIES EXPORT_NAME ${name})
  target_link_libraries(weft_${name} INTERFACE ${ARGN})
endfunction()

# weft_decide(<feature> <found> <what to do>): what AUTO, ON and OFF come to.
function(weft_decide feature found remedy)
  if(weft_ENABLE_${feature} STREQUAL "AUTO")
    set(weft_HAS_${feature} "${found}" PARENT_SCOPE)
    if(NOT found)
      message(STATUS "weft: no ${feature}, so its target is left out; ${remedy}")
    endif()
  elseif(weft_ENABLE_${feature})
    if(NOT found)
      message(FATAL_ERROR "weft: weft_ENABLE_${feature} is on but ${feature} was not found; ${remedy}, "
                          "or configure with -Dweft_ENABLE_${feature}=OFF")
    endif()
    set(weft_HAS_${feature} TRUE PARENT_SCOPE)
  else()
    set(weft_HAS_${feature} FALSE PARENT_SCOPE)
  endif()
endfunction()

add_library(weft_weft INTERFACE)
add_library(weft::weft ALIAS weft_weft)
set_target_properties(weft_weft PROPERTIES EXPORT_NAME weft)
target_compile_features(weft_weft INTERFACE cxx_std_20)
file(GLOB_RECURSE weft_HEADERS CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/weft/*.hpp")
if(CMAKE_VERSION VERSION_GREATER_EQUAL 3.23)
  target_sources(weft_weft INTERFACE FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include" FILES ${weft_HEADERS})
else()
  target_include_directories(weft_weft INTERFACE "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
                                                 "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
endif()

# Contraction of a * b + c differs between a loop's vector body and its tail, so the same element gets other bits when a
# tensor is cut elsewhere.
weft_add_component(numerics)
target_compile_options(weft_numerics INTERFACE
  "$<$<COMPILE_LANG_AND_ID:CXX,GNU,Clang,AppleClang,IntelLLVM>:-ffp-contract=off>"
  "$<$<COMPILE_LANGUAGE:HIP>:-ffp-contract=off>"
  "$<$<COMPILE_LANGUAGE:CUDA>:--fmad=false>")

set(weft_kokkos_found FALSE)
if(weft_ENABLE_KOKKOS)
  weft_find_kokkos(weft_kokkos_found)
  if(NOT weft_kokkos_found AND weft_FETCH_DEPENDENCIES)
    include(weft_fetch)
    weft_fetch_kokkos()
    set(weft_kokkos_found TRUE)
  endif()
endif()
weft_decide(KOKKOS "${weft_kokkos_found}" "install libtrilinos-kokkos-dev or set Kokkos_ROOT")
if(weft_HAS_KOKKOS)
  weft_add_component(kokkos weft::weft weft::numerics Kokkos::kokkos)
  list(APPEND weft_COMPONENTS kokkos)
endif()

set(weft_blas_found FALSE)
if(weft_ENABLE_BLAS)
  weft_find_cblas(weft_blas_found)
endif()
weft_decide(BLAS "${weft_blas_found}" "install libopenblas-dev or set CBLAS_ROOT")
if(weft_HAS_BLAS)
  weft_add_component(blas weft::weft weft::cblas)
  list(APPEND weft_COMPONENTS blas)
endif()

set(weft_mpi_found FALSE)
if(weft_ENABLE_MPI)
  weft_find_mpi(weft_mpi_found)
endif()
weft_decide(MPI "${weft_mpi_found}" "install mpich and libmpich-dev or set MPI_HOME")
if(weft_HAS_MPI)
  weft_add_component(mpi weft::weft MPI::MPI_CXX)
  list(APPEND weft_COMPONENTS mpi)
endif()

if(weft_ENABLE_CUDA)
  if(NOT weft_HAS_KOKKOS OR NOT Kokkos_ENABLE_CUDA)
    message(FATAL_ERROR "weft: weft_ENABLE_CUDA needs a Kokkos built with CUDA, and this one has '${Kokkos_DEVICES}'; "
                        "set Kokkos_ROOT to one configured with -DKokkos_ENABLE_CUDA=ON")
  endif()
  find_package(CUDAToolkit REQUIRED)
  weft_add_component(cuda weft::kokkos CUDA::cudart CUDA::cublas)
  # nvcc_wrapper calls itself GNU: the device half needs its own word for no contraction.
  target_compile_options(weft_cuda INTERFACE "$<$<BOOL:$<FILTER:${CMAKE_CXX_COMPILER},INCLUDE,nvcc>>:--fmad=false>")
  list(APPEND weft_COMPONENTS cuda)
  set(weft_nccl_found FALSE)
  if(weft_ENABLE_NCCL)
    weft_find_nccl(weft_nccl_found nccl)
  endif()
  weft_decide(NCCL "${weft_nccl_found}" "install libnccl-dev or set NCCL_ROOT")
  if(weft_HAS_NCCL)
    weft_add_component(nccl weft::cuda weft::nccl_library)
    list(APPEND weft_COMPONENTS nccl)
  endif()
endif()
if(weft_ENABLE_HIP)
  if(NOT weft_HAS_KOKKOS OR NOT Kokkos_ENABLE_HIP)
    message(FATAL_ERROR "weft: weft_ENABLE_HIP needs a Kokkos built with HIP, and this one has '${Kokkos_DEVICES}'; "
                        "set Kokkos_ROOT to one configured with -DKokkos_ENABLE_HIP=ON")
  endif()
  find_package(hipblas REQUIRED)
  weft_add_component(hip weft::kokkos roc::hipblas)
  list(APPEND weft_COMPONENTS hip)
  set(weft_rccl_found FALSE)
  if(weft_ENABLE_RCCL)
    weft_find_nccl(weft_rccl_found rccl)
  endif()
  weft_decide(RCCL "${weft_rccl_found}" "install librccl-dev or set RCCL_ROOT")
  if(weft_HAS_RCCL)
    weft_add_component(rccl weft::hip weft::rccl_library)
    list(APPEND weft_COMPONENTS rccl)
  endif()
endif()

find_package(Threads REQUIRED)
list(TRANSFORM weft_COMPONENTS PREPEND "weft::" OUTPUT_VARIABLE weft_everything)
weft_add_component(all ${weft_everything} Threads::Threads)
list(APPEND weft_COMPONENTS all)
