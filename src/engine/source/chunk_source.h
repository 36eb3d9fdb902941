/*
 * chunk_source.h - a source: whatever fills the chunks of a query.
 *
 * execution/ drives a chunk through a slot, and asks the chunk's source three questions: may the chunk be as it
 * is (check), does the source fill it (fills, then fill), and is the slot's content safe for generated code
 * (check_content)? The kind of a chunk selects its source (include/turbine/wire.h). To add a source, make a
 * folder beside heap/ and columns/; execution/query_execution.cc makes a query's sources.
 *
 * The session's thread calls sources. They fill on threads of their own and report to a FillObserver.
 */
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "engine/device/device.h"
#include "engine/slots/slot_table.h"
#include "engine/wire/requests.h"

namespace turbine {

/* How filling a chunk went. */
struct ChunkFill {
  bool ok;
  uint64_t bytes = 0;  // read by us
  uint64_t us = 0;     // all threads' time
  std::shared_ptr<DecodedPages> decoded = nullptr;  // if the device has read the chunk ahead
};

/* Any thread. */
class FillObserver {
 public:
  virtual ~FillObserver() = default;
  /* The slot's chunk is not in memory: threads begin to wait for a drive. */
  virtual void waits_for_drive(uint32_t slot) = 0;
  /* Once for every fill(), and its last act: the query may end at once. */
  virtual void filled(uint32_t slot, const ChunkFill& fill) = 0;
};

class ChunkSource {
 public:
  virtual ~ChunkSource() = default;

  /* Throws ProtocolError for a chunk that this source cannot have. */
  virtual void check(const ChunkRequest& chunk, const SlotShape& shape) const = 0;

  /* False: the backend has written the whole chunk. */
  virtual bool fills(const ChunkRequest& chunk) const = 0;

  /* Begins to fill the slot that `task` describes. The observer hears of it, maybe before
   * this returns, and whatever goes wrong. `device` may read the chunk ahead. */
  virtual void fill(const ChunkRequest& chunk, const Task& task, DeviceQuery& device, FillObserver& observer) = 0;

  /* Throws ProtocolError if the slot holds what generated code must not read. */
  virtual void check_content(const uint8_t* slot, const SlotShape& shape) const = 0;

  /* The layout of a chunk that check() has passed; null: the program's own. */
  virtual const ChunkLayout* layout(uint32_t number) const = 0;
};

}  // namespace turbine
