/*
 * column_copy.cc - kept columns copied to their place in a join table.
 *
 * Called by join_table_build.cc on all threads of the pool, each with rows of its own. It
 * writes nowhere but to its rows' places.
 */
#include "engine/device/host/column_copy.h"

#include <cstring>

#include "engine/device/host/key_range.h"

namespace turbine {
namespace {

/* Values of one width, by the rows' places. A text's view moves with its bytes;
 * that of a NULL is whatever generated code left there, so it is not kept. */
template <class Value, bool kText, class Place>
void place_values(size_t column, const KeptParts::Part& part, const ColumnTarget& to, Place place) {
  const uint8_t* from = part.store->values(column) + part.first * sizeof(Value);
  const uint8_t* valid = part.store->valid(column) ? part.store->valid(column) + part.first : nullptr;
  for (uint64_t i = 0; i < part.count; i++) {
    if (valid && !valid[i]) continue;
    Value value;
    memcpy(&value, from + i * sizeof value, sizeof value);
    if constexpr (kText) value.offset += static_cast<uint32_t>(part.bytes);
    const uint64_t at = place(i);
    memcpy(to.values + at * sizeof value, &value, sizeof value);
    if (to.valid) to.valid[at] = 1;
  }
}

template <class Place>
void place_column(uint32_t type, size_t column, const KeptParts::Part& part, const ColumnTarget& to, Place place) {
  if (tb_type_is_text(type)) return place_values<TbTextView, true>(column, part, to, place);
  switch (tb_type_width(type)) {
    case 1: return place_values<uint8_t, false>(column, part, to, place);
    case 2: return place_values<uint16_t, false>(column, part, to, place);
    case 4: return place_values<uint32_t, false>(column, part, to, place);
    case 8: return place_values<uint64_t, false>(column, part, to, place);
    default: return place_values<unsigned __int128, false>(column, part, to, place);
  }
}

}  // namespace

void copy_column(const KeptRowLayout& shape, size_t column, const KeptParts::Part& part, const ColumnTarget& to) {
  const uint32_t type = shape.columns[column].type;
  if (tb_type_is_text(type)) {
    place_column(type, column, part, to, [&part](uint64_t i) { return part.number + i; });
    return;
  }
  const uint64_t width = tb_type_width(type);
  memcpy(to.values + part.number * width, part.store->values(column) + part.first * width, part.count * width);
  if (to.valid) memcpy(to.valid + part.number, part.store->valid(column) + part.first, part.count);
}

void scatter_column(const KeptRowLayout& shape, size_t column, const KeptParts::Part& part, const KeyRange& keys,
                    const ColumnTarget& to) {
  const uint8_t* values = part.store->values(0);
  const uint32_t key_type = shape.columns[0].type;
  place_column(shape.columns[column].type, column, part, to,
               [&](uint64_t i) { return keys.rank(integer_value(key_type, values, part.first + i)); });
}

void copy_bytes(const KeptParts::Part& part, uint8_t* to) {
  // Each part takes a share as large as its share of the store's rows.
  const HostRowStore& store = *part.store;
  auto share = [&store](uint64_t row) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(store.arena_used()) * row / store.size());
  };
  const uint64_t begin = share(part.first), end = share(part.first + part.count);
  memcpy(to + part.bytes + begin, store.arena() + begin, end - begin);
}

}  // namespace turbine
