/*
 * storage_pass.h - one measurement: files are read from their beginning, by one way, with one size of requests.
 */
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "storage_test/gpu_memory.h"

namespace turbine {

/* The way of the bytes. */
enum class StorageWay {
  kDirect,     // past the page cache (O_DIRECT) to ordinary memory
  kPageCache,  // through the page cache to ordinary memory
  kPinned,     // past the page cache to pinned memory
  kGpu,        // the same, and copied to the GPU while other requests are read
};
const char* storage_way_name(StorageWay way);

struct PassOptions {
  StorageWay way = StorageWay::kDirect;
  uint32_t request_bytes = 1 << 20;  // a multiple of 4096
  uint32_t depth = 8;                // requests in flight of each thread
  uint32_t threads = 1;
  double most_seconds = 3;           // then it ends before the files do
  uint64_t most_bytes = UINT64_MAX;
  bool drop_cache = false;           // kPageCache: the kernel forgets the files before
};

/* Figures of one pass. */
struct PassResult {
  PassOptions options;
  std::string engine;        // which one has read
  std::string error;         // "": it went well; else no figure below counts
  uint64_t bytes = 0;        // that were read
  double seconds = 0;
  uint64_t drive_bytes = 0;  // of these, from the drive: what the kernel has charged to this process
  uint64_t cached_bytes = 0; // the others
  uint64_t requests = 0;
  double wait_seconds = 0;   // threads' time without anything to do, in sum
  /* Of the block device while the pass ran, whoever asked; 0: not known. */
  uint64_t drive_requests = 0;
  double drive_request_bytes = 0;  // mean
  double gigabytes_per_second() const { return seconds > 0 ? static_cast<double>(bytes) / seconds / 1e9 : 0; }
};

struct TestedFile {
  std::string path;
  uint64_t bytes = 0;
  uint32_t major = 0, minor = 0;  // of the block device
};

/* Throws std::runtime_error: it cannot be read, or it is no ordinary file. */
TestedFile find_tested_file(const std::string& path);

/* `gpu`: for kPinned and kGpu. `progress`: bytes so far and in all, now and then, from one thread. Never throws: what
 * goes wrong is the result's error. */
PassResult run_pass(const std::vector<TestedFile>& files, const PassOptions& options, const GpuMemory* gpu,
                    const std::function<void(uint64_t, uint64_t)>& progress);

}  // namespace turbine
