/*
 * cuda_window_run.h - one pass of window functions on a GPU, and its values as long as they are wanted.
 *
 * Made by cuda_window.cc. All functions throw DeviceError, and leave nothing behind if they do.
 */
#pragma once

#include <vector>

#include "engine/device/cuda/embedded_kernels.h"
#include "engine/device/cuda/memory/device_rows.h"
#include "engine/device/cuda/memory/kernel_arguments.h"
#include "engine/device/cuda/sort/radix_run.h"
#include "engine/device/cuda/window/key_kernels.h"
#include "engine/device/cuda/window/window_kernels.h"
#include "engine/device/device_window.h"

namespace turbine::cuda {

struct WindowRunKernels {
  RadixKernels sort;
  WindowKernels window;
  KeyKernels keys;
};

class CudaWindowRun : public DeviceWindowRun {
 public:
  /* All must outlive it. `rows`: one part, where the device has them; else null. The context must be current. */
  CudaWindowRun(CudaContext& context, const WindowRunKernels& kernels, const Driver& driver, MemoryAccount& account,
                const DeviceRows::Part* rows, const WindowInput& input, ParallelWork& work);
  ~CudaWindowRun() override;

  void compute(ParallelWork& work);

  uint64_t rows() const override { return nstay_; }
  void fetch_order(const TakeSortedRows& take, ParallelWork& work) override;
  void fetch_values(size_t call, uint64_t count, const TakeValues& take, ParallelWork& work) override;
  void fetch_column(const WindowColumn& column, uint64_t count, const TakeValues& take, ParallelWork& work) override;

 private:
  /* An array of values on the device, and one of bytes if some may be NULL. */
  struct Column {
    Block values, valid;
    TbWindowColumn on_device(uint64_t width) const;
  };
  /* What a scan finds of each place. */
  struct Scanned {
    uint32_t arg, filter, kind;
    Block sums, best, counts;
  };
  /* What kernels are told, on the device and in pinned memory. */
  struct Arguments {
    TbWindowScan scan;
    TbWindowEmit emit;
    TbWindowTake take;
    TbKeyPack pack;
    TbGather gather;
  };

  Block array(uint64_t count, uint64_t width) const;
  Column column(uint64_t count, uint64_t width, bool nullable) const;
  TbWindowColumn argument(uint32_t column) const;
  TbWindowOrder order() const;
  void launch(Function kernel, unsigned grid, const void* argument) const {
    arguments_.launch(kernel, grid, TB_SCAN_THREADS, argument);
  }
  unsigned blocks() const;

  bool by_place() const { return input_.by_place || !input_.conditions.empty(); }
  TbWindowColumn row_column(const WindowColumn& column) const;
  void pack_keys();
  void send_columns(ParallelWork& work);
  void find_bounds();
  void scan(TbWindowScan& scan);
  const Scanned& scanned(const TbWindowFunction& function);
  void emit();
  void keep_passing();
  TbWindowFunctionCall call(size_t c);
  void fetch(const TbWindowColumn& from, uint64_t count, const TakeValues& take, ParallelWork& work);

  CudaContext& context_;
  const WindowRunKernels kernels_;
  const Driver& driver_;
  MemoryAccount& account_;
  const DeviceRows::Part* const rows_;
  const WindowInput& input_;
  const uint32_t nrows_;
  RadixRun sort_;
  KernelArguments<Arguments> arguments_;
  std::vector<Column> columns_, values_;
  std::vector<std::unique_ptr<Scanned>> scanned_;
  Block bounds_, partition_starts_, peer_starts_, tiles_;
  Block passing_, counts_, stay_;  // with conditions
  uint64_t nstay_;
};

}  // namespace turbine::cuda
