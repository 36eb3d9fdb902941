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
  known_.reset();
  morsel_.reset();
  extent_ = {};
  missing_.clear();
}

uint64_t SegmentBatch::places_size() const { return aligned(columns_.size() * sizeof(StoredPlace)); }

uint64_t SegmentBatch::description_size() const { return places_size() + aligned(runs_.size() * sizeof(RowRun)); }

uint64_t SegmentBatch::arguments_size() const {
  return aligned(sizeof(DecodeSegmentsArgs)) + aligned(ncolumns_ * sizeof(DecodedColumn));
}

/* Columns and runs of rows. */
void SegmentBatch::lay_out(const SegmentMorsel& morsel) {
  nrows_ = 0;
  columns_.clear();
  runs_.clear();
  for (size_t s = 0; s < morsel.segments.size(); s++) {
    const TakenSegment& taken = morsel.segments[s];
    prefetch(morsel, s);
    const Segment& segment = *taken.segment;
    const auto number = static_cast<uint32_t>(s);
    for (size_t i = 0; i < ncolumns_; i++) columns_.push_back(segment.find((*morsel.columns)[i])->data.get());
    auto add = [&](uint32_t first, uint32_t end) {
      runs_.push_back({number, first, end - first, nrows_});
      nrows_ += end - first;
    };
    if ((segment.blocks & ~taken.blocks) == 0 && segment.nrows() > 0)
      add(0, segment.nrows());
    else
      each_row_range(segment, taken.blocks, add);
  }
  nruns_ = static_cast<uint32_t>(runs_.size());
}

/* For what is described anew: where columns are, or will be. */
void SegmentBatch::find_memory() {
  addresses_.resize(columns_.size());
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
  if (description_.size() < description_size()) {
    description_.reset();
    description_ = device.allocate(driver_, description_size(), nullptr);
  }
}

void SegmentBatch::prepare(const std::shared_ptr<const SegmentMorsel>& morsel, size_t ncolumns) {
  release();
  morsel_ = morsel;
  ncolumns_ = ncolumns;
  dictionaries_.assign(ncolumns, {});
  missing_size_ = 0;
  try {
    known_ = memory_.tier.find_description(morsel, query_, pins_);
    if (known_) {
      nrows_ = known_->nrows;
      nruns_ = known_->nruns;
    } else {
      lay_out(*morsel);
      find_memory();
    }
    if (arguments_.size() < arguments_size()) {
      arguments_.reset();
      arguments_ = context_.device_memory().allocate(driver_, arguments_size(), &account_);
    }
    const uint64_t staged = arguments_size() + (known_ ? 0 : description_size() + missing_size_);
    if (staged_.size() < staged) {
      staged_.reset();
      staged_ = context_.pinned_memory().allocate(driver_, staged, nullptr);
    }
  } catch (...) {
    release();
    throw;
  }
}

/* All segments of a task have one dictionary (Device::SegmentShape). Where one has moved since the task was
 * described, it is described anew. */
void SegmentBatch::copy_dictionaries(Stream stream) {
  const Segment& first = *morsel_->segments[0].segment;
  bool moved = false;
  for (size_t i = 0; i < ncolumns_; i++) {
    const auto& dictionary = first.find((*morsel_->columns)[i])->data->shape().dictionary;
    if (!dictionary) continue;
    dictionaries_[i] = memory_.tier.dictionary(driver_, dictionary, stream, pins_);
    moved = moved || (known_ && known_->views[i] != dictionaries_[i].views);
  }
  if (!moved) return;
  known_.reset();
  lay_out(*morsel_);
  find_memory();
  const uint64_t staged = arguments_size() + description_size() + missing_size_;
  if (staged_.size() < staged) {
    staged_.reset();
    staged_ = context_.pinned_memory().allocate(driver_, staged, nullptr);
  }
}

void SegmentBatch::describe(uint8_t* host) const {
  auto* places = reinterpret_cast<StoredPlace*>(host);
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
  memcpy(host + places_size(), runs_.data(), runs_.size() * sizeof(RowRun));
}

void SegmentBatch::write_arguments(const std::vector<DecodedColumn>& columns) {
  const uint64_t columns_at = aligned(sizeof(DecodeSegmentsArgs));
  const DevicePtr places = known_ ? known_->places : description_.device();
  const DevicePtr runs = known_ ? known_->runs : description_.device() + places_size();
  DecodeSegmentsArgs args{};
  args.places = reinterpret_cast<const StoredPlace*>(places);
  args.runs = reinterpret_cast<const RowRun*>(runs);
  args.columns = reinterpret_cast<const DecodedColumn*>(arguments_.device() + columns_at);
  args.nruns = nruns_;
  args.ncolumns = static_cast<uint32_t>(ncolumns_);
  memcpy(staged_.host(), &args, sizeof args);
  memcpy(staged_.host() + columns_at, columns.data(), columns.size() * sizeof(DecodedColumn));
}

uint64_t SegmentBatch::upload(const std::vector<DecodedColumn>& columns, Stream stream) {
  write_arguments(columns);
  driver_.check(driver_.memcpy_htod_async(arguments_.device(), staged_.host(), arguments_size(), stream));
  if (known_) return arguments_size();
  uint8_t* const description = staged_.host() + arguments_size();
  uint8_t* const missing = description + description_size();
  uint64_t at = 0;
  for (const size_t i : missing_) {
    const StoredColumn& column = *columns_[i];
    memcpy(missing + at, column.values(), column.bytes());
    addresses_[i] = destination() + at;
    at += aligned(column.bytes());
  }
  describe(description);
  driver_.check(driver_.memcpy_htod_async(description_.device(), description, description_size(), stream));
  if (missing_size_ > 0) driver_.check(driver_.memcpy_htod_async(destination(), missing, missing_size_, stream));
  return arguments_size() + description_size() + missing_size_;
}

void SegmentBatch::keep() {
  if (extent_.address)
    for (const size_t i : missing_) memory_.tier.publish(*columns_[i], extent_, addresses_[i]);
  const bool all_stay = missing_.empty() || extent_.address;
  if (!known_ && all_stay && morsel_->lasting && memory_.tier.capacity() > 0) {
    SegmentTier::Description description{
        description_.device(), description_.device() + places_size(), nruns_, nrows_, {}};
    for (const SegmentTier::Dictionary& dictionary : dictionaries_) description.views.push_back(dictionary.views);
    memory_.tier.keep_description(morsel_, std::move(description), std::move(description_), pins_);
  }
  release();
}

}  // namespace turbine::cuda
