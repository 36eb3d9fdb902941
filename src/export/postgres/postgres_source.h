/*
 * postgres_source.h - a table or query of PostgreSQL as a source of rows.
 */
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "export/options.h"
#include "export/postgres/decoders.h"
#include "export/postgres/table_parts.h"
#include "export/query_parts.h"
#include "export/row_source.h"

namespace turbine::exporting {

class PostgresSource : public ExportSource {
 public:
  /* Connects and looks at the query's columns. Throws ExportError. */
  explicit PostgresSource(const Options& options);

  const std::vector<std::string>& column_names() const override { return names_; }
  ColumnDecoders make_decoders() const override;
  std::unique_ptr<RowSource> open(int worker) override;
  int64_t expected_rows() const override { return expected_rows_; }

 private:
  void look_up_columns(const std::string& query);
  bool any_is_cast() const;
  std::vector<std::string> copied_of(const NamedTable& table) const;
  std::string selected_columns(bool of_table) const;
  void export_snapshot();
  void estimate_rows(const std::string& query);

  const Options& options_;
  std::string password_;
  std::shared_ptr<PgConnection> connection_;
  std::vector<std::string> names_;
  std::vector<PgType> types_;
  std::unique_ptr<QueryParts> parts_;
  std::string snapshot_;
  int64_t expected_rows_ = 0;
};

}  // namespace turbine::exporting
