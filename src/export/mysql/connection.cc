/*
 * connection.cc - the client library's connections, passwords, and errors as ExportError.
 *
 * The server sends text as UTF-8, which Arrow wants, and moments in UTC.
 */
#include "export/mysql/connection.h"

#include <errmsg.h>
#include <mysqld_error.h>

#include <cstdlib>
#include <cstring>

#include "export/export_error.h"

namespace turbine::exporting {
namespace {

/* A reader that waits for its file must not lose its connection. */
constexpr char kSession[] = "SET time_zone = '+00:00', net_write_timeout = 86400";

ExitCode code_of(unsigned int error) {
  const bool lost = error == CR_SERVER_GONE_ERROR || error == CR_SERVER_LOST || error == CR_CONNECTION_ERROR;
  return lost ? ExitCode::kConnection : ExitCode::kServer;
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.-") == std::string::npos;
}

const char* or_null(const std::string& text) { return text.empty() ? nullptr : text.c_str(); }

}  // namespace

MysqlConnection::MysqlConnection(const Options& options, std::string& password) {
  if (options.password == Password::kAsk && password.empty()) password = ask_password(options.user);
  if (const char* found = getenv("MYSQL_PWD"); found != nullptr && password.empty()) password = found;
  bool connected = try_to_connect(options, password);
  if (!connected && mysql_errno(connection_) == ER_ACCESS_DENIED_ERROR && password.empty() &&
      options.password == Password::kIfNeeded) {
    password = ask_password(options.user);
    connected = try_to_connect(options, password);
  }
  try {
    if (!connected) throw ExportError(ExitCode::kConnection, mysql_error(connection_));
    run(kSession);
    for (const auto& [name, value] : options.settings) {
      run("SET SESSION " + backquoted(name) + " = " + (is_number(value) ? value : literal(value)));
    }
  } catch (...) {
    mysql_close(connection_);
    throw;
  }
}

MysqlConnection::~MysqlConnection() { mysql_close(connection_); }

bool MysqlConnection::try_to_connect(const Options& options, const std::string& password) {
  if (connection_ != nullptr) mysql_close(connection_);
  connection_ = mysql_init(nullptr);
  if (connection_ == nullptr) throw ExportError(ExitCode::kConnection, "out of memory");
  mysql_options(connection_, MYSQL_SET_CHARSET_NAME, "utf8mb4");
  /* Option files: the groups [client] and [mysql2arrow]. */
  mysql_options(connection_, MYSQL_READ_DEFAULT_GROUP, "mysql2arrow");
  const bool socket = options.host.starts_with('/');
  return mysql_real_connect(connection_, socket ? nullptr : or_null(options.host), or_null(options.user),
                            or_null(password), or_null(options.database),
                            static_cast<unsigned int>(strtoul(options.port.c_str(), nullptr, 10)),
                            socket ? options.host.c_str() : nullptr, 0) != nullptr;
}

std::vector<TextRow> MysqlConnection::run(const std::string& sql) {
  if (mysql_real_query(connection_, sql.data(), sql.size()) != 0) {
    throw ExportError(code_of(mysql_errno(connection_)), mysql_error(connection_));
  }
  std::vector<TextRow> rows;
  MYSQL_RES* result = mysql_store_result(connection_);
  if (result == nullptr) return rows;
  while (MYSQL_ROW row = mysql_fetch_row(result)) {
    const unsigned long* lengths = mysql_fetch_lengths(result);
    TextRow& fields = rows.emplace_back();
    for (unsigned int i = 0; i < mysql_num_fields(result); i++) {
      fields.push_back(row[i] == nullptr ? std::nullopt : std::make_optional(std::string(row[i], lengths[i])));
    }
  }
  mysql_free_result(result);
  return rows;
}

std::string MysqlConnection::literal(const std::string& text) const {
  std::string escaped(2 * text.size() + 1, '\0');
  escaped.resize(mysql_real_escape_string(connection_, escaped.data(), text.data(), text.size()));
  return "'" + escaped + "'";
}

MysqlStatement::MysqlStatement(MysqlConnection& connection, const std::string& sql)
    : connection_(connection.get()), statement_(mysql_stmt_init(connection_)) {
  if (statement_ == nullptr) throw ExportError(ExitCode::kConnection, mysql_error(connection.get()));
  if (mysql_stmt_prepare(statement_, sql.data(), sql.size()) != 0) {
    const ExportError error(code_of(mysql_stmt_errno(statement_)), mysql_stmt_error(statement_));
    mysql_stmt_close(statement_);
    throw error;
  }
}

MysqlStatement::~MysqlStatement() { mysql_stmt_close(statement_); }

void MysqlStatement::fail() const {
  /* What the server says in the midst of rows is the connection's error. */
  const unsigned int error = mysql_stmt_errno(statement_);
  if (error != 0) throw ExportError(code_of(error), mysql_stmt_error(statement_));
  throw ExportError(code_of(mysql_errno(connection_)), mysql_error(connection_));
}

std::string backquoted(const std::string& name) {
  std::string text = "`";
  for (const char c : name) text += c == '`' ? std::string("``") : std::string(1, c);
  return text + "`";
}

}  // namespace turbine::exporting
