/*
 * key_packing.h - the keys of a row as one integer of 64, 128 or 192 bits, whose
 * order is that of the rows.
 *
 * From the first key on, most significant bit first, each key takes as few bits as
 * its values need: a bit for NULL where there are any; a value's distance from the
 * least one (from the greatest, descending); of a text the bytes behind what all
 * texts begin with, zero-padded, then its length. What does not fit is cut off:
 * then rows with equal integers are compared where they lie, from the key on that
 * was cut.
 */
#pragma once

#include <optional>

#include "engine/device/device_window.h"
#include "engine/result/order/key_statistics.h"

namespace turbine {

constexpr unsigned kMostKeyWords = 3;

class KeyPacking {
 public:
  KeyPacking(std::span<const TbSortKey> keys, const std::vector<ColumnShape>& columns,
             std::vector<KeyStatistics> statistics);

  unsigned words() const { return words_; }
  /* Bits that are in use, from the most significant on. */
  unsigned bits() const { return used_; }

  /* Do equal integers mean equal keys? */
  bool exact() const { return first_cut_ == nkeys_; }
  /* The first key that the integer does not tell all of. */
  size_t first_cut() const { return first_cut_; }
  /* The key that bit `bit` belongs to, 0 being the most significant. */
  size_t key_of_bit(unsigned bit) const { return key_of_bit_[bit]; }

  /* For a device that packs the keys itself, or nothing: texts, or too many of them. */
  std::optional<std::vector<PackedField>> fields_on_device() const;

  /* Sets the words of `n` rows of a batch: row i's are at words[i * stride]. */
  void pack(const ResultBatch& batch, const RowRef* refs, size_t n, uint64_t* words, size_t stride) const;

 private:
  enum class Part { kNotNull, kHigh, kLow, kBytes, kLength };
  struct Field {
    size_t key;
    Part part;
    unsigned chunk;   // kBytes: which eight
    unsigned bits;
    unsigned offset;  // of its most significant bit
  };
  struct Key {
    uint32_t column, type;
    bool descending, nulls_first, nullable;
    KeyStatistics statistics;
  };
  void add_field(size_t key, Part part, unsigned bits, unsigned chunk = 0);
  void add_key(size_t key);
  void read_codes(const Field& field, const ResultBatch& batch, const RowRef* refs, size_t n, uint64_t* codes) const;

  std::vector<Key> keys_;
  std::vector<Field> fields_;
  std::vector<size_t> key_of_bit_;
  size_t nkeys_, first_cut_;
  unsigned used_ = 0, words_ = 1;
};

}  // namespace turbine
