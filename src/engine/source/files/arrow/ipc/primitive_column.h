/*
 * primitive_column.h - a column of a batch whose values lie in the file one behind the other, of a width of their own.
 *
 * Such columns (Arrow's primitive layout: numbers, decimals, dates, times, booleans) are read a run of rows at a time,
 * into memory that stays in the processor's cache until the rows are in a segment; values that are the wanted ones
 * already are read to where rows keep them. libarrow would read the whole batch's column first.
 */
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "engine/source/files/arrow/arrow_file.h"
#include "engine/source/files/arrow/ipc/batch_layout.h"

namespace turbine {

/* Does the file have values of the type so, unless they are compressed? Coordinates of points lie so within a struct.
 */
bool has_primitive_layout(const arrow::DataType& type);

class PrimitiveColumn {
 public:
  /* Of such a type. Throws FileError for a place that the batch has not got. */
  PrimitiveColumn(const BoundColumn& bound, std::shared_ptr<arrow::DataType> type, const FieldPlace& place,
                  const IpcBatch& batch, const BatchLayout& layout);

  /* Appends the values from the batch's row `from` on. `room`: memory for what is converted, kept from one run of rows
   * to the next. Throws FileError, bad_alloc. */
  void append(arrow::io::RandomAccessFile& file, uint64_t from, uint32_t count, std::vector<uint8_t>& room,
              ColumnRows& rows) const;

  /* Where the file has rows from `first` on, and before `end`: values, then, if there are NULLs, their bits, then those
   * of coordinates. */
  std::vector<StoredFile::Range> ranges(uint64_t first, uint64_t end) const;
  /* What these have, in the same order: rows are taken from there, and not read again. */
  void hold(std::vector<StoredFile::Range> ranges, std::vector<std::shared_ptr<arrow::Buffer>> bytes);

  bool may_have_nulls() const { return has_nulls_; }
  size_t range_count() const { return 1u + has_nulls_ + has_null_coordinates_; }

  /* Of the file, that so many rows take. */
  uint64_t bytes(uint64_t rows) const;

 private:
  /* In the file, of a buffer that has so many bits a row. */
  int64_t place_of(const IpcBuffer& buffer, uint64_t bits, const IpcBatch& batch) const;
  void read(arrow::io::RandomAccessFile& file, int64_t place, uint64_t first, uint64_t bytes, uint8_t* to) const;
  void check_coordinates(arrow::io::RandomAccessFile& file, uint64_t start, uint64_t nrows, const uint8_t* valid) const;

  std::string name_;
  std::shared_ptr<arrow::DataType> type_;
  std::unique_ptr<const ColumnValues> conversion_;
  uint32_t bits_;  // of a value
  bool has_nulls_;
  bool has_null_coordinates_ = false;  // of points that are NULL; others may have none
  int64_t values_ = 0, valid_ = 0, valid_coordinates_ = 0;  // places in the file
  std::vector<StoredFile::Range> held_ranges_;
  std::vector<std::shared_ptr<arrow::Buffer>> held_;
};

}  // namespace turbine
