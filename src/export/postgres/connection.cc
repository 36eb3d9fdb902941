/*
 * connection.cc - libpq's connections, passwords, and errors as ExportError.
 *
 * The server converts text to UTF-8, which Arrow wants, and dates to ISO.
 */
#include "export/postgres/connection.h"

#include "export/export_error.h"

namespace turbine::exporting {
namespace {

PGconn* try_to_connect(const Options& options, const std::string& password) {
  std::vector<const char*> names, values;
  const auto add = [&](const char* name, const std::string& value) {
    if (value.empty()) return;
    names.push_back(name);
    values.push_back(value.c_str());
  };
  add("host", options.host);
  add("port", options.port);
  add("user", options.user);
  add("password", password);
  /* May be a whole connection string, which then overrides what stands before it. */
  add("dbname", options.database);
  add("fallback_application_name", "pg2arrow");
  add("client_encoding", "UTF8");
  names.push_back(nullptr);
  values.push_back(nullptr);
  return PQconnectdbParams(names.data(), values.data(), 1);
}

std::string without_newline(std::string message) {
  while (message.ends_with('\n')) message.pop_back();
  return message;
}

}  // namespace

PgConnection::PgConnection(const Options& options, std::string& password) {
  if (options.password == Password::kAsk && password.empty()) password = ask_password(options.user);
  connection_ = try_to_connect(options, password);
  if (PQstatus(connection_) == CONNECTION_BAD && PQconnectionNeedsPassword(connection_) && password.empty() &&
      options.password == Password::kIfNeeded) {
    const std::string user = PQuser(connection_);
    PQfinish(connection_);
    connection_ = nullptr;
    password = ask_password(user);
    connection_ = try_to_connect(options, password);
  }
  try {
    if (PQstatus(connection_) == CONNECTION_BAD) {
      throw ExportError(ExitCode::kConnection, without_newline(PQerrorMessage(connection_)));
    }
    run("SET datestyle = 'ISO'");
    for (const auto& [name, value] : options.settings) run("SELECT set_config($1, $2, false)", {name, value});
  } catch (...) {
    PQfinish(connection_);
    throw;
  }
}

void PgConnection::fail() const {
  const bool lost = PQstatus(connection_) == CONNECTION_BAD;
  throw ExportError(lost ? ExitCode::kConnection : ExitCode::kServer, without_newline(PQerrorMessage(connection_)));
}

PgResult PgConnection::checked(PGresult* result) {
  PgResult owned(result);
  const ExecStatusType status = PQresultStatus(result);
  if (status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK && status != PGRES_COPY_OUT) fail();
  return owned;
}

PgResult PgConnection::run(const std::string& sql, const std::vector<std::string>& parameters) {
  if (parameters.empty()) return checked(PQexec(connection_, sql.c_str()));
  std::vector<const char*> values;
  for (const std::string& parameter : parameters) values.push_back(parameter.c_str());
  return checked(PQexecParams(connection_, sql.c_str(), static_cast<int>(values.size()), nullptr, values.data(),
                              nullptr, nullptr, 0));
}

PgResult PgConnection::describe(const std::string& sql) {
  checked(PQprepare(connection_, "", sql.c_str(), 0, nullptr));
  return checked(PQdescribePrepared(connection_, ""));
}

std::string quoted(const std::string& name) {
  std::string text = "\"";
  for (const char c : name) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

}  // namespace turbine::exporting
