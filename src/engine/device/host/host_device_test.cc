/*
 * host_device_test.cc - chunks through hand-written code on the host's threads,
 * compared with the same computed here.
 */
#include "engine/device/host/host_device.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <tuple>

#include "engine/execution/result_output.h"
#include "engine/testing/hand_written_code.h"
#include "engine/testing/heap_pages.h"
#include "engine/program/testing/program_writer.h"
#include "engine/testing/hand_written_programs.h"

namespace turbine {
namespace {

using testing::heap_page;
using testing::heap_pages;
using testing::params_block;

constexpr uint32_t kIds = 200 * TB_MAX_TUPLES_PER_PAGE;
constexpr uint64_t kQueryMemory = 1ull << 32;

std::vector<uint8_t> file_bytes(const char* path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/* `ids`: room for kIds of them. */
Task pages_task(uint64_t sequence, std::vector<uint8_t>& pages, uint32_t* ids) {
  return {.sequence = sequence,
          .input = PagesInput{.pages = pages.data(), .npages = static_cast<uint32_t>(pages.size() / TB_PAGE_SIZE)},
          .ids = ids,
          .ids_capacity = kIds};
}

/* A query with its chunks' outcomes. */
class QueryRun {
 public:
  QueryRun(HostDevice& device, const testing::ProgramWriter& blob, const char* code, uint64_t budget = kQueryMemory,
           JoinTables tables = {})
      : program_(std::make_shared<const Program>(Program::parse(blob.blob()))),
        query_(device.start(program_, std::make_shared<const std::string>(params_block({})),
                            device.load(file_bytes(code), *program_), std::move(tables), 0, budget, nullptr)) {}

  struct Chunk {
    std::vector<uint8_t> data;
    std::vector<uint32_t> ids = std::vector<uint32_t>(kIds);
    TaskOutcome outcome;
    std::exception_ptr error;
    bool in_slot = true;              // when decoded ahead
    std::vector<uint8_t> as_decoded;  // `data` then
  };

  DeviceQuery::Done noting(Chunk* chunk) {
    return [this, chunk](const TaskOutcome& outcome, std::exception_ptr error) {
      std::lock_guard lock(mutex_);
      chunk->outcome = outcome;
      chunk->error = error;
      waiting_--;
      done_.notify_all();
    };
  }
  Chunk& submit(std::vector<uint8_t> data, bool columns = false) {
    chunks_.push_back(std::make_unique<Chunk>());
    Chunk* chunk = chunks_.back().get();
    chunk->data = std::move(data);
    {
      std::lock_guard lock(mutex_);
      waiting_++;
    }
    Task task = pages_task(chunks_.size() - 1, chunk->data, chunk->ids.data());
    if (columns) task.input = ColumnsInput{chunk->data.data()};
    query_->submit(task, noting(chunk));
    return *chunk;
  }
  /* The same by way of decode_ahead(): the pages are elsewhere at first, and gone once
   * they are decoded, but for what the pipeline may still want of them. */
  Chunk& submit_ahead(const std::vector<uint8_t>& pages) {
    chunks_.push_back(std::make_unique<Chunk>());
    Chunk* chunk = chunks_.back().get();
    chunk->data.resize(pages.size());
    {
      std::lock_guard lock(mutex_);
      waiting_++;
    }
    const Task task = pages_task(chunks_.size() - 1, chunk->data, chunk->ids.data());
    auto read = [&pages](uint32_t first, uint32_t count, uint8_t* to) {
      memcpy(to, pages.data() + uint64_t{first} * TB_PAGE_SIZE, uint64_t{count} * TB_PAGE_SIZE);
      return PagesRead::kDone;
    };
    EXPECT_TRUE(
        query_->decode_ahead(task, read, [this, chunk, task](PagesRead read, std::shared_ptr<DecodedPages> decoded) {
          EXPECT_EQ(read, PagesRead::kDone);
          EXPECT_TRUE(decoded);
          chunk->in_slot = decoded && decoded->in_slot;
          chunk->as_decoded = chunk->data;
          memset(chunk->data.data(), 0xff, chunk->data.size());
          Task with = task;
          with.as<PagesInput>()->decoded = std::move(decoded);
          query_->submit(with, noting(chunk));
        }));
    wait();
    return *chunk;
  }
  void wait() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return waiting_ == 0; });
  }
  DeviceQuery& query() { return *query_; }
  void close() { query_.reset(); }
  const Program& program() const { return *program_; }

  /* Groups after finish(), through execution/'s output: key -> (count, sum). */
  std::map<int32_t, std::pair<int64_t, int64_t>> groups(uint64_t slot_size) {
    wait();
    std::map<int32_t, std::pair<int64_t, int64_t>> result;
    const uint64_t n = query_->finish();
    ResultOutput output(*program_);
    std::vector<uint8_t> slot(slot_size);
    for (uint64_t first = 0; first < n;) {
      const std::vector<uint8_t> payload = output.write(*query_, first, n - first, slot.data(), slot.size());
      const auto* batch = reinterpret_cast<const TbResultBatch*>(payload.data());
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
  const std::vector<uint8_t> pages = heap_pages(values, 90);
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < values.size(); i++)
    if (values[i] != DEFERRED_VALUE && values[i] % 2 == 0) expected.push_back(TB_ROWID(i / 90, i % 90 + 1));
  for (const bool ahead : {false, true}) {
    auto& chunk = ahead ? run.submit_ahead(pages) : run.submit(pages);
    run.wait();
    ASSERT_FALSE(chunk.error);
    ASSERT_EQ(chunk.outcome.nrows, expected.size());
    EXPECT_EQ(chunk.outcome.rows_in, values.size() - 2);
    EXPECT_EQ(chunk.outcome.rows_passed, expected.size());
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), chunk.ids.begin()));
    ASSERT_EQ(chunk.outcome.ndeferred, 2u);
    EXPECT_EQ(chunk.ids[expected.size()], TB_ROWID(0, 4));
    EXPECT_EQ(chunk.ids[expected.size() + 1], TB_ROWID(140, 6));
  }
}

TEST_F(HostDeviceTest, WhatIsNotReadIsNotDecoded) {
  QueryRun run(device_, testing::rows_program(), TB_TEST_CODE_ROWS);
  for (const PagesRead answer : {PagesRead::kNotCached, PagesRead::kFailed}) {
    std::vector<uint8_t> pages(100 * TB_PAGE_SIZE);
    std::vector<uint32_t> ids(kIds);
    std::promise<PagesRead> told;
    uint32_t calls = 0;
    const Task task = pages_task(0, pages, ids.data());
    auto read = [&](uint32_t first, uint32_t, uint8_t*) {
      calls++;
      return first == 0 ? PagesRead::kDone : answer;  // the second batch is missing
    };
    ASSERT_TRUE(run.query().decode_ahead(task, read, [&](PagesRead result, std::shared_ptr<DecodedPages> decoded) {
      EXPECT_FALSE(decoded);
      told.set_value(result);
    }));
    EXPECT_EQ(told.get_future().get(), answer);
    EXPECT_EQ(calls, 2u);
  }
}

TEST_F(HostDeviceTest, OnlySoManyChunksAreAhead) {
  const std::vector<int32_t> values(900, 2);
  std::vector<uint8_t> pages = heap_pages(values, 90);
  QueryRun run(device_, testing::rows_program(), TB_TEST_CODE_ROWS);
  std::vector<uint32_t> ids(kIds);
  const Task task = pages_task(0, pages, ids.data());
  auto read = [](uint32_t, uint32_t, uint8_t*) { return PagesRead::kDone; };
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::shared_ptr<DecodedPages>> held;
  auto keep = [&](PagesRead, std::shared_ptr<DecodedPages> decoded) {
    std::lock_guard lock(mutex);
    held.push_back(std::move(decoded));
    changed.notify_all();
  };
  size_t begun = 0;
  while (begun < 1000 && run.query().decode_ahead(task, read, keep)) begun++;
  {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return held.size() == begun; });
    const auto ahead = std::count_if(held.begin(), held.end(), [](const auto& decoded) { return decoded != nullptr; });
    EXPECT_GE(ahead, 24);  // as many as two queries of four threads have slots
    EXPECT_LT(ahead, 500);
    held.clear();
  }
  EXPECT_TRUE(run.query().decode_ahead(task, read, keep));
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return held.size() == 1; });
  EXPECT_TRUE(held.front());
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
  auto& chunk = run.submit(columns_chunk({1, 2, 3, 4, 6}), true);
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
    run.submit(columns_chunk({5, 5, 6}), true);
    EXPECT_EQ(run.groups(1 << 20), expected_groups(chunks)) << distinct;
    if (distinct == 200000) {
      EXPECT_GT(run.query().stats().table_grows, 0u);
    }
  }
}

/* Of groups nobody looks at pages again, but for those with rows that are deferred. */
TEST_F(HostDeviceTest, PagesThatNobodyWantsAreNotKept) {
  std::vector<int32_t> values(150 * 90, 1);
  values[140 * 90 + 5] = DEFERRED_VALUE;
  const std::vector<uint8_t> pages = heap_pages(values, 90);
  QueryRun groups(device_, testing::sum_program(true), TB_TEST_CODE_GROUPS);
  auto& chunk = groups.submit_ahead(pages);
  ASSERT_FALSE(chunk.error);
  EXPECT_FALSE(chunk.in_slot);
  ASSERT_EQ(chunk.outcome.ndeferred, 1u);
  EXPECT_EQ(chunk.ids[0], TB_ROWID(140, 6));
  const size_t last_batch = 128 * TB_PAGE_SIZE;
  EXPECT_TRUE(
      std::all_of(chunk.as_decoded.begin(), chunk.as_decoded.begin() + last_batch, [](uint8_t b) { return b == 0; }));
  EXPECT_TRUE(std::equal(pages.begin() + last_batch, pages.end(), chunk.as_decoded.begin() + last_batch));
  const auto sums = groups.groups(64 << 10);
  int64_t count = 0;
  for (const auto& [key, of_key] : sums) count += of_key.first;
  EXPECT_EQ(count, 150 * 90 - 1);

  QueryRun rows(device_, testing::rows_program(), TB_TEST_CODE_ROWS);
  auto& kept = rows.submit_ahead(pages);
  EXPECT_TRUE(kept.in_slot);
  EXPECT_EQ(kept.as_decoded, pages);
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
  const ResultBatch batch = run.query().fetch(0, 1);
  int64_t got[2];
  for (size_t i = 0; i < 2; i++) memcpy(&got[i], batch.columns[i].values, sizeof got[i]);
  EXPECT_EQ(got[0], count);
  EXPECT_EQ(got[1], sum);
}

TEST_F(HostDeviceTest, UngroupedWithoutInputSawNothing) {
  QueryRun run(device_, testing::sum_program(false), TB_TEST_CODE_TOTAL);
  ASSERT_EQ(run.query().finish(), 1u);
  EXPECT_EQ(*run.query().fetch(0, 1).columns[1].valid, 0);
}

using Row = std::tuple<int32_t, int32_t, std::string>;  // NULL is "-"

std::string text_of(int32_t value) { return value % 5 == 0 ? "-" : "v" + std::to_string(value); }

/* The rows of a projection of (int, int, text), sorted, through execution/'s
 * output to slots of a size. */
std::vector<Row> projected(QueryRun& run, uint64_t slot_size) {
  run.wait();
  std::vector<Row> rows;
  const uint64_t n = run.query().finish();
  ResultOutput output(run.program());
  std::vector<uint8_t> slot(slot_size);
  for (uint64_t first = 0; first < n;) {
    const std::vector<uint8_t> payload = output.write(run.query(), first, n - first, slot.data(), slot.size());
    const auto* batch = reinterpret_cast<const TbResultBatch*>(payload.data());
    for (uint32_t i = 0; i < batch->nrows; i++) {
      int32_t a, b;
      TbTextView view;
      memcpy(&a, slot.data() + batch->columns[0].values + i * 4, 4);
      memcpy(&b, slot.data() + batch->columns[1].values + i * 4, 4);
      memcpy(&view, slot.data() + batch->columns[2].values + i * 16, 16);
      EXPECT_EQ(batch->columns[0].valid, 0u);
      const bool valid = slot[batch->columns[2].valid + i];
      const char* bytes = reinterpret_cast<const char*>(slot.data()) + batch->bytes_offset + view.offset;
      EXPECT_LE(uint64_t{view.offset} + view.length, batch->bytes_size);
      rows.emplace_back(a, b, valid ? std::string(bytes, view.length) : "-");
    }
    first += batch->nrows;
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

TEST_F(HostDeviceTest, ProjectionsKeepEveryRow) {
  for (uint64_t slot_size : {uint64_t{1} << 20, uint64_t{700}}) {
    QueryRun run(device_, testing::build_program(TB_SINK_PROJECT), TB_TEST_CODE_JOIN);
    std::vector<Row> expected;
    const int chunks = slot_size > 1000 ? 20 : 2;
    for (int c = 0; c < chunks; c++) {
      std::vector<int32_t> values(5000);
      for (int32_t& value : values) {
        value = static_cast<int32_t>(expected.size());
        expected.emplace_back(value, value, text_of(value));
      }
      run.submit(heap_pages(values, 100));
    }
    EXPECT_EQ(projected(run, slot_size), expected);
    EXPECT_EQ(run.query().take_table(), nullptr);
  }
}

TEST_F(HostDeviceTest, RowsThatFitNoSlotEndTheQuery) {
  QueryRun run(device_, testing::build_program(TB_SINK_PROJECT), TB_TEST_CODE_JOIN);
  run.submit(heap_page({1, 2}));
  EXPECT_THROW(projected(run, 100), DeviceError);
}

/* Keys that lie close, that are repeated, and that are far apart: each kind of
 * table is probed by code that knows nothing of how it came to be. */
TEST_F(HostDeviceTest, TablesAreBuiltAndProbed) {
  const struct {
    int32_t step, copies;
    uint32_t kind;
  } cases[] = {{1, 1, TB_TABLE_DENSE},  {3, 1, TB_TABLE_DENSE},   {1, 3, TB_TABLE_DIRECT},
               {5, 2, TB_TABLE_DIRECT}, {1000, 1, TB_TABLE_HASH}, {777, 3, TB_TABLE_HASH}};
  for (const auto& [step, copies, kind] : cases) {
    QueryRun build(device_, testing::build_program(), TB_TEST_CODE_JOIN);
    std::vector<int32_t> values;
    for (int32_t i = 0; i < 40000; i++)
      for (int32_t copy = 0; copy < copies; copy++) values.push_back((i + 1) * step);
    std::mt19937 random(7);
    std::shuffle(values.begin(), values.end(), random);
    for (size_t first = 0; first < values.size(); first += 10000)
      build.submit(heap_pages(
          {values.begin() + static_cast<long>(first), values.begin() + static_cast<long>(first) + 10000}, 100));
    build.wait();
    ASSERT_EQ(build.query().finish(), values.size());
    const std::shared_ptr<const JoinTable> table = build.query().take_table();
    build.close();  // the table outlives its query
    EXPECT_EQ(table->raw()->kind, kind) << step << " " << copies;
    EXPECT_EQ(table->unique(), copies == 1);
    EXPECT_EQ(table->rows(), values.size());

    QueryRun probe(device_, testing::probe_program(0), TB_TEST_CODE_JOIN, kQueryMemory, {table});
    std::vector<Row> expected;
    std::vector<int32_t> keys;
    for (int32_t key = -1000 * step; key < 41000 * step; key += (step + 1) / 2)
      if (key != DEFERRED_VALUE) keys.push_back(key);
    for (int32_t key : keys)
      if (key % step == 0 && key / step >= 1 && key / step <= 40000)
        for (int32_t copy = 0; copy < copies; copy++) expected.emplace_back(key, key, text_of(key));
    probe.submit(heap_pages(keys, 200));
    EXPECT_EQ(projected(probe, 1 << 20), expected) << step << " " << copies;
  }
}

TEST_F(HostDeviceTest, EmptyTablesMatchNothing) {
  QueryRun build(device_, testing::build_program(), TB_TEST_CODE_JOIN);
  ASSERT_EQ(build.query().finish(), 0u);
  QueryRun probe(device_, testing::probe_program(0), TB_TEST_CODE_JOIN, kQueryMemory, {build.query().take_table()});
  probe.submit(heap_page({0, 1, 2}));
  EXPECT_TRUE(projected(probe, 1 << 16).empty());
}

TEST_F(HostDeviceTest, ProbesCountTheirTuples) {
  QueryRun build(device_, testing::build_program(), TB_TEST_CODE_JOIN);
  build.submit(heap_page({7, 7, 7, 8}));
  build.wait();
  build.query().finish();
  QueryRun probe(device_, testing::probe_program(0), TB_TEST_CODE_JOIN, kQueryMemory, {build.query().take_table()});
  auto& chunk = probe.submit(heap_page({7, 8, 9}));
  probe.wait();
  EXPECT_EQ(chunk.outcome.rows_passed, 3u);
  EXPECT_EQ(chunk.outcome.join_rows[0], 4u);
  EXPECT_EQ(chunk.outcome.join_rows[1], 0u);
}

TEST_F(HostDeviceTest, RowsBeyondTheBudgetEndTheQueryOnly) {
  std::vector<int32_t> many(200 * 200);
  for (size_t i = 0; i < many.size(); i++) many[i] = static_cast<int32_t>(i);
  for (uint16_t sink : {TB_SINK_PROJECT, TB_SINK_BUILD}) {
    QueryRun run(device_, testing::build_program(sink), TB_TEST_CODE_JOIN, 400 << 10);
    auto& chunk = run.submit(heap_pages(many, 200));
    run.wait();
    ASSERT_TRUE(chunk.error);
    try {
      std::rethrow_exception(chunk.error);
    } catch (const DeviceError& e) {
      EXPECT_EQ(e.reason, TB_FALLBACK_HOST_MEMORY);
    }
  }
  // Enough for the rows, but not for the table made of them.
  QueryRun run(device_, testing::build_program(), TB_TEST_CODE_JOIN, 5 << 20);
  auto& chunk = run.submit(heap_pages(many, 200));
  run.wait();
  ASSERT_FALSE(chunk.error);
  EXPECT_THROW(run.query().finish(), DeviceError);
}

TEST_F(HostDeviceTest, KeptRowsAreClaimedAsEstimatedWithinReason) {
  const Program build = Program::parse(testing::build_program().blob());
  const uint64_t few = device_.needs(build, 0, 16, 2).device_bytes;
  const uint64_t million = device_.needs(build, 1e6, 16, 2).device_bytes;
  EXPECT_LT(few, 4u << 20);
  EXPECT_GT(million, 40e6);
  const double odd[] = {-1, std::numeric_limits<double>::quiet_NaN()};
  for (double estimate : odd) EXPECT_EQ(device_.needs(build, estimate, 16, 2).device_bytes, few);
  EXPECT_LE(device_.needs(build, 1e300, 16, 2).device_bytes, device_.info().memory_budget / 4);
}

TEST_F(HostDeviceTest, RowsAsTheSourceNeedNoDecoder) {
  testing::ProgramWriter rows = testing::build_program(TB_SINK_PROJECT);
  rows.source = TB_SOURCE_ROWS;
  rows.attributes.clear();
  QueryRun run(device_, rows, TB_TEST_CODE_JOIN);
  std::vector<uint8_t> chunk = columns_chunk({4, 5});
  // A second column, of texts that the code does not look at.
  chunk.resize(4096);
  TbColumnsChunk header{};
  header.nrows = header.ncolumns = 2;
  const uint64_t columns[4] = {128, 0, 256, 512};
  memcpy(chunk.data(), &header, sizeof header);
  memcpy(chunk.data() + sizeof header, columns, sizeof columns);
  const int32_t values[] = {4, 5};
  memcpy(chunk.data() + 128, values, sizeof values);
  run.submit(chunk, true);
  EXPECT_EQ(projected(run, 4096), (std::vector<Row>{{4, 4, "v4"}, {5, 5, "-"}}));
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
  for (int i = 0; i < 20; i++)
    runs.push_back(std::make_unique<QueryRun>(device_, testing::sum_program(true), TB_TEST_CODE_GROUPS));
  std::vector<int32_t> values(50 * 60);
  for (size_t i = 0; i < values.size(); i++) values[i] = static_cast<int32_t>(i % 77);
  for (int c = 0; c < 3; c++)
    for (auto& run : runs) run->submit(heap_pages(values, 60));
  for (auto& run : runs) EXPECT_EQ(run->groups(1 << 16), expected_groups({values, values, values}));
}

TEST_F(HostDeviceTest, CodeIsCheckedWhenLoaded) {
  const Program program = Program::parse(testing::rows_program().blob());
  const std::vector<uint8_t> garbage(1000, 'x');
  EXPECT_THROW(device_.load(garbage, program), DeviceError);
  EXPECT_THROW(device_.load({}, program), DeviceError);
  // Two libraries at a time are two libraries, whatever descriptors they got.
  auto rows = std::dynamic_pointer_cast<HostCode>(device_.load(file_bytes(TB_TEST_CODE_ROWS), program));
  auto groups = std::dynamic_pointer_cast<HostCode>(device_.load(file_bytes(TB_TEST_CODE_GROUPS), program));
  EXPECT_NE(rows->entries().pipeline, groups->entries().pipeline);
}

size_t open_descriptors() {
  const std::filesystem::directory_iterator folder("/proc/self/fd");
  return static_cast<size_t>(std::distance(begin(folder), end(folder)));
}

/* Hundreds of programs stay loaded. */
TEST_F(HostDeviceTest, LoadedCodeHoldsNoDescriptor) {
  const Program program = Program::parse(testing::rows_program().blob());
  const size_t before = open_descriptors();
  std::vector<std::shared_ptr<LoadedCode>> loaded;
  std::set<HostCode::Pipeline> pipelines;
  for (int i = 0; i < 100; i++) {
    loaded.push_back(device_.load(file_bytes(TB_TEST_CODE_ROWS), program));
    loaded.back()->improve(file_bytes(TB_TEST_CODE_ROWS));
    pipelines.insert(std::dynamic_pointer_cast<HostCode>(loaded.back())->entries().pipeline);
  }
  EXPECT_EQ(open_descriptors(), before);
  EXPECT_EQ(pipelines.size(), 100u) << "each is a library of its own, though all had one number";
}

TEST_F(HostDeviceTest, ChunkShapesAreSane) {
  for (uint64_t blocks : {uint64_t{0}, uint64_t{1}, uint64_t{1000}, uint64_t{1} << 32}) {
    for (bool copied : {false, true}) {
      const Device::ChunkShape shape = device_.chunk_shape(blocks, copied);
      EXPECT_GE(shape.slot_pages, 1u);
      EXPECT_GE(shape.nslots, 2u);
      EXPECT_LE(shape.nslots, static_cast<uint32_t>(TB_MAX_SLOTS));
    }
  }
  const uint64_t many = uint64_t{1} << 32;
  EXPECT_LT(device_.chunk_shape(many, true).slot_pages, device_.chunk_shape(many, false).slot_pages);
}

}  // namespace
}  // namespace turbine
