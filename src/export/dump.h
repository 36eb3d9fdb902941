/*
 * dump.h - describes an Arrow IPC or Parquet file: schema, record batches, statistics.
 */
#pragma once

#include <string>

namespace turbine::exporting {

/* Prints to standard output. Throws ExportError if the file is neither. */
void dump_file(const std::string& path);

}  // namespace turbine::exporting
