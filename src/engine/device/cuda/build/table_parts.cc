/*
 * table_parts.cc - see table_parts.h.
 *
 * Owns the parts. Called by the lanes of a BUILD; waits for nothing.
 */
#include "engine/device/cuda/build/table_parts.h"

namespace turbine::cuda {
namespace {

constexpr uint64_t kAlignment = 256;

uint64_t aligned(uint64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

DevicePtr address_of(const void* pointer) { return reinterpret_cast<DevicePtr>(pointer); }

}  // namespace

void TableParts::append(const TbRowStore& store, std::span<const TbColumnData> columns, Stream stream) {
  const uint64_t n = store.nrows;
  if (n == 0) return;
  uint64_t size = 0;
  for (const KeptColumn& column : shape_.columns)
    size += aligned(n * tb_type_width(column.type)) + (column.nullable ? aligned(n) : 0);
  if (shape_.nkeys > 0) size += aligned(n * sizeof(uint64_t));
  size += aligned(store.arena_used);

  Part part;
  part.memory = context_.device_memory().allocate(driver_, size, &account_);
  DevicePtr at = part.memory.device();
  auto copy = [&](DevicePtr from, uint64_t bytes) {
    const DevicePtr to = at;
    if (bytes) driver_.check(driver_.memcpy_dtod_async(to, from, static_cast<size_t>(bytes), stream));
    at += aligned(bytes);
    return to;
  };
  for (size_t i = 0; i < columns.size(); i++) {
    TbColumnData& to = part.columns.emplace_back();
    to = {};
    to.values = reinterpret_cast<void*>(copy(address_of(columns[i].values), n * tb_type_width(shape_.columns[i].type)));
    if (shape_.columns[i].nullable) to.valid = reinterpret_cast<uint8_t*>(copy(address_of(columns[i].valid), n));
  }
  part.hashes = shape_.nkeys > 0
                    ? reinterpret_cast<const uint64_t*>(copy(address_of(store.hashes), n * sizeof(uint64_t)))
                    : nullptr;
  part.text = copy(address_of(store.arena), store.arena_used);
  part.text_size = store.arena_used;
  part.nrows = n;
  rows_ += n;
  text_size_ += store.arena_used;
  parts_.push_back(std::move(part));
}

}  // namespace turbine::cuda
