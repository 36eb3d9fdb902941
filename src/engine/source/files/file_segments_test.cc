/* file_segments_test.cc - rows of batches and their places among the store's segments. */
#include "engine/source/files/file_segments.h"

#include <gtest/gtest.h>

namespace turbine {
namespace {

/* A file that has nothing but batches. */
class Batches final : public TableFile {
 public:
  explicit Batches(std::vector<uint64_t> rows) : rows_(std::move(rows)) {}
  uint32_t batches() const override { return static_cast<uint32_t>(rows_.size()); }
  uint64_t rows(uint32_t batch) const override { return rows_[batch]; }
  std::vector<StoredColumn::Zone> zones(uint32_t) const override { return {}; }
  const FileVersion& version() const override { return version_; }
  void check_unchanged() const override {}
  std::unique_ptr<BatchReader> read_rows(uint32_t, const RowRanges&) const override { return nullptr; }

 private:
  const std::vector<uint64_t> rows_;
  const FileVersion version_;
};

TEST(FileSegments, EachBatchHasSegmentsOfItsOwn) {
  const FileSegments segments(Batches({1, 0, 16384, 16385}));
  const auto first = segments.of_batch(0), none = segments.of_batch(1), full = segments.of_batch(2),
             last = segments.of_batch(3);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].number, 0u);
  EXPECT_EQ(first[0].nrows, 1u);
  EXPECT_TRUE(none.empty());
  ASSERT_EQ(full.size(), 1u);
  EXPECT_EQ(full[0].number, 1u);
  EXPECT_EQ(full[0].nrows, 16384u);
  ASSERT_EQ(last.size(), 2u);
  EXPECT_EQ(last[1].number, 3u);
  EXPECT_EQ(last[1].first_row, 16384u);
  EXPECT_EQ(last[1].nrows, 1u);
  EXPECT_EQ(segments.blocks(), 4 * TB_SEGMENT_BLOCKS);
}

/* The last segment of a page of the visibility map is shorter, and holds fewer rows. */
TEST(FileSegments, NoSegmentHasMoreRowsThanItsBlocksHold) {
  const uint64_t rows = 20000000;
  const FileSegments segments(Batches({rows}));
  uint64_t next = 0;
  bool shorter = false;
  for (const auto& segment : segments.of_batch(0)) {
    EXPECT_EQ(segment.first_row, next);
    EXPECT_LE(segment.nrows, segment_blocks(segment.number) * kFileBlockRows);
    EXPECT_LE(segment_first_block(segment.number) + segment_blocks(segment.number), segments.blocks());
    shorter |= segment_blocks(segment.number) < TB_SEGMENT_BLOCKS;
    next += segment.nrows;
  }
  EXPECT_EQ(next, rows);
  EXPECT_TRUE(shorter);
}

TEST(FileSegments, MoreRowsThanCanBeNumberedAreAnError) {
  EXPECT_THROW(FileSegments(Batches({uint64_t{1} << 33})), FileError);
  EXPECT_THROW(FileSegments(Batches(std::vector<uint64_t>(300, UINT32_MAX))), FileError);
}

}  // namespace
}  // namespace turbine
