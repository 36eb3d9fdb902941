/* datagen_test.cc - the generators' promises: digests, cardinalities, formulas, determinism. */
#include <gtest/gtest.h>

#include <sys/mman.h>

#include <string>

#include "md5.h"
#include "random.h"
#include "tables.h"

namespace turbine::datagen {
namespace {

std::string digest(std::string_view text) {
  char hex[32];
  md5_hex(text, hex);
  return {hex, 32};
}

std::string written(void (*write)(const Scale&, int64_t, int64_t, CopyWriter&), int64_t first, int64_t count) {
  int fd = memfd_create("datagen_test", 0);
  CopyWriter out(fd);
  write(Scale{.factor = 0.01, .seed = 7, .points = 100}, first, count, out);
  out.finish();
  std::string bytes(static_cast<size_t>(lseek(fd, 0, SEEK_END)), '\0');
  EXPECT_EQ(pread(fd, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  close(fd);
  return bytes;
}

constexpr size_t kHeader = 19, kTrailer = 2;
std::string body(const std::string& copy) { return copy.substr(kHeader, copy.size() - kHeader - kTrailer); }

TEST(Md5, MatchesTheRfc) {
  EXPECT_EQ(digest(""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(digest("abc"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(digest("abcdefghijklmnopqrstuvwxyz"), "c3fcd3d76192e4007dfb496cca67e13b");
}

TEST(Scale, HasThePublishedCardinalities) {
  Scale one{.factor = 1, .seed = 1, .points = 0}, ten{.factor = 10, .seed = 1, .points = 0};
  EXPECT_EQ(one.customers(), 30'000);
  EXPECT_EQ(one.suppliers(), 2'000);
  EXPECT_EQ(one.parts(), 200'000);
  EXPECT_EQ(one.orders(), 1'500'000);
  EXPECT_EQ(ten.parts(), 800'000);
  EXPECT_EQ(ten.customers(), 300'000);
}

TEST(Calendar, HasSevenYears) {
  EXPECT_EQ(date_key(0), 19920101);
  EXPECT_EQ(date_key(59), 19920229);
  EXPECT_EQ(date_key(Scale::kDates - 1), 19981230);
}

TEST(Price, FollowsTpch) { EXPECT_EQ(retail_price(1234), 90'000 + 123 + 23'400); }

TEST(Parts, JoinToTheWhole) {
  for (auto write : {write_points, write_lineorder, write_customer, write_supplier, write_part, write_date}) {
    EXPECT_EQ(body(written(write, 0, 100)), body(written(write, 0, 40)) + body(written(write, 40, 60)));
  }
}

TEST(Random, StaysInRange) {
  RowRandom random(1, 2, 3);
  bool low = false, high = false;
  for (int i = 0; i < 10'000; i++) {
    int64_t value = random.between(-2, 3);
    ASSERT_TRUE(value >= -2 && value <= 3);
    low |= value == -2, high |= value == 3;
  }
  EXPECT_TRUE(low && high);
}

}  // namespace
}  // namespace turbine::datagen
