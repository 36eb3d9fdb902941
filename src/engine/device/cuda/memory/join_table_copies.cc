/*
 * join_table_copies.cc - see join_table_copies.h.
 *
 * Called by device_join_tables.cc. Must not take a table for another one that had its address.
 */
#include "engine/device/cuda/memory/join_table_copies.h"

#include <algorithm>

namespace turbine::cuda {

uint64_t JoinTableCopies::used() const {
  std::lock_guard lock(mutex_);
  return used_;
}

/* Under the lock. */
void JoinTableCopies::forget(Copies::iterator copy) {
  used_ -= copy->second.block->size();
  copies_.erase(copy);
}

/* Under the lock. */
void JoinTableCopies::forget_expired() {
  for (auto copy = copies_.begin(); copy != copies_.end();) {
    const auto next = std::next(copy);
    if (copy->second.table.expired()) forget(copy);
    copy = next;
  }
}

void JoinTableCopies::forget_dropped() {
  std::lock_guard lock(mutex_);
  forget_expired();
}

std::shared_ptr<const Block> JoinTableCopies::find(const std::shared_ptr<const JoinTable>& table) {
  std::lock_guard lock(mutex_);
  forget_expired();
  const auto found = copies_.find(table.get());
  if (found == copies_.end()) return nullptr;
  found->second.last_used = ++clock_;
  return found->second.block;
}

void JoinTableCopies::keep(const std::shared_ptr<const JoinTable>& table, std::shared_ptr<const Block> copy) {
  std::lock_guard lock(mutex_);
  forget_expired();
  if (copies_.contains(table.get())) return;  // another query was first
  while (used_ + copy->size() > capacity_) {
    const auto oldest = std::min_element(copies_.begin(), copies_.end(), [](const auto& a, const auto& b) {
      return a.second.last_used < b.second.last_used;
    });
    if (oldest == copies_.end()) return;
    forget(oldest);
  }
  used_ += copy->size();
  copies_[table.get()] = {table, std::move(copy), ++clock_};
}

}  // namespace turbine::cuda
