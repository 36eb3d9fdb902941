/*
 * table_parts.h - the queries that an export consists of, which workers take one by one.
 *
 * A query is one part. A table read by several workers is many: ranges of blocks of each
 * leaf, so that workers end together however rows are spread.
 */
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "export/postgres/connection.h"

namespace turbine::exporting {

class TableParts {
 public:
  explicit TableParts(std::vector<std::string> queries) : queries_(std::move(queries)) {}

  /* The next query; false if none is left. Any thread may call it. */
  bool take(std::string& query);

 private:
  std::mutex mutex_;
  std::vector<std::string> queries_;
  size_t taken_ = 0;
};

/* A table as the user named it. */
struct NamedTable {
  std::string oid;
  std::string name; /* as SQL takes it, with its schema if that is needed */
};

/* Throws ExportError if there is no such relation. */
NamedTable find_table(PgConnection& connection, const std::string& table);

/* Queries that select `columns` of all rows of the table, each once. One query where the table
 * cannot be divided: a view, a foreign table, or one with row-level security, whose
 * policies do not hold for a partition that is read by its own name. */
std::vector<std::string> divide_table(PgConnection& connection, const NamedTable& table, const std::string& columns,
                                      int workers);

}  // namespace turbine::exporting
