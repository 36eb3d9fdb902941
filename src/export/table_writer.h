/*
 * table_writer.h - what takes record batches and makes a file of them. One thread uses it.
 */
#pragma once

#include <arrow/record_batch.h>

#include <cstdint>

namespace turbine::exporting {

class TableWriter {
 public:
  virtual ~TableWriter() = default;
  virtual void write(const arrow::RecordBatch& batch) = 0;
  /* Ends the file and gives it its name. Without this call nothing is left of it. */
  virtual void finish() = 0;
  /* Bytes written so far. */
  virtual int64_t bytes() const = 0;
};

}  // namespace turbine::exporting
