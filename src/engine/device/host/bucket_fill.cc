/*
 * bucket_fill.cc - the buckets and chains of a join table, filled by many threads.
 *
 * Words that threads share: a bucket goes from empty to a row once and then stays
 * (HASH), or is exchanged for a new first row (DIRECT); of a chain only the
 * link of its first row changes after it was published (HASH), by who has seen
 * it in its bucket: that is why buckets are released and acquired. So there is
 * nothing to lock, and a chain takes one exchange however long it is.
 */
#include "engine/device/host/bucket_fill.h"

#include <atomic>
#include <cstring>

#include "engine/device/host/chain_cache.h"

namespace turbine {
namespace {

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

}  // namespace

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

}  // namespace turbine
