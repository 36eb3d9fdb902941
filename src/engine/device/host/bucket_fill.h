/*
 * bucket_fill.h - the buckets and chains of a join table, filled by many threads.
 */
#pragma once

#include "engine/device/host/key_range.h"
#include "engine/device/host/kept_parts.h"

namespace turbine {

/* A table under construction, its columns and text filled in; `next` has an
 * entry a row. */
struct TableMemory {
  TbJoinTable* table;
  uint32_t* next;
  uint8_t* at(uint64_t offset) const { return reinterpret_cast<uint8_t*>(table) + offset; }
};

/* HASH and DIRECT. Return whether any rows have equal keys. */
bool fill_hash_buckets(const TableMemory& memory, const KeptRowLayout& shape, const KeptParts& parts, WorkerPool& pool);
bool fill_direct_buckets(const TableMemory& memory, const KeptRowLayout& shape, const KeptParts& parts,
                         WorkerPool& pool);

}  // namespace turbine
