/*
 * key_packing.cc - packs the keys of a row into one integer.
 *
 * Called by row_sort.cc. It must never give two rows an order that their keys do not
 * have.
 */
#include "engine/result/order/key_packing.h"

#include <algorithm>
#include <bit>

namespace turbine {
namespace {

unsigned bit_width(uint128 value) {
  const auto high = static_cast<uint64_t>(value >> 64);
  return high ? 64 + static_cast<unsigned>(std::bit_width(high))
              : static_cast<unsigned>(std::bit_width(static_cast<uint64_t>(value)));
}

/* Eight bytes of a text from `at` on, the first most significant; zero behind its end. */
uint64_t text_chunk(std::string_view text, size_t at) {
  uint64_t chunk = 0;
  if (at < text.size()) memcpy(&chunk, text.data() + at, std::min<size_t>(text.size() - at, sizeof chunk));
  return __builtin_bswap64(chunk);
}

static_assert(std::endian::native == std::endian::little);

}  // namespace

KeyPacking::KeyPacking(std::span<const TbSortKey> keys, const std::vector<ColumnShape>& columns,
                       std::vector<KeyStatistics> statistics)
    : nkeys_(keys.size()), first_cut_(keys.size()) {
  for (size_t i = 0; i < keys.size(); i++) {
    const TbSortKey& key = keys[i];
    keys_.push_back({key.column, columns[key.column].type, (key.flags & TB_SORT_DESCENDING) != 0,
                     (key.flags & TB_SORT_NULLS_FIRST) != 0, columns[key.column].nullable, std::move(statistics[i])});
    if (first_cut_ == nkeys_) add_key(i);
  }
  words_ = std::max(1u, (used_ + 63) / 64);
}

void KeyPacking::add_key(size_t key) {
  const KeyStatistics& s = keys_[key].statistics;
  if (s.nulls && s.values) add_field(key, Part::kNotNull, 1);
  if (!s.values) return;
  if (tb_type_is_text(keys_[key].type)) {
    const uint64_t rest = s.longest - s.start.size();
    for (uint64_t at = 0; at < rest && first_cut_ == nkeys_; at += 8)
      add_field(key, Part::kBytes, static_cast<unsigned>(std::min<uint64_t>(rest - at, 8)) * 8,
                static_cast<unsigned>(at / 8));
    add_field(key, Part::kLength, bit_width(rest));
    return;
  }
  const unsigned bits = bit_width(s.greatest - s.least);
  if (bits > 64) add_field(key, Part::kHigh, bits - 64);
  add_field(key, Part::kLow, std::min(bits, 64u));
}

/* As much of it as there is room for. */
void KeyPacking::add_field(size_t key, Part part, unsigned bits, unsigned chunk) {
  if (bits == 0 || first_cut_ != nkeys_) return;
  if (used_ + bits > kMostKeyWords * 64) first_cut_ = key;
  if (used_ == kMostKeyWords * 64) return;
  fields_.push_back({key, part, chunk, bits, used_});
  used_ = std::min(used_ + bits, kMostKeyWords * 64);
  key_of_bit_.resize(used_, key);
}

void KeyPacking::read_codes(const Field& field, const ResultBatch& batch, const RowRef* refs, size_t n,
                            uint64_t* codes) const {
  const Key& key = keys_[field.key];
  const KeyStatistics& s = key.statistics;
  const ResultColumn& column = batch.columns[key.column];
  if (field.part == Part::kNotNull) {
    for (size_t i = 0; i < n; i++) codes[i] = column.is_null(ref_row(refs[i])) != key.nulls_first;
  } else if (field.part == Part::kBytes) {
    const size_t at = s.start.size() + field.chunk * 8;
    const uint64_t flip = key.descending ? ~uint64_t{0} : 0;
    for (size_t i = 0; i < n; i++)
      codes[i] = (text_chunk(text_at(batch, column, ref_row(refs[i])), at) ^ flip) >> (64 - field.bits);
  } else if (field.part == Part::kLength) {
    for (size_t i = 0; i < n; i++) {
      const uint64_t length = text_at(batch, column, ref_row(refs[i])).size();
      codes[i] = key.descending ? s.longest - length : length - s.start.size();
    }
  } else {
    const bool high = field.part == Part::kHigh;
    with_ordered(key.type, [&](auto ordered) {
      using Code = decltype(ordered(column.values));
      const auto least = static_cast<Code>(s.least), greatest = static_cast<Code>(s.greatest);
      for (size_t i = 0; i < n; i++) {
        const Code code = ordered(column.at(ref_row(refs[i])));
        const Code distance = key.descending ? greatest - code : code - least;
        codes[i] = high ? static_cast<uint64_t>(static_cast<uint128>(distance) >> 64) : static_cast<uint64_t>(distance);
      }
    });
  }
  // A NULL's value is any; equal ones need the same.
  if (field.part != Part::kNotNull && s.nulls)
    for (size_t i = 0; i < n; i++)
      if (column.is_null(ref_row(refs[i]))) codes[i] = 0;
}

std::optional<std::vector<PackedField>> KeyPacking::fields_on_device() const {
  std::vector<PackedField> fields;
  for (const Field& field : fields_) {
    const Key& key = keys_[field.key];
    PackedField::Part part = PackedField::Part::kNotNull;
    if (field.part == Part::kHigh) part = PackedField::Part::kHigh;
    if (field.part == Part::kLow) part = PackedField::Part::kLow;
    if (field.part == Part::kBytes || field.part == Part::kLength || fields.size() == kMostPackedFields)
      return std::nullopt;
    fields.push_back({key.column, key.type, part, key.descending, key.nulls_first, key.nullable, field.bits,
                      field.offset, key.statistics.least, key.statistics.greatest});
  }
  return fields;
}

void KeyPacking::pack(const ResultBatch& batch, const RowRef* refs, size_t n, uint64_t* words, size_t stride) const {
  for (size_t i = 0; i < n; i++)
    for (unsigned w = 0; w < words_; w++) words[i * stride + w] = 0;
  uint64_t codes[kBlockRows];
  for (const Field& field : fields_) {
    read_codes(field, batch, refs, n, codes);
    // It ends `below` bits above the end of its first word, or that many beyond.
    uint64_t* word = words + field.offset / 64;
    const int below = 64 - static_cast<int>(field.offset % 64 + field.bits);
    if (below >= 0) {
      for (size_t i = 0; i < n; i++) word[i * stride] |= codes[i] << below;
      continue;
    }
    for (size_t i = 0; i < n; i++) word[i * stride] |= codes[i] >> -below;
    if (field.offset / 64 + 1 == words_) continue;  // cut off
    for (size_t i = 0; i < n; i++) word[i * stride + 1] |= codes[i] << (64 + below);
  }
}

}  // namespace turbine
