/*
 * segment_delta.cc - see segment_delta.h.
 *
 * Owns nothing. Called by column_store.cc, without its locks. Must never call a block good that neither version
 * does, or show rows of the main version for a block of the delta.
 */
#include "engine/store/segment_delta.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "engine/store/column_codes.h"
#include "turbine/mutant.h"

namespace turbine {
namespace {

/* More blocks are merged at once: a query would look at too many small pieces. */
constexpr int kMostDeltaBlocks = TB_SEGMENT_BLOCKS / 4;

/* Blocks of a main version for each of its delta: a segment that is only being filled has no delta. */
constexpr int kMainBlocksPerBlock = 4;

/* What decoding its pages would have given of these blocks: the columns that have just them. */
class DeltaBlocks {
 public:
  DeltaBlocks(const Segment& main, const Segment& delta, BlockMask blocks) {
    decoded_.first_block = delta.first_block;
    decoded_.blocks = blocks;
    decoded_.map_lsn = delta.map_lsn;
    decoded_.page_lsn = delta.page_lsn;
    for (uint32_t i = 0; i < TB_SEGMENT_BLOCKS; i++) {
      decoded_.first_row[i] = delta.row_start[i];
      decoded_.row_count[i] = delta.rows_of(i);
    }
    for (const Segment::Column& column : delta.columns) {
      if (column.blocks != blocks) continue;
      const StoredColumn& data = *column.data;
      // Views of texts are two words.
      rooms_.emplace_back(uint64_t{delta.nrows()} * 2);
      decoded_.columns.push_back({column.number, type_of(main, column), data.nullable(),
                                  decode_column(data, 0, delta.nrows(), rooms_.back().data()),
                                  data.shape().dictionary});
    }
  }
  const DecodedBlocks& get() const { return decoded_; }

 private:
  /* Where texts are numbers of a dictionary, their own type counts only if the main version's are not. */
  static uint32_t type_of(const Segment& main, const Segment::Column& column) {
    if (!column.data->dictionary()) return column.data->type();
    const Segment::Column* other = main.find(column.number);
    return other && tb_type_is_text(other->data->type()) ? other->data->type() : uint32_t{TB_TYPE_TEXT};
  }

  std::vector<std::vector<uint64_t>> rooms_;
  DecodedBlocks decoded_;
};

/* The delta's, where it has the block. */
std::shared_ptr<const std::array<XidRange, TB_SEGMENT_BLOCKS>> xids_of_both(const Segment& main, const Segment& delta) {
  if (!delta.xids || !main.xids) return delta.xids ? delta.xids : main.xids;
  auto xids = std::make_shared<std::array<XidRange, TB_SEGMENT_BLOCKS>>(*main.xids);
  for (uint32_t i = 0; i < TB_SEGMENT_BLOCKS; i++)
    if (delta.fresh >> i & 1) (*xids)[i] = (*delta.xids)[i];
  return xids;
}

}  // namespace

bool goes_to_delta(const Segment& main, const Segment* delta, const DecodedBlocks& decoded) {
  const BlockMask hidden = delta ? delta->blocks : 0;
  const int count = std::popcount(decoded.blocks | hidden);
  if (count > kMostDeltaBlocks || std::popcount(main.blocks) < kMainBlocksPerBlock * count) return false;
  const BlockMask both = decoded.blocks & main.blocks & ~hidden;
  for (uint32_t i = 0; i < TB_SEGMENT_BLOCKS; i++)
    if ((both >> i & 1) && main.page_lsn[i] == decoded.page_lsn[i]) return false;
  return true;
}

std::shared_ptr<const Segment> merge_delta(const std::shared_ptr<const Segment>& main, const Segment& delta) {
  const uint64_t lsn = std::max(main->map_lsn, delta.map_lsn);
  const BlockMask good = (main->map_lsn == lsn ? main->good & ~delta.blocks : 0) |
                         (delta.map_lsn == lsn ? delta.good : 0);
  // All blocks first, so that of columns which the delta lacks no old rows stay; then those that have only some.
  std::vector<BlockMask> steps{delta.blocks};
  for (const Segment::Column& column : delta.columns)
    if (std::find(steps.begin(), steps.end(), column.blocks) == steps.end()) steps.push_back(column.blocks);
  if (TB_MUTANT(delta_lost)) steps.clear();
  auto merged = std::make_shared<Segment>(*main);
  for (const BlockMask blocks : steps)
    if (auto next = merge_segment(merged.get(), DeltaBlocks(*main, delta, blocks).get())) merged = std::move(next);
  merged->good = good;
  merged->fresh = (main->fresh & ~delta.blocks) | delta.fresh;
  merged->xids = xids_of_both(*main, delta);
  merged->map_lsn = lsn;
  merged->last_used = std::max(main->last_used.load(std::memory_order_relaxed),
                               delta.last_used.load(std::memory_order_relaxed));
  merged->last_hit = std::max(main->last_hit.load(std::memory_order_relaxed),
                              delta.last_hit.load(std::memory_order_relaxed));
  return merged;
}

}  // namespace turbine
