/*
 * connection.h - a connection to MySQL or MariaDB, and queries on it that must succeed.
 */
#pragma once

#include <mysql.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "export/options.h"

namespace turbine::exporting {

using TextRow = std::vector<std::optional<std::string>>;

class MysqlConnection {
 public:
  /* Connects and applies the options' settings. `password`: see PgConnection. */
  MysqlConnection(const Options& options, std::string& password);
  ~MysqlConnection();
  MysqlConnection(const MysqlConnection&) = delete;
  MysqlConnection& operator=(const MysqlConnection&) = delete;

  MYSQL* get() const { return connection_; }

  /* Runs a statement and returns its rows; throws ExportError if it fails. For small results. */
  std::vector<TextRow> run(const std::string& sql);
  /* As a literal of SQL. */
  std::string literal(const std::string& text) const;

 private:
  bool try_to_connect(const Options& options, const std::string& password);

  MYSQL* connection_ = nullptr;
};

/* A prepared statement, whose rows come in their binary form and are never kept as a whole. */
class MysqlStatement {
 public:
  /* Throws ExportError, as all functions here do. */
  MysqlStatement(MysqlConnection& connection, const std::string& sql);
  ~MysqlStatement();
  MysqlStatement(const MysqlStatement&) = delete;
  MysqlStatement& operator=(const MysqlStatement&) = delete;

  MYSQL_STMT* get() const { return statement_; }
  [[noreturn]] void fail() const;

 private:
  MYSQL* connection_;
  MYSQL_STMT* statement_;
};

/* As an identifier of SQL. */
std::string backquoted(const std::string& name);

}  // namespace turbine::exporting
