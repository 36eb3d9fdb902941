/*
 * row_id_order.cc - sorts the row ids of one chunk.
 *
 * Called by chunk_lane.cc when a chunk's ids are on the host. Owns nothing.
 */
#include "engine/device/cuda/query/row_id_order.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "turbine/kernel.h"

namespace turbine::cuda {

namespace {

/* Below this many ids per bitmap word comparison sorting touches less memory. */
constexpr size_t kBitmapWordsPerId = 4;

/* Bits of the bitmap that a page takes: its line pointers, rounded up. */
constexpr uint32_t kBitsPerPage = 512;
static_assert(TB_MAX_TUPLES_PER_PAGE < kBitsPerPage);

bool strictly_rising(std::span<const uint32_t> ids) {
  return std::adjacent_find(ids.begin(), ids.end(), [](uint32_t a, uint32_t b) { return a >= b; }) == ids.end();
}

/* Sorts by a bitmap of `nbits`: to_bit and from_bit keep the order. */
template <class ToBit, class FromBit>
bool sort_by_bitmap(std::span<uint32_t> ids, uint64_t nbits, ToBit to_bit, FromBit from_bit) {
  std::vector<uint64_t> bitmap((nbits + 63) / 64);
  for (uint32_t id : ids) {
    const uint64_t bit = to_bit(id);
    bitmap[bit / 64] |= uint64_t{1} << (bit % 64);
  }
  size_t n = 0;
  for (size_t word = 0; word < bitmap.size(); word++)
    for (uint64_t bits = bitmap[word]; bits != 0; bits &= bits - 1)
      ids[n++] = from_bit(static_cast<uint32_t>(word * 64 + static_cast<size_t>(std::countr_zero(bits))));
  return n == ids.size();  // fewer: an id occurred twice
}

bool sort_by_comparison(std::span<uint32_t> ids) {
  std::sort(ids.begin(), ids.end());
  return strictly_rising(ids);
}

/* Takes the mark from ids, and returns those that had it. */
std::vector<uint32_t> take_undecided(std::span<uint32_t> ids) {
  std::vector<uint32_t> undecided;
  for (uint32_t& id : ids) {
    if (!(id & TB_ROWID_UNDECIDED)) continue;
    id &= ~TB_ROWID_UNDECIDED;
    undecided.push_back(id);
  }
  return undecided;
}

/* Ids in rising order, without marks. */
bool sort_unmarked(std::span<uint32_t> ids, uint32_t npages) {
  const uint64_t nbits = uint64_t{npages} * kBitsPerPage;
  if (ids.size() * kBitmapWordsPerId < nbits / 64) return sort_by_comparison(ids);
  return sort_by_bitmap(
      ids, nbits, [](uint32_t id) { return uint64_t{TB_ROWID_PAGE(id)} * kBitsPerPage + TB_ROWID_OFFNUM(id); },
      [](uint32_t bit) { return TB_ROWID(bit / kBitsPerPage, bit % kBitsPerPage); });
}

}  // namespace

bool sort_page_row_ids(std::span<uint32_t> ids, uint32_t npages) {
  for (uint32_t id : ids) {
    const uint32_t offnum = TB_ROWID_OFFNUM(id);
    if (TB_ROWID_PAGE(id) >= npages || offnum == 0 || offnum > TB_MAX_TUPLES_PER_PAGE) return false;
  }
  const std::vector<uint32_t> undecided = take_undecided(ids);
  if (!sort_unmarked(ids, npages)) return false;
  auto before = [](uint32_t a, uint32_t b) { return (a & ~TB_ROWID_UNDECIDED) < b; };
  for (uint32_t id : undecided) *std::lower_bound(ids.begin(), ids.end(), id, before) |= TB_ROWID_UNDECIDED;
  return true;
}

bool sort_row_numbers(std::span<uint32_t> ids, uint32_t nrows) {
  for (uint32_t id : ids)
    if (id >= nrows) return false;
  if (ids.size() * kBitmapWordsPerId < nrows / 64) return sort_by_comparison(ids);
  return sort_by_bitmap(ids, nrows, [](uint32_t id) { return uint64_t{id}; }, [](uint32_t bit) { return bit; });
}

}  // namespace turbine::cuda
