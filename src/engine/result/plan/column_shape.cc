/*
 * column_shape.cc - what a program's result columns are.
 *
 * Called by the check of result plans and by the output of rows. Owns nothing.
 */
#include "engine/result/plan/column_shape.h"

#include "engine/program/group_layout.h"
#include "engine/program/kept_row_layout.h"

namespace turbine {

std::vector<ColumnShape> result_columns(const Program& program) {
  std::vector<ColumnShape> columns;
  if (program.sink() == TB_SINK_PROJECT) {
    for (const KeptColumn& column : kept_row_layout(program).columns)
      columns.push_back({column.type, column.scale, column.nullable});
    return columns;
  }
  const GroupLayout layout = group_layout(program);
  for (size_t i = 0; i < layout.keys.size(); i++)
    columns.push_back({layout.keys[i].type, program.expr(program.keys()[i]).scale, true});
  for (size_t i = 0; i < layout.states.size(); i++)
    columns.push_back({layout.states[i].type, program.aggs()[i].scale, layout.states[i].valid_offset != 0});
  return columns;
}

}  // namespace turbine
