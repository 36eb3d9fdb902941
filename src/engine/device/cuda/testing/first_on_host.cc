/*
 * first_on_host.cc - first_kernels.c compiled for the host, thread by thread.
 *
 * Called by the fake driver's streams. The product must never link it.
 */
#include "engine/device/cuda/testing/first_on_host.h"

#include "engine/device/cuda/testing/block_threads.h"

#include "engine/device/cuda/sort/first_kernels.c"  // once more, for another target

namespace turbine::cuda::testing {

void set_first_kernels(FakeDriver& fake) {
  static constexpr BlockShape kShape{3, TB_FIRST_THREADS, 1};
  fake.set_kernel("tb_first_groups",
                  [](void* args) { run_blocks(kShape, [args] { tb_first_groups(static_cast<TbFirstRows*>(args)); }); });
  fake.set_kernel("tb_first_take",
                  [](void* args) { run_blocks(kShape, [args] { tb_first_take(static_cast<TbFirstRows*>(args)); }); });
  fake.set_kernel("tb_first_gather",
                  [](void* args) { run_blocks(kShape, [args] { tb_first_gather(static_cast<TbFirstRows*>(args)); }); });
  fake.set_kernel("tb_first_return",
                  [](void* args) { run_blocks(kShape, [args] { tb_first_return(static_cast<TbFirstRows*>(args)); }); });
}

}  // namespace turbine::cuda::testing
