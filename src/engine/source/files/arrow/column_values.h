/*
 * column_values.h - values of an Arrow array become rows of a column.
 */
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include <arrow/type_fwd.h>

#include "engine/source/files/column_rows.h"
#include "engine/source/files/table_file.h"

namespace turbine {

/* Of one column of a file. Immutable. */
class ColumnValues {
 public:
  virtual ~ColumnValues() = default;
  /* Appends the array's values from `from` on. The array is of the column's type in the file, and valid as far as
   * arrow::Array::Validate tells. Throws FileError, bad_alloc. */
  virtual void append(const arrow::Array& array, int64_t from, uint32_t count, ColumnRows& rows) const = 0;
  /* Are values of the file, byte for byte, those of the rows? */
  virtual bool as_they_are() const { return false; }
};

/* Throws FileError if values of the type do not become the wanted ones without PostgreSQL's help. */
std::unique_ptr<const ColumnValues> column_values(const arrow::DataType& type, const WantedColumn& wanted);

/* Marks NULLs of the array among the rows that were appended last. Throws FileError if the column may have none. */
void mark_nulls(const arrow::Array& array, int64_t from, uint32_t count, const WantedColumn& wanted, ColumnRows& rows);

/* Appends the value that all rows have. */
void append_constant(const WantedColumn& constant, uint32_t count, ColumnRows& rows);

}  // namespace turbine
