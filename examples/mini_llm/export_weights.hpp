// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "safetensors_writer.hpp"

#include <weft/parameters/parameter_descriptor.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace mini_llm {

/// Begins `model.safetensors`: the parameters under their own names, which are Hugging Face's. Nothing of the run is in
/// it (no date, no schedule), so equal weights make equal files. Write the tensors in the order of `parameters`, those
/// of use site 0 alone, then commit. Does not communicate; one rank writes.
template <class Real>
safetensors_writer begin_export(fs::path const& path,
                                std::vector<weft::parameters::parameter_descriptor> const& parameters) {
  std::vector<safetensors_writer::entry> entries;
  for (auto const& parameter : parameters)
    if (parameter.use_site == 0)
      entries.push_back(
          {parameter.name, std::vector<std::int64_t>(parameter.extents, parameter.extents + parameter.dimensions)});
  return safetensors_writer::create<Real>(path, entries, {}, true);
}

}  // namespace mini_llm
