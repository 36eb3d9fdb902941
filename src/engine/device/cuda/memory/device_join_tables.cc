/*
 * device_join_tables.cc - copies the join tables that a query probes to the device.
 *
 * Owns the copies. Called by cuda_query.cc; must never change a table.
 */
#include "engine/device/cuda/memory/device_join_tables.h"

#include <set>

namespace turbine::cuda {

DeviceJoinTables::DeviceJoinTables(CudaContext& context, const Driver& driver, JoinTables tables,
                                   MemoryAccount& account, Stream stream)
    : tables_(std::move(tables)) {
  try {
    copy(context, driver, account, stream);
  } catch (...) {
    driver.note(driver.stream_synchronize(stream));  // the blocks go back to the pool now
    throw;
  }
}

void DeviceJoinTables::copy(CudaContext& context, const Driver& driver, MemoryAccount& account, Stream stream) {
  for (const auto& table : tables_) {
    Block& block = blocks_[table.get()];
    if (!block) {
      const uint64_t size = table->raw()->total_size;
      block = context.device_memory().allocate(driver, size, &account);
      driver.check(driver.memcpy_htod_async(block.device(), table->raw(), size, stream));
      bytes_copied_ += size;
    }
    host_addresses_.push_back(block.device());
  }
  const uint64_t size = host_addresses_.size() * sizeof(DevicePtr);
  addresses_ = context.device_memory().allocate(driver, size, &account);
  driver.check(driver.memcpy_htod_async(addresses_.device(), host_addresses_.data(), size, stream));
}

uint64_t device_table_bytes(const JoinTables& tables) {
  if (tables.empty()) return 0;
  uint64_t bytes = MemoryPool::rounded(tables.size() * sizeof(DevicePtr));
  std::set<const JoinTable*> seen;
  for (const auto& table : tables)
    if (seen.insert(table.get()).second) bytes += MemoryPool::rounded(table->raw()->total_size);
  return bytes;
}

bool at_most_one_tuple(const Program& program, const JoinTables& tables) {
  for (size_t i = 0; i < program.joins().size(); i++) {
    const uint8_t kind = program.joins()[i].kind;
    if (kind != TB_JOIN_SEMI && kind != TB_JOIN_ANTI && !tables[i]->unique()) return false;
  }
  return true;
}

}  // namespace turbine::cuda
