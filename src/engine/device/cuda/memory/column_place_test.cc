/* column_place_test.cc - values read by their places are what was stored. */
#include "engine/device/cuda/memory/column_place.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "engine/device/cuda/testing/row_places.h"
#include "engine/store/column_codes.h"

namespace turbine::cuda {
namespace {

template <class T>
DevicePtr address_of(const T* memory) {
  return reinterpret_cast<DevicePtr>(memory);
}

/* As generated kernels read it. */
bool is_null(const TbColumnPlace& place, uint32_t row) { return place.data.valid[row & place.codes.valid_mask] == 0; }

const void* value_at(const TbColumnPlace& place, uint32_t type, uint32_t row, uint64_t* room) {
  if (tb_type_is_text(type)) {
    const auto code = static_cast<uint32_t>(tb_test_element(&place, row));
    return &place.codes.views[code + (row & place.codes.row_mask)];
  }
  if (tb_type_width(type) == 16) return static_cast<const uint8_t*>(place.data.values) + uint64_t{row} * 16;
  *room = tb_test_element(&place, row);
  return room;
}

constexpr std::array<uint32_t, 7> kTypes = {TB_TYPE_BOOL, TB_TYPE_INT2,   TB_TYPE_INT4, TB_TYPE_INT8,
                                            TB_TYPE_DATE, TB_TYPE_NUM128, TB_TYPE_TEXT};

struct Values {
  Values(std::mt19937_64& random, uint32_t type, uint32_t nrows, bool nullable)
      : width(tb_type_width(type)), bytes(uint64_t{nrows} * width + 8), valid(nrows, 1) {
    const uint64_t mask = ~uint64_t{0} >> random() % 64;
    for (uint32_t i = 0; i < nrows; i++) {
      if (nullable) valid[i] = random() % 3 != 0;
      const uint64_t value = type == TB_TYPE_BOOL ? random() & 1 : random() & mask;
      const TbTextView view{static_cast<uint32_t>(value % 9), 0, 0, static_cast<uint32_t>(value % 13)};
      const uint64_t wide[2] = {value, random()};
      const void* from = wide;
      if (type == TB_TYPE_TEXT) from = &view;
      memcpy(&bytes[uint64_t{i} * width], from, width);
    }
  }
  const uint8_t* at(uint32_t row) const { return &bytes[uint64_t{row} * width]; }

  uint32_t width;
  std::vector<uint8_t> bytes, valid;
  std::string text = "some bytes to point to";
};

/* Texts that no dictionary has: views, then their bytes. */
std::shared_ptr<const StoredColumn> column_of_texts(const Values& values, const ColumnPiece& piece, uint32_t nrows,
                                                    bool nullable) {
  auto column = std::make_shared<StoredColumn>(
      StoredColumn::Shape{.type = TB_TYPE_TEXT, .nullable = nullable, .nulls = have_nulls({&piece, 1})}, nrows,
      values.text.size());
  memcpy(column->values(), values.bytes.data(), uint64_t{nrows} * values.width);
  memcpy(column->text(), values.text.data(), values.text.size());
  copy_valid({&piece, 1}, *column);
  return column;
}

TEST(ColumnPlace, OfStoredColumns) {
  std::mt19937_64 random(9);
  std::vector<uint64_t> filler(kFillerSize / 8, 0x0101010101010101);
  for (int round = 0; round < 400; round++) {
    const uint32_t type = kTypes[random() % kTypes.size()];
    const auto nrows = static_cast<uint32_t>(1 + random() % 3000);
    const bool nullable = random() % 2;
    const Values values(random, type, nrows, nullable);
    const ColumnOrigin origin{values.bytes.data(), nullable ? values.valid.data() : nullptr,
                              reinterpret_cast<const uint8_t*>(values.text.data())};
    const ColumnPiece piece{&origin, 0, nrows, 0};
    std::shared_ptr<const StoredColumn> column;
    DeviceDictionary copy;
    const bool plain_texts = random() % 2;
    if (type == TB_TYPE_TEXT && plain_texts) {
      column = column_of_texts(values, piece, nrows, nullable);
    } else if (type == TB_TYPE_TEXT) {
      std::vector<int32_t> codes(nrows);
      auto dictionary = std::make_shared<TextDictionary>();
      ASSERT_TRUE(dictionary->encode(piece, codes.data()));
      const ColumnOrigin coded{reinterpret_cast<const uint8_t*>(codes.data()), origin.valid, nullptr};
      const ColumnPiece coded_piece{&coded, 0, nrows, 0};
      column = encode_texts(dictionary, nullable, nrows, {&coded_piece, 1});
      copy = {address_of(dictionary->views()), address_of(dictionary->bytes())};
    } else {
      column = encode_column(type, nullable, nrows, {&piece, 1});
    }
    const TbColumnPlace place = place_of_stored(*column, address_of(column->values()), copy, address_of(filler.data()));
    if (type == TB_TYPE_TEXT) {
      ASSERT_EQ(place.data.bytes, plain_texts ? column->text() : column->dictionary()->bytes());
    }
    std::vector<uint64_t> decoded(2 * nrows);
    const TbColumnData expected = decode_column(*column, 0, nrows, decoded.data());
    for (uint32_t i = 0; i < nrows; i++) {
      ASSERT_EQ(is_null(place, i), values.valid[i] == 0);
      if (!values.valid[i]) continue;
      uint64_t room;
      ASSERT_EQ(memcmp(value_at(place, type, i, &room),
                       static_cast<const uint8_t*>(expected.values) + uint64_t{i} * values.width, values.width),
                0)
          << "type " << type << " row " << i;
    }
  }
}

TEST(ColumnPlace, OfArraysOfManyStretches) {
  std::mt19937_64 random(10);
  for (const uint32_t type : kTypes) {
    const uint32_t nrows = 2 * TB_STRETCH_ROWS + 77;
    const Values values(random, type, nrows, true);
    for (uint32_t i = 0; i < nrows; i += 1 + i % 7) {
      const TbColumnPlace place = place_of_array(type, address_of(values.bytes.data()), address_of(values.valid.data()),
                                                 i >> TB_STRETCH_SHIFT);
      const uint32_t row = i & (TB_STRETCH_ROWS - 1);
      ASSERT_EQ(is_null(place, row), values.valid[i] == 0);
      uint64_t room;
      ASSERT_EQ(memcmp(value_at(place, type, row, &room), values.at(i), values.width), 0)
          << "type " << type << " row " << i;
    }
  }
}

}  // namespace
}  // namespace turbine::cuda
