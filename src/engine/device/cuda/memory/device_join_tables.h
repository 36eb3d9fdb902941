/*
 * device_join_tables.h - the join tables that a query probes, in device memory.
 *
 * A table is one block without addresses: it is copied as it is, unless there is a copy
 * of an earlier query's, and an array of the copies' addresses goes to the kernels. Shares the
 * copies, and the host's tables until it goes, since copying is asynchronous.
 */
#pragma once

#include <map>
#include <vector>

#include "engine/device/cuda/memory/join_table_copies.h"
#include "engine/device/device.h"

namespace turbine::cuda {

class DeviceJoinTables {
 public:
  /* Copies on `stream`. Throws DeviceError; then nothing is in flight. */
  DeviceJoinTables(CudaContext& context, const Driver& driver, JoinTableCopies& copies, JoinTables tables,
                   MemoryAccount& account, Stream stream);

  /* Waits for `stream`, where anything was copied; then other queries may have it. Throws DeviceError. */
  void keep_copies(const Driver& driver, Stream stream);

  DevicePtr addresses() const { return addresses_.device(); }  // of const TbJoinTable *[]
  uint64_t bytes_copied() const { return bytes_copied_; }

 private:
  void copy(CudaContext& context, const Driver& driver, MemoryAccount& account, Stream stream);

  JoinTableCopies& copies_;
  const JoinTables tables_;
  std::map<const JoinTable*, std::shared_ptr<const Block>> blocks_;  // a table may be probed twice
  std::vector<std::shared_ptr<const JoinTable>> new_copies_;         // that may be kept
  std::vector<DevicePtr> host_addresses_;
  Block addresses_;
  uint64_t bytes_copied_ = 0;
};

/* Device memory that they take, as the pool rounds it. */
uint64_t device_table_bytes(const JoinTables& tables);

/* Does a row of the program's source make at most one tuple? */
bool at_most_one_tuple(const Program& program, const JoinTables& tables);

}  // namespace turbine::cuda
