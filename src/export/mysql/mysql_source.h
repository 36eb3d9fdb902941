/*
 * mysql_source.h - a table or query of MySQL or MariaDB as a source of rows.
 */
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "export/mysql/connection.h"
#include "export/mysql/mysql_column.h"
#include "export/options.h"
#include "export/query_parts.h"
#include "export/row_source.h"

namespace turbine::exporting {

class MysqlSource : public ExportSource {
 public:
  /* Connects and looks at the query's columns. Throws ExportError. */
  explicit MysqlSource(const Options& options);

  const std::vector<std::string>& column_names() const override { return names_; }
  ColumnDecoders make_decoders() const override;
  std::unique_ptr<RowSource> open(int worker) override;
  int64_t expected_rows() const override { return expected_rows_; }

 private:
  std::vector<std::string> divide(const std::string& query, const std::string& table);
  void open_snapshots(const std::string& table);
  void estimate_rows();

  const Options& options_;
  std::string password_;
  std::vector<std::shared_ptr<MysqlConnection>> connections_; /* by worker */
  std::vector<MysqlColumn> columns_;
  std::vector<std::string> names_;
  std::unique_ptr<QueryParts> parts_;
  int64_t expected_rows_ = 0;
};

}  // namespace turbine::exporting
