/*
 * code_cache_test.cc - from program to code in memory, on disk and by the
 * compiler, and what each failure leaves behind.
 */
#include "engine/code/code_cache.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "engine/program/testing/program_writer.h"
#include "engine/testing/hand_written_programs.h"

namespace turbine {
namespace {

namespace fs = std::filesystem;

struct FakeCode final : LoadedCode {
  explicit FakeCode(std::string bytes) : bytes(std::move(bytes)) {}
  void improve(std::span<const uint8_t> artifact) override { bytes.assign(artifact.begin(), artifact.end()); }
  std::string bytes;
};

/* Loads anything but what begins with "unloadable". */
class FakeDevice final : public Device {
 public:
  std::string cpu_name = "cpu";
  bool quick = false;
  std::atomic<int> loads{0};

  TbDeviceInfo info() const override { return {}; }
  TbTarget target() const override { return TB_TARGET_HOST; }
  std::string cpu() const override { return cpu_name; }
  std::string features() const override { return ""; }
  bool runs_quick_code() const override { return quick; }
  ChunkShape chunk_shape(uint64_t, bool) const override { return {1, 1}; }
  std::shared_ptr<LoadedCode> load(std::span<const uint8_t> artifact, const Program&) override {
    loads++;
    std::string bytes(artifact.begin(), artifact.end());
    if (bytes.rfind("unloadable", 0) == 0) throw DeviceError(TB_FALLBACK_COMPILE, "unloadable");
    return std::make_shared<FakeCode>(std::move(bytes));
  }
  std::string machine_code(std::span<const uint8_t> artifact) override { return {artifact.begin(), artifact.end()}; }
  void register_slot_memory(void*, uint64_t) override {}
  void unregister_slot_memory(void*) override {}
  QueryNeeds needs(const Program&, double, uint32_t, uint32_t) const override { return {0}; }
  std::unique_ptr<DeviceQuery> start(std::shared_ptr<const Program>, std::shared_ptr<const std::string>,
                                     std::shared_ptr<LoadedCode>, JoinTables, double, uint64_t,
                                     QueryProfile*) override {
    return nullptr;
  }
};

class CodeCacheTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/turbine-code-cache-XXXXXX";
    directory_ = mkdtemp(name);
    set_artifact("machine code");
  }
  void TearDown() override {
    unsetenv("TURBINE_TEST_COMPILER");
    fs::remove_all(directory_);
  }
  void set_artifact(const std::string& bytes) {
    std::ofstream(directory_ + "/artifact", std::ios::binary) << bytes;
    setenv("TURBINE_TEST_COMPILER", ("artifact:" + directory_ + "/artifact").c_str(), 1);
  }
  void set_script(const std::string& kind) {
    setenv("TURBINE_TEST_COMPILER", (kind + directory_ + "/artifact").c_str(), 1);
  }
  std::string cache_directory() const { return directory_ + "/cache"; }

  /* A fresh cache over the same directory, as after a restart. */
  struct Instance {
    CompilerClient compiler{TB_TEST_COMPILER, 5};
    CodeStore store;
    CodeCache cache;
    Instance(const std::string& directory, uint64_t max_bytes, size_t max_loaded, const std::string& tag = "")
        : store(directory, max_bytes), cache(compiler, store, tag, max_loaded) {}
  };
  std::unique_ptr<Instance> open(uint64_t max_bytes = 1 << 20, size_t max_loaded = 8, const std::string& tag = "") {
    return std::make_unique<Instance>(cache_directory(), max_bytes, max_loaded, tag);
  }
  static Program program(uint32_t number) {
    testing::ProgramWriter blob = testing::rows_program();
    blob.exprs[0].cost = number;
    return Program::parse(blob.blob());
  }
  std::vector<fs::path> files() const {
    std::vector<fs::path> result;
    for (const auto& entry : fs::directory_iterator(cache_directory())) result.push_back(entry.path());
    return result;
  }

  std::string directory_;
  FakeDevice device_;
};

using Source = CodeCache::Source;

TEST_F(CodeCacheTest, CompiledThenMemoryThenDisk) {
  auto first = open();
  EXPECT_EQ(first->cache.get(device_, program(1), {}).source, Source::kCompiled);
  const auto hit = first->cache.get(device_, program(1), {});
  EXPECT_EQ(hit.source, Source::kMemory);
  EXPECT_EQ(static_cast<FakeCode&>(*hit.code).bytes, "machine code");
  auto second = open();
  EXPECT_EQ(second->cache.get(device_, program(1), {}).source, Source::kDisk);
  EXPECT_EQ(second->cache.get(device_, program(2), {}).source, Source::kCompiled);
  EXPECT_EQ(second->cache.counters().compiled, 1u);
  EXPECT_EQ(second->cache.counters().disk_hits, 1u);
}

constexpr CodeDemand kFewRows{false, 10}, kManyRows{false, 1e9}, kFull{true, 10};

/* What the code says that it is. */
std::string text(const CodeCache::Result& result) { return static_cast<FakeCode&>(*result.code).bytes; }

TEST_F(CodeCacheTest, QuickCodeFirstThenFullCode) {
  set_script("effort:");
  device_.quick = true;
  auto first = open();
  const auto quick = first->cache.get(device_, program(1), {}, kFewRows);
  EXPECT_EQ(text(quick), "machine code quick");
  EXPECT_FALSE(quick.improve);
  EXPECT_TRUE(first->cache.get(device_, program(1), {}, kManyRows).improve);
  EXPECT_FALSE(first->cache.get(device_, program(1), {}, kManyRows).improve) << "somebody does it already";
  first->cache.improve(device_, program(1));
  EXPECT_EQ(text(quick), "machine code full") << "those who hold it have it";
  EXPECT_EQ(files().size(), 1u);
  const auto stored = open()->cache.get(device_, program(1), {}, kManyRows);
  EXPECT_EQ(stored.source, Source::kDisk);
  EXPECT_EQ(text(stored), "machine code full");
  EXPECT_FALSE(stored.improve);
}

TEST_F(CodeCacheTest, QuickCodeIsStoredAndManySmallQueriesAreManyRows) {
  set_script("effort:");
  device_.quick = true;
  open()->cache.get(device_, program(1), {}, kFewRows);
  auto second = open();
  EXPECT_EQ(second->cache.get(device_, program(1), {}, kFewRows).source, Source::kDisk);
  int queries = 0;
  while (!second->cache.get(device_, program(1), {}, {false, 1000}).improve) ASSERT_LT(queries++, 100000);
  EXPECT_GT(queries, 10);
}

TEST_F(CodeCacheTest, FullCodeWhereItIsDemanded) {
  set_script("effort:");
  device_.quick = true;
  auto instance = open();
  EXPECT_EQ(text(instance->cache.get(device_, program(1), {}, kFull)), "machine code full");
  instance->cache.get(device_, program(2), {}, kFewRows);
  EXPECT_EQ(text(instance->cache.get(device_, program(2), {}, kFull)), "machine code full");
  device_.quick = false;
  EXPECT_EQ(text(open()->cache.get(device_, program(3), {}, kFewRows)), "machine code full");
}

TEST_F(CodeCacheTest, WhatCannotBeImprovedStaysQuick) {
  set_script("effort:");
  device_.quick = true;
  auto instance = open();
  EXPECT_TRUE(instance->cache.get(device_, program(1), {}, kManyRows).improve);
  instance->compiler.stop();
  for (int failures = 1; failures < 3; failures++) {
    instance->cache.improve(device_, program(1));
    EXPECT_FALSE(instance->cache.get(device_, program(1), {}, kFewRows).improve);
    EXPECT_TRUE(instance->cache.get(device_, program(1), {}, kManyRows).improve) << failures;
  }
  instance->cache.improve(device_, program(1));
  const auto code = instance->cache.get(device_, program(1), {}, kManyRows);
  EXPECT_EQ(text(code), "machine code quick");
  EXPECT_FALSE(code.improve) << "not tried again and again";
}

TEST_F(CodeCacheTest, KeysTellProcessorsApart) {
  open()->cache.get(device_, program(1), {});
  EXPECT_EQ(open(1 << 20, 8, "another host")->cache.get(device_, program(1), {}).source, Source::kCompiled);
  device_.cpu_name = "another cpu";
  EXPECT_EQ(open()->cache.get(device_, program(1), {}).source, Source::kCompiled);
}

TEST_F(CodeCacheTest, OneCompilationForConcurrentRequests) {
  auto instance = open();
  std::vector<std::thread> threads;
  std::atomic<int> compiled{0};
  for (int i = 0; i < 16; i++)
    threads.emplace_back([&] {
      if (instance->cache.get(device_, program(3), {}).source == Source::kCompiled) compiled++;
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(compiled, 1);
  EXPECT_EQ(device_.loads, 1);
}

TEST_F(CodeCacheTest, DamagedFilesAreMissesAndGo) {
  open()->cache.get(device_, program(1), {});
  ASSERT_EQ(files().size(), 1u);
  const fs::path file = files()[0];
  const auto size = fs::file_size(file);
  for (uint64_t at : {uint64_t{0}, uint64_t{9}, uint64_t{40}, uint64_t{size - 1}}) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    stream.seekg(static_cast<long>(at));
    const char byte = static_cast<char>(stream.get() ^ 0x10);
    stream.seekp(static_cast<long>(at));
    stream.put(byte);
    stream.close();
    EXPECT_EQ(open()->cache.get(device_, program(1), {}).source, Source::kCompiled) << at;
    EXPECT_EQ(open()->cache.get(device_, program(1), {}).source, Source::kDisk) << at;
  }
  fs::resize_file(file, size - 1);
  EXPECT_EQ(open()->cache.get(device_, program(1), {}).source, Source::kCompiled);
  fs::resize_file(file, 5);
  EXPECT_EQ(open()->cache.get(device_, program(1), {}).source, Source::kCompiled);
}

TEST_F(CodeCacheTest, FilesThatOthersMayWriteAreNotTrusted) {
  open()->cache.get(device_, program(1), {});
  ASSERT_EQ(chmod(files()[0].c_str(), 0666), 0);
  EXPECT_EQ(open()->cache.get(device_, program(1), {}).source, Source::kCompiled);
}

TEST_F(CodeCacheTest, CodeThatDoesNotLoadAnyMoreIsCompiledAgain) {
  CompilerClient compiler(TB_TEST_COMPILER, 5);
  set_artifact("unloadable");
  EXPECT_THROW(open()->cache.get(device_, program(1), {}), DeviceError);
  EXPECT_TRUE(files().empty()) << "what does not load is not kept";
  set_artifact("loadable");
  EXPECT_EQ(open()->cache.get(device_, program(1), {}).source, Source::kCompiled);
}

TEST_F(CodeCacheTest, DiskSizeIsBounded) {
  set_artifact(std::string(100000, 'x'));
  auto instance = open(350000);
  for (uint32_t i = 0; i < 10; i++) instance->cache.get(device_, program(i), {});
  EXPECT_LE(files().size(), 3u);
  EXPECT_GE(files().size(), 2u);
  EXPECT_EQ(open(350000)->cache.get(device_, program(9), {}).source, Source::kDisk) << "the newest stays";
}

TEST_F(CodeCacheTest, MemoryIsBoundedAndEvictedCodeLivesOnWithItsUsers) {
  auto instance = open(1 << 20, 2);
  const auto held = instance->cache.get(device_, program(1), {});
  instance->cache.get(device_, program(2), {});
  instance->cache.get(device_, program(3), {});
  EXPECT_EQ(instance->cache.get(device_, program(3), {}).source, Source::kMemory);
  EXPECT_EQ(instance->cache.get(device_, program(1), {}).source, Source::kDisk);
  EXPECT_EQ(static_cast<FakeCode&>(*held.code).bytes, "machine code");
}

TEST_F(CodeCacheTest, CompilerFailuresAreReportedAndNotKept) {
  setenv("TURBINE_TEST_COMPILER", "fail:no such luck", 1);
  auto instance = open();
  try {
    instance->cache.get(device_, program(1), {});
    FAIL();
  } catch (const DeviceError& e) {
    EXPECT_EQ(e.reason, TB_FALLBACK_COMPILE);
    EXPECT_NE(std::string(e.what()).find("no such luck"), std::string::npos);
  }
  set_artifact("fixed");
  EXPECT_EQ(open()->cache.get(device_, program(1), {}).source, Source::kCompiled);
}

TEST_F(CodeCacheTest, CrashesOfTheCompilerCostOneRequest) {
  setenv("TURBINE_TEST_COMPILER", "crash", 1);
  auto crashing = open();
  EXPECT_THROW(crashing->cache.get(device_, program(1), {}), DeviceError);
  setenv("TURBINE_TEST_COMPILER", "die", 1);
  auto dying = open();
  EXPECT_THROW(dying->cache.get(device_, program(1), {}), DeviceError);
  // The zygote is gone; the next request starts another.
  set_artifact("alive");
  EXPECT_EQ(dying->cache.get(device_, program(1), {}).source, Source::kCompiled);
}

TEST_F(CodeCacheTest, AZygoteThatDiesOnARequestIsReplacedForIt) {
  setenv("TURBINE_TEST_COMPILER", ("die-once:" + directory_ + "/artifact").c_str(), 1);
  EXPECT_EQ(open()->cache.get(device_, program(1), {}).source, Source::kCompiled);
}

/* The seconds that a compilation takes, which fails. */
double seconds_to_fail(CodeCache& cache, Device& device, const Program& program) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THROW(cache.get(device, program, {}), DeviceError);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST_F(CodeCacheTest, ACompilerWithoutProgressIsReplaced) {
  set_script("stuck:");
  auto instance = open();
  EXPECT_LT(seconds_to_fail(instance->cache, device_, program(1)), 4.0);
  set_artifact("alive");
  EXPECT_EQ(instance->cache.get(device_, program(1), {}).source, Source::kCompiled);
}

/* A zygote that was stopped forks nobody. */
TEST_F(CodeCacheTest, AStoppedZygoteIsReplaced) {
  set_script("stopped:");
  auto instance = open();
  EXPECT_LT(seconds_to_fail(instance->cache, device_, program(1)), 4.0);
  set_artifact("alive");
  EXPECT_EQ(instance->cache.get(device_, program(1), {}).source, Source::kCompiled);
}

/* Four seconds of work, longer than a standstill may last. */
TEST_F(CodeCacheTest, ACompilerThatIsSlowIsWaitedFor) {
  set_script("busy:");
  EXPECT_EQ(open()->cache.get(device_, program(1), {}).source, Source::kCompiled);
}

/* Milliseconds until the query is told that its code is not there. */
double ms_to_give_up(CodeCache& cache, Device& device, const Program& program, int wait_ms) {
  CodeDemand demand;
  demand.wait = std::chrono::milliseconds(wait_ms);
  const auto start = std::chrono::steady_clock::now();
  try {
    cache.get(device, program, {}, demand);
    ADD_FAILURE() << "has code";
  } catch (const DeviceError& e) {
    EXPECT_EQ(e.reason, TB_FALLBACK_COMPILE);
  }
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

TEST_F(CodeCacheTest, AQueryStopsWaitingAndTheCompilationGoesOn) {
  set_script("busy:");
  auto instance = open();
  EXPECT_LT(ms_to_give_up(instance->cache, device_, program(1), 150), 2000);
  EXPECT_LT(ms_to_give_up(instance->cache, device_, program(1), 150), 2000) << "it waits for another's";
  EXPECT_EQ(instance->cache.get(device_, program(1), {}).source, Source::kMemory);
  EXPECT_EQ(instance->cache.counters().compiled, 1u);
}

TEST_F(CodeCacheTest, CodeThatIsThereInTimeIsWaitedFor) {
  CodeDemand demand;
  demand.wait = std::chrono::seconds(30);
  EXPECT_EQ(open()->cache.get(device_, program(1), {}, demand).source, Source::kCompiled);
  EXPECT_EQ(open()->cache.get(device_, program(1), {}, demand).source, Source::kDisk);
  setenv("TURBINE_TEST_COMPILER", "fail:no such luck", 1);
  EXPECT_THROW(open()->cache.get(device_, program(2), {}, demand), DeviceError);
}

/* What will certainly take longer is not waited for at all, unless it was compiled before. */
TEST_F(CodeCacheTest, CodeThatIsExpectedLateIsNotWaitedFor) {
  testing::ProgramWriter blob = testing::rows_program();
  while (blob.exprs.size() < TB_MAX_EXPRS) blob.exprs.push_back(blob.exprs[0]);
  const Program large = Program::parse(blob.blob());
  set_script("busy:");
  auto instance = open();
  EXPECT_LT(ms_to_give_up(instance->cache, device_, large, 1500), 1000);
  EXPECT_EQ(instance->cache.get(device_, large, {}).source, Source::kMemory);
  CodeDemand demand;
  demand.wait = std::chrono::milliseconds(1500);
  EXPECT_EQ(open()->cache.get(device_, large, {}, demand).source, Source::kDisk);
}

TEST_F(CodeCacheTest, NoCompilerIsAnError) {
  CompilerClient compiler(directory_ + "/absent", 5);
  CodeStore store("", 0);
  CodeCache cache(compiler, store, "", 4);
  EXPECT_THROW(cache.get(device_, program(1), {}), DeviceError);
}

TEST_F(CodeCacheTest, WaitingIsCancelled) {
  setenv("TURBINE_TEST_COMPILER", "crash", 1);
  CompilerClient compiler(TB_TEST_COMPILER, 5);
  EXPECT_THROW(compiler.compile(program(1).blob(), TB_TARGET_HOST, "", "", TB_EFFORT_FULL, [] { return true; }),
               CompileError);
}

}  // namespace
}  // namespace turbine
