/*
 * type_catalog.cc - see type_catalog.h.
 *
 * Called once a column by postgres_source.cc.
 */
#include "export/postgres/type_catalog.h"

#include <cstdlib>
#include <string>

namespace turbine::exporting {
namespace {

uint32_t oid_of(const PgResult& result, int row, int column) {
  return static_cast<uint32_t>(strtoul(PQgetvalue(result.get(), row, column), nullptr, 10));
}

}  // namespace

PgType look_up_type(PgConnection& connection, uint32_t oid, int32_t modifier) {
  PgType type;
  type.oid = oid;
  type.modifier = modifier;
  type.kind = kind_of(oid);
  if (type.kind != PgKind::kOther) return type;
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

}  // namespace turbine::exporting
