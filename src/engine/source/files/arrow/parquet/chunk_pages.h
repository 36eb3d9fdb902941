/*
 * chunk_pages.h - the pages of one column chunk, read row by row: who is NULL, and where the values are.
 *
 * Levels and indexes are read here, of unpacked pages (page_source.h). For columns that are not nested, whose
 * pages are PLAIN, indexes of a dictionary, or distances between integers. Nothing that a page says is trusted.
 */
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/source/files/arrow/parquet/delta_numbers.h"
#include "engine/source/files/arrow/parquet/hybrid_runs.h"
#include "engine/source/files/arrow/parquet/page_source.h"
#include "engine/store/column_codes.h"

namespace parquet {
class ColumnChunkMetaData;
class ColumnDescriptor;
}  // namespace parquet

namespace turbine {

/* Rows that follow one another in a page. Values of NULLs are not there. Borrows from the pages: until more rows are
 * read. */
struct ValueRun {
  enum Form : uint8_t { kPlain, kTexts, kIndexes, kFlags };
  Form form = kPlain;
  uint32_t rows = 0;
  uint32_t values = 0;             // of rows that are not NULL
  const uint8_t* valid = nullptr;  // by row; null: none is NULL
  const uint8_t* plain = nullptr;  // kPlain: of fixed width, one after the other
  const uint32_t* numbers = nullptr;        // kIndexes: of the dictionary, within it; kFlags: 0 or 1
  const std::string_view* texts = nullptr;  // kTexts
};

/* Entries of a dictionary page: of fixed width, or texts. Borrows from the page. */
struct DictionaryEntries {
  uint32_t count = 0;
  const uint8_t* plain = nullptr;
  std::span<const std::string_view> texts;
};

class ChunkPages {
 public:
  /* Whether all of the chunk's encodings, as the metadata says, can be read here. */
  static bool can_read(const parquet::ColumnDescriptor& column, const parquet::ColumnChunkMetaData& chunk);

  ChunkPages(std::unique_ptr<PageSource> source, const parquet::ColumnDescriptor& column);

  /* Before the first rows: the chunk's dictionary, empty if it has none. Valid until rows are read. Throws as next().
   */
  const DictionaryEntries& read_dictionary();

  /* The next rows, at least one and at most `most`, which is at most kMostSegmentRows. Throws FileError, bad_alloc, and
   * what libparquet throws. */
  ValueRun next(uint32_t most);

  /* Rows that are not wanted, the next ones. After read_dictionary(). Throws as next(). */
  void skip(uint64_t rows);

  /* After the last row: throws FileError if more follow. */
  void check_end();

  const BatchReader::LeftOut& left_out() const { return source_->left_out(); }

 private:
  /* Returns false if there is none. */
  bool next_page();
  /* A page has begun whose rows an index tells. */
  void check_chosen();
  void take_dictionary();
  /* Pages of either version, that page_ is. */
  void begin_v1();
  void begin_v2();
  void begin_values(int encoding, const uint8_t* begin, const uint8_t* end);
  void read_texts(uint32_t count);
  const uint8_t* read_deltas(uint32_t count);

  const std::unique_ptr<PageSource> source_;
  const bool nullable_;
  const uint32_t width_;  // bytes of a value; 0: texts, or bits
  const bool is_flags_, is_integer_;
  uint64_t rows_left_;  // of the pages that there are, behind the page
  uint64_t row_ = 0;  // of the chunk: the next one
  size_t chosen_ = 0;  // pages that have begun, of those whose rows an index tells

  DictionaryEntries dictionary_;
  std::vector<std::string_view> dictionary_texts_;
  bool has_dictionary_ = false;

  PageSource::UnpackedPage page_;
  bool page_waits_ = false;  // it has been read, and not begun

  // The page at hand.
  uint32_t left_ = 0;  // rows
  ValueRun::Form form_ = ValueRun::kPlain;
  HybridRuns levels_, numbers_;
  bool is_delta_ = false;  // kPlain: `deltas_` have the values
  DeltaNumbers deltas_;
  const uint8_t* values_ = nullptr;  // plain ones that follow
  const uint8_t* end_ = nullptr;

  const std::unique_ptr<uint8_t[]> valid_;
  const std::unique_ptr<uint32_t[]> room_;
  std::vector<std::string_view> texts_;
  std::vector<uint64_t> sums_;  // of deltas
};

}  // namespace turbine
