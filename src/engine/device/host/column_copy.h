/*
 * column_copy.h - kept columns copied to their place in a join table.
 */
#pragma once

#include "engine/device/host/key_range.h"
#include "engine/device/host/stored_parts.h"

namespace turbine {

struct ColumnTarget {
  uint8_t* values;
  uint8_t* valid;  // null: no NULLs
};

/* The part's rows one after another, at their numbers. */
void copy_column(const StoredRows& shape, size_t column, const StoredParts::Part& part, const ColumnTarget& to);

/* Each row at its key's rank; column 0 is the key. */
void scatter_column(const StoredRows& shape, size_t column, const StoredParts::Part& part, const KeyRange& keys,
                    const ColumnTarget& to);

/* The part's share of its store's text. */
void copy_bytes(const StoredParts::Part& part, uint8_t* to);

}  // namespace turbine
