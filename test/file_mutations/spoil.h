/*
 * spoil.h - spoils a file: the same file for the same seed.
 */
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "metadata_places.h"

namespace turbine::file_mutations {

/* `places`: of the sound file. */
std::string spoil(const std::string& content, const std::vector<MetadataPlace>& places, uint64_t seed);

}  // namespace turbine::file_mutations
