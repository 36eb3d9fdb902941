/*
 * table_copy.cc - see table_copy.h. Called by calls.cc.
 */
#include "plcuda/runner/table_copy.h"

namespace turbine {

std::unique_ptr<TableCopy> open_table(const char*, size_t) {
  throw TableError("arguments of type reggstore are not there yet");
}

}  // namespace turbine
