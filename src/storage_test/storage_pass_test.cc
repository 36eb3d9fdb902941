/* storage_pass_test.cc - a pass reads every byte once, counts where they came from, and says what went wrong. */
#include "storage_test/storage_pass.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "storage_test/read_engine.h"
#include "storage_test/test_options.h"
#include "storage_test/test_report.h"

namespace turbine {
namespace {

const auto kSilent = [](uint64_t, uint64_t) {};

class StoragePassTest : public ::testing::Test {
 protected:
  StoragePassTest() {
    char name[] = "/var/tmp/storage_pass_XXXXXX";
    const int fd = mkstemp(name);
    path_ = name;
    std::vector<uint8_t> bytes(kBytes);
    for (size_t i = 0; i < bytes.size(); i++) bytes[i] = static_cast<uint8_t>(i * 31 >> 8);
    EXPECT_EQ(write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
    fdatasync(fd);
    close(fd);
  }
  ~StoragePassTest() override { unlink(path_.c_str()); }
  PassResult run(PassOptions options) { return run_pass({find_tested_file(path_)}, options, nullptr, kSilent); }

  void returns_what_the_file_has(std::unique_ptr<ReadEngine> engine) const {
    const int fd = open(path_.c_str(), O_RDONLY);
    std::vector<std::vector<uint8_t>> memory(3, std::vector<uint8_t>(8192));
    for (uint32_t tag = 0; tag < 3; tag++) engine->submit(fd, 8192 * tag, 8192, memory[tag].data(), tag);
    std::set<uint32_t> tags;
    for (int i = 0; i < 3; i++) {
      const ReadEngine::Ended ended = engine->wait();
      EXPECT_EQ(ended.result, 8192);
      tags.insert(ended.tag);
    }
    EXPECT_EQ(tags.size(), 3u);
    for (size_t tag = 0; tag < 3; tag++)
      for (size_t i = 0; i < 8192; i++) ASSERT_EQ(memory[tag][i], static_cast<uint8_t>((8192 * tag + i) * 31 >> 8));
    engine->submit(fd, kBytes - 100, 8192, memory[0].data(), 7);
    EXPECT_EQ(engine->wait().result, 100);
    engine->submit(-1, 0, 8192, memory[0].data(), 7);
    EXPECT_EQ(engine->wait().result, -EBADF);
    close(fd);
  }

  static constexpr size_t kBytes = (8 << 20) + 5000;  // its end is no whole block
  std::string path_;
};

TEST_F(StoragePassTest, ReadsEveryByteOnce) {
  for (const StorageWay way : {StorageWay::kPageCache, StorageWay::kDirect})
    for (const uint32_t threads : {1u, 3u}) {
      const PassResult result = run({.way = way, .request_bytes = 256 << 10, .depth = 4, .threads = threads});
      if (result.error.find("O_DIRECT") != std::string::npos) continue;
      EXPECT_EQ(result.error, "");
      EXPECT_EQ(result.bytes, kBytes);
      EXPECT_EQ(result.requests, 33u);
      EXPECT_EQ(result.drive_bytes + result.cached_bytes, result.bytes);
      if (way == StorageWay::kPageCache) {
        EXPECT_LT(result.drive_bytes, kBytes / 2) << "it has just been written";
      } else {
        EXPECT_GT(result.drive_bytes, kBytes / 2);
      }
    }
}

TEST_F(StoragePassTest, TheFilesAreOne) {
  const PassResult result = run_pass({find_tested_file(path_), find_tested_file(path_)},
                                     {.way = StorageWay::kPageCache, .request_bytes = 1 << 20}, nullptr, kSilent);
  EXPECT_EQ(result.bytes, 2 * kBytes);
}

TEST_F(StoragePassTest, EndsAtALimit) {
  EXPECT_EQ(run({.way = StorageWay::kPageCache, .request_bytes = 4096, .most_bytes = 10000}).bytes, 10000u);
  const PassResult none = run({.way = StorageWay::kPageCache, .request_bytes = 4096, .most_seconds = 0});
  EXPECT_EQ(none.bytes, 0u);
  EXPECT_EQ(none.error, "");
}

TEST_F(StoragePassTest, SaysWhatWentWrong) {
  EXPECT_THROW(find_tested_file("/nonexistent"), std::runtime_error);
  EXPECT_THROW(find_tested_file("/tmp"), std::runtime_error);
  EXPECT_EQ(run({.way = StorageWay::kGpu}).error, "there is no GPU");
  TestedFile longer = find_tested_file(path_);
  longer.bytes += 1 << 20;
  EXPECT_EQ(run_pass({longer}, {.way = StorageWay::kPageCache}, nullptr, kSilent).error,
            "the file is shorter than it was");
}

TEST_F(StoragePassTest, EnginesReturnWhatTheFileHas) {
  returns_what_the_file_has(make_pread_engine(3));
  // Containers may forbid it.
  if (auto ring = make_ring_engine()) returns_what_the_file_has(std::move(ring));
}

TEST(TestReportTest, SaysWhichPathQueriesTake) {
  TestReport report;
  report.files = {{"a", 600, "", {}, 0}, {"b", 400, "", {}, 0}};
  report.memory = 1000;
  const std::vector<std::string> lines = report.verdict();
  ASSERT_GE(lines.size(), 2u);
  EXPECT_NE(lines[0].find("past the page cache"), std::string::npos) << lines[0];
  EXPECT_NE(lines[1].find("through the page cache"), std::string::npos) << lines[1];
}

TEST(TestOptionsTest, AreChecked) {
  const TestOptions options = parse_test_options(
      {"--sizes", "8kB,1MB", "--ways=direct,gpu", "--threads", "2", "--json", "a", "b"});
  EXPECT_EQ(options.request_bytes, (std::vector<uint32_t>{8192, 1 << 20}));
  EXPECT_EQ(options.ways, (std::vector<StorageWay>{StorageWay::kDirect, StorageWay::kGpu}));
  EXPECT_EQ(options.files, (std::vector<std::string>{"a", "b"}));
  for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{{},
                                                                                     {"--sizes", "100", "a"},
                                                                                     {"--sizes", "4kb", "a"},
                                                                                     {"--ways", "tape", "a"},
                                                                                     {"--depths", "0", "a"},
                                                                                     {"--threads", "9999", "a"},
                                                                                     {"--seconds", "0", "a"},
                                                                                     {"--unknown", "1", "a"},
                                                                                     {"a", "--sizes"}})
    EXPECT_THROW(parse_test_options(wrong), TestOptionsError);
}

TestReport small_report() {
  TestReport report;
  report.files.push_back({"/data/a \"quoted\"", 1 << 20, "nvme0n1", {{TB_ROUTE_SWITCH, 4}, {TB_ROUTE_SYSTEM, 420}}, 1});
  report.gpus = {"GPU A", "GPU B"};
  PassResult cached, direct, failed;
  cached.options.way = StorageWay::kPageCache;
  cached.bytes = cached.cached_bytes = 4'000'000'000;
  cached.seconds = 1;
  direct.options.way = StorageWay::kDirect;
  direct.bytes = direct.drive_bytes = 2'000'000'000;
  direct.seconds = 1;
  failed.options.way = StorageWay::kGpu;
  failed.error = "out of\tmemory <1>";
  report.passes = {cached, direct, failed};
  return report;
}

TEST(TestReportTest, SaysWhichWayAndWhy) {
  const TestReport report = small_report();
  const std::string table = report.table();
  for (const char* part : {"4.00 GB/s through the page cache (100 %", "2.00 GB/s past it",
                           "The page cache is the faster", "on nvme0n1: GPU0 (GPU A), by PIX.", "not measured: out of"})
    EXPECT_NE(table.find(part), std::string::npos) << part << "\n" << table;
  TestReport none = report;
  none.gpus.clear();
  none.why_no_gpu = "no driver";
  EXPECT_NE(none.table().find("Device: the CPU, because there is no GPU: no driver."), std::string::npos);
}

TEST(TestReportTest, LinesForPrograms) {
  const std::string lines = small_report().tabbed();
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 3);
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\t'), 3 * static_cast<long>(TestReport::tab_columns().size() - 1));
  EXPECT_EQ(lines.find("tape"), std::string::npos);
  const std::string json = small_report().json();
  EXPECT_NE(json.find("\"path\": \"/data/a \\\"quoted\\\"\""), std::string::npos) << json;
  EXPECT_NE(json.find("out of\\u0009memory"), std::string::npos) << json;
  EXPECT_NE(small_report().chart().find("out of\tmemory &lt;1&gt;"), std::string::npos);
}

}  // namespace
}  // namespace turbine
