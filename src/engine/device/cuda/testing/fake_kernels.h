/*
 * fake_kernels.h - host functions that do what compiled kernels do, over a page
 * format of their own, and the chunks to feed them; for tests only.
 *
 * A fake page is a FakePage; the program has one int4 column `v`:
 *   ROWS        SELECT ... WHERE v % 3 = 0
 *   grouped     SELECT v, count(*) ... GROUP BY v      (v < 0 filtered away)
 *   ungrouped   SELECT count(*), sum(v)
 * With joins (fake_joins.h) the aggregates are of p, and PROJECT gives v, p, t, q.
 * They deliver pages and row ids in no good order, as a GPU may.
 */
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/cuda/testing/fake_driver.h"
#include "engine/device/cuda/testing/row_places.h"
#include "engine/device/device.h"
#include "engine/program/group_layout.h"
#include "engine/program/testing/program_writer.h"

namespace turbine::cuda::testing {

/* Values with a meaning. */
inline constexpr int32_t kDeferred = INT32_MIN;       // must be detoasted by the backend
inline constexpr int32_t kUnrepresentable = INT32_MIN + 1;
inline constexpr int32_t kOverflowInSink = INT32_MIN + 2;
inline constexpr int32_t kFaultInSink = INT32_MIN + 3;  // the kernel touches a bad address

struct FakePage {
  uint32_t nrows;
  int32_t values[TB_MAX_TUPLES_PER_PAGE];
  uint8_t unused[TB_PAGE_SIZE - 4 - 4 * TB_MAX_TUPLES_PER_PAGE];
};
static_assert(sizeof(FakePage) == TB_PAGE_SIZE);

enum class Shape { ROWS, GROUPED, UNGROUPED, JOIN_GROUPED, JOIN_UNGROUPED, PROJECT };

inline constexpr Shape kJoinShapes[] = {Shape::JOIN_GROUPED, Shape::JOIN_UNGROUPED, Shape::PROJECT};

inline bool joins(Shape shape) {
  return shape == Shape::JOIN_GROUPED || shape == Shape::JOIN_UNGROUPED || shape == Shape::PROJECT;
}

inline std::shared_ptr<const Program> fake_program(Shape shape) {
  turbine::testing::ProgramWriter writer;
  const uint32_t v = writer.column(TB_TYPE_INT4);
  uint32_t value = v;
  if (joins(shape)) {
    writer.join(TB_JOIN_INNER, {v}, 0);
    writer.join(TB_JOIN_LEFT, {v}, 1, TB_JOIN_UNIQUE);
    value = writer.payload(0, 1, TB_TYPE_INT4);
  }
  if (shape == Shape::GROUPED || shape == Shape::JOIN_GROUPED) writer.keys.push_back(value);
  uint16_t sink = shape == Shape::ROWS ? TB_SINK_ROWS : TB_SINK_AGGREGATE;
  if (shape == Shape::PROJECT) {
    sink = TB_SINK_PROJECT;
    const uint32_t t = writer.payload(0, 2, TB_TYPE_TEXT, true);
    writer.outputs = {v, value, t, writer.payload(1, 1, TB_TYPE_INT4)};
  } else if (shape != Shape::ROWS) {
    writer.aggregate(TB_AGG_COUNT);
    if (shape == Shape::UNGROUPED || shape == Shape::JOIN_UNGROUPED) writer.aggregate(TB_AGG_SUM_INT, value);
  }
  return std::make_shared<const Program>(Program::parse(writer.blob(sink)));
}

inline uint64_t fake_hash(int32_t value) {
  uint64_t hash = static_cast<uint64_t>(static_cast<uint32_t>(value)) + 0x9e3779b97f4a7c15u;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
  return hash ^ (hash >> 31);
}

/* A parameter is added to every value: so layouts differ. */
inline void fake_decode(void* arguments) {
  auto& args = *static_cast<TbDecodeArgs*>(arguments);
  const int32_t added = args.params && args.params->count > 0 ? static_cast<int32_t>(tb_param(args.params, 0)->value[0])
                                                              : 0;
  const auto* pages = reinterpret_cast<const FakePage*>(args.pages);
  auto* values = static_cast<int32_t*>(args.columns[0].values);
  for (uint32_t page = args.npages; page-- > 0;) {
    for (uint32_t i = 0; i < pages[page].nrows; i++) {
      const int32_t value = pages[page].values[i];
      if (value == kDeferred) {
        args.deferred[args.ndeferred++] = TB_ROWID(page, i + 1);
        continue;
      }
      if (value == kUnrepresentable) args.errors |= TB_ERR_UNREPRESENTABLE;
      if (args.rowids) args.rowids[args.nrows] = TB_ROWID(page, i + 1);
      values[args.nrows++] = value + added;
    }
  }
}

/* Of a row by its number; stands in for whatever an expression may do. */
inline int32_t fake_column_value(TbPipelineArgs& args, uint32_t number) {
  const int32_t value = tb_test_int4(&args, number);
  if (value == kFaultInSink) throw FakeDriver::KernelFault{kIllegalAddress};
  if (value == kOverflowInSink) args.errors |= TB_ERR_OVERFLOW;
  return value;
}

/* What a sink takes: rows, or where there are joins tuples. */
inline uint64_t fake_items(const TbPipelineArgs& args) { return args.tuples ? args.ntuples : args.nrows; }

/* v of a row, p of a tuple. */
inline int32_t fake_value(TbPipelineArgs& args, uint64_t item) {
  if (!args.tuples) return fake_column_value(args, tb_test_row_number(&args, static_cast<uint32_t>(item)));
  const TbJoinTable* inner = args.tables[0];
  const auto* values = reinterpret_cast<const uint8_t*>(inner) + inner->columns[1].values;
  return reinterpret_cast<const int32_t*>(values)[args.tuples[args.tuple_capacity + item]];
}

inline void fake_rows(void* arguments) {
  auto& args = *static_cast<TbPipelineArgs*>(arguments);
  for (uint32_t row = args.nrows; row-- > 0;) {
    if (fake_column_value(args, row) % 3 != 0) continue;
    args.out_rowids[args.nout++] = args.rowids[row];
    args.rows_passed++;
  }
}

/* Like the real one: where the table is full it counts groups beyond the capacity
 * and leaves their buckets empty, so that there are always some to end a search,
 * however many chunks reserve before the table grows. The next `lost_groups` insertions take a number and
 * then find no room for their text, as text keys may. */
struct FakeReserve {
  GroupLayout layout;
  std::shared_ptr<std::atomic<uint32_t>> lost_groups;  // so many are still to be lost

  void operator()(void* arguments) const {
    auto& args = *static_cast<TbPipelineArgs*>(arguments);
    TbGroupTable& table = *args.groups;
    for (uint64_t row = 0; row < fake_items(args); row++) {
      const int32_t value = fake_value(args, row);
      args.group_of_row[row] = value < 0 ? TB_NONE : find_or_insert(table, value);
    }
  }

  uint32_t find_or_insert(TbGroupTable& table, int32_t value) const {
    const uint64_t hash = fake_hash(value);
    for (uint64_t bucket = hash & table.bucket_mask;; bucket = (bucket + 1) & table.bucket_mask) {
      const uint32_t entry = table.buckets[bucket];
      if (entry == TB_BUCKET_BUSY) continue;
      if (entry != 0) {
        const uint8_t* row = table.rows + (entry - 1) * uint64_t{table.row_size};
        if (std::memcmp(row + layout.keys[0].value_offset, &value, sizeof(value)) == 0) return entry - 1;
        continue;
      }
      const uint64_t group = table.ngroups++;
      if (group >= table.group_capacity || lose_one()) {
        table.full = 1;
        return TB_NONE;
      }
      uint8_t* row = table.rows + group * table.row_size;
      std::memcpy(row, &hash, sizeof(hash));
      std::memcpy(row + layout.keys[0].value_offset, &value, sizeof(value));
      row[layout.keys[0].valid_offset] = 1;
      table.buckets[bucket] = static_cast<uint32_t>(group + 1);
      return static_cast<uint32_t>(group);
    }
  }

  bool lose_one() const {
    if (!lost_groups || lost_groups->load() == 0) return false;
    (*lost_groups)--;
    return true;
  }
};

struct FakeApply {
  GroupLayout layout;
  void operator()(void* arguments) const {
    auto& args = *static_cast<TbPipelineArgs*>(arguments);
    for (uint64_t row = 0; row < fake_items(args); row++) {
      if (args.group_of_row[row] == TB_NONE) continue;
      uint8_t* group = args.groups->rows + args.group_of_row[row] * uint64_t{args.groups->row_size};
      int64_t count;
      std::memcpy(&count, group + layout.states[0].value_offset, sizeof(count));
      count++;
      std::memcpy(group + layout.states[0].value_offset, &count, sizeof(count));
      if (!args.tuples) args.rows_passed++;
    }
  }
};

struct FakeReduce {
  GroupLayout layout;
  void operator()(void* arguments) const {
    auto& args = *static_cast<TbPipelineArgs*>(arguments);
    uint8_t* group = args.groups->rows;
    int64_t count, sum;
    std::memcpy(&count, group + layout.states[0].value_offset, sizeof(count));
    std::memcpy(&sum, group + layout.states[1].value_offset, sizeof(sum));
    const uint64_t items = fake_items(args);
    for (uint64_t i = 0; i < items; i++) sum += fake_value(args, i);
    count += static_cast<int64_t>(items);
    if (!args.tuples) args.rows_passed += items;
    std::memcpy(group + layout.states[0].value_offset, &count, sizeof(count));
    std::memcpy(group + layout.states[1].value_offset, &sum, sizeof(sum));
    if (items) group[layout.states[1].valid_offset] = 1;
  }
};

/* Registers the kernels of a program of fake_program(). */
inline void set_fake_kernels(FakeDriver& fake, const Program& program,
                             std::shared_ptr<std::atomic<uint32_t>> lost_groups = nullptr) {
  const GroupLayout layout = group_layout(program);
  fake.set_kernel("tb_decode", fake_decode);
  fake.set_kernel("tb_rows", fake_rows);
  fake.set_kernel("tb_reserve", FakeReserve{layout, std::move(lost_groups)});
  fake.set_kernel("tb_apply", FakeApply{layout});
  fake.set_kernel("tb_reduce", FakeReduce{layout});
}

}  // namespace turbine::cuda::testing
