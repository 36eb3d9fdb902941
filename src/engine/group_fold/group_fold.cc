/*
 * group_fold.cc - combining two rows of a group table.
 *
 * Called by the merging of group tables and by window functions. States are exact, so the
 * order of folding changes nothing, except for floats, which callers fold in a fixed order.
 */
#include "engine/group_fold/group_fold.h"

#include <algorithm>
#include <cstddef>
#include <cmath>
#include <cstring>

#include "engine/wire/device_error.h"
#include "turbine/kernel.h"

namespace turbine {
namespace {

template <class T>
T load(const uint8_t* at) {
  T value;
  memcpy(&value, at, sizeof value);
  return value;
}

template <class T>
void store(uint8_t* at, T value) {
  memcpy(at, &value, sizeof value);
}

/* PostgreSQL's btree order: NaN equals itself and is above all. */
template <class T>
int compare_floats(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return static_cast<int>(std::isnan(a)) - static_cast<int>(std::isnan(b));
  return (a > b) - (a < b);
}

template <class T>
int compare_loaded(const uint8_t* a, const uint8_t* b) {
  const T x = load<T>(a), y = load<T>(b);
  if constexpr (std::is_floating_point_v<T>)
    return compare_floats(x, y);
  else
    return (x > y) - (x < y);
}

int compare_text(const uint8_t* a, const uint8_t* a_arena, const uint8_t* b, const uint8_t* b_arena) {
  const auto x = load<TbGroupText>(a), y = load<TbGroupText>(b);
  const uint32_t common = std::min(x.length, y.length);
  const int order = common == 0 ? 0 : memcmp(arena_bytes(a_arena, x.offset), arena_bytes(b_arena, y.offset), common);
  return order != 0 ? order : (x.length > y.length) - (x.length < y.length);
}

int compare(uint32_t type, const uint8_t* a, const uint8_t* a_arena, const uint8_t* b, const uint8_t* b_arena) {
  switch (type) {
    case TB_TYPE_BOOL: return compare_loaded<uint8_t>(a, b);
    case TB_TYPE_INT2: return compare_loaded<int16_t>(a, b);
    case TB_TYPE_INT4:
    case TB_TYPE_DATE: return compare_loaded<int32_t>(a, b);
    case TB_TYPE_FLOAT4: return compare_loaded<float>(a, b);
    case TB_TYPE_FLOAT8: return compare_loaded<double>(a, b);
    case TB_TYPE_NUM128: return compare_loaded<__int128>(a, b);
    case TB_TYPE_TEXT:
    case TB_TYPE_BPCHAR: return compare_text(a, a_arena, b, b_arena);
    default: return compare_loaded<int64_t>(a, b);
  }
}

template <class T>
uint32_t add(uint8_t* into, const uint8_t* from) {
  T sum;
  const bool overflow = __builtin_add_overflow(load<T>(into), load<T>(from), &sum);
  store(into, sum);
  return overflow ? TB_ERR_STATE_OVERFLOW : 0;
}

/* Overflows of no finite values: see tb_float_sum_limit(). */
void add_floats(uint8_t* into, const uint8_t* from) { store(into, load<double>(into) + load<double>(from)); }

void put_text(uint8_t* to, FoldArena& arena, const uint8_t* from, const uint8_t* from_arena, uint32_t room) {
  auto text = load<TbGroupText>(from);
  const uint8_t* bytes = arena_bytes(from_arena, text.offset);
  auto target = load<TbGroupText>(to);
  if (room < text.length) {
    target.capacity = text.length;
    target.offset = arena.reserve(text.length);
  }
  target.length = text.length;
  if (text.length > 0) memcpy(arena_bytes(arena.bytes(), target.offset), bytes, text.length);
  store(to, target);
}

void put_value(const GroupField& field, uint8_t* into, FoldArena& arena, const uint8_t* from,
               const uint8_t* from_arena) {
  uint8_t* to = into + field.value_offset;
  const uint8_t* value = from + field.value_offset;
  if (tb_type_is_text(field.type))
    put_text(to, arena, value, from_arena, load<TbGroupText>(to).capacity);
  else
    memcpy(to, value, tb_type_width(field.type));
}

}  // namespace

GroupFold::GroupFold(const Program& program)
    : layout_(group_layout(program)), aggs_(program.aggs().begin(), program.aggs().end()) {
  for (const GroupField& field : layout_.keys)
    if (tb_type_is_text(field.type)) texts_.push_back(field);
  has_text_keys_ = !texts_.empty();
  for (const GroupField& field : layout_.states)
    if (tb_type_is_text(field.type)) texts_.push_back(field);
}

uint32_t GroupFold::fold(uint8_t* into, FoldArena& arena, const uint8_t* from, const uint8_t* from_arena) const {
  uint32_t errors = 0;
  for (size_t i = 0; i < aggs_.size(); i++) {
    const GroupField& field = layout_.states[i];
    uint8_t* to = into + field.value_offset;
    const uint8_t* value = from + field.value_offset;
    if (field.valid_offset != 0) {
      if (!from[field.valid_offset]) continue;
      if (!into[field.valid_offset]) {
        into[field.valid_offset] = 1;
        put_value(field, into, arena, from, from_arena);
        continue;
      }
    }
    switch (aggs_[i].kind) {
      case TB_AGG_COUNT:
      case TB_AGG_SUM_INT: errors |= add<int64_t>(to, value); break;
      case TB_AGG_SUM_WIDE: errors |= add<__int128>(to, value); break;
      case TB_AGG_SUM_FLOAT: add_floats(to, value); break;
      default: {
        const int order = compare(field.type, value, from_arena, to, arena.bytes());
        if (aggs_[i].kind == TB_AGG_MIN ? order <= 0 : order >= 0) put_value(field, into, arena, from, from_arena);
      }
    }
  }
  return errors;
}

bool GroupFold::same_keys(const uint8_t* a, const uint8_t* a_arena, const uint8_t* b, const uint8_t* b_arena) const {
  for (const GroupField& key : layout_.keys) {
    const bool valid = a[key.valid_offset];
    if (valid != static_cast<bool>(b[key.valid_offset])) return false;
    if (valid && compare(key.type, a + key.value_offset, a_arena, b + key.value_offset, b_arena) != 0) return false;
  }
  return true;
}

void GroupFold::prefetch_texts(const uint8_t* row, const uint8_t* arena) const {
  for (const GroupField& key : layout_.keys)
    if (tb_type_is_text(key.type))
      __builtin_prefetch(arena_bytes(arena, load<TbGroupText>(row + key.value_offset).offset));
}

void GroupFold::copy(uint8_t* to, FoldArena& arena, const uint8_t* from, const uint8_t* from_arena) const {
  memcpy(to, from, layout_.row_size);
  for (const GroupField& field : texts_)
    if (from[field.valid_offset])
      put_text(to + field.value_offset, arena, from + field.value_offset, from_arena, 0);
    else
      memset(to + field.value_offset, 0, sizeof(TbGroupText));
  // What is a state's capacity is a key's id.
  for (const GroupField& key : layout_.keys)
    if (tb_type_is_text(key.type))
      memcpy(to + key.value_offset + offsetof(TbGroupText, capacity),
             from + key.value_offset + offsetof(TbGroupText, capacity), sizeof(TbGroupText::capacity));
}

uint64_t GroupFold::text_bytes(const uint8_t* row) const {
  uint64_t bytes = 0;
  for (const GroupField& field : texts_)
    if (row[field.valid_offset]) bytes += load<TbGroupText>(row + field.value_offset).length;
  return bytes;
}

void throw_fold_errors(uint32_t errors) {
  if (errors & (TB_ERR_OVERFLOW | TB_ERR_DIVISION_BY_ZERO | TB_ERR_DOMAIN))
    throw DeviceError(TB_FALLBACK_RAISED, "a sum is out of range");
  if (errors != 0) throw DeviceError(TB_FALLBACK_VALUE, "an aggregate state exceeds 128 bits or 64 bits");
}

}  // namespace turbine
