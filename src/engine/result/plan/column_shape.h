/*
 * column_shape.h - what a program's result columns are, by number.
 *
 * Keys and states of an AGGREGATE, outputs of a PROJECT, as DeviceQuery::fetch()
 * returns them.
 */
#pragma once

#include <cstdint>
#include <vector>

#include "engine/program/program.h"

namespace turbine {

struct ColumnShape {
  uint32_t type;  // TbType
  int scale;      // of numeric
  bool nullable;
};

/* Of sinks AGGREGATE and PROJECT. */
std::vector<ColumnShape> result_columns(const Program& program);

}  // namespace turbine
