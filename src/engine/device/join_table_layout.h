/*
 * join_table_layout.h - how rows are found in a join table, and where everything lies in its block.
 *
 * One answer for all devices that build tables, from what is known of the rows before any is placed.
 */
#pragma once

#include <optional>
#include <vector>

#include "engine/device/key_bounds.h"
#include "engine/program/kept_row_layout.h"
#include "turbine/kernel.h"

namespace turbine {

/* Values of a table's one integer key, each of which is a place: keys from `min` on. */
struct KeyPlaces {
  int64_t min = 0;
  uint64_t span = 0;   // key - min < span; 0: no rows
  bool unique = true;  // no two rows have the same key, and every row has one

  uint64_t words() const { return (span + 31) / 32; }  // TbRankWord
};

/* Are rows with these keys candidates for look-up by the key itself? */
bool one_integer_key(const KeptRowLayout& shape);

/* Of the one integer key of `rows` rows, `unique` being for the caller to find out. Nothing if the range is too
 * wide for them. */
std::optional<KeyPlaces> narrow_key_places(const KeyBounds& bounds, uint64_t rows);

class JoinTableLayout {
 public:
  /* `bytes` of texts. `places`: of narrow_key_places(), `unique` known. Throws DeviceError where a table can not
   * have so much. */
  JoinTableLayout(const KeptRowLayout& shape, uint64_t rows, uint64_t bytes, const std::optional<KeyPlaces>& places);

  struct Column {
    uint64_t values, valid;  // offsets; 0: not kept, no NULLs
  };
  /* What the block begins with; its total_size is that of a table without chains. */
  const TbJoinTable& header() const { return header_; }
  const std::vector<Column>& columns() const { return columns_; }
  void write_header(uint8_t* block) const;

  uint64_t buckets_size() const { return buckets_size_; }
  /* Where chains go, behind all else: nowhere if no two rows may have equal keys. */
  bool may_have_chains() const { return header_.kind == TB_TABLE_HASH || header_.kind == TB_TABLE_DIRECT; }
  uint64_t chains() const { return header_.total_size; }
  uint64_t size_with_chains() const;

 private:
  void choose_kind(const KeptRowLayout& shape, const std::optional<KeyPlaces>& places);

  std::vector<Column> columns_;
  uint64_t buckets_size_ = 0;
  TbJoinTable header_{};  // last: it ends in an array
};

}  // namespace turbine
