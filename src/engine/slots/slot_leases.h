/*
 * slot_leases.h - which query has which slot memory, and which feeders have it mapped.
 *
 * A query's feeders (ATTACH in wire.h) write to its slots without telling turbined. They
 * may still do so for a moment after the query's backend has died. So slot memory that a
 * feeder is attached to waits here when its query is over. It goes back to the pool, and
 * thereby to other queries, with the last feeder.
 */
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "engine/slots/slot_memory.h"

namespace turbine {

/* Thread-safe. */
class SlotLeases {
 public:
  explicit SlotLeases(SlotMemoryPool& pool) : pool_(pool) {}

  /* A feeder's share in a lease; ends when destroyed. Move-only. */
  class Attachment {
   public:
    Attachment(Attachment&& other) noexcept;
    Attachment& operator=(Attachment&&) = delete;
    ~Attachment();
    /* Stays valid as long as this. */
    const SlotMemory& memory() const { return *memory_; }

   private:
    friend class SlotLeases;
    Attachment(SlotLeases& leases, uint64_t lease, const SlotMemory& memory)
        : leases_(&leases), lease_(lease), memory_(&memory) {}
    SlotLeases* leases_;
    uint64_t lease_;
    const SlotMemory* memory_;
  };

  /* The memory goes to a query; returns a number never used before. */
  uint64_t begin(const SlotMemory& memory);

  /* The query is over: the memory goes to the pool now or with its last feeder. */
  void end(uint64_t lease, std::unique_ptr<SlotMemory> memory);

  /* The query is over and its memory is not to be used again. */
  void abandon(uint64_t lease, std::unique_ptr<SlotMemory> memory);

  /* None if the query is over, or never was. */
  std::optional<Attachment> attach(uint64_t lease);

 private:
  struct Lease {
    const SlotMemory* memory;
    uint32_t feeders = 0;
    bool over = false;
    bool reusable = true;
    std::unique_ptr<SlotMemory> waiting;  // once over
  };

  void finish(uint64_t lease, std::unique_ptr<SlotMemory> memory, bool reusable);
  void detach(uint64_t lease);
  void let_go(std::unique_ptr<SlotMemory> memory, bool reusable);

  SlotMemoryPool& pool_;
  std::mutex mutex_;
  std::map<uint64_t, Lease> leases_;
  uint64_t next_lease_ = 1;
};

}  // namespace turbine
