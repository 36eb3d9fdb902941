/*
 * host_entry_results_test.cc - tables of results grow with their dictionary, belong to it alone, and are missing if
 * there is no memory.
 */
#include "engine/device/host/host_entry_results.h"

#include <gtest/gtest.h>

#include <string>

#include "engine/program/testing/program_writer.h"
#include "engine/store/column_codes.h"

namespace turbine {
namespace {

using testing::ProgramWriter;

/* Column 0 is a number; column 1 a text with a filter. */
Program program_of_text() {
  ProgramWriter w;
  w.column(TB_TYPE_INT4);
  w.filters = {w.call(TB_FN_TEXTEQ, {w.column(TB_TYPE_TEXT), w.param(TB_TYPE_TEXT)})};
  return Program::parse(w.blob());
}

/* A stored column of texts `first`..`first + count`. */
std::shared_ptr<const StoredColumn> column_of(const std::shared_ptr<TextDictionary>& dictionary, uint32_t first,
                                              uint32_t count) {
  std::string bytes;
  std::vector<TbTextView> views;
  for (uint32_t i = first; i < first + count; i++) {
    const std::string text = "text " + std::to_string(i);
    views.push_back({static_cast<uint32_t>(text.size()), 0, 0, static_cast<uint32_t>(bytes.size())});
    bytes += text;
  }
  std::vector<int32_t> codes(count);
  ColumnOrigin texts{};
  texts.values = reinterpret_cast<const uint8_t*>(views.data());
  texts.text = reinterpret_cast<const uint8_t*>(bytes.data());
  EXPECT_TRUE(dictionary->encode({&texts, 0, count, 0}, codes.data()));
  ColumnOrigin numbers{};
  numbers.values = reinterpret_cast<const uint8_t*>(codes.data());
  const ColumnPiece pieces[] = {{&numbers, 0, count, 0}};
  return encode_texts(dictionary, false, count, pieces);
}

TEST(HostEntryResults, ATableGrowsWithItsDictionary) {
  const Program program = program_of_text();
  HostEntryResults results(program, HostEntryResults::most_bytes(program, 2));
  ASSERT_FALSE(results.empty());
  const auto dictionary = std::make_shared<TextDictionary>();
  const auto few = column_of(dictionary, 0, 10);
  TbEntryResults found{};
  results.find(0, 1, *few, &found);
  EXPECT_EQ(found.views, dictionary->views());
  ASSERT_NE(found.results, nullptr);
  uint8_t* const first = found.results;
  first[10] = 2;
  results.find(0, 1, *few, &found);
  EXPECT_EQ(found.results, first);

  const auto many = column_of(dictionary, 0, 20000);
  results.find(0, 1, *many, &found);
  ASSERT_NE(found.results, first);
  for (uint32_t i = 0; i <= 20000; i++) ASSERT_EQ(found.results[i], 0u);
  EXPECT_EQ(first[10], 2u) << "somebody may still look there";
  DeviceQueryStats stats;
  results.count(&stats);
  EXPECT_EQ(stats.dictionaries, 1u);
  EXPECT_EQ(stats.dictionary_entries, 20000u);
}

TEST(HostEntryResults, LargeDictionariesHaveNone) {
  const Program program = program_of_text();
  HostEntryResults results(program, HostEntryResults::most_bytes(program, 2));
  const auto dictionary = std::make_shared<TextDictionary>();
  constexpr uint32_t kMost = EntryResultTables<HostBuffer>::kMostEntries;
  TbEntryResults found{};
  results.find(0, 1, *column_of(dictionary, 0, kMost), &found);
  EXPECT_NE(found.results, nullptr);
  results.find(0, 1, *column_of(dictionary, kMost, 1), &found);
  EXPECT_EQ(found.results, nullptr);
  EXPECT_EQ(found.views, nullptr);
}

TEST(HostEntryResults, EachDictionaryHasItsOwn) {
  HostEntryResults results(program_of_text(), uint64_t{1} << 20);
  const auto a = std::make_shared<TextDictionary>(), b = std::make_shared<TextDictionary>();
  TbEntryResults of_a{}, of_b{};
  results.find(0, 1, *column_of(a, 0, 10), &of_a);
  results.find(0, 1, *column_of(b, 0, 10), &of_b);
  EXPECT_NE(of_a.results, of_b.results);
  EXPECT_EQ(of_b.views, b->views());
}

TEST(HostEntryResults, NoneForOtherColumnsAndWithoutMemory) {
  HostEntryResults poor(program_of_text(), 0);
  const auto dictionary = std::make_shared<TextDictionary>();
  const auto texts = column_of(dictionary, 0, 10);
  TbEntryResults found{};
  for (int turn = 0; turn < 2; turn++) {
    poor.find(0, 1, *texts, &found);
    EXPECT_EQ(found.views, nullptr);
    EXPECT_EQ(found.results, nullptr);
  }
  HostEntryResults results(program_of_text(), uint64_t{1} << 20);
  results.find(0, 0, *texts, &found);
  EXPECT_EQ(found.views, nullptr) << "no expression reads column 0";
}

}  // namespace
}  // namespace turbine
