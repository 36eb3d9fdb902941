/*
 * lane_rows.cc - kept rows of one lane, in device memory and in pinned memory.
 *
 * Called by the lane's worker only. Holds one range of rows at a time and must never
 * start the next before that one is taken.
 */
#include "engine/device/cuda/memory/lane_rows.h"

#include <algorithm>

#include "engine/memory/alignment.h"

namespace turbine::cuda {

namespace {

constexpr uint64_t kSmallestText = uint64_t{64} << 10;
constexpr uint64_t kMostText = uint64_t{1} << 32;  // offsets of views have 32 bits
constexpr uint64_t kTextGrowth = 4;

uint64_t header_size(const KeptRowLayout& shape) {
  return sizeof(TbRowStore) + shape.columns.size() * sizeof(TbColumnData);
}

bool has_text(const KeptRowLayout& shape) {
  return std::any_of(shape.columns.begin(), shape.columns.end(),
                     [](const KeptColumn& column) { return tb_type_is_text(column.type) != 0; });
}

}  // namespace

/* A byte for nothing comes first, so that no offset is 0. */
LaneRows::Arrays LaneRows::lay_out(const KeptRowLayout& shape, uint64_t capacity) {
  Arrays arrays;
  arrays.size = kDeviceAlignment;
  auto take = [&arrays](uint64_t bytes) {
    const uint64_t offset = arrays.size;
    arrays.size += device_aligned(bytes);
    return offset;
  };
  for (const KeptColumn& column : shape.columns) {
    const uint64_t values = take(capacity * tb_type_width(column.type));
    arrays.columns.push_back({values, column.nullable ? take(capacity) : 0});
  }
  if (shape.nkeys > 0) arrays.hashes = take(capacity * sizeof(uint64_t));
  return arrays;
}

uint64_t LaneRows::first_text(const KeptRowLayout& shape, uint64_t capacity) {
  // Most tuples of a chunk's room are never there, so a few bytes for each do.
  return has_text(shape) ? std::clamp(capacity * 4, kSmallestText, kMostText) : 0;
}

uint64_t LaneRows::device_bytes(const KeptRowLayout& shape, uint64_t capacity) {
  const uint64_t text = first_text(shape, capacity);
  return MemoryPool::rounded(header_size(shape)) + MemoryPool::rounded(lay_out(shape, capacity).size) +
         (text ? MemoryPool::rounded(text) : 0);
}

void LaneRows::ensure(uint64_t capacity) {
  MemoryPool& pool = context_.device_memory();
  if (!header_) {
    header_ = pool.allocate(driver_, header_size(shape_), &account_);
    host_header_ = context_.pinned_memory().allocate(driver_, header_size(shape_), nullptr);
  }
  if (capacity_ < capacity || !arrays_) {
    arrays_.reset();
    capacity_ = 0;
    layout_ = lay_out(shape_, capacity);
    arrays_ = pool.allocate(driver_, layout_.size, &account_);
    capacity_ = capacity;
  }
  const uint64_t text = first_text(shape_, capacity);
  if (text && !text_) text_ = pool.allocate(driver_, text, &account_);
}

void LaneRows::reset(Stream stream) {
  TbRowStore& header = host_header();
  auto* columns = reinterpret_cast<TbColumnData*>(&header + 1);
  for (size_t i = 0; i < layout_.columns.size(); i++) {
    const Column& column = layout_.columns[i];
    columns[i].values = reinterpret_cast<void*>(arrays_.device() + column.values);
    columns[i].valid = column.valid ? reinterpret_cast<uint8_t*>(arrays_.device() + column.valid) : nullptr;
  }
  header = {};
  header.columns = reinterpret_cast<TbColumnData*>(header_.device() + sizeof(TbRowStore));
  header.hashes = layout_.hashes ? reinterpret_cast<uint64_t*>(arrays_.device() + layout_.hashes) : nullptr;
  header.capacity = capacity_;
  header.arena = reinterpret_cast<uint8_t*>(text_.device());
  header.arena_capacity = std::min(text_.size(), kMostText);
  driver_.check(driver_.memcpy_htod_async(header_.device(), &header, header_size(shape_), stream));
}

void LaneRows::grow_text() {
  if (!text_ || text_.size() >= kMostText)
    throw DeviceError(TB_FALLBACK_DEVICE_MEMORY, "projected rows find no room on the device");
  const uint64_t size = std::min(text_.size() * kTextGrowth, kMostText);
  text_ = context_.device_memory().allocate(driver_, size, &account_);
}

void LaneRows::copy_out(const TbRowStore& store, Stream stream) {
  if (store.nrows > capacity_ || store.arena_used > text_.size())
    throw DeviceError(TB_FALLBACK_DEVICE_LOST, "the device reports more rows than there is room for");
  const Arrays to = lay_out(shape_, store.nrows);
  const std::vector<Column>& places = to.columns;
  const uint64_t columns_size = to.size;
  const uint64_t size = columns_size + store.arena_used;
  if (staging_.size() < size) {
    const uint64_t before = staging_.size();
    staging_.reset();
    staging_ = context_.pinned_memory().allocate(driver_, std::max(size, 2 * before), nullptr);
  }
  auto fetch = [&](uint64_t at, DevicePtr from, uint64_t bytes) {
    if (bytes) driver_.check(driver_.memcpy_dtoh_async(staging_.host() + at, from, bytes, stream));
    return staging_.host() + at;
  };
  staged_ = {};
  staged_.nrows = store.nrows;
  for (size_t i = 0; i < places.size(); i++) {
    const uint64_t width = tb_type_width(shape_.columns[i].type);
    StagedRows::Column column{};
    column.values = fetch(places[i].values, arrays_.device() + layout_.columns[i].values, store.nrows * width);
    if (places[i].valid)
      column.valid = fetch(places[i].valid, arrays_.device() + layout_.columns[i].valid, store.nrows);
    staged_.columns.push_back(column);
    staged_.bytes += store.nrows * (width + (column.valid ? 1 : 0));
  }
  staged_.text = fetch(columns_size, text_.device(), store.arena_used);
  staged_.text_size = store.arena_used;
  staged_.bytes += store.arena_used;
}

}  // namespace turbine::cuda
