/*
 * text_extreme.cc - min(text) and max(text) into a group's row, by bytes (the
 * C collation). Host only: called by tb_pipeline, where one thread owns the
 * table and has made sure that the arena has room for the whole tile's values.
 */
#include "rt/text_bytes.h"

using namespace turbine::rt;

/* Combines a value into the state; `valid` says whether there was one. The new
 * value replaces the old bytes where it fits them, else takes fresh ones. */
RT_EXPORT void rt_text_extreme(TbGroupTable* table, TbGroupText* state, uint8_t* valid, const char* bytes,
                               uint32_t length, bool want_min) {
  const char* arena = (const char*)table->arena;
  if (*valid) {
    int order = compare_bytes(bytes, length, arena + state->offset, state->length);
    if (want_min ? order >= 0 : order <= 0) return;
  }
  if (!*valid || length > state->capacity) {
    state->offset = table->arena_used;
    state->capacity = length;
    table->arena_used += length;
  }
  *valid = 1;
  state->length = length;
  for (uint32_t i = 0; i < length; i++) table->arena[state->offset + i] = (uint8_t)bytes[i];
}
