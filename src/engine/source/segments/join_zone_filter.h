/*
 * join_zone_filter.h - which segments a query's finished join tables exclude as a whole: no value between the
 * least and the greatest of a column is a key of the table that the column is looked up in.
 *
 * Takes INNER and SEMI joins, whose keys are columns of the source as they are, or widened. A row without a match
 * there leaves no trace, unless a FULL join has seen it before: it may have been the only match of a row there.
 * LEFT and ANTI joins keep such rows. Nothing is excluded where a filter, a key or a condition of a join may raise:
 * PostgreSQL may evaluate it for rows that have no match.
 */
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/device/join_table.h"
#include "engine/program/program.h"
#include "engine/store/segment.h"

namespace turbine {

class JoinZoneFilter {
 public:
  /* `tables`: of the program's joins, each checked against it. */
  JoinZoneFilter(const Program& program, const JoinTables& tables);

  /* Whether no row of the segment has a match. `columns`: numbers in the store, by the program's source column; the
   * segment has them. */
  bool excludes(const Segment& segment, const std::vector<uint32_t>& columns) const;
  /* The same of zones by source column. */
  bool excludes(const StoredColumn::Zone* zones) const;
  /* Sets the flag of each source column that it looks at. */
  void mark_columns(std::vector<uint8_t>& flags) const;
  /* Whether it excludes nothing. */
  bool empty() const { return !all_ && keys_.empty(); }

 private:
  /* Values that a column needs for a match: from `least` to `greatest`, those that the table has. */
  struct Key {
    size_t column;
    int64_t least, greatest;
    std::shared_ptr<const JoinTable> table;
    bool misses(const StoredColumn::Zone& zone) const;
  };
  void add(const Program& program, const TbJoin& join, const std::shared_ptr<const JoinTable>& table);

  bool all_ = false;  // some table has no row with a key: nothing matches
  std::vector<Key> keys_;
};

}  // namespace turbine
