/*
 * column_key.cc - writes a column's identity as bytes.
 *
 * Called once a query for each of its columns. Whatever generated code makes a column's
 * values depend on must be in here.
 */
#include "engine/store/column_key.h"

#include <cstring>

#include "turbine/mutant.h"

namespace turbine {
namespace {

template <class T>
void append(std::string& key, const T& value) {
  key.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

ColumnKey file_column_key(const TbColumn& column, const std::string& decoded) {
  ColumnKey column_key{column.attnum, column.type, {}};
  append(column_key.rest, column.flags);
  append(column_key.rest, column.scale);
  append(column_key.rest, column.digits);
  column_key.rest += decoded;
  return column_key;
}

ColumnKey column_key(const Program& program, size_t column, const TbParamBlock* params) {
  const TbColumn& c = program.columns()[column];
  if (c.flags & TB_COL_TID) return tid_key();
  const TbAttribute& attribute = program.attributes()[c.attnum - 1];
  ColumnKey column_key{c.attnum, c.type, {}};
  std::string& key = column_key.rest;
  append(key, c.flags);
  append(key, c.scale);
  append(key, c.digits);
  append(key, attribute.length);
  append(key, attribute.align);
  if (c.missing_param == TB_NONE || TB_MUTANT(missing_value_forgotten)) return column_key;
  const TbParam* missing = tb_param(params, c.missing_param);
  append(key, missing->is_null);
  if (tb_type_is_text(c.type))
    key.append(reinterpret_cast<const char*>(params) + missing->offset, missing->length);
  else
    append(key, missing->value);
  return column_key;
}

}  // namespace turbine
