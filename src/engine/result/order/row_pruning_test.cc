/*
 * row_pruning_test.cc - a row store that is pruned while it grows still has the first
 * rows of an order, with their texts.
 */
#include "engine/result/order/row_pruning.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "engine/device/host/store_pruning.h"
#include "engine/result/testing/result_run_fixture.h"

namespace turbine {
namespace {

using namespace testing;

/* Appends a row as generated code does. */
void append(HostRowStore& store, const TestTable& table, const std::vector<Cell>& row) {
  store.ensure_rows(1);
  TbRowStore& raw = *store.raw();
  for (size_t c = 0; c < row.size(); c++) {
    const uint8_t type = table.columns[c].type;
    uint8_t* value = static_cast<uint8_t*>(raw.columns[c].values) + raw.nrows * tb_type_width(type);
    if (raw.columns[c].valid) raw.columns[c].valid[raw.nrows] = !is_null(row[c]);
    memset(value, 0xA5, tb_type_width(type));
    if (is_null(row[c])) continue;
    if (!tb_type_is_text(type)) {
      write_value(type, row[c], value);
      continue;
    }
    const auto& text = std::get<std::string>(row[c]);
    store.ensure_bytes(text.size());
    const TbTextView view{static_cast<uint32_t>(text.size()), 0, 0, static_cast<uint32_t>(raw.arena_used)};
    memcpy(static_cast<uint8_t*>(raw.columns[c].values) + raw.nrows * sizeof view, &view, sizeof view);
    if (!text.empty()) memcpy(raw.arena + raw.arena_used, text.data(), text.size());
    raw.arena_used += text.size();
  }
  raw.nrows++;
}

TEST(RowPruning, TheFirstRowsStay) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 9; round++) {
    SCOPED_TRACE("round " + std::to_string(round));
    const std::vector<uint8_t> types = {kTypes[random() % std::size(kTypes)], TB_TYPE_TEXT, TB_TYPE_NUM128};
    const TestTable table = random_table(random, types, 100000, round % 3 == 0);
    const uint64_t limit = round % 4 == 0 ? 0 : 1 + random() % 3000;
    PlanWriter writer(4);
    writer.order({{0, static_cast<uint32_t>(random() % 4)}, {1, 0}, {3, 0}}).limit(limit, random() % 2);
    if (round % 5 == 0) writer.header.ndistinct = 2;
    const Program program = table.program();
    const ResultPlan plan = ResultPlan::parse(writer.blob(), program);

    const RowPruning limiting(plan);
    const KeptRowLayout shape = kept_row_layout(program);
    MemoryBudget budget(uint64_t{1} << 30);
    HostRowStore store(shape, false, 64, budget);
    StorePruning pruning;
    uint64_t most = 0;
    for (const auto& row : table.rows) {
      append(store, table, row);
      most = std::max(most, store.size());
      if (store.size() % 500 == 0) pruning.prune(&limiting, shape, store, budget);
    }
    if (round % 3 != 0) {
      EXPECT_LT(most, 2 * limit + 70000);
    }

    // What is left gives the same first rows as all.
    class StoreQuery final : public DeviceQuery {
     public:
      StoreQuery(const KeptRowLayout& shape, const HostRowStore& store) : shape_(shape), store_(store) {}
      void submit(const ChunkTask&, Done) override {}
      uint64_t finish() override { return store_.size(); }
      bool rows_stay() const override { return true; }
      MemoryBudget& host_memory() override { return budget_; }
      DeviceQueryStats stats() const override { return {}; }
      ResultBatch fetch(uint64_t first, uint64_t count) override { return store_batch(shape_, store_, first, count); }

     private:
      const KeptRowLayout& shape_;
      const HostRowStore& store_;
      MemoryBudget budget_{uint64_t{1} << 30};
    };
    auto first_rows = [&](DeviceQuery& query, uint64_t nrows) {
      ResultRun run(plan, query, pool(), {});
      const uint64_t count = run.run(nrows);
      Rows rows;
      while (rows.size() < count) {
        const ResultBatch batch = run.fetch(rows.size(), 1000);
        for (uint64_t i = 0; i < batch.nrows; i++)
          rows.push_back(read_row(batch, {types[0], types[1], types[2], TB_TYPE_INT8}, i));
      }
      return rows;
    };
    TableQuery all(table, true, uint64_t{1} << 30);
    StoreQuery pruned(shape, store);
    const Rows right = first_rows(all, table.rows.size()), rows = first_rows(pruned, store.size());
    ASSERT_EQ(rows.size(), right.size());
    for (size_t i = 0; i < rows.size(); i++)
      for (size_t c = 0; c < rows[i].size(); c++) {
        ASSERT_EQ(is_null(rows[i][c]), is_null(right[i][c]));
        if (is_null(rows[i][c])) continue;
        ASSERT_EQ(compare_values(rows[i][c], right[i][c]), 0) << i << " " << c;
      }
  }
}

}  // namespace
}  // namespace turbine
