/*
 * column_codes.cc - see column_codes.h.
 *
 * Owns nothing. Called where segments are made, and by devices before their pipelines: the
 * loops are vectorised (this file is compiled with -O3), since a warm query decodes every
 * value that it reads.
 */
#include "engine/store/column_codes.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "turbine/mutant.h"

namespace turbine {
namespace {

/* For processors that have wider vectors than all have. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TB_WIDE_VECTORS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define TB_WIDE_VECTORS
#endif

/* Macros and no templates: the compiler does not clone those. */
#define TB_DEFINE_EXTEND(Value)                                                                            \
  TB_WIDE_VECTORS void find_range(const Value* values, uint32_t count, Value* least, Value* greatest) {    \
    Value min = *least, max = *greatest;                                                                   \
    for (uint32_t i = 0; i < count; i++) {                                                                 \
      min = values[i] < min ? values[i] : min;                                                             \
      max = values[i] > max ? values[i] : max;                                                             \
    }                                                                                                      \
    *least = min;                                                                                          \
    *greatest = max;                                                                                       \
  }                                                                                                        \
  TB_WIDE_VECTORS void find_range(const Value* values, const uint8_t* valid, uint32_t count, Value* least, \
                                  Value* greatest) {                                                       \
    Value min = *least, max = *greatest;                                                                   \
    for (uint32_t i = 0; i < count; i++) {                                                                 \
      min = valid[i] != 0 && values[i] < min ? values[i] : min;                                            \
      max = valid[i] != 0 && values[i] > max ? values[i] : max;                                            \
    }                                                                                                      \
    *least = min;                                                                                          \
    *greatest = max;                                                                                       \
  }
TB_DEFINE_EXTEND(int16_t)
TB_DEFINE_EXTEND(int32_t)
TB_DEFINE_EXTEND(int64_t)
#undef TB_DEFINE_EXTEND

template <class Value>
void extend(ValueRange& range, const ColumnPiece& piece) {
  Value least = std::numeric_limits<Value>::max(), greatest = std::numeric_limits<Value>::min();
  const auto* values = reinterpret_cast<const Value*>(piece.origin->values) + piece.from;
  const uint8_t* valid = piece.origin->valid ? piece.origin->valid + piece.from : nullptr;
  if (valid && memchr(valid, 0, piece.count)) {
    range.nulls = true;
    find_range(values, valid, piece.count, &least, &greatest);
  } else {
    find_range(values, piece.count, &least, &greatest);
  }
  if (least > greatest) return;  // NULLs alone
  range.min = std::min<int64_t>(range.min, least);
  range.max = std::max<int64_t>(range.max, greatest);
}

/* Values under NULL become any code. */
#define TB_DEFINE_CODES(Value, Code)                                                                        \
  TB_WIDE_VECTORS void encode(const Value* values, Value base, uint32_t count, Code* codes) {               \
    using Bits = std::make_unsigned_t<Value>;                                                               \
    for (uint32_t i = 0; i < count; i++)                                                                    \
      codes[i] = static_cast<Code>(static_cast<Bits>(values[i]) - static_cast<Bits>(base));                 \
  }                                                                                                         \
  TB_WIDE_VECTORS void decode(const Code* codes, Value base, uint32_t first, uint32_t end, Value* values) { \
    using Bits = std::make_unsigned_t<Value>;                                                               \
    for (uint32_t i = first; i < end; i++)                                                                  \
      values[i] = static_cast<Value>(static_cast<Bits>(static_cast<Bits>(base) + codes[i]));                \
  }
TB_DEFINE_CODES(int16_t, uint8_t)
TB_DEFINE_CODES(int32_t, uint8_t)
TB_DEFINE_CODES(int32_t, uint16_t)
TB_DEFINE_CODES(int64_t, uint8_t)
TB_DEFINE_CODES(int64_t, uint16_t)
TB_DEFINE_CODES(int64_t, uint32_t)
#undef TB_DEFINE_CODES

template <class Value>
void encode_values(const ColumnPiece& piece, const StoredColumn& column) {
  const auto base = static_cast<Value>(column.base());
  const auto* values = reinterpret_cast<const Value*>(piece.origin->values) + piece.from;
  if (column.width() == 1) encode(values, base, piece.count, static_cast<uint8_t*>(column.values()) + piece.to);
  if constexpr (sizeof(Value) > 2) {
    if (column.width() == 2) encode(values, base, piece.count, static_cast<uint16_t*>(column.values()) + piece.to);
  }
  if constexpr (sizeof(Value) > 4) {
    if (column.width() == 4) encode(values, base, piece.count, static_cast<uint32_t*>(column.values()) + piece.to);
  }
}

template <class Value>
void decode_values(const StoredColumn& column, uint32_t first, uint32_t end, Value* values) {
  const auto base = static_cast<Value>(column.base());
  if (column.width() == 0) return std::fill(values + first, values + end, base);
  if (column.width() == 1) return decode(static_cast<const uint8_t*>(column.values()), base, first, end, values);
  if constexpr (sizeof(Value) > 2) {
    if (column.width() == 2) return decode(static_cast<const uint16_t*>(column.values()), base, first, end, values);
  }
  if constexpr (sizeof(Value) > 4) decode(static_cast<const uint32_t*>(column.values()), base, first, end, values);
}

uint32_t width_of(const ValueRange& range, uint32_t plain) {
  if (range.empty()) return 0;
  const uint64_t span = static_cast<uint64_t>(range.max) - static_cast<uint64_t>(range.min);
  const uint32_t width = span == 0 ? 0 : span <= 0xff ? 1 : span <= 0xffff ? 2 : span <= 0xffffffff ? 4 : 8;
  return std::min(width, plain);
}

/* What a nullable column without NULLs shows; and what codes without bytes are read from. */
uint8_t* all_valid() {
  static std::vector<uint8_t> ones(kMostSegmentRows + sizeof(int64_t), 1);
  return ones.data();
}

/* As generated code reads it, but for codes. */
TbColumnData stored_arrays(const StoredColumn& column) {
  TbColumnData data{column.values(), column.valid(), column.text()};
  if (column.nullable() && !data.valid) data.valid = all_valid();
  return data;
}

}  // namespace

bool has_range(uint32_t type) {
  const uint32_t width = tb_type_width(type);
  return !tb_type_is_text(type) && (width == 2 || width == 4 || width == 8);
}

void extend_range(ValueRange& range, uint32_t type, const ColumnPiece& piece) {
  switch (tb_type_width(type)) {
    case 2: return extend<int16_t>(range, piece);
    case 4: return extend<int32_t>(range, piece);
    default: return extend<int64_t>(range, piece);
  }
}

void write_values(const ColumnPiece& piece, const StoredColumn& column) {
  const uint32_t width = tb_type_width(column.type());
  if (column.width() == StoredColumn::kPlain) {
    memcpy(static_cast<uint8_t*>(column.values()) + uint64_t{piece.to} * width,
           piece.origin->values + uint64_t{piece.from} * width, uint64_t{piece.count} * width);
    return;
  }
  switch (width) {
    case 2: return encode_values<int16_t>(piece, column);
    case 4: return encode_values<int32_t>(piece, column);
    default: return encode_values<int64_t>(piece, column);
  }
}

bool have_nulls(std::span<const ColumnPiece> pieces) {
  return std::any_of(pieces.begin(), pieces.end(), [](const ColumnPiece& piece) {
    return piece.origin->valid && memchr(piece.origin->valid + piece.from, 0, piece.count);
  });
}

void copy_valid(std::span<const ColumnPiece> pieces, const StoredColumn& column) {
  if (!column.valid()) return;
  for (const ColumnPiece& piece : pieces) {
    if (piece.origin->valid)
      memcpy(column.valid() + piece.to, piece.origin->valid + piece.from, piece.count);
    else
      memset(column.valid() + piece.to, 1, piece.count);
  }
}

namespace {

/* The smallest form of values of the shape's type. */
std::shared_ptr<const StoredColumn> encode_values(StoredColumn::Shape shape, uint32_t nrows,
                                                  std::span<const ColumnPiece> pieces,
                                                  const ColumnMemory& memory = {}) {
  if (has_range(shape.type)) {
    ValueRange range;
    for (const ColumnPiece& piece : pieces) extend_range(range, shape.type, piece);
    shape.nulls = range.nulls;
    // A dictionary's numbers say nothing of the order of its texts; and what is read under NULL,
    // 0, has to be one of them.
    if (!shape.dictionary)
      shape.zone = {true, range.min, range.max};
    else if (range.min != range.max && !range.empty())
      range.min = 0;
    const uint32_t width = width_of(range, tb_type_width(shape.type));
    if (width < tb_type_width(shape.type)) {
      shape.width = width;
      shape.base = range.empty() ? 0 : range.min;
    }
  } else {
    shape.nulls = have_nulls(pieces);
  }
  std::shared_ptr<uint8_t> place = memory ? memory(StoredColumn::bytes_of(shape, nrows)) : nullptr;
  auto column = place ? std::make_shared<StoredColumn>(shape, nrows, std::move(place))
                      : std::make_shared<StoredColumn>(shape, nrows);
  for (const ColumnPiece& piece : pieces) write_values(piece, *column);
  copy_valid(pieces, *column);
  return column;
}

}  // namespace

std::shared_ptr<const StoredColumn> encode_column(uint32_t type, bool nullable, uint32_t nrows,
                                                  std::span<const ColumnPiece> pieces, const ColumnMemory& memory) {
  return encode_values({type, nullable, false}, nrows, pieces, memory);
}

std::shared_ptr<const StoredColumn> encode_texts(std::shared_ptr<TextDictionary> dictionary, bool nullable,
                                                 uint32_t nrows, std::span<const ColumnPiece> pieces) {
  StoredColumn::Shape shape{TB_TYPE_INT4, nullable, false};
  shape.dictionary = std::move(dictionary);
  return encode_values(std::move(shape), nrows, pieces);
}

void decode_entries(const StoredColumn& column, uint32_t first, uint32_t end, int32_t* codes) {
  if (column.width() == StoredColumn::kPlain)
    std::copy_n(static_cast<const int32_t*>(column.values()) + first, end - first, codes + first);
  else
    decode_values(column, first, end, codes);
}

TbColumnData decode_column(const StoredColumn& column, uint32_t first, uint32_t end, void* values) {
  TbColumnData data = stored_arrays(column);
  if (const TextDictionary* dictionary = column.dictionary()) {
    // From the last on, numbers make way for views in the same place.
    auto* codes = static_cast<int32_t*>(values);
    auto* views = static_cast<TbTextView*>(values);
    decode_entries(column, first, end, codes);
    for (uint32_t i = end; i-- > first;) views[i] = dictionary->views()[codes[i]];
    data.values = values;
    data.bytes = dictionary->bytes();
    return data;
  }
  if (column.width() == StoredColumn::kPlain) return data;
  data.values = values;
  switch (tb_type_width(column.type())) {
    case 2: decode_values(column, first, end, static_cast<int16_t*>(values)); break;
    case 4: decode_values(column, first, end, static_cast<int32_t*>(values)); break;
    default: decode_values(column, first, end, static_cast<int64_t*>(values));
  }
  return data;
}

TbColumnData coded_column(const StoredColumn& column, TbColumnCodes* codes) {
  TbColumnData data = stored_arrays(column);
  *codes = {};
  codes->valid_mask = column.valid() ? ~uint32_t{0} : 0;
  if (tb_type_is_text(column.type())) {
    codes->row_mask = ~uint64_t{0};
    return data;
  }
  if (const TextDictionary* dictionary = column.dictionary()) {
    codes->views = dictionary->views();
    data.bytes = dictionary->bytes();
  }
  const bool plain = column.width() == StoredColumn::kPlain;
  const uint32_t width = plain ? tb_type_width(column.type()) : column.width();
  if (width == 0) data.values = all_valid();
  codes->base = plain ? 0 : column.base();
  codes->mask = width == 8 || TB_MUTANT(code_mask_ignored) ? ~uint64_t{0} : (uint64_t{1} << 8 * width) - 1;
  codes->shift = width == 0 ? 0 : static_cast<uint32_t>(std::countr_zero(width));
  return data;
}

}  // namespace turbine
