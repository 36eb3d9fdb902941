/*
 * table_file.h - a file of columns (Arrow, Parquet): batches of rows, whose columns can be read one by
 * one.
 *
 * This interface knows no library; arrow/ has the formats. A file is opened (arrow/open_table_file.h)
 * for the columns that one program reads. If it lacks one of them or holds something else there, a
 * FileError says so. What a file says is never trusted: offsets and indexes are checked before anything
 * follows them.
 */
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "engine/source/files/column_rows.h"
#include "engine/source/files/file_version.h"
#include "engine/source/files/row_ranges.h"
#include "engine/source/segments/equality_filter.h"
#include "engine/store/segment.h"

namespace turbine {

struct GeoColumn;

/* The file is not what it should be: what() names the batch and the column. */
struct FileError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/* A column as the program wants it. */
struct WantedColumn {
  uint32_t type = 0;    // TbType
  int scale = 0;        // of numerics: digits after the point
  uint32_t digits = 0;  // of numerics: values of more are an error; 0: as many as the type has
  uint32_t characters = 0;  // of texts: the same; 0: any
  bool nullable = false;
  bool display_scale = false;  // INT4: digits after the point that the column named prints
  int32_t typmod = -1;         // of geometries: PostGIS's
  /* FLOAT8: a coordinate of the points that the column named has, and their form (turbine/point_column.h). */
  bool is_coordinate = false;
  uint32_t point_form = 0;
  std::shared_ptr<const GeoColumn> geo;  // of both: what the file says of the column
  std::string name;            // in the file
  /* All rows have this value, and the file has no such column. */
  bool is_constant = false, is_null = false;
  std::array<uint64_t, 2> value{};  // of a type other than text: as in a parameter block
  std::string text;
};

/* Reads the wanted rows of one batch in their order. One thread at a time. */
class BatchReader {
 public:
  virtual ~BatchReader() = default;
  /* The next rows of all columns, in place of what `columns` has. The range at hand has that many left. Throws
   * FileError, bad_alloc. */
  virtual void read(uint32_t nrows, std::vector<ColumnRows>& columns) = 0;
  /* Of a wanted column; false where the file promises that there are none. */
  virtual bool may_have_nulls(size_t column) const = 0;
  /* What it does not read of the file, since no row of it is wanted. */
  struct LeftOut {
    uint64_t pages = 0, of_pages = 0;  // of all columns whose pages an index tells
    uint64_t bytes = 0;
  };
  virtual LeftOut left_out() const { return {}; }
  /* Adds to each wanted column's figure the bytes of the file that its wanted rows take. A field that several columns
   * are made of counts for the first of them. */
  virtual void add_bytes(std::vector<uint64_t>& by_column) const = 0;
};

/* What a file says of the rows of a column's pages. */
struct PageZones {
  size_t column = 0;  // of the wanted ones
  std::vector<uint64_t> first_rows;  // of the batch; ascending, the first is 0
  std::vector<StoredColumn::Zone> zones;  // by page
};

/* Any thread. */
class TableFile {
 public:
  virtual ~TableFile() = default;
  virtual uint32_t batches() const = 0;
  virtual uint64_t rows(uint32_t batch) const = 0;
  /* Whether rows of a batch can be read for what they alone cost. */
  virtual bool reads_rows_apart() const { return false; }
  /* By column: what the file says about the batch's least and greatest values. */
  virtual std::vector<StoredColumn::Zone> zones(uint32_t batch) const = 0;
  /* Those of the pages of columns whose flag is set, where the file has an index of them. Reads the file. Throws
   * FileError, bad_alloc. */
  virtual std::vector<PageZones> page_zones(uint32_t, const std::vector<uint8_t>&) const { return {}; }
  /* Whether the batch has a Bloom filter which says that no row has one of the values. Reads the file. Throws
   * FileError, bad_alloc. */
  virtual bool lacks(uint32_t, const ColumnEquality&) const { return false; }
  /* Of the file when it was opened. */
  virtual const FileVersion& version() const = 0;
  /* Throws FileError if somebody has written to it since. */
  virtual void check_unchanged() const = 0;
  /* Rows of a batch, at least one. Throws FileError, bad_alloc. */
  virtual std::unique_ptr<BatchReader> read_rows(uint32_t batch, const RowRanges& rows) const = 0;
  /* All of them. */
  std::unique_ptr<BatchReader> read(uint32_t batch) const { return read_rows(batch, {{0, rows(batch)}}); }
};

}  // namespace turbine
