/* segment_list_test.cc - a kept list says of its segments what they say themselves, and is kept no longer than it is
 * true. */
#include "engine/store/segment_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>

#include "engine/store/column_codes.h"
#include "engine/store/column_store.h"

namespace turbine {
namespace {

constexpr uint64_t kListLsn = 7;
constexpr uint32_t kSegments = 40, kListBlocks = kSegments * TB_SEGMENT_BLOCKS;

class SegmentListTest : public ::testing::Test {
 protected:
  SegmentListTest() {
    table_ = store_.table({1, 2, 3, 0, 4, 5});
    columns_ = std::make_shared<const std::vector<uint32_t>>(table_->column_numbers({{1, TB_TYPE_INT4, ""}}));
    for (uint32_t s = 0; s < kSegments; s++) add(s, 1);
  }
  /* Blocks of a segment, of a few rows each. */
  void add(uint32_t s, uint64_t page_lsn, uint64_t map_lsn = kListLsn) {
    DecodedBlocks blocks{};
    blocks.first_block = segment_first_block(s);
    blocks.map_lsn = map_lsn;
    std::vector<int32_t> values;
    for (uint32_t i = 0; i < segment_blocks(s); i++) {
      blocks.blocks |= BlockMask{1} << i;
      blocks.page_lsn[i] = page_lsn;
      blocks.first_row[i] = static_cast<uint32_t>(values.size());
      blocks.row_count[i] = 1 + i % 3;
      for (uint32_t row = 0; row < blocks.row_count[i]; row++) values.push_back(static_cast<int32_t>(1000 * s + i));
    }
    blocks.columns.push_back({(*columns_)[0], TB_TYPE_INT4, false, {values.data(), nullptr, nullptr}, nullptr});
    store_.add(*table_, blocks);
  }
  StoredTable::Known known() const { return {kListBlocks, map_lsn_.data(), bits_.data()}; }
  /* As a query searches. */
  std::vector<TakenSegment> search(const std::function<void()>& meanwhile = {}) {
    StoredTable::Search search;
    StoredTable::Found found;
    table_->find_some(*columns_, known(), &search, &found);  // one that others have begun before
    search = {};
    std::vector<TakenSegment> all;
    for (bool more = true; more;) {
      more = table_->find_some(*columns_, known(), &search, &found);
      all.insert(all.end(), found.good.begin(), found.good.end());
    }
    if (meanwhile) meanwhile();
    EXPECT_TRUE(search.keep);
    table_->keep_list(columns_, known(), search, all);
    return all;
  }
  std::shared_ptr<const SegmentList> kept() { return table_->kept_list(*columns_, known()); }

  ColumnStore store_{uint64_t{64} << 20};
  std::shared_ptr<StoredTable> table_;
  std::shared_ptr<const std::vector<uint32_t>> columns_;
  std::vector<uint64_t> map_lsn_ = {kListLsn};
  std::vector<uint8_t> bits_ = std::vector<uint8_t>(kListBlocks / 8, 0xff);
};

TEST_F(SegmentListTest, SaysWhatItsSegmentsSay) {
  bits_[5] = 0x0f;
  const std::vector<TakenSegment> all = search();
  ASSERT_EQ(all.size(), kSegments);
  const auto list = kept();
  ASSERT_NE(list, nullptr);
  EXPECT_EQ(list->bits(), bits_);
  EXPECT_EQ(list->blocks(), kListBlocks - 4);
  uint64_t rows = 0;
  for (size_t i = 0; i < all.size(); i++) {
    rows += all[i].segment->rows_of_blocks(all[i].blocks);
    EXPECT_EQ(list->segments()[i].segment, all[i].segment);
    EXPECT_EQ(list->zones(i)[0].least, all[i].segment->columns[0].zone.least);
    EXPECT_EQ(list->zones(i)[0].greatest, all[i].segment->columns[0].zone.greatest);
  }
  EXPECT_EQ(list->rows(), rows);
}

/* Values of a segment begin with 1,000 times its number. */
TEST_F(SegmentListTest, CommonZoneLiesWithinEveryOther) {
  search();
  const StoredColumn::Zone common = kept()->common_zones()[0];
  EXPECT_TRUE(common.known);
  EXPECT_EQ(common.least, 1000 * (kSegments - 1));
  EXPECT_EQ(common.greatest, TB_SEGMENT_BLOCKS - 1);
}

TEST_F(SegmentListTest, MorselsHaveEachSegmentOnceAndAreTheSameEachTime) {
  search();
  const auto list = kept();
  const auto morsels = list->morsels({500, kListBlocks});
  EXPECT_EQ(list->morsels({500, kListBlocks}), morsels);
  EXPECT_GT(morsels.size(), 5u);
  size_t next = 0;
  for (const auto& morsel : morsels) {
    EXPECT_TRUE(morsel->lasting);
    for (const TakenSegment& taken : morsel->segments) EXPECT_EQ(taken.segment, list->segments()[next++].segment);
  }
  EXPECT_EQ(next, list->segments().size());
}

TEST_F(SegmentListTest, MorselsInAnOrderAreTheSameUntilAnotherIsAskedFor) {
  search();
  const auto list = kept();
  const ZoneOrder down = {0, true, false}, up = {0, false, false};
  const MorselShape shape = {500, kListBlocks};
  const auto morsels = list->morsels(shape, down);
  EXPECT_EQ(list->morsels(shape, down), morsels);
  std::vector<const Segment*> descending;
  for (const auto& morsel : morsels) {
    EXPECT_TRUE(morsel->lasting);
    for (const TakenSegment& taken : morsel->segments) descending.push_back(taken.segment.get());
  }
  std::vector<const Segment*> ascending;
  for (const auto& morsel : list->morsels(shape, up))
    for (const TakenSegment& taken : morsel->segments) ascending.push_back(taken.segment.get());
  // Each segment has greater values than the one before it.
  ASSERT_EQ(ascending.size(), list->segments().size());
  for (size_t i = 0; i < ascending.size(); i++) EXPECT_EQ(ascending[i], list->segments()[i].segment.get());
  EXPECT_TRUE(std::equal(ascending.rbegin(), ascending.rend(), descending.begin(), descending.end()));
  EXPECT_NE(list->morsels(shape, down), morsels);
}

/* Of one segment a version has some blocks and another version others, with numbers between those. */
TEST_F(SegmentListTest, FreshBlocksAscendWhateverEntriesSegmentsHave) {
  const auto no_columns = std::make_shared<const std::vector<uint32_t>>();
  const auto version = [](uint32_t s, BlockMask blocks) {
    auto segment = std::make_shared<Segment>();
    segment->first_block = segment_first_block(s);
    segment->blocks = segment->fresh = blocks;
    segment->page_lsn.fill(s + 10);
    segment->xids = std::make_shared<std::array<XidRange, TB_SEGMENT_BLOCKS>>();
    return TakenSegment{segment, blocks};
  };
  const auto blocks_of = [](const SegmentList& list) {
    std::vector<uint32_t> blocks;
    for (const auto& fresh : list.fresh_blocks()) {
      blocks.push_back(fresh.block);
      EXPECT_EQ(fresh.page_lsn, segment_number(fresh.block) + 10);
    }
    return blocks;
  };
  const SegmentList list({version(0, 0b1010), version(0, 0b0101), version(1, 0b1), version(2, 0b100), version(2, 0b11)},
                         no_columns, kListBlocks);
  const uint32_t one = segment_first_block(1), two = segment_first_block(2);
  EXPECT_EQ(blocks_of(list), (std::vector<uint32_t>{0, 1, 2, 3, one, two, two + 1, two + 2}));
  const SegmentList next(list, {{1, {version(1, 0b100), version(1, 0b1)}}}, kListBlocks);
  EXPECT_EQ(blocks_of(next), (std::vector<uint32_t>{0, 1, 2, 3, one, one + 2, two, two + 1, two + 2}));
}

/* A GPU's columns are those of whole ranges. */
TEST_F(SegmentListTest, NoMorselIsOfTwoRanges) {
  search();
  const auto list = kept();
  const MorselShape shape{1 << 20, kListBlocks, 3 * TB_SEGMENT_BLOCKS};
  const auto morsels = list->morsels(shape);
  EXPECT_EQ(list->morsels(shape), morsels);
  EXPECT_EQ(morsels.size(), (kSegments + 2) / 3);
  size_t next = 0;
  for (const auto& morsel : morsels)
    for (const TakenSegment& taken : morsel->segments) {
      EXPECT_EQ(taken.segment->first_block / shape.range_blocks, morsel->range);
      EXPECT_EQ(taken.segment, list->segments()[next++].segment);
    }
  EXPECT_EQ(next, list->segments().size());
  for (const auto& morsel : list->morsels({500, kListBlocks})) EXPECT_EQ(morsel->range, SegmentMorsel::kNoRange);
}

TEST_F(SegmentListTest, IsForTheSameMapAlone) {
  search();
  ASSERT_NE(kept(), nullptr);
  map_lsn_[0]++;
  EXPECT_EQ(kept(), nullptr);
  map_lsn_[0]--;
  ASSERT_NE(kept(), nullptr);
  bits_[100] = 0x7f;
  EXPECT_EQ(kept(), nullptr);
  bits_[100] = 0xff;
  ASSERT_NE(kept(), nullptr);
  EXPECT_EQ(table_->kept_list({}, known()), nullptr);
}

TEST_F(SegmentListTest, HasTheVersionsThatTheTableHas) {
  search();
  const auto before = kept();
  const auto morsels = before->morsels({500, kListBlocks});
  add(3, 2);
  add(kSegments, 1);
  map_lsn_[0] = kListLsn;
  const auto after = kept();
  ASSERT_NE(after, nullptr);
  ASSERT_EQ(after->segments().size(), kSegments);
  for (size_t i = 0; i < kSegments; i++)
    EXPECT_EQ(after->segments()[i].segment == before->segments()[i].segment, i != 3) << i;
  const auto cut_again = after->morsels({500, kListBlocks});
  size_t same = 0;
  for (const auto& morsel : cut_again) same += std::count(morsels.begin(), morsels.end(), morsel) > 0;
  EXPECT_EQ(same, morsels.size() - 1);
  EXPECT_EQ(kept(), after);
}

/* Whatever changes, the list is that of a search, and so are its morsels. */
TEST_F(SegmentListTest, IsWhatASearchWouldFind) {
  std::mt19937 random(7);
  const auto rest = [&random](uint32_t n) { return static_cast<uint32_t>(random() % n); };
  for (int round = 0; round < 200; round++) {
    search();
    ASSERT_NE(kept(), nullptr);
    kept()->morsels({300 + rest(500), kListBlocks});
    const uint32_t changes = rest(4);
    for (uint32_t i = 0; i < changes; i++) add(rest(kSegments), 2 + rest(1000));
    const auto list = kept();
    ASSERT_NE(list, nullptr);
    StoredTable::Found found = table_->find(*columns_, known());
    ASSERT_EQ(found.good.size(), list->segments().size());
    uint64_t rows = 0;
    for (size_t i = 0; i < found.good.size(); i++) {
      EXPECT_EQ(found.good[i].segment, list->segments()[i].segment);
      EXPECT_EQ(found.good[i].blocks, list->segments()[i].blocks);
      EXPECT_EQ(list->zones(i)[0].least, found.good[i].segment->columns[0].zone.least);
      rows += found.good[i].segment->rows_of_blocks(found.good[i].blocks);
    }
    EXPECT_EQ(list->rows(), rows);
    EXPECT_EQ(list->blocks(), kListBlocks);
    for (uint64_t size : {300 + rest(500), 500u}) {
      std::vector<std::shared_ptr<const Segment>> cut;
      for (const auto& morsel : list->morsels({size, kListBlocks}))
        for (const TakenSegment& taken : morsel->segments) cut.push_back(taken.segment);
      ASSERT_EQ(cut.size(), list->segments().size());
      for (size_t i = 0; i < cut.size(); i++) EXPECT_EQ(cut[i], list->segments()[i].segment);
    }
  }
}

TEST_F(SegmentListTest, IsNotKeptIfTheTableChangesMeanwhile) {
  search([this] { add(4, 3); });
  EXPECT_EQ(kept(), nullptr);
  search();
  ASSERT_NE(kept(), nullptr);
  store_.drop({1, 2, 3, 0, 0, 0});
  EXPECT_EQ(kept(), nullptr);
}

TEST_F(SegmentListTest, PaysFromTheSecondSearchOn) {
  StoredTable::Found found;
  for (const bool pays : {false, true, true}) {
    StoredTable::Search search;
    table_->find_some(*columns_, known(), &search, &found);
    EXPECT_EQ(search.keep, pays);
  }
}

TEST_F(SegmentListTest, CountsAsMemory) {
  const uint64_t before = store_.used();
  search();
  EXPECT_GE(store_.used(), before + kept()->bytes());
  store_.drop({1, 2, 3, 0, 0, 0});
  EXPECT_EQ(store_.used(), 0u);
}

TEST_F(SegmentListTest, KeepsNoSegmentThatWasEvicted) {
  search();
  std::weak_ptr<const Segment> segment = kept()->segments()[0].segment;
  ASSERT_FALSE(segment.expired());
  store_.drop({1, 2, 3, 0, 0, 0});
  EXPECT_TRUE(segment.expired());
}

TEST_F(SegmentListTest, ItsSegmentsCountAsUsed) {
  search();
  const uint32_t before = kept()->segments()[0].segment->last_used;
  store_.pass_time(60);
  const auto list = kept();
  EXPECT_GT(list->segments()[0].segment->last_used, before);
  EXPECT_GE(list->segments()[0].segment->last_hit, 60u);
}

}  // namespace
}  // namespace turbine
