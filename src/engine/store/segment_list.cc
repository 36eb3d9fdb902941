/*
 * segment_list.cc - see segment_list.h.
 *
 * Made by StoredTable, read by segment_source.cc. Must never change what it has given out.
 */
#include "engine/store/segment_list.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "engine/store/block_bits.h"

namespace turbine {

namespace {

/* A zone that is not known excludes nothing. */
void narrow(StoredColumn::Zone& common, const StoredColumn::Zone& zone) {
  if (!zone.known) return;
  common.least = common.known ? std::max(common.least, zone.least) : zone.least;
  common.greatest = common.known ? std::min(common.greatest, zone.greatest) : zone.greatest;
  common.known = true;
}

}  // namespace

SegmentList::SegmentList(std::vector<TakenSegment> segments, std::shared_ptr<const std::vector<uint32_t>> columns,
                         uint32_t nblocks)
    : columns_(std::move(columns)), common_zones_(columns_->size()), bits_(block_bits_size(nblocks)) {
  segments_.reserve(segments.size());
  zones_.reserve(segments.size() * columns_->size());
  for (const TakenSegment& taken : segments) add(taken);
  find_common_zones();
}

void SegmentList::add(const TakenSegment& taken) {
  segments_.push_back(taken);
  rows_of_.push_back(taken.segment->rows_of_blocks(taken.blocks));
  first_blocks_.push_back(taken.segment->first_block);
  rows_ += rows_of_.back();
  blocks_ += static_cast<uint64_t>(std::popcount(taken.blocks));
  set_bits(taken, bits_);
  for (const uint32_t number : *columns_) zones_.push_back(taken.segment->find(number)->zone);
  add_fresh(taken);
}

/* The entries of a segment, such as those of its main version and of its delta, have their blocks in each other's
 * gaps. */
void SegmentList::add_fresh(const TakenSegment& taken) {
  const Segment& segment = *taken.segment;
  const auto before = static_cast<ptrdiff_t>(fresh_blocks_.size());
  XidRange all;
  for (BlockMask fresh = taken.blocks & segment.fresh; fresh != 0; fresh &= fresh - 1) {
    const auto i = static_cast<uint32_t>(std::countr_zero(fresh));
    fresh_blocks_.push_back({segment.first_block + i, segment.page_lsn[i]});
    const XidRange& own = (*segment.xids)[i];
    if (own.empty()) continue;
    all.least = std::min(all.least, own.least);
    all.greatest = std::max(all.greatest, own.greatest);
  }
  const auto by_block = [](const FreshBlock& a, const FreshBlock& b) { return a.block < b.block; };
  const auto of_segment = std::lower_bound(fresh_blocks_.begin(), fresh_blocks_.begin() + before,
                                           FreshBlock{segment.first_block, 0}, by_block);
  std::inplace_merge(of_segment, fresh_blocks_.begin() + before, fresh_blocks_.end(), by_block);
  fresh_end_.push_back(static_cast<uint32_t>(fresh_blocks_.size()));
  fresh_xids_.push_back(all);
}

void SegmentList::find_common_zones() {
  const size_t ncolumns = columns_->size();
  for (size_t i = 0; i < segments_.size(); i++)
    for (size_t column = 0; column < ncolumns; column++) narrow(common_zones_[column], zones_[i * ncolumns + column]);
}

std::pair<size_t, size_t> SegmentList::entries_of(uint32_t number) const {
  const auto [first, end] = std::equal_range(first_blocks_.begin(), first_blocks_.end(), segment_first_block(number));
  return {first - first_blocks_.begin(), end - first_blocks_.begin()};
}

SegmentList::SegmentList(const SegmentList& before, const Changes& changes, uint32_t nblocks)
    : columns_(before.columns_), common_zones_(columns_->size()), bits_(before.bits_) {
  const size_t ncolumns = columns_->size();
  bits_.resize(block_bits_size(nblocks));
  rows_ = before.rows_;
  blocks_ = before.blocks_;
  segments_.reserve(before.segments_.size() + changes.size());
  size_t next = 0;  // entry of `before`
  const auto copy_until = [&](size_t end) {
    const auto copy = [&](auto& to, const auto& from, size_t each) {
      const auto at = [&](size_t i) { return from.begin() + static_cast<ptrdiff_t>(i * each); };
      to.insert(to.end(), at(next), at(end));
    };
    copy(segments_, before.segments_, 1);
    copy(rows_of_, before.rows_of_, 1);
    copy(first_blocks_, before.first_blocks_, 1);
    copy(zones_, before.zones_, ncolumns);
    copy(fresh_xids_, before.fresh_xids_, 1);
    copy_fresh(before, next, end);
    next = end;
  };
  std::vector<Replaced> replaced;
  for (const auto& [number, taken] : changes) {
    const auto [first, end] = before.entries_of(number);
    copy_until(first);
    for (; next < end; next++) {
      rows_ -= before.rows_of_[next];
      blocks_ -= static_cast<uint64_t>(std::popcount(before.segments_[next].blocks));
    }
    clear_segment_bits(bits_, number);
    replaced.push_back({first, end, taken.size()});
    for (const TakenSegment& some : taken) add(some);
  }
  copy_until(before.segments_.size());
  find_common_zones();
  add_morsels(before, replaced);
}

/* Of the entries [first, end) of `before`, which are here already. They are whole segments. */
void SegmentList::copy_fresh(const SegmentList& before, size_t first, size_t end) {
  const uint32_t begin = first == 0 ? 0 : before.fresh_end_[first - 1];
  const auto here = static_cast<uint32_t>(fresh_blocks_.size());
  for (size_t i = first; i < end; i++) fresh_end_.push_back(before.fresh_end_[i] - begin + here);
  if (end == first) return;
  const auto blocks = std::span(before.fresh_blocks_).subspan(begin, before.fresh_end_[end - 1] - begin);
  fresh_blocks_.insert(fresh_blocks_.end(), blocks.begin(), blocks.end());
}

/* Those of `before` in their order. One that has lost or got an entry is cut anew; what comes behind all of them goes
 * with the last. */
void SegmentList::add_morsels(const SegmentList& before, const std::vector<Replaced>& replaced) {
  std::lock_guard lock(before.mutex_);
  for (const auto& [key, cut] : before.morsels_) {
    Morsels& morsels = morsels_[key];
    auto change = replaced.begin();
    size_t boundary = 0;              // of the morsels of `before` so far
    size_t seen = 0, here = 0;        // entries of `before` that are dealt with, and what became of them
    for (const auto& morsel : cut) {
      const size_t first = here, seen_first = seen;
      const bool whole = seen == boundary;
      boundary += morsel->segments.size();
      seen = std::max(seen, boundary);
      here += seen - seen_first;
      bool same = whole;
      for (; change != replaced.end() && (change->first < boundary || morsel == cut.back()); ++change) {
        same = false;
        if (change->end > seen) here += change->end - std::exchange(seen, change->end);
        here = here + change->count - (change->end - change->first);
      }
      if (same) {
        morsels.push_back(morsel);
      } else if (here > first) {
        const auto at = [this](size_t i) { return segments_.begin() + static_cast<ptrdiff_t>(i); };
        for (auto& again : lasting_morsels({at(first), at(here)}, key)) morsels.push_back(std::move(again));
      }
    }
  }
}

uint64_t SegmentList::bytes() const {
  const uint64_t of_each = 3 * sizeof(TakenSegment) + columns_->size() * sizeof(StoredColumn::Zone) +
                           3 * sizeof(uint32_t) + sizeof(XidRange);
  return segments_.size() * of_each + bits_.size() + fresh_blocks_.size() * sizeof(FreshBlock);
}

std::vector<std::shared_ptr<const SegmentMorsel>> SegmentList::morsels(const MorselShape& shape) const {
  std::lock_guard lock(mutex_);
  Morsels& morsels = morsels_[shape];
  if (morsels.empty()) morsels = lasting_morsels(segments_, shape);
  return morsels;
}

std::vector<std::shared_ptr<const SegmentMorsel>> SegmentList::morsels(const MorselShape& shape,
                                                                       const ZoneOrder& order) const {
  std::lock_guard lock(mutex_);
  if (!ordered_ || ordered_->order != order || ordered_->shape != shape) {
    std::vector<TakenSegment> segments = segments_;
    put_in_order(segments, *columns_, order);
    ordered_ = Ordered{order, shape, lasting_morsels(std::move(segments), shape)};
  }
  return ordered_->morsels;
}

SegmentList::Morsels SegmentList::lasting_morsels(std::vector<TakenSegment> segments, const MorselShape& shape) const {
  Morsels morsels;
  for (const auto& morsel : cut_morsels(segments, columns_, shape, true)) {
    auto lasting = std::make_shared<SegmentMorsel>(*morsel);
    lasting->lasting = true;
    morsels.push_back(std::move(lasting));
  }
  return morsels;
}

void put_in_order(std::vector<TakenSegment>& segments, const std::vector<uint32_t>& columns, const ZoneOrder& order) {
  struct Place {
    int64_t rank;
    size_t number;
  };
  std::vector<Place> places;
  places.reserve(segments.size());
  for (const TakenSegment& taken : segments)
    places.push_back({order.first_rank(*taken.segment->find(columns[order.column])->data), places.size()});
  std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.rank < b.rank; });
  std::vector<TakenSegment> ordered;
  ordered.reserve(segments.size());
  for (const Place& place : places) ordered.push_back(std::move(segments[place.number]));
  segments = std::move(ordered);
}

std::vector<std::shared_ptr<const SegmentMorsel>> cut_morsels(
    std::vector<TakenSegment>& segments, const std::shared_ptr<const std::vector<uint32_t>>& columns,
    const MorselShape& shape, bool last) {
  std::vector<std::shared_ptr<const SegmentMorsel>> morsels;
  std::vector<TakenSegment> some;
  uint64_t rows_here = 0, blocks_here = 0;
  uint32_t range_here = SegmentMorsel::kNoRange;
  auto finish = [&] {
    auto morsel = std::make_shared<SegmentMorsel>();
    morsel->columns = columns;
    morsel->range = range_here;
    morsel->segments = std::exchange(some, {});
    morsels.push_back(std::move(morsel));
    rows_here = blocks_here = 0;
  };
  for (TakenSegment& taken : segments) {
    if (shape.range_blocks > 0) {
      const uint32_t range = taken.segment->first_block / shape.range_blocks;
      if (!some.empty() && range != range_here) finish();
      range_here = range;
    }
    rows_here += taken.segment->rows_of_blocks(taken.blocks);
    blocks_here += static_cast<uint64_t>(std::popcount(taken.blocks));
    some.push_back(std::move(taken));
    if (rows_here >= shape.rows || blocks_here >= shape.most_blocks) finish();
  }
  if (last && !some.empty()) finish();
  segments = std::move(some);
  return morsels;
}

}  // namespace turbine
