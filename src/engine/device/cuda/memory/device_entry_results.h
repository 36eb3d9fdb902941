/*
 * device_entry_results.h - a query's results by entry of dictionaries, in device memory.
 *
 * Nobody knew of the dictionaries when the query was admitted, so that tables are no part of its account: without
 * memory there is none. Used by the query's worker. All of it lasts as long as the query.
 */
#pragma once

#include "engine/device/cuda/cuda_context.h"
#include "engine/device/cuda/memory/column_place.h"
#include "engine/device/device.h"
#include "engine/device/entry_result_tables.h"

namespace turbine::cuda {

class DeviceEntryResults {
 public:
  /* Tables are cleared on `stream`. */
  DeviceEntryResults(CudaContext& context, const Driver& driver, EntryResults layout, Stream stream);

  bool has(uint32_t column) const { return tables_.layout().record_size(column) > 0; }

  /* Where results of this column of the source are, once the stream has come so far: of codes of the dictionary with
   * that copy. Throws DeviceError for other reasons than a lack of memory. */
  void find(uint32_t column, const std::shared_ptr<TextDictionary>& dictionary, const DeviceDictionary& copy,
            TbEntryResults* found);

  void count(DeviceQueryStats* stats) const { tables_.count(stats); }

 private:
  EntryResultTables<Block> tables_;
};

}  // namespace turbine::cuda
