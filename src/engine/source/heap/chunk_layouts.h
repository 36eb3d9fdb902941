/*
 * chunk_layouts.h - the physical layouts that a query's chunks have besides that
 * of its program: those of a partitioned table's partitions (LAYOUT).
 *
 * Numbered from 1 on as they come; they stay until the query is over. The
 * session's thread only.
 */
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "engine/code/code_cache.h"
#include "engine/code/compile_ahead.h"
#include "engine/device/device.h"
#include "engine/program/program.h"
#include "engine/wire/requests.h"

namespace turbine {

/* Where a layout's code comes from, and for which device. */
struct LayoutCode {
  CodeCache& cache;
  CompileAhead& compile_ahead;
  Device& device;
  CodeDemand demand;
};

class ChunkLayouts {
 public:
  /* Checks the layout against the query's program and gets its code, which may
   * mean to wait for the compiler. Throws ProtocolError, DeviceError. */
  void add(const Program& query, const LayoutRequest& request, const LayoutCode& code, const IsCancelled& cancelled);

  bool has(uint32_t number) const { return number <= layouts_.size(); }

  /* Null for 0, the query's own; it has to be there. */
  const ChunkLayout* find(uint32_t number) const { return number == 0 ? nullptr : layouts_[number - 1].get(); }

 private:
  std::vector<std::unique_ptr<const ChunkLayout>> layouts_;
};

}  // namespace turbine
