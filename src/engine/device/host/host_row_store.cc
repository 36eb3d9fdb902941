/*
 * host_row_store.cc - growth of the columns that a sink keeps.
 *
 * Called by generated code through the request for room. Memory is charged to the query before
 * it is used; a failure leaves all rows that were complete.
 */
#include "engine/device/host/host_row_store.h"

#include <algorithm>
#include <cstring>

#include "engine/device/device.h"

namespace turbine {
namespace {

constexpr uint64_t kFirstTextArena = 4 << 10;
/* Text views have offsets of 32 bits. */
constexpr uint64_t kMostArena = 1ull << 32;
/* Growth remaps pages and copies nothing, so that small steps cost little; they
 * are a share of what is there because each is a system call a column. */
constexpr uint64_t kSmallRowCapacity = 1 << 18;

uint64_t next_capacity(uint64_t capacity) {
  return capacity < kSmallRowCapacity ? capacity * 4 : capacity + capacity / 2;
}

}  // namespace

uint64_t HostRowStore::bytes_for(const KeptRowLayout& shape, bool hashes, uint64_t capacity) {
  uint64_t bytes = HostBuffer::charged(kFirstTextArena);
  for (const KeptColumn& column : shape.columns) {
    bytes += HostBuffer::charged(capacity * tb_type_width(column.type));
    if (column.nullable) bytes += HostBuffer::charged(capacity);
  }
  return bytes + (hashes ? HostBuffer::charged(capacity * sizeof(uint64_t)) : 0);
}

HostRowStore::HostRowStore(const KeptRowLayout& shape, bool hashes, uint64_t capacity, MemoryBudget& budget)
    : budget_(budget), arena_(budget, kFirstTextArena, HostContents::kAnything) {
  columns_.reserve(shape.columns.size());
  for (const KeptColumn& column : shape.columns) {
    const uint32_t width = tb_type_width(column.type);
    columns_.push_back(
        {HostBuffer(budget, capacity * width, HostContents::kAnything), {}, width, tb_type_is_text(column.type) != 0});
    if (column.nullable) columns_.back().valid.emplace(budget, capacity, HostContents::kAnything);
  }
  if (hashes) hashes_.emplace(budget, capacity * sizeof(uint64_t), HostContents::kAnything);
  views_.resize(columns_.size());
  raw_.capacity = capacity;
  point_raw();
}

void HostRowStore::point_raw() {
  for (size_t i = 0; i < columns_.size(); i++)
    views_[i] = {columns_[i].values.data(), columns_[i].valid ? columns_[i].valid->data() : nullptr, nullptr};
  raw_.columns = views_.data();
  raw_.hashes = hashes_ ? reinterpret_cast<uint64_t*>(hashes_->data()) : nullptr;
  raw_.arena = arena_.data();
  raw_.arena_capacity = std::min(arena_.size(), kMostArena);
}

void HostRowStore::grow_rows(uint64_t capacity) {
  try {
    for (Column& column : columns_) {
      column.values.grow(capacity * column.width);
      if (column.valid) column.valid->grow(capacity);
    }
    if (hashes_) hashes_->grow(capacity * sizeof(uint64_t));
  } catch (...) {
    point_raw();  // those that grew may have moved
    throw;
  }
  raw_.capacity = capacity;
  point_raw();
}

bool HostRowStore::ensure_rows(uint64_t rows) {
  const uint64_t needed = raw_.nrows + rows;
  if (needed <= raw_.capacity) return false;
  // Beyond any memory, and so that no size wraps around.
  if (needed > UINT64_MAX / 64) throw DeviceError(TB_FALLBACK_HOST_MEMORY, "too many rows");
  uint64_t capacity = raw_.capacity;
  while (capacity < needed) capacity = next_capacity(capacity);
  grow_rows(capacity);
  return true;
}

bool HostRowStore::ensure_bytes(uint64_t bytes) {
  if (raw_.arena_capacity - raw_.arena_used >= bytes) return false;
  if (bytes > kMostArena - raw_.arena_used)
    throw DeviceError(TB_FALLBACK_HOST_MEMORY, "texts of kept rows exceed 4 GB");
  arena_.grow(std::max(std::min(raw_.arena_capacity * 2, kMostArena), raw_.arena_used + bytes));
  point_raw();
  return true;
}

/* Copies of the texts of some rows, in the order in which keep() meets them. */
HostBuffer HostRowStore::texts_of(std::span<const uint32_t> rows, uint64_t* used) const {
  uint64_t size = 0;
  auto each = [&](auto f) {
    for (const Column& column : columns_)
      for (uint32_t row : rows)
        if (column.text && (!column.valid || column.valid->data()[row]))
          f(reinterpret_cast<const TbTextView*>(column.values.data())[row]);
  };
  each([&](const TbTextView& view) { size += view.length; });
  HostBuffer texts(budget_, std::max(size, kFirstTextArena), HostContents::kAnything);
  *used = 0;
  each([&](const TbTextView& view) {
    memcpy(texts.data() + *used, arena_.data() + view.offset, view.length);
    *used += view.length;
  });
  return texts;
}

void HostRowStore::keep(std::span<const uint32_t> rows) {
  uint64_t used;
  HostBuffer texts = texts_of(rows, &used);
  uint64_t offset = 0;
  for (Column& column : columns_) {
    uint8_t* valid = column.valid ? column.valid->data() : nullptr;
    for (size_t i = 0; i < rows.size(); i++) {
      uint8_t* to = column.values.data() + i * column.width;
      memmove(to, column.values.data() + uint64_t{rows[i]} * column.width, column.width);
      if (valid) valid[i] = valid[rows[i]];
      if (!column.text || (valid && !valid[i])) continue;
      auto* view = reinterpret_cast<TbTextView*>(to);
      view->offset = static_cast<uint32_t>(offset);
      offset += view->length;
    }
  }
  arena_ = std::move(texts);
  raw_.nrows = rows.size();
  raw_.arena_used = used;
  point_raw();
}

}  // namespace turbine
