/*
 * column_store.h - the column cache: decoded columns of heap files in host memory, for later queries.
 *
 * It does not decide what is visible. Whoever adds blocks has confirmed them under the LSN of their page of the
 * visibility map. Whoever takes blocks shows that page's present LSN and bits, and gets the blocks that were
 * good under the same LSN. Other blocks are good again if their pages still have the LSN that they were decoded
 * with (confirm()).
 *
 * Fresh blocks are not all-visible yet. Whoever takes them shows a snapshot, gets those whose transactions have all
 * ended for it, and must look at their pages' LSNs. What was served that way serves the next query whose snapshot
 * sees the same.
 *
 * If a few blocks of a segment change, the new ones are kept beside the segment as its delta. So the query that
 * decoded them copies only these. Whoever has time merges the two (merge_next()).
 *
 * The store lives and dies with the service: after a crash LSNs may be used again. Thread-safe. A taken segment
 * is a reference, so it stays although it is evicted.
 */
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/store/column_key.h"
#include "engine/store/eviction_order.h"
#include "engine/store/fill_admission.h"
#include "engine/store/segment.h"
#include "engine/store/segment_list.h"
#include "engine/store/segment_merge.h"

namespace turbine {

class ColumnStore;

/* Columns of one file. */
class StoredTable : public std::enable_shared_from_this<StoredTable> {
 public:
  /* Numbers of columns by their keys (column_key.h); new ones are added. */
  std::vector<uint32_t> column_numbers(const std::vector<ColumnKey>& keys);

  /* What the file's blocks are known to be now: see TbSegments. */
  struct Known {
    uint32_t nblocks;
    const uint64_t* map_lsn;  // a map page
    const uint8_t* bits;      // a block: wanted, and all-visible under that LSN
    const uint8_t* others = nullptr;          // a block: wanted, and not all-visible; null: none
    const QuerySnapshot* snapshot = nullptr;  // null: fresh blocks are not for the query
    bool whole = false;                       // every block is wanted
  };

  /* Blocks with all these columns, in their order. */
  struct Found {
    std::vector<TakenSegment> good;
    std::vector<TakenSegment> doubtful;  // confirm() may make them good
    std::vector<TakenSegment> fresh;     // what the snapshot sees, if their pages have not changed
    bool has_fresh = false;              // there are some, for this snapshot or others
  };
  Found find(const std::vector<uint32_t>& columns, const Known& known);

  /* The same bit by bit, so that a query may begin with what is found while it looks for more. */
  struct Search {
    uint32_t next = 0;  // segment
    uint32_t tick = 0, second = 0;  // of the store's clock; 0: not begun
    uint64_t changes = 0;           // of the table, at the beginning
    bool keep = false;              // nothing had changed since another search: keep_list() pays
    bool has_fresh = false;         // blocks, whatever the snapshot
    bool hit = false;
  };
  /* Some further segments, in place of what `found` has; false: these are the last. */
  bool find_some(const std::vector<uint32_t>& columns, const Known& known, Search* search, Found* found);

  /* What a search like this would find, if one has found it for the same bits under the same LSNs, or has served a
   * snapshot that sees the same. What has been added since is in it. Null: search. It counts as found. */
  std::shared_ptr<const SegmentList> kept_list(const std::vector<uint32_t>& columns, const Known& known);

  /* A kept list that serves a query with another snapshot, or of another map, once it has looked at some pages. All
   * blocks are wanted. */
  struct Renewal {
    std::shared_ptr<const SegmentList> list;
    std::map<uint32_t, Found> again;  // by number: segments that have changed since, as find() finds them now
    std::vector<uint8_t> look;        // a bit a block: pages to look at
    uint64_t to_look = 0;             // how many
    uint64_t state = 0;               // of the kept list when this began
    size_t seen = 0;                  // of its changes
  };
  /* None: search. */
  std::optional<Renewal> begin_renewal(const std::vector<uint32_t>& columns, const Known& known);
  /* `changed`: of the blocks to look at, those whose pages have changed or are not known: a bit a block. `known`: as at
   * the beginning. Returns what the query takes, and keeps it for the next. It is the same list if nothing has changed.
   * It counts as found. */
  std::shared_ptr<const SegmentList> end_renewal(const std::vector<uint32_t>& columns, const Known& known,
                                                 const Renewal& renewal, const std::vector<uint8_t>& changed);

  /* Which buffer a backend has seen each of these blocks in: a hint for the next. */
  void note_buffers(std::span<const uint32_t> blocks, std::span<const uint32_t> buffers);
  /* Of the blocks whose bits are set, in their order; 0: none is known. Empty: none of any. */
  std::vector<uint32_t> buffers_of(const std::vector<uint8_t>& bits, uint64_t count);

  /* Keeps what a query takes for the next that asks for the same, or whose snapshot sees the same: of fresh blocks the
   * pages have been looked at. Unless something has changed since the search began. Returns it; null: not kept. */
  std::shared_ptr<const SegmentList> keep_list(const std::shared_ptr<const std::vector<uint32_t>>& columns,
                                               const Known& known, const Search& search,
                                               std::vector<TakenSegment> taken);

  /*
   * These blocks of a version are all-visible under this LSN, and their pages are what they
   * were decoded from. Queries to come find them good, unless someone else has made a new
   * version meanwhile.
   */
  void confirm(const TakenSegment& unchanged, uint64_t map_lsn);

  /* For whoever looks at pages to confirm what is doubtful, from its search on: two that begin at once would
   * both look at the same pages. */
  std::unique_lock<std::mutex> look_alone() { return std::unique_lock(looking_); }

  /* Of a text column: what its segments share. */
  std::shared_ptr<TextDictionary> dictionary(uint32_t column);

  /* What its owner wants of the cache. */
  struct Retention {
    bool keep = false;  // its segments are evicted after those of all tables that have it not
    bool pin = false;  // columns are not evicted, as long as somebody says so now and then:
    std::vector<uint32_t> pinned;  // these attributes, ascending; none: all
    bool operator==(const Retention&) const = default;
    bool pins(uint32_t attnum) const;
  };
  /* A pin is a lease: it ends a quarter of an hour after it was last set. Nobody tells the store of a table that was
   * dropped, or whose file is another one now. */
  void set_retention(const Retention& retention);

 private:
  /* What is kept of one segment. A block that the delta has is not there in the main version, whatever
   * that has of it. */
  struct Kept {
    std::shared_ptr<const Segment> main;  // null: nothing
    std::shared_ptr<const Segment> delta;  // null: none; never without a main version

    BlockMask hidden() const { return delta ? delta->blocks : 0; }
    uint64_t bytes() const { return (main ? main->bytes() : 0) + (delta ? delta->bytes() : 0); }
    bool operator==(const Kept&) const = default;
  };

  void prefetch(size_t number) const;
  void look(uint32_t number, const std::vector<uint32_t>& columns, const Known& known, const Search& search,
            Found* found) const;
  struct KeptList;
  static void note_list_use(KeptList& kept, uint32_t tick, uint32_t second);
  static bool answers(const KeptList& kept, const std::vector<uint32_t>& columns, const Known& known);
  static uint64_t bytes_of(const KeptList& kept);
  static bool same_map(const KeptList& kept, const Known& known);
  bool bring_up_to_date(KeptList& kept, const Known& known);
  std::vector<uint32_t> changes_of(const KeptList& kept, const Known& known) const;
  bool has_more(uint32_t number, const std::vector<uint32_t>& columns, BlockMask blocks) const;
  std::vector<TakenSegment> versions_with(uint32_t number, const std::vector<uint32_t>& columns) const;
  void drop_lists();
  void note_changed(uint32_t number);
  void forget_buffers();
  void count_hit(const std::vector<uint32_t>& columns, uint32_t tick, uint32_t second);
  void offer_for_eviction(uint32_t table, uint32_t tick, uint32_t lately, EvictionOrder* order) const;
  void note_filled(const DecodedBlocks& decoded);
  void retain(const Retention& retention);
  void end_pin_after(uint32_t second);
  uint64_t pinned_bytes(const Kept& kept) const;
  uint64_t mark_pinned(const Kept& kept) const;
  uint64_t evict(std::span<const EvictionCandidate> of_one_segment, const Kept& offered);
  bool admits(const DecodedBlocks& decoded, bool is_asked);
  void publish(uint32_t number, Kept versions);
  bool kept_version(uint32_t number, Kept* kept);
  bool replace(uint32_t number, const Kept& before, Kept versions);
  void count_dictionaries();
  void forget_dictionaries();
  friend class ColumnStore;
  StoredTable(ColumnStore& store, const TbFileIdentity& file) : store_(store), file_(file) {}
  void report(std::vector<TbCachedColumn>& columns);
  uint64_t drop();

  /* Of a column, whatever the segment. */
  struct Hits {
    uint64_t count = 0;
    int64_t last_us = 0;  // since 1970
    uint32_t last_used = 0;  // a tick of the store's clock, filled or found
    uint32_t last_found = 0;  // a second of it; 0: never
  };

  /* What was found, of which map and for which snapshot. */
  struct KeptList {
    std::shared_ptr<const std::vector<uint32_t>> columns;
    uint32_t nblocks;
    std::vector<uint64_t> map_lsn;
    std::vector<uint8_t> bits;
    std::optional<QuerySnapshot> snapshot;  // that it has served
    bool whole;  // every block was wanted
    bool has_fresh;  // or lacks such, or has blocks of another map: it is for that snapshot alone
    std::shared_ptr<const SegmentList> list;
    uint64_t bytes;
    uint32_t noted;  // a second of the store's clock: its segments count as used then
    std::vector<uint32_t> changed;  // segments that have another version since, in any order, also twice
    std::vector<uint32_t> more;  // segments of which the store has blocks that are not in the list
    bool mixed = false;  // good under more than one state of the map
    uint64_t state = 0;  // another one whenever anything above changes, `changed` and `noted` apart
  };

  ColumnStore& store_;
  const TbFileIdentity file_;
  std::mutex looking_;  // no field; taken before mutex_
  std::mutex buffers_mutex_;
  // By number of a segment: where backends have seen its blocks; 0: not known.
  std::map<uint32_t, std::array<uint32_t, TB_SEGMENT_BLOCKS>> buffers_;
  std::mutex mutex_;  // all below
  Retention retention_;
  uint32_t pinned_until_ = 0;  // a second of the store's clock
  uint64_t pinned_bytes_ = 0;
  std::map<ColumnKey, uint32_t> numbers_;
  std::vector<bool> pinned_;  // by number
  std::vector<Hits> hits_;  // by number
  std::vector<Kept> segments_;  // by number
  std::map<uint32_t, std::shared_ptr<TextDictionary>> dictionaries_;  // by number of the column
  std::vector<KeptList> lists_;  // the latest last
  uint64_t list_states_ = 0;  // how many there were
  uint64_t changes_ = 0, changes_searched_ = UINT64_MAX;  // the latter: when the last search began
  std::optional<QuerySnapshot> searched_for_;  // the snapshot of that
  uint64_t dictionary_bytes_ = 0;  // of these, as far as the store has counted them
  bool dropped_ = false;  // nothing is added any more
  uint32_t nblocks_ = 0;  // of the file, when it was last looked at
};

class ColumnStore {
 public:
  /* 0 bytes: nothing is kept. */
  explicit ColumnStore(uint64_t capacity) : capacity_(capacity), admission_(capacity) {}

  /* Tests: as if so much time had passed. */
  void pass_time(uint32_t seconds) { passed_ += seconds; }

  bool enabled() const { return capacity_ > 0; }

  std::shared_ptr<StoredTable> table(const TbFileIdentity& file);

  /* Adds blocks to their segment, unless it has a version of a newer LSN of the map or they are fresh, or there is
   * nothing of the segment and it is not to enter (fill_admission.h). Of a fresh block the newer page stays. Evicts
   * columns of segments if the store is full, in the order of eviction_order.h. Throws bad_alloc. */
  TakenSegment add(StoredTable& table, const DecodedBlocks& decoded) { return add(table, decoded, nullptr); }
  /* `made`: what merge_segment() has made of `decoded` alone; it is taken where there is nothing of the segment.
   * Returns the new version and the blocks of it that were added; no segment: nothing was. */
  TakenSegment add(StoredTable& table, const DecodedBlocks& decoded, std::shared_ptr<Segment> made);

  /* Merges one delta that is waiting for it into its segment; false: none is. Takes some 20 us. Throws bad_alloc. */
  bool merge_next();
  bool merges_wait() const;

  /* What is kept of each column, files in order; at most so many. */
  std::vector<TbCachedColumn> report(size_t most);

  /* Forgets a relation's file, all that ever had its number; or a file of columns, which has no database, all that
   * it ever held; returns the bytes. Queries that run keep what they have taken, and add nothing to it any more. */
  uint64_t drop(const TbFileIdentity& file);

  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  uint64_t capacity() const { return capacity_; }
  /* Bytes of pinned columns, and how many they may take. */
  uint64_t pinned() const { return pinned_.load(std::memory_order_relaxed); }
  uint64_t pinnable() const { return capacity_ - capacity_ / 8; }

 private:
  friend class StoredTable;
  void make_room();
  void end_pins();
  void forget_empty_tables();
  uint32_t now() const;

  const uint64_t capacity_;
  FillAdmission admission_;
  std::atomic<uint64_t> pinned_{0};
  std::atomic<uint32_t> end_pins_at_{0};  // a second of the clock
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::atomic<uint32_t> passed_{1};
  std::atomic<uint64_t> used_{0};
  std::atomic<uint32_t> clock_{1};  // a tick a query
  std::mutex tables_mutex_;
  std::map<std::array<uint64_t, 4>, std::shared_ptr<StoredTable>> tables_;
  size_t many_tables_ = 256;  // so many, and some may be empty

  struct WaitingMerge {
    std::weak_ptr<StoredTable> table;
    uint32_t number;  // of the segment
  };
  mutable std::mutex merges_mutex_;  // taken last
  std::deque<WaitingMerge> merges_;
};

}  // namespace turbine
