/*
 * entry_results_test.cc - a pipeline computes an expression over a text once for each entry of a dictionary, looks
 * later rows up, and gives the rows that it gives without results.
 */
#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "compiler/testing/compiled_pipeline.h"
#include "compiler/testing/growing_groups.h"
#include "engine/program/entry_results.h"
#include "engine/program/group_layout.h"
#include "engine/program/testing/noted_results.h"
#include "engine/program/testing/program_writer.h"
#include "rt/text_hash.h"

namespace turbine {
namespace {

using testing::CompiledPipeline;
using testing::GrowingGroups;
using testing::noted_results;
using testing::ParamWriter;
using testing::PipelineCall;
using testing::ProgramWriter;

constexpr uint32_t kTextRows = 2 * TB_TILE_ROWS + 5;
constexpr uint32_t kEntries = 100;

/* A column of numbers of a dictionary. */
struct DictionaryColumn {
  std::string bytes;
  std::vector<TbTextView> views;
  std::vector<uint8_t> numbers, valid;
  TbColumnCodes codes{};
  TbEntryResults results{};
  std::vector<uint8_t> records;
  std::vector<uint32_t> groups;

  explicit DictionaryColumn(const EntryResults& layout, uint32_t used = kEntries, bool nulls = true) {
    std::mt19937_64 random(17);
    for (uint32_t i = 0; i < kEntries; i++) {
      const std::string text = i == 0 ? "" : std::string(i % 11, 'x') + std::to_string(i * 7919);
      const auto length = static_cast<uint32_t>(text.size());
      views.push_back({length, rt::short_text_hash(text.data(), length), i + 1, static_cast<uint32_t>(bytes.size())});
      bytes += text;
    }
    for (uint32_t i = 0; i < kTextRows; i++) {
      numbers.push_back(static_cast<uint8_t>(random() % used));
      valid.push_back(!nulls || random() % 4 != 0);
    }
    numbers.resize(kTextRows + 4);
    codes = {0, 0xff, 0, ~uint32_t{0}, views.data(), 0};
    records.resize((kEntries + 1) * std::max(layout.record_size(0), 1u));
    groups.resize(kEntries + 1);
    results.views = views.data();
    results.results = records.data();
    results.groups = groups.data();
  }
  std::string text(uint32_t row) const {
    const TbTextView& view = views[numbers[row]];
    return bytes.substr(view.offset, view.length);
  }
  TbColumnData data() { return {numbers.data(), valid.data(), reinterpret_cast<const uint8_t*>(bytes.data())}; }
};

struct RowsOfText {
  std::vector<uint32_t> ids;
  uint32_t errors;
};

RowsOfText rows_of(const CompiledPipeline& code, DictionaryColumn& column, const std::string& params,
                   bool with_results) {
  const std::vector<TbColumnData> columns = {column.data()};
  PipelineCall call(columns, kTextRows, params);
  std::vector<uint32_t> numbers(kTextRows), out(kTextRows);
  for (uint32_t i = 0; i < kTextRows; i++) numbers[i] = i;
  call.args.codes = &column.codes;
  call.args.rowids = numbers.data();
  call.args.out_rowids = out.data();
  if (with_results) call.args.entry_results = &column.results;
  code.pipeline(&call.args);
  EXPECT_EQ(call.args.status, TB_PIPELINE_DONE);
  out.resize(call.args.nout);
  return {out, call.args.errors};
}

std::string text_params(const std::string& text) {
  ParamWriter p;
  p.text(text);
  return p.block();
}

TEST(EntryResultsCode, ALikeIsComputedOnceForEachEntry) {
  ProgramWriter w;
  w.filters = {w.call(TB_FN_LIKE_CONTAINS, {w.column(TB_TYPE_TEXT, true), w.param(TB_TYPE_TEXT)})};
  const CompiledPipeline code(w.blob(TB_SINK_ROWS));
  const std::string params = text_params("79");
  const EntryResults layout(code.program());
  DictionaryColumn column(layout, kEntries / 2);
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < kTextRows; i++)
    if (column.valid[i] && column.text(i).find("79") != std::string::npos) expected.push_back(i);
  ASSERT_FALSE(expected.empty());

  EXPECT_EQ(rows_of(code, column, params, false).ids, expected);
  EXPECT_EQ(rows_of(code, column, params, true).ids, expected);
  const uint64_t noted = noted_results(code.program(), 0, column.records);
  EXPECT_EQ(noted, kEntries / 2 + 1) << "those that rows have, and NULL";
  EXPECT_EQ(rows_of(code, column, params, true).ids, expected);

  // What is noted is believed.
  for (uint8_t& record : column.records)
    if (record == EntryResults::kTrue) record = EntryResults::kFalse;
  EXPECT_TRUE(rows_of(code, column, params, true).ids.empty());
}

TEST(EntryResultsCode, CodesOfOtherViewsNoteNothing) {
  ProgramWriter w;
  w.filters = {w.call(TB_FN_LIKE_CONTAINS, {w.column(TB_TYPE_TEXT, true), w.param(TB_TYPE_TEXT)})};
  const CompiledPipeline code(w.blob(TB_SINK_ROWS));
  const std::string params = text_params("79");
  const EntryResults layout(code.program());
  DictionaryColumn column(layout);
  const std::vector<uint32_t> expected = rows_of(code, column, params, false).ids;
  const std::vector<TbTextView> others = column.views;
  column.results.views = others.data();
  EXPECT_EQ(rows_of(code, column, params, true).ids, expected);
  const uint64_t noted = noted_results(code.program(), 0, column.records);
  EXPECT_EQ(noted, 0u);
  for (uint8_t byte : column.results.none) EXPECT_EQ(byte, 0u);
}

TEST(EntryResultsCode, WhatRaisesIsNotNoted) {
  ProgramWriter w;
  w.filters = {w.call(TB_FN_LIKE_GENERAL, {w.column(TB_TYPE_TEXT, true), w.param(TB_TYPE_TEXT)})};
  const CompiledPipeline code(w.blob(TB_SINK_ROWS));
  const std::string params = text_params("x_\\");
  const EntryResults layout(code.program());
  DictionaryColumn column(layout);
  for (int turn = 0; turn < 2; turn++) {
    EXPECT_NE(rows_of(code, column, params, true).errors, 0u);
    const uint64_t noted = noted_results(code.program(), 0, column.records);
    EXPECT_EQ(noted, 1u) << "NULL alone, which does not raise";
  }
}

TEST(EntryResultsCode, NullIsARecordOfItsOwn) {
  ProgramWriter w;
  const uint32_t text = w.column(TB_TYPE_TEXT, true);
  const uint32_t like = w.call(TB_FN_LIKE_PREFIX, {text, w.param(TB_TYPE_TEXT)});
  const uint32_t is_null = w.expr(TB_EXPR_IS_NULL, TB_TYPE_BOOL, 0, 0, {text});
  w.filters = {w.expr(TB_EXPR_OR, TB_TYPE_BOOL, 0, 0, {like, is_null})};
  const CompiledPipeline code(w.blob(TB_SINK_ROWS));
  DictionaryColumn column(EntryResults(code.program()));
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < kTextRows; i++)
    if (!column.valid[i] || column.text(i).starts_with("xx")) expected.push_back(i);
  for (int turn = 0; turn < 2; turn++)
    EXPECT_EQ(rows_of(code, column, text_params("xx"), true).ids, expected) << "turn " << turn;
}

/* Rows of a DISTINCT whose entry has become a group, in whatever thread's table, are passed over. */
TEST(EntryResultsCode, ADistinctTakesEachEntryOnce) {
  ProgramWriter w;
  w.keys = {w.column(TB_TYPE_TEXT, true)};
  const CompiledPipeline code(w.blob(TB_SINK_AGGREGATE));
  const EntryResults layout(code.program());
  ASSERT_TRUE(layout.seen());
  DictionaryColumn column(layout, kEntries / 2);
  const std::string params = ParamWriter().block();
  auto groups = [&](bool with_results) {
    GrowingGroups table(group_layout(code.program()).row_size, 4, 1);
    const std::vector<TbColumnData> columns = {column.data()};
    PipelineCall call(columns, kTextRows, params);
    call.args.groups = &table.t;
    call.args.make_room = GrowingGroups::make_room;
    call.args.codes = &column.codes;
    if (with_results) call.args.entry_results = &column.results;
    code.pipeline(&call.args);
    EXPECT_EQ(call.args.status, TB_PIPELINE_DONE);
    EXPECT_EQ(call.args.rows_passed, kTextRows);
    return table.t.ngroups;
  };
  EXPECT_EQ(groups(false), kEntries / 2 + 1);
  EXPECT_EQ(groups(true), kEntries / 2 + 1);
  EXPECT_EQ(groups(true), 0u) << "the first table has them all";
  column.records[1 + 7] = 0;
  EXPECT_EQ(groups(true), 1u);
}

/* GROUP BY x LIKE …, length(x): groups are found by entry, in the table that has them. */
TEST(EntryResultsCode, AnEntryHasOneGroup) {
  ProgramWriter w;
  const uint32_t text = w.column(TB_TYPE_TEXT, true);
  w.keys = {w.call(TB_FN_LIKE_PREFIX, {text, w.param(TB_TYPE_TEXT)}), w.call(TB_FN_TEXTLEN, {text})};
  w.aggregate(TB_AGG_COUNT);
  w.aggregate(TB_AGG_MAX, text);
  const CompiledPipeline code(w.blob(TB_SINK_AGGREGATE), false);
  const EntryResults layout(code.program());
  ASSERT_TRUE(layout.group_column());
  DictionaryColumn column(layout);
  std::map<std::pair<int, int>, int64_t> expected;  // -1: NULL
  for (uint32_t i = 0; i < kTextRows; i++) {
    const std::string text_of_row = column.text(i);
    if (column.valid[i])
      expected[{text_of_row.starts_with("xx"), static_cast<int>(text_of_row.size())}]++;
    else
      expected[{-1, -1}]++;
  }
  const GroupLayout rows = group_layout(code.program());
  const std::string params = text_params("xx");
  GrowingGroups table(rows.row_size, 4, 1);
  for (int turn = 1; turn <= 2; turn++) {
    const std::vector<TbColumnData> columns = {column.data()};
    PipelineCall call(columns, kTextRows, params);
    call.args.groups = &table.t;
    call.args.make_room = GrowingGroups::make_room;
    call.args.codes = &column.codes;
    call.args.entry_results = &column.results;
    code.pipeline(&call.args);
    EXPECT_EQ(call.args.status, TB_PIPELINE_DONE);
    ASSERT_EQ(table.t.ngroups, expected.size());
    for (uint64_t g = 0; g < table.t.ngroups; g++) {
      const uint8_t* row = table.t.rows + g * rows.row_size;
      int32_t length;
      int64_t count;
      memcpy(&length, row + rows.keys[1].value_offset, sizeof length);
      memcpy(&count, row + rows.states[0].value_offset, sizeof count);
      const bool valid = row[rows.keys[1].valid_offset] != 0;
      const std::pair<int, int> key = valid ? std::pair<int, int>(row[rows.keys[0].value_offset], length)
                                            : std::pair(-1, -1);
      EXPECT_EQ(count, turn * expected.at(key));
    }
  }
  uint32_t noted = 0;
  for (uint32_t group : column.groups) noted += group != 0 ? 1 : 0;
  EXPECT_EQ(noted, kEntries + 1);
}

TEST(EntryResultsCode, AnExtremeTakesEachEntryOnce) {
  ProgramWriter w;
  const uint32_t text = w.column(TB_TYPE_TEXT, true);
  w.aggregate(TB_AGG_MIN, text);
  w.aggregate(TB_AGG_MAX, text);
  const CompiledPipeline code(w.blob(TB_SINK_AGGREGATE), false);
  DictionaryColumn column(EntryResults(code.program()), kEntries / 2);
  std::string least, greatest;
  for (uint32_t i = 0; i < kTextRows; i++) {
    if (!column.valid[i]) continue;
    const std::string text_of_row = column.text(i);
    least = greatest.empty() ? text_of_row : std::min(least, text_of_row);
    greatest = std::max(greatest, text_of_row);
  }
  const GroupLayout layout = group_layout(code.program());
  for (int turn = 0; turn < 2; turn++) {
    GrowingGroups table(layout.row_size, 1, 1);
    memset(table.t.rows, 0, layout.row_size);
    const std::vector<TbColumnData> columns = {column.data()};
    const std::string params = ParamWriter().block();
    PipelineCall call(columns, kTextRows, params);
    call.args.groups = &table.t;
    call.args.make_room = GrowingGroups::make_room;
    call.args.codes = &column.codes;
    call.args.entry_results = &column.results;
    code.pipeline(&call.args);
    for (size_t i = 0; i < 2; i++) {
      TbGroupText found;
      memcpy(&found, table.t.rows + layout.states[i].value_offset, sizeof found);
      ASSERT_EQ(table.t.rows[layout.states[i].valid_offset], turn == 0) << "the first run has seen all entries";
      if (turn != 0) continue;
      const std::string text_found(reinterpret_cast<const char*>(table.t.arena) + found.offset, found.length);
      EXPECT_EQ(text_found, i == 0 ? least : greatest);
    }
  }
}

/* sum(length(x)), count(length(x)) FILTER (WHERE x LIKE …): words and bytes in one record. */
TEST(EntryResultsCode, IntegersAreNotedAsWords) {
  ProgramWriter w;
  const uint32_t text = w.column(TB_TYPE_TEXT, true), length = w.call(TB_FN_TEXTLEN, {text});
  w.aggregate(TB_AGG_SUM_INT, length);
  w.aggregate(TB_AGG_COUNT, length, w.call(TB_FN_LIKE_PREFIX, {text, w.param(TB_TYPE_TEXT)}));
  const CompiledPipeline code(w.blob(TB_SINK_AGGREGATE));
  DictionaryColumn column(EntryResults(code.program()));
  int64_t sum = 0, count = 0;
  for (uint32_t i = 0; i < kTextRows; i++) {
    if (!column.valid[i]) continue;
    sum += static_cast<int64_t>(column.text(i).size());
    count += column.text(i).starts_with("xx") ? 1 : 0;
  }
  const GroupLayout layout = group_layout(code.program());
  const std::string params = text_params("xx");
  for (int turn = 0; turn < 2; turn++) {
    GrowingGroups table(layout.row_size, 1, 1);
    memset(table.t.rows, 0, layout.row_size);
    const std::vector<TbColumnData> columns = {column.data()};
    PipelineCall call(columns, kTextRows, params);
    call.args.groups = &table.t;
    call.args.make_room = GrowingGroups::make_room;
    call.args.codes = &column.codes;
    call.args.entry_results = &column.results;
    code.pipeline(&call.args);
    int64_t found[2];
    memcpy(&found[0], table.t.rows + layout.states[0].value_offset, sizeof found[0]);
    memcpy(&found[1], table.t.rows + layout.states[1].value_offset, sizeof found[1]);
    EXPECT_EQ(found[0], sum) << "turn " << turn;
    EXPECT_EQ(found[1], count) << "turn " << turn;
  }
}

}  // namespace
}  // namespace turbine
