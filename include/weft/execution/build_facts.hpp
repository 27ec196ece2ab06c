// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <weft/config.hpp>
#include <weft/execution/kokkos.hpp>

#include <Kokkos_Core.hpp>

#include <string>
#include <utility>
#include <vector>

// OpenBLAS chooses its kernels when it starts; another BLAS has none of these, and then they are null.
extern "C" {
[[gnu::weak]] char* openblas_get_config(void);
[[gnu::weak]] char* openblas_get_corename(void);
[[gnu::weak]] int openblas_get_num_threads(void);
}

namespace weft::inline v1::execution {

/// OpenBLAS answers from buffers that all threads share, and ranks may be threads: asked once.
inline std::vector<std::pair<std::string, std::string>> const& blas_facts() {
  static std::vector<std::pair<std::string, std::string>> const known = [] {
    std::vector<std::pair<std::string, std::string>> facts;
    if (openblas_get_config != nullptr) facts.emplace_back("BLAS", openblas_get_config());
    if (openblas_get_corename != nullptr) facts.emplace_back("BLAS core type", openblas_get_corename());
    if (openblas_get_num_threads != nullptr)
      facts.emplace_back("BLAS threads", std::to_string(openblas_get_num_threads()));
    return facts;
  }();
  return known;
}

/// What decides the low bits of a result besides the program: ranks that differ in any of these are refused at start.
template <class Space>
std::vector<std::pair<std::string, std::string>> build_facts() {
  std::vector<std::pair<std::string, std::string>> facts;
  facts.emplace_back("weft", std::to_string(version.major) + "." + std::to_string(version.minor) + "." +
                                 std::to_string(version.patch));
  facts.emplace_back("compiler", __VERSION__);
  facts.emplace_back("Kokkos", std::to_string(KOKKOS_VERSION));
  facts.emplace_back("execution space", Space::name());
  facts.emplace_back("threads per rank", std::to_string(Space().concurrency()));
  facts.insert(facts.end(), blas_facts().begin(), blas_facts().end());
  return facts;
}

}  // namespace weft::inline v1::execution
