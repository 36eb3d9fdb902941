/* segment_merge_test.cc - random blocks in random order, against a model that keeps every value by block. */
#include "engine/store/segment_merge.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <string>

#include "engine/store/column_codes.h"
#include "engine/store/segment_delta.h"

namespace turbine {
namespace {

constexpr uint32_t kColumns = 3;  // numbers 0: int4; 1: int8, nullable; 2: text, nullable

using Value = std::optional<std::string>;
using Rows = std::vector<std::array<Value, kColumns>>;

/* What a page of this LSN holds: any two of the same LSN are equal. */
Rows rows_of_page(uint32_t block, uint64_t lsn) {
  std::mt19937_64 random(block * 1000003 + lsn);
  Rows rows(random() % 5);
  for (auto& row : rows) {
    // Some pages have values that need few bytes.
    row[0] = std::to_string(static_cast<int32_t>(lsn % 3 ? random() % 300 : random()));
    if (random() % 4) row[1] = std::to_string(static_cast<int64_t>(lsn % 3 ? random() % 70000 : random()));
    if (random() % 4) row[2] = std::string(random() % 30, static_cast<char>('a' + random() % 26));
  }
  return rows;
}

/* Arrays as decoding leaves them, with rows of nobody between the blocks. */
struct Batch {
  std::vector<int32_t> ints;
  std::vector<int64_t> longs;
  std::vector<uint8_t> long_valid, view_valid;
  std::vector<TbTextView> views;
  std::vector<int32_t> codes;
  std::string bytes = "xx";
  DecodedBlocks blocks;

  void push(const std::array<Value, kColumns>& row) {
    ints.push_back(std::stoi(*row[0]));
    longs.push_back(row[1] ? std::stoll(*row[1]) : 99);
    long_valid.push_back(row[1].has_value());
    TbTextView view{77, 77, 77, 77};
    if (row[2]) {
      view = {static_cast<uint32_t>(row[2]->size()), 0, 0, static_cast<uint32_t>(bytes.size())};
      bytes += *row[2];
    }
    views.push_back(view);
    view_valid.push_back(row[2].has_value());
  }
  /* `dictionary`: of the text, or null. `coded`: texts come as its numbers, if all have one. */
  void finish(uint32_t columns, std::shared_ptr<TextDictionary> dictionary, bool coded = false) {
    if (columns & 1) blocks.columns.push_back({0, TB_TYPE_INT4, false, {ints.data(), nullptr, nullptr}});
    if (columns & 2) blocks.columns.push_back({1, TB_TYPE_INT8, true, {longs.data(), long_valid.data(), nullptr}});
    const auto* texts = reinterpret_cast<const uint8_t*>(bytes.data());
    codes.resize(views.size());
    const ColumnOrigin origin{reinterpret_cast<const uint8_t*>(views.data()), view_valid.data(), texts};
    coded = coded && dictionary &&
            dictionary->encode({&origin, 0, static_cast<uint32_t>(views.size()), 0}, codes.data());
    if (coded && columns & 4)
      blocks.columns.push_back(
          {2, TB_TYPE_TEXT, true, {codes.data(), view_valid.data(), nullptr}, std::move(dictionary), true});
    else if (columns & 4)
      blocks.columns.push_back(
          {2, TB_TYPE_TEXT, true, {views.data(), view_valid.data(), texts}, std::move(dictionary)});
  }
};

Value stored_value(const TbColumnData& column, uint32_t number, uint32_t row) {
  if (column.valid && !column.valid[row]) return std::nullopt;
  if (number == 0) return std::to_string(static_cast<const int32_t*>(column.values)[row]);
  if (number == 1) return std::to_string(static_cast<const int64_t*>(column.values)[row]);
  const TbTextView view = static_cast<const TbTextView*>(column.values)[row];
  return std::string(reinterpret_cast<const char*>(column.bytes) + view.offset, view.length);
}

/* What the store should have: by block its page's LSN, and which columns. */
struct Model {
  struct Block {
    uint64_t page_lsn;
    uint32_t columns;
    bool good;
  };
  uint64_t map_lsn = 0;
  std::map<uint32_t, Block> blocks;

  void add(uint64_t lsn, const std::map<uint32_t, uint64_t>& pages, uint32_t columns) {
    if (lsn != map_lsn)
      for (auto& [number, block] : blocks) block.good = false;
    map_lsn = lsn;
    for (const auto& [number, page_lsn] : pages) {
      const auto old = blocks.find(number);
      const bool same = old != blocks.end() && old->second.page_lsn == page_lsn;
      blocks[number] = {page_lsn, columns | (same ? old->second.columns : 0), true};
    }
  }
};

void expect_equal(const Segment& segment, const Model& model, int round) {
  EXPECT_EQ(segment.map_lsn, model.map_lsn) << round;
  // Under NULL, and in rows of blocks that a column does not have, too.
  for (const Segment::Column& column : segment.columns) {
    if (!column.data->dictionary()) continue;
    std::vector<int32_t> codes(segment.nrows());
    decode_entries(*column.data, 0, segment.nrows(), codes.data());
    for (const int32_t code : codes)
      ASSERT_LT(static_cast<uint32_t>(code), std::max(1u, column.data->dictionary()->entries())) << round;
  }
  for (uint32_t i = 0; i < TB_SEGMENT_BLOCKS; i++) {
    const auto block = model.blocks.find(i);
    ASSERT_EQ(segment.blocks >> i & 1, block != model.blocks.end() ? 1u : 0u) << round << " " << i;
    if (block == model.blocks.end()) {
      ASSERT_EQ(segment.rows_of(i), 0u);
      continue;
    }
    const Rows rows = rows_of_page(i, block->second.page_lsn);
    ASSERT_EQ(segment.good >> i & 1, block->second.good ? 1u : 0u) << round << " " << i;
    ASSERT_EQ(segment.page_lsn[i], block->second.page_lsn);
    ASSERT_EQ(segment.rows_of(i), rows.size());
    for (uint32_t c = 0; c < kColumns; c++) {
      const Segment::Column* column = segment.find(c);
      const bool has = column && (column->blocks >> i & 1);
      ASSERT_EQ(has, (block->second.columns >> c & 1) != 0) << round << " block " << i << " column " << c;
      if (!has) continue;
      std::vector<uint64_t> room(2 * segment.nrows() + 1);
      const TbColumnData data = decode_column(*column->data, segment.row_start[i], segment.row_start[i + 1],
                                              room.data());
      for (uint32_t row = 0; row < rows.size(); row++) {
        ASSERT_EQ(stored_value(data, c, segment.row_start[i] + row), rows[row][c]) << round;
        if (!column->zone.known || !rows[row][c]) continue;
        ASSERT_GE(std::stoll(*rows[row][c]), column->zone.least) << round;
        ASSERT_LE(std::stoll(*rows[row][c]), column->zone.greatest) << round;
      }
    }
  }
}

TEST(SegmentMerge, KeepsEveryValueWhereItBelongs) {
  std::mt19937_64 random(7);
  for (int run = 0; run < 40; run++) {
    Model model;
    std::shared_ptr<Segment> segment;
    auto dictionary = std::make_shared<TextDictionary>();
    uint64_t map_lsn = 1;
    for (int round = 0; round < 30; round++) {
      if (random() % 3 == 0) map_lsn++;
      Batch batch;
      std::map<uint32_t, uint64_t> pages;
      const uint64_t density = 1 + random() % 64;
      for (uint32_t i = 0; i < TB_SEGMENT_BLOCKS; i++) {
        if (random() % 64 >= density) continue;
        // Under the LSN that it is good under, a page is what it was.
        const auto before = model.blocks.find(i);
        const bool known = before != model.blocks.end();
        const bool same = known && ((before->second.good && model.map_lsn == map_lsn) || random() % 2);
        pages[i] = same ? before->second.page_lsn : 1 + random() % 1000;
        const Rows rows = rows_of_page(i, pages[i]);
        if (random() % 4 == 0) batch.push({"5", "6", "nobody's"});
        batch.blocks.blocks |= BlockMask{1} << i;
        batch.blocks.page_lsn[i] = pages[i];
        batch.blocks.first_row[i] = static_cast<uint32_t>(batch.ints.size());
        batch.blocks.row_count[i] = static_cast<uint32_t>(rows.size());
        for (const auto& row : rows) batch.push(row);
      }
      if (pages.empty()) continue;
      const auto columns = static_cast<uint32_t>(random() % 8);
      batch.blocks.map_lsn = map_lsn;
      // Another one now and then, one that is soon full, and none.
      if (random() % 8 == 0) dictionary = std::make_shared<TextDictionary>(random() % 2 ? 3000 : 1 << 20);
      batch.finish(columns, random() % 6 ? dictionary : nullptr, random() % 2);
      auto next = merge_segment(segment.get(), batch.blocks);
      model.add(map_lsn, pages, columns);
      if (next) segment = next;
      ASSERT_NO_FATAL_FAILURE(expect_equal(*segment, model, round));
    }
  }
}

/* Few blocks at a time, as the store adds them: both versions together are what one would be. */
TEST(SegmentMerge, ADeltaHoldsWhatItsBlocksAre) {
  std::mt19937_64 random(11);
  uint64_t next_page_lsn = 1, deltas = 0;
  for (int run = 0; run < 40; run++) {
    Model model;
    std::shared_ptr<const Segment> main;
    std::shared_ptr<Segment> delta;
    auto dictionary = std::make_shared<TextDictionary>();
    uint64_t map_lsn = 1;
    for (int round = 0; round < 30; round++) {
      if (random() % 3 == 0) map_lsn++;
      Batch batch;
      std::map<uint32_t, uint64_t> pages;
      const uint64_t density = round == 0 || random() % 16 == 0 ? 64 : 1 + random() % 8;
      for (uint32_t i = 0; i < TB_SEGMENT_BLOCKS; i++) {
        if (random() % 64 >= density) continue;
        const auto before = model.blocks.find(i);
        const bool known = before != model.blocks.end();
        const bool same = known && ((before->second.good && model.map_lsn == map_lsn) || random() % 8 == 0);
        pages[i] = same ? before->second.page_lsn : next_page_lsn++;
        const Rows rows = rows_of_page(i, pages[i]);
        batch.blocks.blocks |= BlockMask{1} << i;
        batch.blocks.page_lsn[i] = pages[i];
        batch.blocks.first_row[i] = static_cast<uint32_t>(batch.ints.size());
        batch.blocks.row_count[i] = static_cast<uint32_t>(rows.size());
        for (const auto& row : rows) batch.push(row);
      }
      if (pages.empty()) continue;
      const auto columns = static_cast<uint32_t>(random() % 8);
      batch.blocks.map_lsn = map_lsn;
      if (random() % 8 == 0) dictionary = std::make_shared<TextDictionary>(random() % 2 ? 3000 : 1 << 20);
      batch.finish(columns, random() % 6 ? dictionary : nullptr, random() % 2);
      if (main && goes_to_delta(*main, delta.get(), batch.blocks)) {
        if (auto next = merge_segment(delta.get(), batch.blocks)) delta = next;
        deltas++;
      } else {
        if (delta) main = merge_delta(main, *delta);
        delta = nullptr;
        if (auto next = merge_segment(main.get(), batch.blocks)) main = next;
      }
      model.add(map_lsn, pages, columns);
      const auto merged = delta ? merge_delta(main, *delta) : main;
      ASSERT_NO_FATAL_FAILURE(expect_equal(*merged, model, round));
    }
  }
  EXPECT_GT(deltas, 200u);
}

/* Another query may have looked at the other one's pages since. */
TEST(SegmentMerge, OfADeltaOfAnotherLsnTheNewerVersionsBlocksAreGood) {
  Batch all, few;
  for (uint32_t i = 0; i < TB_SEGMENT_BLOCKS; i++) {
    for (Batch* batch : {&all, &few}) {
      batch->blocks.page_lsn[i] = batch == &all ? 5 : 6;
      batch->blocks.first_row[i] = i;
      batch->blocks.row_count[i] = 1;
      batch->push({"1", "2", "three"});
    }
  }
  all.blocks.blocks = ~BlockMask{0};
  few.blocks.blocks = 0xff;
  all.finish(1, nullptr);
  few.finish(1, nullptr);
  for (const uint64_t main_lsn : {8, 9, 10}) {
    all.blocks.map_lsn = main_lsn;
    few.blocks.map_lsn = 9;
    const auto main = merge_segment(nullptr, all.blocks);
    const auto delta = merge_segment(nullptr, few.blocks);
    delta->good = 0x0f;
    const auto merged = merge_delta(main, *delta);
    EXPECT_EQ(merged->map_lsn, std::max<uint64_t>(main_lsn, 9));
    EXPECT_EQ(merged->good, (main_lsn >= 9 ? ~BlockMask{0xff} : 0) | (main_lsn <= 9 ? BlockMask{0x0f} : 0));
    EXPECT_EQ(merged->page_lsn[7], 6u);
    EXPECT_EQ(merged->page_lsn[8], 5u);
  }
}

TEST(SegmentMerge, SharesColumnsThatStayAsTheyAre) {
  Batch first, second;
  for (Batch* batch : {&first, &second}) {
    batch->blocks.blocks = 1;
    batch->blocks.page_lsn[0] = 5;
    batch->blocks.row_count[0] = 1;
    batch->blocks.map_lsn = 9;
    batch->push({"1", "2", "three"});
  }
  first.finish(1, nullptr);
  second.finish(6, nullptr);
  const auto before = merge_segment(nullptr, first.blocks);
  const auto after = merge_segment(before.get(), second.blocks);
  EXPECT_EQ(after->find(0)->data, before->find(0)->data);
  EXPECT_EQ(after->columns.size(), 3u);
  EXPECT_EQ(merge_segment(after.get(), second.blocks), nullptr) << "nothing new";
}

}  // namespace
}  // namespace turbine
