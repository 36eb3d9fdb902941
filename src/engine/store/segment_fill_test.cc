/* segment_fill_test.cc - what of a chunk becomes segments, and that values stay what they were. */
#include "engine/store/segment_fill.h"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <numeric>

#include "engine/program/testing/program_writer.h"
#include "engine/store/column_codes.h"

namespace turbine {
namespace {

constexpr uint64_t kLsn = 42;

class SegmentFillTest : public ::testing::Test {
 protected:
  SegmentFillTest() {
    testing::ProgramWriter w;
    w.column(TB_TYPE_INT4);
    w.column(TB_TYPE_TEXT, true);
    program_ = std::make_shared<const Program>(Program::parse(w.blob(TB_SINK_AGGREGATE)));
    part_.table = store_.table({1, 2, 3, 0, 4, 5});
    part_.table->column_numbers({{1, TB_TYPE_INT4, ""}, {2, TB_TYPE_TEXT, ""}});
    part_.columns = std::make_shared<const std::vector<uint32_t>>(std::vector<uint32_t>{0, 1});
    part_.nblocks = 1000;
    for (uint32_t i = 0; i < 200; i++) {
      numbers_.push_back(static_cast<int32_t>(7 * i));
      views_.push_back(i % 2 ? TbTextView{3, 0x656e6f, 0, 4} : TbTextView{3, 0x6f7774, 0, 10});
      valid_.push_back(i % 3 != 0);
    }
  }
  /* Pages of one row each from the chunk's page `page` on; the rows repeat. */
  void fill(std::vector<TbRun> runs, uint32_t page, uint32_t npages, std::vector<TbRun> copied = {}) {
    SegmentFill fill(store_, program_, part_, std::move(runs), std::move(copied), kLsn);
    std::vector<DecodedPage> pages;
    for (uint32_t i = 0; i < npages; i++) pages.push_back({100 + i, i + 1, true, true});
    if (spoil_) spoil_(pages);
    const TbColumnData columns[] = {{numbers_.data(), nullptr, nullptr}, {views_.data(), valid_.data(), nullptr}};
    fill.add(page, pages, columns, bytes_, nullptr);
  }
  StoredTable::Found found() {
    std::vector<uint8_t> bits(125, 0xff);
    return part_.table->find({0, 1}, {1000, &kLsn, bits.data()});
  }
  static std::vector<int32_t> numbers_of(const Segment& segment) {
    std::vector<int32_t> room(segment.nrows());
    const TbColumnData data = decode_column(*segment.find(0)->data, 0, segment.nrows(), room.data());
    const auto* values = static_cast<const int32_t*>(data.values);
    return {values, values + segment.nrows()};
  }
  std::vector<uint32_t> blocks() {
    std::vector<uint32_t> blocks;
    for (const TakenSegment& taken : found().good)
      for (uint32_t i = 0; i < TB_SEGMENT_BLOCKS; i++)
        if (taken.blocks >> i & 1) blocks.push_back(taken.segment->first_block + i);
    return blocks;
  }
  static std::vector<uint32_t> range(uint32_t from, uint32_t to) {
    std::vector<uint32_t> numbers(to - from);
    std::iota(numbers.begin(), numbers.end(), from);
    return numbers;
  }

  ColumnStore store_{1 << 20};
  std::shared_ptr<const Program> program_;
  StoredPart part_;
  const uint8_t bytes_[32] = "....onexxxtwo";
  std::vector<int32_t> numbers_;
  std::vector<TbTextView> views_;
  std::vector<uint8_t> valid_;
  std::function<void(std::vector<DecodedPage>&)> spoil_;
  uint64_t tables_ = 0;
};

TEST_F(SegmentFillTest, KeepsValuesNullsAndTexts) {
  fill({{0, 2 * TB_SEGMENT_BLOCKS, TB_SEGMENT_BLOCKS}}, 0, TB_SEGMENT_BLOCKS);
  const auto segments = found().good;
  ASSERT_EQ(segments.size(), 1u);
  const Segment& segment = *segments[0].segment;
  EXPECT_EQ(segment.first_block, 2 * TB_SEGMENT_BLOCKS);
  ASSERT_EQ(segment.nrows(), TB_SEGMENT_BLOCKS);
  EXPECT_EQ(segment.page_lsn[5], 105u);
  EXPECT_EQ(numbers_of(segment), std::vector(numbers_.begin(), numbers_.begin() + TB_SEGMENT_BLOCKS));
  const StoredColumn& text = *segment.find(1)->data;
  EXPECT_EQ(text.width(), 1u) << "numbers of a dictionary";
  std::vector<TbTextView> views(segment.nrows());
  const TbColumnData data = decode_column(text, 0, segment.nrows(), views.data());
  EXPECT_EQ(memcmp(data.valid, valid_.data(), TB_SEGMENT_BLOCKS), 0);
  const auto* bytes = reinterpret_cast<const char*>(data.bytes);
  EXPECT_EQ(std::string(bytes + views[1].offset, views[1].length), "one");
  EXPECT_EQ(std::string(bytes + views[2].offset, views[2].length), "two");
  EXPECT_NE(views[1].id, 0u);
  EXPECT_NE(views[1].id, views[2].id);
  EXPECT_EQ(views[1].id, views[5].id);
}

TEST_F(SegmentFillTest, PagesGoToTheirBlocks) {
  // Pages 10 to 29 of a chunk: some that the backend has filled, and runs over several segments.
  fill({{0, 900, 12}, {14, 60, 8}, {24, 190, 4}, {28, 500, 9}}, 10, 20);
  EXPECT_EQ(blocks(), (std::vector<uint32_t>{60, 61, 62, 63, 64, 65, 66, 67, 190, 191, 192, 193, 500, 501, 910, 911}));
  for (const TakenSegment& taken : found().good) {
    if (taken.segment->first_block != 0) continue;
    EXPECT_EQ(numbers_of(*taken.segment)[1], 7 * 5) << "block 61";
  }
}

TEST_F(SegmentFillTest, PagesThatDoNotQualifyAreLeftOut) {
  spoil_ = [](auto& pages) {
    pages[1].all_visible = false;
    pages[3].whole = false;
    pages[5].lsn = 0;
  };
  fill({{0, 0, 8}}, 0, 8);
  EXPECT_EQ(blocks(), (std::vector<uint32_t>{0, 2, 4, 5, 6, 7}));
  part_.in_recovery = true;
  fill({{0, 0, 8}}, 0, 8);
  EXPECT_EQ(blocks(), (std::vector<uint32_t>{0, 1, 2, 4, 5, 6, 7})) << "in recovery pages do not say it";
}

/* Only of copies is what the header says of them true. */
TEST_F(SegmentFillTest, FreshPagesAreThoseThatTheirCopySaysSo) {
  auto snapshot = std::make_shared<QuerySnapshot>();
  snapshot->xmin = snapshot->xmax = (uint64_t{1} << 32) + 500;
  spoil_ = [](auto& pages) {
    for (DecodedPage& page : pages) {
      page.all_visible = false;
      page.fresh = true;
      page.least = 100;
      page.greatest = 200;
    }
    pages[1].fresh = false;
    pages[2].lsn = 0;
    pages[3].whole = false;
    pages[4].all_visible = true;
    pages[4].fresh = false;
    pages[5].least = pages[5].greatest = 0;
  };
  const auto keep = [&] {
    part_.table = store_.table({1, 2, 3, 0, 4, 6 + tables_++});
    part_.table->column_numbers({{1, TB_TYPE_INT4, ""}, {2, TB_TYPE_TEXT, ""}});
    fill({}, 0, 8, {{0, 0, 8}});
    std::vector<uint8_t> bits(125), others(125, 0xff);
    return part_.table->find({0, 1}, {1000, &kLsn, bits.data(), others.data(), snapshot.get()}).fresh;
  };
  EXPECT_TRUE(keep().empty()) << "the snapshot is not told";
  part_.snapshot = snapshot;
  const auto fresh = keep();
  ASSERT_EQ(fresh.size(), 1u);
  EXPECT_EQ(fresh[0].blocks, BlockMask{0b11100001});
  EXPECT_EQ((*fresh[0].segment->xids)[0].least, (uint64_t{1} << 32) + 100);
  EXPECT_EQ((*fresh[0].segment->xids)[7].greatest, (uint64_t{1} << 32) + 200);
  EXPECT_TRUE((*fresh[0].segment->xids)[5].empty());
  EXPECT_EQ(blocks(), std::vector<uint32_t>{4});
  part_.all_visible = std::make_shared<const std::vector<uint8_t>>(125);
  EXPECT_EQ(keep().size(), 1u);
  EXPECT_EQ(blocks(), std::vector<uint32_t>{}) << "the map does not say so";
  part_.all_visible = nullptr;
  part_.in_recovery = true;
  EXPECT_EQ(keep().size(), 1u);
  EXPECT_EQ(blocks(), std::vector<uint32_t>{}) << "a copy may lack rows";
}

TEST_F(SegmentFillTest, BlocksBehindTheEndAreNot) {
  fill({{0, 990, 20}}, 0, 20);
  EXPECT_EQ(blocks(), range(990, 1000));
}

}  // namespace
}  // namespace turbine
