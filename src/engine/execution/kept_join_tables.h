/*
 * kept_join_tables.h - join tables that outlive the query that built them, for queries that
 * would build the same one again.
 *
 * A table is the same if the program that builds it, its parameters and its source are. Of a
 * source that means: one file, whose blocks are all all-visible, as many as there were, under
 * the same LSNs of the visibility map. Then the source's columns are what they were, whoever
 * looks at them (store/column_store.h). Or, if some blocks are fresh, a snapshot that sees the
 * same, or one that takes the very same list of segments. Only tables are kept that were built from cached
 * columns alone, and none that another table's rows went into.
 *
 * Thread-safe. Lives and dies with the service, like the column store.
 */
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/device/join_table.h"
#include "engine/program/program.h"
#include "engine/store/query_snapshot.h"
#include "engine/store/segment_list.h"
#include "engine/wire/requests.h"

namespace turbine {

/* What a join table is built of. */
struct JoinTableSource {
  std::string build;  // program, parameters and file
  uint32_t nblocks = 0;
  std::vector<uint64_t> map_lsn;          // empty: not all blocks are all-visible
  std::optional<QuerySnapshot> snapshot;  // none: it is not told, or its transaction writes
  std::weak_ptr<const SegmentList> list;  // what all its rows were taken by; empty: no such list is kept
};

/* Of a BUILD that asks for segments of a part; null if its table may not be kept. */
std::optional<JoinTableSource> join_table_source(const Program& program, const std::string& params,
                                                 const SegmentsRequest& request, const QuerySnapshot* snapshot);

struct KeptJoinTable {
  std::shared_ptr<const JoinTable> table;
  uint64_t rows_in;      // of the source
  uint64_t rows_passed;
};

class KeptJoinTables {
 public:
  /* Bytes of all tables; 0: none is kept. */
  explicit KeptJoinTables(uint64_t capacity) : capacity_(capacity) {}

  std::optional<KeptJoinTable> find(const JoinTableSource& source);
  /* Of a source whose list is known by now. The table serves the source's snapshot from here on. */
  std::optional<KeptJoinTable> find_by_list(const JoinTableSource& source);

  /* In place of what was built the same way of an earlier state. Those that were not found for
   * longest go if there is no room. Throws bad_alloc. */
  void add(const JoinTableSource& source, const KeptJoinTable& table);

  /* Forgets the tables that were built of a relation's file, whatever inode and birth; returns
   * their bytes. Queries that have one keep it. */
  uint64_t drop(uint32_t tablespace, uint32_t database, uint32_t file_number);

  uint64_t used() const;

 private:
  struct Entry {
    JoinTableSource source;
    KeptJoinTable table;
    uint64_t last_used;
  };

  const uint64_t capacity_;
  mutable std::mutex mutex_;  // all below
  uint64_t used_ = 0;
  uint64_t clock_ = 0;
  std::map<std::string, Entry> entries_;  // by what builds them
};

}  // namespace turbine
