/*
 * host_device_test.cc - chunks through hand-written code on the host's threads,
 * compared with the same computed here.
 */
#include "engine/device/host/host_device.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <map>
#include <random>

#include "engine/exec/group_output.h"
#include "engine/testing/hand_written_code.h"
#include "engine/testing/heap_pages.h"
#include "engine/testing/program_blob.h"

namespace turbine {
namespace {

using testing::heap_page;
using testing::heap_pages;
using testing::params_block;

constexpr uint32_t kIds = 200 * TB_MAX_TUPLES_PER_PAGE;
constexpr uint64_t kPlenty = 1ull << 32;

std::vector<uint8_t> file_bytes(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/* A query with its chunks' outcomes. */
class QueryRun {
 public:
  QueryRun(HostDevice& device, const testing::ProgramBlob& blob, const char* code, uint64_t budget = kPlenty)
      : program_(std::make_shared<const Program>(Program::parse(blob.build()))),
        query_(device.start(program_, std::make_shared<const std::string>(params_block({})),
                            device.load(file_bytes(code), *program_), 0, budget)) {}

  struct Chunk {
    std::vector<uint8_t> data;
    std::vector<uint32_t> ids = std::vector<uint32_t>(kIds);
    ChunkOutcome outcome;
    std::exception_ptr error;
  };

  Chunk& submit(std::vector<uint8_t> data, uint32_t kind = TB_CHUNK_PAGES) {
    chunks_.push_back(std::make_unique<Chunk>());
    Chunk* chunk = chunks_.back().get();
    chunk->data = std::move(data);
    {
      std::lock_guard lock(mutex_);
      waiting_++;
    }
    const auto npages = static_cast<uint32_t>(kind == TB_CHUNK_PAGES ? chunk->data.size() / TB_PAGE_SIZE : 0);
    query_->submit({chunks_.size() - 1, kind, chunk->data.data(), npages, chunk->ids.data(), kIds},
                   [this, chunk](const ChunkOutcome& outcome, std::exception_ptr error) {
                     std::lock_guard lock(mutex_);
                     chunk->outcome = outcome;
                     chunk->error = error;
                     waiting_--;
                     done_.notify_all();
                   });
    return *chunk;
  }
  void wait() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return waiting_ == 0; });
  }
  DeviceQuery& query() { return *query_; }
  void close() { query_.reset(); }
  const Program& program() const { return *program_; }

  /* Groups after finish(), through the executor's output: key -> (count, sum). */
  std::map<int32_t, std::pair<int64_t, int64_t>> groups(uint64_t slot_size) {
    wait();
    std::map<int32_t, std::pair<int64_t, int64_t>> result;
    const uint64_t n = query_->finish();
    GroupOutput output(*program_);
    std::vector<uint8_t> slot(slot_size);
    for (uint64_t first = 0; first < n;) {
      const std::vector<uint8_t> payload = output.write(*query_, first, n - first, slot.data(), slot.size());
      const auto* batch = reinterpret_cast<const TbGroups*>(payload.data());
      auto at = [&]<class T>(size_t column, uint32_t i, T) {
        T value;
        memcpy(&value, slot.data() + batch->columns[column].values + i * sizeof(T), sizeof(T));
        return value;
      };
      for (uint32_t i = 0; i < batch->nrows; i++) {
        EXPECT_EQ(slot[batch->columns[0].valid + i], 1);
        const bool fresh =
            result.emplace(at(0, i, int32_t{}), std::pair(at(1, i, int64_t{}), at(2, i, int64_t{}))).second;
        EXPECT_TRUE(fresh) << "a group came twice";
      }
      first += batch->nrows;
    }
    return result;
  }

 private:
  const std::shared_ptr<const Program> program_;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::mutex mutex_;
  std::condition_variable done_;
  int waiting_ = 0;
  std::unique_ptr<DeviceQuery> query_;  // last: waits for its chunks
};

class HostDeviceTest : public ::testing::Test {
 protected:
  HostDevice device_{{4, 0}};
};

TEST_F(HostDeviceTest, RowIdsAreThoseOfTheChunk) {
  // 150 pages: three batches, so that ids have to be rebased.
  std::vector<int32_t> values(150 * 90);
  for (size_t i = 0; i < values.size(); i++) values[i] = static_cast<int32_t>(i);
  values[3] = DEFERRED_VALUE;
  values[140 * 90 + 5] = DEFERRED_VALUE;
  QueryRun run(device_, testing::rows_program(), TB_TEST_CODE_ROWS);
  auto& chunk = run.submit(heap_pages(values, 90));
  run.wait();
  ASSERT_FALSE(chunk.error);
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < values.size(); i++)
    if (values[i] != DEFERRED_VALUE && values[i] % 2 == 0) expected.push_back(TB_ROWID(i / 90, i % 90 + 1));
  ASSERT_EQ(chunk.outcome.nrows, expected.size());
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), chunk.ids.begin()));
  ASSERT_EQ(chunk.outcome.ndeferred, 2u);
  EXPECT_EQ(chunk.ids[expected.size()], TB_ROWID(0, 4));
  EXPECT_EQ(chunk.ids[expected.size() + 1], TB_ROWID(140, 6));
  EXPECT_EQ(chunk.outcome.rows_in, values.size() - 2);
  EXPECT_EQ(chunk.outcome.rows_passed, expected.size());
}

TEST_F(HostDeviceTest, PagesWithoutRows) {
  QueryRun run(device_, testing::rows_program(), TB_TEST_CODE_ROWS);
  auto& empty = run.submit(std::vector<uint8_t>(3 * TB_PAGE_SIZE, 0));
  auto& none = run.submit({});
  run.wait();
  EXPECT_EQ(empty.outcome.nrows, 0u);
  EXPECT_EQ(empty.outcome.errors, 0u);
  EXPECT_EQ(none.outcome.rows_in, 0u);
}

TEST_F(HostDeviceTest, AVerdictLeavesNoRows) {
  std::vector<int32_t> values(100 * 90, 2);
  values[99 * 90] = RAISING_VALUE;
  QueryRun run(device_, testing::rows_program(), TB_TEST_CODE_ROWS);
  auto& bad = run.submit(heap_pages(values, 90));
  auto& good = run.submit(heap_page({2, 4}));
  run.wait();
  EXPECT_EQ(bad.outcome.errors, TB_ERR_OVERFLOW);
  EXPECT_EQ(bad.outcome.nrows, 0u);
  EXPECT_EQ(good.outcome.nrows, 2u);
}

/* A chunk of columns with these values. */
std::vector<uint8_t> columns_chunk(const std::vector<int32_t>& values) {
  std::vector<uint8_t> chunk(64 + values.size() * 4);
  TbColumnsChunk header{};
  header.nrows = static_cast<uint32_t>(values.size());
  header.ncolumns = 1;
  const uint64_t column[2] = {64, 0};
  memcpy(chunk.data(), &header, sizeof header);
  memcpy(chunk.data() + sizeof header, column, sizeof column);
  memcpy(chunk.data() + 64, values.data(), values.size() * 4);
  return chunk;
}

TEST_F(HostDeviceTest, ColumnsChunksReturnRowNumbers) {
  QueryRun run(device_, testing::rows_program(), TB_TEST_CODE_ROWS);
  auto& chunk = run.submit(columns_chunk({1, 2, 3, 4, 6}), TB_CHUNK_COLUMNS);
  run.wait();
  ASSERT_EQ(chunk.outcome.nrows, 3u);
  EXPECT_EQ(chunk.ids[0], 1u);
  EXPECT_EQ(chunk.ids[2], 4u);
}

std::map<int32_t, std::pair<int64_t, int64_t>> expected_groups(const std::vector<std::vector<int32_t>>& chunks) {
  std::map<int32_t, std::pair<int64_t, int64_t>> expected;
  for (const auto& values : chunks)
    for (int32_t value : values) {
      expected[value].first++;
      expected[value].second += value;
    }
  return expected;
}

/* Groups over several threads and chunks, from few to enough for many growths
 * and a merge by partitions. */
TEST_F(HostDeviceTest, GroupsEqualAMap) {
  for (int32_t distinct : {1, 10, 3000, 200000}) {
    std::mt19937 random(static_cast<unsigned>(distinct));
    std::vector<std::vector<int32_t>> chunks;
    QueryRun run(device_, testing::sum_program(true), TB_TEST_CODE_GROUPS);
    for (int c = 0; c < 24; c++) {
      std::vector<int32_t> values(200 * 100);
      for (int32_t& value : values) value = static_cast<int32_t>(random() % static_cast<unsigned>(distinct));
      run.submit(heap_pages(values, 100));
      chunks.push_back(std::move(values));
    }
    chunks.push_back({5, 5, 6});
    run.submit(columns_chunk({5, 5, 6}), TB_CHUNK_COLUMNS);
    EXPECT_EQ(run.groups(1 << 20), expected_groups(chunks)) << distinct;
    if (distinct == 200000) {
      EXPECT_GT(run.query().stats().table_grows, 0u);
    }
  }
}

TEST_F(HostDeviceTest, GroupsComeInAsManyBatchesAsSlotsNeed) {
  QueryRun run(device_, testing::sum_program(true), TB_TEST_CODE_GROUPS);
  std::vector<int32_t> values(5000);
  for (size_t i = 0; i < values.size(); i++) values[i] = static_cast<int32_t>(i);
  run.submit(heap_pages(values, 100));
  EXPECT_EQ(run.groups(1000).size(), 5000u);
}

TEST_F(HostDeviceTest, NoInputMeansNoGroups) {
  QueryRun run(device_, testing::sum_program(true), TB_TEST_CODE_GROUPS);
  EXPECT_EQ(run.query().finish(), 0u);
}

TEST_F(HostDeviceTest, GroupsBeyondTheBudgetEndTheQueryOnly) {
  const std::vector<int32_t> few = {1, 2, 3};
  std::vector<int32_t> many(200 * 200);
  for (size_t i = 0; i < many.size(); i++) many[i] = static_cast<int32_t>(i);
  QueryRun run(device_, testing::sum_program(true), TB_TEST_CODE_GROUPS, 400 << 10);
  auto& chunk = run.submit(heap_pages(many, 200));
  run.wait();
  ASSERT_TRUE(chunk.error);
  try {
    std::rethrow_exception(chunk.error);
  } catch (const DeviceError& e) {
    EXPECT_EQ(e.reason, TB_FALLBACK_HOST_MEMORY);
  }
  QueryRun next(device_, testing::sum_program(true), TB_TEST_CODE_GROUPS, 400 << 10);
  next.submit(heap_page(few));
  EXPECT_EQ(next.groups(4096).size(), 3u);
}

TEST_F(HostDeviceTest, UngroupedIsOneRow) {
  QueryRun run(device_, testing::sum_program(false), TB_TEST_CODE_TOTAL);
  int64_t sum = 0, count = 0;
  for (int c = 0; c < 20; c++) {
    std::vector<int32_t> values(70 * 50);
    for (size_t i = 0; i < values.size(); i++) values[i] = static_cast<int32_t>(i) * c;
    for (int32_t value : values) sum += value, count++;
    run.submit(heap_pages(values, 50));
  }
  run.wait();
  ASSERT_EQ(run.query().finish(), 1u);
  const auto rows = run.query().fetch_groups(0, 1);
  int64_t got[2];
  memcpy(got, rows.rows + 8, sizeof got);
  EXPECT_EQ(got[0], count);
  EXPECT_EQ(got[1], sum);
}

TEST_F(HostDeviceTest, UngroupedWithoutInputSawNothing) {
  QueryRun run(device_, testing::sum_program(false), TB_TEST_CODE_TOTAL);
  ASSERT_EQ(run.query().finish(), 1u);
  const auto rows = run.query().fetch_groups(0, 1);
  EXPECT_EQ(rows.rows[24], 0);
}

TEST_F(HostDeviceTest, ClosingWaitsForWhatRunsAndDropsTheRest) {
  QueryRun run(device_, testing::sum_program(false), TB_TEST_CODE_TOTAL);
  for (int i = 0; i < 40; i++) run.submit(heap_page({SLOW_VALUE}));
  const auto start = std::chrono::steady_clock::now();
  run.close();
  run.wait();
  // 40 chunks of 0.3 s on 4 threads would take 3 s.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

TEST_F(HostDeviceTest, QueriesShareTheThreads) {
  std::vector<std::unique_ptr<QueryRun>> runs;
  for (int i = 0; i < 20; i++) runs.push_back(std::make_unique<QueryRun>(device_, testing::sum_program(true), TB_TEST_CODE_GROUPS));
  std::vector<int32_t> values(50 * 60);
  for (size_t i = 0; i < values.size(); i++) values[i] = static_cast<int32_t>(i % 77);
  for (int c = 0; c < 3; c++)
    for (auto& run : runs) run->submit(heap_pages(values, 60));
  for (auto& run : runs) EXPECT_EQ(run->groups(1 << 16), expected_groups({values, values, values}));
}

TEST_F(HostDeviceTest, CodeIsCheckedWhenLoaded) {
  const Program program = Program::parse(testing::rows_program().build());
  const std::vector<uint8_t> garbage(1000, 'x');
  EXPECT_THROW(device_.load(garbage, program), DeviceError);
  EXPECT_THROW(device_.load({}, program), DeviceError);
  // Two libraries at a time are two libraries, whatever descriptors they got.
  auto rows = std::dynamic_pointer_cast<HostCode>(device_.load(file_bytes(TB_TEST_CODE_ROWS), program));
  auto groups = std::dynamic_pointer_cast<HostCode>(device_.load(file_bytes(TB_TEST_CODE_GROUPS), program));
  EXPECT_NE(rows->pipeline, groups->pipeline);
}

TEST_F(HostDeviceTest, ChunkShapesAreSane) {
  for (uint64_t blocks : {uint64_t{0}, uint64_t{1}, uint64_t{1000}, uint64_t{1} << 32}) {
    const Device::ChunkShape shape = device_.chunk_shape(blocks);
    EXPECT_GE(shape.slot_pages, 1u);
    EXPECT_GE(shape.nslots, 2u);
    EXPECT_LE(shape.nslots, static_cast<uint32_t>(TB_MAX_SLOTS));
  }
}

}  // namespace
}  // namespace turbine
