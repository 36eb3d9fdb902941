/*
 * split_gpus_test.cc - one query on 2, 4 and 8 GPUs has the rows of one on one GPU, bit for bit; a GPU that fails costs
 * the query, and nothing else; a table's segments stay with their GPUs.
 */
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <bit>
#include <optional>
#include <random>
#include <string_view>

#include "engine/device/cuda/testing/fake_gpus.h"
#include "engine/device/cuda/testing/fake_segments.h"
#include "engine/device/cuda/testing/query_run.h"
#include "engine/device/split/segment_homes.h"

namespace turbine::cuda::testing {
namespace {

constexpr int kGpuCounts[] = {1, 2, 4, 8};

void set_split_kernels(FakeDriver& fake, const Program& program) {
  set_fake_kernels(fake, program);
  fake.set_kernel("tb_probe", fake_probe);
  fake.set_kernel("tb_project", fake_project);
}

struct SplitCase {
  std::shared_ptr<const Program> program;
  JoinTables tables;
  FakeGpus gpus;

  SplitCase(Shape shape, int count, Matches matches = Matches::SEVERAL,
            const FakeOptions& options = {.most_delay_us = 0})
      : program(fake_program(shape)),
        tables(joins(shape) ? fake_tables(matches) : JoinTables{}),
        gpus(count, [this](FakeDriver& fake) { set_split_kernels(fake, *program); }, 0, options) {}

  Answer run(Device& device, std::vector<Chunk>& chunks, uint64_t fault = 0) {
    return run_query(device, program, chunks, kNoLimit, fault, fake_artifact(), tables);
  }
};

void expect_same(const Answer& answer, const Answer& of_one) {
  EXPECT_EQ(answer.counts, of_one.counts);
  EXPECT_EQ(answer.count, of_one.count);
  EXPECT_EQ(answer.sum, of_one.sum);
  EXPECT_TRUE(answer.rows == of_one.rows);
  EXPECT_EQ(answer.stats.rows_in, of_one.stats.rows_in);
}

class SplitShapes : public ::testing::TestWithParam<std::tuple<Shape, Matches>> {};

TEST_P(SplitShapes, HaveTheRowsOfOneGpu) {
  const auto [shape, matches] = GetParam();
  for (const uint32_t npages : {0u, 1u, 150u}) {
    auto pages = make_pages(npages, 1500);
    Answer of_one;
    for (const int count : kGpuCounts) {
      SplitCase query(shape, count, matches, {.most_delay_us = 20});
      auto chunks = chunks_of(pages);
      if (npages > 0) chunks.insert(chunks.begin(), columns_chunk({1, 1, 1, 999, 5}));
      if (count == 1) {
        of_one = query.run(query.gpus.gpu(0), chunks);
        continue;
      }
      const auto split = query.gpus.split();
      const Answer answer = query.run(*split, chunks);
      expect_same(answer, of_one);
      if (HasFailure()) FAIL() << count << " GPUs, " << npages << " pages";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, SplitShapes,
                         ::testing::Combine(::testing::Values(Shape::GROUPED, Shape::UNGROUPED, Shape::JOIN_GROUPED,
                                                              Shape::JOIN_UNGROUPED, Shape::PROJECT),
                                            ::testing::Values(Matches::UNIQUE, Matches::SEVERAL)));

TEST(SplitGpus, AllTakePart) {
  SplitCase query(Shape::UNGROUPED, 4);
  auto chunks = chunks_of(make_pages(800, 1000));
  const auto split = query.gpus.split();
  const auto params = std::make_shared<const std::string>(turbine::testing::ParamWriter().block());
  auto running = split->start(query.program, params, split->load(fake_artifact(), *query.program), {}, 0, kNoLimit,
                              nullptr);
  submit_all(*running, chunks);
  EXPECT_EQ(running->finish(), 1u);
  const auto shares = running->stats_by_device();
  ASSERT_EQ(shares.size(), 4u);
  uint64_t rows = 0;
  for (const DeviceQueryStats& share : shares) {
    EXPECT_GT(share.rows_in, 0u);
    rows += share.rows_in;
  }
  EXPECT_EQ(rows, running->stats().rows_in);
}

/* Tables of all GPUs grow, and have mostly groups that no other has. */
TEST(SplitGpus, ManyGroups) {
  const auto pages = make_pages(1000, 1 << 24);
  for (const int count : {2, 8}) {
    SplitCase query(Shape::GROUPED, count);
    auto chunks = chunks_of(pages);
    const auto split = query.gpus.split();
    const Answer answer = query.run(*split, chunks);
    EXPECT_EQ(answer.counts, expected_counts(pages));
    EXPECT_GE(answer.stats.table_grows, 2u);
  }
}

TEST(SplitGpus, EachChunkIsDecodedByItsLayout) {
  SplitCase query(Shape::UNGROUPED, 4);
  const auto split = query.gpus.split();
  auto pages = make_pages(300, 100000);
  auto chunks = chunks_of(pages);
  std::vector<std::unique_ptr<ChunkLayout>> layouts;
  for (const int32_t added : {1000, -7}) {
    turbine::testing::ParamWriter params;
    params.scalar(&added, sizeof added);
    layouts.push_back(std::make_unique<ChunkLayout>(ChunkLayout{split->load(fake_artifact(), *query.program),
                                                                std::make_shared<const std::string>(params.block())}));
  }
  for (size_t i = 0; i < chunks.size(); i++) chunks[i].layout = i % 3 == 0 ? nullptr : layouts[i % 3 - 1].get();
  const Answer answer = query.run(*split, chunks);
  for (size_t page = 0; page < pages.size(); page++)
    for (uint32_t i = 0; i < pages[page].nrows; i++)
      pages[page].values[i] += std::array{0, 1000, -7}[page / kSlotPages % 3];
  expect_ungrouped(pages, answer);
}

/* sum(v * 0.1): rounding shows the order of additions. */
struct FloatReduce {
  GroupLayout layout;
  void operator()(void* arguments) const {
    auto& args = *static_cast<TbPipelineArgs*>(arguments);
    uint8_t* const row = args.groups->rows;
    double sum;
    std::memcpy(&sum, row + layout.states[0].value_offset, sizeof sum);
    for (uint32_t i = 0; i < args.nrows; i++) sum += fake_column_value(args, i) * 0.1;
    std::memcpy(row + layout.states[0].value_offset, &sum, sizeof sum);
    if (args.nrows > 0) row[layout.states[0].valid_offset] = 1;
    args.rows_passed += args.nrows;
  }
};

TEST(SplitGpus, SumsOfFloatsDependOnTheTasksAlone) {
  turbine::testing::ProgramWriter writer;
  writer.column(TB_TYPE_INT4);
  writer.aggregate(TB_AGG_SUM_FLOAT, writer.column(TB_TYPE_FLOAT8));
  const auto program = std::make_shared<const Program>(Program::parse(writer.blob(TB_SINK_AGGREGATE)));
  const auto params = std::make_shared<const std::string>(turbine::testing::ParamWriter().block());
  const auto pages = make_pages(600, 1000000);
  std::optional<uint64_t> expected;
  for (const int count : {1, 2, 4, 8, 1, 3, 8}) {
    FakeGpus gpus(count,
                  [&](FakeDriver& fake) {
                    set_fake_kernels(fake, *program);
                    fake.set_kernel("tb_reduce", FloatReduce{group_layout(*program)});
                  },
                  0, {.most_delay_us = 50});
    const auto split = gpus.split();
    Device& device = count == 1 ? gpus.gpu(0) : *split;
    auto chunks = chunks_of(pages);
    auto query = device.start(program, params, device.load(fake_artifact(), *program), {}, 0, kNoLimit, nullptr);
    submit_all(*query, chunks);
    for (const Chunk& chunk : chunks) EXPECT_FALSE(chunk.error);
    ASSERT_EQ(query->finish(), 1u);
    for (int again = 0; again < 2; again++) {
      const ResultBatch batch = query->fetch(0, 1);
      double sum;
      std::memcpy(&sum, batch.columns[0].values, sizeof sum);
      EXPECT_EQ(*batch.columns[0].valid, 1);
      if (!expected) expected = std::bit_cast<uint64_t>(sum);
      EXPECT_EQ(std::bit_cast<uint64_t>(sum), *expected) << count << " GPUs: " << sum;
    }
  }
}

/* Segments of a table with their ranges, in tasks that are each of one. */
std::vector<Chunk> range_chunks(const std::vector<std::vector<int32_t>>& segments, uint32_t range_segments) {
  const auto columns = std::make_shared<const std::vector<uint32_t>>(std::vector<uint32_t>{0});
  std::vector<TakenSegment> taken;
  for (size_t i = 0; i < segments.size(); i++) {
    const auto segment = segment_of(segments[i]);
    segment->first_block = static_cast<uint32_t>(i) * TB_SEGMENT_BLOCKS;
    taken.push_back({segment, segment->blocks});
  }
  std::vector<Chunk> chunks;
  for (const auto& morsel : cut_morsels(taken, columns, {10000, 1 << 20, range_segments * TB_SEGMENT_BLOCKS}, true)) {
    Chunk chunk;
    chunk.segments = morsel;
    chunks.push_back(std::move(chunk));
  }
  return chunks;
}

std::vector<std::vector<int32_t>> random_segments(size_t count) {
  std::mt19937 random(3);
  std::vector<std::vector<int32_t>> segments(count);
  for (auto& values : segments) {
    values.resize(TB_SEGMENT_BLOCKS * kRowsABlock);
    for (int32_t& value : values) value = static_cast<int32_t>(random() % 1000000);
  }
  return segments;
}

/* The second query finds all columns, and each on one GPU only. */
TEST(SplitGpus, SegmentsStayAtHome) {
  const auto program = fake_program(Shape::UNGROUPED);
  const auto segments = random_segments(64);
  for (const int count : {1, 2, 4}) {
    FakeGpus gpus(count, [&](FakeDriver& fake) { set_fake_kernels(fake, *program); }, uint64_t{64} << 20);
    const auto split = gpus.split();
    auto chunks = range_chunks(segments, 4);
    const Answer first = run_query(*split, program, chunks);
    for (Chunk& chunk : chunks) chunk.times_done = 0;
    const Answer second = run_query(*split, program, chunks);
    EXPECT_EQ(first.sum, second.sum);
    EXPECT_GT(first.stats.bytes_to_device, 64u * TB_SEGMENT_BLOCKS * kRowsABlock * 2);
    EXPECT_LT(second.stats.bytes_to_device, first.stats.bytes_to_device / 4) << count << " GPUs";
  }
}

/* More than the GPUs' memory for columns: some are copied anew each time, and answers stay right. */
TEST(SplitGpus, CacheCycles) {
  const auto program = fake_program(Shape::GROUPED);
  const auto segments = random_segments(96);
  std::map<int32_t, int64_t> counts;
  for (const auto& values : segments)
    for (const int32_t value : values) counts[value]++;
  for (const int count : {2, 4, 8}) {
    FakeGpus gpus(count, [&](FakeDriver& fake) { set_fake_kernels(fake, *program); }, uint64_t{256} << 10);
    const auto split = gpus.split();
    auto chunks = range_chunks(segments, 3);
    for (int again = 0; again < 4; again++) {
      for (Chunk& chunk : chunks) chunk.times_done = 0;
      EXPECT_TRUE(run_query(*split, program, chunks).counts == counts) << count << " GPUs, run " << again;
    }
  }
}

/* Columns that one GPU has staged are read by that GPU. */
TEST(SplitGpus, StagedColumnsGoWhereTheyAreStaged) {
  const auto program = fake_program(Shape::UNGROUPED);
  const auto segments = random_segments(32);
  int64_t sum = 0;
  for (const auto& values : segments) sum = std::accumulate(values.begin(), values.end(), sum);
  FakeGpus gpus(4, [&](FakeDriver& fake) { set_fake_kernels(fake, *program); }, uint64_t{16} << 20);
  const auto split = gpus.split();
  auto chunks = range_chunks(segments, 1);
  for (Chunk& chunk : chunks) chunk.staged = true;
  EXPECT_EQ(run_query(*split, program, chunks).sum, sum);
}

/* A driver call of one GPU fails: the query fails or is right; after that the GPUs that are left answer. */
TEST(SplitGpus, EachCallOfEachGpuFails) {
  for (const Shape shape : {Shape::GROUPED, Shape::UNGROUPED, Shape::PROJECT})
    for (const int count : {2, 4}) {
      const auto pages = make_pages(150, 1000);
      Answer right;
      uint64_t calls;
      {
        SplitCase query(shape, count);
        auto chunks = chunks_of(pages);
        const auto split = query.gpus.split();
        const uint64_t before = query.gpus.driver().calls();
        right = query.run(*split, chunks);
        calls = (query.gpus.driver().calls() - before) / static_cast<uint64_t>(count) + 10;
      }
      const auto step = static_cast<uint32_t>(std::max<uint64_t>(1, calls / 30));
      uint64_t failures = 0;
      for (const Result result : {Result{kOutOfMemory}, Result{kIllegalAddress}})
        for (int faulty = 0; faulty < count; faulty++)
          for (uint32_t nth = 1; nth <= calls && !HasFailure(); nth += step) {
            SplitCase query(shape, count);
            auto chunks = chunks_of(pages);
            const auto split = query.gpus.split(encode_query_fault(nth, result), static_cast<size_t>(faulty));
            try {
              expect_same(query.run(*split, chunks), right);
            } catch (const DeviceError&) {
              failures++;
            }
            for (Chunk& chunk : chunks) EXPECT_LE(std::exchange(chunk.times_done, 0), 1);
            const auto rest = query.gpus.split();
            EXPECT_GE(rest->size(), static_cast<size_t>(count - 1));
            expect_same(query.run(*rest, chunks), right);
          }
      EXPECT_GT(failures, 20u);
    }
}

/* A GPU is lost while all of them run kernels; nothing it held stays taken, and the others answer anew. */
TEST(SplitGpus, AGpuIsLostInMidQueryAThousandTimes) {
  std::mt19937 random(11);
  const auto pages = make_pages(100, 200);
  const auto right = expected_counts(pages);
  uint64_t lost = 0;
  for (int run = 0; run < 1000 && !HasFailure(); run++) {
    const int count = std::array{2, 4}[random() % 2];
    const int victim = static_cast<int>(random() % static_cast<uint32_t>(count));
    std::atomic<int> left{static_cast<int>(random() % 3)};
    SplitCase query(Shape::GROUPED, count);
    const char* const kernel = std::array{"tb_decode", "tb_reserve", "tb_apply"}[random() % 3];
    const auto layout = group_layout(*query.program);
    query.gpus.driver().set_kernel(kernel, [&, kernel, layout](void* arguments) {
      if (FakeDriver::gpu_of_kernel() == victim && left.fetch_sub(1) == 0)
        throw FakeDriver::KernelFault{kIllegalAddress};
      if (std::string_view(kernel) == "tb_decode")
        fake_decode(arguments);
      else if (std::string_view(kernel) == "tb_reserve")
        FakeReserve{layout, nullptr}(arguments);
      else
        FakeApply{layout}(arguments);
    });
    auto chunks = chunks_of(pages);
    const auto split = query.gpus.split();
    try {
      EXPECT_EQ(query.run(*split, chunks).counts, right);
    } catch (const DeviceError& error) {
      EXPECT_EQ(error.reason, TB_FALLBACK_DEVICE_LOST);
      lost++;
      for (Chunk& chunk : chunks) EXPECT_EQ(std::exchange(chunk.times_done, 0), 1);
      const auto rest = query.gpus.split();
      EXPECT_EQ(rest->size(), static_cast<size_t>(count - 1));
      EXPECT_EQ(query.run(*rest, chunks).counts, right);
    }
  }
  EXPECT_GT(lost, 500u);
}

TEST(SplitGpus, ClosingAQueryMidwayCompletesEveryChunk) {
  SplitCase query(Shape::GROUPED, 4, Matches::SEVERAL, {.most_delay_us = 50});
  auto chunks = chunks_of(make_pages(400, 1000));
  const auto params = std::make_shared<const std::string>(turbine::testing::ParamWriter().block());
  const auto split = query.gpus.split();
  auto running = split->start(query.program, params, split->load(fake_artifact(), *query.program), {}, 0, kNoLimit,
                              nullptr);
  std::atomic<size_t> done{0};
  for (size_t i = 0; i < chunks.size(); i++)
    running->submit(task_of(chunks[i], i), [&](const TaskOutcome&, std::exception_ptr) { done++; });
  running->stop();
  running.reset();
  EXPECT_EQ(done.load(), chunks.size());
}

TEST(SplitGpus, RowsAndTablesStayOnOneGpu) {
  EXPECT_FALSE(can_split(*fake_program(Shape::ROWS)));
  SplitCase query(Shape::ROWS, 2);
  const auto split = query.gpus.split();
  std::vector<Chunk> none;
  EXPECT_THROW(query.run(*split, none), DeviceError);
}

}  // namespace
}  // namespace turbine::cuda::testing
