/* segment_tasks_test.cc - where the rows of a file's segments are read to, and what tasks they become. */
#include "engine/source/files/segment_tasks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "engine/program/testing/program_writer.h"
#include "engine/source/testing/recording_sink.h"
#include "engine/store/column_codes.h"
#include "engine/store/segment_merge.h"

namespace turbine {
namespace {

constexpr uint32_t kRows = 5000;
/* Of the program: numbers below 100, any numbers, the same number, and texts. */
enum { kNarrow, kWide, kConstant, kText, kColumns };

testing::ProgramWriter program_of_columns() {
  testing::ProgramWriter program;
  for (int i = 0; i < 3; i++) program.column(TB_TYPE_INT4, true);
  program.column(TB_TYPE_TEXT, true);
  return program;
}

/* One batch of so many segments. */
class OneBatch final : public TableFile {
 public:
  explicit OneBatch(uint64_t rows) : rows_(rows) {}
  uint32_t batches() const override { return 1; }
  uint64_t rows(uint32_t) const override { return rows_; }
  std::vector<StoredColumn::Zone> zones(uint32_t) const override { return {}; }
  const FileVersion& version() const override { return version_; }
  void check_unchanged() const override {}
  std::unique_ptr<BatchReader> read_rows(uint32_t, const RowRanges&) const override { return nullptr; }

 private:
  const uint64_t rows_;
  const FileVersion version_;
};

/* Says of NULLs what it was told to. */
class Promises final : public BatchReader {
 public:
  bool nulls = false;
  void read(uint32_t, std::vector<ColumnRows>&) override {}
  bool may_have_nulls(size_t) const override { return nulls; }
  void add_bytes(std::vector<uint64_t>&) const override {}
};

class StagingSink final : public testing::RecordingSink {
 public:
  uint64_t memory = 0;  // of a task's staged columns
  std::shared_ptr<StagedColumns> stage_columns(uint64_t bytes) override {
    if (bytes > memory) return nullptr;
    const std::shared_ptr<uint8_t> place(static_cast<uint8_t*>(aligned_alloc(4096, memory)), free);
    return {new StagedColumns(place.get(), bytes), [place](StagedColumns* staged) { delete staged; }};
  }
};

class SegmentTasksTest : public ::testing::Test {
 protected:
  void open(uint64_t memory, uint64_t task_rows) {
    sink_.memory = memory;
    auto file = std::make_unique<OneBatch>(uint64_t{kRows} * 10);
    FileSegments segments(*file);
    StoredPart stored;
    stored.columns = std::make_shared<const std::vector<uint32_t>>(std::vector<uint32_t>{3, 2, 1, 0});
    part_ = std::make_unique<FilePart>(1, "file", std::move(file), std::move(segments), stored, std::vector<uint8_t>(),
                                       task_rows, std::vector<uint8_t>{0, 0, 1, 0}, std::make_shared<RowMemory>());
    tasks_ = std::make_unique<SegmentTasks>(*part_, program_, 0, sink_);
    rows_.clear();
    for (uint32_t i = 0; i < kColumns; i++) rows_.emplace_back(program_.columns()[i].type);
  }
  /* Reads and adds the next segment; returns where its values were written. */
  std::vector<const void*> add(bool with_null = false) {
    const FileSegments::Segment place{number_, number_ * kRows, kRows};
    for (ColumnRows& column : rows_) column.clear();
    tasks_->begin_segment(place, rows_);
    std::vector<const void*> written;
    for (uint32_t i = 0; i < kText; i++) {
      auto* values = rows_[i].append<int32_t>(kRows);
      for (uint32_t row = 0; row < kRows; row++) values[row] = value(i, number_, row);
      written.push_back(values);
    }
    if (with_null) rows_[kWide].set_null(kRows, 7);
    auto* views = rows_[kText].append<TbTextView>(kRows);
    std::fill(views, views + kRows, TbTextView{});
    DecodedBlocks decoded;
    for (uint32_t i = 0; i < TB_SEGMENT_BLOCKS; i++) {
      decoded.blocks |= BlockMask{1} << i;
      decoded.first_row[i] = std::min(i * kFileBlockRows, kRows);
      decoded.row_count[i] = std::min(kFileBlockRows, kRows - decoded.first_row[i]);
    }
    for (uint32_t i = 0; i < kColumns; i++)
      decoded.columns.push_back({(*part_->stored.columns)[i], program_.columns()[i].type, true, rows_[i].data(),
                                 nullptr, false, tasks_->made_column(i, rows_[i], {true, -1, 1})});
    tasks_->add(place, merge_segment(nullptr, decoded));
    number_++;
    return written;
  }
  static int32_t value(uint32_t column, uint32_t segment, uint32_t row) {
    const uint32_t mixed = (row + segment * kRows) * 2654435761u;
    return static_cast<int32_t>(column == kNarrow ? mixed % 100 : column == kWide ? mixed : 42u);
  }
  const StoredColumn& column(const Task& task, size_t segment, size_t number) const {
    return *task.as<SegmentsInput>()->morsel->segments[segment].segment->find((*part_->stored.columns)[number])->data;
  }
  /* All values, and that the staged columns are those of the segments. */
  void expect_right(const Task& task, uint32_t first_segment) {
    std::vector<int32_t> room(kRows);
    for (size_t s = 0; s < task.as<SegmentsInput>()->morsel->segments.size(); s++)
      for (uint32_t i = 0; i < kColumns; i++) {
        const StoredColumn& stored = column(task, s, i);
        if (task.as<SegmentsInput>()->staged) {
          EXPECT_EQ(memcmp(task.as<SegmentsInput>()->staged->memory() +
                               task.as<SegmentsInput>()->staged->offsets()[s * kColumns + i],
                           stored.values(), stored.bytes()),
                    0);
        }
        if (i == kText) continue;
        const auto* values = static_cast<const int32_t*>(decode_column(stored, 0, kRows, room.data()).values);
        for (uint32_t row = 0; row < kRows; row++)
          ASSERT_EQ(values[row], value(i, first_segment + static_cast<uint32_t>(s), row));
      }
    if (task.as<SegmentsInput>()->staged) {
      EXPECT_EQ(task.as<SegmentsInput>()->staged->offsets().size(),
                task.as<SegmentsInput>()->morsel->segments.size() * kColumns);
    }
  }

  const std::vector<uint8_t> blob_ = program_of_columns().blob();
  const Program program_ = Program::parse(blob_);
  StagingSink sink_;
  Promises reader_;
  std::unique_ptr<FilePart> part_;
  std::unique_ptr<SegmentTasks> tasks_;
  std::vector<ColumnRows> rows_;
  uint32_t number_ = 0;
};

/* For a device that stages nothing values stay where they were read to, whose memory is used again. */
TEST_F(SegmentTasksTest, ValuesStayWhereTheyWereRead) {
  open(0, kRows);
  tasks_->begin_batch(reader_);
  std::vector<const void*> places;
  for (uint32_t i = 0; i < 3; i++) {
    const auto written = add();
    ASSERT_EQ(sink_.tasks.size(), 1u);
    const Task task = std::move(sink_.tasks.front());
    sink_.tasks.clear();
    expect_right(task, i);
    for (const int read : {kNarrow, kWide}) {
      EXPECT_EQ(column(task, 0, static_cast<size_t>(read)).values(), written[static_cast<size_t>(read)]);
      EXPECT_EQ(column(task, 0, static_cast<size_t>(read)).width(), StoredColumn::kPlain);
      EXPECT_EQ(column(task, 0, static_cast<size_t>(read)).shape().zone.greatest, 1);
    }
    EXPECT_EQ(column(task, 0, kConstant).width(), 0u);
    places.push_back(written[kNarrow]);
  }
  EXPECT_EQ(places[1], places[0]);
  EXPECT_EQ(places[2], places[0]);
}

/* What becomes narrow is coded, what does not is read to where the device fetches it from the second time on. */
TEST_F(SegmentTasksTest, StagedColumnsAreCodedIfThatIsLess) {
  open(uint64_t{4} << 20, 3 * kRows);
  tasks_->begin_batch(reader_);
  std::vector<const void*> wide;
  for (int i = 0; i < 7; i++) wide.push_back(add()[kWide]);
  tasks_->flush();
  ASSERT_EQ(sink_.tasks.size(), 3u);
  uint32_t first = 0;
  for (const Task& task : sink_.tasks) {
    ASSERT_TRUE(task.as<SegmentsInput>()->staged);
    expect_right(task, first);
    for (size_t s = 0; s < task.as<SegmentsInput>()->morsel->segments.size(); s++, first++) {
      EXPECT_EQ(column(task, s, kNarrow).width(), 1u);
      EXPECT_EQ(column(task, s, kWide).width(), StoredColumn::kPlain);
      EXPECT_EQ(column(task, s, kWide).values() == wide[first], first > 0);
    }
    // A byte, four, none and a text of a row: no copy is there twice.
    EXPECT_LT(task.as<SegmentsInput>()->staged->size(),
              task.as<SegmentsInput>()->morsel->segments.size() * (kRows * (1 + 4 + sizeof(TbTextView)) + 2000));
  }
}

/* From some task on. */
TEST_F(SegmentTasksTest, WithoutRoomNothingIsStaged) {
  open(uint64_t{4} << 20, 3 * kRows);
  tasks_->begin_batch(reader_);
  for (int i = 0; i < 40; i++) {
    if (i == 20) sink_.memory = 10;
    add();
  }
  tasks_->flush();
  uint32_t first = 0;
  for (const Task& task : sink_.tasks) {
    expect_right(task, first);
    EXPECT_EQ(task.as<SegmentsInput>()->staged != nullptr, first < 20) << first;
    first += static_cast<uint32_t>(task.as<SegmentsInput>()->morsel->segments.size());
  }
  EXPECT_EQ(first, 40u);
}

/* A file that said there were no NULLs; and one that says there may be. */
TEST_F(SegmentTasksTest, NullsAreKept) {
  for (const uint64_t memory : {uint64_t{0}, uint64_t{4} << 20})
    for (const bool promised : {true, false}) {
      open(memory, 2 * kRows);
      reader_.nulls = !promised;
      tasks_->begin_batch(reader_);
      for (int i = 0; i < 4; i++) add(i % 2 == 1);
      for (const Task& task : sink_.tasks) {
        EXPECT_EQ(column(task, 0, kWide).valid(), nullptr);
        ASSERT_NE(column(task, 1, kWide).valid(), nullptr);
        EXPECT_EQ(column(task, 1, kWide).valid()[7], 0);
        EXPECT_EQ(column(task, 1, kWide).valid()[8], 1);
      }
      EXPECT_EQ(sink_.tasks.size(), 2u);
      sink_.tasks.clear();
    }
}

}  // namespace
}  // namespace turbine
