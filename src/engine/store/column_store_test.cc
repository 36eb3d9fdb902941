/* column_store_test.cc - who finds which blocks good: LSNs, bits, columns, the file's end; eviction. */
#include "engine/store/column_store.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

namespace turbine {
namespace {

constexpr uint32_t kBlocks = 10 * TB_SEGMENT_BLOCKS;
constexpr BlockMask kAll = ~BlockMask{0};
constexpr uint32_t kRows = 128;  // of a whole segment

/* Blocks of two rows each, of the same page LSN. */
DecodedBlocks decoded(uint32_t segment, uint64_t map_lsn, const std::vector<uint32_t>& numbers, BlockMask blocks = kAll,
                      uint64_t page_lsn = 5) {
  static int32_t values[kRows] = {};
  DecodedBlocks some;
  some.first_block = segment * TB_SEGMENT_BLOCKS;
  some.blocks = blocks;
  some.map_lsn = map_lsn;
  some.page_lsn.fill(page_lsn);
  some.row_count.fill(2);
  for (uint32_t i = 0; i < TB_SEGMENT_BLOCKS; i++) some.first_row[i] = 2 * i;
  for (uint32_t number : numbers) some.columns.push_back({number, TB_TYPE_INT4, false, {values, nullptr, nullptr}});
  return some;
}

class ColumnStoreTest : public ::testing::Test {
 protected:
  void add(uint32_t segment, uint64_t lsn, const std::vector<uint32_t>& numbers, BlockMask blocks = kAll,
           uint64_t page_lsn = 5) {
    store_.add(*table_, decoded(segment, lsn, numbers, blocks, page_lsn));
  }
  StoredTable::Found find(const std::vector<uint32_t>& columns, uint64_t lsn, uint32_t nblocks = kBlocks,
                          const std::vector<uint32_t>& unset = {}) {
    std::vector<uint8_t> bits((nblocks + 7) / 8, 0xff);
    for (uint32_t block : unset) bits[block / 8] &= static_cast<uint8_t>(~(1u << (block % 8)));
    return table_->find(columns, {nblocks, &lsn, bits.data()});
  }
  /* What a segment of one column takes in a store. */
  static uint64_t bytes_of_one() {
    ColumnStore probe(1 << 20);
    const auto any = probe.table({9, 9, 9, 0, 9, 9});
    any->column_numbers({{1, TB_TYPE_INT4, ""}});
    probe.add(*any, decoded(0, 7, {0}));
    return probe.used();
  }
  using Blocks = std::vector<std::pair<uint32_t, BlockMask>>;  // by segment
  static Blocks blocks_of(const std::vector<TakenSegment>& segments) {
    Blocks blocks;
    for (const TakenSegment& taken : segments)
      blocks.push_back({taken.segment->first_block / TB_SEGMENT_BLOCKS, taken.blocks});
    return blocks;
  }
  Blocks good(const std::vector<uint32_t>& columns, uint64_t lsn, uint32_t nblocks = kBlocks,
              const std::vector<uint32_t>& unset = {}) {
    return blocks_of(find(columns, lsn, nblocks, unset).good);
  }
  Blocks doubtful(const std::vector<uint32_t>& columns, uint64_t lsn, const std::vector<uint32_t>& unset = {}) {
    return blocks_of(find(columns, lsn, kBlocks, unset).doubtful);
  }

  ColumnStore store_{1 << 20};
  std::shared_ptr<StoredTable> table_ = store_.table({1, 2, 3, 0, 4, 5});
  const std::vector<uint32_t> numbers_ = table_->column_numbers(
      {{1, TB_TYPE_INT4, ""}, {2, TB_TYPE_INT4, ""}, {3, TB_TYPE_INT4, ""}});
};

TEST_F(ColumnStoreTest, FilesAreToldApartByAllOfTheirIdentity) {
  const TbFileIdentity file{1, 2, 3, 0, 4, 5};
  EXPECT_EQ(store_.table(file), table_);
  for (auto field : {&TbFileIdentity::tablespace, &TbFileIdentity::database, &TbFileIdentity::file_number}) {
    TbFileIdentity other = file;
    other.*field += 1;
    EXPECT_NE(store_.table(other), table_);
  }
  for (auto field : {&TbFileIdentity::inode, &TbFileIdentity::birth_ns}) {
    TbFileIdentity other = file;
    other.*field += 1;
    EXPECT_NE(store_.table(other), table_);
  }
}

TEST_F(ColumnStoreTest, BlocksAreGoodUnderTheirLsnWhereTheirBitIsSet) {
  add(1, 77, {0});
  add(2, 77, {0});
  EXPECT_EQ(good({0}, 77), (Blocks{{1, kAll}, {2, kAll}}));
  EXPECT_EQ(good({0}, 78), Blocks{}) << "the map page has moved";
  EXPECT_EQ(doubtful({0}, 78), (Blocks{{1, kAll}, {2, kAll}}));
  EXPECT_EQ(good({0}, 76), Blocks{}) << "the map page was older";
  EXPECT_EQ(doubtful({0}, 76), Blocks{}) << "of an older map nothing may be published";
  EXPECT_EQ(good({0}, 77, kBlocks, {2 * TB_SEGMENT_BLOCKS - 1}), (Blocks{{1, kAll >> 1}, {2, kAll}}));
  EXPECT_EQ(good({0}, 77, kBlocks, {3 * TB_SEGMENT_BLOCKS}), (Blocks{{1, kAll}, {2, kAll}})) << "another segment's";
  EXPECT_EQ(good({0}, 77, TB_SEGMENT_BLOCKS + 3), (Blocks{{1, 7}})) << "the file has become shorter";
  EXPECT_EQ(good({0}, 77, TB_SEGMENT_BLOCKS), Blocks{});
}

TEST_F(ColumnStoreTest, ColumnsMayHaveOtherBlocksThanTheirSegment) {
  add(1, 77, {0});
  add(2, 77, {0, 1});
  EXPECT_EQ(good({0, 1}, 77), (Blocks{{2, kAll}}));
  EXPECT_EQ(good({}, 77), (Blocks{{1, kAll}, {2, kAll}})) << "rows alone";
  add(1, 77, {1}, 0xf0);
  EXPECT_EQ(good({0, 1}, 77), (Blocks{{1, 0xf0}, {2, kAll}}));
  EXPECT_EQ(good({0}, 77), (Blocks{{1, kAll}, {2, kAll}}));
  EXPECT_EQ(good({0, 2}, 77), Blocks{});
  EXPECT_EQ(doubtful({0, 2}, 78), Blocks{});
}

TEST_F(ColumnStoreTest, BlocksComeOneAfterTheOther) {
  add(1, 77, {0}, 0x3);
  add(1, 77, {0}, 0x10);
  EXPECT_EQ(good({0}, 77), (Blocks{{1, 0x13}}));
}

TEST_F(ColumnStoreTest, WhatIsConfirmedIsGoodUnderTheNewLsn) {
  add(1, 77, {0});
  auto found = find({0}, 80, kBlocks, {TB_SEGMENT_BLOCKS});
  ASSERT_EQ(found.doubtful.size(), 1u);
  found.doubtful[0].blocks &= 0xfff;
  table_->confirm(found.doubtful[0], 80);
  EXPECT_EQ(good({0}, 80), (Blocks{{1, 0xffe}}));
  EXPECT_EQ(doubtful({0}, 80), (Blocks{{1, ~BlockMask{0xffe}}})) << "others may be confirmed yet";
  EXPECT_EQ(good({0}, 77), Blocks{}) << "forward only";
  table_->confirm({found.doubtful[0].segment, 1}, 80);
  EXPECT_EQ(good({0}, 80), (Blocks{{1, 0xffe}})) << "of a version that is there no more";
  found = find({0}, 80);
  table_->confirm({found.doubtful[0].segment, 1}, 80);
  EXPECT_EQ(good({0}, 80), (Blocks{{1, 0xfff}})) << "under the same LSN more are good";
}

TEST_F(ColumnStoreTest, NewBlocksOfANewerLsnLeaveTheOthersDoubtful) {
  add(1, 77, {0, 1});
  add(1, 80, {0}, 0xf, 6);
  EXPECT_EQ(good({0}, 80), (Blocks{{1, 0xf}}));
  EXPECT_EQ(doubtful({0}, 80), (Blocks{{1, ~BlockMask{0xf}}}));
  EXPECT_EQ(doubtful({0, 1}, 80), (Blocks{{1, ~BlockMask{0xf}}})) << "column 1 has no values of the new pages";
  add(1, 77, {0, 1});
  EXPECT_EQ(good({0}, 80), (Blocks{{1, 0xf}})) << "an older version does not come back";
}

TEST_F(ColumnStoreTest, FewChangedBlocksAreFoundBesideTheOthersUntilTheyAreMerged) {
  const BlockMask few = 0xf0f;
  add(1, 77, {0});
  EXPECT_FALSE(store_.merges_wait());
  EXPECT_FALSE(store_.merge_next());
  add(1, 80, {0}, few, 6);
  EXPECT_TRUE(store_.merges_wait());
  auto found = find({0}, 80);
  EXPECT_EQ(blocks_of(found.good), (Blocks{{1, few}}));
  EXPECT_EQ(blocks_of(found.doubtful), (Blocks{{1, ~few}}));
  EXPECT_EQ(found.good[0].segment->nrows(), 16u) << "nothing of the others was copied";
  table_->confirm(found.doubtful[0], 80);
  EXPECT_EQ(good({0}, 80), (Blocks{{1, ~few}, {1, few}}));
  EXPECT_EQ(doubtful({0}, 81), (Blocks{{1, ~few}, {1, few}}));
  found = find({0}, 81);
  table_->confirm(found.doubtful[1], 81);
  EXPECT_EQ(good({0}, 81), (Blocks{{1, few}})) << "either is confirmed";
  table_->confirm(found.doubtful[0], 81);
  EXPECT_EQ(good({0}, 81), (Blocks{{1, ~few}, {1, few}}));

  EXPECT_TRUE(store_.merge_next());
  EXPECT_EQ(good({0}, 81), (Blocks{{1, kAll}}));
  EXPECT_EQ(find({0}, 81).good[0].segment->page_lsn[3], 6u);
  EXPECT_FALSE(store_.merge_next());
  ColumnStore other(1 << 20);
  const auto table = other.table({1, 2, 3, 0, 4, 5});
  table->column_numbers({{1, TB_TYPE_INT4, ""}});
  other.add(*table, decoded(1, 77, {0}));
  EXPECT_EQ(store_.used(), other.used()) << "the delta is gone";
}

TEST_F(ColumnStoreTest, NoBlockIsFoundInBothVersions) {
  add(1, 77, {0});
  // Its page has another LSN under the same one of the map: some row was locked.
  add(1, 77, {1}, 0x3, 6);
  EXPECT_EQ(good({}, 77), (Blocks{{1, ~BlockMask{3}}, {1, 3}}));
  EXPECT_EQ(good({0}, 77), (Blocks{{1, ~BlockMask{3}}}));
  EXPECT_EQ(good({1}, 77), (Blocks{{1, 3}}));
  EXPECT_TRUE(store_.merge_next());
  EXPECT_EQ(good({}, 77), (Blocks{{1, kAll}}));
  EXPECT_EQ(good({0}, 77), (Blocks{{1, ~BlockMask{3}}}));
  EXPECT_EQ(good({1}, 77), (Blocks{{1, 3}}));
}

TEST_F(ColumnStoreTest, WhatIsNotFewIsMergedAtOnce) {
  add(1, 77, {0});
  add(1, 77, {1}, 0xf);
  EXPECT_FALSE(store_.merges_wait()) << "another column of the same pages";
  EXPECT_EQ(good({0, 1}, 77), (Blocks{{1, 0xf}}));
  add(1, 80, {0}, 0x1ffff, 6);
  EXPECT_FALSE(store_.merges_wait());
  EXPECT_EQ(good({0}, 80), (Blocks{{1, 0x1ffff}}));
  add(1, 80, {0}, BlockMask{0xff} << 20, 7);
  EXPECT_TRUE(store_.merges_wait());
  add(1, 80, {0}, BlockMask{0x1ff} << 40, 7);
  EXPECT_EQ(good({0}, 80), (Blocks{{1, 0x1ffff | BlockMask{0xff} << 20 | BlockMask{0x1ff} << 40}})) << "both at once";
  add(2, 77, {0}, 0xff);
  add(2, 77, {0}, 0x700);
  EXPECT_EQ(good({0}, 77), (Blocks{{2, 0x7ff}})) << "a segment that is being filled";
}

TEST_F(ColumnStoreTest, ADeltaIsEvictedAndForgottenWithItsSegment) {
  add(1, 77, {0});
  add(1, 80, {0}, 0xf, 6);
  const auto columns = store_.report(10);
  ASSERT_EQ(columns.size(), 1u);
  EXPECT_EQ(columns[0].rows, kRows) << "of each block once";
  EXPECT_EQ(columns[0].good_blocks + columns[0].doubtful_blocks, 64u);
  EXPECT_GT(store_.drop({1, 2, 3, 0, 0, 0}), 0u);
  EXPECT_EQ(store_.used(), 0u);
  EXPECT_TRUE(store_.merge_next()) << "of a table that is there no more";
  EXPECT_EQ(store_.used(), 0u);

  ColumnStore probe(1 << 20);
  auto any = probe.table({9, 9, 9, 0, 9, 9});
  any->column_numbers({{1, TB_TYPE_INT4, ""}});
  probe.add(*any, decoded(0, 7, {0}));
  ColumnStore small(10 * probe.used());
  auto table = small.table({9, 9, 9, 0, 9, 9});
  table->column_numbers({{1, TB_TYPE_INT4, ""}});
  for (uint32_t i = 0; i < 40; i++) {
    small.add(*table, decoded(i, 7, {0}));
    small.add(*table, decoded(i, 8, {0}, 0xf, 6));
    ASSERT_LE(small.used(), small.capacity());
  }
  while (small.merge_next()) ASSERT_LE(small.used(), small.capacity());
  small.drop({9, 9, 9, 0, 0, 0});
  EXPECT_EQ(small.used(), 0u);
}

TEST_F(ColumnStoreTest, EvictsWhatWasNotUsedForLongest) {
  ColumnStore probe(1 << 20);
  auto any = probe.table({9, 9, 9, 0, 9, 9});
  any->column_numbers({{1, TB_TYPE_INT4, ""}});
  probe.add(*any, decoded(0, 7, {0}));
  const uint64_t size = probe.used();
  ColumnStore small(10 * size);
  auto table = small.table({9, 9, 9, 0, 9, 9});
  table->column_numbers({{1, TB_TYPE_INT4, ""}});
  const uint64_t lsn = 7;
  const std::vector<uint8_t> all(30 * TB_SEGMENT_BLOCKS / 8, 0xff);
  std::vector<uint8_t> first(all.size(), 0);
  std::fill_n(first.begin(), TB_SEGMENT_BLOCKS / 8, 0xff);
  const auto found = [&](const std::vector<uint8_t>& bits) {
    return table->find({0}, {30 * TB_SEGMENT_BLOCKS, &lsn, bits.data()}).good;
  };
  std::vector<TakenSegment> pinned;
  for (uint32_t i = 0; i < 30; i++) {
    small.add(*table, decoded(i, lsn, {0}));
    pinned = found(first);  // used again and again
    ASSERT_EQ(pinned.size(), 1u) << i;
    ASSERT_LE(small.used(), small.capacity());
  }
  EXPECT_GE(found(all).size(), 8u);
  EXPECT_NE(pinned[0].segment->find(0)->data->values(), nullptr);
}

TEST_F(ColumnStoreTest, WhatIsReadOnceDoesNotPushOutWhatIsReadAllTheTime) {
  ColumnStore small(20 * bytes_of_one());
  auto hot = small.table({9, 9, 1, 0, 9, 9}), once = small.table({9, 9, 2, 0, 9, 9}),
       pinned = small.table({9, 9, 3, 0, 9, 9});
  pinned->set_retention({.keep = true, .pin = false, .pinned = {}});
  for (const auto& table : {hot, once, pinned}) table->column_numbers({{1, TB_TYPE_INT4, ""}});
  const uint64_t lsn = 7;
  const std::vector<uint8_t> all(100 * TB_SEGMENT_BLOCKS / 8, 0xff);
  const auto found = [&](StoredTable& table) {
    return table.find({0}, {100 * TB_SEGMENT_BLOCKS, &lsn, all.data()}).good.size();
  };
  for (uint32_t i = 0; i < 10; i++) small.add(*hot, decoded(i, lsn, {0}));
  for (uint32_t i = 0; i < 2; i++) small.add(*pinned, decoded(i, lsn, {0}));
  EXPECT_EQ(found(*hot), 10u);
  for (uint32_t i = 0; i < 100; i++) small.add(*once, decoded(i, lsn, {0}));
  EXPECT_EQ(found(*hot), 10u);
  EXPECT_LE(small.used(), small.capacity());
  small.pass_time(3600);
  found(*once);
  for (uint32_t i = 0; i < 100; i++) small.add(*once, decoded(i, lsn, {0}));
  EXPECT_LT(found(*hot), 10u) << "that was long ago";
  EXPECT_EQ(found(*pinned), 2u);
}

TEST_F(ColumnStoreTest, PinnedColumnsStayAndTakeNoMoreThanTheirShare) {
  ColumnStore small(20 * bytes_of_one());
  auto pinned = small.table({9, 9, 1, 0, 9, 9}), other = small.table({9, 9, 2, 0, 9, 9});
  pinned->set_retention({.keep = false, .pin = true, .pinned = {2}});
  for (const auto& table : {pinned, other}) table->column_numbers({{1, TB_TYPE_INT4, ""}, {2, TB_TYPE_INT4, ""}});
  const uint64_t lsn = 7;
  const std::vector<uint8_t> all(100 * TB_SEGMENT_BLOCKS / 8, 0xff);
  const auto found = [&](StoredTable& table, uint32_t column) {
    return table.find({column}, {100 * TB_SEGMENT_BLOCKS, &lsn, all.data()}).good.size();
  };
  for (uint32_t i = 0; i < 4; i++) small.add(*pinned, decoded(i, lsn, {0, 1}));
  small.pass_time(3600);
  pinned->set_retention({.keep = false, .pin = true, .pinned = {2}});  // once more
  for (uint32_t round = 0; round < 3; round++) {
    for (uint32_t i = 0; i < 100; i++) small.add(*other, decoded(i, lsn, {0}));
    EXPECT_GT(found(*other, 0), 5u);
  }
  EXPECT_EQ(found(*pinned, 1), 4u);
  EXPECT_EQ(found(*pinned, 0), 0u) << "the other column is as others are";
  DecodedBlocks load = decoded(0, lsn, {1});
  load.load = true;
  for (uint32_t i = 0; i < 100; i++) {
    load.first_block = i * TB_SEGMENT_BLOCKS;
    small.add(*pinned, load);
  }
  EXPECT_GE(found(*pinned, 1), 8u);
  EXPECT_LE(small.pinned(), small.pinnable() + bytes_of_one()) << "not even loads go beyond it";
  EXPECT_GT(small.pinned(), small.pinnable() / 2);
  EXPECT_LE(small.used(), small.capacity());
  uint64_t pinned_columns = 0;
  for (const TbCachedColumn& column : small.report(10)) pinned_columns += column.pinned;
  EXPECT_EQ(pinned_columns, 1u);
  // From now on it gives way: nobody has said for long that it is pinned, as if the table was gone.
  small.pass_time(3600);
  small.table({9, 9, 2, 0, 9, 9});
  EXPECT_EQ(small.pinned(), 0u);
  for (uint32_t i = 0; i < 100; i++) small.add(*other, decoded(i, lsn, {0}));
  EXPECT_GT(found(*other, 0), 5u);
  EXPECT_LE(small.used(), small.capacity());
}

TEST_F(ColumnStoreTest, DevicesHearWhatIsPinned) {
  const auto use = std::make_shared<StoredColumn::DeviceUse>(), other = std::make_shared<StoredColumn::DeviceUse>();
  add(0, 7, {0, 1});
  const auto data = find({0, 1}, 7).good[0].segment->columns;
  data[0].data->set_device_copy(0, 1, use);
  data[1].data->set_device_copy(0, 2, use);
  EXPECT_EQ(use->pinned, 0u);
  table_->set_retention({.keep = false, .pin = true, .pinned = {2}});
  EXPECT_EQ(use->pinned, 1u) << "a copy that was there before";
  data[1].data->set_device_copy(0, 3, other);
  EXPECT_EQ(use->pinned, 0u);
  EXPECT_EQ(other->pinned, 1u) << "the copy is elsewhere now";
  add(1, 7, {1});
  EXPECT_TRUE(find({1}, 7).good[1].segment->find(1)->data->pinned()) << "one that came later";
  table_->set_retention({});
  EXPECT_EQ(other->pinned, 0u);
  {
    table_->set_retention({.keep = false, .pin = true, .pinned = {}});
    EXPECT_EQ(use->pinned + other->pinned, 2u);
    const StoredColumn gone({.type = TB_TYPE_INT4, .nullable = false, .nulls = false}, 8);
    gone.set_device_copy(0, 4, use);
    gone.set_pinned(true);
    EXPECT_EQ(use->pinned, 2u);
  }
  EXPECT_EQ(use->pinned, 1u) << "one of them is forgotten";
}

TEST_F(ColumnStoreTest, EachGpuHasItsCopy) {
  const auto first = std::make_shared<StoredColumn::DeviceUse>(), third = std::make_shared<StoredColumn::DeviceUse>();
  add(0, 7, {0, 1});
  const auto data = find({0, 1}, 7).good[0].segment->columns;
  EXPECT_EQ(data[0].data->device_place(2), 0u);
  data[0].data->set_device_copy(2, 9, third);
  data[0].data->set_device_copy(0, 7, first);
  data[1].data->set_device_copy(2, 10, third);
  EXPECT_EQ(data[0].data->device_place(0), 7u);
  EXPECT_EQ(data[0].data->device_place(1), 0u);
  EXPECT_EQ(data[0].data->device_place(2), 9u);
  EXPECT_EQ(data[1].data->device_place(0), 0u);
  table_->set_retention({.keep = false, .pin = true, .pinned = {}});
  EXPECT_EQ(first->pinned, 1u);
  EXPECT_EQ(third->pinned, 2u);
  std::vector<TbCachedColumn> columns = store_.report(10);
  ASSERT_EQ(columns.size(), 2u);
  EXPECT_EQ(columns[0].gpus, 0b101u);
  EXPECT_EQ(columns[1].gpus, 0b100u);
  EXPECT_EQ(columns[0].gpu_bytes, 2 * data[0].data->bytes());
  EXPECT_EQ(columns[1].gpu_bytes, data[1].data->bytes());
  third->lost = true;
  columns = store_.report(10);
  EXPECT_EQ(columns[1].gpus, 0u);
}

TEST_F(ColumnStoreTest, ColumnsThatNobodyReadsGoBeforeOthersOfTheirSegment) {
  add(0, 7, {0, 1, 2});
  ColumnStore small(10 * store_.used());
  auto table = small.table({9, 9, 9, 0, 9, 9});
  table->column_numbers({{1, TB_TYPE_INT4, ""}, {2, TB_TYPE_INT4, ""}, {3, TB_TYPE_INT4, ""}});
  const uint64_t lsn = 7;
  const std::vector<uint8_t> all(100 * TB_SEGMENT_BLOCKS / 8, 0xff);
  const auto found = [&](uint32_t column) {
    return table->find({column}, {100 * TB_SEGMENT_BLOCKS, &lsn, all.data()}).good.size();
  };
  for (uint32_t i = 0; i < 9; i++) small.add(*table, decoded(i, lsn, {0, 1, 2}));
  EXPECT_EQ(found(1), 9u);
  for (uint32_t i = 9; i < 24; i++) small.add(*table, decoded(i, lsn, {1}));
  EXPECT_GE(found(1), 10u) << "all that were found, and there was room for more";
  EXPECT_LT(found(0) + found(2), 16u);
  EXPECT_LE(small.used(), small.capacity());
}

TEST_F(ColumnStoreTest, TablesReadInTurnKeepAPartEach) {
  constexpr uint32_t kTables = 5, kSegments = 40, kRounds = 12;
  add(0, 7, {0});
  ColumnStore small(kSegments * store_.used());  // a fifth of them all
  const uint64_t lsn = 7;
  const std::vector<uint8_t> all(kSegments * TB_SEGMENT_BLOCKS / 8, 0xff);
  uint64_t found = 0;
  for (uint32_t round = 0; round < kRounds; round++) {
    found = 0;
    for (uint32_t t = 0; t < kTables; t++) {
      auto table = small.table({9, 9, t, 0, 9, 9});
      table->column_numbers({{1, TB_TYPE_INT4, ""}});
      std::vector<bool> there(kSegments);
      for (const TakenSegment& taken : table->find({0}, {kSegments * TB_SEGMENT_BLOCKS, &lsn, all.data()}).good)
        there[segment_number(taken.segment->first_block)] = true;
      for (uint32_t i = 0; i < kSegments; i++) there[i] ? void(found++) : void(small.add(*table, decoded(i, lsn, {0})));
    }
  }

  EXPECT_GE(found, kSegments / 2) << "the cache holds " << kSegments;
}

TEST_F(ColumnStoreTest, AStoreWithRoomTakesAllAgain) {
  add(0, 7, {0});
  ColumnStore small(40 * store_.used());
  const uint64_t lsn = 7;
  const std::vector<uint8_t> all(400 * TB_SEGMENT_BLOCKS / 8, 0xff);
  const auto fill = [&](const TbFileIdentity& file, uint32_t segments) {
    auto table = small.table(file);
    table->column_numbers({{1, TB_TYPE_INT4, ""}});
    const StoredTable::Known known{400 * TB_SEGMENT_BLOCKS, &lsn, all.data()};
    table->find({0}, known);
    for (uint32_t i = 0; i < segments; i++) small.add(*table, decoded(i, lsn, {0}));
    return table->find({0}, known).good.size();
  };
  fill({9, 9, 1, 0, 9, 9}, 400);
  EXPECT_LT(fill({9, 9, 2, 0, 9, 9}, 30), 30u) << "full of what nobody finds";
  small.drop({9, 9, 1, 0, 0, 0});
  small.drop({9, 9, 2, 0, 0, 0});
  EXPECT_EQ(fill({9, 9, 3, 0, 9, 9}, 30), 30u);
}

TEST_F(ColumnStoreTest, EmptyTablesAreForgotten) {
  const uint32_t many = 3000;
  std::weak_ptr<StoredTable> first = store_.table({7, 7, 0, 0, 7, 7});
  for (uint32_t i = 1; i < many; i++) store_.table({7, 7, i, 0, 7, 7});
  EXPECT_TRUE(first.expired());
  add(1, 77, {0});
  for (uint32_t i = 1; i < many; i++) store_.table({7, 8, i, 0, 7, 7});
  EXPECT_EQ(good({0}, 77), (Blocks{{1, kAll}}));
  EXPECT_EQ(store_.table({1, 2, 3, 0, 4, 5}), table_);
}

TEST_F(ColumnStoreTest, ReportsWhatItHas) {
  add(1, 77, {0, 2});
  add(2, 77, {0}, 0xf);
  add(2, 80, {0}, 0x1);
  find({0}, 77);
  const auto columns = store_.report(10);
  ASSERT_EQ(columns.size(), 2u);
  EXPECT_EQ(columns[0].attnum, 1u);
  EXPECT_EQ(columns[0].file.birth_ns, 5u);
  EXPECT_EQ(columns[0].rows, kRows + 8u);
  EXPECT_EQ(columns[0].good_blocks, 65u);
  EXPECT_EQ(columns[0].doubtful_blocks, 3u);
  EXPECT_EQ(columns[0].hits, 1u);
  EXPECT_GT(columns[0].last_hit_us, 0);
  EXPECT_EQ(columns[1].attnum, 3u);
  EXPECT_EQ(columns[1].hits, 0u);
  EXPECT_GT(columns[1].bytes, 0u);
  EXPECT_EQ(store_.report(1).size(), 1u);
}

TEST_F(ColumnStoreTest, DroppedTablesAreForgotten) {
  add(1, 77, {0});
  const auto taken = find({0}, 77).good;
  const uint64_t used = store_.used();
  EXPECT_EQ(store_.drop({1, 2, 4, 0, 0, 0}), 0u);
  EXPECT_EQ(store_.drop({1, 2, 3, 0, 0, 0}), used);
  EXPECT_EQ(store_.used(), 0u);
  EXPECT_EQ(taken[0].segment->nrows(), kRows);
  table_->confirm(taken[0], 78);
  add(2, 78, {0});
  EXPECT_EQ(store_.used(), 0u) << "who has it still adds nothing";
  EXPECT_NE(store_.table({1, 2, 3, 0, 4, 5}), table_);
  EXPECT_TRUE(store_.report(10).empty());
}

TEST_F(ColumnStoreTest, ManyThreadsAddConfirmAndFind) {
  std::vector<std::thread> threads;
  std::atomic<uint64_t> wrong{0};
  for (uint32_t t = 0; t < 4; t++)
    threads.emplace_back([&, t] {
      for (uint32_t i = 0; i < 2000; i++) {
        const uint64_t lsn = 1 + i / 100;
        if (t < 3) add(i % 10, lsn, {t}, kAll >> i % 60);
        const auto found = find({t % 3}, lsn);
        for (const TakenSegment& taken : found.good)
          if (taken.segment->map_lsn != lsn || (taken.blocks & ~taken.segment->find(t % 3)->blocks) != 0) wrong++;
        for (const TakenSegment& taken : found.doubtful) table_->confirm(taken, lsn);
        if (t < 3) add(i % 10, lsn, {t}, BlockMask{7} << i % 50, 1000 + i);
        BlockMask seen[10] = {};
        for (const TakenSegment& taken : find({}, lsn).good) {
          BlockMask& blocks = seen[taken.segment->first_block / TB_SEGMENT_BLOCKS];
          if ((blocks & taken.blocks) != 0) wrong++;
          blocks |= taken.blocks;
        }
        if (t == 3) store_.merge_next();
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_LE(store_.used(), store_.capacity());
  store_.drop({1, 2, 3, 0, 0, 0});
  EXPECT_EQ(store_.used(), 0u) << "all is counted";
}

/* Fresh blocks of a segment, and who is given them. */
class FreshBlocksTest : public ColumnStoreTest {
 protected:
  void add_fresh(uint32_t segment, BlockMask blocks, uint64_t page_lsn, XidRange xids,
                 const std::vector<uint32_t>& numbers = {0}) {
    DecodedBlocks some = decoded(segment, 0, numbers, blocks, page_lsn);
    some.fresh = true;
    some.xids.fill(xids);
    store_.add(*table_, some);
  }
  StoredTable::Found look(const QuerySnapshot& snapshot, uint64_t lsn, const std::vector<uint32_t>& unset) {
    std::vector<uint8_t> bits(kBlocks / 8, 0xff), others(kBlocks / 8);
    for (const uint32_t block : unset) {
      bits[block / 8] &= static_cast<uint8_t>(~(1u << (block % 8)));
      others[block / 8] |= static_cast<uint8_t>(1u << (block % 8));
    }
    return table_->find({0}, {kBlocks, &lsn, bits.data(), others.data(), &snapshot, true});
  }
  static QuerySnapshot snapshot(uint64_t xmin, uint64_t xmax, std::vector<uint64_t> open = {}) {
    QuerySnapshot some;
    some.xmin = xmin;
    some.xmax = xmax;
    some.open = std::move(open);
    return some;
  }
  const QuerySnapshot late_ = snapshot(1000, 1000);
};

TEST_F(FreshBlocksTest, AreForSnapshotsToWhichNoneOfTheirTransactionsIsOpen) {
  add_fresh(0, 0b100, 5, {100, 110});
  const Blocks there{{0, 0b100}};
  const auto fresh = [this](const QuerySnapshot& some) { return blocks_of(look(some, 77, {2}).fresh); };
  EXPECT_EQ(fresh(late_), there);
  EXPECT_EQ(fresh(snapshot(111, 111)), there);
  EXPECT_EQ(fresh(snapshot(110, 111, {110})), Blocks{}) << "the last one is open";
  EXPECT_EQ(fresh(snapshot(110, 110)), Blocks{}) << "the last one had not begun";
  EXPECT_EQ(fresh(snapshot(50, 200, {50, 150})), there) << "open ones before and after";
  for (const uint64_t open : {100, 105, 110}) EXPECT_EQ(fresh(snapshot(50, 200, {50, open, 150})), Blocks{}) << open;
  QuerySnapshot some = snapshot(50, 200, {50, 150});
  some.overflowed = true;
  EXPECT_EQ(fresh(some), Blocks{}) << "some that are open are not told";
  some = snapshot(50, 200, {50, 150});
  some.in_recovery = true;
  EXPECT_EQ(fresh(some), Blocks{});
  some.xmin = 111;
  EXPECT_EQ(fresh(some), there);
  EXPECT_EQ(blocks_of(look(late_, 77, {}).fresh), Blocks{}) << "it is all-visible by now";
  EXPECT_EQ(blocks_of(look(late_, 77, {}).doubtful), there);
}

/* It was all-visible when the query saw the map, and has changed since. */
TEST_F(FreshBlocksTest, AreNotDoubtfulForAQueryThatDoesNotSeeThem) {
  add_fresh(0, 0b1, 9, {200, 200});
  EXPECT_EQ(look(snapshot(150, 150), 77, {}).doubtful.size(), 0u);
  EXPECT_EQ(look(snapshot(201, 201), 77, {}).doubtful.size(), 1u);
  EXPECT_EQ(doubtful({0}, 77), Blocks{}) << "nothing is known of the query";
}

TEST_F(FreshBlocksTest, AreNeverGoodAndTakeThePlaceOfTheBlocksBefore) {
  add(0, 77, {0});
  add_fresh(0, 0b11, 6, {100, 100});
  EXPECT_EQ(good({0}, 77, kBlocks, {0, 1}), (Blocks{{0, kAll & ~BlockMask{3}}}));
  EXPECT_EQ(good({0}, 77), (Blocks{{0, kAll & ~BlockMask{3}}})) << "even if the bits were set";
  EXPECT_EQ(blocks_of(look(late_, 77, {0, 1}).fresh), (Blocks{{0, 0b11}}));
  while (store_.merge_next()) continue;
  EXPECT_EQ(good({0}, 77), (Blocks{{0, kAll & ~BlockMask{3}}}));
  EXPECT_EQ(blocks_of(look(late_, 77, {0, 1}).fresh), (Blocks{{0, 0b11}}));
}

TEST_F(FreshBlocksTest, OfTwoStatesOfAPageTheNewerStays) {
  add_fresh(0, 0b1, 8, {100, 100});
  add_fresh(0, 0b1, 7, {90, 90});
  ASSERT_EQ(look(late_, 77, {0}).fresh.size(), 1u);
  EXPECT_EQ(look(late_, 77, {0}).fresh[0].segment->page_lsn[0], 8u);
  add(0, 77, {0}, 0b1, 7);
  EXPECT_EQ(good({0}, 77), Blocks{}) << "of an older page";
  add(0, 77, {0}, 0b1, 8);
  EXPECT_EQ(good({0}, 77), (Blocks{{0, 0b1}})) << "the same page, all-visible by now";
  EXPECT_EQ(look(late_, 77, {0}).fresh.size(), 0u);
  add_fresh(0, 0b1, 8, {100, 100});
  EXPECT_EQ(good({0}, 77), (Blocks{{0, 0b1}})) << "the same page is good still";
  add_fresh(0, 0b1, 9, {120, 120});
  EXPECT_EQ(good({0}, 77), Blocks{});
}

TEST_F(FreshBlocksTest, AreGoodOnceTheyAreAllVisibleAndConfirmed) {
  add_fresh(0, 0b11, 5, {100, 100});
  const auto found = look(late_, 90, {0});
  ASSERT_EQ(blocks_of(found.doubtful), (Blocks{{0, 0b10}}));
  table_->confirm(found.doubtful[0], 90);
  EXPECT_EQ(good({0}, 90, kBlocks, {0}), (Blocks{{0, 0b10}}));
  EXPECT_EQ(blocks_of(look(late_, 90, {0, 1}).fresh), (Blocks{{0, 0b1}}));
}

TEST_F(FreshBlocksTest, WhatWasServedServesWhoSeesTheSame) {
  for (uint32_t s = 0; s < 9; s++) add_fresh(s, kAll, 5, {100, 100 + s});
  const auto columns = std::make_shared<const std::vector<uint32_t>>(std::vector<uint32_t>{0});
  uint64_t lsn = 77;
  const std::vector<uint8_t> bits(kBlocks / 8), others(kBlocks / 8, 0xff);
  const auto known = [&](const QuerySnapshot& snapshot, bool whole = true) {
    return StoredTable::Known{kBlocks, &lsn, bits.data(), others.data(), &snapshot, whole};
  };
  const QuerySnapshot served = snapshot(500, 510, {500, 505});
  StoredTable::Search search;
  StoredTable::Found found;
  while (table_->find_some(*columns, known(served), &search, &found)) continue;
  ASSERT_EQ(found.fresh.size(), 9u);
  EXPECT_EQ(table_->kept_list(*columns, known(served)), nullptr);
  table_->keep_list(columns, known(served), search, found.fresh);
  ASSERT_NE(table_->kept_list(*columns, known(served)), nullptr);
  EXPECT_EQ(table_->kept_list(*columns, known(served))->blocks(), 9u * TB_SEGMENT_BLOCKS);
  lsn++;
  EXPECT_NE(table_->kept_list(*columns, known(served)), nullptr) << "the map tells nothing of it";
  lsn--;
  EXPECT_EQ(table_->kept_list(*columns, known(served, false)), nullptr) << "not all blocks are wanted";
  for (const QuerySnapshot& other : {snapshot(500, 511, {500, 505}), snapshot(499, 510, {500, 505}),
                                     snapshot(500, 510, {500}), snapshot(500, 510, {500, 506})})
    EXPECT_EQ(table_->kept_list(*columns, known(other)), nullptr);
  for (const auto flag : {&QuerySnapshot::overflowed, &QuerySnapshot::in_recovery, &QuerySnapshot::writes}) {
    QuerySnapshot other = served;
    other.*flag = true;
    EXPECT_EQ(table_->kept_list(*columns, known(other)), nullptr);
  }
  // A column more: the same blocks, other versions.
  add_fresh(3, kAll, 5, {100, 103}, {1});
  const auto list = table_->kept_list(*columns, known(served));
  ASSERT_NE(list, nullptr);
  EXPECT_NE(list->segments()[3].segment->find(1), nullptr);
  // A change that the snapshot does not see: it has what it had.
  add_fresh(4, 0b1, 6, {506, 506});
  ASSERT_NE(table_->kept_list(*columns, known(served)), nullptr);
  EXPECT_EQ(table_->kept_list(*columns, known(served))->blocks(), 9u * TB_SEGMENT_BLOCKS);
}

/* Lists that serve other snapshots and maps: blocks 0 to 63 of each of nine segments. */
class RenewalTest : public FreshBlocksTest {
 protected:
  void SetUp() override {
    for (uint32_t s = 0; s < 8; s++) add_fresh(s, kAll, 5, {100, 100 + s});
    add(8, 77, {0});
    memset(bits_.data() + 64, 0xff, 8);
    memset(others_.data() + 64, 0, 8);
    StoredTable::Search search;
    StoredTable::Found found;
    std::vector<TakenSegment> taken;
    for (bool more = true; more;) {
      more = table_->find_some(*columns_, known(served_), &search, &found);
      for (const auto* some : {&found.good, &found.fresh}) taken.insert(taken.end(), some->begin(), some->end());
    }
    list_ = table_->keep_list(columns_, known(served_), search, taken);
    ASSERT_NE(list_, nullptr);
    ASSERT_EQ(list_->fresh_blocks().size(), 8u * TB_SEGMENT_BLOCKS);
  }
  StoredTable::Known known(const QuerySnapshot& snapshot) {
    return {kBlocks, &lsn_, bits_.data(), others_.data(), &snapshot, true};
  }
  auto begin(const QuerySnapshot& snapshot) { return table_->begin_renewal(*columns_, known(snapshot)); }
  auto end(const QuerySnapshot& snapshot, const StoredTable::Renewal& renewal,
           const std::vector<uint32_t>& blocks = {}) {
    std::vector<uint8_t> changed(kBlocks / 8);
    for (const uint32_t block : blocks) changed[block / 8] |= static_cast<uint8_t>(1u << block % 8);
    return table_->end_renewal(*columns_, known(snapshot), renewal, changed);
  }
  void set_all_visible(uint32_t block, bool set) {
    const auto bit = static_cast<uint8_t>(1u << block % 8);
    bits_[block / 8] = static_cast<uint8_t>(set ? bits_[block / 8] | bit : bits_[block / 8] & ~bit);
    others_[block / 8] = static_cast<uint8_t>(~bits_[block / 8]);
  }

  uint64_t lsn_ = 77;
  std::vector<uint8_t> bits_ = std::vector<uint8_t>(kBlocks / 8);
  std::vector<uint8_t> others_ = std::vector<uint8_t>(kBlocks / 8, 0xff);
  const std::shared_ptr<const std::vector<uint32_t>> columns_ = std::make_shared<const std::vector<uint32_t>>(
      std::vector<uint32_t>{0});
  const QuerySnapshot served_ = snapshot(500, 510, {500, 505});
  const QuerySnapshot next_ = snapshot(500, 511, {500});
  std::shared_ptr<const SegmentList> list_;
};

TEST_F(RenewalTest, AnUnchangedListIsTheSame) {
  const auto renewal = begin(next_);
  ASSERT_TRUE(renewal);
  EXPECT_EQ(renewal->to_look, 8u * TB_SEGMENT_BLOCKS) << "what the map vouches for needs no look";
  EXPECT_TRUE(renewal->again.empty());
  EXPECT_EQ(table_->kept_list(*columns_, known(next_)), nullptr) << "nobody has looked yet";
  EXPECT_EQ(end(next_, *renewal), list_);
  EXPECT_EQ(table_->kept_list(*columns_, known(next_)), list_);
  EXPECT_EQ(table_->kept_list(*columns_, known(served_)), nullptr);
}

TEST_F(RenewalTest, ChangedPagesLeaveIt) {
  const auto list = end(next_, *begin(next_), {3, 64, 127});
  ASSERT_NE(list, list_);
  EXPECT_EQ(list->blocks(), 9u * TB_SEGMENT_BLOCKS - 3);
  EXPECT_EQ(list->segments()[0].blocks, kAll & ~BlockMask{8});
  EXPECT_EQ(list->segments()[1].blocks, kAll >> 2 << 1);
  EXPECT_EQ(list->fresh_blocks().size(), 8u * TB_SEGMENT_BLOCKS - 3);
  EXPECT_EQ(list_->blocks(), 9u * TB_SEGMENT_BLOCKS) << "others may still read it";
  // The store has them as they were, so they are looked at again, and as they are now once somebody has read them.
  const QuerySnapshot later = snapshot(512, 512);
  EXPECT_EQ(begin(later)->to_look, 8u * TB_SEGMENT_BLOCKS);
  add_fresh(0, 0b1000, 6, {507, 507});
  const auto renewal = begin(later);
  EXPECT_EQ(end(later, *renewal, {64, 127})->blocks(), 9u * TB_SEGMENT_BLOCKS - 2);
}

TEST_F(RenewalTest, BlocksOfTransactionsThatAreOpenLeaveItForThatSnapshot) {
  const QuerySnapshot old = snapshot(103, 200, {103});
  const auto renewal = begin(old);
  ASSERT_TRUE(renewal);
  EXPECT_EQ(renewal->to_look, 3u * TB_SEGMENT_BLOCKS) << "the last xids of three segments are before 103";
  const auto list = end(old, *renewal);
  EXPECT_EQ(list->blocks(), 4u * TB_SEGMENT_BLOCKS);
  EXPECT_EQ(table_->kept_list(*columns_, known(served_)), list_) << "the newer snapshot keeps what it has";
}

TEST_F(RenewalTest, BlocksThatLostTheirBitsLeaveIt) {
  set_all_visible(8 * TB_SEGMENT_BLOCKS + 5, false);
  const auto renewal = begin(next_);
  ASSERT_TRUE(renewal);
  EXPECT_EQ(end(next_, *renewal)->blocks(), 9u * TB_SEGMENT_BLOCKS - 1);
}

TEST_F(RenewalTest, WhereVacuumHasStampedTheMapAllIsFoundAnew) {
  lsn_++;
  for (uint32_t block = 0; block < TB_SEGMENT_BLOCKS; block++) set_all_visible(block, true);
  const auto renewal = begin(next_);
  ASSERT_TRUE(renewal);
  EXPECT_EQ(renewal->again.size(), 9u);
  EXPECT_EQ(renewal->to_look, 9u * TB_SEGMENT_BLOCKS);
  EXPECT_EQ(end(next_, *renewal, {1, 8 * TB_SEGMENT_BLOCKS})->blocks(), 9u * TB_SEGMENT_BLOCKS - 2);
}

TEST_F(RenewalTest, WhatIsAddedMeanwhileIsInTheNext) {
  const auto renewal = begin(next_);
  add_fresh(9, kAll, 5, {110, 110});
  EXPECT_EQ(end(next_, *renewal)->blocks(), 9u * TB_SEGMENT_BLOCKS);
  const QuerySnapshot later = snapshot(512, 512);
  EXPECT_EQ(end(later, *begin(later))->blocks(), 10u * TB_SEGMENT_BLOCKS);
}

TEST_F(RenewalTest, OfTwoAtOnceTheFirstIsKept) {
  const auto one = begin(next_), other = begin(next_);
  const auto list = end(next_, *one, {0});
  EXPECT_EQ(end(next_, *other, {0, 1})->blocks(), 9u * TB_SEGMENT_BLOCKS - 2);
  EXPECT_EQ(table_->kept_list(*columns_, known(next_)), list);
}

TEST_F(RenewalTest, ATransactionThatWritesRenewsForItselfAlone) {
  QuerySnapshot own = next_;
  own.writes = true;
  EXPECT_EQ(end(own, *begin(own), {0})->blocks(), 9u * TB_SEGMENT_BLOCKS - 1);
  EXPECT_EQ(table_->kept_list(*columns_, known(served_)), list_);
}

TEST_F(RenewalTest, BuffersAreHints) {
  std::vector<uint8_t> bits(kBlocks / 8);
  bits[1] = 0b101;
  bits[79] = 0x80;
  EXPECT_TRUE(table_->buffers_of(bits, 3).empty());
  table_->note_buffers(std::vector<uint32_t>{7, 8, 10}, std::vector<uint32_t>{70, 80, 100});
  EXPECT_EQ(table_->buffers_of(bits, 3), (std::vector<uint32_t>{80, 100, 0}));
}

TEST(QuerySnapshot, KnowsTransactionsByTheirLowerHalves) {
  QuerySnapshot some;
  some.xmax = (uint64_t{7} << 32) + 10;
  EXPECT_EQ(some.whole_xid(9), (uint64_t{7} << 32) + 9);
  EXPECT_EQ(some.whole_xid(10), some.xmax);
  EXPECT_EQ(some.whole_xid(0xfffffff0), (uint64_t{6} << 32) + 0xfffffff0);
  EXPECT_EQ(some.whole_xid(12), (uint64_t{7} << 32) + 12);
}

}  // namespace
}  // namespace turbine
