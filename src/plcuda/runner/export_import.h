/*
 * export_import.h - redeems a token of an export (include/turbine/export.h): what its columns are, and their memory.
 */
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace turbine {

class TableError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct ImportedRegion {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

struct ImportedColumn {
  uint64_t file = 0;  // its number among the descriptors
  uint64_t allocation = 0;
  ImportedRegion values, validity, bytes;
};

/* Owns the descriptors and the connection, which says that the memory is in use. */
struct ImportedExport {
  ImportedExport() = default;
  ~ImportedExport();
  ImportedExport(const ImportedExport&) = delete;
  void close_files();
  void close_connection();

  int connection = -1;
  std::vector<int> files;
  uint64_t rows = 0;
  bool on_device = false;
  std::string device_uuid;  // 32 digits, of a GPU
  std::vector<ImportedColumn> columns;
};

/* Throws TableError. */
void import_export(const char* token, size_t length, ImportedExport& to);

}  // namespace turbine
