/*
 * result_run_fixture.h - runs a result plan over a table, and compares rows as an order says.
 * Not part of the product.
 */
#pragma once

#include "engine/result/result_run.h"
#include "engine/result/testing/plan_writer.h"
#include "engine/result/testing/table_query.h"

namespace turbine::testing {

using Rows = std::vector<std::vector<Cell>>;

inline constexpr uint8_t kTypes[] = {
    TB_TYPE_BOOL,      TB_TYPE_INT2,        TB_TYPE_INT4,  TB_TYPE_INT8,   TB_TYPE_FLOAT4, TB_TYPE_FLOAT8, TB_TYPE_DATE,
    TB_TYPE_TIMESTAMP, TB_TYPE_TIMESTAMPTZ, TB_TYPE_NUM64, TB_TYPE_NUM128, TB_TYPE_TEXT,   TB_TYPE_BPCHAR};

inline WorkerPool& pool() {
  static WorkerPool pool("test", 3);
  return pool;
}

/* What a plan makes of a query's rows. */
inline Rows run(const PlanWriter& writer, const TestTable& table, DeviceQuery& query,
                std::function<bool()> cancelled = {}) {
  const ResultPlan plan = ResultPlan::parse(writer.blob(), table.program());
  std::vector<uint32_t> types;
  for (const ColumnShape& column : plan.columns()) types.push_back(column.type);
  ResultRun run(plan, query, 0, false, pool(), std::move(cancelled));
  const uint64_t count = run.run(table.rows.size());
  Rows rows;
  while (rows.size() < count) {
    const ResultBatch batch = run.fetch(rows.size(), 1 + rows.size() * 3);
    if (batch.nrows == 0) throw std::runtime_error("an empty batch");
    for (uint64_t i = 0; i < batch.nrows; i++) rows.push_back(read_row(batch, types, i));
  }
  return rows;
}

inline int compare_rows(const std::vector<TbSortKey>& keys, const std::vector<Cell>& a, const std::vector<Cell>& b) {
  for (const TbSortKey& key : keys) {
    const Cell &x = a[key.column], &y = b[key.column];
    const bool nulls_first = key.flags & TB_SORT_NULLS_FIRST;
    if (is_null(x) && is_null(y)) continue;
    if (is_null(x)) return nulls_first ? -1 : 1;
    if (is_null(y)) return nulls_first ? 1 : -1;
    if (const int order = compare_values(x, y)) return key.flags & TB_SORT_DESCENDING ? -order : order;
  }
  return 0;
}

inline TestTable random_table(std::mt19937_64& random, const std::vector<uint8_t>& types, size_t nrows, bool few) {
  TestTable table;
  for (uint8_t type : types) table.columns.push_back({type, random() % 3 > 0});
  table.columns.push_back({TB_TYPE_INT8, false});
  for (size_t i = 0; i < nrows; i++) {
    table.rows.emplace_back();
    for (size_t c = 0; c < types.size(); c++) {
      const bool null = table.columns[c].nullable && random() % 6 == 0;
      table.rows.back().push_back(null ? Cell() : random_cell(random, types[c], few));
    }
    table.rows.back().emplace_back(static_cast<__int128>(i));
  }
  return table;
}

}  // namespace turbine::testing
