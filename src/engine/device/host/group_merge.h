/*
 * group_merge.h - the group tables of several threads made into one result.
 *
 * Few groups are folded into the largest table by the caller; many are split
 * by hash into partitions that threads merge independently, so that no lock is
 * needed. The result may then lie in several tables.
 */
#pragma once

#include <memory>
#include <vector>

#include "engine/device/device.h"
#include "engine/device/host/host_group_table.h"
#include "engine/threads/worker_pool.h"

namespace turbine {

class MergedGroups {
 public:
  /* Takes the tables, of which any may be null. Throws DeviceError: out of
   * memory, or a state that overflows. */
  MergedGroups(const GroupFold& fold, std::vector<std::unique_ptr<HostGroupTable>> tables, WorkerPool& pool,
               MemoryBudget& budget);

  uint64_t size() const { return size_; }

  /* See DeviceQuery::fetch. */
  ResultBatch fetch(uint64_t first, uint64_t count) const;

 private:
  void merge_into_largest(std::vector<std::unique_ptr<HostGroupTable>> tables);
  void merge_partitions(std::vector<std::unique_ptr<HostGroupTable>> tables, WorkerPool& pool, MemoryBudget& budget);

  const GroupFold& fold_;
  std::vector<std::unique_ptr<HostGroupTable>> parts_;
  std::vector<std::vector<HostBuffer>> texts_;  // of the threads' tables, to which rows refer
  uint64_t size_ = 0;
};

}  // namespace turbine
