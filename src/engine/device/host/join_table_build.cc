/*
 * join_table_build.cc - the rows of a BUILD made into a join table.
 *
 * Called once, by the row sink of a BUILD. Owns the new block until the caller takes it;
 * nothing in it may be an address, since a GPU gets the same bytes.
 */
#include "engine/device/host/join_table_build.h"

#include <bit>
#include <cstring>

#include "engine/device/device.h"
#include "engine/device/host/column_copy.h"
#include "engine/device/host/key_range.h"
#include "engine/device/host/bucket_fill.h"
#include "turbine/wire.h"

namespace turbine {
namespace {

constexpr uint64_t kMostRows = 0xfffffffeu;      // row numbers have 32 bits, one is TB_NONE
constexpr uint64_t kMostBytes = 1ull << 32;      // as have offsets of text views
constexpr uint64_t kBucketsPerRow = 2;             // open addressing, at most half full
/* DIRECT has 4 bytes for every key of the range; wider ones are hashed. */
constexpr uint64_t kDirectPlacesPerRow = 16;
constexpr uint64_t kAlwaysDirect = 4096;

uint64_t aligned(uint64_t size) { return (size + 63) & ~uint64_t{63}; }

class Builder {
 public:
  Builder(const KeptRowLayout& shape, const KeptParts& parts, WorkerPool& pool, MemoryBudget& budget)
      : shape_(shape), parts_(parts), pool_(pool), budget_(budget) {
    header_.ncolumns = static_cast<uint32_t>(shape.columns.size());
  }

  std::shared_ptr<const JoinTable> build() {
    if (parts_.rows() > kMostRows) throw DeviceError(TB_FALLBACK_HOST_MEMORY, "a join table has too many rows");
    if (parts_.bytes() > kMostBytes) throw DeviceError(TB_FALLBACK_HOST_MEMORY, "texts of a join table exceed 4 GB");
    choose_kind();
    lay_out();
    HostBuffer block(budget_, next_offset_ + (chains_ ? header_.nrows * sizeof(uint32_t) : 0));
    memcpy(block.data(), &header_, sizeof header_);
    memcpy(block.data() + sizeof header_, columns_.data(), columns_.size() * sizeof columns_[0]);
    fill({reinterpret_cast<TbJoinTable*>(block.data()), reinterpret_cast<uint32_t*>(block.data() + next_offset_)});
    block.shrink(reinterpret_cast<TbJoinTable*>(block.data())->total_size);
    return std::make_shared<const JoinTable>(std::move(block), shape_, parts_.rows(), bounds_);
  }

 private:
  struct Column {
    uint64_t values, valid;
  };

  /* Of the first keys, which whoever reads the probing side may ask for. */
  void find_bounds() {
    bounds_.resize(std::min<size_t>(shape_.nkeys, TB_MAX_KEY_BOUNDS));
    for (size_t key = 0; key < bounds_.size(); key++)
      if (is_integer_key(shape_, key)) bounds_[key] = bounds_of_key(shape_, parts_, key, pool_);
  }

  void choose_kind() {
    find_bounds();
    header_.nrows = parts_.rows();
    header_.kind = shape_.nkeys == 0 ? TB_TABLE_ALL : TB_TABLE_HASH;
    if (!integer_key(shape_)) return;
    range_ = narrow_key_range(shape_, parts_, bounds_[0], pool_, budget_);
    if (!range_) return;
    if (!range_->unique && range_->span > std::max(parts_.rows() * kDirectPlacesPerRow, kAlwaysDirect)) {
      range_.reset();
      return;
    }
    header_.kind = range_->unique ? TB_TABLE_DENSE : TB_TABLE_DIRECT;
    header_.key_min = range_->min;
    header_.key_span = range_->span;
  }

  uint64_t buckets_size() {
    switch (header_.kind) {
      case TB_TABLE_HASH: {
        const uint64_t buckets = std::bit_ceil(std::max<uint64_t>(header_.nrows * kBucketsPerRow, 2));
        header_.bucket_mask = buckets - 1;
        return buckets * sizeof(uint64_t);
      }
      case TB_TABLE_DIRECT: return header_.key_span * sizeof(uint32_t);
      case TB_TABLE_DENSE: return range_->words() * sizeof(TbRankWord);
      default: return 0;
    }
  }

  void lay_out() {
    uint64_t at = aligned(sizeof header_ + shape_.columns.size() * sizeof(Column));
    auto take = [&at](uint64_t size) {
      const uint64_t offset = at;
      at += aligned(size);
      return offset;
    };
    if (header_.kind != TB_TABLE_ALL) header_.buckets = take(buckets_size());
    for (size_t i = 0; i < shape_.columns.size(); i++) {
      const KeptColumn& column = shape_.columns[i];
      columns_.push_back({0, 0});
      if (i < shape_.nkeys && range_) continue;  // the place is the key
      columns_.back().values = take(header_.nrows * tb_type_width(column.type));
      if (column.nullable) columns_.back().valid = take(header_.nrows);
    }
    header_.bytes = take(parts_.bytes());
    header_.bytes_size = parts_.bytes();
    // Last, so that it can go again if no rows have equal keys.
    next_offset_ = header_.total_size = at;
    chains_ = header_.kind == TB_TABLE_HASH || header_.kind == TB_TABLE_DIRECT;
  }

  void fill(const TableMemory& memory) {
    for (size_t i = 0; i < columns_.size(); i++) {
      if (columns_[i].values == 0) continue;
      const ColumnTarget target{memory.at(columns_[i].values),
                                columns_[i].valid ? memory.at(columns_[i].valid) : nullptr};
      parts_.each(pool_, [&](const KeptParts::Part& part) {
        if (header_.kind == TB_TABLE_DENSE)
          scatter_column(shape_, i, part, *range_, target);
        else
          copy_column(shape_, i, part, target);
      });
    }
    parts_.each(pool_, [&](const KeptParts::Part& part) { copy_bytes(part, memory.at(header_.bytes)); });

    bool chained = false;
    if (header_.kind == TB_TABLE_HASH) chained = fill_hash_buckets(memory, shape_, parts_, pool_);
    if (header_.kind == TB_TABLE_DIRECT) chained = fill_direct_buckets(memory, shape_, parts_, pool_);
    if (header_.kind == TB_TABLE_DENSE && range_->ranks)
      memcpy(memory.at(header_.buckets), range_->ranks->data(), buckets_size());
    if (!chained) return;
    memory.table->next = next_offset_;
    memory.table->total_size += aligned(header_.nrows * sizeof(uint32_t));
  }

  const KeptRowLayout& shape_;
  const KeptParts& parts_;
  WorkerPool& pool_;
  MemoryBudget& budget_;
  std::vector<KeyBounds> bounds_;
  std::optional<KeyRange> range_;
  std::vector<Column> columns_;
  uint64_t next_offset_ = 0;
  bool chains_ = false;  // rows may have equal keys
  TbJoinTable header_{};  // last: it ends in an array
};

}  // namespace

std::shared_ptr<const JoinTable> build_join_table(const KeptRowLayout& shape, KeptParts::Stores stores,
                                                  WorkerPool& pool, MemoryBudget& budget) {
  const KeptParts parts(stores);
  return Builder(shape, parts, pool, budget).build();
}

}  // namespace turbine
