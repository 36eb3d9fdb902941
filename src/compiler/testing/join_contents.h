/*
 * join_contents.h - what the tables of join tests hold: values of every type, NULLs,
 * repeated and unique keys, nothing at all.
 */
#pragma once

#include <algorithm>
#include <random>

#include "compiler/testing/cells.h"

namespace turbine::testing {

using Random = std::mt19937_64;

inline constexpr uint32_t kRowCounts[] = {
    0, 1, 31, 33, TB_TILE_ROWS - 1, TB_TILE_ROWS, TB_TILE_ROWS + 1, 3 * TB_TILE_ROWS + 7};

/* A value of the type; `number` values differ, but for floats' zeros and NaNs. */
inline Cell draw(uint8_t type, uint64_t number) {
  const auto n = static_cast<int64_t>(number) - 7;
  switch (type) {
    case TB_TYPE_BOOL: return cell<uint8_t>(number % 2);
    case TB_TYPE_INT2: return cell(static_cast<int16_t>(n));
    case TB_TYPE_INT4:
    case TB_TYPE_DATE: return cell(static_cast<int32_t>(n));
    case TB_TYPE_FLOAT4: return cell(static_cast<float>(n));
    case TB_TYPE_FLOAT8: {
      if (number == 3) return cell(std::nan(""));
      if (number == 4) return cell(-std::nan("7"));
      return cell(number == 5 ? -0.0 : number == 6 ? 0.0 : static_cast<double>(n) / 3);
    }
    case TB_TYPE_NUM128: return cell(static_cast<__int128>(n) << 70 | 12345);
    case TB_TYPE_TEXT:
    case TB_TYPE_BPCHAR: return std::string(number % 19, 'x') + std::to_string(number);
    default: return cell(n * 3);
  }
}

inline std::vector<CellColumn> filled(std::vector<CellColumn> types, size_t rows, Random& random, uint64_t domain,
                                      int null_mode = 1) {
  for (CellColumn& c : types)
    for (size_t row = 0; row < rows; row++) {
      const bool null = c.nullable && (null_mode == 2 || (null_mode == 1 && random() % 6 == 0));
      c.cells.push_back(null ? Cell() : draw(c.type, random() % domain));
    }
  return types;
}

/* What a join table holds. */
enum Content { kUnique, kDuplicates, kEmpty, kAllNull };

inline bool distinct(uint8_t type) { return type != TB_TYPE_FLOAT8 && type != TB_TYPE_BOOL; }

inline std::vector<CellColumn> inner_keys(const std::vector<CellColumn>& types, Content content, Random& random) {
  if (content == kEmpty) return types;
  if (content == kAllNull) return filled(types, 40, random, 30, 2);
  if (content == kDuplicates) return filled(types, 90, random, 25);
  // Distinct in all columns together: a number apiece, shuffled, some left out.
  std::vector<CellColumn> keys = types;
  std::vector<uint64_t> numbers;
  for (uint64_t i = 0; i < 45; i++)
    if (random() % 5 != 0 && (distinct(types[0].type) || (i != 4 && i != 6 && i != 7))) numbers.push_back(i);
  std::shuffle(numbers.begin(), numbers.end(), random);
  for (uint64_t number : numbers)
    for (CellColumn& c : keys) c.cells.push_back(draw(c.type, number));
  return keys;
}

inline std::vector<TbTableKind> table_kinds(const std::vector<CellColumn>& keys, bool unique) {
  if (keys.empty()) return {TB_TABLE_ALL};
  const uint8_t type = keys[0].type;
  const bool integer = keys.size() == 1 &&
                       (type == TB_TYPE_INT2 || type == TB_TYPE_INT4 || type == TB_TYPE_INT8 || type == TB_TYPE_DATE ||
                        type == TB_TYPE_TIMESTAMP || type == TB_TYPE_TIMESTAMPTZ);
  if (!integer) return {TB_TABLE_HASH};
  if (!unique) return {TB_TABLE_HASH, TB_TABLE_DIRECT};
  return {TB_TABLE_HASH, TB_TABLE_DIRECT, TB_TABLE_DENSE};
}

inline CellColumn nullable(uint8_t type, int16_t scale = 0) { return {type, true, scale}; }

inline const std::vector<CellColumn> kPayload = {{TB_TYPE_INT4, true}, {TB_TYPE_TEXT, true}, {TB_TYPE_INT8, false}};

}  // namespace turbine::testing
