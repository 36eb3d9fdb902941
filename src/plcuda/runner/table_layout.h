/*
 * table_layout.h - where the columns of a table lie behind its header, and the header.
 *
 * The header comes first, then each column from a multiple of 2 MB on, which is what memory of a GPU is mapped by.
 * Offsets in the header count units of 8 bytes in 32 bits, so 32 GB can be reached. Nothing is mapped here.
 */
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plcuda/include/plcuda.h"
#include "plcuda/runner/export_import.h"
#include "turbine/plcuda.h"

namespace turbine {

inline constexpr uint64_t kTableBoundary = uint64_t{2} << 20;
inline constexpr uint64_t kHostPage = 4096;
inline constexpr uint64_t kTableReach = uint64_t{32} << 30;

inline uint64_t round_up(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

/* A column's place and its regions, in bytes from the table's first. */
struct PlacedColumn {
  uint64_t begin = 0;
  uint64_t bytes = 0;
  uint64_t values = 0, validity = 0, texts = 0;  // 0: there is no such region
};

struct TableLayout {
  uint64_t bytes = 0;  // of all
  std::vector<PlacedColumn> columns;
};

/* Of an export's columns, in the order of the export; `ncolumns` of the table, dropped ones included. In memory of a
 * GPU a column stays as it is; of the host's each region begins at a page. Throws TableError beyond kTableReach. */
TableLayout lay_out_table(const ImportedExport& from, uint32_t ncolumns);

/* A kern_data_store; `columns`: the table's, by number. Throws TableError. */
std::string make_table_header(const TbPlcudaStore& store, const TbPlcudaStoreColumn* columns,
                              const ImportedExport& from, const TableLayout& layout);

}  // namespace turbine
