/*
 * kept_join_tables.cc - see kept_join_tables.h.
 *
 * Owns references to tables and counts their bytes. Called by queries, on their sessions'
 * threads. Must never give out a table whose source may have changed.
 */
#include "engine/execution/kept_join_tables.h"

#include <algorithm>
#include <cstring>

#include "turbine/mutant.h"

namespace turbine {
namespace {

template <class T>
void append(std::string& to, const T& value) {
  to.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/* Every block of the file that there is. */
bool all_blocks(const SegmentsRequest& request) {
  const uint32_t nblocks = request.segments.nblocks;
  for (uint32_t i = 0; i < nblocks / 8; i++)
    if (request.bits[i] != 0xff) return false;
  const uint32_t rest = nblocks % 8;
  return rest == 0 || (request.bits[nblocks / 8] & ((1u << rest) - 1)) == (1u << rest) - 1;
}

/* A series is no table, and yields the same numbers for the same row. */
bool probes_tables(const Program& program) {
  const auto joins = program.joins();
  return std::any_of(joins.begin(), joins.end(), [](const TbJoin& join) { return join.kind != TB_JOIN_SERIES; });
}

/* Whether the source that a table was built of is what this one is now. */
bool is_same(const JoinTableSource& built, const JoinTableSource& now) {
  if (!built.map_lsn.empty() && built.nblocks == now.nblocks && built.map_lsn == now.map_lsn) return true;
  // Blocks behind those that there were have no rows for the snapshot.
  return built.snapshot && now.snapshot && built.nblocks <= now.nblocks && built.snapshot->sees_the_same(*now.snapshot);
}

}  // namespace

std::optional<JoinTableSource> join_table_source(const Program& program, const std::string& params,
                                                 const SegmentsRequest& request, const QuerySnapshot* snapshot) {
  const TbSegments& segments = request.segments;
  const bool all_visible = all_blocks(request);
  if (program.sink() != TB_SINK_BUILD || probes_tables(program) || segments.part != 1 || segments.layout != 0 ||
      (segments.flags & TB_SEGMENTS_CLEAN) || !(segments.flags & TB_SEGMENTS_WHOLE))
    return std::nullopt;
  JoinTableSource source;
  source.nblocks = segments.nblocks;
  if (all_visible) source.map_lsn = request.map_lsn;
  if (snapshot && !snapshot->writes && (segments.flags & TB_SEGMENTS_FRESH)) source.snapshot = *snapshot;
  if (!all_visible && !source.snapshot) return std::nullopt;
  append(source.build, segments.file);
  append(source.build, static_cast<uint64_t>(program.blob().size()));
  source.build.append(reinterpret_cast<const char*>(program.blob().data()), program.blob().size());
  source.build.append(params);
  return source;
}

std::optional<KeptJoinTable> KeptJoinTables::find(const JoinTableSource& source) {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(source.build);
  if (found == entries_.end()) return std::nullopt;
  Entry& entry = found->second;
  if (!is_same(entry.source, source) && !TB_MUTANT(kept_table_unchecked)) return std::nullopt;
  entry.last_used = ++clock_;
  return entry.table;
}

std::optional<KeptJoinTable> KeptJoinTables::find_by_list(const JoinTableSource& source) {
  std::lock_guard lock(mutex_);
  const auto found = entries_.find(source.build);
  const auto list = source.list.lock();
  if (found == entries_.end() || !list || found->second.source.list.lock() != list) return std::nullopt;
  Entry& entry = found->second;
  entry.last_used = ++clock_;
  if (source.snapshot && source.snapshot->xmax >= entry.source.snapshot.value_or(QuerySnapshot{}).xmax) {
    entry.source.snapshot = source.snapshot;
    entry.source.nblocks = source.nblocks;
    entry.source.map_lsn = source.map_lsn;
  }
  return entry.table;
}

void KeptJoinTables::add(const JoinTableSource& source, const KeptJoinTable& table) {
  const uint64_t bytes = table.table->charged_bytes() + source.build.size();
  std::vector<KeptJoinTable> gone;  // freed when the lock is
  std::lock_guard lock(mutex_);
  auto forget = [&](auto entry) {
    used_ -= entry->second.table.table->charged_bytes() + entry->first.size();
    gone.push_back(std::move(entry->second.table));
    entries_.erase(entry);
  };
  if (const auto before = entries_.find(source.build); before != entries_.end()) forget(before);
  if (bytes > capacity_) return;
  while (used_ + bytes > capacity_)
    forget(std::min_element(entries_.begin(), entries_.end(),
                            [](const auto& a, const auto& b) { return a.second.last_used < b.second.last_used; }));
  entries_.emplace(source.build, Entry{source, table, ++clock_});
  used_ += bytes;
}

uint64_t KeptJoinTables::drop(uint32_t tablespace, uint32_t database, uint32_t file_number) {
  std::lock_guard lock(mutex_);
  const uint64_t before = used_;
  std::erase_if(entries_, [&](const auto& entry) {
    TbFileIdentity file;  // which is what a build begins with
    memcpy(&file, entry.first.data(), sizeof file);
    if (file.tablespace != tablespace || file.database != database || file.file_number != file_number) return false;
    used_ -= entry.second.table.table->charged_bytes() + entry.first.size();
    return true;
  });
  return before - used_;
}

uint64_t KeptJoinTables::used() const {
  std::lock_guard lock(mutex_);
  return used_;
}

}  // namespace turbine
