/*
 * cuda_query_test.cc - the CUDA device's logic without a GPU: results of every
 * sink, growth, columns chunks, and every driver call failing in turn.
 */
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <numeric>
#include <thread>

#include "engine/device/cuda/cuda_device.h"
#include "engine/device/cuda/find_gpus.h"
#include "engine/device/cuda/query/cuda_query.h"
#include "engine/device/cuda/testing/query_run.h"

namespace turbine::cuda::testing {
namespace {

class CudaQueryTest : public ::testing::Test {
 protected:
  void open(Shape shape, const FakeOptions& options = {}) {
    fake_ = std::make_unique<FakeDriver>(options);
    program_ = fake_program(shape);
    set_fake_kernels(*fake_, *program_, lost_groups_);
    std::string why;
    devices_ = find_gpus(fake_->table(), &why, 0);
    ASSERT_EQ(devices_.size(), 1u) << why;
  }
  Device& device() { return *devices_[0]; }

  /* A layout whose rows are decoded with so much added to their values. */
  const ChunkLayout* layout_adding(int32_t value) {
    turbine::testing::ParamWriter params;
    params.scalar(&value, sizeof value);
    layouts_.push_back(std::make_unique<ChunkLayout>(
        ChunkLayout{device().load(fake_artifact(), *program_), std::make_shared<const std::string>(params.block())}));
    return layouts_.back().get();
  }

  void TearDown() override {
    layouts_.clear();
    devices_.clear();
    if (!fake_) return;
    EXPECT_EQ(fake_->leaks(), std::vector<std::string>());
    EXPECT_EQ(fake_->misuse(), std::vector<std::string>());
    fake_.reset();
  }

  std::shared_ptr<std::atomic<uint32_t>> lost_groups_ = std::make_shared<std::atomic<uint32_t>>(0);
  std::unique_ptr<FakeDriver> fake_;
  std::shared_ptr<const Program> program_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::vector<std::unique_ptr<ChunkLayout>> layouts_;
};

TEST_F(CudaQueryTest, RowsComeInTupleOrder) {
  open(Shape::ROWS);
  auto pages = make_pages(200, 1000);
  pages[17].values[0] = kDeferred;
  pages[17].nrows = std::max(pages[17].nrows, 1u);
  auto chunks = chunks_of(pages);
  const Answer answer = run_query(device(), program_, chunks);
  expect_rows(pages, chunks);
  EXPECT_GE(answer.stats.bytes_to_device, 200u * TB_PAGE_SIZE);
  EXPECT_GT(answer.stats.bytes_from_device, 0u);
}

TEST_F(CudaQueryTest, UngroupedAggregate) {
  open(Shape::UNGROUPED);
  const auto pages = make_pages(300, 100000);
  auto chunks = chunks_of(pages);
  expect_ungrouped(pages, run_query(device(), program_, chunks));
}

TEST_F(CudaQueryTest, EachChunkIsDecodedByItsLayout) {
  open(Shape::UNGROUPED);
  auto pages = make_pages(300, 100000);
  auto chunks = chunks_of(pages);
  const ChunkLayout* const layouts[] = {nullptr, layout_adding(1000), layout_adding(-7)};
  for (size_t i = 0; i < chunks.size(); i++) chunks[i].layout = layouts[i % 3];
  const Answer answer = run_query(device(), program_, chunks);
  for (size_t page = 0; page < pages.size(); page++)
    for (uint32_t i = 0; i < pages[page].nrows; i++)
      pages[page].values[i] += std::array{0, 1000, -7}[page / kSlotPages % 3];
  expect_ungrouped(pages, answer);
}

TEST_F(CudaQueryTest, NoInput) {
  open(Shape::UNGROUPED);
  std::vector<Chunk> none;
  const Answer answer = run_query(device(), program_, none);
  EXPECT_EQ(answer.count, 0);
  EXPECT_EQ(answer.sum, 0);
}

/* tb_reduce takes the minimum with what is there, so zero would be wrong. */
TEST_F(CudaQueryTest, UngroupedStatesStartAsWhatChangesNothing) {
  open(Shape::UNGROUPED);
  turbine::testing::ProgramWriter writer;
  const uint32_t int4 = writer.column(TB_TYPE_INT4), int8 = writer.column(TB_TYPE_INT8);
  const uint32_t int2 = writer.column(TB_TYPE_INT2), float8 = writer.column(TB_TYPE_FLOAT8);
  for (uint8_t kind : {TB_AGG_MIN, TB_AGG_MAX})
    for (uint32_t column : {int4, int8, int2, float8}) writer.aggregate(kind, column);
  writer.aggregate(TB_AGG_SUM_FLOAT, float8);
  writer.aggregate(TB_AGG_COUNT);
  program_ = std::make_shared<const Program>(Program::parse(writer.blob(TB_SINK_AGGREGATE)));
  auto params = std::make_shared<const std::string>(turbine::testing::ParamWriter().block());
  auto query = device().start(program_, params, device().load(fake_artifact(), *program_), {}, 0, kNoLimit, nullptr);
  ASSERT_EQ(query->finish(), 1u);
  const ResultBatch batch = query->fetch(0, 1);
  const GroupLayout layout = group_layout(*program_);
  auto state = [&](size_t i) {
    uint64_t bits = 0;
    std::memcpy(&bits, batch.columns[i].values, tb_type_width(layout.states[i].type));
    if (i != 9) {
      EXPECT_EQ(*batch.columns[i].valid, 0);
    }
    return bits;
  };
  EXPECT_EQ(state(0), 0x7fffffffu);
  EXPECT_EQ(state(1), 0x7fffffffffffffffu);
  EXPECT_EQ(state(2), 0x7fffu);
  EXPECT_EQ(state(3), 0x7fffffffffffffffu);
  EXPECT_EQ(state(4), 0x80000000u);
  EXPECT_EQ(state(5), 0x8000000000000000u);
  EXPECT_EQ(state(6), 0x8000u);
  EXPECT_EQ(state(7), 0xffffffffffffffffu);
  EXPECT_EQ(state(8), 0x8000000000000000u);
  EXPECT_EQ(state(9), 0u);
}

TEST_F(CudaQueryTest, GroupedWithoutGrowth) {
  open(Shape::GROUPED);
  auto pages = make_pages(100, 50);
  pages[3].values[0] = -5;  // filtered
  auto chunks = chunks_of(pages);
  const Answer answer = run_query(device(), program_, chunks);
  EXPECT_EQ(answer.counts, expected_counts(pages));
  EXPECT_EQ(answer.stats.table_grows, 0u);
}

TEST_F(CudaQueryTest, GroupedGrows) {
  open(Shape::GROUPED);
  const auto pages = make_pages(1000, 1 << 24);  // nearly every value is its own group
  auto chunks = chunks_of(pages);
  const Answer answer = run_query(device(), program_, chunks);
  EXPECT_EQ(answer.counts, expected_counts(pages));
  EXPECT_GE(answer.stats.table_grows, 2u);
}

TEST_F(CudaQueryTest, GrowthDropsGroupsThatWereNumberedButNotEntered) {
  open(Shape::GROUPED);
  lost_groups_->store(7);
  const auto pages = make_pages(100, 50);
  auto chunks = chunks_of(pages);
  const Answer answer = run_query(device(), program_, chunks);
  EXPECT_EQ(answer.counts, expected_counts(pages));
  EXPECT_GE(answer.stats.table_grows, 1u);
}

TEST_F(CudaQueryTest, GrowthBeyondTheBudgetIsRefused) {
  open(Shape::GROUPED);
  const auto pages = make_pages(1000, 1 << 24);
  auto chunks = chunks_of(pages);
  // The lanes for pages, and some groups.
  const uint64_t budget = CudaQuery::kLanes * lane_device_bytes(*program_, kSlotPages, 0) + (2 << 20);
  try {
    run_query(device(), program_, chunks, budget);
    FAIL() << "fitted";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.reason, TB_FALLBACK_DEVICE_MEMORY);
  }
}

TEST_F(CudaQueryTest, NeedsAreEnoughForAQueryThatDoesNotGrow) {
  for (Shape shape : {Shape::ROWS, Shape::GROUPED, Shape::UNGROUPED}) {
    open(shape);
    const auto pages = make_pages(200, 50);
    auto chunks = chunks_of(pages);
    run_query(device(), program_, chunks, device().needs(*program_, 50, kSlotPages, 4).device_bytes);
    TearDown();
  }
}

TEST_F(CudaQueryTest, MemoryForOneLaneIsEnough) {
  open(Shape::ROWS);
  const auto pages = make_pages(200, 1000);
  auto chunks = chunks_of(pages);
  run_query(device(), program_, chunks, device().needs(*program_, 0, kSlotPages, 1).device_bytes + 1000);
  expect_rows(pages, chunks);
}

TEST_F(CudaQueryTest, ColumnsChunks) {
  open(Shape::ROWS);
  std::vector<int32_t> values(5000);
  std::iota(values.begin(), values.end(), 0);
  std::vector<Chunk> chunks;
  chunks.push_back(columns_chunk(values));
  chunks.push_back(columns_chunk({}));
  chunks.push_back(columns_chunk({7, 9}));
  run_query(device(), program_, chunks);
  ASSERT_EQ(chunks[0].outcome.nrows, 1667u);
  for (uint32_t i = 0; i < 1667; i++) EXPECT_EQ(chunks[0].ids[i], 3 * i);
  EXPECT_EQ(chunks[1].outcome.nrows, 0u);
  ASSERT_EQ(chunks[2].outcome.nrows, 1u);
  EXPECT_EQ(chunks[2].ids[0], 1u);
  EXPECT_EQ(fake_->launches("tb_decode"), 0u);
}

/* A nullable column always has its valid bytes on the device, sent or not. */
TEST_F(CudaQueryTest, ColumnsChunksOfNullableColumns) {
  open(Shape::ROWS);
  turbine::testing::ProgramWriter writer;
  writer.column(TB_TYPE_INT4, true);
  program_ = std::make_shared<const Program>(Program::parse(writer.blob(TB_SINK_ROWS)));
  fake_->set_kernel("tb_rows", [](void* arguments) {
    auto& args = *static_cast<TbPipelineArgs*>(arguments);
    for (uint32_t row = 0; row < args.nrows; row++)
      if (tb_test_valid(&args, row)) args.out_rowids[args.nout++] = args.rowids[row];
  });
  std::vector<Chunk> chunks;
  chunks.push_back(columns_chunk({1, 2, 3, 4}));
  chunks.push_back(columns_chunk({1, 2, 3, 4}));
  const std::vector<uint8_t> valid{0, 1, 0, 1};
  const uint64_t at = chunks[1].data.size();
  chunks[1].data.insert(chunks[1].data.end(), valid.begin(), valid.end());
  std::memcpy(chunks[1].data.data() + sizeof(TbColumnsChunk) + sizeof(uint64_t), &at, sizeof(at));
  run_query(device(), program_, chunks);
  EXPECT_EQ(chunks[0].outcome.nrows, 4u);
  ASSERT_EQ(chunks[1].outcome.nrows, 2u);
  EXPECT_EQ(chunks[1].ids[0], 1u);
  EXPECT_EQ(chunks[1].ids[1], 3u);
}

TEST_F(CudaQueryTest, ColumnsChunksBetweenPages) {
  open(Shape::GROUPED);
  const auto pages = make_pages(100, 500);
  auto chunks = chunks_of(pages);
  chunks.insert(chunks.begin() + 2, columns_chunk({1, 1, 1, 100000}));
  auto expected = expected_counts(pages);
  expected[1] += 3;
  expected[100000] += 1;
  EXPECT_EQ(run_query(device(), program_, chunks).counts, expected);
}

TEST_F(CudaQueryTest, AVerdictConcernsItsChunkAlone) {
  open(Shape::ROWS);
  auto pages = make_pages(200, 1000);
  pages[20].nrows = 2;
  pages[20].values[1] = kUnrepresentable;
  pages[40].nrows = 2;
  pages[40].values[1] = kOverflowInSink;
  auto chunks = chunks_of(pages);
  run_query(device(), program_, chunks);
  for (size_t i = 0; i < chunks.size(); i++) {
    const uint32_t expected = i == 20 / kSlotPages   ? TB_ERR_UNREPRESENTABLE
                              : i == 40 / kSlotPages ? TB_ERR_OVERFLOW
                                                     : 0;
    EXPECT_EQ(chunks[i].outcome.errors, expected);
    if (expected) {
      EXPECT_EQ(chunks[i].outcome.nrows, 0u);
    }
  }
}

TEST_F(CudaQueryTest, AKernelFaultQuarantinesTheDevice) {
  open(Shape::ROWS);
  auto pages = make_pages(200, 1000);
  pages[100].nrows = 1;
  pages[100].values[0] = kFaultInSink;
  auto chunks = chunks_of(pages);
  EXPECT_EQ(device().info().usable, 1u);
  try {
    run_query(device(), program_, chunks);
    FAIL() << "succeeded";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.reason, TB_FALLBACK_DEVICE_LOST);
  }
  EXPECT_EQ(device().info().usable, 0u);
  EXPECT_NE(std::string(device().info().message).find("ILLEGAL_ADDRESS"), std::string::npos);
  try {
    device().load(fake_artifact(), *program_);
    FAIL() << "a lost device was used";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.reason, TB_FALLBACK_NO_DEVICE);
  }
}

TEST_F(CudaQueryTest, ClosingAQueryMidwayCompletesEveryChunk) {
  open(Shape::ROWS);
  auto chunks = chunks_of(make_pages(400, 1000));
  auto params = std::make_shared<const std::string>(turbine::testing::ParamWriter().block());
  auto query = device().start(program_, params, device().load(fake_artifact(), *program_), {}, 0, kNoLimit, nullptr);
  std::atomic<size_t> done{0};
  for (Chunk& chunk : chunks) query->submit(task_of(chunk, 0), [&](const TaskOutcome&, std::exception_ptr) { done++; });
  query.reset();
  EXPECT_EQ(done.load(), chunks.size());
}

/* A kernel that would run for a minute ends as soon as it is told that nobody waits: by stop(), as a session that
 * ends its query calls it, and by the destructor alone. */
TEST_F(CudaQueryTest, ClosingAQueryEndsItsKernels) {
  using Clock = std::chrono::steady_clock;
  for (const bool by_stop : {true, false}) {
    open(Shape::ROWS);
    std::atomic<bool> begun{false}, told{false};
    fake_->set_kernel("tb_rows", [&](void* arguments) {
      const auto* stop = static_cast<const TbPipelineArgs*>(arguments)->stop;
      begun = true;
      for (const auto until = Clock::now() + std::chrono::minutes(1); !told && Clock::now() < until;)
        told = *const_cast<const volatile uint32_t*>(stop) != 0;
    });
    auto chunks = chunks_of(make_pages(10, 100));
    auto params = std::make_shared<const std::string>(turbine::testing::ParamWriter().block());
    auto query = device().start(program_, params, device().load(fake_artifact(), *program_), {}, 0, kNoLimit, nullptr);
    Chunk& chunk = chunks[0];
    query->submit(task_of(chunk, 0), [](const TaskOutcome&, std::exception_ptr) {});
    while (!begun) std::this_thread::yield();
    const auto closed = Clock::now();
    if (by_stop) query->stop();
    query.reset();
    EXPECT_TRUE(told);
    EXPECT_LT(Clock::now() - closed, std::chrono::seconds(10));
    TearDown();
  }
}

TEST_F(CudaQueryTest, QueriesShareADevice) {
  open(Shape::GROUPED);
  std::vector<std::thread> threads;
  for (uint32_t seed = 1; seed <= 8; seed++)
    threads.emplace_back([&, seed] {
      const auto pages = make_pages(100, 20000, seed);
      auto chunks = chunks_of(pages);
      EXPECT_EQ(run_query(device(), program_, chunks).counts, expected_counts(pages));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(device().info().queries_total, 8u);
  EXPECT_EQ(device().info().queries_running, 0u);
  EXPECT_EQ(device().info().memory_used, 0u);
}

/* Every driver call of a query fails in turn: the answer is right or there is a
 * DeviceError, nothing crashes, hangs or leaks, and where the device was not
 * lost, the next query works. */
class EveryCallFails : public CudaQueryTest, public ::testing::WithParamInterface<std::tuple<Shape, Result>> {};

TEST_P(EveryCallFails, RightOrRefused) {
  const auto [shape, result] = GetParam();
  const auto pages = make_pages(64, shape == Shape::GROUPED ? 1 << 24 : 1000);
  open(shape, {.most_delay_us = 0});
  auto counted = chunks_of(pages);
  const uint64_t before = fake_->calls();
  run_query(device(), program_, counted);
  // Polling makes the number of calls vary; a little beyond the last is enough.
  const uint64_t most_calls = fake_->calls() - before + 10;
  TearDown();

  uint64_t failures = 0;
  for (uint32_t nth = 1; nth <= most_calls && !HasFailure(); nth++) {
    open(shape, {.most_delay_us = 0});
    auto chunks = chunks_of(pages);
    chunks.back().layout = layout_adding(0);
    bool failed = false;
    try {
      const Answer answer = run_query(device(), program_, chunks, kNoLimit, encode_query_fault(nth, result));
      if (shape == Shape::ROWS) expect_rows(pages, chunks);
      if (shape == Shape::GROUPED) {
        EXPECT_EQ(answer.counts, expected_counts(pages));
      }
      if (shape == Shape::UNGROUPED) expect_ungrouped(pages, answer);
    } catch (const DeviceError& error) {
      failed = true;
      failures++;
      // Lost while giving memory back before the groups are fetched: found lost.
      if (error.reason != TB_FALLBACK_NO_DEVICE || device().info().usable) {
        EXPECT_EQ(error.reason, result == kOutOfMemory ? TB_FALLBACK_DEVICE_MEMORY : TB_FALLBACK_DEVICE_LOST)
            << error.what();
      }
    }
    const bool lost = device().info().usable == 0;
    EXPECT_TRUE(!lost || result == kIllegalAddress);
    EXPECT_TRUE(lost || !failed || result != kIllegalAddress);
    if (!lost) {
      auto again = chunks_of(pages);
      run_query(device(), program_, again);
    }
    EXPECT_EQ(device().info().memory_used, 0u);
    TearDown();
  }
  EXPECT_GT(failures, most_calls / 4);
}

INSTANTIATE_TEST_SUITE_P(Faults, EveryCallFails,
                         ::testing::Combine(::testing::Values(Shape::ROWS, Shape::GROUPED, Shape::UNGROUPED),
                                            ::testing::Values(kOutOfMemory, kIllegalAddress, kLaunchOutOfResources)));

}  // namespace
}  // namespace turbine::cuda::testing
