/*
 * row_source.h - where an export's rows come from: the interface between a kind of server
 * and what writes files.
 *
 * ExportSource is made once, after connecting, and knows the columns; each worker gets a
 * RowSource and decoders of its own. Implemented in postgres/ and mysql/.
 */
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "export/batch_builder.h"

namespace turbine::exporting {

/* One worker's rows, used by one thread. */
class RowSource {
 public:
  virtual ~RowSource() = default;
  /* Adds a row, or several; false at the end. Throws ExportError. */
  virtual bool add(BatchBuilder& builder) = 0;
};

/* Rows that come one by one. */
class FieldRows : public RowSource {
 public:
  bool add(BatchBuilder& builder) final {
    if (!next(fields_)) return false;
    builder.append(fields_);
    return true;
  }

 protected:
  /* Fills a row's fields, borrowed until the next call; false at the end. Throws ExportError. */
  virtual bool next(std::vector<FieldBytes>& fields) = 0;

 private:
  std::vector<FieldBytes> fields_;
};

class ExportSource {
 public:
  virtual ~ExportSource() = default;
  virtual const std::vector<std::string>& column_names() const = 0;
  virtual ColumnDecoders make_decoders() const = 0;
  /* Rows of worker `worker`, from 0; called once for each. */
  virtual std::unique_ptr<RowSource> open(int worker) = 0;
  /* An estimate for the progress bar; 0 if there is none. */
  virtual int64_t expected_rows() const = 0;
};

}  // namespace turbine::exporting
