/*
 * keys_on_host.cc - key_kernels.c compiled for the host, thread by thread.
 *
 * Called by the fake driver's streams. The product must never link it.
 */
#include "engine/device/cuda/testing/block_threads.h"
#include "engine/device/cuda/testing/window_on_host.h"

#include "engine/device/cuda/window/key_kernels.c"  // once more, for another target

namespace turbine::cuda::testing {

void set_key_kernels(FakeDriver& fake) {
  fake.set_kernel("tb_key_ranges", [](void* args) {
    auto* ranges = static_cast<TbKeyRanges*>(args);
    run_blocks({ranges->nblocks, TB_KEY_THREADS, kBlockMemoryBytes}, [ranges] { tb_key_ranges(ranges); });
  });
  fake.set_kernel("tb_key_pack", [](void* args) {
    run_blocks({3, TB_KEY_THREADS, kBlockMemoryBytes}, [args] { tb_key_pack(static_cast<TbKeyPack*>(args)); });
  });
  fake.set_kernel("tb_gather", [](void* args) {
    run_blocks({3, TB_KEY_THREADS, kBlockMemoryBytes}, [args] { tb_gather(static_cast<TbGather*>(args)); });
  });
}

}  // namespace turbine::cuda::testing
