/*
 * join_table_build.cc - the rows of a BUILD made into a join table.
 *
 * Called once, by the row sink of a BUILD. Owns the new block until the caller takes it;
 * nothing in it may be an address, since a GPU gets the same bytes.
 */
#include "engine/device/host/join_table_build.h"

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>

#include "engine/device/device.h"
#include "engine/device/host/kept_parts.h"
#include "engine/device/join_table_layout.h"
#include "turbine/wire.h"

namespace turbine {

namespace {

template <class T>
T load(const uint8_t* values, uint64_t row) {
  T value;
  memcpy(&value, values + row * sizeof value, sizeof value);
  return value;
}

/* Key `row` of a column of an integer type, as a number. */
int64_t integer_value(uint32_t type, const uint8_t* values, uint64_t row) {
  switch (tb_type_width(type)) {
    case 2: return load<int16_t>(values, row);
    case 4: return load<int32_t>(values, row);
    default: return load<int64_t>(values, row);
  }
}

/* Where look-ups may find rows by their one integer key. */
struct KeyRange {
  KeyPlaces places;
  std::optional<HostBuffer> ranks;  // unique: TbRankWord for every 32 values of key - min

  uint64_t rank(int64_t key) const;  // of a key that is there
};

uint64_t KeyRange::rank(int64_t key) const {
  const uint64_t place = static_cast<uint64_t>(key) - static_cast<uint64_t>(places.min);
  const TbRankWord word = reinterpret_cast<const TbRankWord*>(ranks->data())[place / 32];
  return word.before + static_cast<uint32_t>(std::popcount(word.bits & ((1u << (place % 32)) - 1)));
}

/* Of an integer key, in one pass over the rows. */
KeyBounds bounds_of_key(const KeptRowLayout& shape, const KeptParts& parts, size_t key, WorkerPool& pool) {
  const uint32_t type = shape.columns[key].type;
  std::mutex mutex;
  KeyBounds bounds;
  parts.each(pool, [&](const KeptParts::Part& part) {
    KeyBounds own;
    for (uint64_t i = 0; i < part.count; i++) {
      if (null_key(shape, part, i)) {
        own.nulls = true;
        continue;
      }
      const int64_t value = integer_value(type, part.store->values(key), part.first + i);
      own.min = std::min(own.min, value);
      own.max = std::max(own.max, value);
    }
    std::lock_guard lock(mutex);
    bounds.min = std::min(bounds.min, own.min);
    bounds.max = std::max(bounds.max, own.max);
    bounds.nulls |= own.nulls;
  });
  return bounds;
}

/* Of the one key, whose bounds are known. Nothing if the range is too wide for its
 * rows. Throws DeviceError. */
std::optional<KeyRange> narrow_key_range(const KeptRowLayout& shape, const KeptParts& parts, const KeyBounds& bounds,
                                         WorkerPool& pool, MemoryBudget& budget) {
  const uint32_t type = shape.columns[0].type;
  const std::optional<KeyPlaces> places = narrow_key_places(bounds, parts.rows());
  if (!places) return {};
  KeyRange range{*places, {}};
  if (parts.rows() == 0) return range;
  range.ranks.emplace(budget, places->words() * sizeof(TbRankWord));

  auto* words = reinterpret_cast<TbRankWord*>(range.ranks->data());
  // Rows without a key have no place in its order.
  std::atomic<bool> unique{!bounds.nulls};
  parts.each(pool, [&](const KeptParts::Part& part) {
    for (uint64_t i = 0; i < part.count && unique.load(std::memory_order_relaxed); i++) {
      const int64_t key = integer_value(type, part.store->values(0), part.first + i);
      const uint64_t place = static_cast<uint64_t>(key) - static_cast<uint64_t>(places->min);
      const uint32_t bit = 1u << (place % 32);
      if (std::atomic_ref(words[place / 32].bits).fetch_or(bit, std::memory_order_relaxed) & bit) unique = false;
    }
  });
  range.places.unique = unique;
  uint32_t before = 0;
  for (uint64_t i = 0; i < places->words(); i++) {
    words[i].before = before;
    before += static_cast<uint32_t>(std::popcount(words[i].bits));
  }
  return range;
}

struct ColumnTarget {
  uint8_t* values;
  uint8_t* valid;  // null: no NULLs
};

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

/* The part's rows one after another, at their numbers. */
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

/* Each row at its key's rank; column 0 is the key. */
void scatter_column(const KeptRowLayout& shape, size_t column, const KeptParts::Part& part, const KeyRange& keys,
                    const ColumnTarget& to) {
  const uint8_t* values = part.store->values(0);
  const uint32_t key_type = shape.columns[0].type;
  place_column(shape.columns[column].type, column, part, to,
               [&](uint64_t i) { return keys.rank(integer_value(key_type, values, part.first + i)); });
}

/* The part's share of its store's text. */
void copy_bytes(const KeptParts::Part& part, uint8_t* to) {
  // Each part takes a share as large as its share of the store's rows.
  const HostRowStore& store = *part.store;
  auto share = [&store](uint64_t row) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(store.arena_used()) * row / store.size());
  };
  const uint64_t begin = share(part.first), end = share(part.first + part.count);
  memcpy(to + part.bytes + begin, store.arena() + begin, end - begin);
}

/*
 * Rows of equal keys that one thread meets are chained here, before the table that all threads fill is touched. A key
 * that a million rows share would otherwise make every thread fight for one word; and between a row's arrival and its
 * turn the cache line of its bucket has time to come.
 *
 * Filler: where chains end up.
 *   bool same(uint32_t a, uint32_t b)    are the keys of rows a and b equal,
 *                                        given that their hashes are
 *   void prefetch(uint64_t hash)
 *   std::optional<uint32_t> publish(uint64_t hash, uint32_t first)
 *                                        makes the chain from `first` (row + 1)
 *                                        known; where there are equal keys
 *                                        already, returns what its last row goes
 *                                        on with (row + 1, or 0)
 */
template <class Filler>
class ChainCache {
 public:
  ChainCache(Filler& filler, uint32_t* next) : filler_(filler), next_(next) {}

  void add(uint64_t hash, uint32_t row) {
    Chain& chain = chains_[hash % kChains];
    if (chain.first != 0 && chain.hash == hash && filler_.same(chain.first - 1, row)) {
      next_[row] = chain.first;
      chain.first = row + 1;
      chained_ = true;
      return;
    }
    publish(chain);
    chain = {hash, row + 1, row + 1};
    filler_.prefetch(hash);
  }

  /* Publishes all; says whether any row has another with equal keys. */
  bool finish() {
    for (Chain& chain : chains_) publish(chain);
    return chained_;
  }

 private:
  static constexpr size_t kChains = 128;
  struct Chain {
    uint64_t hash = 0;
    uint32_t first = 0, last = 0;  // row + 1; 0: empty
  };

  void publish(Chain& chain) {
    if (chain.first == 0) return;
    if (const std::optional<uint32_t> rest = filler_.publish(chain.hash, chain.first)) {
      next_[chain.last - 1] = *rest;
      chained_ = true;
    }
    chain = {};
  }

  Filler& filler_;
  uint32_t* const next_;
  std::array<Chain, kChains> chains_{};
  bool chained_ = false;
};

/* A table under construction, its columns and text filled in; `next` has an
 * entry a row. */
struct TableMemory {
  TbJoinTable* table;
  uint32_t* next;
  uint8_t* at(uint64_t offset) const { return reinterpret_cast<uint8_t*>(table) + offset; }
};

/* Equality of canonical keys in the table's columns: that of their bytes. */
class KeyColumns {
 public:
  KeyColumns(const TableMemory& memory, const KeptRowLayout& shape) : bytes_(memory.at(memory.table->bytes)) {
    for (size_t i = 0; i < shape.nkeys; i++)
      keys_.push_back({memory.at(memory.table->columns[i].values), tb_type_width(shape.columns[i].type),
                       tb_type_is_text(shape.columns[i].type) != 0});
  }

  bool same(uint32_t a, uint32_t b) const {
    for (const Key& key : keys_) {
      const uint8_t* x = key.values + uint64_t{a} * key.width;
      const uint8_t* y = key.values + uint64_t{b} * key.width;
      if (key.text ? !same_text(x, y) : memcmp(x, y, key.width) != 0) return false;
    }
    return true;
  }

 private:
  struct Key {
    const uint8_t* values;
    uint32_t width;
    bool text;
  };
  bool same_text(const uint8_t* x, const uint8_t* y) const {
    TbTextView a, b;
    memcpy(&a, x, sizeof a);
    memcpy(&b, y, sizeof b);
    if (a.length != b.length || a.prefix != b.prefix) return false;
    return a.length <= sizeof a.prefix || memcmp(bytes_ + a.offset, bytes_ + b.offset, a.length) == 0;
  }

  const uint8_t* const bytes_;
  std::vector<Key> keys_;
};

/*
 * Fillers share words with other threads: a bucket goes from empty to a row once and then stays (HASH), or is
 * exchanged for a new first row (DIRECT). Of a chain only the link of its first row changes after it was published
 * (HASH), by who has seen it in its bucket: that is why buckets are released and acquired. So there is nothing to
 * lock, and a chain takes one exchange however long it is.
 */
class HashFiller {
 public:
  HashFiller(const TableMemory& memory, const KeptRowLayout& shape)
      : keys_(memory, shape),
        buckets_(reinterpret_cast<uint64_t*>(memory.at(memory.table->buckets))),
        mask_(memory.table->bucket_mask),
        next_(memory.next) {}

  bool same(uint32_t a, uint32_t b) const { return keys_.same(a, b); }
  void prefetch(uint64_t hash) const { __builtin_prefetch(&buckets_[hash & mask_], 1); }

  std::optional<uint32_t> publish(uint64_t hash, uint32_t first) {
    const uint64_t tag = hash >> 32 << 32;
    for (uint64_t i = hash & mask_;; i = (i + 1) & mask_) {
      std::atomic_ref bucket(buckets_[i]);
      uint64_t there = bucket.load(std::memory_order_acquire);
      if (there == 0 && bucket.compare_exchange_strong(there, tag | first, std::memory_order_acq_rel)) return {};
      if (there >> 32 << 32 != tag) continue;
      const auto head = static_cast<uint32_t>(there) - 1;
      if (!keys_.same(head, first - 1)) continue;
      return std::atomic_ref(next_[head]).exchange(first, std::memory_order_relaxed);
    }
  }

 private:
  const KeyColumns keys_;
  uint64_t* const buckets_;
  const uint64_t mask_;
  uint32_t* const next_;
};

class DirectFiller {
 public:
  explicit DirectFiller(const TableMemory& memory)
      : buckets_(reinterpret_cast<uint32_t*>(memory.at(memory.table->buckets))) {}

  bool same(uint32_t, uint32_t) const { return true; }  // the place is the key
  void prefetch(uint64_t place) const { __builtin_prefetch(&buckets_[place], 1); }
  std::optional<uint32_t> publish(uint64_t place, uint32_t first) {
    const uint32_t rest = std::atomic_ref(buckets_[place]).exchange(first, std::memory_order_relaxed);
    if (rest == 0) return {};
    return rest;
  }

 private:
  uint32_t* const buckets_;
};

/* HASH and DIRECT. Return whether any rows have equal keys. */
bool fill_hash_buckets(const TableMemory& memory, const KeptRowLayout& shape, const KeptParts& parts,
                       WorkerPool& pool) {
  HashFiller filler(memory, shape);
  std::atomic<bool> chained{false};
  parts.each(pool, [&](const KeptParts::Part& part) {
    ChainCache cache(filler, memory.next);
    const uint64_t* hashes = part.store->hashes() + part.first;
    for (uint64_t i = 0; i < part.count; i++)
      if (!null_key(shape, part, i)) cache.add(hashes[i], static_cast<uint32_t>(part.number + i));
    if (cache.finish()) chained = true;
  });
  return chained;
}

bool fill_direct_buckets(const TableMemory& memory, const KeptRowLayout& shape, const KeptParts& parts,
                         WorkerPool& pool) {
  DirectFiller filler(memory);
  std::atomic<bool> chained{false};
  parts.each(pool, [&](const KeptParts::Part& part) {
    ChainCache cache(filler, memory.next);
    const uint8_t* keys = part.store->values(0);
    for (uint64_t i = 0; i < part.count; i++) {
      if (null_key(shape, part, i)) continue;
      const int64_t key = integer_value(shape.columns[0].type, keys, part.first + i);
      const uint64_t place = static_cast<uint64_t>(key) - static_cast<uint64_t>(memory.table->key_min);
      cache.add(place, static_cast<uint32_t>(part.number + i));
    }
    if (cache.finish()) chained = true;
  });
  return chained;
}

class Builder {
 public:
  Builder(const KeptRowLayout& shape, const KeptParts& parts, WorkerPool& pool, MemoryBudget& budget)
      : shape_(shape), parts_(parts), pool_(pool), budget_(budget) {}

  std::shared_ptr<const JoinTable> build() {
    find_bounds();
    if (one_integer_key(shape_)) range_ = narrow_key_range(shape_, parts_, bounds_[0], pool_, budget_);
    const JoinTableLayout layout(shape_, parts_.rows(), parts_.bytes(),
                                 range_ ? std::optional(range_->places) : std::nullopt);
    HostBuffer block(budget_, layout.size_with_chains());
    layout.write_header(block.data());
    fill({reinterpret_cast<TbJoinTable*>(block.data()), reinterpret_cast<uint32_t*>(block.data() + layout.chains())},
         layout);
    block.shrink(reinterpret_cast<TbJoinTable*>(block.data())->total_size);
    return std::make_shared<const JoinTable>(std::move(block), shape_, parts_.rows(), bounds_);
  }

 private:
  /* Of the first keys, which whoever reads the probing side may ask for. */
  void find_bounds() {
    bounds_.resize(std::min<size_t>(shape_.nkeys, TB_MAX_KEY_BOUNDS));
    for (size_t key = 0; key < bounds_.size(); key++)
      if (is_integer_key(shape_.columns[key].type)) bounds_[key] = bounds_of_key(shape_, parts_, key, pool_);
  }

  void fill(const TableMemory& memory, const JoinTableLayout& layout) {
    const uint32_t kind = layout.header().kind;
    for (size_t i = 0; i < layout.columns().size(); i++) {
      const JoinTableLayout::Column& column = layout.columns()[i];
      if (column.values == 0) continue;
      const ColumnTarget target{memory.at(column.values), column.valid ? memory.at(column.valid) : nullptr};
      parts_.each(pool_, [&](const KeptParts::Part& part) {
        if (kind == TB_TABLE_DENSE)
          scatter_column(shape_, i, part, *range_, target);
        else
          copy_column(shape_, i, part, target);
      });
    }
    parts_.each(pool_, [&](const KeptParts::Part& part) { copy_bytes(part, memory.at(layout.header().bytes)); });

    bool chained = false;
    if (kind == TB_TABLE_HASH) chained = fill_hash_buckets(memory, shape_, parts_, pool_);
    if (kind == TB_TABLE_DIRECT) chained = fill_direct_buckets(memory, shape_, parts_, pool_);
    if (kind == TB_TABLE_DENSE && range_->ranks)
      memcpy(memory.at(layout.header().buckets), range_->ranks->data(), layout.buckets_size());
    if (!chained) return;
    memory.table->next = layout.chains();
    memory.table->total_size = layout.size_with_chains();
  }

  const KeptRowLayout& shape_;
  const KeptParts& parts_;
  WorkerPool& pool_;
  MemoryBudget& budget_;
  std::vector<KeyBounds> bounds_;
  std::optional<KeyRange> range_;
};

}  // namespace

std::shared_ptr<const JoinTable> build_join_table(const KeptRowLayout& shape, KeptParts::Stores stores,
                                                  WorkerPool& pool, MemoryBudget& budget) {
  const KeptParts parts(stores);
  return Builder(shape, parts, pool, budget).build();
}

}  // namespace turbine
