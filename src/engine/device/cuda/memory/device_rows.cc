/*
 * device_rows.cc - see device_rows.h.
 *
 * Owns the parts. Called by the lanes, which do not wait, and at the end.
 */
#include "engine/device/cuda/memory/device_rows.h"

#include "engine/device/cuda/driver/stream.h"
#include "engine/memory/alignment.h"

namespace turbine::cuda {
namespace {

DevicePtr address_of(const void* pointer) { return reinterpret_cast<DevicePtr>(pointer); }

}  // namespace

void DeviceRows::append(const TbRowStore& store, std::span<const TbColumnData> columns, Stream stream) {
  const uint64_t n = store.nrows;
  if (n == 0) return;
  uint64_t size = 0;
  for (const KeptColumn& column : shape_.columns)
    size += device_aligned(n * tb_type_width(column.type)) + (column.nullable ? device_aligned(n) : 0);
  if (shape_.nkeys > 0) size += device_aligned(n * sizeof(uint64_t));
  size += device_aligned(store.arena_used);

  Part part;
  part.memory = context_.device_memory().allocate(driver_, size, &account_);
  DevicePtr at = part.memory.device();
  auto copy = [&](DevicePtr from, uint64_t bytes) {
    const DevicePtr to = at;
    if (bytes) driver_.check(driver_.memcpy_dtod_async(to, from, static_cast<size_t>(bytes), stream));
    at += device_aligned(bytes);
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

void DeviceRows::merge(Stream stream) {
  if (parts_.size() < 2) return;
  uint64_t size = 0;
  for (const KeptColumn& column : shape_.columns)
    size += device_aligned(rows_ * tb_type_width(column.type)) + (column.nullable ? device_aligned(rows_) : 0);
  Part all;
  all.memory = context_.device_memory().allocate(driver_, size, &account_);
  all.hashes = nullptr;
  all.text = 0;
  all.nrows = rows_;
  all.text_size = 0;
  const StreamWait wait(driver_, stream);
  DevicePtr at = all.memory.device();
  auto collect = [&](uint64_t width, auto array) {
    const DevicePtr begin = at;
    uint64_t row = 0;
    for (const Part& part : parts_) {
      driver_.check(driver_.memcpy_dtod_async(begin + row * width, array(part), part.nrows * width, stream));
      row += part.nrows;
    }
    at += device_aligned(rows_ * width);
    return begin;
  };
  for (size_t i = 0; i < shape_.columns.size(); i++) {
    TbColumnData& to = all.columns.emplace_back();
    to = {};
    to.values = reinterpret_cast<void*>(collect(tb_type_width(shape_.columns[i].type),
                                                [i](const Part& part) { return address_of(part.columns[i].values); }));
    if (shape_.columns[i].nullable)
      to.valid = reinterpret_cast<uint8_t*>(
          collect(1, [i](const Part& part) { return address_of(part.columns[i].valid); }));
  }
  driver_.check(driver_.stream_synchronize(stream));
  parts_.clear();
  parts_.push_back(std::move(all));
}

}  // namespace turbine::cuda
