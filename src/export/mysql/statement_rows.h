/*
 * statement_rows.h - the rows of prepared statements, fetched one by one, query by query.
 */
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "export/mysql/connection.h"
#include "export/mysql/mysql_column.h"
#include "export/query_parts.h"
#include "export/row_source.h"

namespace turbine::exporting {

class StatementRows : public FieldRows {
 public:
  /* Runs the queries of `parts` until none is left; other workers take theirs from it too. */
  StatementRows(std::shared_ptr<MysqlConnection> connection, QueryParts& parts,
                const std::vector<MysqlColumn>& columns);

 private:
  bool next(std::vector<FieldBytes>& fields) override;
  bool start_next_query();
  void bind();
  void fetch_longer(size_t column);

  std::shared_ptr<MysqlConnection> connection_;
  QueryParts& parts_;
  const std::vector<MysqlColumn>& columns_;
  std::unique_ptr<MysqlStatement> statement_; /* null between queries */

  /* What the client library writes a row to, by column. */
  std::vector<std::vector<char>> buffers_;
  std::vector<unsigned long> lengths_;
  std::unique_ptr<my_bool[]> nulls_;
  std::vector<MYSQL_BIND> binds_;
};

}  // namespace turbine::exporting
