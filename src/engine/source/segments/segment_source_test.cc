/* segment_source_test.cc - queries that look at the same doubtful pages at once look at them once. */
#include "engine/source/segments/segment_source.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <thread>

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

  SegmentSource source(store, program, params);
  ChunkLayouts layouts;
  const Device::SegmentShape shape{.rows = 1000, .tasks = 1, .plain_texts = true};
  EXPECT_EQ(source.take(request, layouts, shape, [](auto) {}).blocks, 0u);
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
    EXPECT_EQ(source.take_unchanged(request, files, mapped, shape, readers, [](auto) {}).blocks, TB_SEGMENT_BLOCKS);
  });
  // Long enough for the query to have looked, if it does not wait.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  table->confirm(found.doubtful[0], kNewLsn);
  other.unlock();
  query.join();
}

}  // namespace
}  // namespace turbine
