/*
 * mysql_column.h - what a column of MySQL is to us: how it is fetched and decoded.
 */
#pragma once

#include <mysql.h>

#include <string>
#include <vector>

#include "export/mysql/connection.h"

namespace turbine::exporting {

enum class MysqlKind {
  kInt8,
  kUInt8,
  kInt16,
  kUInt16,
  kInt32,
  kUInt32,
  kInt64,
  kUInt64,
  kFloat,
  kDouble,
  kDecimal,
  kBit,
  kDate,
  kDatetime,  /* local */
  kTimestamp, /* a moment */
  kTime,      /* a length of time */
  kText,
  kEnum,
  kBytes,
};

struct MysqlColumn {
  std::string name;
  MysqlKind kind = MysqlKind::kText;
  int precision = 0, scale = 0;         /* of decimals */
  int bits = 0;                         /* of bit fields */
  std::vector<std::string> enum_labels; /* none: not known, so it is text */
};

/* A statement's columns, with labels of enumerations looked up in the catalog. */
std::vector<MysqlColumn> look_up_columns(MysqlConnection& connection, const std::string& query);

/* The labels of a column type as the catalog spells it: enum('a','b''c'). */
std::vector<std::string> labels_of(const std::string& column_type);

}  // namespace turbine::exporting
