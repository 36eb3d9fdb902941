/*
 * kept_lists.cc - the lists that a StoredTable keeps of what queries have taken (column_store.h): given out again,
 * brought up to date, and renewed for other snapshots and maps.
 *
 * Called by segment_source.cc, under the locks that column_store.cc describes. A list that was given out never changes:
 * another one takes its place.
 */
#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "engine/store/block_bits.h"
#include "engine/store/column_store.h"
#include "turbine/mutant.h"

namespace turbine {
namespace {

/* Lists that are kept of a table, and from how many segments on they pay. */
constexpr size_t kLists = 8;
constexpr size_t kListFrom = 16;

/* Of a list's segments, so many may have changed: else the search for all is as good. */
constexpr size_t kListChangedShare = 4;

/* Seconds after which the segments of a list that is in use are noted as used again. */
constexpr uint32_t kNoteAfter = 10;

/* Segments whose blocks' buffers are known, at most: 32 GB of a table. And what each takes, about. */
constexpr size_t kMostOfBuffers = 65536;
constexpr uint64_t kBytesOfBuffers = TB_SEGMENT_BLOCKS * sizeof(uint32_t) + 48;

}  // namespace

/* Under the lock. */
void StoredTable::drop_lists() {
  changes_++;
  for (const KeptList& kept : lists_) store_.used_ -= kept.bytes;
  lists_.clear();
}

/* Under the lock. A segment has another version. */
void StoredTable::note_changed(uint32_t number) {
  std::erase_if(lists_, [&](KeptList& kept) {
    kept.changed.push_back(number);
    const bool too_many = kept.changed.size() > kListFrom + kept.list->segments().size();
    if (too_many) store_.used_ -= kept.bytes;
    return too_many;
  });
}

/* Whether the list is what a query takes that knows this: good under a map page's LSN is good for ever, and a snapshot
 * that sees the same as one that was served is served the same. */
bool StoredTable::answers(const KeptList& kept, const std::vector<uint32_t>& columns, const Known& known) {
  if (*kept.columns != columns) return false;
  if (known.whole && kept.whole && kept.snapshot && known.snapshot && kept.nblocks <= known.nblocks &&
      kept.snapshot->sees_the_same(*known.snapshot))
    return true;
  return !kept.has_fresh && same_map(kept, known);
}

bool StoredTable::same_map(const KeptList& kept, const Known& known) {
  if (kept.nblocks != known.nblocks || memcmp(kept.bits.data(), known.bits, kept.bits.size()) != 0) return false;
  return memcmp(kept.map_lsn.data(), known.map_lsn, kept.map_lsn.size() * sizeof(uint64_t)) == 0 ||
         TB_MUTANT(list_lsn_ignored);
}

namespace {

/* Of the blocks of an older version, those that a version has as they were. */
BlockMask same_blocks(const TakenSegment& old, const Segment& segment, BlockMask blocks) {
  BlockMask same = 0;
  for (uint32_t i = 0; i < TB_SEGMENT_BLOCKS; i++)
    if ((old.blocks & blocks) >> i & 1)
      if (segment.page_lsn[i] != 0 && segment.page_lsn[i] == old.segment->page_lsn[i]) same |= BlockMask{1} << i;
  return same;
}

/* A version once, with all its blocks. */
void join_pieces(std::vector<TakenSegment>& taken) {
  size_t count = 0;
  for (TakenSegment& some : taken) {
    const auto end = taken.begin() + static_cast<ptrdiff_t>(count);
    const auto same = std::find_if(taken.begin(), end,
                                   [&](const auto& other) { return other.segment == some.segment; });
    if (same != end)
      same->blocks |= some.blocks;
    else
      std::swap(taken[count++], some);
  }
  taken.resize(count);
}

BlockMask all_blocks(std::span<const TakenSegment> taken) {
  BlockMask blocks = 0;
  for (const TakenSegment& some : taken) blocks |= some.blocks;
  return blocks;
}

/* What a list has of one segment. */
std::span<const TakenSegment> entries_of(const SegmentList& list, uint32_t number) {
  const auto [first, end] = list.entries_of(number);
  return list.segments().subspan(first, end - first);
}

size_t map_pages_of(uint32_t nblocks) {
  return (size_t{nblocks} + TB_BLOCKS_PER_MAP_PAGE - 1) / TB_BLOCKS_PER_MAP_PAGE;
}

}  // namespace

uint64_t StoredTable::bytes_of(const KeptList& kept) {
  return kept.list->bytes() + kept.map_lsn.size() * sizeof(uint64_t) + kept.bits.size();
}

/* Under the lock. Puts the present versions of changed segments into the list, with the blocks that are good now as
 * well. What the store has in another state stays as the list has it. False: some blocks must be looked at first. */
bool StoredTable::bring_up_to_date(KeptList& kept, const Known& known) {
  if (kept.changed.empty()) return true;
  std::sort(kept.changed.begin(), kept.changed.end());
  kept.changed.erase(std::unique(kept.changed.begin(), kept.changed.end()), kept.changed.end());
  if (kept.changed.size() > kept.list->segments().size() / kListChangedShare + 1) return false;
  SegmentList::Changes changes;
  const Search unnoted;
  for (const uint32_t number : kept.changed) {
    Found found;
    look(number, *kept.columns, known, unnoted, &found);
    const auto [first, end] = kept.list->entries_of(number);
    std::vector<TakenSegment>& now = changes[number];
    now = found.good;
    const BlockMask good = all_blocks(found.good);
    BlockMask covered = good;
    for (size_t i = first; i < end; i++) {
      TakenSegment old = kept.list->segments()[i];
      covered |= old.blocks;
      old.blocks &= ~good;
      for (const auto& [version, blocks] : versions_with(number, *kept.columns)) {
        const BlockMask same = same_blocks(old, *version, blocks);
        if (same != 0) now.push_back({version, same});
        old.blocks &= ~same;
      }
      if (old.blocks != 0) now.push_back(old);
    }
    if (((all_blocks(found.doubtful) | all_blocks(found.fresh)) & ~covered) != 0) return false;
    join_pieces(now);
    if (first == end && now.empty()) changes.erase(number);
  }
  // What is good under another map is not so under the list's.
  if (!same_map(kept, known)) kept.has_fresh = kept.mixed = true;
  kept.state = ++list_states_;
  store_.used_ -= kept.bytes;
  kept.list = std::make_shared<const SegmentList>(*kept.list, changes, std::max(kept.nblocks, known.nblocks));
  kept.bytes = bytes_of(kept);
  store_.used_ += kept.bytes;
  kept.changed.clear();
  return true;
}

std::shared_ptr<const SegmentList> StoredTable::kept_list(const std::vector<uint32_t>& columns, const Known& known) {
  const uint32_t second = store_.now();
  std::lock_guard lock(mutex_);
  for (size_t i = 0; i < lists_.size(); i++) {
    KeptList& kept = lists_[i];
    if (!answers(kept, columns, known)) continue;
    if (!bring_up_to_date(kept, known)) {
      store_.used_ -= kept.bytes;
      lists_.erase(lists_.begin() + static_cast<ptrdiff_t>(i--));
      continue;
    }
    const uint32_t tick = store_.clock_.fetch_add(1, std::memory_order_relaxed);
    if (second - kept.noted >= kNoteAfter) note_list_use(kept, tick, second);
    count_hit(columns, tick, second);
    return kept.list;
  }
  return nullptr;
}

std::shared_ptr<const SegmentList> StoredTable::keep_list(const std::shared_ptr<const std::vector<uint32_t>>& columns,
                                                          const Known& known, const Search& search,
                                                          std::vector<TakenSegment> taken) {
  if (taken.size() < kListFrom && !search.has_fresh) return nullptr;
  const uint64_t map_pages = map_pages_of(known.nblocks);
  std::stable_sort(taken.begin(), taken.end(), [](const TakenSegment& a, const TakenSegment& b) {
    return a.segment->first_block < b.segment->first_block;
  });
  std::vector<TakenSegment> joined;
  for (auto first = taken.begin(); first != taken.end();) {
    const auto end = std::find_if(first, taken.end(), [&](const TakenSegment& other) {
      return other.segment->first_block != first->segment->first_block;
    });
    std::vector<TakenSegment> of_one(first, end);
    join_pieces(of_one);
    joined.insert(joined.end(), of_one.begin(), of_one.end());
    first = end;
  }
  auto list = std::make_shared<const SegmentList>(std::move(joined), columns, known.nblocks);
  KeptList kept{.columns = columns,
                .nblocks = known.nblocks,
                .map_lsn = {known.map_lsn, known.map_lsn + map_pages},
                .bits = {known.bits, known.bits + block_bits_size(known.nblocks)},
                .snapshot = {},
                .whole = known.whole,
                .has_fresh = search.has_fresh,
                .list = list,
                .bytes = 0,
                .noted = search.second,
                .changed = {},
                .more = {}};
  kept.bytes = bytes_of(kept);
  if (known.snapshot && !known.snapshot->writes) kept.snapshot = *known.snapshot;
  if (kept.has_fresh && !kept.snapshot) return nullptr;
  std::lock_guard lock(mutex_);
  if (changes_ != search.changes) return nullptr;
  kept.state = ++list_states_;
  for (uint32_t number = 0; known.whole && number < segments_.size(); number++) {
    prefetch(number);
    if (!segments_[number].main) continue;
    if (has_more(number, *columns, all_blocks(entries_of(*list, number)))) kept.more.push_back(number);
  }
  // One list of fresh blocks is enough: it goes with the next commit.
  std::erase_if(lists_, [&](const KeptList& other) {
    if (*other.columns != *columns || other.has_fresh != kept.has_fresh) return false;
    if (!kept.has_fresh && !same_map(other, known)) return false;
    store_.used_ -= other.bytes;
    return true;
  });
  if (lists_.size() >= kLists) {
    store_.used_ -= lists_[0].bytes;
    lists_.erase(lists_.begin());
  }
  store_.used_ += kept.bytes;
  lists_.push_back(std::move(kept));
  return list;
}

/* Under the lock. Of the segment's blocks that have the columns, are there others than these? */
bool StoredTable::has_more(uint32_t number, const std::vector<uint32_t>& columns, BlockMask blocks) const {
  const Kept& kept = segments_[number];
  if (!kept.main) return false;
  BlockMask stored = kept.main->blocks_with(columns) & ~kept.hidden();
  if (kept.delta) stored |= kept.delta->blocks_with(columns);
  return (stored & ~blocks) != 0;
}

/* Under the lock. Segments that the query may find in another state than the list has them. */
std::vector<uint32_t> StoredTable::changes_of(const KeptList& kept, const Known& known) const {
  std::vector<uint32_t> numbers = kept.changed;
  numbers.insert(numbers.end(), kept.more.begin(), kept.more.end());
  const SegmentList& list = *kept.list;
  const auto segments = list.segments();
  // Of pages of the map that VACUUM has stamped, and those with transactions that are open to the query.
  for (size_t i = 0; i < segments.size(); i++) {
    const uint32_t first_block = list.first_block(i);
    const uint32_t page = first_block / TB_BLOCKS_PER_MAP_PAGE;
    const bool stamped = kept.map_lsn[page] != known.map_lsn[page] && !TB_MUTANT(renewal_ignores_map);
    const bool ended = known.snapshot->has_ended(list.fresh_xids(i)) || TB_MUTANT(renewal_ignores_xids);
    if (stamped || !ended) numbers.push_back(segment_number(first_block));
  }
  // Those that have lost bits of the map. Fresh blocks are looked at in any case.
  std::vector<uint8_t> lost = list.bits();
  for (size_t i = 0; i < lost.size() && i < block_bits_size(known.nblocks); i++)
    lost[i] &= static_cast<uint8_t>(~known.bits[i]);
  for (const auto& fresh : list.fresh_blocks()) clear_bit(lost, fresh.block);
  for (size_t i = 0; i < lost.size() && !TB_MUTANT(renewal_ignores_bits); i++)
    if (lost[i] != 0) numbers.push_back(segment_number(static_cast<uint32_t>(i * 8)));
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  return numbers;
}

std::optional<StoredTable::Renewal> StoredTable::begin_renewal(const std::vector<uint32_t>& columns,
                                                               const Known& known) {
  if (!known.whole || !known.snapshot) return std::nullopt;
  std::lock_guard lock(mutex_);
  const auto kept = std::find_if(lists_.rbegin(), lists_.rend(), [&](const KeptList& some) {
    return some.whole && some.snapshot && !some.mixed && *some.columns == columns && some.nblocks <= known.nblocks;
  });
  if (kept == lists_.rend()) return std::nullopt;
  const std::vector<uint32_t> numbers = changes_of(*kept, known);
  if (numbers.size() > kept->list->segments().size() / kListChangedShare + kListFrom) return std::nullopt;
  nblocks_ = known.nblocks;
  Renewal renewal{.list = kept->list,
                  .again = {},
                  .look = std::vector<uint8_t>(block_bits_size(known.nblocks)),
                  .state = kept->state,
                  .seen = kept->changed.size()};
  for (const auto& fresh : kept->list->fresh_blocks()) set_bit(renewal.look, fresh.block);
  const Search unnoted;
  for (const uint32_t number : numbers) {
    clear_segment_bits(renewal.look, number);
    Found& found = renewal.again[number];
    look(number, columns, known, unnoted, &found);
    for (const auto* some : {&found.doubtful, &found.fresh})
      for (const TakenSegment& taken : *some) set_bits(taken, renewal.look);
  }
  renewal.to_look = count_bits(renewal.look);
  return renewal;
}

namespace {

/* Of a segment's blocks, those whose bits are set. */
BlockMask some_of(const TakenSegment& taken, const std::vector<uint8_t>& bits) {
  return taken.blocks & bits_of(bits.data(), static_cast<uint32_t>(bits.size() * 8), taken.segment->first_block);
}

/* Whether the entries of a list are just these. */
bool are_same(std::span<const TakenSegment> entries, const std::vector<TakenSegment>& taken) {
  return std::is_permutation(
      entries.begin(), entries.end(), taken.begin(), taken.end(),
      [](const TakenSegment& a, const TakenSegment& b) { return a.segment == b.segment && a.blocks == b.blocks; });
}

}  // namespace

std::shared_ptr<const SegmentList> StoredTable::end_renewal(const std::vector<uint32_t>& columns, const Known& known,
                                                            const Renewal& renewal,
                                                            const std::vector<uint8_t>& changed) {
  const SegmentList& before = *renewal.list;
  SegmentList::Changes changes;
  // Segments that were found anew, without the pages that have changed.
  for (const auto& [number, found] : renewal.again) {
    std::vector<TakenSegment> now = found.good;
    for (const auto* some : {&found.doubtful, &found.fresh})
      for (TakenSegment taken : *some)
        if ((taken.blocks &= ~some_of(taken, changed)) != 0) now.push_back(taken);
    join_pieces(now);
    if (!are_same(entries_of(before, number), now)) changes[number] = std::move(now);
  }
  // Of the others, fresh blocks whose pages have changed.
  for (const auto& fresh : before.fresh_blocks()) {
    const uint32_t number = segment_number(fresh.block);
    if (!has_bit(changed, fresh.block) || renewal.again.contains(number) || changes.contains(number)) continue;
    for (TakenSegment taken : entries_of(before, number)) {
      if ((taken.blocks &= ~some_of(taken, changed)) != 0) changes[number].push_back(taken);
    }
    changes.try_emplace(number);
  }
  const auto list = changes.empty() ? renewal.list
                                    : std::make_shared<const SegmentList>(before, changes, known.nblocks);

  const uint32_t tick = store_.clock_.fetch_add(1, std::memory_order_relaxed), second = store_.now();
  std::lock_guard lock(mutex_);
  count_hit(columns, tick, second);
  const auto kept = std::find_if(lists_.begin(), lists_.end(),
                                 [&](const KeptList& some) { return some.state == renewal.state; });
  // For an older snapshot there may be less.
  if (kept == lists_.end() || known.snapshot->writes || known.snapshot->xmax < kept->snapshot->xmax) return list;
  kept->changed.erase(kept->changed.begin(), kept->changed.begin() + static_cast<ptrdiff_t>(renewal.seen));
  kept->more.clear();
  for (const auto& [number, taken] : changes)
    if (!renewal.again.contains(number) && has_more(number, columns, all_blocks(taken))) kept->more.push_back(number);
  for (const auto& [number, found] : renewal.again) {
    const BlockMask blocks = all_blocks(entries_of(*list, number));
    if (number < segments_.size() && has_more(number, columns, blocks)) kept->more.push_back(number);
  }
  store_.used_ -= kept->bytes;
  kept->nblocks = known.nblocks;
  kept->map_lsn.assign(known.map_lsn, known.map_lsn + map_pages_of(known.nblocks));
  kept->bits.assign(known.bits, known.bits + block_bits_size(known.nblocks));
  kept->snapshot = *known.snapshot;
  kept->has_fresh = !list->fresh_blocks().empty() || !kept->more.empty();
  kept->list = list;
  kept->bytes = bytes_of(*kept);
  kept->state = ++list_states_;
  store_.used_ += kept->bytes;
  if (second - kept->noted >= kNoteAfter) note_list_use(*kept, tick, second);
  return list;
}

void StoredTable::note_list_use(KeptList& kept, uint32_t tick, uint32_t second) {
  kept.noted = second;
  for (const TakenSegment& taken : kept.list->segments()) {
    taken.segment->last_used.store(tick, std::memory_order_relaxed);
    taken.segment->last_hit.store(second, std::memory_order_relaxed);
  }
}

void StoredTable::note_buffers(std::span<const uint32_t> blocks, std::span<const uint32_t> buffers) {
  std::lock_guard lock(buffers_mutex_);
  const size_t before = buffers_.size();
  for (size_t i = 0; i < blocks.size(); i++) {
    const uint32_t number = segment_number(blocks[i]);
    buffers_[number][blocks[i] - segment_first_block(number)] = buffers[i];
  }
  store_.used_ += (buffers_.size() - before) * kBytesOfBuffers;
  // Buffers that blocks have left long ago are of no use.
  if (buffers_.size() > kMostOfBuffers) forget_buffers();
}

/* Under buffers_mutex_. */
void StoredTable::forget_buffers() {
  store_.used_ -= buffers_.size() * kBytesOfBuffers;
  buffers_.clear();
}

std::vector<uint32_t> StoredTable::buffers_of(const std::vector<uint8_t>& bits, uint64_t count) {
  std::vector<uint32_t> buffers;
  std::lock_guard lock(buffers_mutex_);
  if (buffers_.empty()) return buffers;
  buffers.reserve(count);
  auto segment = buffers_.begin();
  for (size_t i = 0; i < bits.size(); i++)
    for (uint32_t byte = bits[i]; byte != 0; byte &= byte - 1) {
      const auto block = static_cast<uint32_t>(i * 8 + static_cast<size_t>(std::countr_zero(byte)));
      const uint32_t number = segment_number(block);
      while (segment != buffers_.end() && segment->first < number) ++segment;
      const bool known = segment != buffers_.end() && segment->first == number;
      buffers.push_back(known ? segment->second[block - segment_first_block(number)] : 0);
    }
  return buffers;
}

}  // namespace turbine
