/*
 * group_layout.h - where keys and states lie in a row of a TbGroupTable.
 *
 * Computed from the program alone, so that generated code (compiler) and the
 * generic merge and output code (engine) agree without any message. A row:
 *
 *   uint64  hash                      (grouped only; 0 when ungrouped)
 *   per key:  value, naturally aligned (text: TbGroupText), 1 valid byte
 *   per agg:  state, naturally aligned (128-bit: two uint64, low first;
 *             text min/max: TbGroupText), 1 valid byte ("saw a value";
 *             COUNT has none)
 *
 * Values come first, by falling alignment, then all valid bytes; a row's size
 * is a multiple of 8 and rows of tables are 16-aligned when it holds a 128-bit
 * state (size then a multiple of 16). A fresh row is all zero bytes, with the
 * keys written; zero is a correct initial state for every kind because MIN and
 * MAX consult their valid byte (on a GPU, whose atomics do not, rows start with
 * their identities instead).
 */
#pragma once

#include <cstdint>
#include <vector>

#include "engine/program/program.h"

namespace turbine {

struct GroupField {
  uint32_t type;          // TbType of the value or state
  uint32_t value_offset;  // bytes from the start of the row
  uint32_t valid_offset;  // 0: always valid
};

struct GroupLayout {
  std::vector<GroupField> keys;
  std::vector<GroupField> states;
  uint32_t row_size;
};

GroupLayout group_layout(const Program& program);

/* min(text) or max(text): a state whose bytes are in the arena. */
inline bool is_text_state(const TbAgg& agg) {
  return (agg.kind == TB_AGG_MIN || agg.kind == TB_AGG_MAX) && tb_type_is_text(agg.type);
}
bool has_text_states(const Program& program);

/* GPU: the aggregation takes memory as rows come, for groups or for states of text. So tb_reserve runs first, which may
 * find no room and then runs again. */
inline bool reserves_memory(const Program& program) {
  return program.sink() == TB_SINK_AGGREGATE && (program.grouped() || has_text_states(program));
}

}  // namespace turbine
