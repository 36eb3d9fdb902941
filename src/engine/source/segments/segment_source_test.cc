/* segment_source_test.cc - queries that look at the same doubtful pages at once look at them once; what of a file
 * becomes tasks, in which order. */
#include "engine/source/segments/segment_source.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "engine/device/host/join_table_build.h"
#include "engine/source/testing/recording_sink.h"
#include "engine/testing/hand_written_programs.h"

namespace turbine {
namespace {

constexpr uint64_t kOldLsn = 5, kNewLsn = 6, kPageLsn = 3;

/* A segment of INT4 whose blocks have a row each. */
DecodedBlocks decoded(uint32_t column) {
  static const int32_t values[TB_SEGMENT_BLOCKS] = {};
  DecodedBlocks blocks;
  blocks.blocks = ~BlockMask{0};
  blocks.map_lsn = kOldLsn;
  blocks.page_lsn.fill(kPageLsn);
  blocks.row_count.fill(1);
  for (uint32_t i = 0; i < TB_SEGMENT_BLOCKS; i++) blocks.first_row[i] = i;
  blocks.columns.push_back({column, TB_TYPE_INT4, false, {const_cast<int32_t*>(values), nullptr, nullptr}});
  return blocks;
}

/* Of zeros: no page has the LSN that it was decoded with. */
RelationFiles changed_pages() {
  RelationFiles files;
  const int fd = memfd_create("relation", MFD_CLOEXEC);
  EXPECT_EQ(ftruncate(fd, TB_SEGMENT_BLOCKS * TB_PAGE_SIZE), 0);
  EXPECT_TRUE(files.add(0, {fd}));
  return files;
}

TEST(SegmentSource, WhatAnotherQueryHasConfirmedIsNotLookedAtAgain) {
  ColumnStore store(1 << 20);
  WorkerPool readers("reader", 1);
  const std::vector<uint8_t> blob = testing::sum_program(false).blob();
  const auto program = std::make_shared<const Program>(Program::parse(blob));
  const auto params = std::make_shared<const std::string>(testing::params_block({}));
  const std::vector<uint8_t> bits(TB_SEGMENT_BLOCKS / 8, 0xff);
  SegmentsRequest request{};
  request.segments.file = {1, 2, 3, 0, 4, 5};
  request.segments.part = 1;
  request.segments.nblocks = TB_SEGMENT_BLOCKS;
  request.segments.nmap_pages = 1;
  request.segments.asked = TB_SEGMENT_BLOCKS;
  request.map_lsn = {kNewLsn};
  request.bits = bits;

  SegmentSource source(store, program, params, {});
  testing::RecordingSink sink;
  sink.shape = {.rows = 1000, .tasks = 1};
  source.begin(sink);
  EXPECT_EQ(source.take(request, ChunkLayouts()).blocks, 0u);
  const auto table = store.table(request.segments.file);
  const ColumnKey key = column_key(*program, 0, reinterpret_cast<const TbParamBlock*>(params->data()));
  const uint32_t number = table->column_numbers({key})[0];
  store.add(*table, decoded(number));
  const StoredTable::Known known{TB_SEGMENT_BLOCKS, request.map_lsn.data(), bits.data()};
  const StoredTable::Found found = table->find({number}, known);
  ASSERT_EQ(found.doubtful.size(), 1u);

  std::unique_lock other = table->look_alone();
  std::thread query([&] {
    const RelationFiles files = changed_pages();
    MappedFiles mapped;
    EXPECT_EQ(source.take_unchanged(request, files, mapped, readers).blocks, TB_SEGMENT_BLOCKS);
  });
  // Long enough for the query to have looked, if it does not wait.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  table->confirm(found.doubtful[0], kNewLsn);
  other.unlock();
  query.join();
}

/* A file of segments, each with one value in all of its rows, that a query asks for; enough for a list of them to be
 * kept. */
class TakenSegments : public ::testing::Test {
 protected:
  static constexpr int32_t kValues[] = {30, 10, 50, 20, 40, 60, 80, 70, 100, 90, 110, 130, 120, 150, 140, 160, 170};
  static constexpr uint32_t kBlocks = std::size(kValues) * TB_SEGMENT_BLOCKS;

  void SetUp() override {
    table_ = store_.table(kFile);
    for (uint32_t s = 0; s < std::size(kValues); s++) {
      std::vector<int32_t> values(TB_SEGMENT_BLOCKS, kValues[s]);
      DecodedBlocks blocks = decoded(0);
      blocks.first_block = s * TB_SEGMENT_BLOCKS;
      blocks.columns[0].data.values = values.data();
      const ColumnKey key = column_key(*sums_, 0, reinterpret_cast<const TbParamBlock*>(params_->data()));
      blocks.columns[0].number = table_->column_numbers({key})[0];
      store_.add(*table_, blocks);
    }
  }

  SegmentsRequest request() {
    SegmentsRequest request{};
    request.segments.file = kFile;
    request.segments.part = 1;
    request.segments.nblocks = request.segments.asked = kBlocks;
    request.segments.nmap_pages = 1;
    request.map_lsn = {kOldLsn};
    request.bits = bits_;
    return request;
  }

  /* `head_` is what the backend hears. */
  std::vector<Task> tasks_of(SegmentSource& source, const Device::SegmentShape& shape) {
    testing::RecordingSink sink;
    sink.shape = shape;
    source.begin(sink);
    const auto taken = source.take(request(), ChunkLayouts());
    EXPECT_EQ(taken.blocks, kBlocks);
    memcpy(&head_, taken.reply.data(), sizeof head_);
    EXPECT_EQ(head_.segments, std::size(kValues));
    return std::move(sink.tasks);
  }

  /* The values of the tasks' segments in their order, a task for each. */
  std::vector<int32_t> values_of_tasks(SegmentSource& source) {
    std::vector<int32_t> found;
    for (const Task& task : tasks_of(source, {.rows = 1, .tasks = 1})) {
      EXPECT_EQ(task.as<SegmentsInput>()->morsel->segments.size(), 1u);
      found.push_back(kValues[task.as<SegmentsInput>()->morsel->segments[0].segment->first_block / TB_SEGMENT_BLOCKS]);
    }
    return found;
  }

  ColumnStore store_{1 << 20};
  static constexpr TbFileIdentity kFile = {1, 2, 3, 0, 4, 5};
  std::shared_ptr<const Program> sums_ = std::make_shared<const Program>(
      Program::parse(testing::sum_program(false).blob()));
  std::shared_ptr<const std::string> params_ = std::make_shared<const std::string>(testing::params_block({}));
  const std::vector<uint8_t> bits_ = std::vector<uint8_t>(kBlocks / 8, 0xff);
  std::shared_ptr<StoredTable> table_;
  TbSegmentsTaken head_;
};

/* By a search, then by the list that it has left. */
TEST_F(TakenSegments, ComeInTheFilesOrderOrInTheQuerys) {
  const std::vector<int32_t> in_file(std::begin(kValues), std::end(kValues));
  std::vector<int32_t> ascending = in_file;
  std::sort(ascending.begin(), ascending.end());
  const std::vector<int32_t> descending(ascending.rbegin(), ascending.rend());
  for (int run = 0; run < 3; run++) {
    SegmentSource plain(store_, sums_, params_, {}), up(store_, sums_, params_, {}), down(store_, sums_, params_, {});
    up.visit_by({0, false, false});
    down.visit_by({0, true, false});
    EXPECT_EQ(values_of_tasks(plain), in_file);
    EXPECT_EQ(values_of_tasks(up), ascending);
    EXPECT_EQ(values_of_tasks(down), descending);
    EXPECT_EQ(head_.excluded, 0u);
  }
}

TEST_F(TakenSegments, ComeInTheSameTasksEachTime) {
  // They leave a list.
  for (int run = 0; run < 2; run++) {
    SegmentSource plain(store_, sums_, params_, {});
    values_of_tasks(plain);
  }
  std::vector<std::shared_ptr<const SegmentMorsel>> before;
  for (int run = 0; run < 2; run++) {
    SegmentSource source(store_, sums_, params_, {});
    source.visit_by({0, false, false});
    std::vector<std::shared_ptr<const SegmentMorsel>> tasks;
    for (const Task& task : tasks_of(source, {.rows = 300, .tasks = 1}))
      tasks.push_back(task.as<SegmentsInput>()->morsel);
    ASSERT_GT(tasks.size(), 2u);
    EXPECT_TRUE(tasks[0]->lasting);
    EXPECT_TRUE(run == 0 || tasks == before);
    before = tasks;
  }
}

/* In tasks of six segments: of the first none passes, of the second three, of the last all five. */
TEST_F(TakenSegments, AreReadAsTheDeviceRemembersThem) {
  testing::ProgramWriter w = testing::sum_program(false);
  const uint32_t least = w.param(TB_TYPE_INT4);
  w.filters.push_back(w.call(TB_FN_INT4GE, {0, least}));
  const auto program = std::make_shared<const Program>(Program::parse(w.blob()));
  const auto params = std::make_shared<const std::string>(testing::params_block({TbParam{0, {}, 0, 0, {100, 0}}}));
  const auto lasting_sizes = [&](uint64_t remembered_rows, uint64_t told_rows) {
    SegmentSource source(store_, program, params, {});
    std::multimap<bool, size_t> sizes;
    for (const Task& task : tasks_of(
             source,
             {.rows = 6 * TB_SEGMENT_BLOCKS, .tasks = 1, .remembered_rows = remembered_rows, .told_rows = told_rows})) {
      const SegmentMorsel& morsel = *task.as<SegmentsInput>()->morsel;
      sizes.emplace(morsel.lasting, morsel.segments.size());
    }
    return sizes;
  };
  using Sizes = std::multimap<bool, size_t>;
  lasting_sizes(0, 0);  // leaves a list
  EXPECT_EQ(lasting_sizes(0, 100), (Sizes{{false, 6}, {false, 2}}));
  EXPECT_EQ(head_.excluded_by_filter, 9u);
  EXPECT_EQ(lasting_sizes(kBlocks, 100), (Sizes{{false, 3}, {true, 5}}));
  EXPECT_EQ(head_.excluded_by_filter, 9u);
  EXPECT_EQ(lasting_sizes(kBlocks, 1000), (Sizes{{true, 6}, {true, 5}}));
  EXPECT_EQ(head_.excluded_by_filter, 6u);
  EXPECT_EQ(head_.excluded, 6 * TB_SEGMENT_BLOCKS);
  EXPECT_EQ(lasting_sizes(kBlocks - 1, 1000), (Sizes{{false, 6}, {false, 2}}));
}

TEST_F(TakenSegments, WithoutAMatchAreExcluded) {
  WorkerPool pool("worker", 1);
  MemoryBudget budget(1 << 20);
  KeptRowLayout shape;
  shape.nkeys = 1;
  shape.columns.push_back({TB_TYPE_INT4, 0, false});
  KeptParts::Stores stores;
  stores.push_back(std::make_unique<HostRowStore>(shape, true, 16, budget));
  for (const int32_t key : {20, 50}) {
    TbRowStore& raw = *stores[0]->raw();
    static_cast<int32_t*>(raw.columns[0].values)[raw.nrows++] = key;
  }
  const JoinTables tables = {build_join_table(shape, std::move(stores), pool, budget)};
  testing::ProgramWriter w = testing::sum_program(false);
  w.join(TB_JOIN_SEMI, {0}, 0);
  const uint32_t least = w.param(TB_TYPE_INT4);
  w.filters.push_back(w.call(TB_FN_INT4GE, {0, least}));
  const auto program = std::make_shared<const Program>(Program::parse(w.blob()));
  const auto params = std::make_shared<const std::string>(testing::params_block({TbParam{0, {}, 0, 0, {15, 0}}}));
  for (int run = 0; run < 3; run++) {
    SegmentSource source(store_, program, params, tables);
    source.visit_by({0, true, false});
    EXPECT_EQ(values_of_tasks(source), (std::vector{50, 20}));
    EXPECT_EQ(head_.excluded_by_filter, 1u);
    EXPECT_EQ(head_.excluded_by_join, std::size(kValues) - 3);
    EXPECT_EQ(head_.excluded, (std::size(kValues) - 2) * TB_SEGMENT_BLOCKS);
  }
}

}  // namespace
}  // namespace turbine
