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

/* Of a record batch or row group: some 100,000 rows, which readers leave out or read as a whole, each on a thread. */
inline constexpr int64_t kBatchBytes = 16 << 20;

/* A request, without its columns and rows. */
struct WriterRequest {
  uint32_t flags = 0; /* TB_WRITER_* */
  uint32_t stop = 0;
  Options options;
  std::string old_file;           /* of an ADDITION whose columns it gets; of a MERGE; empty: none */
  std::vector<std::string> additions; /* of a MERGE */
};

/* Reads the next request; false if the backend wants nothing more. Throws ExportError. */
bool read_request(int input, WriterRequest& request);

class BackendSource : public ExportSource {
 public:
  /* Reads what a request says of columns. Throws ExportError. */
  BackendSource(int input, const WriterRequest& request);

  const std::vector<std::string>& column_names() const override { return names_; }
  ColumnDecoders make_decoders() const override;
  std::unique_ptr<RowSource> open(int worker) override;
  int64_t expected_rows() const override { return 0; }

  /* Read so far. */
  int64_t rows() const { return rows_; }
  /* As decoders read the columns; to be changed before they are made. */
  std::vector<PgType>& types() { return types_; }

 private:
  PgType read_type(bool parquet);

  int input_;
  bool check_utf8_ = false;
  std::vector<std::string> names_;
  std::vector<PgType> types_;
  std::vector<int> widths_; /* of values, as the backend sends them */
  int64_t rows_ = 0;
};

}  // namespace turbine::exporting
