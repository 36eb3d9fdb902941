/*
 * engine.h - everything that queries share: devices, code, memory, readers.
 *
 * Made once by the daemon. Members are in order of dependence: what comes
 * later uses what comes before, and goes first.
 */
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/code/code_cache.h"
#include "engine/code/compile_ahead.h"
#include "engine/device/machine/find_devices.h"
#include "engine/device/split/split_device.h"
#include "engine/execution/admission.h"
#include "engine/execution/gpu_choice.h"
#include "engine/execution/kept_join_tables.h"
#include "engine/execution/segment_merger.h"
#include "engine/execution/split_choice.h"
#include "engine/execution/stream/streamed_batches.h"
#include "engine/slots/slot_leases.h"
#include "engine/slots/slot_memory.h"
#include "engine/source/heap/mapped_files.h"
#include "engine/storage/storage_reader.h"
#include "engine/store/column_store.h"
#include "engine/threads/worker_pool.h"
#include "engine/topology/machine_topology.h"

namespace turbine {

struct EngineOptions {
  std::string compiler_path;
  uint32_t compile_timeout_s = 30;
  std::string cache_directory;  // "": nothing is kept on disk
  uint64_t cache_bytes = 1ull << 30;
  size_t max_loaded_programs = 256;
  uint64_t max_idle_slot_bytes = 512u << 20;
  uint64_t column_store_bytes = 0;  // 0: none; UINT64_MAX: a quarter of the machine's memory
  DeviceOptions devices;
};

class Engine {
 public:
  explicit Engine(const EngineOptions& options);

  const uint64_t memory;                         // of the process, bytes
  std::string why_no_gpu;                        // for the log; "" if there is one
  std::vector<std::unique_ptr<Device>> devices;  // 0: the host
  MachineTopology topology;                      // of the GPUs among these, and of drives
  WorkerPool& workers;                           // the host's
  IdleMappings& idle_memory;                     // the host's
  SplitDevices split_devices;                    // several GPUs as one
  CompilerClient compiler;
  CodeStore store;
  CodeCache code;
  CompileAhead compile_ahead;
  ColumnStore column_store;
  KeptJoinTables kept_tables;
  SlotMemoryPool slot_memory;
  SlotLeases leases;
  Admission admission;
  GpuChoice gpu_choice;
  SplitChoice split_choice;
  StreamedBatches streamed_batches;
  MappedFiles mapped_files;
  SegmentMerger merger;
  WorkerPool readers;
  StorageReader storage;

  /* A device as STATUS shows it. */
  TbDeviceInfo device_info(uint32_t index);

 private:
  Engine(const EngineOptions& options, FoundDevices found);
  Engine(const EngineOptions& options, FoundDevices found, uint64_t cache_bytes);
};

}  // namespace turbine
