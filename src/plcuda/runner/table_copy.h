/*
 * table_copy.h - the columns of an exported table, mapped behind one header: an argument of type reggstore.
 */
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "plcuda/runner/export_import.h"
#include "turbine/plcuda.h"

namespace turbine {

/* Owns the mappings, and the connection that keeps the export alive. */
class TableCopy {
 public:
  virtual ~TableCopy() = default;
  /* The GstoreIpcMapping that a function gets. */
  virtual void* mapping() = 0;
  /* Whether no function can write to it, so that the next one finds it as it was. */
  virtual bool is_read_only() const = 0;
  /* The call that used it is over: until the next one its pages do not count as this process's. */
  virtual void rest() {}
};

/* There is no memory for it. */
class TableMemoryError : public TableError {
 public:
  using TableError::TableError;
};

/* What stands at the beginning of an argument. Throws TableError: it is malformed. */
TbPlcudaStore read_store(const char* store, size_t length);

/* Of a TbPlcudaStore and what follows it, which has a token. `release` gives back memory of other copies, and says
 * whether there was any. Throws TableError. */
std::unique_ptr<TableCopy> open_table(const char* store, size_t length, const std::function<bool()>& release);

}  // namespace turbine
