/*
 * segment_list.cc - see segment_list.h.
 *
 * Made by StoredTable, read by segment_source.cc. Must never change what it has given out.
 */
#include "engine/store/segment_list.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace turbine {

/* Segments begin with a byte. */
void set_bits(const TakenSegment& taken, uint8_t* bits) {
  static_assert(TB_BLOCKS_PER_MAP_PAGE % 8 == 0 && TB_SEGMENT_BLOCKS % 8 == 0);
  uint8_t* byte = bits + taken.segment->first_block / 8;
  for (BlockMask blocks = taken.blocks; blocks != 0; blocks >>= 8) *byte++ |= static_cast<uint8_t>(blocks);
}

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
    : segments_(std::move(segments)),
      columns_(std::move(columns)),
      common_zones_(columns_->size()),
      bits_((uint64_t{nblocks} + 7) / 8) {
  zones_.reserve(segments_.size() * columns_->size());
  for (const TakenSegment& taken : segments_) {
    rows_ += taken.segment->rows_of_blocks(taken.blocks);
    blocks_ += static_cast<uint64_t>(std::popcount(taken.blocks));
    set_bits(taken, bits_.data());
    for (size_t i = 0; i < columns_->size(); i++) {
      const Segment::Column& column = *taken.segment->find((*columns_)[i]);
      zones_.push_back(column.zone);
      narrow(common_zones_[i], column.zone);
    }
  }
}

uint64_t SegmentList::bytes() const {
  return segments_.size() * (2 * sizeof(TakenSegment) + columns_->size() * sizeof(StoredColumn::Zone)) + bits_.size();
}

std::vector<std::shared_ptr<const SegmentMorsel>> SegmentList::morsels(uint64_t rows, uint64_t most_blocks) const {
  std::lock_guard lock(mutex_);
  Morsels& morsels = morsels_[{rows, most_blocks}];
  if (morsels.empty()) {
    std::vector<TakenSegment> all = segments_;
    for (const auto& morsel : cut_morsels(all, columns_, rows, most_blocks, true)) {
      auto lasting = std::make_shared<SegmentMorsel>(*morsel);
      lasting->lasting = true;
      morsels.push_back(std::move(lasting));
    }
  }
  return morsels;
}

std::vector<std::shared_ptr<const SegmentMorsel>> cut_morsels(
    std::vector<TakenSegment>& segments, const std::shared_ptr<const std::vector<uint32_t>>& columns, uint64_t rows,
    uint64_t most_blocks, bool last) {
  std::vector<std::shared_ptr<const SegmentMorsel>> morsels;
  std::vector<TakenSegment> some;
  uint64_t rows_here = 0, blocks_here = 0;
  auto finish = [&] {
    auto morsel = std::make_shared<SegmentMorsel>();
    morsel->columns = columns;
    morsel->segments = std::exchange(some, {});
    morsels.push_back(std::move(morsel));
    rows_here = blocks_here = 0;
  };
  for (TakenSegment& taken : segments) {
    rows_here += taken.segment->rows_of_blocks(taken.blocks);
    blocks_here += static_cast<uint64_t>(std::popcount(taken.blocks));
    some.push_back(std::move(taken));
    if (rows_here >= rows || blocks_here >= most_blocks) finish();
  }
  if (last && !some.empty()) finish();
  segments = std::move(some);
  return morsels;
}

}  // namespace turbine
