/*
 * group_fold_test.cc - folding of each kind of state, keys' equality, copies.
 */
#include "engine/group_fold/group_fold.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "engine/program/testing/program_writer.h"
#include "turbine/kernel.h"

namespace turbine {
namespace {

using testing::ProgramWriter;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/* A program with one aggregate (or key, without) of a type, and rows for it. */
class OneState {
 public:
  OneState(uint8_t kind, uint8_t type) : fold_(make(kind, type)) {}

  struct Row {
    std::vector<uint8_t> bytes;
    VectorArena arena;
  };
  Row empty() const { return {std::vector<uint8_t>(fold_.layout().row_size, 0), {}}; }
  template <class T>
  Row row(T value) const {
    Row row = empty();
    memcpy(row.bytes.data() + field().value_offset, &value, sizeof value);
    if (field().valid_offset) row.bytes[field().valid_offset] = 1;
    return row;
  }
  Row text(const std::string& value) const {
    Row r = empty();
    r.arena.reserve(3);  // so that offsets differ
    TbGroupText text{r.arena.reserve(static_cast<uint32_t>(value.size())), static_cast<uint32_t>(value.size()),
                     static_cast<uint32_t>(value.size())};
    memcpy(r.arena.bytes() + text.offset, value.data(), value.size());
    memcpy(r.bytes.data() + field().value_offset, &text, sizeof text);
    r.bytes[field().valid_offset] = 1;
    return r;
  }
  uint32_t fold(Row& into, Row& from) const {
    return fold_.fold(into.bytes.data(), into.arena, from.bytes.data(), from.arena.bytes());
  }
  bool same(Row& a, Row& b) const {
    return fold_.same_keys(a.bytes.data(), a.arena.bytes(), b.bytes.data(), b.arena.bytes());
  }
  template <class T>
  T value(const Row& row) const {
    T value;
    memcpy(&value, row.bytes.data() + field().value_offset, sizeof value);
    return value;
  }
  std::string text_of(Row& row) const {
    const auto text = value<TbGroupText>(row);
    return {reinterpret_cast<char*>(row.arena.bytes()) + text.offset, text.length};
  }
  bool valid(const Row& row) const { return row.bytes[field().valid_offset]; }
  const GroupFold& fold() const { return fold_; }

 private:
  const GroupField& field() const {
    return fold_.layout().states.empty() ? fold_.layout().keys[0] : fold_.layout().states[0];
  }
  static GroupFold make(uint8_t kind, uint8_t type) {
    ProgramWriter blob;
    blob.sink = TB_SINK_AGGREGATE;
    const uint32_t column = blob.column(type);
    if (kind == 0)
      blob.keys.push_back(column);
    else
      blob.aggregate(kind, column);
    return GroupFold(Program::parse(blob.blob()));
  }
  GroupFold fold_;
};

template <class T>
T folded(uint8_t kind, uint8_t type, T a, T b, uint32_t errors = 0) {
  const OneState state(kind, type);
  auto into = state.row(a), from = state.row(b);
  EXPECT_EQ(state.fold(into, from), errors);
  return state.value<T>(into);
}

TEST(GroupFold, Sums) {
  EXPECT_EQ(folded<int64_t>(TB_AGG_COUNT, TB_TYPE_INT4, 5, 7), 12);
  EXPECT_EQ(folded<int64_t>(TB_AGG_SUM_INT, TB_TYPE_INT4, -5, 3), -2);
  EXPECT_EQ(folded<double>(TB_AGG_SUM_FLOAT, TB_TYPE_FLOAT8, 1.5, 2.25), 3.75);
  const __int128 big = static_cast<__int128>(INT64_MAX) * 4;
  EXPECT_TRUE(folded<__int128>(TB_AGG_SUM_WIDE, TB_TYPE_INT8, big, 1) == big + 1);
}

TEST(GroupFold, SumsThatOverflowAreVerdicts) {
  folded<int64_t>(TB_AGG_SUM_INT, TB_TYPE_INT4, INT64_MAX, 1, TB_ERR_STATE_OVERFLOW);
  const __int128 most = static_cast<__int128>(~static_cast<unsigned __int128>(0) >> 1);
  folded<__int128>(TB_AGG_SUM_WIDE, TB_TYPE_INT8, most, 1, TB_ERR_STATE_OVERFLOW);
  EXPECT_EQ(folded<double>(TB_AGG_SUM_FLOAT, TB_TYPE_FLOAT8, kInfinity, 1), kInfinity);
}

TEST(GroupFold, MinimaAndMaximaFollowBtreeOrder) {
  EXPECT_EQ(folded<int32_t>(TB_AGG_MIN, TB_TYPE_INT4, 3, -4), -4);
  EXPECT_EQ(folded<int32_t>(TB_AGG_MAX, TB_TYPE_INT4, 3, -4), 3);
  EXPECT_EQ(folded<int16_t>(TB_AGG_MAX, TB_TYPE_INT2, 300, -1), 300);
  EXPECT_EQ(folded<double>(TB_AGG_MIN, TB_TYPE_FLOAT8, kNan, kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(folded<double>(TB_AGG_MAX, TB_TYPE_FLOAT8, kInfinity, kNan)));
  EXPECT_TRUE(folded<__int128>(TB_AGG_MIN, TB_TYPE_NUM128, 1, -(static_cast<__int128>(1) << 100)) ==
              -(static_cast<__int128>(1) << 100));
}

TEST(GroupFold, EqualFloatsTakeTheLater) {
  EXPECT_TRUE(std::signbit(folded<double>(TB_AGG_MIN, TB_TYPE_FLOAT8, 0.0, -0.0)));
  EXPECT_FALSE(std::signbit(folded<double>(TB_AGG_MAX, TB_TYPE_FLOAT8, -0.0, 0.0)));
}

TEST(GroupFold, StatesThatSawNothingDoNotCount) {
  const OneState state(TB_AGG_MIN, TB_TYPE_INT4);
  auto into = state.empty(), nothing = state.empty(), five = state.row<int32_t>(5);
  state.fold(into, nothing);
  EXPECT_FALSE(state.valid(into));
  state.fold(into, five);
  EXPECT_TRUE(state.valid(into));
  EXPECT_EQ(state.value<int32_t>(into), 5);
  state.fold(into, nothing);
  EXPECT_EQ(state.value<int32_t>(into), 5);
}

TEST(GroupFold, TextMinima) {
  const OneState state(TB_AGG_MIN, TB_TYPE_TEXT);
  auto into = state.empty();
  for (const std::string value : {"pear", "fig", "figs", "apple-and-more", "zebra", "apple"}) {
    auto from = state.text(value);
    EXPECT_EQ(state.fold(into, from), 0u);
  }
  EXPECT_EQ(state.text_of(into), "apple");
  auto empty = state.text("");
  state.fold(into, empty);
  EXPECT_EQ(state.text_of(into), "");
}

TEST(GroupFold, TextOrderIsThatOfBytes) {
  const OneState state(TB_AGG_MAX, TB_TYPE_TEXT);
  auto into = state.text("z"), from = state.text("\xc3\xa4");
  state.fold(into, from);
  EXPECT_EQ(state.text_of(into), "\xc3\xa4");
}

TEST(GroupFold, EqualKeys) {
  const OneState floats(0, TB_TYPE_FLOAT8);
  auto zero = floats.row(0.0), minus_zero = floats.row(-0.0), nan = floats.row(kNan), other_nan = floats.row(-kNan);
  EXPECT_TRUE(floats.same(zero, minus_zero));
  EXPECT_TRUE(floats.same(nan, other_nan));
  EXPECT_FALSE(floats.same(zero, nan));
  auto null = floats.empty(), other_null = floats.row(7.0);
  other_null.bytes[floats.fold().layout().keys[0].valid_offset] = 0;
  EXPECT_TRUE(floats.same(null, other_null)) << "the value of a NULL does not count";
  EXPECT_FALSE(floats.same(null, zero));

  const OneState texts(0, TB_TYPE_TEXT);
  auto a = texts.text("abc"), b = texts.text("abc"), longer = texts.text("abcd"), empty = texts.text("");
  EXPECT_TRUE(texts.same(a, b));
  EXPECT_FALSE(texts.same(a, longer));
  EXPECT_FALSE(texts.same(a, empty));
}

TEST(GroupFold, CopiesBringTheirText) {
  const OneState texts(0, TB_TYPE_TEXT);
  auto from = texts.text("some words"), to = texts.empty();
  texts.fold().copy(to.bytes.data(), to.arena, from.bytes.data(), from.arena.bytes());
  EXPECT_EQ(texts.text_of(to), "some words");
  EXPECT_TRUE(texts.same(from, to));
  EXPECT_EQ(texts.fold().text_bytes(to.bytes.data()), 10u);
}

}  // namespace
}  // namespace turbine
