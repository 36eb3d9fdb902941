/*
 * connection.h - a connection to PostgreSQL, and queries on it that must succeed.
 */
#pragma once

#include <libpq-fe.h>

#include <memory>
#include <string>
#include <vector>

#include "export/options.h"

namespace turbine::exporting {

struct ResultDeleter {
  void operator()(PGresult* result) const { PQclear(result); }
};
using PgResult = std::unique_ptr<PGresult, ResultDeleter>;

class PgConnection {
 public:
  /* Connects and applies the options' settings. `password`: asked for already, or filled in
   * if it has to be asked for; a further connection needs it again. */
  PgConnection(const Options& options, std::string& password);
  ~PgConnection() { PQfinish(connection_); }
  PgConnection(const PgConnection&) = delete;
  PgConnection& operator=(const PgConnection&) = delete;

  PGconn* get() const { return connection_; }

  /* Runs a statement; throws ExportError with the server's message if it fails. */
  PgResult run(const std::string& sql, const std::vector<std::string>& parameters = {});
  /* The result's columns, without running the query. */
  PgResult describe(const std::string& sql);
  /* An ExportError with the connection's last message. */
  [[noreturn]] void fail() const;

 private:
  PgResult checked(PGresult* result);

  PGconn* connection_;
};

/* As an identifier of SQL. */
std::string quoted(const std::string& name);

}  // namespace turbine::exporting
