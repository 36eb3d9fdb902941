/*
 * pg_type.cc - the catalog's types as trees.
 *
 * Called once a column by postgres_source.cc. Object ids below 10,000 are fixed in every
 * PostgreSQL, so the types that we know are known by theirs.
 */
#include "export/postgres/pg_type.h"

#include <algorithm>
#include <cstdlib>
#include <map>

namespace turbine::exporting {
namespace {

const std::map<uint32_t, PgKind>& known_kinds() {
  static const std::map<uint32_t, PgKind> kinds = {
      {16, PgKind::kBool},          {17, PgKind::kBytes},      {19, PgKind::kText},      {20, PgKind::kInt8},
      {21, PgKind::kInt2},          {23, PgKind::kInt4},       {25, PgKind::kText},      {26, PgKind::kOid},
      {114, PgKind::kText},         {700, PgKind::kFloat4},    {701, PgKind::kFloat8},   {1042, PgKind::kText},
      {1043, PgKind::kText},        {1082, PgKind::kDate},     {1083, PgKind::kTime},    {1114, PgKind::kTimestamp},
      {1184, PgKind::kTimestampTz}, {1186, PgKind::kInterval}, {1700, PgKind::kNumeric}, {2950, PgKind::kUuid},
      {3802, PgKind::kJsonb},
  };
  return kinds;
}

uint32_t oid_of(const PgResult& result, int row, int column) {
  return static_cast<uint32_t>(strtoul(PQgetvalue(result.get(), row, column), nullptr, 10));
}

}  // namespace

bool PgType::numeric_form(int& precision, int& scale) const {
  constexpr int32_t kHeader = 4; /* VARHDRSZ, which every numeric modifier has added */
  if (kind != PgKind::kNumeric || modifier < kHeader) return false;
  precision = ((modifier - kHeader) >> 16) & 0xffff;
  scale = (((modifier - kHeader) & 0x7ff) ^ 1024) - 1024;
  /* Arrow's and Parquet's scales lie between 0 and the precision. */
  if (scale < 0) {
    precision -= scale;
    scale = 0;
  }
  precision = std::max(precision, scale);
  return true;
}

PgType look_up_type(PgConnection& connection, uint32_t oid, int32_t modifier) {
  PgType type;
  type.oid = oid;
  type.modifier = modifier;
  if (const auto found = known_kinds().find(oid); found != known_kinds().end()) {
    type.kind = found->second;
    return type;
  }
  const auto row = connection.run(
      "SELECT typtype, typbasetype, typtypmod, typrelid, "
      "CASE WHEN typcategory = 'A' AND typlen = -1 AND oid NOT IN (22, 30) THEN typelem ELSE 0 END "
      "FROM pg_catalog.pg_type WHERE oid = $1",
      {std::to_string(oid)});
  if (PQntuples(row.get()) == 0) return type;
  const char typtype = PQgetvalue(row.get(), 0, 0)[0];
  const uint32_t element = oid_of(row, 0, 4);
  if (typtype == 'd') {
    const int32_t base_modifier = atoi(PQgetvalue(row.get(), 0, 2));
    return look_up_type(connection, oid_of(row, 0, 1), base_modifier < 0 ? modifier : base_modifier);
  }
  if (typtype == 'e') {
    type.kind = PgKind::kEnum;
    const auto labels = connection.run(
        "SELECT enumlabel FROM pg_catalog.pg_enum WHERE enumtypid = $1 ORDER BY enumsortorder", {std::to_string(oid)});
    for (int i = 0; i < PQntuples(labels.get()); i++) type.enum_labels.push_back(PQgetvalue(labels.get(), i, 0));
  } else if (typtype == 'c') {
    type.kind = PgKind::kComposite;
    const auto columns = connection.run(
        "SELECT attname, atttypid, atttypmod FROM pg_catalog.pg_attribute "
        "WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
        {std::to_string(oid_of(row, 0, 3))});
    for (int i = 0; i < PQntuples(columns.get()); i++) {
      type.part_names.push_back(PQgetvalue(columns.get(), i, 0));
      type.parts.push_back(look_up_type(connection, oid_of(columns, i, 1), atoi(PQgetvalue(columns.get(), i, 2))));
    }
  } else if (element != 0) {
    type.kind = PgKind::kArray;
    type.parts.push_back(look_up_type(connection, element, modifier));
  }
  return type;
}

bool is_readable(const PgType& type) {
  return type.kind != PgKind::kOther && std::all_of(type.parts.begin(), type.parts.end(), is_readable);
}

bool contains(const PgType& type, PgKind kind) {
  return type.kind == kind ||
         std::any_of(type.parts.begin(), type.parts.end(), [&](const PgType& part) { return contains(part, kind); });
}

}  // namespace turbine::exporting
