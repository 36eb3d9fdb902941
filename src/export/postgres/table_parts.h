/*
 * table_parts.h - divides a table into queries, ranges of blocks of each of its leaves.
 */
#pragma once

#include <string>
#include <vector>

#include "export/postgres/connection.h"

namespace turbine::exporting {

/* A table as the user named it. */
struct NamedTable {
  std::string oid;
  std::string name; /* as SQL takes it, with its schema if that is needed */
};

/* Throws ExportError if there is no such relation. */
NamedTable find_table(PgConnection& connection, const std::string& table);

/* Whether COPY takes the table by its name, which costs the server less than a query: it has no children, no policies
 * and no generated columns. */
bool is_copied_by_name(PgConnection& connection, const NamedTable& table);

/* Queries that select `columns` of all rows of the table, each once. One query where the table
 * cannot be divided: a view, a foreign table, or one with row-level security, whose
 * policies do not hold for a partition that is read by its own name. */
std::vector<std::string> divide_table(PgConnection& connection, const NamedTable& table, const std::string& columns,
                                      int workers);

}  // namespace turbine::exporting
