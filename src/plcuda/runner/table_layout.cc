/*
 * table_layout.cc - see table_layout.h. Called by table_copy.cc.
 *
 * Numbers of an export come from turbined, and are believed here; whoever maps regions finds out if they are wrong.
 */
#include "plcuda/runner/table_layout.h"

#include <algorithm>
#include <cstddef>

namespace turbine {

TableLayout lay_out_table(const ImportedExport& from, uint32_t ncolumns) {
  TableLayout layout;
  // Samples read so many bytes before they know the number of columns.
  layout.bytes = round_up(sizeof(kern_data_store) + sizeof(kern_colmeta) * ncolumns + KDS_LEAST_LENGTH, kTableBoundary);
  for (const ImportedColumn& column : from.columns) {
    PlacedColumn placed;
    placed.begin = layout.bytes;
    uint64_t end = placed.begin;
    const auto place = [&](const ImportedRegion& region) -> uint64_t {
      if (region.bytes == 0) return 0;
      if (from.on_device) return placed.begin + region.offset;
      const uint64_t at = end;
      end = round_up(at + region.bytes, kHostPage);
      return at;
    };
    placed.values = place(column.values);
    placed.validity = place(column.validity);
    placed.texts = place(column.bytes);
    placed.bytes = from.on_device ? column.allocation : end - placed.begin;
    // An empty table's columns have a place, too.
    if (placed.values == 0) placed.values = placed.begin;
    layout.columns.push_back(placed);
    layout.bytes = round_up(placed.begin + std::max<uint64_t>(placed.bytes, 1), kTableBoundary);
  }
  if (layout.bytes > kTableReach)
    throw TableError("the table's columns take " + std::to_string(layout.bytes >> 20) +
                     " MB; functions of LANGUAGE plcuda can map 32 GB at most");
  return layout;
}

std::string make_table_header(const TbPlcudaStore& store, const TbPlcudaStoreColumn* columns,
                              const ImportedExport& from, const TableLayout& layout) {
  if (from.rows > UINT32_MAX) throw TableError("the table has more than 4 billion rows");
  std::string bytes(offsetof(kern_data_store, colmeta) + sizeof(kern_colmeta) * store.ncolumns, '\0');
  auto* head = reinterpret_cast<kern_data_store*>(bytes.data());
  head->length = layout.bytes;
  head->nitems = static_cast<cl_uint>(from.rows);
  head->ncols = store.ncolumns;
  head->table_oid = store.relation;
  head->format = 'c';
  for (uint32_t i = 0; i < store.ncolumns; i++) {
    const TbPlcudaStoreColumn& column = columns[i];
    kern_colmeta& meta = head->colmeta[i];
    meta.attnum = static_cast<cl_short>(i + 1);
    if (column.type == 0) continue;
    if (column.exported >= layout.columns.size()) throw TableError("the table has been changed");
    const PlacedColumn& placed = layout.columns[column.exported];
    meta.atttypid = column.type;
    meta.atttypmod = column.modifier;
    meta.attlen = column.length;
    meta.attbyval = column.byval;
    meta.attalign = static_cast<cl_char>(column.align);
    meta.va_offset = __kds_packed(placed.values);
    meta.va_length = __kds_packed(round_up(placed.bytes, 8));
    meta.nullmap_offset = __kds_packed(placed.validity);
    meta.extra_offset = __kds_packed(placed.texts);
  }
  return bytes;
}

}  // namespace turbine
