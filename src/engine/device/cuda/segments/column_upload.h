/*
 * column_upload.h - stored columns on their way from the host's memory to a GPU's.
 *
 * They lie here and there in memory that is not pinned, in pieces of some kilobytes. One core collects a few
 * GB/s, the bus takes 50: so many threads collect them into a ring of pinned memory, one half of it while the
 * other half crosses.
 *
 * A lane's; its query's worker calls.
 */
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "engine/device/cuda/cuda_context.h"
#include "engine/device/cuda/driver/stream.h"
#include "engine/threads/worker_pool.h"

namespace turbine::cuda {

class ColumnUpload {
 public:
  ColumnUpload(CudaContext& context, const Driver& driver, WorkerPool& threads)
      : context_(context), driver_(driver), threads_(threads) {}

  /* As many as fill the ring's half keep every thread busy for longer than it takes to wake it. */
  static constexpr uint64_t kMostPiece = uint64_t{1} << 20;

  /* At most kMostPiece bytes that follow one another on the device. */
  struct Piece {
    DevicePtr to;
    uint64_t size;
    std::function<void(uint8_t*)> collect;  // writes them; on any thread
  };
  /* Copies them on `stream`. Waits until the last are under way, not until they are there. Throws DeviceError. */
  void copy(std::span<const Piece> pieces, Stream stream);

 private:
  static constexpr size_t kHalf = 16;  // pieces

  void wait_for_half(size_t half);

  CudaContext& context_;
  const Driver& driver_;
  WorkerPool& threads_;
  Block ring_;  // pinned: two halves
  std::optional<UniqueEvent> crossed_[2];
  bool under_way_[2] = {};
  size_t next_half_ = 0;
};

}  // namespace turbine::cuda
