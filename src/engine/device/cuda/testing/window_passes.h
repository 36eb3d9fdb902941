/*
 * window_passes.h - random window passes over a table of a test, by a device and by the host, which must
 * agree. Not part of the product.
 */
#pragma once

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/device/cuda/cuda_context.h"
#include "engine/device/cuda/sort/sort_tuning.h"
#include "engine/device/cuda/window/cuda_window.h"
#include "engine/result/testing/result_run_fixture.h"

namespace turbine::cuda::testing {

using namespace turbine::testing;

/* The kernels, on one GPU. */
struct WindowCodes {
  explicit WindowCodes(const std::shared_ptr<CudaContext>& context)
      : sort(context, kSortRegisters), window(context), keys(context) {}
  CudaWindow::Code all() { return {sort, window, keys}; }
  void load(const Driver& driver) {
    sort.kernels(driver);
    window.kernels(driver);
    keys.kernels(driver);
  }
  RadixCode sort;
  WindowCode window;
  KeyCode keys;
};

/* A table's rows in the memory of a device, in parts. */
class RowsOnDevice {
 public:
  RowsOnDevice(CudaContext& context, const Driver& driver, const TestTable& table, MemoryAccount& account)
      : rows_(context, driver, kept_row_layout(table.program()), account), stream_(context.streams(), driver) {
    TableQuery from(table, true, 1300);
    for (uint64_t at = 0; at < table.rows.size();) {
      const ResultBatch batch = from.fetch(at, table.rows.size());
      append(context, driver, batch);
      at += batch.nrows;
    }
  }
  DeviceRows& rows() { return rows_; }

 private:
  void append(CudaContext& context, const Driver& driver, const ResultBatch& batch) {
    std::vector<Block> blocks;
    std::vector<TbColumnData> columns;
    auto send = [&](const uint8_t* first, uint64_t stride, uint64_t width) {
      std::vector<uint8_t> dense(batch.nrows * width);
      for (uint64_t i = 0; i < batch.nrows; i++) memcpy(&dense[i * width], first + i * stride, width);
      blocks.push_back(context.device_memory().allocate(driver, dense.size(), nullptr));
      driver.check(driver.memcpy_htod_async(blocks.back().device(), dense.data(), dense.size(), stream_.get()));
      driver.check(driver.stream_synchronize(stream_.get()));
      return reinterpret_cast<uint8_t*>(blocks.back().device());
    };
    for (size_t c = 0; c < batch.columns.size(); c++) {
      const ResultColumn& from = batch.columns[c];
      TbColumnData& to = columns.emplace_back();
      to = {};
      to.values = send(from.values, from.stride, tb_type_width(rows_.shape().columns[c].type));
      if (from.valid) to.valid = send(from.valid, from.valid_stride, 1);
    }
    TbRowStore store{};
    store.nrows = batch.nrows;
    rows_.append(store, columns, stream_.get());
    driver.check(driver.stream_synchronize(stream_.get()));
  }

  DeviceRows rows_;
  UniqueStream stream_;
};

/* Takes any number of rows, and counts what it computes. */
class AnyWindow : public DeviceWindow {
 public:
  explicit AnyWindow(DeviceWindow& window) : window_(window) {}
  bool pays(uint64_t, unsigned, unsigned) const override { return true; }
  std::unique_ptr<DeviceWindowRun> run(const WindowInput& input, ParallelWork& work) override {
    runs++;
    with_conditions += !input.conditions.empty();
    of_own_rows += input.on_device;
    return window_.run(input, work);
  }
  bool has_rows() const override { return window_.has_rows(); }
  std::vector<WindowKeyRange> key_ranges(std::span<const WindowKey> keys) override { return window_.key_ranges(keys); }
  int runs = 0, with_conditions = 0, of_own_rows = 0;

 private:
  DeviceWindow& window_;
};

/* A table's rows, of a device that computes windows. */
class WindowQuery final : public DeviceQuery {
 public:
  WindowQuery(const TestTable& table, bool stay, DeviceWindow* window) : rows_(table, stay, 700), window_(window) {}
  void submit(const Task& task, Done done) override { rows_.submit(task, std::move(done)); }
  uint64_t finish() override { return rows_.finish(); }
  bool rows_stay() const override { return rows_.rows_stay(); }
  MemoryBudget& host_memory() override { return rows_.host_memory(); }
  DeviceQueryStats stats() const override { return {}; }
  ResultBatch fetch(uint64_t first, uint64_t count) override { return rows_.fetch(first, count); }
  DeviceWindow* window() override { return window_; }

 private:
  TableQuery rows_;
  DeviceWindow* const window_;
};

constexpr uint8_t kArguments[] = {TB_TYPE_INT2,      TB_TYPE_INT4,  TB_TYPE_INT8,       TB_TYPE_DATE,
                                  TB_TYPE_TIMESTAMP, TB_TYPE_NUM64, TB_TYPE_TIMESTAMPTZ};
inline bool has_sums(uint8_t type) {
  return type == TB_TYPE_INT2 || type == TB_TYPE_INT4 || type == TB_TYPE_INT8 || type == TB_TYPE_NUM64;
}

constexpr uint32_t kArgument = 1, kOther = 2, kFilter = 3;  // columns of a window_table(); the last tells rows apart

inline TestTable window_table(std::mt19937_64& random, uint8_t argument, size_t nrows, bool few) {
  return random_table(random, {TB_TYPE_INT4, argument, argument, TB_TYPE_BOOL, TB_TYPE_DATE}, nrows, few);
}

/* A pass over it, by the key that splits it, some other and the row's number, so that every row has its place; or,
 * with peers, without the number, and then with functions that do not tell them apart. `sums`: its argument has such.
 */
inline void add_random_pass(std::mt19937_64& random, PlanWriter& writer, bool sums) {
  static const uint8_t modes[] = {TB_FRAME_ROWS, TB_FRAME_RANGE, TB_FRAME_GROUPS};
  static const uint64_t offsets[] = {0, 1, 2, 7, 100, UINT64_MAX};
  const bool peers = random() % 3 == 0;
  std::vector<TbSortKey> keys{{0, static_cast<uint32_t>(random() % 4)}, {4, static_cast<uint32_t>(random() % 4)}};
  if (!peers) keys.push_back({5, static_cast<uint32_t>(random() % 4)});
  if (random() % 8 == 0) keys.clear();
  const auto npartition = static_cast<uint32_t>(random() % (std::min<size_t>(keys.size(), 2) + 1));
  uint8_t mode = modes[random() % 3], start = 1 + random() % 4, end = 2 + random() % 4;
  if (peers || keys.empty()) mode = mode == TB_FRAME_ROWS ? uint8_t{TB_FRAME_GROUPS} : mode;
  if (mode == TB_FRAME_RANGE) {
    if (tb_bound_is_offset(start)) start = TB_BOUND_UNBOUNDED_PRECEDING;
    if (tb_bound_is_offset(end)) end = TB_BOUND_CURRENT_ROW;
  }
  if (start > end) std::swap(start, end);
  if (start == TB_BOUND_UNBOUNDED_FOLLOWING) start = TB_BOUND_CURRENT_ROW;
  if (end == TB_BOUND_UNBOUNDED_PRECEDING) end = TB_BOUND_CURRENT_ROW;
  writer.pass(keys, npartition, mode, start, end, tb_bound_is_offset(start) ? offsets[random() % 6] : 0,
              tb_bound_is_offset(end) ? offsets[random() % 6] : 0);
  const uint32_t filter = random() % 3 == 0 ? kFilter : TB_NONE;
  const bool ranks = peers || keys.empty();
  for (size_t i = 0, n = 1 + random() % 5; i < n; i++) {
    const auto shift = static_cast<int64_t>(random() % 5) - 1;
    switch (random() % (ranks ? 8 : 15)) {
      case 0: writer.function(TB_WINDOW_RANK); break;
      case 1: writer.function(TB_WINDOW_DENSE_RANK); break;
      case 2: writer.function(TB_WINDOW_PERCENT_RANK); break;
      case 3: writer.function(TB_WINDOW_CUME_DIST); break;
      case 4: writer.function(TB_WINDOW_COUNT, random() % 2 ? kArgument : TB_NONE, 0, TB_NONE, filter); break;
      case 5: writer.function(sums ? TB_WINDOW_SUM : TB_WINDOW_COUNT, kArgument, 0, TB_NONE, filter); break;
      case 6: writer.function(TB_WINDOW_MIN, kArgument, 0, TB_NONE, filter); break;
      case 7: writer.function(TB_WINDOW_MAX, kArgument, 0, TB_NONE, filter); break;
      case 8: writer.function(TB_WINDOW_ROW_NUMBER); break;
      case 9: writer.function(TB_WINDOW_NTILE, TB_NONE, 1 + static_cast<int64_t>(random() % 9)); break;
      case 10: writer.function(TB_WINDOW_LAG, kArgument, shift, random() % 2 ? kOther : TB_NONE); break;
      case 11: writer.function(TB_WINDOW_LEAD, kArgument, random() % 20 ? shift : INT64_MIN); break;
      case 12: writer.function(TB_WINDOW_FIRST_VALUE, kArgument); break;
      case 13: writer.function(TB_WINDOW_LAST_VALUE, kArgument); break;
      default: writer.function(TB_WINDOW_NTH_VALUE, kArgument, 1 + static_cast<int64_t>(random() % 4));
    }
  }
}

inline bool is_condition_kind(uint32_t kind) {
  return kind == TB_WINDOW_ROW_NUMBER || kind == TB_WINDOW_RANK || kind == TB_WINDOW_DENSE_RANK ||
         kind == TB_WINDOW_COUNT;
}

inline void add_random_conditions(std::mt19937_64& random, PlanWriter& writer) {
  static const uint32_t flags[] = {0, TB_CONDITION_STRICT, TB_CONDITION_AT_LEAST,
                                   TB_CONDITION_AT_LEAST | TB_CONDITION_STRICT, TB_CONDITION_EQUAL};
  for (size_t f = 0; f < writer.functions.size(); f++)
    if (is_condition_kind(writer.functions[f].kind) && random() % 2)
      writer.conditions.push_back(
          {writer.header.ncolumns + static_cast<uint32_t>(f), flags[random() % 5], static_cast<int64_t>(random() % 6)});
}

/* Of any type, so that all keys are packed on the device. */
inline TestTable keys_table(std::mt19937_64& random, size_t nrows, bool few) {
  static const uint8_t types[] = {TB_TYPE_BOOL,   TB_TYPE_INT2, TB_TYPE_INT4,  TB_TYPE_INT8,  TB_TYPE_FLOAT4,
                                  TB_TYPE_FLOAT8, TB_TYPE_DATE, TB_TYPE_NUM64, TB_TYPE_NUM128};
  return random_table(random, {types[random() % 9], types[random() % 9], types[random() % 9]}, nrows, few);
}

inline PlanWriter keys_plan(std::mt19937_64& random) {
  PlanWriter writer(4);
  std::vector<TbSortKey> keys;
  for (uint32_t c = 0; c < 3; c++)
    if (random() % 3) keys.push_back({c, static_cast<uint32_t>(random() % 4)});
  keys.push_back({3, static_cast<uint32_t>(random() % 2)});
  writer.pass(keys, static_cast<uint32_t>(random() % keys.size()), TB_FRAME_ROWS);
  const uint32_t number = writer.function(TB_WINDOW_ROW_NUMBER);
  writer.function(TB_WINDOW_LAG, static_cast<uint32_t>(random() % 4), 1);
  if (random() % 2) writer.conditions.push_back({number, 0, 3});
  if (random() % 2)
    writer.order(keys);
  else
    writer.order({{3, 0}});
  if (random() % 3 == 0) writer.limit(random() % 2000);
  return writer;
}

/* All rows that a plan leaves, in the order of their numbers where none is asked for. */
inline Rows rows_of(const PlanWriter& writer, const TestTable& table, DeviceQuery& query, bool any_order) {
  const ResultPlan plan = ResultPlan::parse(writer.blob(), table.program());
  std::vector<uint32_t> types;
  for (const ColumnShape& column : plan.columns()) types.push_back(column.type);
  ResultRun run(plan, query, 0, any_order, pool(), {});
  const uint64_t count = run.run(table.rows.size());
  Rows rows;
  while (rows.size() < count) {
    const ResultBatch batch = run.fetch(rows.size(), count - rows.size());
    for (uint64_t i = 0; i < batch.nrows; i++) rows.push_back(read_row(batch, types, i));
  }
  const size_t number = table.columns.size() - 1;
  if (any_order)
    std::sort(rows.begin(), rows.end(),
              [number](const auto& a, const auto& b) { return compare_values(a[number], b[number]) < 0; });
  return rows;
}

inline bool same_cell(const Cell& a, const Cell& b) {
  const auto* x = std::get_if<double>(&a);
  return x && b.index() == a.index() ? compare_values(a, b) == 0 : a == b;
}

/* One plan, by the host and by the device. */
inline void expect_same(const PlanWriter& writer, const TestTable& table, bool any_order, DeviceWindow& window) {
  WindowQuery host(table, true, nullptr), device(table, any_order, &window);
  const Rows expected = rows_of(writer, table, host, any_order), found = rows_of(writer, table, device, any_order);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); i++)
    ASSERT_TRUE(std::equal(found[i].begin(), found[i].end(), expected[i].begin(), expected[i].end(), same_cell))
        << "row " << i;
}

/* What random rounds need of a GPU, real or not. */
struct WindowRounds {
  CudaContext& context;
  CudaWindow& window;
  AnyWindow& any;  // of that window
  const Driver& driver;
  MemoryAccount& account;

  /* A plan over rows that the host has, and over the same on the device. */
  void run(const PlanWriter& writer, const TestTable& table, bool any_order) const {
    expect_same(writer, table, any_order, any);
    RowsOnDevice resident(context, driver, table, account);
    window.set_rows(&resident.rows());
    expect_same(writer, table, any_order, any);
    window.set_rows(nullptr);
  }

  void random_passes(unsigned seed, int rounds, std::span<const size_t> sizes) const {
    std::mt19937_64 random(seed);
    for (int round = 0; round < rounds && !::testing::Test::HasFatalFailure(); round++) {
      SCOPED_TRACE("round " + std::to_string(round));
      const uint8_t argument = kArguments[random() % std::size(kArguments)];
      const TestTable table = window_table(random, argument, sizes[random() % sizes.size()], random() % 2);
      PlanWriter writer(6);
      for (size_t pass = 0, n = 1 + random() % 2; pass < n; pass++) add_random_pass(random, writer, has_sums(argument));
      if (random() % 2) add_random_conditions(random, writer);
      const bool any_order = random() % 2;
      if (!any_order) writer.order({{5, 0}});
      run(writer, table, any_order);
    }
    EXPECT_GT(any.runs, rounds);
    EXPECT_GT(any.of_own_rows, rounds / 5);
    EXPECT_GT(any.with_conditions, rounds / 20);
  }

  void random_keys(unsigned seed, int rounds, size_t most_rows) const {
    std::mt19937_64 random(seed);
    for (int round = 0; round < rounds && !::testing::Test::HasFatalFailure(); round++) {
      SCOPED_TRACE("round " + std::to_string(round));
      const TestTable table = keys_table(random, 1 + random() % most_rows, random() % 2);
      run(keys_plan(random), table, false);
    }
    EXPECT_GT(any.of_own_rows, rounds / 2);
  }
};

}  // namespace turbine::cuda::testing
