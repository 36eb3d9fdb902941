/*
 * kept_row_layout.h - the columns of rows that a PROJECT or BUILD sink keeps, as a
 * TbRowStore and a TbJoinTable have them: keys first, then outputs.
 *
 * Computed from the program alone, so that generated code (compiler) and the
 * code that stores, builds and checks (engine) agree without any message.
 */
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/program/program.h"

namespace turbine {

struct KeptColumn {
  uint8_t type;  // TbType
  int16_t scale;
  bool nullable;  // has `valid`; keys only where rows with NULL keys stay
};

struct KeptRowLayout {
  size_t nkeys = 0;
  std::vector<KeptColumn> columns;
  bool keeps_null_keys = false;  // such rows are there, and no look-up finds them

  const KeptColumn& output(size_t i) const { return columns[nkeys + i]; }
  size_t noutputs() const { return columns.size() - nkeys; }
};

KeptRowLayout kept_row_layout(const Program& program);

/* Is a join key of this TbType an integer in memory, whose value may be a place in a
 * join table? */
bool is_integer_key(uint32_t type);

/* Why the program's join with this index cannot probe a table of these rows;
 * "" if it can. Generated code reads the table as the program describes it. */
std::string probe_mismatch(const Program& program, size_t join, const KeptRowLayout& table);

}  // namespace turbine
