/* Text: every string lies in its own exact allocation, so that ASAN sees a
 * byte read outside; searching and LIKE against naive versions. */
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "turbine/kernel.h"

extern "C" {
bool rt_texteq(const char*, uint32_t, const char*, uint32_t);
bool rt_textne(const char*, uint32_t, const char*, uint32_t);
bool rt_text_lt(const char*, uint32_t, const char*, uint32_t);
bool rt_text_le(const char*, uint32_t, const char*, uint32_t);
bool rt_text_gt(const char*, uint32_t, const char*, uint32_t);
bool rt_text_ge(const char*, uint32_t, const char*, uint32_t);
bool rt_bpchareq(const char*, uint32_t, const char*, uint32_t);
int32_t rt_text_compare(const char*, uint32_t, const char*, uint32_t);
bool rt_like_contains(const char*, uint32_t, const char*, uint32_t);
bool rt_like_prefix(const char*, uint32_t, const char*, uint32_t);
bool rt_like_suffix(const char*, uint32_t, const char*, uint32_t);
bool rt_like_exact(const char*, uint32_t, const char*, uint32_t);
bool rt_like_general(const char*, uint32_t, const char*, uint32_t, uint32_t*);
bool rt_notlike_contains(const char*, uint32_t, const char*, uint32_t);
bool rt_notlike_general(const char*, uint32_t, const char*, uint32_t, uint32_t*);
int32_t rt_textpos(const char*, uint32_t, const char*, uint32_t);
int32_t rt_textlen(const char*, uint32_t);
int32_t rt_textoctetlen(const char*, uint32_t);
void rt_text_substr(const char*, uint32_t, int32_t, int32_t, const char**, uint32_t*, uint32_t*);
void rt_text_substr_no_len(const char*, uint32_t, int32_t, const char**, uint32_t*);
void rt_text_left(const char*, uint32_t, int32_t, const char**, uint32_t*);
void rt_text_right(const char*, uint32_t, int32_t, const char**, uint32_t*);
void rt_btrim(const char*, uint32_t, const char**, uint32_t*);
void rt_ltrim(const char*, uint32_t, const char**, uint32_t*);
void rt_rtrim(const char*, uint32_t, const char**, uint32_t*);
uint64_t rt_hash_text(const char*, uint32_t);
bool rt_key_eq_text(const char*, uint32_t, const char*, uint32_t);
}

namespace {

/* A copy with nothing readable around it. */
class Exact {
 public:
  explicit Exact(std::string_view text) : size_((uint32_t)text.size()), bytes_(new char[text.size()]) {
    memcpy(bytes_.get(), text.data(), text.size());
  }
  const char* data() const { return bytes_.get(); }
  uint32_t size() const { return size_; }

 private:
  uint32_t size_;
  std::unique_ptr<char[]> bytes_;
};

template <typename Function>
auto call(Function function, std::string_view a, std::string_view b) {
  Exact left(a), right(b);
  return function(left.data(), left.size(), right.data(), right.size());
}

std::string random_text(std::mt19937_64& random, uint32_t length, int letters) {
  std::string text;
  for (uint32_t i = 0; i < length; i++) text += (char)('a' + random() % letters);
  return text;
}

TEST(TextTest, ComparisonIsByBytes) {
  std::mt19937_64 random(1);
  std::vector<std::string> texts = {"",
                                    "a",
                                    "ab",
                                    "abcdefgh",
                                    "abcdefghi",
                                    "abcdefgi",
                                    "\xff",
                                    "\x7f",
                                    std::string("\0", 1),
                                    std::string("a\0b", 3),
                                    std::string(300, 'x')};
  for (int i = 0; i < 60; i++) texts.push_back(random_text(random, random() % 40, 2));
  for (const std::string& a : texts)
    for (const std::string& b : texts) {
      int expected = a.compare(b) < 0 ? -1 : a.compare(b) > 0;
      ASSERT_EQ(call(rt_text_compare, a, b), expected) << a << ' ' << b;
      ASSERT_EQ(call(rt_texteq, a, b), expected == 0);
      ASSERT_EQ(call(rt_textne, a, b), expected != 0);
      ASSERT_EQ(call(rt_text_lt, a, b), expected < 0);
      ASSERT_EQ(call(rt_text_le, a, b), expected <= 0);
      ASSERT_EQ(call(rt_text_gt, a, b), expected > 0);
      ASSERT_EQ(call(rt_text_ge, a, b), expected >= 0);
      ASSERT_EQ(call(rt_key_eq_text, a, b), expected == 0);
      Exact left(a), right(b);
      if (expected == 0) {
        ASSERT_EQ(rt_hash_text(left.data(), left.size()), rt_hash_text(right.data(), right.size()));
      } else {
        ASSERT_NE(rt_hash_text(left.data(), left.size()), rt_hash_text(right.data(), right.size()));
      }
    }
}

TEST(TextTest, EveryDifferingByteCounts) {
  for (uint32_t length = 1; length < 70; length++)
    for (uint32_t at = 0; at < length; at++) {
      std::string a(length, 'q'), b = a;
      b[at] = 'r';
      ASSERT_FALSE(call(rt_texteq, a, b)) << length << ' ' << at;
      ASSERT_TRUE(call(rt_text_lt, a, b)) << length << ' ' << at;
      ASSERT_FALSE(call(rt_like_suffix, a, b.substr(at)));
    }
}

TEST(TextTest, SearchFindsTheFirst) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 60000; i++) {
    std::string text = random_text(random, random() % 90, 2 + (int)(random() % 3));
    std::string part = random_text(random, random() % 7, 2);
    if (i % 4 == 0 && !text.empty()) part = text.substr(random() % text.size(), random() % 40);
    size_t found = text.find(part);
    ASSERT_EQ(call(rt_like_contains, text, part), found != std::string::npos) << text << ' ' << part;
    ASSERT_EQ(call(rt_notlike_contains, text, part), found == std::string::npos);
    ASSERT_EQ(call(rt_textpos, text, part), found == std::string::npos ? 0 : (int)found + 1) << text << ' ' << part;
    ASSERT_EQ(call(rt_like_prefix, text, part), text.starts_with(part));
    ASSERT_EQ(call(rt_like_suffix, text, part), text.ends_with(part));
    ASSERT_EQ(call(rt_like_exact, text, part), text == part);
  }
}

/* LIKE by definition, exponential and obvious. */
bool naive_like(std::string_view text, std::string_view pattern) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '%') {
    for (size_t skip = 0; skip <= text.size(); skip++)
      if (naive_like(text.substr(skip), pattern.substr(1))) return true;
    return false;
  }
  if (text.empty()) return false;
  if (pattern[0] == '_') {
    size_t size = 1;
    while (size < text.size() && ((uint8_t)text[size] & 0xc0) == 0x80) size++;
    return naive_like(text.substr(size), pattern.substr(1));
  }
  if (pattern[0] == '\\') pattern.remove_prefix(1);
  return text[0] == pattern[0] && naive_like(text.substr(1), pattern.substr(1));
}

TEST(TextTest, LikeAgainstItsDefinition) {
  std::mt19937_64 random(3);
  const std::string_view text_parts[] = {"a", "b", "\xc3\xa4", "%", "_", "\\", "\xe2\x82\xac"};
  const std::string_view pattern_parts[] = {"a",   "b",   "\xc3\xa4", "%",   "%",           "_",
                                            "\\%", "\\_", "\\\\",     "\\a", "\xe2\x82\xac"};
  int matched = 0;
  for (int i = 0; i < 200000; i++) {
    std::string text, pattern;
    for (int n = (int)(random() % 8); n > 0; n--) text += text_parts[random() % std::size(text_parts)];
    for (int n = (int)(random() % 7); n > 0; n--) pattern += pattern_parts[random() % std::size(pattern_parts)];
    Exact t(text), p(pattern);
    uint32_t errors = 0;
    bool expected = naive_like(text, pattern);
    matched += expected;
    ASSERT_EQ(rt_like_general(t.data(), t.size(), p.data(), p.size(), &errors), expected)
        << text << " LIKE " << pattern;
    ASSERT_EQ(rt_notlike_general(t.data(), t.size(), p.data(), p.size(), &errors), !expected);
    ASSERT_EQ(errors, 0u) << pattern;
  }
  EXPECT_GT(matched, 10000);
}

TEST(TextTest, PatternEndingInEscapeRaises) {
  for (std::string_view pattern : {"\\", "a\\", "%\\", "a\\\\\\"}) {
    uint32_t errors = 0;
    rt_like_general("abc", 3, pattern.data(), (uint32_t)pattern.size(), &errors);
    EXPECT_EQ(errors, TB_ERR_DOMAIN) << pattern;
  }
  uint32_t errors = 0;
  EXPECT_TRUE(rt_like_general("a\\", 2, "a\\\\", 3, &errors));
  EXPECT_EQ(errors, 0u);
}

TEST(TextTest, LengthCountsCharacters) {
  std::string text;
  for (int i = 0; i < 40; i++) {
    Exact exact(text);
    ASSERT_EQ(rt_textlen(exact.data(), exact.size()), i);
    ASSERT_EQ(rt_textoctetlen(exact.data(), exact.size()), (int)text.size());
    text += i % 4 == 0 ? "x" : i % 4 == 1 ? "\xc3\xa4" : i % 4 == 2 ? "\xe2\x82\xac" : "\xf0\x9f\x98\x80";
  }
}

std::string view(const char* data, uint32_t size) { return std::string(data, size); }

TEST(TextTest, Parts) {
  struct Case {
    int32_t start, count;
    const char* result;
    uint32_t errors;
  };
  const std::string text =
      "a\xc3\xa4"
      "b\xe2\x82\xac"
      "c";
  const Case cases[] = {{1, 2, "a\xc3\xa4", 0},
                        {2, 1, "\xc3\xa4", 0},
                        {0, 2, "a", 0},
                        {-1, 3, "a", 0},
                        {-5, 3, "", 0},
                        {4, 100,
                         "\xe2\x82\xac"
                         "c",
                         0},
                        {6, 1, "", 0},
                        {2147483647, 2147483647, "", 0},
                        {1, 0, "", 0},
                        {-2147483647 - 1, 2147483647, "", 0},
                        {1, -1, "", TB_ERR_DOMAIN},
                        {3, 2147483647,
                         "b\xe2\x82\xac"
                         "c",
                         0}};
  Exact exact(text);
  for (const Case& c : cases) {
    const char* data = nullptr;
    uint32_t size = 0, errors = 0;
    rt_text_substr(exact.data(), exact.size(), c.start, c.count, &data, &size, &errors);
    EXPECT_EQ(view(data, size), c.result) << c.start << ' ' << c.count;
    EXPECT_EQ(errors, c.errors);
  }
  auto no_length = [&](int32_t start) {
    const char* data;
    uint32_t size;
    rt_text_substr_no_len(exact.data(), exact.size(), start, &data, &size);
    return view(data, size);
  };
  EXPECT_EQ(no_length(-3), text);
  EXPECT_EQ(no_length(4),
            "\xe2\x82\xac"
            "c");
  EXPECT_EQ(no_length(9), "");
  auto left = [&](int32_t n) {
    const char* data;
    uint32_t size;
    rt_text_left(exact.data(), exact.size(), n, &data, &size);
    return view(data, size);
  };
  EXPECT_EQ(left(2), "a\xc3\xa4");
  EXPECT_EQ(left(0), "");
  EXPECT_EQ(left(-1),
            "a\xc3\xa4"
            "b\xe2\x82\xac");
  EXPECT_EQ(left(-9), "");
  EXPECT_EQ(left(INT32_MAX), text);
  EXPECT_EQ(left(INT32_MIN), "");
  auto right = [&](int32_t n) {
    const char* data;
    uint32_t size;
    rt_text_right(exact.data(), exact.size(), n, &data, &size);
    return view(data, size);
  };
  EXPECT_EQ(right(2),
            "\xe2\x82\xac"
            "c");
  EXPECT_EQ(right(0), "");
  EXPECT_EQ(right(-1),
            "\xc3\xa4"
            "b\xe2\x82\xac"
            "c");
  EXPECT_EQ(right(-9), "");
  EXPECT_EQ(right(INT32_MAX), text);
  EXPECT_EQ(right(INT32_MIN), "");
}

TEST(TextTest, Trim) {
  auto trimmed = [](auto function, std::string_view text) {
    const char* data;
    uint32_t size;
    function(text.data(), (uint32_t)text.size(), &data, &size);
    return view(data, size);
  };
  EXPECT_EQ(trimmed(rt_btrim, "  a b\t "), "a b\t");
  EXPECT_EQ(trimmed(rt_ltrim, "  a "), "a ");
  EXPECT_EQ(trimmed(rt_rtrim, "  a "), "  a");
  EXPECT_EQ(trimmed(rt_btrim, "   "), "");
  EXPECT_EQ(trimmed(rt_btrim, ""), "");
}

}  // namespace
