/*
 * datagen_test.cc - what the generators promise about their rows.
 *
 * MD5's digests, cardinalities of tables, formulas between columns, the binary
 * format of numeric, ranges of random numbers, and that a page keeps its address.
 */
#include <gtest/gtest.h>

#include <sys/mman.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "md5.h"
#include "random.h"
#include "tables.h"
#include "web_site.h"
#include "web_visitor.h"
#include "zipf.h"

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
  for (auto write :
       {write_points, write_lineorder, write_customer, write_supplier, write_part, write_date, write_page_views}) {
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

/* The rows of a COPY, each field its bytes; "\\N" is NULL. */
std::vector<std::vector<std::string>> rows_of(const std::string& copy) {
  auto number = [&](size_t at, int bytes) {
    int64_t value = static_cast<signed char>(copy[at]);
    for (int i = 1; i < bytes; i++) value = value << 8 | static_cast<unsigned char>(copy[at + static_cast<size_t>(i)]);
    return value;
  };
  std::vector<std::vector<std::string>> rows;
  for (size_t at = kHeader; number(at, 2) >= 0;) {
    auto fields = static_cast<size_t>(number(at, 2));
    at += 2;
    auto& row = rows.emplace_back();
    while (row.size() < fields) {
      int64_t size = number(at, 4);
      at += 4;
      row.push_back(size < 0 ? "\\N" : copy.substr(at, static_cast<size_t>(size)));
      at += size < 0 ? 0 : static_cast<size_t>(size);
    }
  }
  return rows;
}

TEST(CopyWriter, WritesNumericsInBaseTenThousand) {
  int fd = memfd_create("datagen_test", 0);
  CopyWriter out(fd);
  out.begin_row(3);
  out.numeric(123'456'789, 2);  // 1,234,567.89
  out.numeric(5, 4);            // 0.0005
  out.numeric(30'000, 0);
  out.finish();
  std::string bytes(static_cast<size_t>(lseek(fd, 0, SEEK_END)), '\0');
  EXPECT_EQ(pread(fd, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  close(fd);
  auto row = rows_of(bytes).at(0);
  EXPECT_EQ(row[0], std::string("\0\3\0\1\0\0\0\2\0\x7b\x11\xd7\x22\xc4", 14));  // 123, 4567, 8900
  EXPECT_EQ(row[1], std::string("\0\1\xff\xff\0\0\0\4\0\5", 10));
  EXPECT_EQ(row[2], std::string("\0\3\0\1\0\0\0\0\0\3\0\0\0\0", 14));
}

TEST(Zipf, FallsWithTheRank) {
  RowRandom random(1, 2, 3);
  Zipf ranks(1'000, 0.9);
  std::map<int64_t, int> drawn;
  for (int i = 0; i < 100'000; i++) drawn[ranks.draw(random)]++;
  EXPECT_GE(drawn.begin()->first, 0);
  EXPECT_LT(drawn.rbegin()->first, 1'000);
  EXPECT_NEAR(drawn[0] / static_cast<double>(drawn[9]), std::pow(10, 0.9), 2.5);
}

TEST(PageViews, HaveTheColumnsOfTheTable) {
  constexpr size_t kViewId = 0, kVisitorId = 1, kSeenAt = 5, kUrl = 15, kUrlHash = 16, kReferrer = 23, kPhrase = 27;
  auto rows = rows_of(written(write_page_views, 0, 10'000));
  ASSERT_EQ(rows.size(), 10'000u);
  std::map<std::string, int> views, visitors, urls;
  int phrases = 0, direct = 0;
  for (const auto& row : rows) {
    ASSERT_EQ(row.size(), 108u);
    EXPECT_EQ(row[kSeenAt].size(), 8u);
    ASSERT_TRUE(row[kUrl].starts_with("https://") && row[kUrl].size() < 250);
    EXPECT_EQ(row[kUrlHash].size(), 8u);
    views[row[kViewId]]++, visitors[row[kVisitorId]]++, urls[row[kUrl]]++;
    phrases += !row[kPhrase].empty(), direct += row[kReferrer].empty();
  }
  EXPECT_EQ(views.size(), rows.size());                    // a key
  EXPECT_TRUE(visitors.size() > 500 && visitors.size() < 6'000);
  EXPECT_TRUE(urls.size() > 2'000 && urls.size() < 9'500);
  EXPECT_TRUE(phrases > 500 && phrases < 2'500);           // most are empty
  EXPECT_TRUE(direct > 500 && direct < 4'000);
}

TEST(PageViews, KeepTheMostActiveVisitor) {
  EXPECT_EQ(make_visitor(1, 0).id, make_visitor(2, 0).id);
  EXPECT_TRUE(make_visitor(1, 0).bot);
}

TEST(Site, GivesAPageOneAddress) {
  Site site = make_site(1, 17);
  std::string first, again, other;
  append_address(site, make_page(1, site, 5), first);
  append_address(make_site(1, 17), make_page(1, site, 5), again);
  append_address(site, make_page(1, site, 6), other);
  EXPECT_EQ(first, again);
  EXPECT_NE(first, other);
  EXPECT_EQ(text_hash(first), text_hash(again));
  EXPECT_NE(text_hash(first), text_hash(other));
}

TEST(Phrase, IsEscapedInAddresses) {
  std::string text;
  append_escaped("für a", text);
  EXPECT_EQ(text, "f%C3%BCr+a");
}

}  // namespace
}  // namespace turbine::datagen
