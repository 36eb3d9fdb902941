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

#include "engine/store/block_bits.h"
#include "engine/store/segment_delta.h"
#include "turbine/mutant.h"

namespace turbine {
namespace {

/* Evicted at once, of the capacity: looking for what is old takes long. */
constexpr uint64_t kEvictedShare = 16;

/* A store has room if so much of the capacity is free: more than is evicted at once. */
constexpr uint64_t kRoomShare = 8;

/* Seconds for which a table is pinned once somebody has said so, and between two looks for pins that have ended. */
constexpr uint32_t kPinLease = 900;
constexpr uint32_t kEndPinsEvery = 10;

/* Seconds for which a segment counts as found lately. */
constexpr uint32_t kLately = 600;

/* What one column's dictionary may take of the capacity for its texts. */
constexpr uint64_t kDictionaryShare = 64;

/* Segments that a query looks at under one lock. */
constexpr size_t kFoundAtOnce = 128;

/* Versions that two threads make of one segment at once: a few tries are enough. */
constexpr int kTries = 3;

/* A column's bytes, with its part of what the segment takes besides, which goes with the last column. */
uint64_t bytes_with(const Segment& segment, const Segment::Column& column) {
  return column.data->bytes() + sizeof(Segment) / std::max<size_t>(segment.columns.size(), 1) + sizeof(Segment::Column);
}

int64_t now_us() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

}  // namespace

std::vector<uint32_t> StoredTable::column_numbers(const std::vector<ColumnKey>& keys) {
  std::lock_guard lock(mutex_);
  std::vector<uint32_t> numbers;
  for (const ColumnKey& key : keys)
    numbers.push_back(numbers_.emplace(key, static_cast<uint32_t>(numbers_.size())).first->second);
  hits_.resize(numbers_.size());
  if (pinned_.size() < numbers_.size()) retain(Retention(retention_));
  return numbers;
}

bool StoredTable::Retention::pins(uint32_t attnum) const {
  return pin && (pinned.empty() || std::binary_search(pinned.begin(), pinned.end(), attnum));
}

/* Under the lock. */
uint64_t StoredTable::pinned_bytes(const Kept& kept) const {
  uint64_t bytes = 0;
  for (const auto& segment : {kept.main, kept.delta})
    if (segment)
      for (const Segment::Column& column : segment->columns)
        if (pinned_[column.number]) bytes += bytes_with(*segment, column);
  return bytes;
}

/* Under the lock. Tells devices, which keep copies of what is pinned. */
uint64_t StoredTable::mark_pinned(const Kept& kept) const {
  for (const auto& segment : {kept.main, kept.delta})
    if (segment)
      for (const Segment::Column& column : segment->columns) column.data->set_pinned(pinned_[column.number]);
  return pinned_bytes(kept);
}

/* Under the lock. */
void StoredTable::retain(const Retention& retention) {
  retention_ = retention;
  pinned_.assign(numbers_.size(), false);
  for (const auto& [key, number] : numbers_) pinned_[number] = retention_.pins(key.attnum);
  uint64_t bytes = 0;
  for (const Kept& kept : segments_) bytes += mark_pinned(kept);
  store_.pinned_ += bytes - std::exchange(pinned_bytes_, bytes);
}

void StoredTable::set_retention(const Retention& retention) {
  std::lock_guard lock(mutex_);
  pinned_until_ = store_.now() + kPinLease;
  if (!(retention_ == retention)) retain(retention);
}

void StoredTable::end_pin_after(uint32_t second) {
  std::lock_guard lock(mutex_);
  if (retention_.pin && pinned_until_ < second) retain({});
}

/* Now and then. */
void ColumnStore::end_pins() {
  const uint32_t second = now();
  uint32_t due = end_pins_at_.load(std::memory_order_relaxed);
  if (second < due || !end_pins_at_.compare_exchange_strong(due, second + kEndPinsEvery)) return;
  std::lock_guard lock(tables_mutex_);
  for (const auto& [key, table] : tables_) table->end_pin_after(second);
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
  versions.push_back({kept.main, kept.main->blocks_with(columns) & ~kept.hidden()});
  if (kept.delta) versions.push_back({kept.delta, kept.delta->blocks_with(columns)});
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
    const BlockMask blocks = segment->blocks_with(columns) & ~hidden;
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
  note_changed(number);
  Kept& place = segments_[number];
  store_.used_ += versions.bytes();
  store_.used_ -= place.bytes();
  if (retention_.pin) {
    const uint64_t change = mark_pinned(versions) - pinned_bytes(place);
    pinned_bytes_ += change;
    store_.pinned_ += change;
  }
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
    own[number].pinned = pinned_[number];
    own[number].hits = hits_[number].count;
    own[number].last_hit_us = hits_[number].last_us;
  }
  const auto add = [&own](const Segment& segment, BlockMask hidden) {
    for (const Segment::Column& column : segment.columns) {
      TbCachedColumn& entry = own[column.number];
      const BlockMask blocks = column.blocks & ~hidden;
      entry.bytes += column.data->bytes();
      for (uint32_t gpu = 0; gpu < StoredColumn::kMostGpus; gpu++) {
        const auto use = column.data->device_use(gpu);
        if (!use || use->lost) continue;
        entry.gpu_bytes += column.data->bytes();
        entry.gpus |= 1u << gpu;
      }
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
  store_.pinned_ -= std::exchange(pinned_bytes_, 0);
  std::lock_guard buffers(buffers_mutex_);
  forget_buffers();
  return bytes;
}

std::shared_ptr<StoredTable> ColumnStore::table(const TbFileIdentity& file) {
  const std::array<uint64_t, 4> key{uint64_t{file.tablespace} << 32 | file.database, file.file_number, file.inode,
                                    file.birth_ns};
  end_pins();
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
    const bool empty = std::none_of(entry.second->segments_.begin(), entry.second->segments_.end(),
                                    [](const auto& kept) { return kept.main != nullptr; });
    std::lock_guard buffers(entry.second->buffers_mutex_);
    if (empty) entry.second->forget_buffers();
    return empty;
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
    if (!table.admits(decoded, !before.main && !decoded.load)) return {};
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
bool StoredTable::admits(const DecodedBlocks& decoded, bool is_asked) {
  {
    std::lock_guard lock(mutex_);
    const bool pinned = std::any_of(decoded.columns.begin(), decoded.columns.end(),
                                    [this](const auto& column) { return pinned_[column.number]; });
    // Nothing makes room for what is pinned once it has its share, not even a load.
    if (pinned) return store_.pinned() < store_.pinnable();
    if (!is_asked || retention_.keep) return true;
  }
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
  const bool keep = retention_.keep;
  const auto age = [tick](uint32_t used) { return std::max(tick, used) - used; };
  for (uint32_t i = 0; i < segments_.size(); i++) {
    if (!segments_[i].main) continue;
    const Segment& segment = *segments_[i].main;
    const uint32_t used = segment.last_used.load(std::memory_order_relaxed);
    const uint32_t last_found = segment.last_hit.load(std::memory_order_relaxed);
    const auto blocks = static_cast<uint32_t>(std::popcount(segment.blocks));
    if (segment.columns.empty())
      order->add(table, i, EvictionCandidate::kNoColumn,
                 {keep, last_found > lately, age(used), used, blocks, segment.nrows(), segment.bytes()});
    for (const Segment::Column& column : segment.columns) {
      const Hits& hits = hits_[column.number];
      if (pinned_[column.number]) continue;
      order->add(table, i, column.number,
                 {keep, std::min(last_found, hits.last_found) > lately, age(std::min(used, hits.last_used)), used,
                  static_cast<uint32_t>(std::popcount(column.blocks)), segment.nrows(), bytes_with(segment, column)});
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
  if (used() <= wanted) return;
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
