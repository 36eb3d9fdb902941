/*
 * group_layout.cc - computes the layout of group rows from a program.
 *
 * Called by compiler and engine, which must get the same answer: nothing except the
 * program may count.
 */
#include "engine/program/group_layout.h"

#include <algorithm>

namespace turbine {

GroupLayout group_layout(const Program& program) {
  GroupLayout layout;
  for (uint32_t key : program.keys()) layout.keys.push_back({program.expr(key).type, 0, 0});
  for (const TbAgg& agg : program.aggs()) layout.states.push_back({tb_agg_state_type(&agg), 0, 0});

  // Values by falling width, so that natural alignment needs no padding.
  uint32_t offset = sizeof(uint64_t);
  bool wide = false;
  for (uint32_t width : {16u, 8u, 4u, 2u, 1u}) {
    auto place = [&](GroupField& field) {
      if (tb_type_width(field.type) != width) return;
      if (width == 16 && !tb_type_is_text(field.type)) wide = true;
      offset = (offset + width - 1) / width * width;
      field.value_offset = offset;
      offset += width;
    };
    for (GroupField& field : layout.keys) place(field);
    for (GroupField& field : layout.states) place(field);
  }
  for (GroupField& field : layout.keys) field.valid_offset = offset++;
  for (size_t i = 0; i < layout.states.size(); i++)
    if (program.aggs()[i].kind != TB_AGG_COUNT) layout.states[i].valid_offset = offset++;
  const uint32_t unit = wide ? 16 : 8;
  layout.row_size = std::max((offset + unit - 1) / unit * unit, 16u);
  return layout;
}

bool has_text_states(const Program& program) {
  return std::any_of(program.aggs().begin(), program.aggs().end(), is_text_state);
}

}  // namespace turbine
