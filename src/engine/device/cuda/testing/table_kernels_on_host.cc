/*
 * table_kernels_on_host.cc - table_kernels.c compiled for the host, thread by thread.
 *
 * Called by the fake driver's streams. The product must never link it.
 */
#include "engine/device/cuda/testing/table_kernels_on_host.h"

#include "engine/device/cuda/testing/block_threads.h"

#include "engine/device/cuda/build/table_kernels.c"  // once more, for another target

namespace turbine::cuda::testing {
namespace {

unsigned any_grid(const TbTableBuild&) { return 3; }
unsigned one_block(const TbTableBuild&) { return 1; }
unsigned block_a_tile_of_words(const TbTableBuild& build) {
  return static_cast<unsigned>((build.nwords + TB_BUILD_TILE - 1) / TB_BUILD_TILE);
}

}  // namespace

void set_table_kernels(FakeDriver& fake) {
  auto set = [&fake](const char* name, void (*kernel)(TbTableBuild*), unsigned (*blocks)(const TbTableBuild&)) {
    fake.set_kernel(name, [kernel, blocks](void* args) {
      auto* build = static_cast<TbTableBuild*>(args);
      run_blocks({blocks(*build), TB_BUILD_THREADS, kBlockMemoryBytes}, [kernel, build] { kernel(build); });
    });
  };
  set("tb_table_bounds", tb_table_bounds, any_grid);
  set("tb_table_mark", tb_table_mark, any_grid);
  set("tb_table_sums", tb_table_sums, block_a_tile_of_words);
  set("tb_table_scan", tb_table_scan, one_block);
  set("tb_table_ranks", tb_table_ranks, block_a_tile_of_words);
  set("tb_table_place", tb_table_place, any_grid);
  set("tb_table_buckets", tb_table_buckets, any_grid);
}

}  // namespace turbine::cuda::testing
