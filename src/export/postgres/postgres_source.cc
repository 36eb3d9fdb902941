/*
 * postgres_source.cc - columns, queries and connections of an export from PostgreSQL.
 *
 * The first worker uses the connection that looked at the columns. Tables are read in one
 * repeatable read transaction, whose snapshot further workers import; so they all see the
 * same rows. Columns whose binary form we do not read are cast to text by the server.
 */
#include "export/postgres/postgres_source.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "export/export_error.h"
#include "export/postgres/copy_rows.h"
#include "export/postgres/type_catalog.h"

namespace turbine::exporting {
namespace {

constexpr char kBegin[] = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/* A query's text may end in a semicolon, which no subquery may. */
std::string without_semicolon(std::string query) {
  while (!query.empty() && strchr("; \t\r\n", query.back()) != nullptr) query.pop_back();
  return query;
}

/* The type that the server casts a column to, for types that are not read; null if it need not. */
const char* cast_of(const PgType& type) {
  if (is_readable(type)) return nullptr;
  return type.kind == PgKind::kArray && type.parts[0].kind == PgKind::kOther ? "text[]" : "text";
}

}  // namespace

PostgresSource::PostgresSource(const Options& options)
    : options_(options), connection_(std::make_shared<PgConnection>(options, password_)) {
  if (!options.table.empty()) {
    connection_->run(kBegin);
    const NamedTable table = find_table(*connection_, options.table);
    const std::string query = "SELECT * FROM " + table.name;
    look_up_columns(query);
    estimate_rows(query);
    parts_ = std::make_unique<QueryParts>(copied_of(table));
    if (options.workers > 1) export_snapshot();
  } else {
    std::string query = without_semicolon(options.command);
    look_up_columns(query);
    estimate_rows(query);
    if (any_is_cast()) {
      std::string aliases;
      for (size_t i = 0; i < types_.size(); i++) aliases += (i == 0 ? "c" : ", c") + std::to_string(i);
      query = "SELECT " + selected_columns(false) + " FROM (" + query + "\n) AS q (" + aliases + ")";
    }
    /* On a line of its own: the query may end in a comment. */
    parts_ = std::make_unique<QueryParts>(std::vector<std::string>{"(" + query + "\n)"});
  }
}

void PostgresSource::look_up_columns(const std::string& query) {
  const PgResult columns = connection_->describe(query);
  if (PQnparams(columns.get()) > 0) throw ExportError(ExitCode::kUsage, "the query has parameters");
  const int count = PQnfields(columns.get());
  if (count == 0) throw ExportError(ExitCode::kUsage, "the query returns no columns");
  for (int i = 0; i < count; i++) {
    names_.push_back(PQfname(columns.get(), i));
    PgType type = look_up_type(*connection_, PQftype(columns.get(), i), PQfmod(columns.get(), i));
    /* libparquet does not write Arrow's intervals. */
    if (options_.parquet && contains(type, PgKind::kInterval)) {
      const bool of_array = type.kind == PgKind::kArray && type.parts[0].kind == PgKind::kInterval;
      (of_array ? type.parts[0] : type) = PgType();
    }
    types_.push_back(std::move(type));
  }
}

bool PostgresSource::any_is_cast() const {
  return std::any_of(types_.begin(), types_.end(), [](const PgType& type) { return cast_of(type) != nullptr; });
}

/* What COPY is told of a table, by its parts. */
std::vector<std::string> PostgresSource::copied_of(const NamedTable& table) const {
  const std::string columns = selected_columns(true);
  if (options_.workers == 1 && !any_is_cast() && is_copied_by_name(*connection_, table)) {
    return {table.name + " (" + columns + ")"};
  }
  std::vector<std::string> parts = divide_table(*connection_, table, columns, options_.workers);
  for (std::string& part : parts) part = "(" + part + ")";
  return parts;
}

std::string PostgresSource::selected_columns(bool of_table) const {
  std::string list;
  for (size_t i = 0; i < names_.size(); i++) {
    if (i > 0) list += ", ";
    const std::string column = of_table ? quoted(names_[i]) : "c" + std::to_string(i);
    const char* cast = cast_of(types_[i]);
    // As the type prints it: inet's cast to text adds the mask. format() makes a NULL an empty text, and a row of NULLs
    // IS NULL.
    list += cast ? "CASE WHEN " + column + " IS DISTINCT FROM NULL THEN pg_catalog.format('%s', " + column +
                       ")::pg_catalog." + cast + " END"
                 : column;
  }
  return list;
}

void PostgresSource::export_snapshot() {
  const PgResult result = connection_->run("SELECT pg_catalog.pg_export_snapshot()");
  snapshot_ = PQgetvalue(result.get(), 0, 0);
}

/* The planner's estimate, for the progress bar alone. */
void PostgresSource::estimate_rows(const std::string& query) {
  if (!options_.progress) return;
  const PgResult plan = connection_->run("EXPLAIN (FORMAT JSON) " + query);
  constexpr char kRows[] = "\"Plan Rows\":";
  if (const char* found = strstr(PQgetvalue(plan.get(), 0, 0), kRows)) {
    expected_rows_ = strtoll(found + sizeof kRows - 1, nullptr, 10);
  }
}

ColumnDecoders PostgresSource::make_decoders() const {
  const char* encoding = PQparameterStatus(connection_->get(), "server_encoding");
  const DecoderOptions options{options_.invalid, options_.numeric, options_.enums,
                               encoding != nullptr && strcmp(encoding, "SQL_ASCII") == 0};
  ColumnDecoders decoders;
  for (const PgType& type : types_) {
    const char* cast = cast_of(type);
    if (cast == nullptr) {
      decoders.push_back(make_decoder(type, options));
    } else if (strcmp(cast, "text") == 0) {
      decoders.push_back(make_text_decoder(options));
    } else {
      decoders.push_back(make_array_decoder(type, options));
    }
  }
  return decoders;
}

std::unique_ptr<RowSource> PostgresSource::open(int worker) {
  auto connection = connection_;
  if (worker > 0) {
    connection = std::make_shared<PgConnection>(options_, password_);
    connection->run(kBegin);
    connection->run("SET TRANSACTION SNAPSHOT '" + snapshot_ + "'");
  }
  return std::make_unique<CopyRows>(std::move(connection), *parts_, names_.size());
}

}  // namespace turbine::exporting
