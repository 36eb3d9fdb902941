/*
 * segment_batch.cc - see segment_batch.h.
 *
 * Owned by a lane. Called by chunk_lane.cc on the query's worker. Must not publish a copy
 * before it is complete.
 */
#include "engine/device/cuda/segments/segment_batch.h"

#include <algorithm>
#include <cstring>

namespace turbine::cuda {
namespace {

constexpr uint64_t kAlignment = 64;

uint64_t aligned(uint64_t size) { return (size + kAlignment - 1) / kAlignment * kAlignment; }

/* What the next segments are known by: a thread that goes through thousands would wait for little
 * else. Of one the segment itself, of a nearer one its list of columns, of the next these. */
void prefetch(const SegmentMorsel& morsel, size_t at) {
  constexpr size_t kSegment = 12, kList = 6, kColumns = 3;
  const size_t count = morsel.segments.size();
  if (at + kSegment < count) {
    const Segment& segment = *morsel.segments[at + kSegment].segment;
    __builtin_prefetch(&segment);
    __builtin_prefetch(&segment.row_start.back());
  }
  if (at + kList < count) __builtin_prefetch(morsel.segments[at + kList].segment->columns.data());
  if (at + kColumns < count)
    for (const Segment::Column& column : morsel.segments[at + kColumns].segment->columns) {
      __builtin_prefetch(column.data.get());
      __builtin_prefetch(&column.data->device_place);
    }
}

}  // namespace

void SegmentBatch::release() {
  pins_.release();
  extent_ = {};
  missing_.clear();
}

SegmentBatch::Places SegmentBatch::places() const {
  Places at{};
  at.places = aligned(sizeof(DecodeSegmentsArgs));
  at.runs = at.places + aligned(columns_.size() * sizeof(StoredPlace));
  at.columns = at.runs + aligned(runs_.size() * sizeof(RowRun));
  at.size = at.columns + aligned(ncolumns_ * sizeof(DecodedColumn));
  return at;
}

void SegmentBatch::prepare(const SegmentMorsel& morsel, size_t ncolumns) {
  release();
  ncolumns_ = ncolumns;
  nrows_ = 0;
  columns_.clear();
  runs_.clear();
  dictionaries_.assign(ncolumns, {});
  for (size_t s = 0; s < morsel.segments.size(); s++) {
    const TakenSegment& taken = morsel.segments[s];
    prefetch(morsel, s);
    const Segment& segment = *taken.segment;
    const auto number = static_cast<uint32_t>(columns_.size() / std::max<size_t>(ncolumns, 1));
    for (size_t i = 0; i < ncolumns; i++) columns_.push_back(segment.find((*morsel.columns)[i])->data.get());
    auto add = [&](uint32_t first, uint32_t end) {
      runs_.push_back({number, first, end - first, nrows_});
      nrows_ += end - first;
    };
    if ((segment.blocks & ~taken.blocks) == 0 && segment.nrows() > 0)
      add(0, segment.nrows());
    else
      each_row_range(segment, taken.blocks, add);
  }
  addresses_.resize(columns_.size());
  try {
    memory_.tier.find(columns_, query_, pins_, addresses_.data());
    missing_size_ = 0;
    for (size_t i = 0; i < columns_.size(); i++) {
      if (addresses_[i]) continue;
      missing_.push_back(i);
      missing_size_ += aligned(columns_[i]->bytes());
    }
    if (missing_size_ > 0) extent_ = memory_.tier.reserve(driver_, missing_size_, query_, pins_);
    MemoryPool& device = context_.device_memory();
    if (missing_size_ > 0 && !extent_.address && own_.size() < missing_size_) {
      own_.reset();
      own_ = device.allocate(driver_, missing_size_, &account_);
    }
    const uint64_t described = places().size;
    if (descriptions_.size() < described) {
      descriptions_.reset();
      descriptions_ = device.allocate(driver_, described, &account_);
    }
    if (staged_.size() < described + missing_size_) {
      staged_.reset();
      staged_ = context_.pinned_memory().allocate(driver_, described + missing_size_, nullptr);
    }
  } catch (...) {
    release();
    throw;
  }
}

/* All segments of a task have one dictionary (Device::SegmentShape). */
void SegmentBatch::copy_dictionaries(Stream stream) {
  for (size_t i = 0; i < std::min(ncolumns_, columns_.size()); i++)
    if (const auto& dictionary = columns_[i]->shape().dictionary)
      dictionaries_[i] = memory_.tier.dictionary(driver_, dictionary, stream, pins_);
}

void SegmentBatch::describe(const std::vector<DecodedColumn>& columns) {
  const Places at = places();
  uint8_t* host = staged_.host();
  const DevicePtr device = descriptions_.device();
  DecodeSegmentsArgs args{};
  args.places = reinterpret_cast<const StoredPlace*>(device + at.places);
  args.runs = reinterpret_cast<const RowRun*>(device + at.runs);
  args.columns = reinterpret_cast<const DecodedColumn*>(device + at.columns);
  args.nruns = static_cast<uint32_t>(runs_.size());
  args.ncolumns = static_cast<uint32_t>(ncolumns_);
  memcpy(host, &args, sizeof args);
  memcpy(host + at.runs, runs_.data(), runs_.size() * sizeof(RowRun));
  memcpy(host + at.columns, columns.data(), columns.size() * sizeof(DecodedColumn));
  auto* places = reinterpret_cast<StoredPlace*>(host + at.places);
  for (size_t i = 0; i < columns_.size(); i++) {
    const StoredColumn& column = *columns_[i];
    StoredPlace place{};
    place.values = reinterpret_cast<const uint8_t*>(addresses_[i]);
    if (column.valid()) place.valid = place.values + (column.valid() - static_cast<const uint8_t*>(column.values()));
    place.views = reinterpret_cast<const TbTextView*>(dictionaries_[i % ncolumns_].views);
    const bool plain = column.width() == StoredColumn::kPlain;
    place.base = plain ? 0 : column.base();
    place.width = plain ? tb_type_width(column.type()) : column.width();
    places[i] = place;
  }
}

uint64_t SegmentBatch::upload(const std::vector<DecodedColumn>& columns, Stream stream) {
  const uint64_t described = places().size;
  uint64_t at = 0;
  for (const size_t i : missing_) {
    const StoredColumn& column = *columns_[i];
    memcpy(staged_.host() + described + at, column.values(), column.bytes());
    addresses_[i] = destination() + at;
    at += aligned(column.bytes());
  }
  describe(columns);
  driver_.check(driver_.memcpy_htod_async(descriptions_.device(), staged_.host(), described, stream));
  if (missing_size_ > 0)
    driver_.check(driver_.memcpy_htod_async(destination(), staged_.host() + described, missing_size_, stream));
  return described + missing_size_;
}

void SegmentBatch::keep() {
  if (extent_.address)
    for (const size_t i : missing_) memory_.tier.publish(*columns_[i], extent_, addresses_[i]);
  release();
}

}  // namespace turbine::cuda
