/* segment_batch_test.cc - rows of stored segments reach a GPU's pipelines as they are, kept there or not, whatever
 * fails. */
#include "engine/device/cuda/segments/segment_batch.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cstring>
#include <random>
#include <set>

#include "engine/device/cuda/driver/stream.h"
#include "engine/device/cuda/memory/staging_limit.h"
#include "engine/device/cuda/testing/fake_device.h"
#include "engine/device/cuda/testing/fake_joins.h"
#include "engine/device/cuda/testing/fake_segments.h"
#include "engine/device/cuda/testing/query_run.h"
#include "engine/device/cuda/testing/row_places.h"
#include "engine/store/column_codes.h"

namespace turbine::cuda::testing {
namespace {

/* All rows of column 0; valid until the next call. */
TbColumnData decoded_values(const Segment& segment) {
  static std::vector<int32_t> room;
  room.resize(segment.nrows());
  return decode_column(*segment.columns[0].data, 0, segment.nrows(), room.data());
}

/* Segments of values of several widths, some blocks of them taken. */
class SegmentBatchTest : public ::testing::Test {
 protected:
  void open(Shape shape, uint64_t cache_size, const FakeOptions& options = {}) {
    program_ = fake_program(shape);
    device_ = std::make_unique<FakeDevice>(
        options, [this](FakeDriver& fake) { set_fake_kernels(fake, *program_); }, cache_size);
  }
  /* Values, all below `domain` unless it is 0. */
  void make_chunks(uint32_t seed, size_t count, int32_t domain = 0) {
    values_.clear();
    std::mt19937 random(seed);
    const auto columns = std::make_shared<const std::vector<uint32_t>>(std::vector<uint32_t>{0});
    for (size_t c = 0; c < count; c++) {
      auto morsel = std::make_shared<SegmentMorsel>();
      morsel->columns = columns;
      morsel->lasting = lasting_ || random() % 2;
      for (int s = 0; s < 3; s++) {
        const int32_t span = std::array{1, 200, 60000, 1 << 30}[random() % 4];
        std::vector<int32_t> values(random() % (TB_SEGMENT_BLOCKS * kRowsABlock));
        for (int32_t& value : values) {
          value = 1000 + static_cast<int32_t>(random() % static_cast<uint32_t>(span));
          if (domain) value %= domain;
        }
        const auto segment = segment_of(values);
        const BlockMask some = random() % 2 ? ~BlockMask{0} : uint64_t{random()} << 32 | random();
        const TakenSegment taken{segment, segment->blocks & some};
        each_row_range(*segment, taken.blocks, [&](uint32_t first, uint32_t end) {
          for (uint32_t i = first; i < end; i++) {
            count_++;
            sum_ += values[i];
            values_.push_back(values[i]);
            counts_[values[i]]++;
          }
        });
        morsel->segments.push_back(taken);
      }
      Chunk chunk;
      chunk.segments = morsel;
      chunks_.push_back(std::move(chunk));
    }
  }
  Answer run(uint64_t fault = 0) {
    for (Chunk& chunk : chunks_) chunk.times_done = 0;
    return run_query(**device_, program_, chunks_, kNoLimit, fault);
  }
  void expect_right(const Answer& answer) {
    if (program_->grouped()) {
      EXPECT_EQ(answer.counts, counts_);
    } else {
      EXPECT_EQ(answer.count, count_);
      EXPECT_EQ(answer.sum, sum_);
    }
  }

  std::shared_ptr<const Program> program_;
  std::unique_ptr<FakeDevice> device_;
  std::vector<Chunk> chunks_;
  bool lasting_ = false;  // all morsels
  std::vector<int32_t> values_;  // of all rows that are taken
  int64_t count_ = 0, sum_ = 0;
  std::map<int32_t, int64_t> counts_;
};

TEST_F(SegmentBatchTest, EveryRowOnce) {
  for (const Shape shape : {Shape::UNGROUPED, Shape::GROUPED}) {
    chunks_.clear();
    count_ = sum_ = 0;
    counts_.clear();
    open(shape, uint64_t{1} << 30);
    make_chunks(3, 20);
    expect_right(run());
    device_.reset();
  }
}

/* All rows stay, and some segments have none of them. */
class SomeSegments final : public RowLimit {
 public:
  std::set<const Segment*> excluded;
  uint64_t worth_pruning(uint64_t) const override { return UINT64_MAX; }
  std::vector<uint32_t> rows_that_stay(const ResultBatch&, MemoryBudget&) const override { return {}; }
  bool excludes(const Segment& segment, const std::vector<uint32_t>&) const override {
    return excluded.contains(&segment);
  }
};

/* The segments of a task, some of it, none; and those that stay are read as ever. A task that comes again is read
 * wholly or not at all. */
TEST_F(SegmentBatchTest, SegmentsBehindALimitAreNotRead) {
  for (const bool lasting : {false, true}) {
    lasting_ = lasting;
    program_ = fake_program(Shape::PROJECT);
    device_ = std::make_unique<FakeDevice>(
        FakeOptions{},
        [this](FakeDriver& fake) {
          set_fake_kernels(fake, *program_);
          fake.set_kernel("tb_probe", fake_probe);
          fake.set_kernel("tb_project", fake_project);
        },
        uint64_t{1} << 30);
    chunks_.clear();
    make_chunks(9, 6, kInnerKeys);
    const auto limit = std::make_shared<SomeSegments>();
    for (const TakenSegment& taken : chunks_[0].segments->segments) limit->excluded.insert(taken.segment.get());
    limit->excluded.insert(chunks_[2].segments->segments[1].segment.get());
    limit->excluded.insert(chunks_[3].segments->segments[0].segment.get());
    std::vector<FakePage> pages;
    uint64_t segments = 0, blocks = 0, bytes = 0;
    const auto excluded = [&limit](const TakenSegment& taken) { return limit->excluded.contains(taken.segment.get()); };
    for (const Chunk& chunk : chunks_) {
      const SegmentMorsel& task = *chunk.segments;
      const bool whole = task.lasting && !std::all_of(task.segments.begin(), task.segments.end(), excluded);
      for (const TakenSegment& taken : task.segments) {
        if (!whole && excluded(taken)) {
          segments++;
          blocks += static_cast<uint64_t>(std::popcount(taken.blocks));
          continue;
        }
        bytes += taken.segment->columns[0].data->bytes();
        const TbColumnData data = decoded_values(*taken.segment);
        each_row_range(*taken.segment, taken.blocks, [&](uint32_t first, uint32_t end) {
          for (uint32_t i = first; i < end; i++) {
            if (pages.empty() || pages.back().nrows == TB_MAX_TUPLES_PER_PAGE) pages.push_back({});
            pages.back().values[pages.back().nrows++] = static_cast<const int32_t*>(data.values)[i];
          }
        });
      }
    }
    for (int run_number = 0; run_number < 2; run_number++) {
      for (Chunk& chunk : chunks_) chunk.times_done = 0;
      const Answer answer = run_query(**device_, program_, chunks_, kNoLimit, 0, fake_artifact(),
                                      fake_tables(Matches::UNIQUE), limit);
      EXPECT_EQ(answer.rows, expected_join(pages, Matches::UNIQUE).rows);
      TaskOutcome all;
      for (const Chunk& chunk : chunks_) {
        all.segments_excluded += chunk.outcome.segments_excluded;
        all.blocks_excluded += chunk.outcome.blocks_excluded;
        all.cached_bytes += chunk.outcome.cached_bytes;
      }
      EXPECT_EQ(all.segments_excluded, segments);
      EXPECT_EQ(all.blocks_excluded, blocks);
      EXPECT_EQ(all.cached_bytes, bytes);
    }
    device_.reset();
  }
}

/* Tuples name rows of segments, and of parts of them where one probe finds too many. */
TEST_F(SegmentBatchTest, JoinsOfStoredRows) {
  for (const Shape shape : kJoinShapes)
    for (const Matches matches : {Matches::UNIQUE, Matches::BURST}) {
      program_ = fake_program(shape);
      device_ = std::make_unique<FakeDevice>(
          FakeOptions{},
          [this](FakeDriver& fake) {
            set_fake_kernels(fake, *program_);
            fake.set_kernel("tb_probe", fake_probe);
            fake.set_kernel("tb_project", fake_project);
          },
          uint64_t{1} << 30);
      chunks_.clear();
      make_chunks(8, 6, kInnerKeys);
      std::vector<FakePage> pages;
      for (const int32_t value : values_) {
        if (pages.empty() || pages.back().nrows == TB_MAX_TUPLES_PER_PAGE) pages.push_back({});
        pages.back().values[pages.back().nrows++] = value;
      }
      const ExpectedJoin expected = expected_join(pages, matches);
      for (int run_number = 0; run_number < 2; run_number++) {
        for (Chunk& chunk : chunks_) chunk.times_done = 0;
        const Answer answer = run_query(**device_, program_, chunks_, kNoLimit, 0, fake_artifact(),
                                        fake_tables(matches));
        if (shape == Shape::PROJECT) {
          EXPECT_EQ(answer.rows, expected.rows);
        } else if (shape == Shape::JOIN_GROUPED) {
          EXPECT_EQ(answer.counts, expected.counts);
        } else {
          EXPECT_EQ(answer.count, expected.count);
          EXPECT_EQ(answer.sum, expected.sum);
        }
      }
      device_.reset();
    }
}

TEST_F(SegmentBatchTest, WhatIsKeptIsNotCopiedAgain) {
  lasting_ = true;
  open(Shape::UNGROUPED, uint64_t{1} << 30);
  make_chunks(4, 20);
  const Answer first = run(), second = run();
  expect_right(first);
  expect_right(second);
  uint64_t bytes = 0;
  for (const Chunk& chunk : chunks_)
    for (const TakenSegment& taken : chunk.segments->segments) bytes += taken.segment->columns[0].data->bytes();
  EXPECT_GE(first.stats.bytes_to_device, second.stats.bytes_to_device + bytes);
  // Both runs took one column of each segment: the first one's crossed, the second one's were there.
  const TbDeviceInfo info = (**device_).info();
  EXPECT_GT(info.cache_misses, 0u);
  EXPECT_EQ(info.cache_hits, info.cache_misses);
  // Nor is what was described: arguments remain.
  EXPECT_LE(second.stats.bytes_to_device, chunks_.size() * 2048);
}

TEST_F(SegmentBatchTest, WhatTheHostForgetsIsGivenBack) {
  lasting_ = true;
  open(Shape::UNGROUPED, uint64_t{1} << 30);
  make_chunks(8, 20);
  expect_right(run());
  const uint64_t kept = (**device_).info().cache_used;
  (**device_).forget_dropped();
  EXPECT_EQ((**device_).info().cache_used, kept) << "all of it is of use";
  expect_right(run());

  chunks_.clear();
  (**device_).forget_dropped();
  EXPECT_LT((**device_).info().cache_used, uint64_t{1} << 20) << "of " << kept;
  EXPECT_LT(device_->driver().device_bytes(), uint64_t{1} << 20) << "the driver has it";
  count_ = sum_ = 0;
  make_chunks(9, 20);
  expect_right(run());
  EXPECT_GE((**device_).info().cache_used, kept / 2);
}

TEST_F(SegmentBatchTest, WithoutACacheAllIsCopiedEachTime) {
  open(Shape::UNGROUPED, 0);
  make_chunks(5, 20);
  const Answer first = run(), second = run();
  expect_right(first);
  expect_right(second);
  EXPECT_EQ(first.stats.bytes_to_device, second.stats.bytes_to_device);
}

/* Tables in turn, together larger than the tier: some stay, none is wrong. */
TEST_F(SegmentBatchTest, ACacheThatIsTooSmall) {
  open(Shape::UNGROUPED, uint64_t{2} << 20, {.most_delay_us = 0});
  make_chunks(6, 400);
  uint64_t all = 0;
  for (const Chunk& chunk : chunks_)
    for (const TakenSegment& taken : chunk.segments->segments) all += taken.segment->columns[0].data->bytes();
  ASSERT_GT(all, uint64_t{5} << 19);
  for (int i = 0; i < 3; i++) expect_right(run());
  const uint64_t copied = run().stats.bytes_to_device;
  EXPECT_LT(copied, all);
  // Others push them out, but not at once.
  chunks_.clear();
  count_ = sum_ = 0;
  make_chunks(7, 400);
  const uint64_t first = run().stats.bytes_to_device;
  for (int i = 0; i < 40; i++) expect_right(run());
  EXPECT_LT(run().stats.bytes_to_device, first);
}

/* Queries of others, many times and more than there is room for. Returns what a query copies then that reads what was
 * there before them. */
class PinnedCopiesTest : public SegmentBatchTest {
 protected:
  uint64_t copied_after_others(bool pinned_at_first, bool pinned_later) {
    // Slabs of a megabyte: two or three for the ones, two or three for the others.
    open(Shape::UNGROUPED, uint64_t{6} << 20, {.most_delay_us = 0});
    make_chunks(6, 250);
    pin(pinned_at_first);
    expect_right(run());
    pin(pinned_later);
    own_ = 0;
    for (const Chunk& chunk : chunks_)
      for (const TakenSegment& taken : chunk.segments->segments) own_ += taken.segment->columns[0].data->bytes();
    std::vector<Chunk> before = std::exchange(chunks_, {});
    const int64_t count = std::exchange(count_, 0), sum = std::exchange(sum_, 0);
    make_chunks(7, 700);
    for (int i = 0; i < 40; i++) expect_right(run());
    chunks_ = std::move(before);
    count_ = count;
    sum_ = sum;
    const Answer answer = run();
    expect_right(answer);
    chunks_.clear();
    device_.reset();
    count_ = sum_ = 0;
    return answer.stats.bytes_to_device;
  }
  void pin(bool pinned) {
    for (const Chunk& chunk : chunks_)
      for (const TakenSegment& taken : chunk.segments->segments) taken.segment->columns[0].data->set_pinned(pinned);
  }
  uint64_t own_ = 0;
};

TEST_F(PinnedCopiesTest, StayBesideQueriesOfOthers) {
  const uint64_t unpinned = copied_after_others(false, false);
  EXPECT_GT(unpinned, own_ / 2) << "the test is none if they stay in any case";
  const uint64_t pinned = copied_after_others(true, true);
  EXPECT_LT(pinned + own_ / 2, unpinned);
  EXPECT_LT(copied_after_others(false, true) + own_ / 2, unpinned) << "pinned when they were there already";
  EXPECT_GT(copied_after_others(true, false), pinned + own_ / 2) << "not pinned any more";
}

/* Copies that were made before cross at once; they are of no use for what is on the device already. */
TEST_F(SegmentBatchTest, StagedColumns) {
  for (const bool stored : {true, false}) {
    open(Shape::GROUPED, uint64_t{1} << 30);
    chunks_.clear();
    counts_.clear();
    make_chunks(8, 30);
    for (Chunk& chunk : chunks_) {
      chunk.staged = true;
      auto morsel = std::make_shared<SegmentMorsel>(*chunk.segments);
      morsel->stored = stored;
      chunk.segments = morsel;
    }
    const Answer first = run(), second = run();
    expect_right(first);
    expect_right(second);
    EXPECT_EQ(second.stats.bytes_to_device < first.stats.bytes_to_device / 2, stored);
    device_.reset();
  }
}

/* Columns that are nowhere else. */
TEST_F(SegmentBatchTest, StagedColumnsInPlace) {
  for (const Shape shape : {Shape::UNGROUPED, Shape::GROUPED}) {
    open(shape, uint64_t{1} << 30);
    chunks_.clear();
    counts_.clear();
    count_ = sum_ = 0;
    make_chunks(9, 30);
    for (Chunk& chunk : chunks_) {
      chunk.staged = chunk.in_place = true;
      auto morsel = std::make_shared<SegmentMorsel>(*chunk.segments);
      morsel->stored = false;
      chunk.segments = morsel;
    }
    expect_right(run());
    device_.reset();
  }
}

/* Beside some that were not; and each driver call fails in turn. */
TEST_F(SegmentBatchTest, StagedColumnsBesideOthers) {
  open(Shape::UNGROUPED, uint64_t{1} << 30);
  make_chunks(10, 12);
  for (size_t i = 0; i < chunks_.size(); i += 2) chunks_[i].staged = true;
  expect_right(run());
  for (uint64_t fault = 1; fault < 400; fault += 7) {
    try {
      expect_right(run(fault));
    } catch (const DeviceError&) {
      device_.reset();
      open(Shape::UNGROUPED, uint64_t{1} << 30);
    }
  }
}

TEST_F(SegmentBatchTest, EachDriverCallFailsInTurn) {
  open(Shape::GROUPED, uint64_t{1} << 30);
  uint32_t failed = 0;
  for (uint32_t nth = 1;; nth++) {
    // Others, so that there is something to copy.
    chunks_.clear();
    counts_.clear();
    make_chunks(100 + nth, 4);
    const uint64_t calls = device_->driver().calls();
    try {
      expect_right(run(encode_query_fault(nth, nth % 2 ? kOutOfMemory : kLaunchOutOfResources)));
      // Either nothing failed, or fewer lanes did it.
      if (device_->driver().calls() - calls < nth) break;
    } catch (const DeviceError&) {
      failed++;
    }
    ASSERT_LT(nth, 3000u);
  }
  EXPECT_GT(failed, 20u);
  expect_right(run());
}

/* Column 0 has these texts, as numbers in the dictionary if there is one. */
std::shared_ptr<const Segment> segment_of_texts(const std::vector<std::string>& texts,
                                                const std::shared_ptr<TextDictionary>& dictionary) {
  auto segment = std::make_shared<Segment>();
  const auto nrows = static_cast<uint32_t>(texts.size());
  for (uint32_t i = 0; i < TB_SEGMENT_BLOCKS; i++) {
    segment->row_start[i + 1] = std::min(nrows, (i + 1) * kRowsABlock);
    if (segment->rows_of(i) > 0) segment->blocks |= BlockMask{1} << i;
  }
  std::string bytes;
  std::vector<TbTextView> views;
  for (const std::string& text : texts) {
    views.push_back({static_cast<uint32_t>(text.size()), 0, 0, static_cast<uint32_t>(bytes.size())});
    bytes += text;
  }
  std::shared_ptr<const StoredColumn> column;
  if (dictionary) {
    const ColumnOrigin origin{reinterpret_cast<const uint8_t*>(views.data()), nullptr,
                              reinterpret_cast<const uint8_t*>(bytes.data())};
    std::vector<int32_t> codes(nrows);
    EXPECT_TRUE(dictionary->encode({&origin, 0, nrows, 0}, codes.data()));
    const ColumnOrigin coded{reinterpret_cast<const uint8_t*>(codes.data()), nullptr, nullptr};
    const ColumnPiece piece{&coded, 0, nrows, 0};
    column = encode_texts(dictionary, false, nrows, {&piece, 1});
  } else {
    auto plain = std::make_shared<StoredColumn>(
        StoredColumn::Shape{.type = TB_TYPE_TEXT, .nullable = false, .nulls = false}, nrows, bytes.size());
    memcpy(plain->values(), views.data(), nrows * sizeof(TbTextView));
    memcpy(plain->text(), bytes.data(), bytes.size());
    column = plain;
  }
  segment->columns.emplace_back(0, segment->blocks, column);
  return segment;
}

/* Of one dictionary, of another, of none; some of them larger than what crosses at once. */
TEST(SegmentBatchTexts, AreFoundWhateverTheyAreKeptAs) {
  FakeDriver fake{FakeOptions{}};
  DeviceOrdinal ordinal = 0;
  auto context = std::make_shared<CudaContext>(fake.table(), ordinal, 13000, uint64_t{1} << 30);
  for (const uint64_t capacity : {uint64_t{0}, uint64_t{64} << 20}) {
    const Driver& driver = context->driver();
    GpuCache cache(context, 1, capacity);
    const UniqueStream stream(context->streams(), driver);
    std::mt19937 random(12);
    std::vector<std::vector<std::string>> texts;
    auto morsel = std::make_shared<SegmentMorsel>();
    morsel->columns = std::make_shared<const std::vector<uint32_t>>(std::vector<uint32_t>{0});
    morsel->lasting = true;
    const std::array dictionaries = {std::make_shared<TextDictionary>(), std::make_shared<TextDictionary>(),
                                     std::shared_ptr<TextDictionary>()};
    for (size_t s = 0; s < 12; s++) {
      const auto& dictionary = dictionaries[random() % 3];
      const size_t least = !dictionary && s % 2 ? 900 : 0;
      std::vector<std::string> some(1 + random() % (TB_SEGMENT_BLOCKS * kRowsABlock));
      for (std::string& text : some) text = std::to_string(random() % 500) + std::string(least, 'x');
      const auto segment = segment_of_texts(some, dictionary);
      morsel->segments.push_back({segment, segment->blocks});
      texts.push_back(some);
    }
    for (int round = 0; round < 3; round++) {
      SegmentBatch batch(*context, driver, cache, cache.tier.begin_query());
      batch.prepare(morsel, nullptr, 1);
      const uint64_t copied = batch.upload(stream.get());
      driver.check(driver.stream_synchronize(stream.get()));
      EXPECT_EQ(copied > 0, capacity == 0 || round == 0);
      for (size_t s = 0; s < texts.size(); s++) {
        const TbColumnPlace& place = reinterpret_cast<const TbColumnPlace*>(batch.places())[s];
        for (uint32_t row = 0; row < texts[s].size(); row++) {
          const auto code = static_cast<uint32_t>(tb_test_element(&place, row));
          const TbTextView& view = place.codes.views[code + (row & place.codes.row_mask)];
          ASSERT_EQ(std::string(reinterpret_cast<const char*>(place.data.bytes) + view.offset, view.length),
                    texts[s][row]);
        }
      }
      batch.keep();
      // New entries may move a dictionary, and so what names it.
      const auto segment = segment_of_texts(std::vector<std::string>(50, std::to_string(random())), dictionaries[0]);
    }
  }
  context.reset();
  EXPECT_EQ(fake.leaks(), std::vector<std::string>());
  EXPECT_EQ(fake.misuse(), std::vector<std::string>());
}

TEST(StagedColumns, WithoutRoomIsRefused) {
  std::vector<uint8_t> memory(1000);
  StagedColumns staged(memory.data(), 300);
  const auto segment = segment_of_texts({"a", "b", "c"}, std::make_shared<TextDictionary>());
  const uint64_t bytes = StagedColumns::bytes_of(*segment, {0});
  for (uint64_t size = bytes; size <= 300; size += bytes) EXPECT_TRUE(staged.add(*segment, {0}));
  EXPECT_FALSE(staged.add(*segment, {0}));
  EXPECT_LE(staged.size(), 300u);
  EXPECT_EQ(staged.place(64), nullptr);
}

TEST(StagedColumns, WhatLiesThereIsNotCopied) {
  const auto memory = std::make_shared<std::array<uint8_t, 4096>>();
  StagedColumns staged(memory->data(), memory->size());
  for (int round = 0; round < 3; round++) {
    const auto segment = std::make_shared<Segment>(*segment_of({1, 2, 3}));
    const StoredColumn& coded = *segment->columns[0].data;
    const uint64_t before = staged.size();
    const std::shared_ptr<uint8_t> place(memory, staged.place(coded.bytes()));
    memset(place.get(), 7, coded.bytes());
    segment->columns.emplace_back(1, segment->blocks, std::make_shared<StoredColumn>(coded.shape(), 3, place));
    ASSERT_TRUE(staged.add(*segment, {0, 1}));
    ASSERT_EQ(staged.offsets().size(), 2 * static_cast<size_t>(round + 1));
    const uint64_t copied = staged.offsets()[staged.offsets().size() - 2], there = staged.offsets().back();
    EXPECT_EQ(staged.memory() + there, place.get());
    EXPECT_EQ(memcmp(staged.memory() + copied, coded.values(), coded.bytes()), 0);
    EXPECT_EQ(staged.size(), before + 2 * StagedColumns::bytes_of(coded));
  }
}

TEST(StagingLimit, WaitsForRoom) {
  StagingLimit limit(100);
  EXPECT_FALSE(limit.take(101, std::chrono::milliseconds(1000)));
  ASSERT_TRUE(limit.take(60, std::chrono::milliseconds(0)));
  EXPECT_FALSE(limit.take(60, std::chrono::milliseconds(1)));
  std::thread other([&] { limit.give_back(60); });
  EXPECT_TRUE(limit.take(60, std::chrono::milliseconds(10000)));
  other.join();
  std::thread ending([&] { limit.end(); });
  EXPECT_FALSE(limit.take(60, std::chrono::milliseconds(10000)));
  ending.join();
}

/* What lies in a fake GPU's memory is there to be read. */
TEST(SegmentTierDictionary, HasAllEntriesHoweverItGrows) {
  FakeDriver fake{FakeOptions{}};
  DeviceOrdinal ordinal = 0;
  auto context = std::make_shared<CudaContext>(fake.table(), ordinal, 13000, uint64_t{1} << 30);
  {
    const Driver& driver = context->driver();
    SegmentTier tier(context, 1, uint64_t{1} << 28);
    const UniqueStream stream(context->streams(), driver);
    auto dictionary = std::make_shared<TextDictionary>();
    std::mt19937 random(11);
    for (int round = 0; round < 12; round++) {
      SegmentTier::Pins pins(tier);
      std::string bytes;
      std::vector<TbTextView> views;
      for (int i = 0; i < (10 << round / 2); i++) {
        const std::string word = std::to_string(random());
        views.push_back({static_cast<uint32_t>(word.size()), 0, 0, static_cast<uint32_t>(bytes.size())});
        bytes += word;
      }
      const ColumnOrigin origin{reinterpret_cast<const uint8_t*>(views.data()), nullptr,
                                reinterpret_cast<const uint8_t*>(bytes.data())};
      std::vector<int32_t> codes(views.size());
      ASSERT_TRUE(dictionary->encode({&origin, 0, static_cast<uint32_t>(views.size()), 0}, codes.data()));
      const DeviceDictionary copy = tier.dictionary(driver, dictionary, stream.get(), pins);
      const uint32_t entries = dictionary->entries();
      const TbTextView& last = dictionary->views()[entries - 1];
      ASSERT_EQ(memcmp(reinterpret_cast<const void*>(copy.views), dictionary->views(), entries * sizeof(TbTextView)),
                0);
      ASSERT_EQ(memcmp(reinterpret_cast<const void*>(copy.bytes), dictionary->bytes(), last.offset + last.length), 0);
      if (round == 6) dictionary = std::make_shared<TextDictionary>();  // the other one's copy goes
    }
  }
  context.reset();
  EXPECT_EQ(fake.leaks(), std::vector<std::string>());
  EXPECT_EQ(fake.misuse(), std::vector<std::string>());
}

}  // namespace
}  // namespace turbine::cuda::testing
