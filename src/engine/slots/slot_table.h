/*
 * slot_table.h - the slots of one query: where each lies, who has it, and which chunk is
 * in it.
 *
 * A slot goes kBackend -> (kReading ->) kHeld -> kRunning -> kBackend for each chunk.
 * After the input it is kOurs, or kOutput while the backend reads results from it.
 *
 * The backend's side of the same is src/pg/conversation/slots.h, where kReading and kHeld
 * are both READING.
 *
 * Called by execution/ alone, which holds the query's lock. Posts no message.
 */
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/device/device.h"
#include "engine/profile/query_profile.h"
#include "engine/wire/requests.h"

namespace turbine {

/* How a slot is laid out: pages or columns, then row ids. */
struct SlotShape {
  uint32_t pages = 0;
  uint32_t nslots = 0;
  uint64_t ids_offset = 0;
  uint64_t size = 0;

  SlotShape() = default;
  SlotShape(uint32_t pages, uint32_t nslots);
  uint32_t max_rows() const { return pages * TB_MAX_TUPLES_PER_PAGE; }
  uint64_t total_bytes() const { return nslots * size; }
};

enum class SlotState {
  kBackend,  // the backend owns it: free, or being filled
  kReading,  // its source fills it
  kHeld,     // waits for CHUNK_RELEASE
  kRunning,  // on the device
  kOutput,   // holds result rows that the backend reads
  kOurs      // after INPUT_END, empty
};

class SlotTable {
 public:
  /* `memory`: the first slot's. `profile`: or null; outlives this. */
  void open(const SlotShape& shape, uint8_t* memory, QueryProfile* profile);

  uint32_t size() const { return static_cast<uint32_t>(slots_.size()); }
  uint8_t* base(uint32_t slot) const { return memory_ + slot * shape_.size; }
  const SlotShape& shape() const { return shape_; }

  /* Throws ProtocolError if there is no such slot, or it is in another state. */
  void check_state(uint32_t slot, SlotState state) const;
  SlotState state(uint32_t slot) const { return slots_[slot].state; }
  /* Of the chunk in it. */
  uint32_t kind(uint32_t slot) const { return slots_[slot].kind; }
  /* The device has read and decoded the chunk before its release. */
  bool ahead(uint32_t slot) const { return slots_[slot].ahead; }

  /* kBackend -> kReading if the source fills the chunk, else kHeld. `input`: what its task will read. */
  void begin(const ChunkRequest& chunk, TaskInput input, bool source_fills);
  /* The chunk as the device gets it. */
  Task task(uint32_t slot) const;
  /* The source's threads wait for a drive, until the slot is filled. */
  void wait_for_drive(uint32_t slot);
  /* kReading -> kHeld. */
  TbReadOutcome filled(uint32_t slot, bool ok, std::shared_ptr<DecodedPages> decoded);
  /* kHeld -> kRunning. `unchanged`: the pages are still those that were decoded. */
  Task submit(uint32_t slot, bool unchanged);
  /* kRunning -> kBackend. */
  void done(uint32_t slot);

  uint32_t reading() const { return reading_; }
  uint32_t at_drives() const { return at_drives_; }  // of reading()

  /* Is every slot the backend's or the device's? */
  bool nothing_held() const;
  /* After the input: all slots become kOurs. */
  void take_over();
  bool all_ours() const;
  void begin_output(uint32_t slot) { slots_[slot].state = SlotState::kOutput; }
  void end_output(uint32_t slot) { slots_[slot].state = SlotState::kOurs; }

 private:
  struct Slot {
    SlotState state = SlotState::kBackend;
    uint32_t kind = 0;
    uint64_t sequence = 0;
    TaskInput input;  // kReading, kHeld
    bool ahead = false;
    bool at_drive = false;  // kReading
    uint64_t since_ns = 0;  // traced: when the state began
  };
  void trace(uint32_t slot, TbSpanKind ended);

  SlotShape shape_;
  uint8_t* memory_ = nullptr;
  QueryProfile* profile_ = nullptr;
  std::vector<Slot> slots_;
  uint32_t reading_ = 0;
  uint32_t at_drives_ = 0;
};

}  // namespace turbine
