/*
 * series_join_test.cc - SERIES joins: a tuple for each number below the key, alone, behind
 * another series, before a sink that aggregates, and with its number in a filter.
 */
#include <gtest/gtest.h>

#include <map>

#include "compiler/testing/growing_groups.h"
#include "compiler/testing/join_reference.h"

namespace turbine {
namespace {

using namespace testing;

constexpr uint32_t kSeriesRowCounts[] = {0, 1, 31, 33, TB_TILE_ROWS - 1, TB_TILE_ROWS + 1, 3 * TB_TILE_ROWS + 7};

/* Lengths: NULL, negative, none, few, and more than a tile. */
CellColumn series_lengths(uint32_t rows, std::mt19937_64& random) {
  CellColumn column = {TB_TYPE_INT4, true};
  for (uint32_t row = 0; row < rows; row++) {
    const uint64_t kind = random() % 8;
    const auto length = static_cast<int32_t>(row % 97 == 5 ? TB_TILE_ROWS + random() % 3 : random() % 6);
    column.cells.push_back(kind == 0 ? Cell() : cell<int32_t>(kind == 1 ? -length : length));
  }
  return column;
}

int32_t series_length(const Cell& c) { return c ? value_of<int32_t>(c) : 0; }

std::vector<std::vector<int32_t>> project_series(const CompiledPipeline& code, const CellColumn& column) {
  const std::vector<CellColumn> source = {column};
  const CellMemory memory(source);
  const std::string params = ParamWriter().block();
  GrowingStore store(code.program());
  PipelineCall run(memory.data, static_cast<uint32_t>(column.cells.size()), params);
  const TbJoinTable* none[] = {nullptr, nullptr};
  run.args.tables = none;
  run.args.store = &store.s;
  run.args.make_room = GrowingStore::make_room;
  code.pipeline(&run.args);
  EXPECT_EQ(run.args.status, TB_PIPELINE_DONE);
  EXPECT_EQ(run.args.errors, 0u);
  std::vector<std::vector<int32_t>> found;
  for (uint64_t row = 0; row < store.s.nrows; row++) {
    found.emplace_back();
    for (size_t c = 0; c < code.program().outputs().size(); c++)
      found.back().push_back(value_of<int32_t>(store.read(c, row)));
  }
  EXPECT_EQ(run.args.join_rows[code.program().joins().size() - 1], found.size());
  std::sort(found.begin(), found.end());
  return found;
}

TEST(SeriesJoin, ATupleForEachNumber) {
  ProgramWriter w;
  const uint32_t length = w.column(TB_TYPE_INT4, true);
  const uint32_t join = w.join(TB_JOIN_SERIES, {length}, TB_NONE);
  w.outputs = {length, w.payload(join, 1, TB_TYPE_INT4)};
  const CompiledPipeline code(w.blob(TB_SINK_PROJECT));
  std::mt19937_64 random(1);
  for (uint32_t rows : kSeriesRowCounts) {
    const CellColumn source = series_lengths(rows, random);
    std::vector<std::vector<int32_t>> expected;
    for (const Cell& c : source.cells)
      for (int32_t n = 0; n < series_length(c); n++) expected.push_back({series_length(c), n});
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(project_series(code, source), expected) << rows << " rows";
  }
}

/* The second one is as long as the first one's number, which a filter behind it looks at, too. */
TEST(SeriesJoin, BehindAnotherOne) {
  ProgramWriter w;
  const uint32_t length = w.column(TB_TYPE_INT4, true);
  const uint32_t first = w.join(TB_JOIN_SERIES, {length}, TB_NONE);
  const uint32_t number = w.payload(first, 1, TB_TYPE_INT4);
  const uint32_t second = w.join(TB_JOIN_SERIES, {number}, TB_NONE);
  const uint32_t inner = w.payload(second, 1, TB_TYPE_INT4);
  w.filters = {w.call(TB_FN_INT4NE, {inner, number}), w.call(TB_FN_INT4LT, {inner, length})};
  w.outputs = {number, inner};
  const CompiledPipeline code(w.blob(TB_SINK_PROJECT));
  std::mt19937_64 random(2);
  for (uint32_t rows : {1u, 33u, 700u}) {
    CellColumn source = series_lengths(rows, random);
    for (Cell& c : source.cells)
      if (series_length(c) > 10) c = cell<int32_t>(7);
    std::vector<std::vector<int32_t>> expected;
    for (const Cell& c : source.cells)
      for (int32_t n = 0; n < series_length(c); n++)
        for (int32_t m = 0; m < n; m++) expected.push_back({n, m});
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(project_series(code, source), expected) << rows << " rows";
  }
}

/* The number as a key of groups. */
TEST(SeriesJoin, Grouped) {
  ProgramWriter w;
  const uint32_t length = w.column(TB_TYPE_INT4, true);
  const uint32_t join = w.join(TB_JOIN_SERIES, {length}, TB_NONE);
  w.keys = {w.payload(join, 1, TB_TYPE_INT4)};
  w.aggregate(TB_AGG_COUNT);
  w.aggregate(TB_AGG_SUM_INT, length);
  const CompiledPipeline code(w.blob(TB_SINK_AGGREGATE));
  EXPECT_TRUE(code.has_kernel("tb_probe"));
}

/* BUILD: the rows of a series share their text, which may be NULL, empty, or another row's equal. */
TEST(SeriesJoin, RowsShareTheirText) {
  ProgramWriter w;
  const uint32_t length = w.column(TB_TYPE_INT4, true);
  const uint32_t text = w.column(TB_TYPE_TEXT, true);
  const uint32_t join = w.join(TB_JOIN_SERIES, {length}, TB_NONE);
  w.keys = {w.payload(join, 1, TB_TYPE_INT4)};
  w.outputs = {length, text};
  const CompiledPipeline code(w.blob(TB_SINK_BUILD));
  std::mt19937_64 random(3);
  for (uint32_t rows : kSeriesRowCounts) {
    std::vector<CellColumn> source = {series_lengths(rows, random), {TB_TYPE_TEXT, true}};
    for (uint32_t row = 0; row < rows; row++)
      source[1].cells.push_back(random() % 4 ? Cell(std::string(random() % 3 * 9, 'a' + row % 3)) : Cell());
    std::vector<std::pair<std::string, std::string>> expected, found;
    uint64_t bytes = 0;
    for (uint32_t row = 0; row < rows; row++) {
      const int32_t count = series_length(source[0].cells[row]);
      const Cell& t = source[1].cells[row];
      if (count > 0 && t) bytes += t->size();
      for (int32_t n = 0; n < count; n++) expected.emplace_back(*cell(n), t ? "=" + *t : "null");
    }
    const CellMemory memory(source);
    const std::string params = ParamWriter().block();
    GrowingStore store(code.program());
    PipelineCall run(memory.data, rows, params);
    const TbJoinTable* none[] = {nullptr};
    run.args.bytes = memory.bytes();
    run.args.tables = none;
    run.args.store = &store.s;
    run.args.make_room = GrowingStore::make_room;
    code.pipeline(&run.args);
    ASSERT_EQ(run.args.status, TB_PIPELINE_DONE);
    for (uint64_t row = 0; row < store.s.nrows; row++) {
      const Cell t = store.read(2, row);
      found.emplace_back(*store.read(0, row), t ? "=" + *t : "null");
    }
    std::sort(expected.begin(), expected.end());
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, expected) << rows << " rows";
    // A batch may end within a series.
    EXPECT_LE(store.s.arena_used, bytes + 27 * (store.s.nrows / TB_TILE_ROWS + 2));
  }
}

TEST(SeriesJoin, WhatAProgramMayNotSay) {
  auto parses = [](auto change) {
    ProgramWriter w;
    const uint32_t length = w.column(TB_TYPE_INT4, true);
    const uint32_t join = w.join(TB_JOIN_SERIES, {length}, TB_NONE);
    w.outputs = {w.payload(join, 1, TB_TYPE_INT4)};
    change(w);
    try {
      Program::parse(w.blob(TB_SINK_PROJECT));
      return true;
    } catch (const std::exception&) {
      return false;
    }
  };
  EXPECT_TRUE(parses([](ProgramWriter&) {}));
  EXPECT_FALSE(parses([](ProgramWriter& w) { w.joins[0].join_table = 0; }));
  EXPECT_FALSE(parses([](ProgramWriter& w) { w.joins[0].nkeys = 0; }));
  EXPECT_FALSE(parses([](ProgramWriter& w) { w.joins[0].flags = TB_JOIN_UNIQUE; }));
  EXPECT_FALSE(parses([](ProgramWriter& w) { w.columns[1].attnum = 2; }));
  EXPECT_FALSE(parses([](ProgramWriter& w) { w.columns[1].type = w.exprs[1].type = TB_TYPE_INT8; }));
  EXPECT_FALSE(parses([](ProgramWriter& w) { w.columns[0].type = w.exprs[0].type = TB_TYPE_INT8; }));
}

}  // namespace
}  // namespace turbine
