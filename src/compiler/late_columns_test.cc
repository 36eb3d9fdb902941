/*
 * late_columns_test.cc - a pipeline reads the same rows from codes as from values, and says of
 * which columns it does.
 */
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <map>
#include <random>
#include <vector>

#include "compiler/testing/compiled_pipeline.h"
#include "compiler/testing/growing_groups.h"
#include "engine/program/group_layout.h"
#include "engine/program/testing/program_writer.h"
#include "rt/text_hash.h"

namespace turbine {
namespace {

using testing::CompiledPipeline;
using testing::GrowingGroups;
using testing::ParamWriter;
using testing::PipelineCall;
using testing::ProgramWriter;

constexpr uint32_t kRows = 3 * TB_TILE_ROWS + 7;

/* A column of one type in both forms; NULLs in the coded one too, or none, and then one byte tells. */
struct BothForms {
  std::vector<uint8_t> values, valid, elements;
  TbColumnCodes codes{};

  template <class T>
  static BothForms draw(uint32_t width, T base, bool nulls, std::mt19937_64& random) {
    BothForms column;
    const uint64_t mask = width == 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * width) - 1;
    column.codes = {static_cast<int64_t>(base), mask, width == 8 ? 3 : width / 2, nulls ? ~uint32_t{0} : 0};
    column.values.resize(kRows * sizeof(T));
    column.elements.resize(kRows * std::max<size_t>(width, 1) + sizeof(T));
    for (uint32_t i = 0; i < kRows; i++) {
      const uint64_t code = random() & mask;
      const T value = static_cast<T>(static_cast<uint64_t>(base) + code);
      memcpy(&column.values[i * sizeof(T)], &value, sizeof(T));
      memcpy(&column.elements[i * width], &code, width);
      column.valid.push_back(!nulls || random() % 3 != 0);
    }
    return column;
  }
  TbColumnData plain() { return {values.data(), valid.data(), nullptr}; }
  TbColumnData coded() { return {elements.data(), valid.data(), nullptr}; }
};

struct Outcome {
  std::vector<uint8_t> rows;
  uint64_t passed;
  bool operator==(const Outcome&) const = default;
};

Outcome run(const CompiledPipeline& code, const std::vector<TbColumnData>& columns, const TbColumnCodes* codes,
            const std::string& params) {
  const GroupLayout layout = group_layout(code.program());
  GrowingGroups table(layout.row_size, 4, 1);
  PipelineCall call(columns, kRows, params);
  call.args.groups = &table.t;
  call.args.make_room = GrowingGroups::make_room;
  call.args.codes = codes;
  code.pipeline(&call.args);
  EXPECT_EQ(call.args.status, TB_PIPELINE_DONE);
  EXPECT_EQ(call.args.errors, 0u);
  return {{table.t.rows, table.t.rows + table.t.ngroups * layout.row_size}, call.args.rows_passed};
}

TEST(LateColumns, CodesOfEachTypeAndWidthAreTheirValues) {
  ProgramWriter w;
  const uint32_t a = w.column(TB_TYPE_INT4, true), k = w.column(TB_TYPE_INT2, true), i = w.column(TB_TYPE_INT4, true),
                 n = w.column(TB_TYPE_NUM64, true), f = w.column(TB_TYPE_FLOAT8, true);
  w.filters = {w.call(TB_FN_INT4LT, {a, w.param(TB_TYPE_INT4)})};
  w.keys = {k};
  w.aggregate(TB_AGG_SUM_INT, i);
  w.aggregate(TB_AGG_SUM_WIDE, n);
  w.aggregate(TB_AGG_MAX, f);
  w.aggregate(TB_AGG_COUNT, i);
  const CompiledPipeline code(w.blob(TB_SINK_AGGREGATE));
  ASSERT_NE(code.late_columns, nullptr);
  EXPECT_EQ(code.late_columns[0], 0b11110u) << "all but the filter's";

  ParamWriter p;
  const int32_t limit = 0;
  p.scalar(&limit, 4);
  const std::string params = p.block();
  std::mt19937_64 random(11);
  const uint32_t of_shorts[] = {0, 1, 2}, of_ints[] = {0, 1, 2, 4}, of_longs[] = {0, 1, 2, 4, 8};
  for (int round = 0; round < 40; round++) {
    const bool nulls = round % 2 != 0;
    BothForms columns[] = {
        BothForms::draw<int32_t>(4, 0, nulls, random),
        BothForms::draw<int16_t>(of_shorts[round % 3], -7, nulls, random),
        BothForms::draw<int32_t>(of_ints[round % 4], -100000, nulls, random),
        BothForms::draw<int64_t>(of_longs[round % 5], -(int64_t{1} << 40), nulls, random),
        BothForms::draw<int64_t>(of_longs[random() % 4], std::numeric_limits<int64_t>::min(), nulls, random),
    };
    std::vector<TbColumnData> plain, coded;
    std::vector<TbColumnCodes> codes;
    for (BothForms& column : columns) {
      plain.push_back(column.plain());
      coded.push_back(column.coded());
      codes.push_back(column.codes);
    }
    coded[0] = plain[0];
    const Outcome expected = run(code, plain, nullptr, params);
    EXPECT_GT(expected.passed, 0u);
    EXPECT_TRUE(run(code, coded, codes.data(), params) == expected) << "round " << round;
  }
}

/* Groups of texts, by their bytes. */
std::map<std::string, int64_t> counts_of(const CompiledPipeline& code, const TbColumnData& column,
                                         const TbColumnCodes* codes, const uint8_t* bytes, const std::string& params,
                                         GrowingGroups& table) {
  const GroupLayout layout = group_layout(code.program());
  const std::vector<TbColumnData> columns = {column};
  PipelineCall call(columns, kRows, params);
  call.args.groups = &table.t;
  call.args.make_room = GrowingGroups::make_room;
  call.args.codes = codes;
  call.args.bytes = bytes;
  code.pipeline(&call.args);
  EXPECT_EQ(call.args.status, TB_PIPELINE_DONE);
  std::map<std::string, int64_t> counts;
  for (uint64_t g = 0; g < table.t.ngroups; g++) {
    const uint8_t* row = table.t.rows + g * layout.row_size;
    TbGroupText text;
    int64_t count;
    memcpy(&text, row + layout.keys[0].value_offset, sizeof text);
    memcpy(&count, row + layout.states[0].value_offset, sizeof count);
    const auto* arena = reinterpret_cast<const char*>(table.t.arena);
    const std::string key = row[layout.keys[0].valid_offset] ? "'" + std::string(arena + text.offset, text.length)
                                                             : "null";
    EXPECT_EQ(counts.count(key), 0u) << key;
    counts[key] = count;
  }
  return counts;
}

/* Texts with and without ids, and ids of two dictionaries, come to one table in turn. */
TEST(LateColumns, TextsOfDictionariesAndPlainOnesAreTheSameGroups) {
  ProgramWriter w;
  w.keys = {w.column(TB_TYPE_TEXT, true)};
  w.aggregate(TB_AGG_COUNT);
  const CompiledPipeline code(w.blob(TB_SINK_AGGREGATE));
  EXPECT_EQ(code.late_columns[0], 1u);
  const std::string params = ParamWriter().block();
  std::mt19937_64 random(5);
  std::string bytes;
  std::vector<TbTextView> plain, first, second;
  for (uint32_t i = 0; i < 200; i++) {
    const std::string word = i == 0 ? "" : std::to_string(i * i * 7919) + (i % 3 ? "" : " and more than eight bytes");
    const TbTextView view{static_cast<uint32_t>(word.size()), 0, 0, static_cast<uint32_t>(bytes.size())};
    bytes += word;
    plain.push_back(view);
    first.push_back(view);
    first.back().prefix = rt::short_text_hash(word.data(), view.length);
    second.push_back(first.back());
    first.back().id = i + 1;
    second.back().id = i + 1001;
  }
  const auto* base = reinterpret_cast<const uint8_t*>(bytes.data());
  std::vector<uint8_t> numbers(kRows + 4), valid;
  std::vector<TbTextView> views;
  std::map<std::string, int64_t> expected;
  for (uint32_t i = 0; i < kRows; i++) {
    const auto number = static_cast<uint8_t>(random() % plain.size());
    numbers[i] = number;
    valid.push_back(random() % 5 != 0);
    views.push_back(valid[i] ? plain[number] : TbTextView{77, 77, 77, 77});
    expected[valid[i] ? "'" + bytes.substr(plain[number].offset, plain[number].length) : "null"]++;
  }
  GrowingGroups table(group_layout(code.program()).row_size, 4, 1);
  int turns = 0;
  for (const std::vector<TbTextView>* dictionary : {&first, &second, &first}) {
    const TbColumnCodes codes{0, 0xff, 0, ~uint32_t{0}, dictionary->data(), 0};
    const auto coded = counts_of(code, {numbers.data(), valid.data(), base}, &codes, nullptr, params, table);
    for (const auto& [key, count] : expected) EXPECT_EQ(coded.at(key), (2 * turns + 1) * count) << key;
    const auto both = counts_of(code, {views.data(), valid.data(), nullptr}, nullptr, base, params, table);
    turns++;
    EXPECT_EQ(both.size(), expected.size());
    for (const auto& [key, count] : expected) EXPECT_EQ(both.at(key), 2 * turns * count) << key;
  }
}

TEST(LateColumns, WhatALoopOverAllRowsReadsIsNotLate) {
  ProgramWriter fused;
  const uint32_t a = fused.column(TB_TYPE_INT4), b = fused.column(TB_TYPE_INT4);
  fused.filters = {fused.call(TB_FN_INT4LT, {a, fused.param(TB_TYPE_INT4)})};
  fused.aggregate(TB_AGG_SUM_INT, b);
  EXPECT_EQ(CompiledPipeline(fused.blob(TB_SINK_AGGREGATE)).late_columns[0], 0u);

  ProgramWriter unfiltered;
  unfiltered.keys = {unfiltered.column(TB_TYPE_INT4)};
  unfiltered.aggregate(TB_AGG_COUNT);
  EXPECT_EQ(CompiledPipeline(unfiltered.blob(TB_SINK_AGGREGATE)).late_columns[0], 0u);

  ProgramWriter joined;
  const uint32_t key = joined.column(TB_TYPE_INT4), other = joined.column(TB_TYPE_INT8);
  joined.column(TB_TYPE_TEXT);
  joined.join(TB_JOIN_SEMI, {key}, 0);
  joined.keys = {other};
  joined.aggregate(TB_AGG_SUM_INT, key);
  EXPECT_EQ(CompiledPipeline(joined.blob(TB_SINK_AGGREGATE)).late_columns[0], 0b110u) << "the first join's keys";
}

}  // namespace
}  // namespace turbine
