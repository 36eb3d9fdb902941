/*
 * column_copy.h - kept columns copied to their place in a join table.
 *
 * Used by join_table_build.cc once all rows are kept: in the order in which they came, or
 * to the places that dense keys give them.
 */
#pragma once

#include "engine/device/host/key_range.h"
#include "engine/device/host/kept_parts.h"

namespace turbine {

struct ColumnTarget {
  uint8_t* values;
  uint8_t* valid;  // null: no NULLs
};

/* The part's rows one after another, at their numbers. */
void copy_column(const KeptRowLayout& shape, size_t column, const KeptParts::Part& part, const ColumnTarget& to);

/* Each row at its key's rank; column 0 is the key. */
void scatter_column(const KeptRowLayout& shape, size_t column, const KeptParts::Part& part, const KeyRange& keys,
                    const ColumnTarget& to);

/* The part's share of its store's text. */
void copy_bytes(const KeptParts::Part& part, uint8_t* to);

}  // namespace turbine
