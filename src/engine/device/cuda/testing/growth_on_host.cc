/*
 * growth_on_host.cc - growth_kernels.c compiled for the host, thread by thread.
 *
 * Called by the fake driver's streams. The product must never link it.
 */
#include "engine/device/cuda/testing/growth_on_host.h"

#include "engine/device/cuda/testing/block_threads.h"

#include "engine/device/cuda/groups/growth_kernels.c"  // once more, for another target

namespace turbine::cuda::testing {

void set_growth_kernel(FakeDriver& fake) {
  fake.set_kernel("tb_group_grow", [](void* args) {
    run_blocks({3, TB_GROWTH_THREADS, 1}, [args] { tb_group_grow(static_cast<TbGroupGrowth*>(args)); });
  });
}

}  // namespace turbine::cuda::testing
