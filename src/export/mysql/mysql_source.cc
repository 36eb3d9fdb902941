/*
 * mysql_source.cc - columns, queries and connections of an export from MySQL or MariaDB.
 *
 * MySQL cannot hand a snapshot from one connection to another. So for several workers the
 * table is locked against writers for the moment in which all of them begin theirs, as backup
 * programs do; then it is divided by ranges of its primary key's first column.
 */
#include "export/mysql/mysql_source.h"

#include <algorithm>
#include <cstdlib>

#include "export/export_error.h"
#include "export/mysql/decoders.h"
#include "export/mysql/statement_rows.h"

namespace turbine::exporting {
namespace {

constexpr int kPartsPerWorker = 8;
constexpr char kBegin[] = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY";

/* `database.table` or `table`, quoted. */
std::string quoted_table(const std::string& name) {
  const size_t point = name.find('.');
  if (point == std::string::npos) return backquoted(name);
  return backquoted(name.substr(0, point)) + "." + backquoted(name.substr(point + 1));
}

/* A condition that names the table in the catalog. */
std::string catalog_condition(const MysqlConnection& connection, const std::string& name) {
  const size_t point = name.find('.');
  const bool qualified = point != std::string::npos;
  return "table_schema = " + (qualified ? connection.literal(name.substr(0, point)) : std::string("DATABASE()")) +
         " AND table_name = " + connection.literal(qualified ? name.substr(point + 1) : name);
}

}  // namespace

MysqlSource::MysqlSource(const Options& options) : options_(options) {
  connections_.push_back(std::make_shared<MysqlConnection>(options, password_));
  const std::string table = quoted_table(options.table);
  const std::string query = options.table.empty() ? options.command : "SELECT * FROM " + table;
  columns_ = look_up_columns(*connections_[0], query);
  for (const MysqlColumn& column : columns_) names_.push_back(column.name);
  if (options.progress && !options.table.empty()) estimate_rows();
  if (options.workers > 1) open_snapshots(table);
  parts_ = std::make_unique<QueryParts>(options.workers > 1 ? divide(query, table) : std::vector<std::string>{query});
}

void MysqlSource::open_snapshots(const std::string& table) {
  while (static_cast<int>(connections_.size()) < options_.workers) {
    connections_.push_back(std::make_shared<MysqlConnection>(options_, password_));
  }
  MysqlConnection guard(options_, password_);
  guard.run("LOCK TABLES " + table + " READ");
  for (const auto& connection : connections_) connection->run(kBegin);
  guard.run("UNLOCK TABLES");
}

/* Ranges of equal width of an integer key; one query for tables without one. */
std::vector<std::string> MysqlSource::divide(const std::string& query, const std::string& table) {
  MysqlConnection& connection = *connections_[0];
  const auto keys = connection.run(
      "SELECT column_name FROM information_schema.columns JOIN information_schema.statistics "
      "USING (table_schema, table_name, column_name) WHERE index_name = 'PRIMARY' AND seq_in_index = 1 "
      "AND data_type IN ('tinyint', 'smallint', 'mediumint', 'int', 'bigint') "
      "AND column_type NOT LIKE '%unsigned%' AND " +
      catalog_condition(connection, options_.table));
  if (keys.empty()) return {query};
  const std::string key = backquoted(*keys[0][0]);
  const auto bounds = connection.run("SELECT min(" + key + "), max(" + key + ") FROM " + table);
  if (!bounds[0][0].has_value()) return {query};
  const auto least = strtoll(bounds[0][0]->c_str(), nullptr, 10);
  const auto greatest = strtoll(bounds[0][1]->c_str(), nullptr, 10);
  const int parts = options_.workers * kPartsPerWorker;
  const auto width = static_cast<unsigned __int128>(static_cast<__int128>(greatest) - least);
  std::vector<std::string> queries;
  std::string condition;
  for (int i = 1; i <= parts; i++) {
    const auto bound = static_cast<long long>(
        least + static_cast<__int128>(width * static_cast<unsigned>(i) / static_cast<unsigned>(parts)));
    const std::string below = key + " < " + std::to_string(bound);
    if (i == parts) {
      queries.push_back(query + " WHERE " + condition);
    } else {
      queries.push_back(query + " WHERE " + condition + (condition.empty() ? "" : " AND ") + below);
      condition = key + " >= " + std::to_string(bound);
    }
  }
  return queries;
}

/* The server's estimate, for the progress bar alone. */
void MysqlSource::estimate_rows() {
  const auto rows = connections_[0]->run("SELECT table_rows FROM information_schema.tables WHERE " +
                                         catalog_condition(*connections_[0], options_.table));
  if (!rows.empty() && rows[0][0].has_value()) expected_rows_ = strtoll(rows[0][0]->c_str(), nullptr, 10);
}

ColumnDecoders MysqlSource::make_decoders() const {
  /* Zero dates are common here, so they do not end an export unless that is asked for. */
  const InvalidValue invalid = options_.invalid_is_given ? options_.invalid : InvalidValue::kNull;
  ColumnDecoders decoders;
  for (const MysqlColumn& column : columns_) decoders.push_back(make_mysql_decoder(column, invalid, options_.enums));
  return decoders;
}

std::unique_ptr<RowSource> MysqlSource::open(int worker) {
  return std::make_unique<StatementRows>(connections_[static_cast<size_t>(worker)], *parts_, columns_);
}

}  // namespace turbine::exporting
