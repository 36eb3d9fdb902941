/* column_codes_test.cc - values come back bit for bit from as few bytes as they need. */
#include "engine/store/column_codes.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

namespace turbine {
namespace {

template <class Value>
std::shared_ptr<const StoredColumn> encoded(uint32_t type, const std::vector<Value>& values,
                                            const std::vector<uint8_t>& valid = {}) {
  const auto nrows = static_cast<uint32_t>(values.size());
  const ColumnOrigin origin{reinterpret_cast<const uint8_t*>(values.data()), valid.empty() ? nullptr : valid.data(),
                            nullptr};
  const ColumnPiece piece{&origin, 0, nrows, 0};
  return encode_column(type, !valid.empty(), nrows, {&piece, 1});
}

/* Row i as generated code reads it from codes. */
template <class Value>
Value read_coded(const StoredColumn& column, uint32_t i) {
  TbColumnCodes codes;
  const TbColumnData data = coded_column(column, &codes);
  uint64_t element = 0;
  memcpy(&element, static_cast<const uint8_t*>(data.values) + (uint64_t{i} << codes.shift), sizeof(Value));
  const uint64_t bits = static_cast<uint64_t>(codes.base) + (element & codes.mask);
  Value value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Encodes and decodes; the width that it took. */
template <class Value>
uint32_t round_trip(uint32_t type, const std::vector<Value>& values) {
  const auto column = encoded(type, values);
  std::vector<Value> room(values.size());
  const auto end = static_cast<uint32_t>(values.size());
  const TbColumnData data = decode_column(*column, 0, end, room.data());
  EXPECT_EQ(memcmp(data.values, values.data(), values.size() * sizeof(Value)), 0);
  EXPECT_EQ(data.valid, nullptr);
  for (uint32_t i = 0; i < end; i++) {
    const auto value = read_coded<Value>(*column, i);
    EXPECT_EQ(memcmp(&value, &values[i], sizeof value), 0) << i;
  }
  return column->width();
}

TEST(ColumnCodes, TakeTheWidthOfTheirSpan) {
  EXPECT_EQ(round_trip<int32_t>(TB_TYPE_INT4, {7, 7, 7}), 0u);
  EXPECT_EQ(round_trip<int32_t>(TB_TYPE_INT4, {-100, 155}), 1u);
  EXPECT_EQ(round_trip<int32_t>(TB_TYPE_INT4, {-100, 156}), 2u);
  EXPECT_EQ(round_trip<int32_t>(TB_TYPE_INT4, {0, 65535}), 2u);
  EXPECT_EQ(round_trip<int32_t>(TB_TYPE_INT4, {0, 65536}), StoredColumn::kPlain);
  EXPECT_EQ(round_trip<int16_t>(TB_TYPE_INT2, {-32768, 32767}), StoredColumn::kPlain);
  EXPECT_EQ(round_trip<int16_t>(TB_TYPE_INT2, {32766, 32767}), 1u);
  EXPECT_EQ(round_trip<int64_t>(TB_TYPE_NUM64, {1ll << 60, (1ll << 60) + 0xffffffffll}), 4u);
  EXPECT_EQ(round_trip<int64_t>(TB_TYPE_NUM64, {1ll << 60, (1ll << 60) + 0x100000000ll}), StoredColumn::kPlain);
  EXPECT_EQ(
      round_trip<int64_t>(TB_TYPE_INT8, {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()}),
      StoredColumn::kPlain);
  EXPECT_EQ(round_trip<double>(TB_TYPE_FLOAT8, {-0.0, -0.0}), 0u) << "bits, not numbers";
  EXPECT_EQ(round_trip<double>(TB_TYPE_FLOAT8, {1.5, std::numeric_limits<double>::quiet_NaN(), -3e300}),
            StoredColumn::kPlain);
}

TEST(ColumnCodes, EachWidthOfEachTypeComesBack) {
  std::vector<int64_t> longs;
  std::vector<int32_t> ints;
  std::vector<int16_t> shorts;
  for (int64_t i = 0; i < 5000; i++) {
    longs.push_back(-5000000000ll + i * 800000);
    ints.push_back(static_cast<int32_t>(-2000000000 + i * 13));
    shorts.push_back(static_cast<int16_t>(-32768 + i % 256));
  }
  EXPECT_EQ(round_trip(TB_TYPE_INT8, longs), 4u);
  for (int64_t& value : longs) value = value / 800000 * 13;
  EXPECT_EQ(round_trip(TB_TYPE_INT8, longs), 2u);
  EXPECT_EQ(round_trip(TB_TYPE_INT4, ints), 2u);
  EXPECT_EQ(round_trip(TB_TYPE_INT2, shorts), 1u);
}

TEST(ColumnCodes, NullsDoNotWidenAndAreNotKeptWhereThereAreNone) {
  const auto some = encoded<int32_t>(TB_TYPE_INT4, {5, 1000000, 6}, {1, 0, 1});
  EXPECT_EQ(some->width(), 1u);
  ASSERT_NE(some->valid(), nullptr);
  int32_t room[3];
  TbColumnData data = decode_column(*some, 0, 3, room);
  EXPECT_EQ(room[0], 5);
  EXPECT_EQ(room[2], 6);
  EXPECT_EQ(std::vector<uint8_t>(data.valid, data.valid + 3), (std::vector<uint8_t>{1, 0, 1}));
  TbColumnCodes codes;
  EXPECT_EQ(coded_column(*some, &codes).valid[1 & codes.valid_mask], 0);
  EXPECT_EQ(read_coded<int32_t>(*some, 2), 6);

  const auto none = encoded<int32_t>(TB_TYPE_INT4, {0, 1 << 30}, {1, 1});
  EXPECT_EQ(none->width(), StoredColumn::kPlain);
  EXPECT_EQ(none->valid(), nullptr);
  data = decode_column(*none, 0, 2, nullptr);
  EXPECT_EQ(data.valid[0] & data.valid[1] & data.valid[kMostSegmentRows - 1], 1);
  EXPECT_EQ(coded_column(*none, &codes).valid[1 & codes.valid_mask], 1);
  EXPECT_EQ(codes.valid_mask, 0u);

  const auto nothing = encoded<int32_t>(TB_TYPE_INT4, {1, 2}, {0, 0});
  EXPECT_EQ(nothing->width(), 0u);
  EXPECT_EQ(decode_column(*nothing, 0, 2, room).valid[1], 0);
  EXPECT_EQ(coded_column(*nothing, &codes).valid[1 & codes.valid_mask], 0);
}

TEST(ColumnCodes, RowsOfNoPieceDoNotCount) {
  const int32_t values[] = {1 << 30, -5, 10, 11};
  const ColumnOrigin origin{reinterpret_cast<const uint8_t*>(values), nullptr, nullptr};
  const ColumnPiece pieces[] = {{&origin, 3, 1, 2}, {&origin, 2, 1, 3}};
  const auto column = encode_column(TB_TYPE_INT4, false, 4, pieces);
  EXPECT_EQ(column->width(), 1u);
  int32_t room[4] = {};
  decode_column(*column, 2, 4, room);
  EXPECT_EQ(room[0], 0) << "nor are they written";
  EXPECT_EQ(room[2], 11);
  EXPECT_EQ(room[3], 10);
}

}  // namespace
}  // namespace turbine
