/*
 * engine_user.cc - turbined's reader over a spoilt file: as FileSource uses it, without its threads.
 *
 * Owns the declared columns, and the comparison of Parquet columns with what libparquet makes of them. Rows that a
 * file claims without holding them (a run of one value may be billions) are read up to kMostRows: a query
 * of them can be cancelled.
 */
#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

#include <arrow/io/file.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/schema.h>

#include "engine/source/files/arrow/arrow_file.h"
#include "engine/source/files/arrow/column_values.h"
#include "engine/source/files/arrow/open_table_file.h"
#include "engine/source/files/file_segments.h"
#include "file_reader/batch_file.h"
#include "file_reader/stored_types.h"
#include "memory_file.h"
#include "random_numbers.h"
#include "readers.h"
#include "turbine/wire.h"

namespace turbine::file_mutations {
namespace {

constexpr uint64_t kMostRows = 200000;

/* Columns' values, NULLs apart, whatever runs they come in. */
class Digest {
 public:
  explicit Digest(size_t columns) : columns_(columns, 0xcbf29ce484222325u) {}

  void add(const std::vector<WantedColumn>& wanted, const std::vector<ColumnRows>& rows, uint32_t count) {
    for (size_t i = 0; i < rows.size(); i++) {
      if (rows[i].rows() != count)
        throw std::logic_error("column \"" + wanted[i].name + "\" has other rows than asked");
      add_column(wanted[i].type, rows[i], columns_[i]);
    }
  }
  uint64_t sum() const {
    uint64_t sum = 0;
    for (const uint64_t column : columns_) sum = sum * 31 + column;
    return sum;
  }
  uint64_t column(size_t number) const { return columns_[number]; }

 private:
  static void add_bytes(const uint8_t* bytes, size_t count, uint64_t& digest) {
    for (size_t i = 0; i < count; i++) digest = (digest ^ bytes[i]) * 0x100000001b3u;
  }
  static void add_column(uint32_t type, const ColumnRows& rows, uint64_t& digest) {
    const TbColumnData data = rows.data();
    const uint32_t width = tb_type_width(type);
    const auto* values = static_cast<const uint8_t*>(data.values);
    for (uint32_t row = 0; row < rows.rows(); row++) {
      const uint8_t valid = !data.valid || data.valid[row] != 0;
      add_bytes(&valid, 1, digest);
      if (!valid) continue;
      if (tb_type_is_text(type))
        add_text(rows, row, digest);
      else
        add_bytes(values + uint64_t{row} * width, width, digest);
    }
  }
  static void add_text(const ColumnRows& rows, uint32_t row, uint64_t& digest) {
    TbTextView view;
    const uint8_t* bytes;
    if (rows.is_coded()) {
      const auto code = static_cast<const int32_t*>(rows.data().values)[row];
      if (code < 0 || static_cast<uint32_t>(code) >= rows.dictionary()->entries())
        throw std::logic_error("a code beyond its dictionary");
      view = rows.dictionary()->views()[code];
      bytes = rows.dictionary()->bytes();
    } else {
      memcpy(&view, static_cast<const TbTextView*>(rows.data().values) + row, sizeof view);
      bytes = rows.data().bytes;
    }
    add_bytes(reinterpret_cast<const uint8_t*>(&view.length), sizeof view.length, digest);
    add_bytes(bytes + view.offset, view.length, digest);
  }

  std::vector<uint64_t> columns_;
};

/* Types that a column of the file can be declared as. */
std::vector<WantedColumn> declarations(const arrow::Field& field) {
  std::vector<WantedColumn> columns;
  WantedColumn column;
  column.name = field.name();
  column.nullable = true;
  if (arrow::is_decimal(field.type()->id()))
    column.scale = std::max(0, static_cast<const arrow::DecimalType&>(*field.type()).scale());
  for (const uint32_t type :
       {TB_TYPE_BOOL, TB_TYPE_INT2, TB_TYPE_INT4, TB_TYPE_INT8, TB_TYPE_FLOAT4, TB_TYPE_FLOAT8, TB_TYPE_DATE,
        TB_TYPE_TIMESTAMP, TB_TYPE_TIMESTAMPTZ, TB_TYPE_NUM64, TB_TYPE_NUM128, TB_TYPE_TEXT, TB_TYPE_BPCHAR}) {
    column.type = type;
    try {
      // The engine takes Parquet's INT96 for this one.
      (void)column_values(
          file_reader::is_int96(*field.type()) ? *arrow::timestamp(arrow::TimeUnit::MICRO) : *field.type(), column);
      columns.push_back(column);
    } catch (const FileError&) {
      // Left to the other reader.
    }
  }
  return columns;
}

std::vector<ColumnRows> rows_for(const std::vector<WantedColumn>& wanted, bool with_dictionaries) {
  std::vector<ColumnRows> rows;
  for (const WantedColumn& column : wanted)
    rows.emplace_back(column.type, with_dictionaries && tb_type_is_text(column.type)
                                       ? std::make_shared<TextDictionary>(1 << 20)
                                       : nullptr);
  return rows;
}

class EngineUser final : public FileUser {
 public:
  explicit EngineUser(const std::string& content)
      : format_(content.ends_with("PAR1")       ? TB_COLUMN_FILE_PARQUET
                : content.starts_with("ARROW1") ? TB_COLUMN_FILE_ARROW
                                                : TB_COLUMN_FILE_ARROW_STREAM) {
    const MemoryFile file(content);
    const int fd = dup(file.fd());
    const auto opened = file_reader::open_batch_file(*arrow::io::ReadableFile::Open(fd));
    for (const auto& field : opened->schema().fields()) {
      std::vector<WantedColumn> some = declarations(*field);
      std::erase_if(some, [&](const WantedColumn& column) { return !can_read(file.fd(), column); });
      if (!some.empty()) declared_.push_back(some);
    }
  }

  Outcome use(int fd, uint64_t choice) override {
    Outcome outcome;
    RandomNumbers random(choice);
    const std::vector<WantedColumn> wanted = choose(random);
    try {
      read(fd, wanted, random, outcome);
    } catch (const FileError& error) {
      outcome.is_error = true;
      outcome.message = error.what();
    } catch (const std::bad_alloc&) {
      outcome.is_error = true;
      outcome.message = "out of memory";
    }
    return outcome;
  }

 private:
  /* Whether all values of the sound file fit the type. */
  bool can_read(int fd, const WantedColumn& column) const {
    try {
      RandomNumbers random(0);
      Outcome outcome;
      read(fd, {column}, random, outcome);
      return true;
    } catch (const FileError&) {
      return false;
    }
  }

  std::vector<WantedColumn> choose(RandomNumbers& random) const {
    std::vector<WantedColumn> wanted;
    const bool all = !random.one_in(4);
    for (const auto& some : declared_)
      if (all || random.one_in(2)) wanted.push_back(some[random.one_in(3) ? random.below(some.size()) : 0]);
    if (random.one_in(8)) {
      WantedColumn constant;
      constant.type = TB_TYPE_INT8;
      constant.is_constant = true;
      constant.value[0] = 5;
      wanted.push_back(constant);
    }
    return wanted;
  }

  void read(int fd, const std::vector<WantedColumn>& wanted, RandomNumbers& random, Outcome& outcome) const {
    const auto file = open_table_file(fd, format_, wanted);
    const FileSegments segments(*file);
    std::vector<ColumnRows> rows = rows_for(wanted, random.one_in(3));
    for (uint32_t batch = 0; batch < file->batches(); batch++) {
      if (file->zones(batch).size() != wanted.size()) throw std::logic_error("zones of other columns");
      if (random.one_in(2)) read_by_indexes(*file, wanted, batch, random, rows);
      Digest digest(wanted.size());
      const auto reader = file->read(batch);
      std::vector<uint64_t> bytes(wanted.size());
      reader->add_bytes(bytes);
      bool is_whole = true;
      for (const FileSegments::Segment& segment : segments.of_batch(batch)) {
        if (outcome.rows + segment.nrows > kMostRows) {
          is_whole = false;
          break;
        }
        const std::vector<std::unique_ptr<uint8_t[]>> places = places_for(wanted, segment.nrows, random, rows);
        reader->read(segment.nrows, rows);
        file->check_unchanged();
        digest.add(wanted, rows, segment.nrows);
        outcome.rows += segment.nrows;
      }
      outcome.digest = outcome.digest * 31 + digest.sum();
      if (format_ == TB_COLUMN_FILE_PARQUET && is_whole) compare(fd, wanted, batch, file->rows(batch), digest);
    }
  }

  /* Memory for the rows of some columns that has room for these and no others. */
  static std::vector<std::unique_ptr<uint8_t[]>> places_for(const std::vector<WantedColumn>& wanted, uint32_t nrows,
                                                            RandomNumbers& random, std::vector<ColumnRows>& rows) {
    std::vector<std::unique_ptr<uint8_t[]>> places(rows.size());
    for (size_t i = 0; i < rows.size(); i++) {
      if (!tb_type_is_text(wanted[i].type) && random.one_in(2))
        places[i].reset(new uint8_t[uint64_t{nrows} * tb_type_width(wanted[i].type)]);
      rows[i].clear();
      rows[i].write_to(places[i].get());
    }
    return places;
  }

  /* Asks the batch's indexes, and reads some of its rows. */
  static void read_by_indexes(const TableFile& file, const std::vector<WantedColumn>& wanted, uint32_t batch,
                              RandomNumbers& random, std::vector<ColumnRows>& rows) {
    for (const PageZones& pages : file.page_zones(batch, std::vector<uint8_t>(wanted.size(), 1)))
      if (pages.first_rows.empty() || pages.first_rows[0] != 0 || pages.first_rows.size() != pages.zones.size())
        throw std::logic_error("pages without their rows");
    for (size_t i = 0; i < wanted.size(); i++) {
      ColumnEquality equality{i, {}, {}};
      if (tb_type_is_text(wanted[i].type))
        equality.texts = {"text 7", ""};
      else
        equality.integers = {1, -5, int64_t{1} << 40};
      (void)file.lacks(batch, equality);
    }
    RowRanges ranges;
    const uint64_t end = std::min<uint64_t>(file.rows(batch), kMostRows);
    for (uint64_t row = random.below(20); row < end; row += 1 + random.below(20)) {
      const uint64_t count = std::min<uint64_t>(1 + random.below(20), end - row);
      ranges.push_back({row, count});
      row += count;
    }
    if (ranges.empty()) return;
    for (ColumnRows& column : rows) column.write_to(nullptr);
    const auto reader = file.read_rows(batch, ranges);
    for (const RowRange& range : ranges) {
      reader->read(static_cast<uint32_t>(range.count), rows);
      for (const ColumnRows& column : rows)
        if (column.rows() != range.count) throw std::logic_error("other rows than were wanted");
    }
    (void)reader->left_out();
  }

  /* With columns that libparquet has decoded, and the same conversion of values. If it takes the file for malformed,
   * there is nothing to compare with. */
  static void compare(int fd, const std::vector<WantedColumn>& wanted, uint32_t batch, uint64_t rows,
                      const Digest& digest) {
    const std::optional<Digest> other = by_libparquet(fd, wanted, batch, rows);
    if (!other) return;
    for (size_t i = 0; i < wanted.size(); i++)
      if (other->column(i) != digest.column(i))
        throw std::logic_error("column \"" + wanted[i].name + "\", batch " + std::to_string(batch) +
                               ": other values than libparquet's");
  }

  static std::optional<Digest> by_libparquet(int fd, const std::vector<WantedColumn>& wanted, uint32_t batch,
                                             uint64_t rows) {
    try {
      auto file = arrow::io::ReadableFile::Open(dup(fd), file_memory());
      parquet::ArrowReaderProperties properties(false);
      properties.set_batch_size(kMostSegmentRows);
      properties.set_pre_buffer(false);
      properties.set_coerce_int96_timestamp_unit(arrow::TimeUnit::MICRO);
      auto reader = parquet::arrow::FileReader::Make(
          file_memory(), parquet::ParquetFileReader::Open(*file, parquet::ReaderProperties(file_memory())), properties);
      if (!reader.ok()) return std::nullopt;
      std::shared_ptr<arrow::Schema> schema;
      if (!(*reader)->GetSchema(&schema).ok()) return std::nullopt;
      const std::vector<BoundColumn> bound = bind_columns(*schema, wanted);
      const std::vector<int> fields = bound_fields(bound);
      std::vector<int> leaves;
      for (const int field : fields) {
        leaves.push_back((*reader)->manifest().schema_fields[static_cast<size_t>(field)].column_index);
        // Of which libparquet makes other timestamps, if the file is spoilt.
        if ((*reader)->parquet_reader()->metadata()->schema()->Column(leaves.back())->physical_type() ==
            parquet::Type::INT96)
          return std::nullopt;
      }
      auto batches = (*reader)->GetRecordBatchReader({static_cast<int>(batch)}, leaves);
      if (!batches.ok()) return std::nullopt;
      const BoundRows values(bound, fields, *(*batches)->schema());
      std::vector<ColumnRows> made = rows_for(wanted, false);
      Digest digest(wanted.size());
      uint64_t read = 0;
      for (std::shared_ptr<arrow::RecordBatch> piece;;) {
        if (!(*batches)->ReadNext(&piece).ok()) return std::nullopt;
        if (!piece) break;
        values.check(*piece);
        for (ColumnRows& column : made) column.clear();
        const auto count = static_cast<uint32_t>(piece->num_rows());
        append_constants(bound, count, made);
        values.append(*piece, 0, count, made);
        digest.add(wanted, made, count);
        read += count;
      }
      if (fields.empty() || read != rows) return std::nullopt;
      return digest;
    } catch (const std::logic_error&) {
      throw;
    } catch (const std::exception&) {
      return std::nullopt;
    }
  }

  const uint32_t format_;
  std::vector<std::vector<WantedColumn>> declared_;  // by field: ways to declare it
};

}  // namespace

std::unique_ptr<FileUser> make_engine_user(const std::string& content) { return std::make_unique<EngineUser>(content); }

}  // namespace turbine::file_mutations
