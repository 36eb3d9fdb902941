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

/* Space in a slab is given out in pieces that waste little of it at its end. */
constexpr uint64_t kPiecesOfSlab = 4;

/* Bytes that it takes among others. */
uint64_t size_of(const StoredColumn& column) { return StagedColumns::bytes_of(column); }

/* What the next segments are known by: a thread that goes through thousands would wait for little
 * else. Of one the segment itself, of a nearer one its list of columns, of the next these. */
void prefetch(const SegmentMorsel& morsel, size_t at, uint32_t gpu) {
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
      column.data->prefetch_device_place(gpu);
    }
}

}  // namespace

void SegmentBatch::release() {
  pins_.release();
  known_.reset();
  morsel_.reset();
  staged_columns_.reset();
  missing_.clear();
  pieces_.clear();
  dictionaries_.clear();
}

/* Columns and runs of rows. */
void SegmentBatch::lay_out() {
  nrows_ = 0;
  bytes_ = 0;
  columns_.clear();
  runs_.clear();
  dictionaries_.clear();
  for (size_t s = 0; s < morsel_->segments.size(); s++) {
    const TakenSegment& taken = morsel_->segments[s];
    prefetch(*morsel_, s, tier_.gpu());
    const Segment& segment = *taken.segment;
    for (size_t i = 0; i < ncolumns_; i++) {
      columns_.push_back(segment.find((*morsel_->columns)[i])->data.get());
      bytes_ += columns_.back()->bytes();
      if (const auto& dictionary = columns_.back()->shape().dictionary) dictionaries_[dictionary] = {};
    }
    auto add = [&](uint32_t first, uint32_t end) {
      for (; first < end; first += TB_RUN_ROWS) {
        const uint32_t count = std::min(end - first, TB_RUN_ROWS);
        runs_.push_back({static_cast<uint32_t>(s), first, count, nrows_});
        nrows_ += count;
      }
    };
    if ((segment.blocks & ~taken.blocks) == 0)
      add(0, segment.nrows());
    else
      each_row_range(segment, taken.blocks, add);
  }
}

/* For what is described anew: where columns are, or will be. */
void SegmentBatch::find_memory() {
  addresses_.resize(columns_.size());
  tier_.find(columns_, query_, pins_, addresses_.data());
  missing_.clear();
  for (size_t i = 0; i < columns_.size(); i++)
    if (!addresses_[i]) missing_.push_back(i);
  if (morsel_->stored) tier_.count_found(columns_.size() - missing_.size(), missing_.size());
  cut_pieces();
  MemoryPool& device = context_.device_memory();
  uint64_t own_size = 0;
  for (Piece& piece : pieces_) {
    if (morsel_->stored) piece.extent = tier_.reserve(driver_, piece.size, query_, piece.pinned, pins_);
    piece.own_at = own_size;
    if (!piece.extent.address) own_size += piece.size;
  }
  if (own_.size() < own_size) {
    own_.reset();
    own_ = device.allocate(driver_, own_size, nullptr);
  }
  if (description_.size() < description_size()) {
    description_.reset();
    description_ = device.allocate(driver_, description_size(), nullptr);
  }
  if (staged_.size() < description_size()) {
    staged_.reset();
    staged_ = context_.pinned_memory().allocate(driver_, description_size(), nullptr);
  }
}

/* Pinned columns have pieces of their own, for their own slabs. */
void SegmentBatch::cut_pieces() {
  pieces_.clear();
  uint64_t all = 0;
  for (const size_t i : missing_) all += size_of(*columns_[i]);
  if (staged_columns_ && missing_.size() == columns_.size() && staged_columns_->offsets().size() == columns_.size() &&
      all > 0) {
    const bool pinned = std::all_of(columns_.begin(), columns_.end(),
                                    [](const auto* column) { return column->pinned(); });
    pieces_.push_back({0, missing_.size(), staged_columns_->size(), {}, 0, pinned});
    return;
  }
  staged_columns_.reset();
  const uint64_t most = tier_.capacity() == 0 ? ColumnUpload::kMostPiece
                                              : std::min(ColumnUpload::kMostPiece, tier_.slab_size() / kPiecesOfSlab);
  std::vector<bool> pinned;
  for (const auto* column : columns_) pinned.push_back(column->pinned());  // once: it may change meanwhile
  std::stable_partition(missing_.begin(), missing_.end(), [&pinned](size_t i) { return pinned[i]; });
  for (size_t i = 0; i < missing_.size(); i++) {
    const uint64_t size = size_of(*columns_[missing_[i]]);
    const bool own = pinned[missing_[i]];
    if (pieces_.empty() || pieces_.back().size + size > most || pieces_.back().pinned != own)
      pieces_.push_back({i, i, 0, {}, 0, own});
    pieces_.back().size += size;
    pieces_.back().end = i + 1;
  }
}

void SegmentBatch::prepare(const std::shared_ptr<const SegmentMorsel>& morsel,
                           std::shared_ptr<const StagedColumns> staged, size_t ncolumns) {
  release();
  morsel_ = morsel;
  staged_columns_ = std::move(staged);
  ncolumns_ = ncolumns;
  try {
    known_ = tier_.find_description(morsel, query_, pins_);
    if (known_) {
      tier_.count_found(known_->columns, 0);
      return;
    }
    lay_out();
    find_memory();
  } catch (...) {
    release();
    throw;
  }
}

/* Whether the dictionaries' copies are where the task's description says. Entries may have come since. */
bool SegmentBatch::find_dictionaries(Stream stream) {
  bool there = true;
  for (const SegmentTier::NamedDictionary& named : known_->dictionaries) {
    const std::shared_ptr<TextDictionary> original = named.original.lock();
    there = there && original && tier_.dictionary(driver_, original, stream, pins_) == named.copy;
  }
  return there;
}

/* Where a copy has moved since the task was described, the task is described anew. */
void SegmentBatch::copy_dictionaries(Stream stream) {
  if (known_) {
    if (find_dictionaries(stream)) return;
    known_.reset();
    lay_out();
    find_memory();
  }
  for (auto& [dictionary, copy] : dictionaries_) copy = tier_.dictionary(driver_, dictionary, stream, pins_);
}

std::pair<std::shared_ptr<TextDictionary>, DeviceDictionary> SegmentBatch::dictionary_of(size_t column) const {
  for (const TakenSegment& taken : morsel_->segments) {
    const auto& dictionary = taken.segment->find((*morsel_->columns)[column])->data->shape().dictionary;
    if (!dictionary) continue;
    if (!known_) return {dictionary, dictionaries_.at(dictionary)};
    for (const SegmentTier::NamedDictionary& named : known_->dictionaries)
      if (named.original.lock() == dictionary) return {dictionary, named.copy};
    return {};
  }
  return {};
}

void SegmentBatch::describe(uint8_t* description, DevicePtr filler) const {
  auto* places = reinterpret_cast<TbColumnPlace*>(description);
  for (size_t i = 0; i < columns_.size(); i++) {
    const auto& dictionary = columns_[i]->shape().dictionary;
    places[i] = place_of_stored(*columns_[i], addresses_[i],
                                dictionary ? dictionaries_.find(dictionary)->second : DeviceDictionary(), filler);
  }
  memcpy(description + places_size(), runs_.data(), runs_.size() * sizeof(TbRowRun));
}

/* A column that is larger than the most that crosses at once is a piece of its own. */
void SegmentBatch::add_uploads(const Piece& piece, std::vector<ColumnUpload::Piece>* uploads) {
  if (piece.size <= ColumnUpload::kMostPiece) {
    uploads->push_back({address_of(piece), piece.size, [this, &piece](uint8_t* to) {
                          for (size_t i = piece.first; i < piece.end; i++) {
                            const StoredColumn& column = *columns_[missing_[i]];
                            memcpy(to, column.values(), column.bytes());
                            to += size_of(column);
                          }
                        }});
    return;
  }
  const StoredColumn& column = *columns_[missing_[piece.first]];
  for (uint64_t from = 0; from < column.bytes(); from += ColumnUpload::kMostPiece) {
    const uint64_t size = std::min(column.bytes() - from, ColumnUpload::kMostPiece);
    uploads->push_back({address_of(piece) + from, size, [&column, from, size](uint8_t* to) {
                          memcpy(to, static_cast<const uint8_t*>(column.values()) + from, size);
                        }});
  }
}

uint64_t SegmentBatch::upload_pieces(Stream stream) {
  uint64_t copied = 0;
  std::vector<ColumnUpload::Piece> uploads;
  for (const Piece& piece : pieces_) {
    uint64_t at = 0;
    for (size_t i = piece.first; i < piece.end; i++) {
      addresses_[missing_[i]] = address_of(piece) + (staged_columns_ ? staged_columns_->offsets()[i] : at);
      at += size_of(*columns_[missing_[i]]);
    }
    copied += piece.size;
    if (staged_columns_)
      driver_.check(driver_.memcpy_htod_async(address_of(piece), staged_columns_->memory(), piece.size, stream));
    else
      add_uploads(piece, &uploads);
  }
  if (uploads.empty()) return copied;
  if (!columns_upload_) columns_upload_.emplace(context_, driver_, cache_.threads());
  columns_upload_->copy(uploads, stream);
  return copied;
}

uint64_t SegmentBatch::upload(Stream stream) {
  copy_dictionaries(stream);
  if (known_) return 0;
  const uint64_t copied = upload_pieces(stream);
  describe(staged_.host(), tier_.filler(driver_, stream));
  driver_.check(driver_.memcpy_htod_async(description_.device(), staged_.host(), description_size(), stream));
  return copied + description_size();
}

void SegmentBatch::keep() {
  bool all_stay = true;
  for (const Piece& piece : pieces_) {
    all_stay = all_stay && piece.extent.address;
    if (!piece.extent.address) continue;
    for (size_t i = piece.first; i < piece.end; i++)
      tier_.publish(*columns_[missing_[i]], piece.extent, addresses_[missing_[i]]);
  }
  if (!known_ && all_stay && morsel_->lasting && tier_.capacity() > 0) {
    SegmentTier::Description description{places(), runs(), nruns(), nrows_, bytes_, {}, columns_.size()};
    for (const auto& [dictionary, copy] : dictionaries_) description.dictionaries.push_back({dictionary, copy});
    tier_.keep_description(morsel_, std::move(description), std::move(description_), pins_);
  }
  release();
}

}  // namespace turbine::cuda
