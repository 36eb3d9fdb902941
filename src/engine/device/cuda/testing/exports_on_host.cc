/*
 * exports_on_host.cc - export_kernels.c compiled for the host, thread by thread.
 *
 * Called by the fake driver's streams. The product must never link it.
 */
#include "engine/device/cuda/testing/exports_on_host.h"

#include "engine/device/cuda/testing/block_threads.h"

#include "engine/device/cuda/exports/export_kernels.c"  // once more, for another target

namespace turbine::cuda::testing {

void set_export_kernels(FakeDriver& fake) {
  static constexpr BlockShape kShape{3, TB_EXPORT_THREADS, 1};
  fake.set_kernel("tb_export_order", [](void* args) {
    run_blocks(kShape, [args] { tb_export_order(static_cast<TbExportOrder*>(args)); });
  });
  fake.set_kernel("tb_export_values", [](void* args) {
    run_blocks(kShape, [args] { tb_export_values(static_cast<TbExportValues*>(args)); });
  });
  fake.set_kernel("tb_export_bits",
                  [](void* args) { run_blocks(kShape, [args] { tb_export_bits(static_cast<TbExportBits*>(args)); }); });
}

}  // namespace turbine::cuda::testing
