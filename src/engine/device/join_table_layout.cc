/*
 * join_table_layout.cc - see join_table_layout.h.
 *
 * Called by whoever builds a table. Offsets only: nothing in a block may be an address, since other
 * devices get the same bytes.
 */
#include "engine/device/join_table_layout.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/memory/alignment.h"
#include "engine/wire/device_error.h"

namespace turbine {
namespace {

constexpr uint64_t kMostRows = 0xfffffffeu;    // row numbers have 32 bits, one is TB_NONE
constexpr uint64_t kMostBytes = 1ull << 32;    // as have offsets of text views
constexpr uint64_t kBucketsPerRow = 2;         // open addressing, at most half full
/* DIRECT has 4 bytes for every key of the range; wider ones are hashed. */
constexpr uint64_t kDirectPlacesPerRow = 16;
constexpr uint64_t kAlwaysDirect = 4096;

/* Wider than this, a hash table takes less memory: a rank word has 8 bytes for 32
 * keys, a hash table at least 16 bytes a row. But as long as the rank words stay in a
 * core's L2 cache (1 MB), one look at a bit beats hashing, however few rows there are. */
constexpr uint64_t kPlacesPerRow = 64;
constexpr uint64_t kAlwaysNarrow = 4 << 20;
constexpr uint64_t kMostPlaces = 0xfffffffeu;  // row numbers have 32 bits

}  // namespace

bool one_integer_key(const KeptRowLayout& shape) { return shape.nkeys == 1 && is_integer_key(shape.columns[0].type); }

std::optional<KeyPlaces> narrow_key_places(const KeyBounds& bounds, uint64_t rows) {
  if (rows == 0) return KeyPlaces{};
  if (bounds.empty()) return {};
  const uint64_t last = static_cast<uint64_t>(bounds.max) - static_cast<uint64_t>(bounds.min);
  if (last >= std::min(std::max(rows * kPlacesPerRow, kAlwaysNarrow), kMostPlaces)) return {};
  return KeyPlaces{bounds.min, last + 1, true};
}

void JoinTableLayout::choose_kind(const KeptRowLayout& shape, const std::optional<KeyPlaces>& places) {
  header_.kind = shape.nkeys == 0 ? TB_TABLE_ALL : TB_TABLE_HASH;
  if (!places) return;
  if (!places->unique && places->span > std::max(header_.nrows * kDirectPlacesPerRow, kAlwaysDirect)) return;
  header_.kind = places->unique ? TB_TABLE_DENSE : TB_TABLE_DIRECT;
  header_.key_min = places->min;
  header_.key_span = places->span;
}

JoinTableLayout::JoinTableLayout(const KeptRowLayout& shape, uint64_t rows, uint64_t bytes,
                                 const std::optional<KeyPlaces>& places) {
  if (rows > kMostRows) throw DeviceError(TB_FALLBACK_HOST_MEMORY, "a join table has too many rows");
  if (bytes > kMostBytes) throw DeviceError(TB_FALLBACK_HOST_MEMORY, "texts of a join table exceed 4 GB");
  header_.ncolumns = static_cast<uint32_t>(shape.columns.size());
  header_.nrows = rows;
  choose_kind(shape, places);
  switch (header_.kind) {
    case TB_TABLE_HASH: {
      const uint64_t buckets = std::bit_ceil(std::max<uint64_t>(rows * kBucketsPerRow, 2));
      header_.bucket_mask = buckets - 1;
      buckets_size_ = buckets * sizeof(uint64_t);
      break;
    }
    case TB_TABLE_DIRECT: buckets_size_ = header_.key_span * sizeof(uint32_t); break;
    case TB_TABLE_DENSE: buckets_size_ = places->words() * sizeof(TbRankWord); break;
    default: break;
  }

  uint64_t at = host_aligned(sizeof header_ + shape.columns.size() * sizeof(Column));
  auto take = [&at](uint64_t size) {
    const uint64_t offset = at;
    at += host_aligned(size);
    return offset;
  };
  if (header_.kind != TB_TABLE_ALL) header_.buckets = take(buckets_size_);
  const bool key_is_place = header_.kind == TB_TABLE_DIRECT || header_.kind == TB_TABLE_DENSE;
  for (size_t i = 0; i < shape.columns.size(); i++) {
    const KeptColumn& column = shape.columns[i];
    columns_.push_back({0, 0});
    if (i < shape.nkeys && key_is_place) continue;
    columns_.back().values = take(rows * tb_type_width(column.type));
    if (column.nullable) columns_.back().valid = take(rows);
  }
  header_.bytes = take(bytes);
  header_.bytes_size = bytes;
  // Chains come last, so that they can go again if no rows have equal keys.
  header_.total_size = at;
}

void JoinTableLayout::write_header(uint8_t* block) const {
  static_assert(sizeof(Column) == sizeof(TbJoinTable::columns[0]));
  memcpy(block, &header_, sizeof header_);
  memcpy(block + sizeof header_, columns_.data(), columns_.size() * sizeof(Column));
}

uint64_t JoinTableLayout::size_with_chains() const {
  return header_.total_size + (may_have_chains() ? host_aligned(header_.nrows * sizeof(uint32_t)) : 0);
}

}  // namespace turbine
