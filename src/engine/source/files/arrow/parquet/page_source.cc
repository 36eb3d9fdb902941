/*
 * page_source.cc - see page_source.h.
 *
 * Owns the chunk's bytes, through libparquet, and those of one unpacked page. libparquet is told that a zstd chunk is
 * not compressed, so that it only frames its pages; all other compressions are its own. If only some rows are wanted,
 * libparquet gets the pages that have them as if they were the chunk.
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
bool is_plain(const parquet::FileMetaData& metadata, const parquet::ColumnChunkMetaData& chunk) {
  const parquet::ApplicationVersion& writer = metadata.writer_version();
  return !chunk.crypto_metadata() && !metadata.is_encryption_algorithm_set() &&
         !writer.VersionLt(parquet::ApplicationVersion::PARQUET_816_FIXED_VERSION()) &&
         !writer.VersionLt(parquet::ApplicationVersion::PARQUET_CPP_10353_FIXED_VERSION());
}

/* Pages without which the wanted rows are. Pages that libparquet reads whole are all there. */
std::vector<PagePlace> wanted_pages(const std::vector<PagePlace>& pages, const RowRanges& rows) {
  std::vector<PagePlace> wanted;
  for (const PagePlace& page : pages)
    if (any_row(rows, page.first_row, page.first_row + page.rows)) wanted.push_back(page);
  return wanted;
}

/* Appends bytes of the file, which has them. */
void read_into(const OpenedFile& opened, uint64_t from, uint64_t size, uint8_t*& to) {
  auto read = opened.file->ReadAt(static_cast<int64_t>(from), static_cast<int64_t>(size), to);
  check_status(read.status());
  if (static_cast<uint64_t>(*read) != size) throw FileError("its pages leave the file");
  to += size;
}

/* What is before the first page, which is the dictionary, and the wanted ones; those beside each other at once. */
std::shared_ptr<arrow::Buffer> read_pages(const OpenedFile& opened, const ChunkBytes& chunk, uint64_t first_page,
                                          const std::vector<PagePlace>& wanted) {
  const auto start = static_cast<uint64_t>(chunk.start);
  uint64_t size = first_page - start;
  for (const PagePlace& page : wanted) size += page.size;
  auto made = arrow::AllocateBuffer(static_cast<int64_t>(size), file_memory());
  check_status(made.status());
  uint8_t* to = (*made)->mutable_data();
  uint64_t from = start, end = first_page;
  for (const PagePlace& page : wanted) {
    if (page.offset != end) {
      read_into(opened, from, end - from, to);
      from = page.offset;
    }
    end = page.offset + page.size;
  }
  read_into(opened, from, end - from, to);
  return std::move(*made);
}

std::shared_ptr<arrow::Buffer> read_chunk(const OpenedFile& opened, const ChunkBytes& chunk) {
  auto bytes = opened.file->ReadAt(chunk.start, chunk.size);
  check_status(bytes.status());
  if ((*bytes)->size() != chunk.size) throw FileError("its pages leave the file");
  return *bytes;
}

}  // namespace

PageSource::PageSource(const OpenedFile& opened, const parquet::FileMetaData& metadata, parquet::RowGroupReader& group,
                       int column, const RowRanges& rows)
    : rows_(static_cast<uint64_t>(std::max<int64_t>(group.metadata()->num_rows(), 0))) {
  const auto chunk = group.metadata()->ColumnChunk(column);
  const bool is_zstd = chunk->compression() == parquet::Compression::ZSTD;
  const bool is_part = rows.size() != 1 || rows[0].count != rows_;
  if (!is_plain(metadata, *chunk) || (!is_zstd && !is_part)) {
    reader_ = group.GetColumnPageReader(column);
    return;
  }
  const std::vector<PagePlace> pages = is_part ? page_places(opened, *chunk, rows_) : std::vector<PagePlace>();
  if (!is_zstd && pages.empty()) {
    reader_ = group.GetColumnPageReader(column);
    return;
  }
  is_packed_ = is_zstd;
  most_bytes_ = static_cast<uint64_t>(std::clamp<int64_t>(chunk->total_uncompressed_size(), 0, INT32_MAX));
  const ChunkBytes place = chunk_bytes(opened, *chunk);
  std::shared_ptr<arrow::Buffer> bytes;
  int64_t values = chunk->num_values();
  if (pages.empty()) {
    bytes = read_chunk(opened, place);
  } else {
    chosen_ = wanted_pages(pages, rows);
    bytes = read_pages(opened, place, pages[0].offset, chosen_);
    rows_ = 0;
    for (const PagePlace& page : chosen_) rows_ += page.rows;
    values = static_cast<int64_t>(rows_);
    left_out_ = {pages.size() - chosen_.size(), pages.size(), static_cast<uint64_t>(place.size - bytes->size())};
  }
  const parquet::ReaderProperties properties(file_memory());
  reader_ = parquet::PageReader::Open(std::make_shared<arrow::io::BufferReader>(bytes), values,
                                      is_zstd ? parquet::Compression::UNCOMPRESSED : chunk->compression(), properties,
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
