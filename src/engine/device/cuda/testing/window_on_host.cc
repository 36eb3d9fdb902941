/*
 * window_on_host.cc - window_kernels.c compiled for the host, thread by thread; and so key_kernels.c, by
 * keys_on_host.cc.
 *
 * Called by the fake driver's streams. The product must never link it.
 */
#include "engine/device/cuda/testing/window_on_host.h"

#include "engine/device/cuda/testing/block_threads.h"

#include "engine/device/cuda/window/window_kernels.c"  // once more, for another target

namespace turbine::cuda::testing {

void set_window_kernels(FakeDriver& fake) {
  set_key_kernels(fake);
  auto tiles = [](void* args) { return static_cast<TbWindowScan*>(args)->ntiles; };
  fake.set_kernel("tb_window_totals", [tiles](void* args) {
    run_blocks({tiles(args), TB_SCAN_THREADS, kBlockMemoryBytes},
               [args] { tb_window_totals(static_cast<TbWindowScan*>(args)); });
  });
  fake.set_kernel("tb_window_before", [](void* args) {
    run_blocks({1, TB_SCAN_THREADS, kBlockMemoryBytes}, [args] { tb_window_before(static_cast<TbWindowScan*>(args)); });
  });
  fake.set_kernel("tb_window_scan", [tiles](void* args) {
    run_blocks({tiles(args), TB_SCAN_THREADS, kBlockMemoryBytes},
               [args] { tb_window_scan(static_cast<TbWindowScan*>(args)); });
  });
  fake.set_kernel("tb_window_emit", [](void* args) {
    run_blocks({3, TB_SCAN_THREADS, kBlockMemoryBytes}, [args] { tb_window_emit(static_cast<TbWindowEmit*>(args)); });
  });
  fake.set_kernel("tb_window_take", [](void* args) {
    run_blocks({3, TB_SCAN_THREADS, kBlockMemoryBytes}, [args] { tb_window_take(static_cast<TbWindowTake*>(args)); });
  });
}

}  // namespace turbine::cuda::testing
