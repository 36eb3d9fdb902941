/*
 * host_entry_results.cc - see host_entry_results.h.
 *
 * Owned by HostQuery, and asked once for each segment and column.
 */
#include "engine/device/host/host_entry_results.h"

#include <algorithm>

#include "engine/wire/device_error.h"

namespace turbine {

namespace {

/* Queries with many expressions over texts do not wait for more. */
constexpr uint64_t kMostResultBytes = 16 << 20;

}  // namespace

HostEntryResults::HostEntryResults(const Program& program, uint64_t most_bytes)
    : budget_(most_bytes), tables_(EntryResults(program), [this](uint64_t bytes) -> std::optional<HostBuffer> {
        try {
          return HostBuffer(budget_, bytes);
        } catch (const DeviceError&) {
          return std::nullopt;
        }
      }) {}

uint64_t HostEntryResults::most_bytes(const Program& program) {
  const EntryResults layout(program);
  uint64_t bytes = 0;
  for (uint32_t c = 0; c < program.source_columns(); c++)
    if (layout.record_size(c) > 0) bytes += 2 * HostBuffer::charged(layout.size(c, TextDictionary::kMostEntries));
  return std::min(bytes, kMostResultBytes);
}

void HostEntryResults::find(uint32_t column, const StoredColumn& stored, TbEntryResults* found) {
  if (tables_.layout().record_size(column) == 0) return;
  const std::lock_guard lock(mutex_);
  const HostBuffer* table = tables_.find(column, stored.shape().dictionary);
  found->views = table ? stored.dictionary()->views() : nullptr;
  found->results = table ? table->data() : nullptr;
}

void HostEntryResults::count(DeviceQueryStats* stats) const {
  const std::lock_guard lock(mutex_);
  tables_.count(stats);
}

}  // namespace turbine
