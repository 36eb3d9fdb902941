/*
 * chunk_pages.cc - see chunk_pages.h.
 *
 * Owns the page at hand. Called for each run of rows of a batch. Must never return more values
 * than the page's bytes hold, nor an index that the dictionary has not got.
 */
#include "engine/source/files/arrow/parquet/chunk_pages.h"

#include <algorithm>
#include <cstring>
#include <string>

#include <parquet/column_page.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>
#include <parquet/types.h>

#include "engine/source/files/arrow/parquet/value_loops.h"
#include "engine/source/files/table_file.h"
#include "file_values/int96.h"

namespace turbine {
namespace {

uint32_t fixed_width(const parquet::ColumnDescriptor& column) {
  switch (column.physical_type()) {
    case parquet::Type::INT32:
    case parquet::Type::FLOAT: return 4;
    case parquet::Type::INT64:
    case parquet::Type::DOUBLE: return 8;
    case parquet::Type::INT96: return kInt96Bytes;
    case parquet::Type::FIXED_LEN_BYTE_ARRAY: return static_cast<uint32_t>(std::max(column.type_length(), 0));
    default: return 0;
  }
}

/* Little-endian. */
uint32_t word_at(const uint8_t* bytes) {
  uint32_t word;
  memcpy(&word, bytes, sizeof word);
  return word;
}

/* A text with its length before it; `begin` moves behind it. */
std::string_view next_text(const uint8_t*& begin, const uint8_t* end) {
  if (end - begin < 4) throw FileError("a page ends before its last text");
  const uint32_t length = word_at(begin);
  begin += 4;
  if (length > static_cast<uint64_t>(end - begin)) throw FileError("a text is longer than its page");
  const std::string_view text(reinterpret_cast<const char*>(begin), length);
  begin += length;
  return text;
}

bool is_index(int encoding) {
  return encoding == parquet::Encoding::PLAIN_DICTIONARY || encoding == parquet::Encoding::RLE_DICTIONARY;
}

}  // namespace

bool ChunkPages::can_read(const parquet::ColumnDescriptor& column, const parquet::ColumnChunkMetaData& chunk) {
  if (column.max_repetition_level() != 0 || column.max_definition_level() > 1) return false;
  switch (column.physical_type()) {
    case parquet::Type::BOOLEAN:
    case parquet::Type::INT32:
    case parquet::Type::INT64:
    case parquet::Type::FLOAT:
    case parquet::Type::DOUBLE:
    case parquet::Type::BYTE_ARRAY: break;
    case parquet::Type::FIXED_LEN_BYTE_ARRAY:
      if (column.type_length() <= 0) return false;
      break;
    // libparquet would not give its values as they are: next_page refuses encodings that it cannot have.
    case parquet::Type::INT96: return true;
    default: return false;
  }
  // Levels' encodings are among them. BIT_PACKED is named by writers that have none; if there are some, next_page sees.
  const bool is_integer = column.physical_type() == parquet::Type::INT32 ||
                          column.physical_type() == parquet::Type::INT64;
  return std::all_of(chunk.encodings().begin(), chunk.encodings().end(), [&](parquet::Encoding::type encoding) {
    return encoding == parquet::Encoding::PLAIN || encoding == parquet::Encoding::RLE ||
           encoding == parquet::Encoding::BIT_PACKED || is_index(encoding) ||
           (is_integer && encoding == parquet::Encoding::DELTA_BINARY_PACKED);
  });
}

ChunkPages::ChunkPages(std::unique_ptr<PageSource> source, const parquet::ColumnDescriptor& column)
    : source_(std::move(source)),
      nullable_(column.max_definition_level() > 0),
      width_(fixed_width(column)),
      is_flags_(column.physical_type() == parquet::Type::BOOLEAN),
      is_integer_(column.physical_type() == parquet::Type::INT32 || column.physical_type() == parquet::Type::INT64),
      rows_left_(source_->rows()),
      valid_(nullable_ ? new uint8_t[kMostSegmentRows] : nullptr),
      room_(new uint32_t[kMostSegmentRows]) {}

ValueRun ChunkPages::next(uint32_t most) {
  while (left_ == 0)
    if (!next_page()) throw FileError("its pages hold fewer rows than the row group");
  ValueRun run;
  run.form = form_;
  run.rows = run.values = std::min(most, left_);
  left_ -= run.rows;
  row_ += run.rows;
  if (nullable_ && !levels_.take_ones(run.rows)) {
    run.values = levels_.read_flags(run.rows, valid_.get());
    if (run.values < run.rows) run.valid = valid_.get();
  }
  switch (form_) {
    case ValueRun::kPlain:
      if (is_delta_) {
        run.plain = read_deltas(run.values);
        break;
      }
      if (run.values > static_cast<uint64_t>(end_ - values_) / width_)
        throw FileError("a page holds fewer values than it says");
      run.plain = values_;
      values_ += uint64_t{run.values} * width_;
      break;
    case ValueRun::kTexts:
      read_texts(run.values);
      run.texts = texts_.data();
      break;
    case ValueRun::kIndexes:
      numbers_.read(run.values, room_.get());
      if (run.values > 0 && greatest_of(room_.get(), run.values) >= dictionary_.count)
        throw FileError("an index beyond its dictionary");
      run.numbers = room_.get();
      break;
    case ValueRun::kFlags:
      numbers_.read(run.values, room_.get());
      run.numbers = room_.get();
      break;
  }
  return run;
}

/* Rows of pages that are there are read and dropped: pages may be longer than what is not wanted. */
void ChunkPages::skip(uint64_t rows) {
  const std::vector<PagePlace>& chosen = source_->chosen();
  for (const uint64_t end = row_ + rows; row_ < end;) {
    if (left_ == 0 && chosen_ < chosen.size() && chosen[chosen_].first_row > row_)
      row_ = std::min(chosen[chosen_].first_row, end);
    else
      next(static_cast<uint32_t>(std::min<uint64_t>(end - row_, kMostSegmentRows)));
  }
}

void ChunkPages::check_chosen() {
  const std::vector<PagePlace>& chosen = source_->chosen();
  if (chosen.empty()) return;
  if (chosen_ >= chosen.size() || chosen[chosen_].first_row != row_ || chosen[chosen_].rows != left_)
    throw FileError("a page of other rows than its index says");
  chosen_++;
}

void ChunkPages::read_texts(uint32_t count) {
  texts_.resize(count);
  for (std::string_view& text : texts_) text = next_text(values_, end_);
}

const uint8_t* ChunkPages::read_deltas(uint32_t count) {
  sums_.resize(kMostSegmentRows);
  if (width_ == sizeof(int32_t))
    deltas_.read(count, reinterpret_cast<int32_t*>(sums_.data()));
  else
    deltas_.read(count, reinterpret_cast<int64_t*>(sums_.data()));
  return reinterpret_cast<const uint8_t*>(sums_.data());
}

void ChunkPages::check_end() {
  if (left_ > 0) throw FileError("its pages hold more rows than the row group");
  while (next_page()) {
  }
}

bool ChunkPages::next_page() {
  if (!page_waits_) page_ = source_->next();
  page_waits_ = false;
  if (!page_.page) return false;
  switch (page_.page->type()) {
    case parquet::PageType::DICTIONARY_PAGE: throw FileError("a dictionary that is not its first page");
    case parquet::PageType::DATA_PAGE: begin_v1(); break;
    case parquet::PageType::DATA_PAGE_V2: begin_v2(); break;
    default: return true;
  }
  if (left_ > rows_left_) throw FileError("its pages hold more rows than the row group");
  rows_left_ -= left_;
  check_chosen();
  return true;
}

const DictionaryEntries& ChunkPages::read_dictionary() {
  page_ = source_->next();
  if (page_.page && page_.page->type() == parquet::PageType::DICTIONARY_PAGE)
    take_dictionary();
  else
    page_waits_ = true;
  return dictionary_;
}

void ChunkPages::take_dictionary() {
  const auto& page = static_cast<const parquet::DictionaryPage&>(*page_.page);
  if (page.encoding() != parquet::Encoding::PLAIN && page.encoding() != parquet::Encoding::PLAIN_DICTIONARY)
    throw FileError("a dictionary of an unknown encoding");
  if (is_flags_ || page.num_values() < 0) throw FileError("a dictionary that cannot be");
  const auto count = static_cast<uint32_t>(page.num_values());
  const uint8_t* begin = page_.begin;
  const auto size = static_cast<uint64_t>(page_.end - begin);
  if (width_ > 0) {
    if (count > size / width_) throw FileError("a dictionary holds less than it says");
  } else {
    // Each has a length at least.
    if (count > size / 4) throw FileError("a dictionary holds less than it says");
    dictionary_texts_.resize(count);
    for (std::string_view& text : dictionary_texts_) text = next_text(begin, page_.end);
  }
  dictionary_ = {count, page_.begin, dictionary_texts_};
  has_dictionary_ = true;
}

/* Levels have their length before them. */
void ChunkPages::begin_v1() {
  const auto& page = static_cast<const parquet::DataPageV1&>(*page_.page);
  const uint8_t* begin = page_.begin;
  if (page.num_values() < 0) throw FileError("a page of a negative number of values");
  left_ = static_cast<uint32_t>(page.num_values());
  if (nullable_) {
    if (page.definition_level_encoding() != parquet::Encoding::RLE) throw FileError("levels of an unknown encoding");
    if (page_.end - begin < 4) throw FileError("a page ends before its levels");
    const uint32_t length = word_at(begin);
    begin += 4;
    if (length > static_cast<uint64_t>(page_.end - begin)) throw FileError("levels are longer than their page");
    levels_ = HybridRuns(begin, begin + length, 1);
    begin += length;
  }
  begin_values(page.encoding(), begin, page_.end);
}

/* The page's header has the length of its levels. */
void ChunkPages::begin_v2() {
  const auto& page = static_cast<const parquet::DataPageV2&>(*page_.page);
  const uint8_t* begin = page_.begin;
  const int64_t repetition = page.repetition_levels_byte_length(), definition = page.definition_levels_byte_length();
  if (page.num_values() < 0) throw FileError("a page of a negative number of values");
  if (repetition < 0 || definition < 0 || repetition + definition > page_.end - begin)
    throw FileError("levels are longer than their page");
  left_ = static_cast<uint32_t>(page.num_values());
  begin += repetition;
  if (nullable_) levels_ = HybridRuns(begin, begin + definition, 1);
  begin_values(page.encoding(), begin + definition, page_.end);
}

void ChunkPages::begin_values(int encoding, const uint8_t* begin, const uint8_t* end) {
  if (is_index(encoding)) {
    if (!has_dictionary_) throw FileError("indexes without a dictionary");
    form_ = ValueRun::kIndexes;
    // A page of NULLs alone may hold nothing at all.
    if (begin == end) {
      numbers_ = HybridRuns(begin, end, 1);
      return;
    }
    const uint32_t width = *begin;
    if (width > 32) throw FileError("indexes of " + std::to_string(width) + " bits");
    numbers_ = HybridRuns(begin + 1, end, width);
    return;
  }
  if (is_flags_ && encoding == parquet::Encoding::RLE) {
    if (end - begin < 4 && left_ > 0) throw FileError("a page ends before its values");
    const uint32_t length = end - begin < 4 ? 0 : word_at(begin);
    begin = end - begin < 4 ? end : begin + 4;
    if (length > static_cast<uint64_t>(end - begin)) throw FileError("values are longer than their page");
    form_ = ValueRun::kFlags;
    numbers_ = HybridRuns(begin, begin + length, 1);
    return;
  }
  is_delta_ = is_integer_ && encoding == parquet::Encoding::DELTA_BINARY_PACKED;
  if (is_delta_) {
    form_ = ValueRun::kPlain;
    // A page of NULLs alone may hold nothing at all.
    deltas_ = begin == end ? DeltaNumbers() : DeltaNumbers(begin, end);
    return;
  }
  if (encoding != parquet::Encoding::PLAIN) throw FileError("a page of an encoding that its chunk does not name");
  if (is_flags_) {
    form_ = ValueRun::kFlags;
    numbers_ = HybridRuns::packed(begin, end, 1);
    return;
  }
  form_ = width_ > 0 ? ValueRun::kPlain : ValueRun::kTexts;
  values_ = begin;
  end_ = end;
}

}  // namespace turbine
