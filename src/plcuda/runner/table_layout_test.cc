/* table_layout_test.cc - where columns lie behind their header, and how far offsets reach. */
#include "plcuda/runner/table_layout.h"

#include <gtest/gtest.h>

#include <cstring>

namespace turbine {
namespace {

constexpr uint64_t kMega = uint64_t{1} << 20;
constexpr uint64_t kGiga = uint64_t{1} << 30;

ImportedColumn column(uint64_t values, uint64_t validity = 0, uint64_t texts = 0) {
  ImportedColumn made;
  made.values = {0, values};
  made.validity = {round_up(values, 512), validity};
  made.bytes = {round_up(values, 512) + round_up(validity, 512), texts};
  made.allocation = round_up(made.bytes.offset + texts, kTableBoundary);
  return made;
}

void fill(ImportedExport& table, bool on_device, std::vector<ImportedColumn> columns) {
  table.on_device = on_device;
  table.rows = 100;
  table.columns = std::move(columns);
}

TEST(TableLayout, ColumnsBeginAtBoundaries) {
  for (const bool on_device : {false, true}) {
    ImportedExport table;
    fill(table, on_device, {column(1), column(5 * kMega, 1000), column(800, 13, 3 * kMega)});
    const TableLayout layout = lay_out_table(table, 3);
    ASSERT_EQ(layout.columns.size(), 3u);
    uint64_t end = 0;
    for (const PlacedColumn& placed : layout.columns) {
      EXPECT_EQ(placed.begin % kTableBoundary, 0u);
      EXPECT_GT(placed.begin, end);
      EXPECT_EQ(placed.values, placed.begin);
      end = placed.begin + placed.bytes - 1;
    }
    EXPECT_EQ(layout.columns[0].validity, 0u);
    EXPECT_EQ(layout.columns[1].validity, layout.columns[1].begin + 5 * kMega);
    EXPECT_GT(layout.columns[2].texts, layout.columns[2].validity);
    EXPECT_LE(end, layout.bytes);
    EXPECT_EQ(layout.bytes % kTableBoundary, 0u);
  }
}

TEST(TableLayout, OffsetsReach32Gigabytes) {
  ImportedExport fits;
  fill(fits, true, {column(16 * kGiga), column(16 * kGiga - 4 * kMega)});
  const TableLayout layout = lay_out_table(fits, 2);
  EXPECT_EQ(layout.bytes, kTableReach - 2 * kMega);
  TbPlcudaStore store{};
  store.ncolumns = 2;
  store.relation = 4711;
  TbPlcudaStoreColumn columns[2] = {};
  columns[0].type = columns[1].type = PG_INT8OID;
  columns[1].exported = 1;
  const std::string bytes = make_table_header(store, columns, fits, layout);
  kern_data_store head;
  kern_colmeta second;
  memcpy(&head, bytes.data(), sizeof head);
  memcpy(&second, bytes.data() + offsetof(kern_data_store, colmeta) + sizeof second, sizeof second);
  EXPECT_EQ(head.nitems, 100u);
  EXPECT_EQ(head.table_oid, 4711u);
  EXPECT_EQ(__kds_unpack(second.va_offset), layout.columns[1].values);
  EXPECT_EQ(second.nullmap_offset, 0u);

  ImportedExport beyond;
  fill(beyond, true, {column(16 * kGiga), column(16 * kGiga)});
  EXPECT_THROW(lay_out_table(beyond, 2), TableError);
}

TEST(TableLayout, DroppedColumnsHaveNoPlace) {
  ImportedExport table;
  fill(table, false, {column(400), column(0)});
  const TableLayout layout = lay_out_table(table, 3);
  TbPlcudaStore store{};
  store.ncolumns = 3;
  TbPlcudaStoreColumn columns[3] = {};
  columns[0].type = columns[2].type = PG_INT4OID;
  columns[2].exported = 1;
  const std::string bytes = make_table_header(store, columns, table, layout);
  kern_colmeta metas[3];
  memcpy(metas, bytes.data() + offsetof(kern_data_store, colmeta), sizeof metas);
  EXPECT_EQ(metas[1].atttypid, 0u);
  EXPECT_EQ(metas[1].attnum, 2);
  // An empty column has a place, too.
  EXPECT_EQ(__kds_unpack(metas[2].va_offset), layout.columns[1].begin);
  // The table was changed while it was exported.
  columns[2].exported = 2;
  EXPECT_THROW(make_table_header(store, columns, table, layout), TableError);
}

}  // namespace
}  // namespace turbine
