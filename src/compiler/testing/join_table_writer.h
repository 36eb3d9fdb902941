/*
 * join_table_writer.h - makes a TbJoinTable of any kind from the rows that a BUILD
 * program has kept. Rows with NULL keys are there, but not to be found; not in a DENSE
 * one. For tests: plain, not fast.
 */
#pragma once

#include <algorithm>
#include <map>
#include <stdexcept>
#include <vector>

#include "compiler/testing/growing_store.h"

namespace turbine::testing {

class JoinTableWriter {
 public:
  JoinTableWriter(const GrowingStore& store, TbTableKind kind) : store_(store), kind_(kind), n_(store.s.nrows) {
    block_.resize(sizeof(TbJoinTable) + store.columns.size() * 16);
    pad();
    head().kind = kind;
    head().ncolumns = static_cast<uint32_t>(store.columns.size());
    for (uint64_t row = 0; row < n_; row++) place_.push_back(row);
    nrows_ = n_;
    if ((kind == TB_TABLE_DIRECT || kind == TB_TABLE_DENSE) && n_ > 0) measure();
    head().nrows = nrows_;
    if (n_ > 0) {
      if (kind == TB_TABLE_HASH) write_hash();
      if (kind == TB_TABLE_DIRECT) write_direct();
      if (kind == TB_TABLE_DENSE) write_dense();
    }
    write_columns();
    head().total_size = block_.size();
    align();
  }
  const TbJoinTable* table() const { return reinterpret_cast<const TbJoinTable*>(table_); }

 private:
  void align() {
    aligned_.resize(block_.size() + 64);
    table_ = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(aligned_.data()) + 63) & ~uintptr_t{63});
    std::copy(block_.begin(), block_.end(), table_);
  }
  TbJoinTable& head() { return *reinterpret_cast<TbJoinTable*>(block_.data()); }
  void pad() { block_.resize((block_.size() + 63) / 64 * 64); }
  uint64_t append(const void* bytes, size_t size) {
    const uint64_t offset = block_.size();
    block_.insert(block_.end(), static_cast<const uint8_t*>(bytes), static_cast<const uint8_t*>(bytes) + size);
    pad();
    return offset;
  }
  int64_t key(uint64_t row) const {
    const Cell c = store_.read(0, row);
    switch (c->size()) {
      case 2: return value_of<int16_t>(c);
      case 4: return value_of<int32_t>(c);
      default: return value_of<int64_t>(c);
    }
  }
  bool has_key(uint64_t row) const {
    for (size_t i = 0; i < store_.nkeys; i++)
      if (!store_.read(i, row)) return false;
    return true;
  }
  void measure() {
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (uint64_t row = 0; row < n_; row++) {
      if (!has_key(row)) continue;
      least = std::min(least, key(row));
      most = std::max(most, key(row));
    }
    head().key_min = std::min(least, most);
    head().key_span = least <= most ? static_cast<uint64_t>(most - least) + 1 : 1;
  }
  void chain(const std::vector<std::vector<uint64_t>>& same) {
    bool any = false;
    std::vector<uint32_t> next(n_);
    for (const auto& rows : same)
      for (size_t i = 0; i + 1 < rows.size(); i++) {
        next[rows[i]] = static_cast<uint32_t>(rows[i + 1] + 1);
        any = true;
      }
    const uint64_t offset = any ? append(next.data(), next.size() * 4) : 0;
    head().next = offset;
  }
  std::string key_of(uint64_t row) const {
    std::string all;
    for (size_t i = 0; i < store_.nkeys; i++) all += *store_.read(i, row) + "\x1f";
    return all;
  }
  void write_hash() {
    std::map<std::string, std::vector<uint64_t>> rows;
    for (uint64_t row = 0; row < n_; row++)
      if (has_key(row)) rows[key_of(row)].push_back(row);
    uint64_t size = 2;
    while (size < 2 * rows.size()) size *= 2;
    std::vector<uint64_t> buckets(size);
    std::vector<std::vector<uint64_t>> same;
    for (const auto& [text, members] : rows) {
      const uint64_t hash = store_.s.hashes[members[0]];
      for (uint64_t member : members)
        if (store_.s.hashes[member] != hash) throw std::runtime_error("equal keys, different hashes");
      uint64_t bucket = hash & (size - 1);
      while (buckets[bucket]) bucket = (bucket + 1) & (size - 1);
      buckets[bucket] = (hash >> 32) << 32 | (members[0] + 1);
      same.push_back(members);
    }
    const uint64_t offset = append(buckets.data(), buckets.size() * 8);
    head().buckets = offset;
    head().bucket_mask = size - 1;
    chain(same);
  }
  void write_direct() {
    std::vector<uint32_t> buckets(head().key_span);
    std::map<int64_t, std::vector<uint64_t>> rows;
    for (uint64_t row = 0; row < n_; row++)
      if (has_key(row)) rows[key(row)].push_back(row);
    std::vector<std::vector<uint64_t>> same;
    for (const auto& [k, members] : rows) {
      buckets[static_cast<uint64_t>(k - head().key_min)] = static_cast<uint32_t>(members[0] + 1);
      same.push_back(members);
    }
    const uint64_t offset = append(buckets.data(), buckets.size() * 4);
    head().buckets = offset;
    chain(same);
  }
  void write_dense() {
    std::vector<TbRankWord> words((head().key_span + 31) / 32);
    std::map<int64_t, uint64_t> rows;
    for (uint64_t row = 0; row < n_; row++) rows[key(row) - head().key_min] = row;
    uint32_t rank = 0;
    for (const auto& [distance, row] : rows) {
      place_[row] = rank++;
      words[distance / 32].bits |= 1u << (distance % 32);
    }
    rank = 0;
    for (TbRankWord& word : words) {
      word.before = rank;
      rank += static_cast<uint32_t>(__builtin_popcount(word.bits));
    }
    const uint64_t offset = append(words.data(), words.size() * sizeof words[0]);
    head().buckets = offset;
  }
  void write_columns() {
    for (size_t i = 0; i < store_.columns.size(); i++) {
      const auto& column = store_.columns[i];
      const uint32_t width = tb_type_width(column.type);
      const bool kept = i >= store_.nkeys || kind_ == TB_TABLE_HASH;
      std::vector<uint8_t> values(nrows_ * width, 0xa5), valid(nrows_, 0xa5);
      for (uint64_t row = 0; row < n_; row++) {
        std::copy_n(static_cast<const uint8_t*>(store_.data[i].values) + row * width, width,
                    values.data() + place_[row] * width);
        if (column.nullable) valid[place_[row]] = store_.data[i].valid[row];
      }
      const uint64_t at_values = kept ? append(values.data(), values.size()) : 0;
      const uint64_t at_valid = column.nullable ? append(valid.data(), valid.size()) : 0;
      head().columns[i].values = at_values;
      head().columns[i].valid = at_valid;
    }
    const uint64_t offset = append(store_.s.arena, store_.s.arena_used);
    head().bytes = offset;
    head().bytes_size = store_.s.arena_used;
  }

  JoinTableWriter(const JoinTableWriter&) = delete;
  JoinTableWriter& operator=(const JoinTableWriter&) = delete;

  const GrowingStore& store_;
  const TbTableKind kind_;
  const uint64_t n_;
  uint64_t nrows_ = 0;
  std::vector<uint64_t> place_;
  std::vector<uint8_t> block_, aligned_;
  uint8_t* table_ = nullptr;
};

}  // namespace turbine::testing
