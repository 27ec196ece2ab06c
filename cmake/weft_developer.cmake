# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# What weft's own tests, examples and benchmarks share; never seen by a project that merely uses weft.

add_library(weft_developer INTERFACE)
target_link_libraries(weft_developer INTERFACE weft::all)
target_compile_options(weft_developer INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion)
# g++ 12 takes lengths inside std::string's own assign and replace for huge ones; 13 does not.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(weft_developer INTERFACE -Wno-stringop-overflow -Wno-restrict -Wno-array-bounds)
endif()
# Kernels are plain loops: what the compiler makes of them decides their speed. Not for programs that travel.
if(weft_NATIVE)
  include(CheckCXXCompilerFlag)
  check_cxx_compiler_flag(-march=native weft_HAS_MARCH_NATIVE)
  if(weft_HAS_MARCH_NATIVE)
    target_compile_options(weft_developer INTERFACE -march=native)
  endif()
endif()
if(weft_WARNINGS_AS_ERRORS)
  target_compile_options(weft_developer INTERFACE -Werror)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND weft_CCACHE)
  target_compile_options(weft_developer INTERFACE -fpch-preprocess)
endif()

# weft_require_header(<variable> <header> <package>): the include folder of a header-only dependency of an example.
function(weft_require_header variable header package)
  find_path(${variable} NAMES "${header}")
  mark_as_advanced(${variable})
  if(NOT ${variable})
    message(FATAL_ERROR "weft: <${header}> was not found; install ${package}, "
                        "or configure with -Dweft_BUILD_EXAMPLES=OFF -Dweft_BUILD_TESTS=OFF")
  endif()
endfunction()

# weft_example_support: the header-only libraries that the examples, and the tests of the examples' parts, use.
if(weft_BUILD_EXAMPLES OR weft_BUILD_TESTS)
  weft_require_header(weft_CLI11_INCLUDE_DIR CLI/CLI.hpp libcli11-dev)
  weft_require_header(weft_JSON_INCLUDE_DIR nlohmann/json.hpp nlohmann-json3-dev)
  weft_require_header(weft_TOML_INCLUDE_DIR toml++/toml.h libtomlplusplus-dev)
  weft_require_header(weft_XXHASH_INCLUDE_DIR xxhash.h libxxhash-dev)
  # What they ask for by name at run time is compiled once for all of them; see weft/schedule/extern_schedules.hpp
  # and weft/transport/extern_transport.hpp.
  add_library(weft_named_schedules STATIC "${PROJECT_SOURCE_DIR}/examples/named_schedules.cpp"
                                          "${PROJECT_SOURCE_DIR}/examples/transport_words.cpp")
  target_link_libraries(weft_named_schedules PRIVATE weft_developer)
  # Searches for tables, which nobody steps through: without optimisation they are what sanitized tests wait for.
  target_compile_options(weft_named_schedules PRIVATE $<$<CONFIG:Debug>:-O1>)
  target_compile_definitions(weft_named_schedules INTERFACE WEFT_EXTERN_SCHEDULES WEFT_EXTERN_TRANSPORT)
  add_library(weft_example_support INTERFACE)
  target_link_libraries(weft_example_support INTERFACE weft_developer weft_named_schedules)
  target_include_directories(weft_example_support INTERFACE "${PROJECT_SOURCE_DIR}/examples")
  target_include_directories(weft_example_support SYSTEM INTERFACE
    "${weft_CLI11_INCLUDE_DIR}" "${weft_JSON_INCLUDE_DIR}" "${weft_TOML_INCLUDE_DIR}" "${weft_XXHASH_INCLUDE_DIR}")

  # What of mini_llm knows no model is compiled once, for its presets and for the tests of its parts. Files and options
  # gain nothing from -O3.
  file(GLOB sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/examples/mini_llm/*.cpp")
  list(FILTER sources EXCLUDE REGEX "/(main|run_[a-z0-9_]+)\\.cpp$")
  add_library(weft_mini_llm_parts STATIC EXCLUDE_FROM_ALL ${sources})
  target_link_libraries(weft_mini_llm_parts PRIVATE weft_example_support)
  target_compile_options(weft_mini_llm_parts PRIVATE $<$<CONFIG:Release>:-O1>)
  # What is trained on where the machine has no licence texts.
  target_compile_definitions(weft_mini_llm_parts PRIVATE "WEFT_DOCUMENTATION_DIR=\"${PROJECT_SOURCE_DIR}/docs\"")
  set_target_properties(weft_mini_llm_parts PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 13)
endif()
