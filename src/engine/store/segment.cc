/*
 * segment.cc - memory of stored columns, and which blocks a segment has.
 *
 * Called by the store and by those who fill segments. Must never change what a reader may
 * see already.
 */
#include "engine/store/segment.h"

#include <algorithm>
#include <mutex>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "engine/memory/alignment.h"

namespace turbine {
namespace {

constexpr uint32_t kSegmentsPerMapPage = (TB_BLOCKS_PER_MAP_PAGE + TB_SEGMENT_BLOCKS - 1) / TB_SEGMENT_BLOCKS;

}  // namespace

void StoredColumn::Free::operator()(uint8_t* memory) const { free(memory); }

namespace {

/* Codes are read as elements of the type's width. */
uint64_t bytes_of_values(const StoredColumn::Shape& shape, uint32_t nrows) {
  const bool is_plain = shape.width == StoredColumn::kPlain;
  const uint64_t width = is_plain ? tb_type_width(shape.type) : shape.width;
  return host_aligned(nrows * width + (is_plain ? 0 : sizeof(int64_t)));
}

}  // namespace

void StoredColumn::lay_out(uint32_t nrows, uint64_t text_size) {
  size_ = bytes_of_values(shape_, nrows);
  if (shape_.nulls) {
    valid_offset_ = std::max(size_, kHostAlignment);
    size_ = valid_offset_ + host_aligned(nrows);
  }
  if (tb_type_is_text(shape_.type)) {
    text_offset_ = std::max(size_, kHostAlignment);
    size_ = text_offset_ + host_aligned(text_size);
  }
  size_ = std::max(size_, kHostAlignment);
}

StoredColumn::StoredColumn(const Shape& shape, uint32_t nrows, uint64_t text_size) : shape_(shape) {
  lay_out(nrows, text_size);
  own_.reset(static_cast<uint8_t*>(aligned_alloc(kHostAlignment, size_)));
  if (!own_) throw std::bad_alloc();
  memory_ = own_.get();
  // Rows of blocks that it does not have are looked up as well.
  if (shape.dictionary) memset(memory_, 0, size_);
}

StoredColumn::StoredColumn(const Shape& shape, uint32_t nrows, std::shared_ptr<uint8_t> memory)
    : shape_(shape), borrowed_(std::move(memory)), memory_(borrowed_.get()) {
  lay_out(nrows, 0);
}

uint64_t StoredColumn::bytes_of(const Shape& shape, uint32_t nrows) {
  const uint64_t values = std::max(bytes_of_values(shape, nrows), kHostAlignment);
  return shape.nulls ? values + host_aligned(nrows) : values;
}

namespace {

/* Between a column's pin and its use. Both change seldom. */
std::mutex pins_mutex;

}  // namespace

StoredColumn::~StoredColumn() {
  set_pinned(false);
  delete other_copies_.load(std::memory_order_relaxed);
}

void StoredColumn::set_device_copy(uint32_t gpu, uint64_t place, std::shared_ptr<const DeviceUse> use) const {
  std::lock_guard lock(pins_mutex);
  if (gpu > 0 && !other_copies_.load(std::memory_order_relaxed))
    other_copies_.store(new (std::nothrow) OtherCopies(), std::memory_order_release);
  DeviceCopy* const copy = copy_of(gpu);
  if (!copy) return;
  if (pinned()) {
    if (const auto before = device_use(gpu)) before->pinned--;
    if (use) use->pinned++;
  }
  copy->use.store(std::move(use), std::memory_order_relaxed);
  copy->place.store(place, std::memory_order_relaxed);
}

void StoredColumn::set_pinned(bool pinned) const {
  if (this->pinned() == pinned) return;
  std::lock_guard lock(pins_mutex);
  if (pinned_.exchange(pinned, std::memory_order_relaxed) == pinned) return;
  for (uint32_t gpu = 0; gpu < kMostGpus; gpu++)
    if (const auto use = device_use(gpu)) use->pinned += pinned ? uint64_t{1} : ~uint64_t{0};
}

Segment::Segment(const Segment& other)
    : first_block(other.first_block),
      blocks(other.blocks),
      good(other.good),
      fresh(other.fresh),
      map_lsn(other.map_lsn),
      last_used(other.last_used.load(std::memory_order_relaxed)),
      last_hit(other.last_hit.load(std::memory_order_relaxed)),
      columns(other.columns),
      row_start(other.row_start),
      page_lsn(other.page_lsn),
      xids(other.xids) {}

uint32_t Segment::rows_of_blocks(BlockMask some) const {
  if ((blocks & ~some) == 0) return nrows();
  uint32_t rows = 0;
  each_row_range(*this, some, [&rows](uint32_t first, uint32_t end) { rows += end - first; });
  return rows;
}

BlockMask Segment::blocks_with(const std::vector<uint32_t>& numbers) const {
  BlockMask common = blocks;
  for (const uint32_t number : numbers) {
    const Column* column = find(number);
    common &= column ? column->blocks : 0;
  }
  return common;
}

const Segment::Column* Segment::find(uint32_t number) const {
  for (const Column& column : columns)
    if (column.number == number) return &column;
  return nullptr;
}

uint64_t Segment::bytes() const {
  uint64_t sum = sizeof(Segment) + columns.size() * sizeof(Column) + (xids ? sizeof *xids : 0);
  for (const Column& column : columns) sum += column.data->bytes();
  return sum;
}

uint32_t segment_number(uint32_t block) {
  return block / TB_BLOCKS_PER_MAP_PAGE * kSegmentsPerMapPage + block % TB_BLOCKS_PER_MAP_PAGE / TB_SEGMENT_BLOCKS;
}

uint32_t segment_first_block(uint32_t number) {
  return number / kSegmentsPerMapPage * TB_BLOCKS_PER_MAP_PAGE + number % kSegmentsPerMapPage * TB_SEGMENT_BLOCKS;
}

uint32_t segment_blocks(uint32_t number) {
  const uint32_t within = number % kSegmentsPerMapPage * TB_SEGMENT_BLOCKS;
  return std::min(TB_SEGMENT_BLOCKS, TB_BLOCKS_PER_MAP_PAGE - within);
}

}  // namespace turbine
