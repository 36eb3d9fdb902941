/*
 * backend_source.h - rows that a backend sends down standard input as a source of rows.
 */
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "export/options.h"
#include "export/postgres/pg_type.h"
#include "export/row_source.h"

namespace turbine::exporting {

class BackendSource : public ExportSource {
 public:
  /* Reads the request: `options` get what it says. Throws ExportError. */
  BackendSource(int input, Options& options);

  const std::vector<std::string>& column_names() const override { return names_; }
  ColumnDecoders make_decoders() const override;
  std::unique_ptr<RowSource> open(int worker) override;
  int64_t expected_rows() const override { return 0; }

  /* Read so far. */
  int64_t rows() const { return rows_; }

 private:
  PgType read_type(bool parquet);
  uint32_t read_number();
  std::string read_text();

  int input_;
  bool check_utf8_ = false;
  std::vector<std::string> names_;
  std::vector<PgType> types_;
  int64_t rows_ = 0;
};

}  // namespace turbine::exporting
