/*
 * gpu_test.cc - the CUDA device on a real GPU, with hand-written kernels.
 *
 * Skipped where there is no GPU, or no gpu_kernels.ptx: in the folder of this
 * program, or where TURBINE_GPU_KERNELS says (see testing/gpu_kernels.c).
 */
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "engine/device/cuda/find_gpus.h"
#include "engine/device/cuda/testing/query_run.h"

namespace turbine::cuda::testing {
namespace {

std::string read_kernels() {
  const char* named = std::getenv("TURBINE_GPU_KERNELS");
  std::filesystem::path path = named
                                   ? std::filesystem::path(named)
                                   : std::filesystem::read_symlink("/proc/self/exe").parent_path() / "gpu_kernels.ptx";
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class GpuTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    devices_ = find_gpus(&why);
    if (devices_.empty()) GTEST_SKIP() << why;
    kernels_ = read_kernels();
    if (kernels_.empty()) GTEST_SKIP() << "no gpu_kernels.ptx";
  }
  Device& device() { return *devices_[0]; }
  Answer run(Shape shape, std::vector<Chunk>& chunks) {
    return run_query(device(), fake_program(shape), chunks, kNoLimit, 0, artifact());
  }
  std::span<const uint8_t> artifact() const {
    return {reinterpret_cast<const uint8_t*>(kernels_.c_str()), kernels_.size() + 1};
  }

  std::vector<std::unique_ptr<Device>> devices_;
  std::string kernels_;
};

TEST_F(GpuTest, HandWrittenKernelsAgreeOnTheLayout) {
  const GroupLayout grouped = group_layout(*fake_program(Shape::GROUPED));
  EXPECT_EQ(grouped.states[0].value_offset, 8u);
  EXPECT_EQ(grouped.keys[0].value_offset, 16u);
  EXPECT_EQ(grouped.keys[0].valid_offset, 20u);
  const GroupLayout ungrouped = group_layout(*fake_program(Shape::UNGROUPED));
  EXPECT_EQ(ungrouped.states[0].value_offset, 8u);
  EXPECT_EQ(ungrouped.states[1].value_offset, 16u);
  EXPECT_EQ(ungrouped.states[1].valid_offset, 24u);
}

TEST_F(GpuTest, Rows) {
  auto pages = make_pages(2000, 1000);
  pages[170].nrows = 1;
  pages[170].values[0] = kDeferred;
  auto chunks = chunks_of(pages);
  run(Shape::ROWS, chunks);
  expect_rows(pages, chunks);
}

TEST_F(GpuTest, Ungrouped) {
  const auto pages = make_pages(2000, 1 << 20);
  auto chunks = chunks_of(pages);
  expect_ungrouped(pages, run(Shape::UNGROUPED, chunks));
}

TEST_F(GpuTest, GroupedGrows) {
  const auto pages = make_pages(4000, 1 << 24);
  auto chunks = chunks_of(pages);
  const Answer answer = run(Shape::GROUPED, chunks);
  EXPECT_EQ(answer.counts, expected_counts(pages));
  EXPECT_GE(answer.stats.table_grows, 2u);
}

class GpuJoinTest : public GpuTest, public ::testing::WithParamInterface<std::tuple<Shape, Matches>> {};

TEST_P(GpuJoinTest, RightAnswer) {
  const auto [shape, matches] = GetParam();
  const auto pages = make_pages(500, 1500);
  auto chunks = chunks_of(pages);
  const Answer answer = run_query(device(), fake_program(shape), chunks, kNoLimit, 0, artifact(), fake_tables(matches));
  expect_join(shape, answer, pages, matches, chunks);
}

INSTANTIATE_TEST_SUITE_P(Shapes, GpuJoinTest,
                         ::testing::Combine(::testing::ValuesIn(kJoinShapes),
                                            ::testing::Values(Matches::UNIQUE, Matches::SEVERAL, Matches::BURST)));

TEST_F(GpuTest, MachineCodeRuns) {
  const std::string cubin = device().machine_code(artifact());
  EXPECT_EQ(cubin.substr(1, 3), "ELF");
  const auto pages = make_pages(100, 1000);
  auto chunks = chunks_of(pages);
  run_query(device(), fake_program(Shape::ROWS), chunks, kNoLimit, 0,
            {reinterpret_cast<const uint8_t*>(cubin.data()), cubin.size()});
  expect_rows(pages, chunks);
}

TEST_F(GpuTest, VerdictOfAChunk) {
  auto pages = make_pages(200, 1000);
  pages[20].nrows = 1;
  pages[20].values[0] = kOverflowInSink;
  auto chunks = chunks_of(pages);
  run(Shape::ROWS, chunks);
  EXPECT_EQ(chunks[20 / kSlotPages].outcome.errors, TB_ERR_OVERFLOW);
  EXPECT_EQ(chunks[0].outcome.errors, 0u);
}

TEST_F(GpuTest, BadCodeIsRefused) {
  const std::string bad = ".version 8.0\n.target sm_70\n.address_size 64\nnonsense\n";
  try {
    device().load({reinterpret_cast<const uint8_t*>(bad.c_str()), bad.size() + 1}, *fake_program(Shape::ROWS));
    FAIL() << "loaded";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.reason, TB_FALLBACK_COMPILE);
    std::cout << "  message: " << error.what() << "\n";
  }
  EXPECT_EQ(device().info().usable, 1u);
}

/* Not a promise, but what to look at first where a query is slow. */
TEST_F(GpuTest, StreamingRate) {
  constexpr uint32_t kSlots = 6, kPages = 1024, kChunks = 400;
  std::vector<FakePage> memory(kSlots * kPages);
  for (FakePage& page : memory) page.nrows = 100;
  device().register_slot_memory(memory.data(), memory.size() * sizeof(FakePage));
  const auto program = fake_program(Shape::UNGROUPED);
  auto params = std::make_shared<const std::string>(turbine::testing::ParamWriter().block());
  auto query = device().start(program, params, device().load(artifact(), *program), {}, 0, kNoLimit, nullptr);
  uint32_t ids[1];
  const auto start = std::chrono::steady_clock::now();
  for (uint32_t done = 0; done < kChunks; done += kSlots) {
    Completion completion(kSlots);
    for (uint32_t slot = 0; slot < kSlots; slot++)
      query->submit({.sequence = done + slot,
                     .input = PagesInput{.pages = reinterpret_cast<uint8_t*>(&memory[slot * kPages]), .npages = kPages},
                     .ids = ids,
                     .ids_capacity = 1},
                    [&](const TaskOutcome&, std::exception_ptr error) {
                      EXPECT_FALSE(error);
                      completion.one();
                    });
    completion.wait();
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_EQ(query->finish(), 1u);
  const DeviceQueryStats stats = query->stats();
  std::cout << "  " << static_cast<double>(stats.bytes_to_device) / seconds / 1e9 << " GB/s; copying "
            << stats.transfer_us << " us, decoding " << stats.decode_us << " us, sink " << stats.compute_us << " us of "
            << static_cast<uint64_t>(seconds * 1e6) << " us\n";
  query.reset();
  device().unregister_slot_memory(memory.data());
}

/* The context is lost for the rest of the process, so it is one of its own. */
class GpuDeathTest : public GpuTest {
 protected:
  void fault() {
    auto pages = make_pages(200, 1000);
    pages[100].nrows = 1;
    pages[100].values[0] = kFaultInSink;
    auto chunks = chunks_of(pages);
    EXPECT_THROW(run(Shape::ROWS, chunks), DeviceError);
    EXPECT_EQ(device().info().usable, 0u);
    EXPECT_THROW(device().load(artifact(), *fake_program(Shape::ROWS)), DeviceError);
  }
  [[noreturn]] void fault_and_exit() {
    fault();
    std::cerr << "message: " << device().info().message << "\n";
    std::_Exit(HasFailure() ? 1 : 0);
  }
};

/* TURBINE_FAULT_HERE: a sanitizer, to which the process is to look like any other. */
TEST_F(GpuDeathTest, AFaultQuarantinesTheDevice) {
  if (getenv("TURBINE_FAULT_HERE") != nullptr) return fault();
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(fault_and_exit(), ::testing::ExitedWithCode(0), "message: .*ADDRESS");
}

}  // namespace
}  // namespace turbine::cuda::testing
