/*
 * column_store.cc - see column_store.h.
 *
 * Owns all stored columns and counts their bytes. Called by queries that take segments, on
 * their session's thread, and by device threads that add them. Locks: the list of tables
 * first, then a table's; neither is held while memory is freed.
 */
#include "engine/store/column_store.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <utility>

#include "engine/store/segment_delta.h"
#include "turbine/mutant.h"

namespace turbine {
namespace {

/* Evicted at once, of the capacity: looking for what is old takes long. */
constexpr uint64_t kEvictedShare = 16;

/* A store has room if so much of the capacity is free: more than is evicted at once. */
constexpr uint64_t kRoomShare = 8;

/* Seconds for which a segment counts as found lately. */
constexpr uint32_t kLately = 600;

/* What one column's dictionary may take of the capacity for its texts. */
constexpr uint64_t kDictionaryShare = 64;

/* Segments that a query looks at under one lock. */
constexpr size_t kFoundAtOnce = 128;

/* Lists that are kept of a table, and from how many segments on they pay. */
constexpr size_t kLists = 8;
constexpr size_t kListFrom = 16;

/* Of a list's segments, so many may have changed: else the search for all is as good. */
constexpr size_t kListChangedShare = 4;

/* Seconds after which the segments of a list that is in use are noted as used again. */
constexpr uint32_t kNoteAfter = 10;

/* Versions that two threads make of one segment at once: a few tries are enough. */
constexpr int kTries = 3;

/* The bits of a segment's blocks: those that the file still has. */
BlockMask bits_of(const uint8_t* bits, uint32_t nblocks, uint32_t first_block) {
  if (!bits || first_block >= nblocks) return 0;
  const uint32_t end = std::min(nblocks, first_block + segment_blocks(segment_number(first_block)));
  BlockMask mask = 0;
  memcpy(&mask, bits + first_block / 8, (end - first_block + 7) / 8);
  const uint32_t count = end - first_block;
  return count < TB_SEGMENT_BLOCKS ? mask & ((BlockMask{1} << count) - 1) : mask;
}

int64_t now_us() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

/* Blocks that have all these columns. */
BlockMask blocks_with(const Segment& segment, const std::vector<uint32_t>& columns) {
  BlockMask blocks = segment.blocks;
  for (uint32_t number : columns) {
    const Segment::Column* column = segment.find(number);
    blocks &= column ? column->blocks : 0;
  }
  return blocks;
}

}  // namespace

std::vector<uint32_t> StoredTable::column_numbers(const std::vector<ColumnKey>& keys) {
  std::lock_guard lock(mutex_);
  std::vector<uint32_t> numbers;
  for (const ColumnKey& key : keys)
    numbers.push_back(numbers_.emplace(key, static_cast<uint32_t>(numbers_.size())).first->second);
  hits_.resize(numbers_.size());
  return numbers;
}

StoredTable::Found StoredTable::find(const std::vector<uint32_t>& columns, const Known& known) {
  Search search;
  Found all, found;
  for (bool more = true; more;) {
    more = find_some(columns, known, &search, &found);
    std::move(found.good.begin(), found.good.end(), std::back_inserter(all.good));
    std::move(found.doubtful.begin(), found.doubtful.end(), std::back_inserter(all.doubtful));
    std::move(found.fresh.begin(), found.fresh.end(), std::back_inserter(all.fresh));
  }
  return all;
}

/* Under the lock. A segment that is found lies in four or five lines of memory that nothing has
 * touched since the last query. */
void StoredTable::prefetch(size_t number) const {
  constexpr size_t kAhead = 16, kColumnsAhead = 8;
  if (number + kAhead < segments_.size() && segments_[number + kAhead].main) {
    const Segment* segment = segments_[number + kAhead].main.get();
    const auto* bytes = reinterpret_cast<const char*>(segment);
    __builtin_prefetch(bytes - 16);  // its count of references
    __builtin_prefetch(bytes + 48);
    __builtin_prefetch(bytes + offsetof(Segment, row_start) + sizeof segment->row_start - 1);
  }
  if (number + kColumnsAhead < segments_.size() && segments_[number + kColumnsAhead].main) {
    const auto& columns = segments_[number + kColumnsAhead].main->columns;
    const auto* bytes = reinterpret_cast<const char*>(columns.data());
    const size_t size = std::min<size_t>(columns.size() * sizeof(Segment::Column), 512);
    for (size_t at = 0; at < size; at += 64) __builtin_prefetch(bytes + at);
  }
}

/* Under the lock. */
void StoredTable::drop_lists() {
  changes_++;
  for (const KeptList& kept : lists_) store_.used_ -= kept.bytes;
  lists_.clear();
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

BlockMask all_blocks(const std::vector<TakenSegment>& taken) {
  BlockMask blocks = 0;
  for (const TakenSegment& some : taken) blocks |= some.blocks;
  return blocks;
}

}  // namespace

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
  kept.bytes = kept.list->bytes() + kept.map_lsn.size() * sizeof(uint64_t) + kept.bits.size();
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

namespace {

size_t map_pages_of(uint32_t nblocks) {
  return (size_t{nblocks} + TB_BLOCKS_PER_MAP_PAGE - 1) / TB_BLOCKS_PER_MAP_PAGE;
}

}  // namespace

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
  const uint64_t bytes = list->bytes() + map_pages * sizeof(uint64_t) + known.nblocks / 8;
  KeptList kept{.columns = columns,
                .nblocks = known.nblocks,
                .map_lsn = {known.map_lsn, known.map_lsn + map_pages},
                .bits = {known.bits, known.bits + (uint64_t{known.nblocks} + 7) / 8},
                .snapshot = {},
                .whole = known.whole,
                .has_fresh = search.has_fresh,
                .list = list,
                .bytes = bytes,
                .noted = search.second,
                .changed = {},
                .more = {}};
  if (known.snapshot && !known.snapshot->writes) kept.snapshot = *known.snapshot;
  if (kept.has_fresh && !kept.snapshot) return nullptr;
  std::lock_guard lock(mutex_);
  if (changes_ != search.changes) return nullptr;
  kept.state = ++list_states_;
  for (uint32_t number = 0; known.whole && number < segments_.size(); number++) {
    prefetch(number);
    if (!segments_[number].main) continue;
    const auto [first, end] = list->entries_of(number);
    BlockMask blocks = 0;
    for (size_t i = first; i < end; i++) blocks |= list->segments()[i].blocks;
    if (has_more(number, *columns, blocks)) kept.more.push_back(number);
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
  BlockMask stored = blocks_with(*kept.main, columns) & ~kept.hidden();
  if (kept.delta) stored |= blocks_with(*kept.delta, columns);
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
  for (size_t i = 0; i < lost.size() && i < (uint64_t{known.nblocks} + 7) / 8; i++)
    lost[i] &= static_cast<uint8_t>(~known.bits[i]);
  for (const auto& fresh : list.fresh_blocks()) lost[fresh.block / 8] &= static_cast<uint8_t>(~(1u << fresh.block % 8));
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
                  .look = std::vector<uint8_t>((uint64_t{known.nblocks} + 7) / 8),
                  .state = kept->state,
                  .seen = kept->changed.size()};
  for (const auto& fresh : kept->list->fresh_blocks())
    renewal.look[fresh.block / 8] |= static_cast<uint8_t>(1u << fresh.block % 8);
  const Search unnoted;
  for (const uint32_t number : numbers) {
    const uint32_t byte = segment_first_block(number) / 8;
    for (size_t i = byte; i < std::min<size_t>(byte + segment_blocks(number) / 8, renewal.look.size()); i++)
      renewal.look[i] = 0;
    Found& found = renewal.again[number];
    look(number, columns, known, unnoted, &found);
    for (const auto* some : {&found.doubtful, &found.fresh})
      for (const TakenSegment& taken : *some) set_bits(taken, renewal.look.data());
  }
  for (const uint8_t byte : renewal.look) renewal.to_look += static_cast<uint64_t>(std::popcount(byte));
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
    const auto [first, end] = before.entries_of(number);
    std::vector<TakenSegment> now = found.good;
    for (const auto* some : {&found.doubtful, &found.fresh})
      for (TakenSegment taken : *some)
        if ((taken.blocks &= ~some_of(taken, changed)) != 0) now.push_back(taken);
    join_pieces(now);
    if (!are_same(before.segments().subspan(first, end - first), now)) changes[number] = std::move(now);
  }
  // Of the others, fresh blocks whose pages have changed.
  for (const auto& fresh : before.fresh_blocks()) {
    const uint32_t number = segment_number(fresh.block);
    if ((changed[fresh.block / 8] >> fresh.block % 8 & 1) == 0 || renewal.again.contains(number) ||
        changes.contains(number))
      continue;
    const auto [first, end] = before.entries_of(number);
    for (size_t i = first; i < end; i++) {
      TakenSegment taken = before.segments()[i];
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
    const auto [first, end] = list->entries_of(number);
    BlockMask blocks = 0;
    for (size_t i = first; i < end; i++) blocks |= list->segments()[i].blocks;
    if (number < segments_.size() && has_more(number, columns, blocks)) kept->more.push_back(number);
  }
  store_.used_ -= kept->bytes;
  kept->nblocks = known.nblocks;
  kept->map_lsn.assign(known.map_lsn, known.map_lsn + map_pages_of(known.nblocks));
  kept->bits.assign(known.bits, known.bits + (uint64_t{known.nblocks} + 7) / 8);
  kept->snapshot = *known.snapshot;
  kept->has_fresh = !list->fresh_blocks().empty() || !kept->more.empty();
  kept->list = list;
  kept->bytes = list->bytes() + kept->map_lsn.size() * sizeof(uint64_t) + kept->bits.size();
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
  if (!blocks.empty() && buffers_.size() <= blocks.back()) buffers_.resize(size_t{blocks.back()} + 1);
  for (size_t i = 0; i < blocks.size(); i++) buffers_[blocks[i]] = buffers[i];
}

std::vector<uint32_t> StoredTable::buffers_of(const std::vector<uint8_t>& bits, uint64_t count) {
  std::vector<uint32_t> buffers;
  std::lock_guard lock(buffers_mutex_);
  if (std::all_of(buffers_.begin(), buffers_.end(), [](uint32_t buffer) { return buffer == 0; })) return buffers;
  buffers.reserve(count);
  for (size_t i = 0; i < bits.size(); i++)
    for (uint32_t byte = bits[i]; byte != 0; byte &= byte - 1) {
      const size_t block = i * 8 + static_cast<size_t>(std::countr_zero(byte));
      buffers.push_back(block < buffers_.size() ? buffers_[block] : 0);
    }
  return buffers;
}

namespace {

void note_use(const Segment& segment, const StoredTable::Search& search) {
  if (search.tick == 0) return;
  segment.last_used.store(search.tick, std::memory_order_relaxed);
  segment.last_hit.store(search.second, std::memory_order_relaxed);
}

/* Of a version's fresh blocks, those whose transactions have all ended for the query. */
BlockMask ended_blocks(const Segment& segment, BlockMask blocks, const QuerySnapshot* snapshot) {
  blocks &= segment.fresh;
  BlockMask ended = 0;
  for (uint32_t i = 0; snapshot && i < TB_SEGMENT_BLOCKS && blocks >> i != 0; i++)
    if ((blocks >> i & 1) && snapshot->has_ended((*segment.xids)[i])) ended |= BlockMask{1} << i;
  return ended;
}

/* Which of these all-visible blocks of a version are good now, and which may be. A fresh one may be of a page that has
 * changed since the query has seen the map: then its transactions have not all ended for the query. */
void look_at(const std::shared_ptr<const Segment>& segment, BlockMask blocks, const StoredTable::Known& known,
             const StoredTable::Search& search, StoredTable::Found* found) {
  if (blocks == 0) return;
  const uint64_t lsn = known.map_lsn[segment->first_block / TB_BLOCKS_PER_MAP_PAGE];
  note_use(*segment, search);
  BlockMask good = segment->map_lsn == lsn ? blocks & segment->good : 0;
  if (TB_MUTANT(map_lsn_ignored)) good = blocks;
  if (good != 0) found->good.push_back({segment, good});
  // A newer version is none of a query that has seen the map before.
  if (segment->map_lsn > lsn) return;
  const BlockMask fresh = segment->fresh;
  blocks &= ~good & (~fresh | ended_blocks(*segment, blocks, known.snapshot));
  if (blocks != 0) found->doubtful.push_back({segment, blocks});
}

/* Which of these blocks, that are not all-visible, the snapshot may see as they were decoded. */
void look_at_fresh(const std::shared_ptr<const Segment>& segment, BlockMask blocks, const QuerySnapshot& snapshot,
                   const StoredTable::Search& search, StoredTable::Found* found) {
  const BlockMask ended = ended_blocks(*segment, blocks, &snapshot);
  if (ended == 0) return;
  note_use(*segment, search);
  found->fresh.push_back({segment, ended});
}

}  // namespace

/* Under the lock. Blocks of the delta hide those of the main version. */
std::vector<TakenSegment> StoredTable::versions_with(uint32_t number, const std::vector<uint32_t>& columns) const {
  std::vector<TakenSegment> versions;
  if (number >= segments_.size() || !segments_[number].main) return versions;
  const Kept& kept = segments_[number];
  versions.push_back({kept.main, blocks_with(*kept.main, columns) & ~kept.hidden()});
  if (kept.delta) versions.push_back({kept.delta, blocks_with(*kept.delta, columns)});
  return versions;
}

/* Under the lock. Adds what there is of a segment. */
void StoredTable::look(uint32_t number, const std::vector<uint32_t>& columns, const Known& known, const Search& search,
                       Found* found) const {
  const Kept& kept = segments_[number];
  if (!kept.main) return;
  const uint32_t first_block = kept.main->first_block;
  const BlockMask wanted = bits_of(known.bits, known.nblocks, first_block);
  const BlockMask others = known.snapshot ? bits_of(known.others, known.nblocks, first_block) : 0;
  const auto look_both = [&](const std::shared_ptr<const Segment>& segment, BlockMask hidden) {
    const BlockMask blocks = blocks_with(*segment, columns) & ~hidden;
    look_at(segment, blocks & wanted, known, search, found);
    if ((blocks & others & segment->fresh) != 0) {
      found->has_fresh = true;
      look_at_fresh(segment, blocks & others, *known.snapshot, search, found);
    }
  };
  look_both(kept.main, kept.hidden());
  if (kept.delta) look_both(kept.delta, 0);
}

bool StoredTable::find_some(const std::vector<uint32_t>& columns, const Known& known, Search* search, Found* found) {
  if (search->tick == 0) {
    search->tick = store_.clock_.fetch_add(1, std::memory_order_relaxed);
    search->second = store_.now();
  }
  const bool begins = search->next == 0;
  *found = {};
  std::lock_guard lock(mutex_);
  nblocks_ = known.nblocks;
  if (begins) {
    search->changes = changes_;
    // A list of all blocks is renewed, so it pays whatever changes.
    search->keep = changes_searched_ == changes_ || (known.whole && known.snapshot) ||
                   (known.snapshot && searched_for_ && searched_for_->sees_the_same(*known.snapshot));
    changes_searched_ = changes_;
    if (known.snapshot) searched_for_ = *known.snapshot;
  }
  for (size_t seen = 0; seen < kFoundAtOnce && search->next < segments_.size(); seen++) {
    prefetch(search->next);
    const uint32_t number = search->next++;
    if (!segments_[number].main) continue;
    if (segments_[number].main->first_block >= known.nblocks) {
      search->next = UINT32_MAX;
      break;
    }
    look(number, columns, known, *search, found);
  }
  search->has_fresh = search->has_fresh || found->has_fresh;
  search->hit = search->hit || !found->good.empty();
  if (search->next < segments_.size()) return true;
  if (search->hit) count_hit(columns, search->tick, search->second);
  return false;
}

/* Under the lock. */
void StoredTable::count_hit(const std::vector<uint32_t>& columns, uint32_t tick, uint32_t second) {
  for (uint32_t number : columns) hits_[number] = {hits_[number].count + 1, now_us(), tick, second};
}

void StoredTable::confirm(const TakenSegment& unchanged, uint64_t map_lsn) {
  auto version = std::make_shared<Segment>(*unchanged.segment);
  version->good = unchanged.blocks | (version->map_lsn == map_lsn ? version->good : 0);
  if (TB_MUTANT(old_blocks_stay_good)) version->good |= unchanged.segment->good;
  version->map_lsn = map_lsn;
  version->fresh &= ~unchanged.blocks;
  if (version->fresh == 0) version->xids = nullptr;
  std::lock_guard lock(mutex_);
  const uint32_t number = segment_number(version->first_block);
  if (number >= segments_.size()) return;
  const Kept& kept = segments_[number];
  if (kept.main == unchanged.segment)
    publish(number, {std::move(version), kept.delta});
  else if (kept.delta == unchanged.segment)
    publish(number, {kept.main, std::move(version)});
}

std::shared_ptr<TextDictionary> StoredTable::dictionary(uint32_t column) {
  std::lock_guard lock(mutex_);
  std::shared_ptr<TextDictionary>& dictionary = dictionaries_[column];
  if (!dictionary) dictionary = std::make_shared<TextDictionary>(store_.capacity() / kDictionaryShare);
  return dictionary;
}

/* Under the lock. Those of a table without segments go: others would be made for new ones. */
void StoredTable::count_dictionaries() {
  if (std::none_of(segments_.begin(), segments_.end(), [](const Kept& kept) { return kept.main != nullptr; }))
    dictionaries_.clear();
  uint64_t bytes = 0;
  for (const auto& [number, dictionary] : dictionaries_) bytes += dictionary->size();
  store_.used_ += bytes - dictionary_bytes_;
  dictionary_bytes_ = bytes;
}

/* Under the lock. Those of columns that no segment has any more. */
void StoredTable::forget_dictionaries() {
  std::vector<bool> kept(numbers_.size());
  for (const Kept& versions : segments_)
    for (const auto& segment : {versions.main, versions.delta})
      if (segment)
        for (const Segment::Column& column : segment->columns) kept[column.number] = true;
  std::erase_if(dictionaries_, [&kept](const auto& entry) { return !kept[entry.first]; });
  count_dictionaries();
}

/* Under the lock. The caller has what is replaced as well, so that nothing is freed here. */
void StoredTable::publish(uint32_t number, Kept versions) {
  changes_++;
  std::erase_if(lists_, [&](KeptList& kept) {
    kept.changed.push_back(number);
    const bool too_many = kept.changed.size() > kListFrom + kept.list->segments().size();
    if (too_many) store_.used_ -= kept.bytes;
    return too_many;
  });
  Kept& place = segments_[number];
  store_.used_ += versions.bytes();
  store_.used_ -= place.bytes();
  const bool waits = place.delta != nullptr;
  place = std::move(versions);
  if (!place.delta || waits) return;
  std::lock_guard lock(store_.merges_mutex_);
  store_.merges_.push_back({weak_from_this(), number});
}

/* False: nothing is added any more. */
bool StoredTable::kept_version(uint32_t number, Kept* kept) {
  std::lock_guard lock(mutex_);
  if (dropped_) return false;
  if (segments_.size() <= number) segments_.resize(number + 1);
  *kept = segments_[number];
  return true;
}

/* False: someone was faster. */
bool StoredTable::replace(uint32_t number, const Kept& before, Kept versions) {
  std::lock_guard lock(mutex_);
  if (dropped_) return true;
  if (segments_[number] != before) return false;
  publish(number, std::move(versions));
  if (!dictionaries_.empty()) count_dictionaries();
  return true;
}

void StoredTable::report(std::vector<TbCachedColumn>& columns) {
  std::lock_guard lock(mutex_);
  std::vector<TbCachedColumn> own(numbers_.size());
  for (const auto& [key, number] : numbers_) {
    own[number].file = file_;
    own[number].attnum = key.attnum;
    own[number].type = key.type;
    own[number].hits = hits_[number].count;
    own[number].last_hit_us = hits_[number].last_us;
  }
  const auto add = [&own](const Segment& segment, BlockMask hidden) {
    for (const Segment::Column& column : segment.columns) {
      TbCachedColumn& entry = own[column.number];
      const BlockMask blocks = column.blocks & ~hidden;
      entry.bytes += column.data->bytes();
      entry.rows += segment.rows_of_blocks(blocks);
      entry.good_blocks += static_cast<uint64_t>(std::popcount(blocks & segment.good));
      entry.doubtful_blocks += static_cast<uint64_t>(std::popcount(blocks & ~segment.good));
    }
  };
  for (const Kept& kept : segments_) {
    if (kept.main) add(*kept.main, kept.hidden());
    if (kept.delta) add(*kept.delta, 0);
  }
  for (const auto& [number, dictionary] : dictionaries_)
    if (own[number].bytes > 0) own[number].bytes += dictionary->size();
  for (const TbCachedColumn& entry : own)
    if (entry.bytes > 0) columns.push_back(entry);
}

uint64_t StoredTable::drop() {
  std::vector<Kept> segments;  // freed when the lock is
  std::lock_guard lock(mutex_);
  dropped_ = true;
  drop_lists();
  segments.swap(segments_);
  uint64_t bytes = 0;
  for (const Kept& kept : segments) bytes += kept.bytes();
  bytes += std::exchange(dictionary_bytes_, 0);
  dictionaries_.clear();
  store_.used_ -= bytes;
  return bytes;
}

std::shared_ptr<StoredTable> ColumnStore::table(const TbFileIdentity& file) {
  const std::array<uint64_t, 4> key{uint64_t{file.tablespace} << 32 | file.database, file.file_number, file.inode,
                                    file.birth_ns};
  std::lock_guard lock(tables_mutex_);
  std::shared_ptr<StoredTable>& table = tables_[key];
  if (table) return table;
  table.reset(new StoredTable(*this, file));
  const std::shared_ptr<StoredTable> made = table;
  if (tables_.size() >= many_tables_) forget_empty_tables();
  return made;
}

/* Under the lock. Files that were dropped or rewritten leave tables that nobody asks for again. */
void ColumnStore::forget_empty_tables() {
  std::erase_if(tables_, [](const auto& entry) {
    if (entry.second.use_count() > 1) return false;
    std::lock_guard lock(entry.second->mutex_);
    return std::none_of(entry.second->segments_.begin(), entry.second->segments_.end(),
                        [](const auto& kept) { return kept.main != nullptr; });
  });
  many_tables_ = std::max<size_t>(256, 2 * tables_.size());
}

uint32_t ColumnStore::now() const {
  const auto passed = std::chrono::steady_clock::now() - start_;
  return passed_ + static_cast<uint32_t>(std::chrono::duration_cast<std::chrono::seconds>(passed).count());
}

/* Of two states of a page the newer one stays. Of all-visible pages the map's LSN says which that is. */
static BlockMask older_pages(const Segment* main, const Segment* delta, const DecodedBlocks& decoded) {
  BlockMask older = 0;
  for (uint32_t i = 0; i < TB_SEGMENT_BLOCKS; i++) {
    if ((decoded.blocks >> i & 1) == 0) continue;
    const Segment* has = delta && (delta->blocks >> i & 1) ? delta : main;
    if (!has || (has->blocks >> i & 1) == 0 || !(decoded.fresh || (has->fresh >> i & 1))) continue;
    if (has->page_lsn[i] > decoded.page_lsn[i]) older |= BlockMask{1} << i;
  }
  return older;
}

TakenSegment ColumnStore::add(StoredTable& table, const DecodedBlocks& decoded, std::shared_ptr<Segment> made) {
  const uint32_t number = segment_number(decoded.first_block);
  TakenSegment added{};
  for (int i = 0; i < kTries; i++) {
    StoredTable::Kept before;
    if (!table.kept_version(number, &before)) return {};
    if (!before.main && !decoded.load && !table.admits(decoded)) return {};
    if (!decoded.fresh && before.main && before.main->map_lsn > decoded.map_lsn) return {};
    if (!decoded.fresh && before.delta && before.delta->map_lsn > decoded.map_lsn) return {};
    const BlockMask older = older_pages(before.main.get(), before.delta.get(), decoded);
    std::optional<DecodedBlocks> rest;
    if (older != 0) rest.emplace(decoded).blocks &= ~older;
    const DecodedBlocks& newest = rest ? *rest : decoded;
    if (newest.blocks == 0) return {};
    StoredTable::Kept versions = before;
    std::shared_ptr<Segment> version;
    if (before.main && goes_to_delta(*before.main, before.delta.get(), newest)) {
      version = merge_segment(before.delta.get(), newest);
      versions.delta = version;
    } else {
      if (before.delta) versions = {merge_delta(before.main, *before.delta), nullptr};
      version = made && !versions.main ? std::move(made) : merge_segment(versions.main.get(), newest);
      versions.main = version;
    }
    if (!version) return {};
    version->last_used = clock_.load(std::memory_order_relaxed);
    if (before.main) version->last_hit = before.main->last_hit.load(std::memory_order_relaxed);
    if (!table.replace(number, before, std::move(versions))) continue;
    table.note_filled(decoded);
    added = {version, newest.blocks};
    break;
  }
  if (used() > capacity_) make_room();
  return added;
}

void StoredTable::note_filled(const DecodedBlocks& decoded) {
  const uint32_t tick = store_.clock_.load(std::memory_order_relaxed);
  std::lock_guard lock(mutex_);
  for (const auto& column : decoded.columns) hits_[column.number].last_used = tick;
}

/* Takes the lock. All blocks of the file are taken for as full as these. */
bool StoredTable::admits(const DecodedBlocks& decoded) {
  if (pinned_.load(std::memory_order_relaxed)) return true;
  if (store_.used() < store_.capacity_ - store_.capacity_ / kRoomShare) return true;
  constexpr uint64_t kValueBytes = 3;  // of a code, about
  uint64_t rows = 0;
  for (uint32_t i = 0; i < TB_SEGMENT_BLOCKS; i++)
    if (decoded.blocks >> i & 1) rows += decoded.row_count[i];
  uint64_t nblocks = 0;
  {
    std::lock_guard lock(mutex_);
    nblocks = nblocks_;
  }
  return store_.admission_.admits(
      file_.file_number, segment_number(decoded.first_block),
      nblocks * rows / static_cast<uint64_t>(std::popcount(decoded.blocks)) * decoded.columns.size() * kValueBytes);
}

/* Under the lock. A column of a segment was used when both were: other segments may not be read, and
 * other columns. */
void StoredTable::offer_for_eviction(uint32_t table, uint32_t tick, uint32_t lately, EvictionOrder* order) const {
  const bool pinned = pinned_.load(std::memory_order_relaxed);
  const auto age = [tick](uint32_t used) { return std::max(tick, used) - used; };
  for (uint32_t i = 0; i < segments_.size(); i++) {
    if (!segments_[i].main) continue;
    const Segment& segment = *segments_[i].main;
    const uint32_t used = segment.last_used.load(std::memory_order_relaxed);
    const uint32_t last_found = segment.last_hit.load(std::memory_order_relaxed);
    const auto blocks = static_cast<uint32_t>(std::popcount(segment.blocks));
    if (segment.columns.empty())
      order->add(table, i, EvictionCandidate::kNoColumn,
                 {pinned, last_found > lately, age(used), used, blocks, segment.nrows(), segment.bytes()});
    // With the last column goes what the segment takes besides.
    const uint64_t besides = sizeof(Segment) / std::max<size_t>(segment.columns.size(), 1) + sizeof(Segment::Column);
    for (const Segment::Column& column : segment.columns) {
      const Hits& hits = hits_[column.number];
      order->add(
          table, i, column.number,
          {pinned, std::min(last_found, hits.last_found) > lately, age(std::min(used, hits.last_used)), used,
           static_cast<uint32_t>(std::popcount(column.blocks)), segment.nrows(), column.data->bytes() + besides});
    }
  }
}

/* The same version without these columns. */
static std::shared_ptr<const Segment> without(const Segment& segment, std::span<const EvictionCandidate> columns) {
  auto version = std::make_shared<Segment>(segment);
  std::erase_if(version->columns, [columns](const Segment::Column& column) {
    return std::any_of(columns.begin(), columns.end(),
                       [&](const EvictionCandidate& candidate) { return candidate.column == column.number; });
  });
  return version;
}

/* A version without these columns, or none without any; unless there is a newer one by now. Returns the bytes
 * that went. Takes the lock. */
uint64_t StoredTable::evict(std::span<const EvictionCandidate> of_one_segment, const Kept& offered) {
  Kept versions, before;  // the latter freed after the lock
  std::lock_guard lock(mutex_);
  const uint32_t number = of_one_segment[0].segment;
  if (number >= segments_.size() || segments_[number] != offered) return 0;
  before = segments_[number];
  versions = {without(*before.main, of_one_segment), before.delta ? without(*before.delta, of_one_segment) : nullptr};
  if (versions.main->columns.empty()) versions = {};
  const uint64_t bytes = before.bytes() - versions.bytes();
  drop_lists();
  publish(number, std::move(versions));
  return bytes;
}

bool ColumnStore::merges_wait() const {
  std::lock_guard lock(merges_mutex_);
  return !merges_.empty();
}

/* Whoever was faster has merged the two, or has published one that is there to be merged yet. */
bool ColumnStore::merge_next() {
  WaitingMerge next;
  {
    std::lock_guard lock(merges_mutex_);
    if (merges_.empty()) return false;
    next = std::move(merges_.front());
    merges_.pop_front();
  }
  const std::shared_ptr<StoredTable> table = next.table.lock();
  if (!table) return true;
  for (bool done = false; !done;) {
    StoredTable::Kept before;
    if (!table->kept_version(next.number, &before) || !before.delta) return true;
    done = table->replace(next.number, before, {merge_delta(before.main, *before.delta), nullptr});
  }
  if (used() > capacity_) make_room();
  return true;
}

/* Columns that some query still reads are freed when it lets go of them. */
void ColumnStore::make_room() {
  std::lock_guard lock(tables_mutex_);
  if (used() <= capacity_) return;  // another thread has been here
  const uint32_t lately = std::max(now(), kLately) - kLately;
  const uint32_t tick = clock_.load(std::memory_order_relaxed);
  EvictionOrder order;
  std::vector<StoredTable*> tables;
  std::vector<std::vector<StoredTable::Kept>> offered;
  for (const auto& [key, table] : tables_) {
    std::lock_guard table_lock(table->mutex_);
    table->offer_for_eviction(static_cast<uint32_t>(tables.size()), tick, lately, &order);
    tables.push_back(table.get());
    offered.push_back(table->segments_);
  }
  const uint64_t wanted = capacity_ - capacity_ / kEvictedShare;
  const std::vector<EvictionCandidate> evicted = order.take(used() - wanted);
  uint64_t found = 0, unfound = 0;  // bytes
  for (size_t first = 0, end; first < evicted.size(); first = end) {
    const EvictionCandidate& one = evicted[first];
    for (end = first; end < evicted.size() && evicted[end].table == one.table && evicted[end].segment == one.segment;)
      end++;
    const StoredTable::Kept& kept = offered[one.table][one.segment];
    const bool was_found = kept.main->last_hit.load(std::memory_order_relaxed) != 0;
    (was_found ? found : unfound) += tables[one.table]->evict({evicted.data() + first, end - first}, kept);
  }
  admission_.evicted(found, unfound);
  for (StoredTable* table : tables) {
    std::lock_guard table_lock(table->mutex_);
    if (!table->dictionaries_.empty()) table->forget_dictionaries();
  }
}

std::vector<TbCachedColumn> ColumnStore::report(size_t most) {
  std::vector<TbCachedColumn> columns;
  std::lock_guard lock(tables_mutex_);
  for (const auto& [key, table] : tables_) {
    if (columns.size() >= most) break;
    table->report(columns);
  }
  columns.resize(std::min(columns.size(), most));
  return columns;
}

uint64_t ColumnStore::drop(const TbFileIdentity& file) {
  std::lock_guard lock(tables_mutex_);
  uint64_t bytes = 0;
  std::erase_if(tables_, [&](const auto& entry) {
    const TbFileIdentity& own = entry.second->file_;
    if (own.tablespace != file.tablespace || own.database != file.database || own.file_number != file.file_number ||
        (file.database == 0 && own.inode != file.inode))
      return false;
    bytes += entry.second->drop();
    return true;
  });
  return bytes;
}

}  // namespace turbine
