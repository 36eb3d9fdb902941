/*
 * growing_groups.h - a TbGroupTable that starts small and moves to more memory
 * whenever generated code asks for room.
 */
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "turbine/kernel.h"

namespace turbine::testing {

struct GrowingGroups {
  TbGroupTable t{};  // first: make_room() finds the rest behind it
  std::vector<uint32_t> buckets;
  std::vector<uint8_t> arena;
  std::vector<__int128> rows;
  int grown = 0;
  int refuse_after = -1;  // how often to grow before saying no; -1: always grow

  GrowingGroups(uint32_t row_size, uint64_t groups, uint64_t arena_size) {
    t.row_size = row_size;
    resize(groups, arena_size);
  }

  /* To fresh memory: what points to the old is wrong from here on. */
  void resize(uint64_t groups, uint64_t arena_size) {
    std::vector<__int128> new_rows(groups * t.row_size / 16 + 1);
    std::copy(rows.begin(), rows.end(), new_rows.begin());
    poison(rows.data(), rows.size() * 16);
    rows.swap(new_rows);
    t.rows = reinterpret_cast<uint8_t*>(rows.data());
    t.group_capacity = groups;
    std::vector<uint32_t> new_buckets(groups * 2);
    buckets.swap(new_buckets);
    t.buckets = buckets.data();
    t.bucket_mask = buckets.size() - 1;
    std::vector<uint8_t> new_arena(arena_size);
    std::copy(arena.begin(), arena.end(), new_arena.begin());
    poison(arena.data(), arena.size());
    arena.swap(new_arena);
    t.arena = arena.data();
    t.arena_capacity = arena_size;
    for (uint64_t g = 0; g < t.ngroups; g++) {
      uint64_t hash;
      std::memcpy(&hash, t.rows + g * t.row_size, 8);
      uint64_t bucket = hash & t.bucket_mask;
      while (buckets[bucket]) bucket = (bucket + 1) & t.bucket_mask;
      buckets[bucket] = static_cast<uint32_t>(g + 1);
    }
  }

  static void poison(void* memory, size_t size) {
    if (size) std::memset(memory, 0xa5, size);
  }

  static uint32_t make_room(TbPipelineArgs* args, uint64_t groups, uint64_t bytes) {
    auto* self = reinterpret_cast<GrowingGroups*>(args->groups);
    if (self->grown == self->refuse_after) return 0;
    self->grown++;
    uint64_t capacity = self->t.group_capacity;
    while (capacity < self->t.ngroups + groups) capacity *= 2;
    self->resize(capacity, std::max(self->t.arena_capacity, self->t.arena_used + bytes));
    return 1;
  }
};

}  // namespace turbine::testing
