/*
 * batch_memory.h - memory of a stream's batches, which other processes open (turbine/export.h), and the pool in which
 * it waits to be used again.
 *
 * The first write to a page of a memfd costs ten times what later writes cost: the kernel finds a page and clears it.
 * So memory that nobody has open any more serves the stream's next batches. It never serves anybody else: whoever had
 * a batch of this stream may have any other of it.
 *
 * Importers get descriptors that cannot write. A file keeps its size: nobody dies of SIGBUS.
 */
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/code/unique_fd.h"
#include "engine/execution/admission.h"

namespace turbine {

/* The memfds of one batch. write() by any thread; all else by one at a time. */
class BatchMemory {
 public:
  /* Throws DeviceError. */
  BatchMemory(uint32_t ncolumns, Admission& admission);
  ~BatchMemory();
  BatchMemory(const BatchMemory&) = delete;

  /* Regions of a column, TB_EXPORT_VALUES_AT and so on. */
  enum Region : uint32_t { kValues, kValidity, kBytes, kBits };

  /* Throws DeviceError where memory ends. */
  void write(uint32_t column, Region region, uint64_t offset, const void* from, uint64_t bytes);

  /* The same place, if it is mapped: what is written there is written. Null: it is not. */
  uint8_t* mapped(uint32_t column, Region region, uint64_t offset, uint64_t bytes) const;

  /* Counts so many bytes more against the host's memory, before they are written for the first time. Throws
   * DeviceError. */
  void charge(uint64_t bytes);
  uint64_t charged() const { return charged_; }
  /* Memory that it takes: all that was ever written. */
  uint64_t bytes_used() const;
  /* Somebody else counts them from now on. */
  void hand_over();

  /* Pages that were written before are written by mappings from now on. */
  void use_again();

  /* A descriptor for importers, as long as this lives; a column's file is tb_export_file_of(). */
  UniqueFd& file(uint32_t column);

 private:
  struct File {
    UniqueFd own, shared;  // read and write; read only
  };
  struct Extent {
    std::atomic<uint64_t> used{0};  // bytes that were ever written, from the region's start on
    uint8_t* mapped = nullptr;
    uint64_t mapped_bytes = 0;
  };

  Admission& admission_;
  std::vector<File> files_;
  std::vector<Extent> extents_;  // four a column
  std::vector<Admission::Grant> grants_;
  uint64_t charged_ = 0;
};

/* Memory that waits for the stream's next batch. Thread-safe. */
class BatchPool : public std::enable_shared_from_this<BatchPool> {
 public:
  BatchPool(uint32_t ncolumns, size_t most_idle, Admission& admission)
      : ncolumns_(ncolumns), most_idle_(most_idle), admission_(admission) {}

  /* Comes back here when its last owner lets go, whatever thread that is on. Throws DeviceError. */
  std::shared_ptr<BatchMemory> take();

  /* The stream has ended: what waits is freed, and so is what comes back. */
  void close();

 private:
  void give_back(std::unique_ptr<BatchMemory> memory) noexcept;

  const uint32_t ncolumns_;
  const size_t most_idle_;
  Admission& admission_;
  std::mutex mutex_;  // protects what follows
  std::vector<std::unique_ptr<BatchMemory>> idle_;
  bool closed_ = false;
};

}  // namespace turbine
