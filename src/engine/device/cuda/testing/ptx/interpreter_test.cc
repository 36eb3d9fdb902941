/*
 * interpreter_test.cc - kernels of C mean on the interpreter what they mean on the host; what a GPU would refuse is
 * refused; threads that wait for each other go on.
 */
#include "engine/device/cuda/testing/ptx/interpreter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include "engine/device/cuda/testing/ptx/sample_kernels.h"

namespace turbine::ptx {
namespace {

/* A kernel `k` of one pointer, which is in %rd1; threads have their number in %r1. */
std::string kernel_text(const std::string& body, const std::string& before = "") {
  return ".version 8.0\n.target sm_70\n.address_size 64\n" + before +
         ".visible .entry k(.param .u64 k_param_0)\n{\n"
         ".reg .pred %p<20>;\n.reg .b16 %rs<20>;\n.reg .b32 %r<40>;\n.reg .b64 %rd<40>;\n.reg .f64 %fd<20>;\n"
         "ld.param.u64 %rd1, [k_param_0];\nmov.u32 %r1, %tid.x;\n" +
         body + "\nret;\n}\n";
}

/* Launches a kernel whose parameter is the words' address. */
struct Words {
  std::vector<uint32_t> words;

  LaunchCounts run(const std::string& text, uint32_t blocks, uint32_t threads, uint32_t seed = 1) {
    const Program program(text);
    const uint64_t address = reinterpret_cast<uint64_t>(words.data());
    Launch launch;
    launch.program = &program;
    launch.kernel = program.kernel("k");
    launch.blocks = blocks;
    launch.threads = threads;
    launch.parameters = &address;
    launch.memory = {{address, words.size() * sizeof(uint32_t)}};
    launch.seed = seed;
    return run_launch(launch);
  }
  /* The result of a launch that fails. */
  int fails(const std::string& text, uint32_t blocks, uint32_t threads) {
    try {
      run(text, blocks, threads);
      return 0;
    } catch (const LaunchFault& fault) {
      return fault.result;
    }
  }
};

/* Equal, or both NaN. */
bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/* %rd2: the address of the thread's own word. */
const char* const kOwnWord = "mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd2, %rd1, %rd2;\n";

TEST(PtxInterpreterTest, KernelsOfCMeanWhatTheyMeanOnTheHost) {
  std::ifstream file(TB_SAMPLE_PTX);
  const Program program(std::string{std::istreambuf_iterator<char>(file), {}});
  constexpr size_t kCount = 5000;
  std::mt19937_64 random(7);
  const int64_t edges[] = {0, 1, -1, 2, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 255, 65535, 1ll << 32};
  const auto integer = [&]() -> int64_t {
    if (random() % 4 == 0) return edges[random() % std::size(edges)];
    return static_cast<int64_t>(random() >> random() % 64);
  };
  const auto number = [&] {
    return random() % 8 == 0
               ? 0.0
               : std::ldexp(static_cast<double>(static_cast<int64_t>(random())), -14 - static_cast<int>(random() % 60));
  };
  std::vector<SampleInput> input(kCount);
  for (SampleInput& in : input) in = {integer(), integer(), number(), number(), static_cast<uint32_t>(random())};
  std::vector<SampleOutput> found(kCount), expected(kCount);
  std::memset(found.data(), 0, kCount * sizeof(SampleOutput));
  std::memset(expected.data(), 0, kCount * sizeof(SampleOutput));
  for (size_t i = 0; i < kCount; i++) sample_element(&input[i], &expected[i]);

  const SampleArguments arguments{input.data(), found.data(), kCount};
  const SampleArguments* address = &arguments;
  Launch launch;
  launch.program = &program;
  launch.kernel = program.kernel("sample_kernel");
  launch.blocks = 3;
  launch.threads = 100;  // the last warp has 4 lanes
  launch.parameters = &address;
  const auto range = [](const void* begin, uint64_t bytes) { return Range{reinterpret_cast<uint64_t>(begin), bytes}; };
  launch.memory = {range(input.data(), kCount * sizeof(SampleInput)),
                   range(found.data(), kCount * sizeof(SampleOutput)), range(&arguments, sizeof arguments)};
  std::sort(launch.memory.begin(), launch.memory.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  run_launch(launch);
  for (size_t i = 0; i < kCount; i++) {
    for (size_t k = 0; k < std::size(found[i].integers); k++)
      ASSERT_EQ(found[i].integers[k], expected[i].integers[k])
          << "row " << i << ", integer " << k << ", a " << input[i].a << ", b " << input[i].b;
    for (size_t k = 0; k < std::size(found[i].bits); k++)
      ASSERT_EQ(found[i].bits[k], expected[i].bits[k]) << "row " << i << ", bits " << k;
    for (size_t k = 0; k < std::size(found[i].floats); k++)
      ASSERT_TRUE(same(found[i].floats[k], expected[i].floats[k])) << "row " << i << ", float " << k;
    for (size_t k = 0; k < std::size(found[i].singles); k++)
      ASSERT_TRUE(same(found[i].singles[k], expected[i].singles[k])) << "row " << i << ", single " << k;
  }
}

TEST(PtxInterpreterTest, WhatIsUnknownFailsTheLoad) {
  for (const char* statement :
       {"tex.1d.v4.f32.s32 {%r1, %r2, %r3, %r4}, [%rd1, {%r1}];", "add.u128 %rd1, %rd1, %rd1;",
        "add.s64 %rd1, %rd1, %r1;", "mov.u32 %r1, %envreg3;", "add.s32 %r1, %r1;", "call (%rd2), unknown, (%rd1);"}) {
    try {
      const Program program(kernel_text(statement));
      ADD_FAILURE() << statement;
    } catch (const PtxError& error) {
      EXPECT_NE(std::string(error.what()).find(std::string(statement).substr(0, 7)), std::string::npos) << error.what();
    }
  }
}

TEST(PtxInterpreterTest, AccessOutsideOfMemoryIsAnError) {
  Words words{std::vector<uint32_t>(64)};
  EXPECT_EQ(words.fails(kernel_text(std::string(kOwnWord) + "st.global.u32 [%rd2], %r1;"), 1, 64), 0);
  EXPECT_EQ(words.words[63], 63u);
  EXPECT_EQ(words.fails(kernel_text(std::string(kOwnWord) + "st.global.u32 [%rd2], %r1;"), 1, 65), 700);
  EXPECT_EQ(words.fails(kernel_text(std::string(kOwnWord) + "ld.global.u8 %r2, [%rd2+-1];"), 1, 32), 700);
  EXPECT_EQ(words.fails(kernel_text(std::string(kOwnWord) + "ld.global.u16 %rs1, [%rd2+1];"), 1, 32), 716);
  EXPECT_EQ(words.fails(kernel_text("mov.u64 %rd3, 0;\natom.global.add.u32 %r2, [%rd3], 1;"), 1, 1), 700);
  EXPECT_EQ(words.fails(kernel_text("trap;"), 1, 1), 719);
  // A load for no lane is none.
  EXPECT_EQ(
      words.fails(kernel_text("mov.u64 %rd3, 0;\nsetp.gt.u32 %p1, %r1, 99;\n@%p1 ld.global.u32 %r2, [%rd3];"), 1, 32),
      0);
}

TEST(PtxInterpreterTest, LanesExchangeValues) {
  // The sum over a warp by shfl.down, with lanes that a condition has parted before.
  std::string body = std::string(kOwnWord) +
                     "and.b32 %r2, %r1, 1;\nsetp.eq.s32 %p1, %r2, 1;\nmov.u32 %r3, 1000;\n@%p1 bra $odd;\n"
                     "mov.u32 %r3, %r1;\nbra.uni $both;\n$odd:\nadd.s32 %r3, %r3, %r1;\n$both:\n";
  for (int distance : {16, 8, 4, 2, 1})
    body += "shfl.sync.down.b32 %r4|%p2, %r3, " + std::to_string(distance) + ", 31, -1;\n@%p2 add.s32 %r3, %r3, %r4;\n";
  body +=
      "vote.sync.ballot.b32 %r5, %p1, -1;\nand.b32 %r6, %r1, 31;\nsetp.eq.s32 %p3, %r6, 0;\n@!%p3 mov.u32 %r3, %r5;\n"
      "st.global.u32 [%rd2], %r3;";
  Words words{std::vector<uint32_t>(64)};
  words.run(kernel_text(body), 1, 64);
  EXPECT_EQ(words.words[0], 16 * 1000 + 31 * 32 / 2u);
  EXPECT_EQ(words.words[32], 16 * 1000 + 31 * 32 / 2u + 32 * 32);
  EXPECT_EQ(words.words[5], 0xaaaaaaaau);

  words.run(kernel_text(std::string(kOwnWord) + "and.b32 %r2, %r1, 3;\nmatch.any.sync.b32 %r3, %r2, -1;\n"
                                                "st.global.u32 [%rd2], %r3;"),
            1, 32);
  EXPECT_EQ(words.words[6], 0x44444444u);
}

TEST(PtxInterpreterTest, ThreadsMeetAtBarriers) {
  // Each thread writes its word of shared memory, and reads that of the thread on the other side.
  const std::string body =
      std::string(kOwnWord) +
      "mov.u64 %rd3, memory;\nmul.wide.u32 %rd4, %r1, 4;\nadd.s64 %rd5, %rd3, %rd4;\nst.shared.u32 [%rd5], %r1;\n"
      "bar.sync 0;\nsub.s64 %rd6, %rd3, %rd4;\nld.shared.u32 %r2, [%rd6+1020];\nst.global.u32 [%rd2], %r2;";
  for (uint32_t seed = 1; seed < 20; seed++) {
    Words words{std::vector<uint32_t>(256)};
    words.run(kernel_text(body, ".shared .align 4 .b8 memory[1024];\n"), 5, 256, seed);
    for (uint32_t i = 0; i < 256; i++) ASSERT_EQ(words.words[i], 255 - i);
  }
}

TEST(PtxInterpreterTest, WhoWaitsLetsOthersGoOn) {
  // All lanes of all blocks take the same lock in turn, and add 1 without an atomic.
  const std::string body =
      "$again:\natom.global.cas.b32 %r2, [%rd1], 0, 1;\nsetp.ne.s32 %p1, %r2, 0;\n@%p1 bra $again;\n"
      "ld.volatile.global.u32 %r3, [%rd1+4];\nadd.s32 %r3, %r3, 1;\nst.volatile.global.u32 [%rd1+4], %r3;\nmembar.gl;\n"
      "atom.global.exch.b32 %r4, [%rd1], 0;";
  Words words{std::vector<uint32_t>(2)};
  words.run(kernel_text(body), 6, 96);
  EXPECT_EQ(words.words[1], 6 * 96u);
}

TEST(PtxInterpreterTest, WaitingForEverIsAnError) {
  Words words{std::vector<uint32_t>(64)};
  // Half of the lanes go to a barrier of all.
  const std::string parted = "setp.lt.u32 %p1, %r1, 16;\n@%p1 bra $end;\n";
  EXPECT_EQ(words.fails(kernel_text(parted + "bar.warp.sync -1;\n$end:\nbar.sync 0;"), 1, 32), 702);
  // They may end instead.
  EXPECT_EQ(words.fails(kernel_text(parted + "bar.warp.sync -1;\nbar.sync 0;\n$end:"), 1, 32), 0);
}

TEST(PtxInterpreterTest, CarriesAndWideValues) {
  const std::string body =
      "ld.global.u64 %rd2, [%rd1];\nld.global.v2.u64 {%rd3, %rd4}, [%rd1+16];\n"
      "add.cc.s64 %rd5, %rd2, %rd3;\naddc.s64 %rd6, %rd4, 0;\nst.global.v2.u64 [%rd1+16], {%rd5, %rd6};\n"
      "mov.b64 {%r2, %r3}, %rd5;\nmov.b64 %rd7, {%r3, %r2};\nst.global.u64 [%rd1], %rd7;";
  alignas(16) uint64_t numbers[4] = {~uint64_t{0}, 0, 5, 7};
  const Program program(kernel_text(body));
  const uint64_t* address = numbers;
  Launch launch;
  launch.program = &program;
  launch.kernel = program.kernel("k");
  launch.parameters = &address;
  launch.memory = {{reinterpret_cast<uint64_t>(numbers), sizeof numbers}};
  run_launch(launch);
  EXPECT_EQ(numbers[2], 4u);
  EXPECT_EQ(numbers[3], 8u);
  EXPECT_EQ(numbers[0], uint64_t{4} << 32);
}

}  // namespace
}  // namespace turbine::ptx
