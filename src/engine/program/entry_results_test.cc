/*
 * entry_results_test.cc - which expressions have results by entry, and that their places do not overlap.
 */
#include "engine/program/entry_results.h"

#include <gtest/gtest.h>

#include "engine/program/testing/program_writer.h"
#include "turbine/kernel.h"

namespace turbine {
namespace {

using testing::ProgramWriter;

EntryResults results_of(const ProgramWriter& w) { return EntryResults(Program::parse(w.blob())); }

TEST(EntryResults, TheLargestExpressionOfOneTextHasAPlace) {
  ProgramWriter w;
  const uint32_t text = w.column(TB_TYPE_TEXT, true), pattern = w.param(TB_TYPE_TEXT);
  const uint32_t like = w.call(TB_FN_LIKE_CONTAINS, {text, pattern}), equal = w.call(TB_FN_TEXTEQ, {text, pattern});
  const uint32_t either = w.expr(TB_EXPR_OR, TB_TYPE_BOOL, 0, 0, {like, equal});
  w.filters = {either};
  const EntryResults results = results_of(w);
  EXPECT_FALSE(results.empty());
  EXPECT_TRUE(results.place(either));
  EXPECT_FALSE(results.place(like));
  EXPECT_FALSE(results.place(equal));
  EXPECT_EQ(results.record_size(0), 1u);
}

TEST(EntryResults, OperandsOfWhatReadsOtherColumnsHavePlaces) {
  ProgramWriter w;
  const uint32_t a = w.column(TB_TYPE_TEXT), b = w.column(TB_TYPE_TEXT), n = w.column(TB_TYPE_INT4);
  const uint32_t pattern = w.param(TB_TYPE_TEXT);
  const uint32_t of_a = w.call(TB_FN_LIKE_CONTAINS, {a, pattern}), of_b = w.call(TB_FN_TEXTEQ, {b, pattern});
  const uint32_t length = w.call(TB_FN_TEXTLEN, {a});
  const uint32_t long_enough = w.call(TB_FN_INT4GT, {length, n}), both = w.call(TB_FN_TEXTEQ, {a, b});
  w.filters = {w.expr(TB_EXPR_OR, TB_TYPE_BOOL, 0, 0, {of_a, of_b, long_enough, both})};
  const EntryResults results = results_of(w);
  EXPECT_FALSE(results.place(w.filters[0]));
  EXPECT_FALSE(results.place(both)) << "two columns";
  EXPECT_FALSE(results.place(long_enough)) << "two columns";
  ASSERT_TRUE(results.place(of_a));
  ASSERT_TRUE(results.place(of_b));
  ASSERT_TRUE(results.place(length));
  EXPECT_EQ(results.place(of_b)->column, 1u);
  EXPECT_EQ(results.place(length)->offset, 0u) << "words first";
  EXPECT_EQ(results.place(of_a)->offset, 8u);
  EXPECT_EQ(results.record_size(0), 16u) << "so that the next record's word is aligned";
  EXPECT_EQ(results.record_size(1), 1u);
  EXPECT_EQ(results.record_size(2), 0u);
}

TEST(EntryResults, NoPlaceForWhatReadsNoTextOrIsOne) {
  ProgramWriter w;
  const uint32_t text = w.column(TB_TYPE_TEXT, true), param = w.param(TB_TYPE_TEXT);
  const uint32_t is_null = w.expr(TB_EXPR_IS_NULL, TB_TYPE_BOOL, 0, 0, {text});
  const uint32_t constant = w.call(TB_FN_TEXTEQ, {param, param});
  w.filters = {is_null, constant};
  w.aggregate(TB_AGG_COUNT, text);
  w.sink = TB_SINK_AGGREGATE;
  EXPECT_TRUE(results_of(w).empty());
}

TEST(EntryResults, KeysThatAreFunctionsOfOneTextHaveAGroupForEachEntry) {
  ProgramWriter w;
  const uint32_t number = w.column(TB_TYPE_INT4), text = w.column(TB_TYPE_TEXT, true), other = w.column(TB_TYPE_TEXT);
  const uint32_t length = w.call(TB_FN_TEXTLEN, {text}), constant = w.param(TB_TYPE_INT4);
  w.aggregate(TB_AGG_COUNT);
  w.sink = TB_SINK_AGGREGATE;
  auto column_of = [&](std::vector<uint32_t> keys) {
    ProgramWriter grouped = w;
    grouped.keys = std::move(keys);
    return results_of(grouped).group_column();
  };
  EXPECT_EQ(column_of({text}), 1u);
  EXPECT_EQ(column_of({length, text, constant}), 1u);
  EXPECT_EQ(column_of({text, other}), std::nullopt);
  EXPECT_EQ(column_of({text, number}), std::nullopt);
  EXPECT_EQ(column_of({constant}), std::nullopt);
  EXPECT_EQ(column_of({}), std::nullopt);
}

TEST(EntryResults, ArgumentsAndFiltersOfAggregatesHavePlaces) {
  ProgramWriter w;
  const uint32_t text = w.column(TB_TYPE_BPCHAR), param = w.param(TB_TYPE_BPCHAR);
  const uint32_t filter = w.call(TB_FN_BPCHAREQ, {text, param});
  w.aggregate(TB_AGG_COUNT, TB_NONE, filter);
  w.sink = TB_SINK_AGGREGATE;
  EXPECT_TRUE(results_of(w).place(filter));
}

TEST(EntryResults, ADistinctOfOneTextNotesWhatWasSeen) {
  ProgramWriter w;
  const uint32_t text = w.column(TB_TYPE_TEXT, true), number = w.column(TB_TYPE_INT4);
  w.filters = {w.call(TB_FN_TEXTNE, {text, w.param(TB_TYPE_TEXT)})};
  w.keys = {text};
  w.sink = TB_SINK_AGGREGATE;
  const EntryResults results = results_of(w);
  ASSERT_TRUE(results.seen());
  EXPECT_NE(results.seen()->offset, results.place(w.filters[0])->offset);
  EXPECT_EQ(results.record_size(0), 2u);
  ProgramWriter two = w, with_count = w;
  two.keys.push_back(number);
  EXPECT_FALSE(results_of(two).seen());
  with_count.aggregate(TB_AGG_COUNT);
  EXPECT_FALSE(results_of(with_count).seen());
}

TEST(EntryResults, ExtremesOfOneTextNoteWhatWasSeen) {
  ProgramWriter w;
  const uint32_t text = w.column(TB_TYPE_TEXT, true);
  w.aggregate(TB_AGG_MIN, text);
  w.aggregate(TB_AGG_MAX, text);
  w.sink = TB_SINK_AGGREGATE;
  EXPECT_TRUE(results_of(w).seen());
  ProgramWriter counts = w, grouped = w, filtered = w;
  counts.aggregate(TB_AGG_COUNT);
  EXPECT_FALSE(results_of(counts).seen());
  grouped.keys = {text};
  EXPECT_FALSE(results_of(grouped).seen());
  filtered.aggregate(TB_AGG_MIN, text, filtered.expr(TB_EXPR_IS_NULL, TB_TYPE_BOOL, 0, 0, {text}));
  EXPECT_FALSE(results_of(filtered).seen());
}

TEST(EntryResults, JoinsWhoseKeysAreFunctionsOfOneTextHaveAMatchForEachEntry) {
  ProgramWriter w;
  const uint32_t number = w.column(TB_TYPE_INT4), text = w.column(TB_TYPE_TEXT, true), other = w.column(TB_TYPE_TEXT);
  const uint32_t length = w.call(TB_FN_TEXTLEN, {text}), constant = w.param(TB_TYPE_INT4);
  auto place_of = [&](std::vector<uint32_t> keys) {
    ProgramWriter joined = w;
    joined.join(TB_JOIN_INNER, std::move(keys), 0);
    joined.sink = TB_SINK_AGGREGATE;
    joined.aggregate(TB_AGG_COUNT);
    return results_of(joined).match(0);
  };
  ASSERT_TRUE(place_of({text}));
  EXPECT_EQ(place_of({text})->column, 1u);
  EXPECT_EQ(place_of({text})->width, 8u);
  EXPECT_TRUE(place_of({length, text}));
  EXPECT_TRUE(place_of({text, constant}));
  EXPECT_FALSE(place_of({length})) << "a table of numbers may be no hash table";
  EXPECT_FALSE(place_of({text, number}));
  EXPECT_FALSE(place_of({text, other}));
}

TEST(EntryResults, MatchesLieBesideOtherResults) {
  ProgramWriter w;
  const uint32_t text = w.column(TB_TYPE_TEXT, true), length = w.call(TB_FN_TEXTLEN, {text});
  w.filters = {w.call(TB_FN_TEXTNE, {text, w.param(TB_TYPE_TEXT)})};
  w.join(TB_JOIN_INNER, {text}, 0);
  w.join(TB_JOIN_SEMI, {text, length}, 0);
  w.aggregate(TB_AGG_MAX, length);
  w.sink = TB_SINK_AGGREGATE;
  const EntryResults results = results_of(w);
  std::vector<bool> taken(TB_MAX_ENTRY_RECORD);
  for (const auto& place : {results.match(0), results.match(1), results.place(w.filters[0]), results.place(length)}) {
    ASSERT_TRUE(place);
    EXPECT_EQ(place->offset % place->width, 0u);
    for (uint32_t i = 0; i < place->width; i++) {
      EXPECT_FALSE(taken.at(place->offset + i));
      taken[place->offset + i] = true;
    }
  }
  EXPECT_EQ(results.record_size(0), 32u);
}

TEST(EntryResults, WhatFindsNoRoomHasNoPlace) {
  ProgramWriter w;
  const uint32_t text = w.column(TB_TYPE_TEXT);
  for (uint32_t i = 0; i < TB_MAX_ENTRY_RECORD + 3; i++)
    w.filters.push_back(w.call(TB_FN_TEXTEQ, {text, w.param(TB_TYPE_TEXT)}));
  const EntryResults results = results_of(w);
  EXPECT_EQ(results.record_size(0), TB_MAX_ENTRY_RECORD);
  std::vector<bool> taken(TB_MAX_ENTRY_RECORD);
  uint32_t places = 0;
  for (uint32_t filter : w.filters) {
    const auto place = results.place(filter);
    if (!place) continue;
    EXPECT_FALSE(taken.at(place->offset));
    taken[place->offset] = true;
    places++;
  }
  EXPECT_EQ(places, TB_MAX_ENTRY_RECORD);
}

}  // namespace
}  // namespace turbine
