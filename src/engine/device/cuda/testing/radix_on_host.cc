/*
 * radix_on_host.cc - radix_kernels.c compiled for the host, thread by thread.
 *
 * Called by the fake driver's streams. The product must never link it.
 */
#include "engine/device/cuda/testing/radix_on_host.h"

#include "engine/device/cuda/testing/block_threads.h"

#define TB_SORT_PATIENCE (1u << 13)  // blocks that run take a few hundred turns
#include "engine/device/cuda/sort/radix_kernels.c"  // once more, for another target

namespace turbine::cuda::testing {

void set_radix_kernels(FakeDriver& fake) {
  fake.set_kernel("tb_sort_count", [](void* args) {
    run_blocks({3, TB_SORT_THREADS, kBlockMemoryBytes}, [args] { tb_sort_count(static_cast<TbSortCount*>(args)); });
  });
  fake.set_kernel("tb_sort_pass", [](void* args) {
    const unsigned tiles = (static_cast<TbSortPass*>(args)->nrows + TB_SORT_TILE - 1) / TB_SORT_TILE;
    run_blocks({tiles, TB_SORT_THREADS, kBlockMemoryBytes}, [args] { tb_sort_pass(static_cast<TbSortPass*>(args)); });
  });
  fake.set_kernel("tb_sort_agree", [](void* args) {
    run_blocks({3, TB_SORT_THREADS, kBlockMemoryBytes}, [args] { tb_sort_agree(static_cast<TbSortAgree*>(args)); });
  });
}

void lose_a_tile(FakeDriver& fake) {
  fake.set_kernel("tb_sort_pass", [](void* args) {
    auto* pass = static_cast<TbSortPass*>(args);
    const unsigned tiles = (pass->nrows + TB_SORT_TILE - 1) / TB_SORT_TILE;
    run_blocks({1, TB_SORT_THREADS, kBlockMemoryBytes}, [pass] { tb_sort_pass(pass); });
    pass->next_tile++;
    run_blocks({tiles - 2, TB_SORT_THREADS, kBlockMemoryBytes}, [pass] { tb_sort_pass(pass); });
  });
}

}  // namespace turbine::cuda::testing
