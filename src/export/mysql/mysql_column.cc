/*
 * mysql_column.cc - a result's metadata to kinds of columns.
 *
 * Called once an export. The metadata comes from preparing the statement, which does not run it.
 */
#include "export/mysql/mysql_column.h"

#include "export/export_error.h"

namespace turbine::exporting {
namespace {

constexpr unsigned int kBinaryCharset = 63;
/* MySQL's JSON, which MariaDB's client library may not name. */
constexpr int kJson = 245;

MysqlKind signed_or_not(const MYSQL_FIELD& field, MysqlKind with_sign, MysqlKind without) {
  return (field.flags & UNSIGNED_FLAG) != 0 ? without : with_sign;
}

MysqlKind kind_of(const MYSQL_FIELD& field) {
  switch (static_cast<int>(field.type)) {
    case MYSQL_TYPE_TINY: return signed_or_not(field, MysqlKind::kInt8, MysqlKind::kUInt8);
    case MYSQL_TYPE_YEAR: return MysqlKind::kInt16;
    case MYSQL_TYPE_SHORT: return signed_or_not(field, MysqlKind::kInt16, MysqlKind::kUInt16);
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG: return signed_or_not(field, MysqlKind::kInt32, MysqlKind::kUInt32);
    case MYSQL_TYPE_LONGLONG: return signed_or_not(field, MysqlKind::kInt64, MysqlKind::kUInt64);
    case MYSQL_TYPE_FLOAT: return MysqlKind::kFloat;
    case MYSQL_TYPE_DOUBLE: return MysqlKind::kDouble;
    case MYSQL_TYPE_DECIMAL:
    case MYSQL_TYPE_NEWDECIMAL: return MysqlKind::kDecimal;
    case MYSQL_TYPE_BIT: return MysqlKind::kBit;
    case MYSQL_TYPE_DATE:
    case MYSQL_TYPE_NEWDATE: return MysqlKind::kDate;
    case MYSQL_TYPE_DATETIME: return MysqlKind::kDatetime;
    case MYSQL_TYPE_TIMESTAMP: return MysqlKind::kTimestamp;
    case MYSQL_TYPE_TIME: return MysqlKind::kTime;
    case kJson: return MysqlKind::kText;
    case MYSQL_TYPE_GEOMETRY: return MysqlKind::kBytes;
    default:
      if ((field.flags & ENUM_FLAG) != 0) return MysqlKind::kEnum;
      if ((field.flags & SET_FLAG) != 0) return MysqlKind::kText;
      return field.charsetnr == kBinaryCharset && field.type != MYSQL_TYPE_NULL ? MysqlKind::kBytes : MysqlKind::kText;
  }
}

MysqlColumn column_of(const MYSQL_FIELD& field) {
  MysqlColumn column;
  column.name = std::string(field.name, field.name_length);
  column.kind = kind_of(field);
  if (column.kind == MysqlKind::kDecimal) {
    /* The length is that of the text: digits, a point, a sign. */
    column.scale = static_cast<int>(field.decimals);
    column.precision = static_cast<int>(field.length) - (field.decimals > 0 ? 1 : 0) -
                       ((field.flags & UNSIGNED_FLAG) != 0 ? 0 : 1);
  }
  column.bits = static_cast<int>(field.length);
  return column;
}

}  // namespace

std::vector<std::string> labels_of(const std::string& column_type) {
  std::vector<std::string> labels;
  std::string label;
  bool inside = false;
  for (size_t i = 0; i < column_type.size(); i++) {
    if (column_type[i] != '\'') {
      if (inside) label += column_type[i];
    } else if (inside && i + 1 < column_type.size() && column_type[i + 1] == '\'') {
      label += column_type[++i];
    } else {
      if (inside) labels.push_back(label);
      label.clear();
      inside = !inside;
    }
  }
  return labels;
}

std::vector<MysqlColumn> look_up_columns(MysqlConnection& connection, const std::string& query) {
  std::vector<MysqlColumn> columns;
  std::vector<std::string> enum_types; /* queries for the types of enumerations, by column */
  {
    const MysqlStatement statement(connection, query);
    if (mysql_stmt_param_count(statement.get()) > 0) throw ExportError(ExitCode::kUsage, "the query has parameters");
    MYSQL_RES* metadata = mysql_stmt_result_metadata(statement.get());
    if (metadata == nullptr) throw ExportError(ExitCode::kUsage, "the query returns no columns");
    for (unsigned int i = 0; i < mysql_num_fields(metadata); i++) {
      const MYSQL_FIELD& field = mysql_fetch_fields(metadata)[i];
      columns.push_back(column_of(field));
      std::string look_up;
      if (columns.back().kind == MysqlKind::kEnum && field.org_table_length > 0) {
        look_up = "SELECT column_type FROM information_schema.columns WHERE table_schema = " +
                  connection.literal(field.db) + " AND table_name = " + connection.literal(field.org_table) +
                  " AND column_name = " + connection.literal(field.org_name);
      }
      enum_types.push_back(look_up);
    }
    mysql_free_result(metadata);
  }
  for (size_t i = 0; i < columns.size(); i++) {
    if (enum_types[i].empty()) continue;
    const auto rows = connection.run(enum_types[i]);
    if (!rows.empty() && rows[0][0].has_value() && rows[0][0]->starts_with("enum(")) {
      columns[i].enum_labels = labels_of(*rows[0][0]);
    }
  }
  return columns;
}

}  // namespace turbine::exporting
