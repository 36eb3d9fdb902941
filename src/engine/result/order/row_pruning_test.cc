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

    const RowPruning limiting(plan, program);
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
      void submit(const Task&, Done) override {}
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
      ResultRun run(plan, query, 0, false, pool(), {});
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

/* Rows of INT4 or NULL, in segments of some each. */
struct Segments {
  std::vector<std::vector<Cell>> values;
  std::vector<std::shared_ptr<const Segment>> segments;

  void add(std::vector<Cell> some) {
    StoredColumn::Shape shape{TB_TYPE_INT4, true, false};
    shape.zone = {true, ZoneOrder::kLast, ZoneOrder::kFirst};
    for (const Cell& cell : some) {
      if (is_null(cell)) {
        shape.nulls = true;
        continue;
      }
      const auto value = static_cast<int64_t>(std::get<__int128>(cell));
      shape.zone = {true, std::min(shape.zone.least, value), std::max(shape.zone.greatest, value)};
    }
    auto segment = std::make_shared<Segment>();
    segment->columns.emplace_back(7, 1, std::make_shared<StoredColumn>(shape, 1));
    segments.push_back(std::move(segment));
    values.push_back(std::move(some));
  }
};

/* Whatever has been seen of some segments, others are excluded only if none of their rows may stay; and those whose
 * rows all come after as many as stay are, strictly. */
TEST(RowPruning, SegmentsOfLaterRowsAreExcluded) {
  std::mt19937_64 random(2);
  uint64_t excluded = 0;
  for (int round = 0; round < 400; round++) {
    const uint32_t flags = static_cast<uint32_t>(round % 4);
    Segments all;
    for (int s = 0; s < 12; s++) {
      std::vector<Cell> some;
      const auto base = static_cast<int64_t>(random() % 12);
      const bool nulls = random() % 4 == 0, only_nulls = random() % 8 == 0;
      for (int i = 0; i < 10; i++)
        some.push_back(only_nulls || (nulls && random() % 4 == 0) ? Cell() : Cell(__int128{base} + random() % 4));
      all.add(some);
    }
    TestTable table;
    table.columns = {{TB_TYPE_INT4, true}};
    const uint64_t limit = 1 + random() % 20;
    PlanWriter writer(1);
    writer.order({{0, flags}}).limit(limit, random() % 2);
    const Program program = table.program();
    const RowPruning limiting(ResultPlan::parse(writer.blob(), program), program);
    ASSERT_NE(limiting.zone_order(), nullptr);
    const KeptRowLayout shape = kept_row_layout(program);
    MemoryBudget budget(uint64_t{1} << 30);
    std::vector<std::vector<Cell>> seen;
    for (size_t s = 0; s < all.segments.size(); s++) {
      std::vector<TbSortKey> keys = {{0, flags}};
      std::vector<std::vector<Cell>> first = seen;
      std::sort(first.begin(), first.end(), [&](const auto& a, const auto& b) { return compare_rows(keys, a, b) < 0; });
      bool all_later = seen.size() >= limit;
      for (const Cell& cell : all.values[s]) all_later = all_later && compare_rows(keys, {cell}, first[limit - 1]) > 0;
      ASSERT_EQ(limiting.excludes(*all.segments[s], {7}), all_later) << "round " << round << ", segment " << s;
      excluded += all_later;
      HostRowStore store(shape, false, 64, budget);
      for (const Cell& cell : all.values[s]) seen.push_back({cell});
      for (const auto& row : seen) append(store, table, row);
      limiting.rows_that_stay(store_batch(shape, store, 0, store.size()), budget);
    }
  }
  EXPECT_GT(excluded, 500u);
}

TEST(RowPruning, WhatKeepsSegmentsFromBeingExcluded) {
  const auto order_of = [](ProgramWriter& w, uint64_t limit = 10) {
    PlanWriter writer(static_cast<uint32_t>(w.outputs.size()));
    writer.order({{0, TB_SORT_DESCENDING}}).limit(limit, false);
    const Program program = Program::parse(w.blob(TB_SINK_PROJECT));
    const RowPruning limiting(ResultPlan::parse(writer.blob(), program), program);
    return limiting.zone_order() ? std::optional(*limiting.zone_order()) : std::nullopt;
  };
  for (const uint8_t type : {TB_TYPE_INT2, TB_TYPE_INT8, TB_TYPE_DATE, TB_TYPE_TIMESTAMPTZ, TB_TYPE_NUM64}) {
    ProgramWriter w;
    w.column(TB_TYPE_TEXT);
    w.outputs = {w.column(type)};
    ASSERT_TRUE(order_of(w)) << int{type};
    EXPECT_EQ(order_of(w)->column, 1u);
    EXPECT_TRUE(order_of(w)->descending);
    EXPECT_FALSE(order_of(w)->nulls_first);
    EXPECT_FALSE(order_of(w, 0)) << "nothing is wanted";
  }
  for (const uint8_t type : {TB_TYPE_FLOAT8, TB_TYPE_TEXT, TB_TYPE_BOOL}) {
    ProgramWriter w;
    w.outputs = {w.column(type)};
    EXPECT_FALSE(order_of(w)) << "no zones in the order of the values: " << int{type};
  }
  ProgramWriter w;
  const uint32_t v = w.column(TB_TYPE_INT8, true);
  const uint32_t quotient = w.call(TB_FN_INT8DIV, {v, v});
  w.outputs = {v, quotient};
  EXPECT_FALSE(order_of(w)) << "a row may raise that comes last";
  for (const uint8_t kind : {TB_JOIN_LEFT, TB_JOIN_FULL}) {
    ProgramWriter joined;
    joined.full_joins_end = kind == TB_JOIN_FULL;
    joined.outputs = {joined.column(TB_TYPE_INT8, true)};
    joined.join(kind, {joined.outputs[0]}, 0);
    EXPECT_EQ(order_of(joined).has_value(), kind == TB_JOIN_LEFT) << "rows of the table may lack their only match";
    const uint32_t payload = joined.payload(0, 1, TB_TYPE_INT8);
    joined.outputs = {payload};
    EXPECT_FALSE(order_of(joined)) << "no column of the source";
  }
}

}  // namespace
}  // namespace turbine
