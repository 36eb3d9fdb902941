/*
 * statement_rows.cc - binds buffers to a statement's columns and fetches rows into them.
 *
 * Rows come as the network brings them (nothing calls mysql_stmt_store_result), in the
 * binary protocol: the text protocol would round floats. A value that is longer than its
 * buffer is fetched again into a larger one, which then stays.
 */
#include "export/mysql/statement_rows.h"

#include <climits>

#include "export/export_error.h"

namespace turbine::exporting {
namespace {

constexpr size_t kFirstBytes = 256;

/* How a kind is bound, and the bytes of its buffer. */
struct Binding {
  enum_field_types type;
  size_t bytes;
  bool is_unsigned;
};

Binding binding_of(MysqlKind kind) {
  switch (kind) {
    case MysqlKind::kInt8:
    case MysqlKind::kUInt8: return {MYSQL_TYPE_TINY, 1, kind == MysqlKind::kUInt8};
    case MysqlKind::kInt16:
    case MysqlKind::kUInt16: return {MYSQL_TYPE_SHORT, 2, kind == MysqlKind::kUInt16};
    case MysqlKind::kInt32:
    case MysqlKind::kUInt32: return {MYSQL_TYPE_LONG, 4, kind == MysqlKind::kUInt32};
    case MysqlKind::kInt64:
    case MysqlKind::kUInt64: return {MYSQL_TYPE_LONGLONG, 8, kind == MysqlKind::kUInt64};
    case MysqlKind::kFloat: return {MYSQL_TYPE_FLOAT, 4, false};
    case MysqlKind::kDouble: return {MYSQL_TYPE_DOUBLE, 8, false};
    case MysqlKind::kDate:
    case MysqlKind::kDatetime:
    case MysqlKind::kTimestamp: return {MYSQL_TYPE_DATETIME, sizeof(MYSQL_TIME), false};
    case MysqlKind::kTime: return {MYSQL_TYPE_TIME, sizeof(MYSQL_TIME), false};
    case MysqlKind::kBit:
    case MysqlKind::kBytes: return {MYSQL_TYPE_BLOB, kFirstBytes, false};
    case MysqlKind::kDecimal:
    case MysqlKind::kText:
    case MysqlKind::kEnum: break;
  }
  return {MYSQL_TYPE_STRING, kFirstBytes, false};
}

bool has_variable_length(const MYSQL_BIND& bind) {
  return bind.buffer_type == MYSQL_TYPE_STRING || bind.buffer_type == MYSQL_TYPE_BLOB;
}

}  // namespace

StatementRows::StatementRows(std::shared_ptr<MysqlConnection> connection, QueryParts& parts,
                             const std::vector<MysqlColumn>& columns)
    : connection_(std::move(connection)),
      parts_(parts),
      columns_(columns),
      buffers_(columns.size()),
      lengths_(columns.size()),
      nulls_(new my_bool[columns.size()]()),
      binds_(columns.size()) {
  for (size_t i = 0; i < columns.size(); i++) {
    const Binding binding = binding_of(columns[i].kind);
    buffers_[i].resize(binding.bytes);
    MYSQL_BIND& bind = binds_[i];
    bind = {};
    bind.buffer_type = binding.type;
    bind.is_unsigned = binding.is_unsigned;
    bind.length = &lengths_[i];
    bind.is_null = &nulls_[i];
  }
}

void StatementRows::bind() {
  for (size_t i = 0; i < binds_.size(); i++) {
    binds_[i].buffer = buffers_[i].data();
    binds_[i].buffer_length = buffers_[i].size();
  }
  if (mysql_stmt_bind_result(statement_->get(), binds_.data()) != 0) statement_->fail();
}

bool StatementRows::start_next_query() {
  std::string query;
  if (!parts_.take(query)) return false;
  statement_ = std::make_unique<MysqlStatement>(*connection_, query);
  if (mysql_stmt_field_count(statement_->get()) != columns_.size()) {
    throw ExportError(ExitCode::kServer, "the table's columns have changed meanwhile");
  }
  if (mysql_stmt_execute(statement_->get()) != 0) statement_->fail();
  bind();
  return true;
}

void StatementRows::fetch_longer(size_t column) {
  buffers_[column].resize(lengths_[column] + lengths_[column] / 2);
  binds_[column].buffer = buffers_[column].data();
  binds_[column].buffer_length = buffers_[column].size();
  if (mysql_stmt_fetch_column(statement_->get(), &binds_[column], static_cast<unsigned int>(column), 0) != 0) {
    statement_->fail();
  }
}

bool StatementRows::next(std::vector<FieldBytes>& fields) {
  fields.resize(columns_.size());
  for (;;) {
    if (statement_ == nullptr && !start_next_query()) return false;
    const int fetched = mysql_stmt_fetch(statement_->get());
    if (fetched == MYSQL_NO_DATA) {
      statement_.reset();
      continue;
    }
    if (fetched != 0 && fetched != MYSQL_DATA_TRUNCATED) statement_->fail();
    bool grown = false;
    for (size_t i = 0; i < fields.size(); i++) {
      if (nulls_[i]) {
        fields[i] = {};
        continue;
      }
      if (has_variable_length(binds_[i])) {
        if (lengths_[i] > INT_MAX) throw ExportError(ExitCode::kValue, "a value of more than 2 GB");
        if (lengths_[i] > buffers_[i].size()) {
          fetch_longer(i);
          grown = true;
        }
        fields[i] = {buffers_[i].data(), static_cast<int32_t>(lengths_[i])};
      } else {
        fields[i] = {buffers_[i].data(), static_cast<int32_t>(buffers_[i].size())};
      }
    }
    if (grown) bind();
    return true;
  }
}

}  // namespace turbine::exporting
