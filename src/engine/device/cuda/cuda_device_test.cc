/*
 * cuda_device_test.cc - probing, loading, memory pool, slot memory and row id order
 * without a GPU.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "engine/device/cuda/cuda_context.h"
#include "engine/device/cuda/cuda_device.h"
#include "engine/device/cuda/driver/driver_functions.h"
#include "engine/device/cuda/find_gpus.h"
#include "engine/device/cuda/query/row_id_order.h"
#include "engine/device/cuda/testing/fake_kernels.h"
#include "engine/topology/testing/sysfs_tree.h"
#include "engine/topology/topology_report.h"

namespace turbine::cuda::testing {
namespace {

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

void expect_clean(const FakeDriver& fake) {
  EXPECT_EQ(fake.leaks(), std::vector<std::string>());
  EXPECT_EQ(fake.misuse(), std::vector<std::string>());
}

TEST(Probe, NoDriverIsNoError) {
  std::string why;
  const DriverFunctions* table = load_driver(&why);
  if (table) GTEST_SKIP() << "this machine has a CUDA driver";
  EXPECT_TRUE(find_gpus(&why).empty());
  EXPECT_NE(why.find("libcuda.so.1"), std::string::npos) << why;
}

TEST(Probe, NoDevice) {
  FakeDriver fake({.devices = 0});
  std::string why;
  EXPECT_TRUE(find_gpus(fake.table(), &why, 0).empty());
  EXPECT_EQ(why, "the driver sees no GPU");
}

TEST(Probe, DriverTooOld) {
  FakeDriver fake({.driver_version = 11080});
  std::string why;
  EXPECT_TRUE(find_gpus(fake.table(), &why, 0).empty());
  EXPECT_EQ(why, "the driver's CUDA version is 11.8, needed is 12.0");
}

TEST(Probe, GpuTooOld) {
  FakeDriver fake({.major = 6, .minor = 1});
  std::string why;
  EXPECT_TRUE(find_gpus(fake.table(), &why, 0).empty());
  EXPECT_NE(why.find("older than compute capability 7.0"), std::string::npos) << why;
  expect_clean(fake);
}

TEST(Probe, EveryCallFails) {
  for (int nth = 1; nth < 20; nth++) {
    FakeDriver fake;
    setenv("TURBINE_FAULT", (std::to_string(nth) + ":999").c_str(), 1);
    std::string why;
    auto devices = find_gpus(fake.table(), &why, 0);
    unsetenv("TURBINE_FAULT");
    EXPECT_TRUE(!devices.empty() || !why.empty());
    if (nth == 1) {
      EXPECT_TRUE(devices.empty());
    }
    devices.clear();
    expect_clean(fake);
  }
}

TEST(Probe, SeveralDevices) {
  FakeDriver fake({.devices = 3});
  std::string why;
  auto devices = find_gpus(fake.table(), &why, 0);
  ASSERT_EQ(devices.size(), 3u);
  EXPECT_EQ(devices[0]->cpu(), "sm_90");
  EXPECT_STREQ(devices[2]->info().name, "Fake GPU");
  EXPECT_EQ(devices[1]->info().kind, 1u);
  devices.clear();
  expect_clean(fake);
}

TEST(Probe, WhereAndWhatTheyAre) {
  SysfsTree tree(
      "node 0 10 21\nnode 1 21 10\npci pci0000:00/0000:00:01.0/0000:17:00.0 0\n"
      "pci pci0000:80/0000:80:01.0/0000:ca:00.0 1\n");
  setenv("TURBINE_SYSFS", tree.root().c_str(), 1);
  // The second one's address is as some drivers write it; the third one's is not known.
  FakeDriver fake({.devices = 3, .pci_addresses = {"0000:17:00.0", "00000000:CA:00.0"}});
  std::string why;
  auto devices = find_gpus(fake.table(), &why, 0);
  unsetenv("TURBINE_SYSFS");
  ASSERT_EQ(devices.size(), 3u) << "what only people read is no reason to leave a GPU out";
  const TbDeviceInfo first = devices[0]->info(), second = devices[1]->info(), third = devices[2]->info();
  EXPECT_STREQ(first.pci_address, "0000:17:00.0");
  EXPECT_EQ(first.numa_node, 0);
  EXPECT_STREQ(second.pci_address, "0000:ca:00.0");
  EXPECT_EQ(second.numa_node, 1);
  EXPECT_STREQ(third.pci_address, "");
  EXPECT_EQ(third.numa_node, -1);
  EXPECT_EQ(first.clock_mhz, 1980u);
  EXPECT_EQ(first.l2_bytes, uint64_t{50} << 20);
  EXPECT_EQ(describe_gpu(1, second).substr(0, 58), "GPU1: Fake GPU, 4 multiprocessors, 1980 MHz, L2 50 MB, mem");
  EXPECT_NE(describe_gpu(1, second).find("compute capability 9.0, PCI 0000:ca:00.0, NUMA node 1"), std::string::npos);
  EXPECT_NE(describe_gpu(2, third).find("PCI address not known, NUMA node not known"), std::string::npos);
  devices.clear();
  expect_clean(fake);
}

TEST(Probe, NewerGpuRunsTheNewestKnownCode) {
  EXPECT_EQ(target_capability(12, 0), 90);
  EXPECT_EQ(target_capability(8, 6), 86);
}

TEST(Code, MachineCodeAndErrors) {
  FakeDriver fake;
  const auto program = fake_program(Shape::ROWS);
  set_fake_kernels(fake, *program);
  std::string why;
  auto devices = find_gpus(fake.table(), &why, 0);
  ASSERT_EQ(devices.size(), 1u);
  const std::string cubin = devices[0]->machine_code(bytes_of("// ptx"));
  EXPECT_EQ(cubin.substr(1, 3), "ELF");
  EXPECT_EQ(devices[0]->machine_code(bytes_of(cubin)), cubin);
  EXPECT_NO_THROW(devices[0]->load(bytes_of(cubin), *program));
  for (auto use : {+[](Device& device, const Program&) { device.machine_code(bytes_of("bad")); },
                   +[](Device& device, const Program& program) { device.load(bytes_of("bad"), program); }}) {
    try {
      use(*devices[0], *program);
      ADD_FAILURE() << "bad code was taken";
    } catch (const DeviceError& error) {
      EXPECT_EQ(error.reason, TB_FALLBACK_COMPILE);
    }
  }
  EXPECT_EQ(devices[0]->info().usable, 1u);
  devices.clear();
  expect_clean(fake);
}

TEST(Code, OutlivesItsDevice) {
  FakeDriver fake;
  const auto program = fake_program(Shape::ROWS);
  set_fake_kernels(fake, *program);
  std::string why;
  auto devices = find_gpus(fake.table(), &why, 0);
  std::shared_ptr<LoadedCode> code = devices.at(0)->load(bytes_of("// ptx"), *program);
  devices.clear();
  code.reset();
  expect_clean(fake);
}

TEST(SlotMemory, PinnedOnceAndGivenBack) {
  FakeDriver fake;
  std::string why;
  auto devices = find_gpus(fake.table(), &why, 0);
  std::vector<uint8_t> memory(1 << 16), other(1 << 16);
  devices.at(0)->register_slot_memory(memory.data(), memory.size());
  devices.at(0)->register_slot_memory(memory.data(), memory.size());
  devices.at(0)->register_slot_memory(other.data(), other.size());
  devices.at(0)->unregister_slot_memory(memory.data());
  devices.at(0)->unregister_slot_memory(memory.data());
  devices.clear();  // with `other` still pinned
  expect_clean(fake);
}

TEST(SlotMemory, FailureToPinIsNoError) {
  FakeDriver fake;
  std::string why;
  auto devices = find_gpus(fake.table(), &why, 0);
  std::vector<uint8_t> memory(1 << 16);
  fake.table().mem_host_register(memory.data(), memory.size(), 0);  // somebody else's
  devices.at(0)->register_slot_memory(memory.data(), memory.size());
  devices.at(0)->unregister_slot_memory(memory.data());
  fake.table().mem_host_unregister(memory.data());
  devices.clear();
  expect_clean(fake);
}

TEST(ChunkShape, GrowsWithTheRelation) {
  FakeDriver fake;
  std::string why;
  auto devices = find_gpus(fake.table(), &why, 0);
  uint32_t last = 0;
  for (uint64_t nblocks : {0ull, 1ull, 500ull, 5000ull, 50000ull, 500000ull, 1ull << 32}) {
    const Device::ChunkShape shape = devices.at(0)->chunk_shape(nblocks, false);
    EXPECT_GE(shape.slot_pages, std::max(last, 64u));
    EXPECT_LE(shape.slot_pages, 2048u);
    EXPECT_GE(shape.nslots, 2u);
    EXPECT_LE(shape.nslots, 8u);
    last = shape.slot_pages;
  }
}

class PoolTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fake_ = std::make_unique<FakeDriver>(FakeOptions{.memory = 64 << 20});
    context_ = std::make_unique<CudaContext>(fake_->table(), 0, 13000, uint64_t{32} << 20);
  }
  void TearDown() override {
    context_.reset();
    expect_clean(*fake_);
  }
  Block take(uint64_t bytes, MemoryAccount* account = nullptr) {
    return context_->device_memory().allocate(context_->driver(), bytes, account);
  }
  std::unique_ptr<FakeDriver> fake_;
  std::unique_ptr<CudaContext> context_;
};

TEST_F(PoolTest, ReusesBlocks) {
  const DevicePtr first = take(1 << 20).device();
  EXPECT_EQ(take(1 << 20).device(), first);
  EXPECT_EQ(fake_->device_bytes(), 1u << 20);
}

TEST_F(PoolTest, KeepsItsBudget) {
  Block block = take(20 << 20);
  EXPECT_THROW(take(16 << 20), DeviceError);
  block.reset();
  Block large = take(28 << 20);  // the cached 20 MB must go for this
  EXPECT_LE(fake_->device_bytes(), 32u << 20);
}

TEST_F(PoolTest, ChargesAccounts) {
  MemoryAccount account(3 << 20);
  Block one = take(1 << 20, &account), two = take(1 << 20, &account);
  EXPECT_THROW(take(2 << 20, &account), DeviceError);
  two = Block();
  EXPECT_EQ(account.available(), 2u << 20);
  EXPECT_NO_THROW(take(2 << 20, &account));
  EXPECT_THROW(take(UINT64_MAX - 5, &account), DeviceError);
}

TEST_F(PoolTest, RoundsByAtMostAQuarter) {
  for (uint64_t bytes = 513; bytes < (uint64_t{1} << 40); bytes = bytes * 9 / 8 + 1) {
    const uint64_t rounded = MemoryPool::rounded(bytes);
    EXPECT_GE(rounded, bytes);
    if (bytes > 4096) {
      EXPECT_LE(rounded - bytes, bytes / 4 + 1);
    }
    EXPECT_EQ(MemoryPool::rounded(rounded), rounded);
  }
}

TEST(RowIdOrder, SortsAnyDensity) {
  std::mt19937 random(7);
  for (uint32_t npages : {1u, 16u, 2048u}) {
    for (uint32_t keep_one_in : {1u, 2u, 50u, 10000u}) {
      std::vector<uint32_t> expected;
      for (uint32_t page = 0; page < npages; page++)
        for (uint32_t offnum = 1; offnum <= TB_MAX_TUPLES_PER_PAGE; offnum++)
          if (random() % keep_one_in == 0) expected.push_back(TB_ROWID(page, offnum));
      std::vector<uint32_t> ids = expected;
      std::shuffle(ids.begin(), ids.end(), random);
      EXPECT_TRUE(sort_page_row_ids(ids, npages));
      EXPECT_EQ(ids, expected);
    }
  }
}

TEST(RowIdOrder, RefusesWhatCannotBe) {
  for (std::vector<uint32_t> ids :
       {std::vector<uint32_t>{TB_ROWID(4, 1)}, {TB_ROWID(0, 0)}, {TB_ROWID(0, 292)}, {TB_ROWID(1, 1), TB_ROWID(1, 1)}})
    EXPECT_FALSE(sort_page_row_ids(ids, 4));
  std::vector<uint32_t> many(4 * TB_MAX_TUPLES_PER_PAGE, TB_ROWID(0, 1));
  EXPECT_FALSE(sort_page_row_ids(many, 4));
  std::vector<uint32_t> rows{5, 1};
  EXPECT_FALSE(sort_row_numbers(rows, 5));
  EXPECT_TRUE(sort_row_numbers(rows, 6));
  EXPECT_EQ(rows, (std::vector<uint32_t>{1, 5}));
}

}  // namespace
}  // namespace turbine::cuda::testing
