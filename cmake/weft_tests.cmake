# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# How tests are made. A file dropped into tests/static, tests/unit, tests/example, tests/mpi or tests/compile_fail is built
# and run; these functions are for the cases that need more.

include(weft_test_groups)

# No pinning: several ranks share few cores, and OpenMP would put every one of them on the first. Nor may a thread that
# waits spin: it cannot see that the others' cores are taken by other ranks.
set(weft_TEST_THREADS 1 CACHE STRING "Threads per rank in the tests, where Kokkos has threads")
mark_as_advanced(weft_TEST_THREADS)
set(weft_TEST_ENVIRONMENT "OMP_NUM_THREADS=${weft_TEST_THREADS}" "WEFT_TEST_THREADS=${weft_TEST_THREADS}"
    OMP_PROC_BIND=false OMP_WAIT_POLICY=passive OPENBLAS_NUM_THREADS=1
    "LSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/lsan.supp:print_suppressions=0"
    "TSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/tsan.supp:halt_on_error=1"
    "UBSAN_OPTIONS=print_stacktrace=1")

# Open MPI refuses more ranks than cores, and root, unless told otherwise, and binds two ranks to a core each, however many
# threads they have; MPICH has none of that. CMake's own MPIEXEC_PREFLAGS, if set, are taken instead.
set(weft_MPIEXEC_FLAGS ${MPIEXEC_PREFLAGS})
if(weft_HAS_MPI)
  execute_process(COMMAND "${MPIEXEC_EXECUTABLE}" --version OUTPUT_VARIABLE banner ERROR_VARIABLE banner)
  if(banner MATCHES "Open MPI|OpenRTE|PRRTE|prte")
    if(NOT weft_MPIEXEC_FLAGS)
      set(weft_MPIEXEC_FLAGS --oversubscribe --bind-to none)
    endif()
    list(APPEND weft_TEST_ENVIRONMENT OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
         PRTE_ALLOW_RUN_AS_ROOT=1 PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1)
  endif()
endif()

# weft_test_name(<variable> <source>): tests/unit/schedule/play.cpp is schedule.play, tests/example/text.cpp example.text.
function(weft_test_name variable source)
  file(RELATIVE_PATH name "${PROJECT_SOURCE_DIR}/tests" "${source}")
  string(REGEX REPLACE "^(static|unit|mpi|compile_fail)/|\\.cpp$" "" name "${name}")
  string(REPLACE "/" "." name "${name}")
  set(${variable} "${name}" PARENT_SCOPE)
endfunction()

# weft_test_program(<target> <main> <source>...): a doctest program with the shared main and precompiled header.
function(weft_test_program target main)
  add_executable(${target} ${ARGN} $<TARGET_OBJECTS:${main}>)
  target_link_libraries(${target} PRIVATE weft_test_support)
  if(TARGET weft_test_pch)
    target_precompile_headers(${target} REUSE_FROM weft_test_pch)
  endif()
endfunction()

# weft_add_static_test(<name> [source]): static_asserts; building them is the test. They see weft::weft alone.
function(weft_add_static_test name)
  set(source "${ARGN}")
  if(NOT source)
    set(source "${PROJECT_SOURCE_DIR}/tests/static/${name}.cpp")
  endif()
  target_sources(weft_static_tests PRIVATE "${source}")
endfunction()

# weft_add_unit_tests(<source>...): a test each, several of them in one program (weft_test_groups.cmake).
function(weft_add_unit_tests)
  weft_group_tests(groups ${ARGN})
  foreach(group IN LISTS groups)
    weft_group_source(source unit_${group} ${groups_${group}})
    weft_test_program(unit_${group} weft_unit_main "${source}")
    add_dependencies(weft_unit_tests unit_${group})
    if(groups_${group} MATCHES "/tests/example/")
      target_link_libraries(unit_${group} PRIVATE weft_mini_llm_parts)
    endif()
    # MPI is on the line but not in the program unless used: UCX, which MPICH brings, puts hooks under the C library that
    # crash the thread sanitizer when a thread ends.
    if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
      target_link_options(unit_${group} PRIVATE LINKER:--as-needed)
    endif()
    foreach(each IN LISTS groups_${group})
      weft_add_unit_test(unit_${group} "${each}")
    endforeach()
  endforeach()
endfunction()

# weft_add_unit_test(<program> <source>): one process of the program that holds the source. Sources that use
# transport::in_process, where ranks are threads, also get the label `threads`: the thread sanitizer runs those.
function(weft_add_unit_test program source)
  weft_test_name(name "${source}")
  add_test(NAME unit.${name} COMMAND ${program} "--source-file=*${source}")
  file(STRINGS "${source}" threads REGEX "transport(::|/)in_process" LIMIT_COUNT 1)
  set(labels unit)
  # What owns memory or reads files; whatever can launch a kernel is among it, and tests/modern.sh runs that with two
  # threads a rank as well. The rest are schedules, which are constant expressions.
  file(STRINGS "${source}" memory LIMIT_COUNT 1
       REGEX "include [<\"](weft/(train|model|pipeline|transport|execution|parameters|profiling)|support/|weft/schedule/(csv|lower|play|picture|passes))")
  if(memory OR name MATCHES "^example")
    list(APPEND labels memory)
    add_dependencies(weft_memory_tests ${program})
  endif()
  if(threads)
    list(APPEND labels threads)
    add_dependencies(weft_thread_tests ${program})
  endif()
  set_tests_properties(unit.${name} PROPERTIES LABELS "${labels}" TIMEOUT 600 ENVIRONMENT "${weft_TEST_ENVIRONMENT}")
endfunction()

# weft_add_mpi_test(<name> RANKS <n>... [SOURCE <source>] [PROGRAM <target>] [TIMEOUT <seconds>] [ARGS <argument>...])
#
# One program, run by mpiexec on each number of ranks. It refuses to run on any other number, since a foreign launcher
# starts singletons that would all pass. PROGRAM: one that holds the source beside others.
function(weft_add_mpi_test name)
  cmake_parse_arguments(PARSE_ARGV 1 test "" "SOURCE;PROGRAM;TIMEOUT" "RANKS;ARGS")
  if(NOT weft_HAS_MPI)
    return()
  endif()
  if(NOT test_SOURCE)
    set(test_SOURCE "${PROJECT_SOURCE_DIR}/tests/mpi/${name}.cpp")
  endif()
  if(NOT test_TIMEOUT)
    set(test_TIMEOUT 300)
  endif()
  if(NOT test_RANKS)
    set(test_RANKS 1 2 3 4)
  endif()
  if(NOT test_PROGRAM)
    set(test_PROGRAM mpi_${name})
    weft_test_program(mpi_${name} weft_mpi_main "${test_SOURCE}")
  endif()
  foreach(ranks IN LISTS test_RANKS)
    add_test(NAME mpi.${name}.${ranks}
             COMMAND "${MPIEXEC_EXECUTABLE}" ${weft_MPIEXEC_FLAGS} ${MPIEXEC_NUMPROC_FLAG} ${ranks}
                     $<TARGET_FILE:${test_PROGRAM}> "--source-file=*${test_SOURCE}" ${test_ARGS})
    set_tests_properties(mpi.${name}.${ranks} PROPERTIES LABELS mpi TIMEOUT "${test_TIMEOUT}" PROCESSORS "${ranks}"
                         ENVIRONMENT "${weft_TEST_ENVIRONMENT};WEFT_EXPECTED_RANKS=${ranks}")
  endforeach()
endfunction()

# weft_add_compile_fail_test(<name> [source]): must not compile, and must say so in the words of its `// expect:` lines;
# with -DWEFT_TWIN it must compile.
function(weft_add_compile_fail_test name)
  set(source "${ARGN}")
  if(NOT source)
    set(source "${PROJECT_SOURCE_DIR}/tests/compile_fail/${name}.cpp")
  endif()
  add_test(NAME compile_fail.${name}
           COMMAND "${CMAKE_COMMAND}" "-DSOURCE=${source}" "-DCOMPILER=${CMAKE_CXX_COMPILER}"
                   "-DFLAGS=${PROJECT_BINARY_DIR}/tests/compile_flags.txt"
                   -P "${PROJECT_SOURCE_DIR}/tests/compile_fail/check.cmake")
  set_tests_properties(compile_fail.${name} PROPERTIES LABELS compile_fail TIMEOUT 300)
endfunction()
