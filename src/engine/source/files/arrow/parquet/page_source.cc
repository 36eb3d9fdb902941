/*
 * page_source.cc - see page_source.h.
 *
 * Owns the chunk's bytes, through libparquet, and those of one unpacked page. libparquet is told that a zstd chunk is
 * not compressed, so that it only frames its pages; all other compressions are its own.
 */
#include "engine/source/files/arrow/parquet/page_source.h"

#include <algorithm>
#include <cstring>

#include <arrow/buffer.h>
#include <arrow/io/memory.h>
#include <parquet/column_page.h>
#include <parquet/column_reader.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>

#include "engine/source/files/arrow/parquet/zstd_pages.h"

namespace turbine {
namespace {

/* Chunks with secrets are libparquet's, and those of writers whose mistakes it knows. */
bool is_plain_zstd(const parquet::FileMetaData& metadata, const parquet::ColumnChunkMetaData& chunk) {
  const parquet::ApplicationVersion& writer = metadata.writer_version();
  return chunk.compression() == parquet::Compression::ZSTD && !chunk.crypto_metadata() &&
         !metadata.is_encryption_algorithm_set() &&
         !writer.VersionLt(parquet::ApplicationVersion::PARQUET_816_FIXED_VERSION()) &&
         !writer.VersionLt(parquet::ApplicationVersion::PARQUET_CPP_10353_FIXED_VERSION());
}

std::shared_ptr<arrow::Buffer> read_chunk(const OpenedFile& opened, const parquet::ColumnChunkMetaData& chunk) {
  int64_t start = chunk.data_page_offset();
  if (chunk.has_dictionary_page() && chunk.dictionary_page_offset() > 0)
    start = std::min(start, chunk.dictionary_page_offset());
  const int64_t size = chunk.total_compressed_size();
  const auto file_size = static_cast<int64_t>(opened.version.size);
  if (start < 0 || size < 0 || start > file_size || size > file_size - start)
    throw FileError("its pages leave the file");
  auto bytes = opened.file->ReadAt(start, size);
  check_status(bytes.status());
  if ((*bytes)->size() != size) throw FileError("its pages leave the file");
  return *bytes;
}

}  // namespace

PageSource::PageSource(const OpenedFile& opened, const parquet::FileMetaData& metadata, parquet::RowGroupReader& group,
                       int column) {
  const auto chunk = group.metadata()->ColumnChunk(column);
  if (!is_plain_zstd(metadata, *chunk)) {
    reader_ = group.GetColumnPageReader(column);
    return;
  }
  is_packed_ = true;
  most_bytes_ = static_cast<uint64_t>(std::clamp<int64_t>(chunk->total_uncompressed_size(), 0, INT32_MAX));
  const parquet::ReaderProperties properties(file_memory());
  reader_ = parquet::PageReader::Open(std::make_shared<arrow::io::BufferReader>(read_chunk(opened, *chunk)),
                                      chunk->num_values(), parquet::Compression::UNCOMPRESSED, properties,
                                      *metadata.schema()->Column(column));
}

PageSource::~PageSource() = default;

PageSource::UnpackedPage PageSource::next() {
  UnpackedPage next;
  next.page = reader_->NextPage();
  if (!next.page) return next;
  next.begin = next.page->data();
  next.end = next.begin + next.page->size();
  if (!is_packed_) return next;
  switch (next.page->type()) {
    // Its size is not told.
    case parquet::PageType::DICTIONARY_PAGE: unpack(next, 0, most_bytes_, true); break;
    case parquet::PageType::DATA_PAGE: {
      const auto& page = static_cast<const parquet::DataPageV1&>(*next.page);
      unpack(next, 0, static_cast<uint64_t>(std::max<int64_t>(page.uncompressed_size(), 0)), false);
      break;
    }
    case parquet::PageType::DATA_PAGE_V2: {
      const auto& page = static_cast<const parquet::DataPageV2&>(*next.page);
      if (!page.is_compressed()) break;
      const int64_t levels = int64_t{page.repetition_levels_byte_length()} + page.definition_levels_byte_length();
      if (levels < 0 || levels > page.size()) throw FileError("levels are longer than their page");
      unpack(next, static_cast<uint64_t>(levels), static_cast<uint64_t>(std::max<int64_t>(page.uncompressed_size(), 0)),
             false);
      break;
    }
    default: break;
  }
  return next;
}

void PageSource::unpack(UnpackedPage& page, uint64_t levels, uint64_t room, bool at_most) {
  if (room < levels) throw FileError("levels are longer than their page");
  if (!unpacked_) {
    auto made = arrow::AllocateResizableBuffer(0, file_memory());
    check_status(made.status());
    unpacked_ = std::move(*made);
  }
  check_status(unpacked_->Resize(static_cast<int64_t>(room), /*shrink_to_fit=*/false));
  uint8_t* const to = unpacked_->mutable_data();
  if (levels > 0) memcpy(to, page.begin, levels);
  const uint64_t size = levels + unpack_zstd(page.begin + levels, static_cast<uint64_t>(page.end - page.begin) - levels,
                                             to + levels, room - levels);
  if (size < room && !at_most) throw FileError("a page that unpacks to less than it says");
  page.begin = to;
  page.end = to + size;
}

}  // namespace turbine
