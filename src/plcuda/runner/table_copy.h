/*
 * table_copy.h - the columns of an exported table, mapped behind one header: an argument of type reggstore.
 */
#pragma once

#include <cstddef>
#include <memory>

#include "plcuda/runner/export_import.h"

namespace turbine {

/* Owns the mappings, and the connection that keeps the export alive. */
class TableCopy {
 public:
  virtual ~TableCopy() = default;
  /* The GstoreIpcMapping that a function gets. */
  virtual void* mapping() = 0;
};

/* Of a TbPlcudaStore and what follows it. Throws TableError. */
std::unique_ptr<TableCopy> open_table(const char* store, size_t length);

}  // namespace turbine
