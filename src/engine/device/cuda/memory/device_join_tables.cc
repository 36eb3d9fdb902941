/*
 * device_join_tables.cc - copies the join tables that a query probes to the device.
 *
 * Owns the copies. Called by cuda_query.cc; must never change a table.
 */
#include "engine/device/cuda/memory/device_join_tables.h"

#include <set>

namespace turbine::cuda {

DeviceJoinTables::DeviceJoinTables(CudaContext& context, const Driver& driver, JoinTableCopies& copies,
                                   JoinTables tables, MemoryAccount& account, Stream stream)
    : copies_(copies), tables_(std::move(tables)) {
  try {
    copy(context, driver, account, stream);
  } catch (...) {
    driver.note(driver.stream_synchronize(stream));  // the blocks go back to the pool now
    throw;
  }
}

void DeviceJoinTables::copy(CudaContext& context, const Driver& driver, MemoryAccount& account, Stream stream) {
  for (const auto& table : tables_) {
    std::shared_ptr<const Block>& block = blocks_[table.get()];
    if (!block) block = copies_.find(table);
    if (!block) {
      const uint64_t size = table->raw()->total_size;
      const bool may_stay = copies_.has_room_for(size);
      block = std::make_shared<const Block>(
          context.device_memory().allocate(driver, size, may_stay ? nullptr : &account));
      driver.check(driver.memcpy_htod_async(block->device(), table->raw(), size, stream));
      bytes_copied_ += size;
      if (may_stay) new_copies_.push_back(table);
    }
    host_addresses_.push_back(block->device());
  }
  const uint64_t size = host_addresses_.size() * sizeof(DevicePtr);
  addresses_ = context.device_memory().allocate(driver, size, &account);
  driver.check(driver.memcpy_htod_async(addresses_.device(), host_addresses_.data(), size, stream));
}

void DeviceJoinTables::keep_copies(const Driver& driver, Stream stream) {
  if (new_copies_.empty()) return;
  driver.check(driver.stream_synchronize(stream));
  for (const auto& table : new_copies_) copies_.keep(table, blocks_.at(table.get()));
  new_copies_.clear();
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
    if (kind == TB_JOIN_SERIES) return false;
    if (kind != TB_JOIN_SEMI && kind != TB_JOIN_ANTI && !tables[i]->unique()) return false;
  }
  return true;
}

}  // namespace turbine::cuda
