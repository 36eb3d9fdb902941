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

namespace turbine {
namespace {

/* For processors that have wider vectors than all have. */
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TB_WIDE_VECTORS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define TB_WIDE_VECTORS
#endif

/* Macros and no templates: the compiler does not clone those. */
#define TB_DEFINE_EXTEND(Value)                                                                                       \
  TB_WIDE_VECTORS void find_range(const Value* values, uint32_t first, uint32_t end, Value* least, Value* greatest) { \
    Value min = *least, max = *greatest;                                                                              \
    for (uint32_t i = first; i < end; i++) {                                                                          \
      min = values[i] < min ? values[i] : min;                                                                        \
      max = values[i] > max ? values[i] : max;                                                                        \
    }                                                                                                                 \
    *least = min;                                                                                                     \
    *greatest = max;                                                                                                  \
  }                                                                                                                   \
  TB_WIDE_VECTORS void find_range(const Value* values, const uint8_t* valid, uint32_t first, uint32_t end,            \
                                  Value* least, Value* greatest) {                                                    \
    Value min = *least, max = *greatest;                                                                              \
    for (uint32_t i = first; i < end; i++) {                                                                          \
      min = valid[i] != 0 && values[i] < min ? values[i] : min;                                                       \
      max = valid[i] != 0 && values[i] > max ? values[i] : max;                                                       \
    }                                                                                                                 \
    *least = min;                                                                                                     \
    *greatest = max;                                                                                                  \
  }
TB_DEFINE_EXTEND(int16_t)
TB_DEFINE_EXTEND(int32_t)
TB_DEFINE_EXTEND(int64_t)
#undef TB_DEFINE_EXTEND

template <class Value>
void extend(ValueRange& range, const Value* values, const uint8_t* valid, uint32_t first, uint32_t end) {
  Value least = std::numeric_limits<Value>::max(), greatest = std::numeric_limits<Value>::min();
  if (valid) {
    range.nulls |= memchr(valid + first, 0, end - first) != nullptr;
    find_range(values, valid, first, end, &least, &greatest);
  } else {
    find_range(values, first, end, &least, &greatest);
  }
  if (least > greatest) return;  // NULLs alone
  range.min = std::min<int64_t>(range.min, least);
  range.max = std::max<int64_t>(range.max, greatest);
}

/* Values under NULL become any code. */
#define TB_DEFINE_CODES(Value, Code)                                                                        \
  TB_WIDE_VECTORS void encode(const Value* values, Value base, uint32_t first, uint32_t end, Code* codes) { \
    using Bits = std::make_unsigned_t<Value>;                                                               \
    for (uint32_t i = first; i < end; i++)                                                                  \
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
void encode_values(const Value* values, uint32_t count, const StoredColumn& column, uint32_t to) {
  const auto base = static_cast<Value>(column.base());
  if (column.width() == 1) encode(values, base, 0, count, static_cast<uint8_t*>(column.values()) + to);
  if constexpr (sizeof(Value) > 2) {
    if (column.width() == 2) encode(values, base, 0, count, static_cast<uint16_t*>(column.values()) + to);
  }
  if constexpr (sizeof(Value) > 4) {
    if (column.width() == 4) encode(values, base, 0, count, static_cast<uint32_t*>(column.values()) + to);
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

/* A column of one integer type. */
template <class Value>
std::shared_ptr<const StoredColumn> encode_integers(std::shared_ptr<StoredColumn> plain, const Segment& segment,
                                                    BlockMask blocks) {
  const auto* values = static_cast<const Value*>(plain->values());
  ValueRange range;
  each_row_range(segment, blocks,
                 [&](uint32_t first, uint32_t end) { extend(range, values, plain->valid(), first, end); });
  const uint32_t width = width_of(range, sizeof(Value));
  const bool drops_valid = plain->valid() && !range.nulls;
  plain->set_zone(range.min, range.max);
  if (width == sizeof(Value) && !drops_valid) return plain;

  const uint32_t nrows = segment.nrows();
  const bool plain_values = width == sizeof(Value);
  const int64_t base = plain_values || range.empty() ? 0 : range.min;
  auto codes = std::make_shared<StoredColumn>(StoredColumn::Shape{plain->type(), plain->nullable(), range.nulls,
                                                                  plain_values ? StoredColumn::kPlain : width, base},
                                              nrows);
  codes->set_zone(range.min, range.max);
  each_row_range(segment, blocks, [&](uint32_t first, uint32_t end) {
    if (range.nulls) memcpy(codes->valid() + first, plain->valid() + first, end - first);
    if (plain_values)
      memcpy(static_cast<Value*>(codes->values()) + first, values + first, (end - first) * sizeof(Value));
    else
      encode_values(values + first, end - first, *codes, first);
  });
  return codes;
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

void extend_range(ValueRange& range, uint32_t type, const void* values, const uint8_t* valid, uint32_t first,
                  uint32_t end) {
  switch (tb_type_width(type)) {
    case 2: return extend(range, static_cast<const int16_t*>(values), valid, first, end);
    case 4: return extend(range, static_cast<const int32_t*>(values), valid, first, end);
    default: return extend(range, static_cast<const int64_t*>(values), valid, first, end);
  }
}

void write_codes(uint32_t type, const void* values, uint32_t first, uint32_t count, const StoredColumn& column,
                 uint32_t to) {
  switch (tb_type_width(type)) {
    case 2: return encode_values(static_cast<const int16_t*>(values) + first, count, column, to);
    case 4: return encode_values(static_cast<const int32_t*>(values) + first, count, column, to);
    default: return encode_values(static_cast<const int64_t*>(values) + first, count, column, to);
  }
}

std::shared_ptr<const StoredColumn> encode_column(std::shared_ptr<StoredColumn> plain, const Segment& segment,
                                                  BlockMask blocks) {
  if (tb_type_is_text(plain->type())) return plain;
  switch (tb_type_width(plain->type())) {
    case 2: return encode_integers<int16_t>(std::move(plain), segment, blocks);
    case 4: return encode_integers<int32_t>(std::move(plain), segment, blocks);
    case 8: return encode_integers<int64_t>(std::move(plain), segment, blocks);
    default: return plain;
  }
}

TbColumnData decode_column(const StoredColumn& column, uint32_t first, uint32_t end, void* values) {
  TbColumnData data = stored_arrays(column);
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
  const bool plain = column.width() == StoredColumn::kPlain;
  const uint32_t width = plain ? tb_type_width(column.type()) : column.width();
  if (width == 0) data.values = all_valid();
  *codes = {plain ? 0 : column.base(), width == 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * width) - 1,
            width == 0 ? 0 : static_cast<uint32_t>(std::countr_zero(width)), column.valid() ? ~uint32_t{0} : 0};
  return data;
}

}  // namespace turbine
