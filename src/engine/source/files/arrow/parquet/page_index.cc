/*
 * page_index.cc - see page_index.h.
 *
 * Owns nothing. Called when a batch is read. libparquet parses the indexes; every number in them is checked before it
 * is used.
 */
#include "engine/source/files/arrow/parquet/page_index.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>

#include <arrow/buffer.h>
#include <arrow/result.h>
#include <parquet/metadata.h>
#include <parquet/page_index.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

namespace turbine {
namespace {

/* Indexes of more bytes are not worth reading. */
constexpr int64_t kMostIndexBytes = 16 << 20;

/* Null: there is none. */
std::shared_ptr<arrow::Buffer> index_bytes(const OpenedFile& opened,
                                           const std::optional<parquet::IndexLocation>& location) {
  if (!location) return nullptr;
  const auto file_size = static_cast<int64_t>(opened.version.size);
  if (location->offset < 0 || location->length <= 0 || location->offset > file_size ||
      location->length > file_size - location->offset)
    throw FileError("its page index leaves the file");
  if (location->length > kMostIndexBytes) return nullptr;
  auto bytes = opened.file->ReadAt(location->offset, location->length);
  check_status(bytes.status());
  if ((*bytes)->size() != location->length) throw FileError("its page index leaves the file");
  return *bytes;
}

/* Before all rows and after them: a page of NULLs alone passes no comparison. */
StoredColumn::Zone zone_of_nulls() {
  return {true, std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()};
}

}  // namespace

ChunkBytes chunk_bytes(const OpenedFile& opened, const parquet::ColumnChunkMetaData& chunk) {
  int64_t start = chunk.data_page_offset();
  if (chunk.has_dictionary_page() && chunk.dictionary_page_offset() > 0)
    start = std::min(start, chunk.dictionary_page_offset());
  const int64_t size = chunk.total_compressed_size();
  const auto file_size = static_cast<int64_t>(opened.version.size);
  if (start < 0 || size < 0 || start > file_size || size > file_size - start)
    throw FileError("its pages leave the file");
  return {start, size};
}

std::vector<PagePlace> page_places(const OpenedFile& opened, const parquet::ColumnChunkMetaData& chunk, uint64_t rows) {
  const auto bytes = index_bytes(opened, chunk.GetOffsetIndexLocation());
  if (!bytes) return {};
  const auto index = parquet::OffsetIndex::Make(bytes->data(), bytes->size(), parquet::ReaderProperties(file_memory()));
  const ChunkBytes place = chunk_bytes(opened, chunk);
  const auto& pages = index->page_locations();
  std::vector<PagePlace> places;
  int64_t end = place.start, row = -1;
  for (const parquet::PageLocation& page : pages) {
    if (page.offset < end || page.compressed_page_size <= 0 ||
        page.offset - place.start > place.size - page.compressed_page_size)
      throw FileError("its page index has a page that is not in its chunk");
    if (places.empty() ? page.first_row_index != 0 : page.first_row_index <= row)
      throw FileError("its page index has rows out of order");
    end = page.offset + page.compressed_page_size;
    row = page.first_row_index;
    if (static_cast<uint64_t>(row) >= rows) throw FileError("its page index has more rows than the row group");
    if (!places.empty()) places.back().rows = static_cast<uint64_t>(row) - places.back().first_row;
    places.push_back({static_cast<uint64_t>(page.offset), static_cast<uint64_t>(page.compressed_page_size),
                      static_cast<uint64_t>(row), 0});
  }
  if (!places.empty()) places.back().rows = rows - places.back().first_row;
  return places;
}

std::vector<StoredColumn::Zone> page_zones(const OpenedFile& opened, const parquet::ColumnChunkMetaData& chunk,
                                           const BoundsForm& form, size_t pages) {
  const auto bytes = index_bytes(opened, chunk.GetColumnIndexLocation());
  if (!bytes) return {};
  const auto index = parquet::ColumnIndex::Make(*form.column, bytes->data(), bytes->size(),
                                                parquet::ReaderProperties(file_memory()));
  const auto &least = index->encoded_min_values(), &greatest = index->encoded_max_values();
  if (index->null_pages().size() != pages || least.size() != pages || greatest.size() != pages)
    throw FileError("its page index has another number of pages");
  std::vector<StoredColumn::Zone> zones;
  for (size_t i = 0; i < pages; i++)
    zones.push_back(index->null_pages()[i] ? zone_of_nulls() : integer_zone(form, least[i], greatest[i]));
  return zones;
}

}  // namespace turbine
