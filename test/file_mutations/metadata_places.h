/*
 * metadata_places.h - where the metadata of a sound file has its numbers: counts, lengths, offsets, kinds.
 *
 * Of an Arrow file or stream these are the words of its flatbuffers: the schema, the header of each batch, the footer.
 * Of a Parquet file they are the integers of thrift's compact protocol: of the footer, and of the page headers that the
 * footer's offsets lead to.
 */
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace turbine::file_mutations {

struct MetadataPlace {
  enum Kind : uint8_t { kWord, kVarint, kListSize };
  Kind kind;
  uint8_t size;  // bytes
  uint32_t offset;
};

/* Throws std::runtime_error if the file is not what its end says. */
std::vector<MetadataPlace> metadata_places(const std::string& content);

}  // namespace turbine::file_mutations
