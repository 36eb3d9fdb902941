/* column_splice_test.cc - what has codes keeps them, and what has none is left to be encoded anew. */
#include "engine/store/column_splice.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "engine/store/column_codes.h"

namespace turbine {
namespace {

ColumnOrigin origin_of(const std::vector<int32_t>& values, const uint8_t* valid = nullptr) {
  return {reinterpret_cast<const uint8_t*>(values.data()), valid, nullptr};
}

/* Values 100 to 199, by their codes. */
std::shared_ptr<const StoredColumn> hundred(bool nullable) {
  std::vector<int32_t> values(100);
  std::iota(values.begin(), values.end(), 100);
  const ColumnOrigin origin = origin_of(values);
  const ColumnPiece piece{&origin, 0, 100, 0};
  return encode_column(TB_TYPE_INT4, nullable, 100, {&piece, 1});
}

std::vector<int32_t> values_of(const StoredColumn& column, uint32_t nrows) {
  std::vector<int32_t> room(nrows);
  const TbColumnData data = decode_column(column, 0, nrows, room.data());
  const auto* values = static_cast<const int32_t*>(data.values);
  return {values, values + nrows};
}

TEST(ColumnSplice, KeepsBaseAndWidthWhereTheyDo) {
  const auto old = hundred(false);
  std::vector<int32_t> fresh = {7, 355, 120};
  const ColumnOrigin origin = origin_of(fresh);
  const ColumnPiece pieces[] = {{nullptr, 10, 5, 0}, {&origin, 1, 2, 5}, {nullptr, 98, 2, 7}};
  const auto column = splice_column(*old, 9, pieces);
  ASSERT_NE(column, nullptr);
  EXPECT_EQ(column->width(), 1u);
  EXPECT_EQ(column->base(), 100);
  EXPECT_EQ(values_of(*column, 9), (std::vector<int32_t>{110, 111, 112, 113, 114, 355, 120, 198, 199}));
  EXPECT_EQ(column->shape().zone.least, 100);
  EXPECT_EQ(column->shape().zone.greatest, 355);
}

TEST(ColumnSplice, RefusesWhatHasNoCode) {
  const auto old = hundred(false);
  for (int32_t value : {99, 356}) {
    const std::vector<int32_t> fresh = {value};
    const ColumnOrigin origin = origin_of(fresh);
    const ColumnPiece pieces[] = {{nullptr, 0, 5, 0}, {&origin, 0, 1, 5}};
    EXPECT_EQ(splice_column(*old, 6, pieces), nullptr) << value;
  }
}

TEST(ColumnSplice, RefusesWhereMostIsFresh) {
  std::vector<int32_t> fresh = {100, 100};
  const ColumnOrigin origin = origin_of(fresh);
  const ColumnPiece pieces[] = {{&origin, 0, 2, 0}, {nullptr, 0, 1, 2}};
  EXPECT_EQ(splice_column(*hundred(false), 3, pieces), nullptr);
}

TEST(ColumnSplice, NullsComeIn) {
  const auto old = hundred(true);
  ASSERT_EQ(old->valid(), nullptr) << "there were none";
  std::vector<int32_t> fresh = {1 << 30, 150};
  std::vector<uint8_t> valid = {0, 1};
  const ColumnOrigin origin = origin_of(fresh, valid.data());
  const ColumnPiece pieces[] = {{nullptr, 0, 3, 0}, {&origin, 0, 2, 3}};
  const auto column = splice_column(*old, 5, pieces);
  ASSERT_NE(column, nullptr) << "a NULL has any code";
  ASSERT_NE(column->valid(), nullptr);
  EXPECT_EQ(std::vector<uint8_t>(column->valid(), column->valid() + 5), (std::vector<uint8_t>{1, 1, 1, 0, 1}));
  EXPECT_EQ(values_of(*column, 5)[4], 150);
}

}  // namespace
}  // namespace turbine
