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

/* Queries with many expressions over texts, and machines with many processors, do not wait for more. */
constexpr uint64_t kMostResultBytes = 32 << 20;

}  // namespace

HostEntryResults::HostEntryResults(const Program& program, uint64_t most_bytes)
    : budget_(most_bytes), tables_(EntryResults(program), [this](uint64_t bytes) -> std::optional<HostBuffer> {
        try {
          return HostBuffer(budget_, bytes);
        } catch (const DeviceError&) {
          return std::nullopt;
        }
      }) {}

uint64_t HostEntryResults::most_bytes(const Program& program, size_t workers) {
  const EntryResults layout(program);
  constexpr uint64_t kEntries = EntryResultTables<HostBuffer>::kMostEntries + 1;
  uint64_t bytes = 0;
  auto add = [&bytes](uint64_t record_size) {
    if (record_size > 0) bytes += 2 * HostBuffer::charged(kEntries * record_size);
  };
  for (uint32_t c = 0; c < program.source_columns(); c++) add(layout.record_size(c));
  if (layout.group_column()) add(workers * sizeof(uint32_t));
  return std::min(bytes, kMostResultBytes);
}

void HostEntryResults::find(unsigned worker, uint32_t column, const StoredColumn& stored, TbEntryResults* found) {
  const EntryResults& layout = tables_.layout();
  const bool groups = layout.group_column() == column;
  if (layout.record_size(column) == 0 && !groups) return;
  const std::shared_ptr<TextDictionary>& dictionary = stored.shape().dictionary;
  const std::lock_guard lock(mutex_);
  const HostBuffer* results = tables_.find(column, layout.record_size(column), dictionary);
  const HostBuffer* numbers = groups ? tables_.find(TB_MAX_COLUMNS + worker, sizeof(uint32_t), dictionary) : nullptr;
  found->views = results || numbers ? dictionary->views() : nullptr;
  found->results = results ? results->data() : nullptr;
  found->groups = numbers ? reinterpret_cast<uint32_t*>(numbers->data()) : nullptr;
}

void HostEntryResults::count(DeviceQueryStats* stats) const {
  const std::lock_guard lock(mutex_);
  tables_.count(stats);
}

}  // namespace turbine
