/*
 * host_group_table.cc - growth of, and generic insertion into, host group tables.
 *
 * Called by generated code through the request for room, and by merging. It grows within the
 * query's budget or throws; a growth that throws leaves the table as it was.
 */
#include "engine/device/host/host_group_table.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "engine/device/device.h"

namespace turbine {
namespace {

/* Open addressing, at most a quarter full: to pass over a group is to wait for its row, which has the hash. */
constexpr uint64_t kBucketsPerGroup = 4;
constexpr uint64_t kFirstArena = 64 << 10;
/* Small tables quadruple, so that a query without an estimate soon has its
 * size; large ones double, so as to waste less than half of the memory. */
constexpr uint64_t kSmallCapacity = 1 << 20;
constexpr uint64_t kMaxGroups = 0xfffffff0u;  // buckets hold group number + 1
/* Groups whose buckets are on their way while those before are entered. */
constexpr uint64_t kGroupsAhead = 16;

uint64_t row_hash(const uint8_t* row) {
  uint64_t hash;
  memcpy(&hash, row, sizeof hash);
  return hash;
}

uint64_t checked_capacity(uint64_t capacity) { return std::bit_ceil(std::clamp<uint64_t>(capacity, 16, 1ull << 31)); }

HostBuffer empty_buckets(uint64_t capacity, MemoryBudget& budget) {
  const uint64_t bytes = capacity * kBucketsPerGroup * sizeof(uint32_t);
  HostBuffer buckets(budget, bytes, HostContents::kAnything);
  memset(buckets.data(), 0, bytes);
  return buckets;
}

}  // namespace

uint64_t HostGroupTable::bytes_for(uint32_t row_size, uint64_t capacity) {
  capacity = checked_capacity(capacity);
  return HostBuffer::charged(capacity * row_size) +
         HostBuffer::charged(capacity * kBucketsPerGroup * sizeof(uint32_t)) + HostBuffer::charged(kFirstArena);
}

HostGroupTable::HostGroupTable(uint32_t row_size, uint64_t capacity, MemoryBudget& budget)
    : budget_(budget),
      rows_(budget, checked_capacity(capacity) * row_size, HostContents::kAnything),
      buckets_(empty_buckets(checked_capacity(capacity), budget)) {
  raw_.row_size = row_size;
  raw_.group_capacity = checked_capacity(capacity);
  raw_.bucket_mask = raw_.group_capacity * kBucketsPerGroup - 1;
  raw_.rows = rows_.data();
  raw_.buckets = reinterpret_cast<uint32_t*>(buckets_.data());
}

bool HostGroupTable::ensure_rows(uint64_t groups) {
  const uint64_t needed = raw_.ngroups + groups;
  if (needed <= raw_.group_capacity) return false;
  uint64_t capacity = raw_.group_capacity;
  while (capacity < needed) capacity *= capacity < kSmallCapacity ? 4 : 2;
  if (capacity > kMaxGroups) throw DeviceError(TB_FALLBACK_HOST_MEMORY, "too many groups");

  // Buckets first: they are made afresh, and if the rows cannot grow after that
  // the table is still whole, with more buckets than it needs.
  buckets_ = empty_buckets(capacity, budget_);
  raw_.buckets = reinterpret_cast<uint32_t*>(buckets_.data());
  raw_.bucket_mask = capacity * kBucketsPerGroup - 1;
  rebuild_buckets();
  rows_.grow(capacity * raw_.row_size);
  raw_.rows = rows_.data();
  raw_.group_capacity = capacity;
  return true;
}

void HostGroupTable::rebuild_buckets() {
  for (uint64_t group = 0; group < raw_.ngroups; group++) {
    if (group + kGroupsAhead < raw_.ngroups)
      __builtin_prefetch(&raw_.buckets[row_hash(row(group + kGroupsAhead)) & raw_.bucket_mask], 1);
    uint64_t bucket = row_hash(row(group)) & raw_.bucket_mask;
    while (raw_.buckets[bucket] != 0) bucket = (bucket + 1) & raw_.bucket_mask;
    raw_.buckets[bucket] = static_cast<uint32_t>(group + 1);
  }
}

bool HostGroupTable::ensure_arena(uint64_t bytes) {
  if (raw_.arena_capacity - raw_.arena_used >= bytes) return false;
  const uint64_t last = texts_.empty() ? 0 : texts_.back().size();
  HostBuffer block(budget_, std::max({2 * last, bytes, kFirstArena}), HostContents::kAnything);
  if (last != 0) texts_.back().shrink(raw_.arena_used - reinterpret_cast<uintptr_t>(texts_.back().data()));
  texts_.push_back(std::move(block));
  clear_last_block();
  return true;
}

void HostGroupTable::clear_last_block() {
  raw_.arena_used = reinterpret_cast<uintptr_t>(texts_.back().data());
  raw_.arena_capacity = raw_.arena_used + texts_.back().size();
}

void HostGroupTable::clear_texts() {
  if (texts_.empty()) return;
  texts_.erase(texts_.begin(), texts_.end() - 1);
  clear_last_block();
}

std::vector<HostBuffer> HostGroupTable::take_texts() {
  raw_.arena_used = raw_.arena_capacity = 0;
  return std::exchange(texts_, {});
}

uint64_t HostGroupTable::reserve(uint32_t length) {
  ensure_arena(length);
  const uint64_t offset = raw_.arena_used;
  raw_.arena_used += length;
  return offset;
}

void HostGroupTable::prefetch_texts(const GroupFold& fold, const uint8_t* like) const {
  const uint32_t entry = raw_.buckets[row_hash(like) & raw_.bucket_mask];
  if (entry != 0) fold.prefetch_texts(row(entry - 1), raw_.arena);
}

uint8_t* HostGroupTable::find_or_copy(const GroupFold& fold, const uint8_t* from, const uint8_t* from_arena,
                                      bool* fresh) {
  ensure_rows(1);
  uint64_t bucket = row_hash(from) & raw_.bucket_mask;
  for (; raw_.buckets[bucket] != 0; bucket = (bucket + 1) & raw_.bucket_mask) {
    uint8_t* candidate = row(raw_.buckets[bucket] - 1);
    if (row_hash(candidate) != row_hash(from)) continue;
    if (!fold.same_keys(candidate, raw_.arena, from, from_arena)) continue;
    *fresh = false;
    return candidate;
  }
  uint8_t* added = row(raw_.ngroups);
  if (from_arena == raw_.arena)
    memcpy(added, from, raw_.row_size);
  else
    fold.copy(added, *this, from, from_arena);
  raw_.buckets[bucket] = static_cast<uint32_t>(++raw_.ngroups);
  *fresh = true;
  return added;
}

}  // namespace turbine
