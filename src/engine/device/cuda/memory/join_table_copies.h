/*
 * join_table_copies.h - copies of join tables that stay in a GPU's memory as long as the host keeps the table
 * for queries to come.
 *
 * A copy is known by the table itself, which never changes. A query that has one shares it; what nobody
 * needs any more goes when the next query looks for its own. Thread-safe.
 */
#pragma once

#include <map>
#include <memory>
#include <mutex>

#include "engine/device/cuda/cuda_context.h"
#include "engine/device/join_table.h"

namespace turbine::cuda {

class JoinTableCopies {
 public:
  /* Of `capacity` bytes; 0: none is kept. */
  JoinTableCopies(std::shared_ptr<CudaContext> context, uint64_t capacity)
      : context_(std::move(context)), capacity_(capacity) {}

  uint64_t capacity() const { return capacity_; }
  uint64_t used() const;

  /* Null: there is none. */
  std::shared_ptr<const Block> find(const std::shared_ptr<const JoinTable>& table);

  /* Gives back copies of tables that the host has forgotten. */
  void forget_dropped();

  /* Might a copy of so many bytes be kept? */
  bool has_room_for(uint64_t bytes) const { return bytes <= capacity_; }

  /* The copy is complete, and no query's account is charged for it. Those not found for longest make room. */
  void keep(const std::shared_ptr<const JoinTable>& table, std::shared_ptr<const Block> copy);

 private:
  struct Copy {
    std::weak_ptr<const JoinTable> table;
    std::shared_ptr<const Block> block;
    uint64_t last_used;
  };
  using Copies = std::map<const JoinTable*, Copy>;

  void forget(Copies::iterator copy);
  void forget_expired();

  const std::shared_ptr<CudaContext> context_;  // until the last block is back
  const uint64_t capacity_;
  mutable std::mutex mutex_;  // protects what follows
  Copies copies_;
  uint64_t used_ = 0, clock_ = 0;
};

}  // namespace turbine::cuda
