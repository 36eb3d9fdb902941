/*
 * matched_rows.h - which rows of the tables of FULL joins have been a match, in
 * device memory: see TbPipelineArgs::matched. Kernels set the bytes and read them.
 */
#pragma once

#include <span>
#include <vector>

#include "engine/device/cuda/cuda_context.h"
#include "engine/device/device.h"

namespace turbine::cuda {

class MatchedRows {
 public:
  /* Clears on `stream`. Throws DeviceError; then nothing is in flight. */
  MatchedRows(CudaContext& context, const Driver& driver, const Program& program, const JoinTables& tables,
              MemoryAccount& account, Stream stream);

  DevicePtr arrays() const { return addresses_.device(); }

  /* The bytes of a FULL join's table, which nothing on the device uses meanwhile; waits for the stream. Throws
   * DeviceError. */
  std::vector<uint8_t> read(uint32_t join, const Driver& driver, Stream stream) const;
  void write(uint32_t join, std::span<const uint8_t> bytes, const Driver& driver, Stream stream);

  /* Device memory that they take, as the pool rounds it. */
  static uint64_t bytes_for(const Program& program, const JoinTables& tables);

 private:
  void clear(CudaContext& context, const Driver& driver, const Program& program, const JoinTables& tables,
             MemoryAccount& account, Stream stream);

  std::vector<Block> blocks_;  // by join, up to the last FULL join: of those that are
  std::vector<uint64_t> sizes_;  // likewise
  std::vector<DevicePtr> host_addresses_;
  Block addresses_;
};

}  // namespace turbine::cuda
