/*
 * cuda_window.h - window functions on a GPU, for one query.
 *
 * Rows are sorted as in device_key_sort.h, and the order stays on the device. Rows that the host has are
 * packed there, and the columns that functions read follow through pinned memory; of rows that
 * have stayed on the device (memory/device_rows.h) nothing crosses the bus but what is left of them.
 * Scans and one kernel for all functions make their values (window_kernels.c). Device memory is
 * charged to the query.
 */
#pragma once

#include "engine/device/cuda/embedded_kernels.h"
#include "engine/device/cuda/memory/device_rows.h"
#include "engine/device/cuda/sort/device_key_sort.h"
#include "engine/device/device_window.h"

namespace turbine::cuda {

class CudaWindow : public DeviceWindow {
 public:
  struct Code {
    RadixCode& sort;
    WindowCode& window;
    KeyCode& keys;
  };

  /* All must outlive it. `driver` has the query's faults. */
  CudaWindow(CudaContext& context, Code code, const Driver& driver, MemoryAccount& account)
      : context_(context), code_(code), driver_(driver), account_(account) {}

  /* They are all of the query's rows, as long as there are some. */
  void set_rows(DeviceRows* rows) { rows_ = rows; }

  bool pays(uint64_t count, unsigned words, unsigned threads) const override;
  bool has_rows() const override { return rows_ && rows_->rows() > 0; }
  std::vector<WindowKeyRange> key_ranges(std::span<const WindowKey> keys) override;
  std::unique_ptr<DeviceWindowRun> run(const WindowInput& input, ParallelWork& work) override;

 private:
  CudaContext& context_;
  const Code code_;
  const Driver& driver_;
  MemoryAccount& account_;
  DeviceRows* rows_ = nullptr;
};

}  // namespace turbine::cuda
