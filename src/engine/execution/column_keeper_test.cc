/* column_keeper_test.cc - no row is lost or comes twice on its way by the host, whatever the store takes. */
#include "engine/execution/column_keeper.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <numeric>

#include "engine/device/host/host_device.h"
#include "engine/program/decode_program.h"
#include "engine/store/segment_fill.h"
#include "engine/testing/hand_written_code.h"
#include "engine/testing/hand_written_programs.h"
#include "engine/testing/heap_pages.h"

namespace turbine {
namespace {

constexpr uint32_t kPages = 100, kRowsAPage = 50;
constexpr uint64_t kMapLsn = 7;

class ColumnKeeperTest : public ::testing::Test {
 protected:
  ColumnKeeperTest() {
    part_.table = store_.table({1, 2, 3, 0, 4, 5});
    part_.table->column_numbers({{1, TB_TYPE_INT4, ""}});
    part_.columns = std::make_shared<const std::vector<uint32_t>>(std::vector<uint32_t>{0});
    part_.nblocks = kPages;
    auto snapshot = std::make_shared<QuerySnapshot>();
    snapshot->xmin = snapshot->xmax = 1000;
    part_.snapshot = snapshot;
    std::vector<int32_t> values(kPages * kRowsAPage);
    std::iota(values.begin(), values.end(), 0);
    pages_ = testing::heap_pages(values, kRowsAPage);
    for (uint32_t i = 0; i < kPages; i++) header(i)->lsn = uint64_t{5} << 32;
  }
  TbFreshHeader* header(uint32_t page) {
    return reinterpret_cast<TbFreshHeader*>(pages_.data() + uint64_t{page} * TB_PAGE_SIZE);
  }
  std::unique_ptr<DeviceQuery> start() {
    std::ifstream in(TB_TEST_CODE_TOTAL, std::ios::binary);
    const std::vector<uint8_t> code{std::istreambuf_iterator<char>(in), {}};
    return device_.start(program_, std::make_shared<const std::string>(testing::params_block({})),
                         device_.load(code, *program_), {}, 0, uint64_t{1} << 30, nullptr);
  }
  /* The pages as one chunk, copied ones all of them; the sum of the values that the device meets. */
  int64_t sum() {
    const auto query = start();
    ColumnKeeper keeper(start());
    std::vector<uint32_t> ids(kPages * TB_MAX_TUPLES_PER_PAGE);
    Task task{.sequence = 0,
              .input = PagesInput{.pages = pages_.data(),
                                  .npages = kPages,
                                  .keep = std::make_shared<SegmentFill>(store_, program_, part_, std::vector<TbRun>(),
                                                                        std::vector<TbRun>{{0, 0, kPages}}, kMapLsn)},
              .ids = ids.data(),
              .ids_capacity = static_cast<uint32_t>(ids.size())};
    EXPECT_TRUE(keeper.takes(task));
    std::mutex mutex;
    std::condition_variable over;
    int done = 0;
    keeper.submit(task, *query, [&](const TaskOutcome& outcome, std::exception_ptr error) {
      std::lock_guard lock(mutex);
      EXPECT_FALSE(error);
      rows_in_ = outcome.rows_in;
      cached_bytes_ = outcome.cached_bytes;
      done++;
      over.notify_all();
    });
    {
      std::unique_lock lock(mutex);
      over.wait(lock, [&] { return done > 0; });
    }
    EXPECT_EQ(query->finish(), 1u);
    const ResultBatch batch = query->fetch(0, 1);
    EXPECT_EQ(done, 1);
    int64_t value;
    memcpy(&value, batch.columns[1].values, sizeof value);
    return value;
  }
  static int64_t expected() {
    const int64_t rows = kPages * kRowsAPage;
    return rows * (rows - 1) / 2;
  }

  HostDevice device_{{2, 0}};
  ColumnStore store_{1 << 20};
  const std::shared_ptr<const Program> program_ = std::make_shared<const Program>(
      Program::parse(testing::sum_program(false).blob()));
  StoredPart part_;
  std::vector<uint8_t> pages_;
  uint64_t rows_in_ = 0, cached_bytes_ = 0;
};

TEST_F(ColumnKeeperTest, AllPagesAreKept) {
  for (uint32_t i = 0; i < kPages; i++) header(i)->flags = TB_PAGE_IS_FRESH;
  EXPECT_EQ(sum(), expected());
  EXPECT_EQ(rows_in_, kPages * kRowsAPage);
  EXPECT_GT(cached_bytes_, 0u);
  EXPECT_GT(store_.used(), 0u);
}

TEST_F(ColumnKeeperTest, SomeAre) {
  for (uint32_t i = 0; i < kPages; i++) header(i)->flags = i % 3 == 0 ? 0 : TB_PAGE_IS_FRESH;
  EXPECT_EQ(sum(), expected());
  EXPECT_EQ(rows_in_, kPages * kRowsAPage);
  EXPECT_GT(cached_bytes_, 0u);
}

TEST_F(ColumnKeeperTest, NoneIs) {
  EXPECT_EQ(sum(), expected());
  EXPECT_EQ(rows_in_, kPages * kRowsAPage);
  EXPECT_EQ(cached_bytes_, 0u);
}

TEST_F(ColumnKeeperTest, GivesUpWhereNothingIsKept) {
  ColumnKeeper keeper(start());
  const auto query = start();
  std::vector<uint32_t> ids(kPages * TB_MAX_TUPLES_PER_PAGE);
  Task task{.input = PagesInput{.pages = pages_.data(), .npages = kPages}, .ids = ids.data()};
  task.ids_capacity = static_cast<uint32_t>(ids.size());
  EXPECT_FALSE(keeper.takes(task)) << "nobody wants the columns";
  int chunks = 0;
  for (;; chunks++) {
    task.as<PagesInput>()->keep = std::make_shared<SegmentFill>(store_, program_, part_, std::vector<TbRun>(),
                                                                std::vector<TbRun>{{0, 0, kPages}}, kMapLsn);
    if (!keeper.takes(task)) break;
    ASSERT_LT(chunks, 1000);
    std::mutex mutex;
    std::unique_lock lock(mutex);
    bool done = false;
    std::condition_variable over;
    keeper.submit(task, *query, [&](const TaskOutcome&, std::exception_ptr) {
      std::lock_guard inner(mutex);
      done = true;
      over.notify_all();
    });
    over.wait(lock, [&] { return done; });
  }
  EXPECT_GT(chunks, 5);
}

TEST(DecodeProgram, HasTheSourceAndNothingElse) {
  const Program program = Program::parse(testing::sum_program(true).blob());
  const Program decode = Program::parse(decode_program(program));
  EXPECT_EQ(decode.source_columns(), program.source_columns());
  EXPECT_EQ(decode.attributes().size(), program.attributes().size());
  EXPECT_EQ(decode.params().size(), program.params().size());
  EXPECT_TRUE(decode.exprs().empty());
  EXPECT_TRUE(decode.keys().empty());
  EXPECT_TRUE(decode.aggs().empty());
  EXPECT_EQ(decode.sink(), TB_SINK_AGGREGATE);
}

}  // namespace
}  // namespace turbine
