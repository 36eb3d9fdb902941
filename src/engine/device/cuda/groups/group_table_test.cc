/*
 * group_table_test.cc - groups after growth, by the kernel's own source on the host and through the host:
 * each that a bucket names is there once, with its row; little memory; every driver call failing in turn.
 */
#include "engine/device/cuda/groups/group_table.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <random>
#include <thread>

#include "engine/device/cuda/driver/fault.h"
#include "engine/device/cuda/driver/stream.h"
#include "engine/device/cuda/testing/fake_driver.h"
#include "engine/device/cuda/testing/growth_on_host.h"
#include "engine/program/testing/program_writer.h"
#include "turbine/state_text.h"

namespace turbine::cuda {
namespace {

constexpr uint64_t kEnough = uint64_t{1} << 30;

/* SELECT v, count(*), sum(n) GROUP BY v; `text`: and max of a text, so that there is an arena. */
Program grouped_program(bool text) {
  turbine::testing::ProgramWriter writer;
  writer.sink = TB_SINK_AGGREGATE;
  const uint32_t v = writer.column(TB_TYPE_INT8), n = writer.column(TB_TYPE_NUM64, false, 2);
  const uint32_t t = writer.column(TB_TYPE_TEXT);
  writer.keys = {v};
  writer.aggregate(TB_AGG_COUNT);
  writer.aggregate(TB_AGG_SUM_WIDE, n);
  writer.aggregate(text ? TB_AGG_MAX : TB_AGG_COUNT, t);
  return Program::parse(writer.blob());
}

class GroupGpu {
 public:
  explicit GroupGpu(bool kernel, const testing::FakeOptions& options = {}) : fake_(options) {
    if (kernel) testing::set_growth_kernel(fake_);
    context_ = std::make_shared<CudaContext>(fake_.table(), 0, 13000, kEnough);
    code_ = std::make_unique<GroupCode>(context_);
    context_->enter(context_->driver());
    for (int looks = 0; kernel && !code_->ready() && looks < 10000; looks++)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ~GroupGpu() {
    EXPECT_EQ(context_->device_memory().used(), 0u);
    EXPECT_EQ(context_->pinned_memory().used(), 0u);
    code_.reset();
    context_.reset();
    EXPECT_EQ(fake_.leaks(), std::vector<std::string>());
    EXPECT_EQ(fake_.misuse(), std::vector<std::string>());
  }
  CudaContext& context() { return *context_; }
  GroupCode& code() { return *code_; }

 private:
  testing::FakeDriver fake_;
  std::shared_ptr<CudaContext> context_;
  std::unique_ptr<GroupCode> code_;
};

using RowsByHash = std::map<uint64_t, std::vector<uint8_t>>;

/* As kernels leave it when they find no more room: rows without a bucket, buckets that are being filled, a counter
 * beyond the capacity. Returns the rows that buckets name. */
RowsByHash fill(TbGroupTable& table, std::mt19937_64& random) {
  RowsByHash named;
  for (; table.ngroups < table.group_capacity; table.ngroups++) {
    uint8_t* row = table.rows + table.ngroups * table.row_size;
    for (uint32_t i = 0; i < table.row_size; i++) row[i] = static_cast<uint8_t>(random());
    uint64_t hash = random() & ~uint64_t{0xff};  // hashes that begin a search at the same bucket
    memcpy(row, &hash, sizeof hash);
    if (random() % 7 == 0 || named.contains(hash)) continue;
    uint64_t bucket = hash & table.bucket_mask;
    while (table.buckets[bucket] != 0) bucket = (bucket + 1) & table.bucket_mask;
    table.buckets[bucket] = static_cast<uint32_t>(table.ngroups + 1);
    named[hash].assign(row, row + table.row_size);
  }
  for (uint64_t bucket = 0; bucket <= table.bucket_mask; bucket += 97)
    if (table.buckets[bucket] == 0) table.buckets[bucket] = TB_BUCKET_BUSY;
  table.ngroups += random() % 100;
  table.full = 1;
  return named;
}

void expect_groups(const TbGroupTable& table, const RowsByHash& named) {
  ASSERT_EQ(table.ngroups, named.size());
  EXPECT_EQ(table.full, 0u);
  uint64_t entries = 0;
  for (uint64_t bucket = 0; bucket <= table.bucket_mask; bucket++) entries += table.buckets[bucket] != 0;
  EXPECT_EQ(entries, named.size());
  for (const auto& [hash, row] : named) {
    uint64_t bucket = hash & table.bucket_mask;
    const uint8_t* found = nullptr;
    for (; table.buckets[bucket] != 0 && !found; bucket = (bucket + 1) & table.bucket_mask) {
      ASSERT_LE(table.buckets[bucket], table.ngroups);
      const uint8_t* candidate = table.rows + uint64_t{table.buckets[bucket] - 1} * table.row_size;
      if (memcmp(candidate, &hash, sizeof hash) == 0) found = candidate;
    }
    ASSERT_NE(found, nullptr);
    ASSERT_EQ(memcmp(found, row.data(), row.size()), 0);
  }
  for (uint64_t i = table.ngroups * table.row_size; i < table.group_capacity * table.row_size; i++)
    ASSERT_EQ(table.rows[i], 0) << "behind the groups";
}

TbGroupTable& raw(const GroupTable& table) { return *reinterpret_cast<TbGroupTable*>(table.header()); }

class GroupTableGrows : public ::testing::TestWithParam<std::tuple<bool, bool>> {};

TEST_P(GroupTableGrows, AndKeepsWhatBucketsName) {
  const auto [kernel, text] = GetParam();
  const Program program = grouped_program(text);
  std::mt19937_64 random(1);
  GroupGpu gpu(kernel);
  const Driver driver = gpu.context().driver_with(nullptr);
  MemoryAccount account(kEnough);
  const UniqueStream stream(gpu.context().streams(), driver);
  GroupTable table(gpu.context(), gpu.code(), driver, program, account, 100, stream.get());
  for (int growth = 0; growth < 2; growth++) {
    driver.check(driver.stream_synchronize(stream.get()));
    for (uint64_t i = 0; text && growth == 0 && i < 1000; i++) raw(table).arena[raw(table).arena_used++] = i % 251;
    const uint64_t before = raw(table).group_capacity;
    const RowsByHash named = fill(raw(table), random);
    table.grow(stream.get());
    driver.check(driver.stream_synchronize(stream.get()));
    EXPECT_EQ(raw(table).group_capacity, (kernel ? 16 : 4) * before);
    expect_groups(raw(table), named);
    EXPECT_EQ(raw(table).arena_used, text ? 1000u : 0u);
    for (uint64_t i = 0; i < raw(table).arena_used; i++) ASSERT_EQ(raw(table).arena[i], i % 251);
    EXPECT_EQ(table.finish(stream.get()), named.size());
    memset(raw(table).buckets, 0, (raw(table).bucket_mask + 1) * sizeof(uint32_t));
    raw(table).ngroups = 0;
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, GroupTableGrows, ::testing::Combine(::testing::Bool(), ::testing::Bool()));

/* The arena alone grows, and the states become texts of the result. */
TEST(GroupTable, TextsOfOneRow) {
  turbine::testing::ProgramWriter writer;
  writer.sink = TB_SINK_AGGREGATE;
  const uint32_t t = writer.column(TB_TYPE_TEXT, true);
  writer.aggregate(TB_AGG_MIN, t);
  writer.aggregate(TB_AGG_COUNT);
  writer.aggregate(TB_AGG_MAX, t);
  const Program program = Program::parse(writer.blob());
  const GroupLayout layout = group_layout(program);
  GroupGpu gpu(false);
  const Driver driver = gpu.context().driver_with(nullptr);
  MemoryAccount account(kEnough);
  const UniqueStream stream(gpu.context().streams(), driver);
  GroupTable table(gpu.context(), gpu.code(), driver, program, account, 1, stream.get());
  driver.check(driver.stream_synchronize(stream.get()));
  auto word = [&](size_t state) {
    return reinterpret_cast<uint64_t*>(raw(table).rows + layout.states[state].value_offset);
  };
  EXPECT_EQ(*word(0), TB_STATE_TEXT_NONE);
  EXPECT_EQ(*word(2), TB_STATE_TEXT_NONE);
  memcpy(raw(table).arena + 16, "least", 5);
  *word(0) = tb_state_text(16, 5);
  raw(table).rows[layout.states[0].valid_offset] = 1;
  const uint64_t before = raw(table).arena_capacity;
  raw(table).arena_used = before + 100;  // as whoever found no room leaves it
  raw(table).full = 1;
  table.grow(stream.get());
  driver.check(driver.stream_synchronize(stream.get()));
  EXPECT_EQ(raw(table).full, 0u);
  EXPECT_EQ(raw(table).ngroups, 1u);
  EXPECT_GT(raw(table).arena_capacity, before);
  EXPECT_EQ(raw(table).arena_used, before);
  ASSERT_EQ(table.finish(stream.get()), 1u);
  const GroupTable::Fetched fetched = table.fetch(0, 1, stream.get());
  TbGroupText text;
  memcpy(&text, fetched.rows + layout.states[0].value_offset, sizeof text);
  EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(fetched.arena) + text.offset, text.length), "least");
  EXPECT_EQ(fetched.rows[layout.states[2].valid_offset], 0);
  memcpy(&text, fetched.rows + layout.states[2].value_offset, sizeof text);
  EXPECT_EQ(text.offset + text.length, 0u);
}

/* For the old and the new table at a time there is none: they go through the host. */
TEST(GroupTable, LittleMemory) {
  const Program program = grouped_program(false);
  std::mt19937_64 random(2);
  GroupGpu gpu(true);
  const Driver driver = gpu.context().driver_with(nullptr);
  const GroupTableShape shape = initial_group_table(program, 100, kEnough);
  for (const uint64_t factor : {3, 4, 5, 6, 7}) {
    MemoryAccount account(factor * shape.device_bytes());
    const UniqueStream stream(gpu.context().streams(), driver);
    GroupTable table(gpu.context(), gpu.code(), driver, program, account, 100, stream.get());
    driver.check(driver.stream_synchronize(stream.get()));
    const RowsByHash named = fill(raw(table), random);
    table.grow(stream.get());
    driver.check(driver.stream_synchronize(stream.get()));
    EXPECT_EQ(raw(table).group_capacity, shape.group_capacity * (factor < 4 ? 2 : 4)) << factor;
    expect_groups(raw(table), named);
  }
}

TEST(GroupTable, EveryCallOfAGrowthFails) {
  const Program program = grouped_program(true);
  std::mt19937_64 random(3);
  uint64_t refused = 0, right = 0;
  for (const Result result : {kOutOfMemory, kIllegalAddress})
    for (uint64_t n = 1; n <= 60; n++) {
      GroupGpu gpu(true, {.most_delay_us = 0});
      const Driver driver = gpu.context().driver_with(std::make_shared<FaultInjector>(n, result));
      MemoryAccount account(kEnough);
      try {
        const UniqueStream stream(gpu.context().streams(), driver);
        GroupTable table(gpu.context(), gpu.code(), driver, program, account, 100, stream.get());
        driver.check(driver.stream_synchronize(stream.get()));
        const RowsByHash named = fill(raw(table), random);
        table.grow(stream.get());
        driver.check(driver.stream_synchronize(stream.get()));
        expect_groups(raw(table), named);
        right++;
      } catch (const DeviceError& error) {
        EXPECT_EQ(error.reason, result == kOutOfMemory ? TB_FALLBACK_DEVICE_MEMORY : TB_FALLBACK_DEVICE_LOST);
        refused++;
      }
    }
  EXPECT_GT(refused, 25u);
  EXPECT_GT(right, 25u);
}

}  // namespace
}  // namespace turbine::cuda
