/*
 * ipc_footer_test.cc - proves that footers read back, and that damaged ones are refused or harmless.
 */
#include "export/ipc_footer.h"

#include <gtest/gtest.h>

#include <random>

#include "export/export_error.h"
#include "export/progress.h"
#include "export/value_ranges.h"

namespace turbine::exporting {
namespace {

constexpr int64_t kFileBytes = 1 << 20;

IpcFooter make_footer(int dictionaries, int batches) {
  IpcFooter footer;
  for (int i = 0; i < dictionaries; i++) footer.dictionaries.push_back({64 * i, 64, 0, 128});
  for (int i = 0; i < batches; i++) footer.batches.push_back({4096 + 1024 * i, 256, 0, 512 + i});
  return footer;
}

bool same(const std::vector<IpcBlock>& a, const std::vector<IpcBlock>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); i++) {
    if (a[i].offset != b[i].offset || a[i].metadata_bytes != b[i].metadata_bytes || a[i].body_bytes != b[i].body_bytes)
      return false;
  }
  return true;
}

const auto kSchema = arrow::schema({arrow::field("a", arrow::int32()), arrow::field("b", arrow::utf8())});

TEST(IpcFooterTest, ReadsBack) {
  for (int dictionaries = 0; dictionaries < 4; dictionaries++) {
    for (int batches = 0; batches < 4; batches++) {
      const IpcFooter footer = make_footer(dictionaries, batches);
      const IpcFooter read = parse_footer(footer_bytes(footer, *kSchema), kFileBytes);
      EXPECT_TRUE(same(read.dictionaries, footer.dictionaries));
      EXPECT_TRUE(same(read.batches, footer.batches));
    }
  }
}

TEST(IpcFooterTest, BlocksBeyondTheFileAreRefused) {
  const std::string bytes = footer_bytes(make_footer(0, 3), *kSchema);
  EXPECT_NO_THROW(parse_footer(bytes, 4096 + 2 * 1024 + 256 + 514));
  EXPECT_THROW(parse_footer(bytes, 4096 + 2 * 1024 + 256 + 513), ExportError);
}

TEST(IpcFooterTest, DamagedBytesAreRefusedOrHarmless) {
  const std::string bytes = footer_bytes(make_footer(2, 3), *kSchema);
  std::mt19937 random(5);
  int refused = 0;
  for (int round = 0; round < 100000; round++) {
    std::string damaged = bytes.substr(0, round % 3 == 0 ? random() % bytes.size() : bytes.size());
    for (int i = 0; i < 3 && !damaged.empty(); i++) damaged[random() % damaged.size()] = static_cast<char>(random());
    try {
      for (const IpcBlock& block : parse_footer(damaged, kFileBytes).batches) {
        EXPECT_LE(block.offset + block.metadata_bytes + block.body_bytes, kFileBytes);
      }
    } catch (const ExportError&) {
      refused++;
    }
  }
  EXPECT_GT(refused, 10000);
}

TEST(ProgressTest, SaysWhatIsLeft) {
  EXPECT_EQ(Progress::line(500, 1000, 2'500'000, 2.0),
            "[############............]  50 %  500 rows, 2.5 MB, 250 rows/s, 2 s left");
  EXPECT_EQ(Progress::line(500, 0, 2'500'000'000, 2.0), "500 rows, 2.50 GB, 250 rows/s");
  EXPECT_EQ(Progress::line(2000, 1000, 0, 0), "[########################] 100 %  2000 rows, 0.0 MB");
}

TEST(ValueRangesTest, SplitsLists) {
  EXPECT_EQ(listed_bounds(""), std::vector<std::string_view>{});
  EXPECT_EQ(listed_bounds("1"), std::vector<std::string_view>{"1"});
  EXPECT_EQ(listed_bounds("1,null,-3"), (std::vector<std::string_view>{"1", "null", "-3"}));
}

}  // namespace
}  // namespace turbine::exporting
