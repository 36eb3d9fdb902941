/*
 * device_entry_results.cc - see device_entry_results.h.
 *
 * Owned by QueryResources; asked by a lane once for each task and column.
 */
#include "engine/device/cuda/memory/device_entry_results.h"

#include "engine/device/cuda/driver/stream.h"

namespace turbine::cuda {

DeviceEntryResults::DeviceEntryResults(CudaContext& context, const Driver& driver, EntryResults layout, Stream stream)
    : tables_(std::move(layout), [&context, &driver, stream](uint64_t bytes) -> std::optional<Block> {
        try {
          Block block = context.device_memory().allocate(driver, bytes, nullptr);
          driver.check(driver.memset_d8_async(block.device(), 0, static_cast<size_t>(bytes), stream));
          return block;
        } catch (const DeviceError& error) {
          if (error.reason != TB_FALLBACK_DEVICE_MEMORY) throw;
          return std::nullopt;
        }
      }) {}

void DeviceEntryResults::find(uint32_t column, const std::shared_ptr<TextDictionary>& dictionary,
                              const DeviceDictionary& copy, TbEntryResults* found) {
  const Block* table = copy.views ? tables_.find(column, tables_.layout().record_size(column), dictionary) : nullptr;
  found->views = table ? reinterpret_cast<const TbTextView*>(copy.views) : nullptr;
  found->results = table ? reinterpret_cast<uint8_t*>(table->device()) : nullptr;
}

}  // namespace turbine::cuda
