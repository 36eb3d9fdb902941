/*
 * table_code.cc - embeds the kernels that build join tables. TURBINE_TABLE_PTX is the file that
 * the build has made of table_kernels.c.
 *
 * Called by device_table_build.cc; launches nothing.
 */
#include "engine/device/cuda/build/table_code.h"

TURBINE_EMBED(turbine_table_ptx, TURBINE_TABLE_PTX)

namespace turbine::cuda {

TableCode::TableCode(std::shared_ptr<CudaContext> context)
    : code_(std::move(context), turbine_table_ptx,
            {"tb_table_bounds", "tb_table_mark", "tb_table_sums", "tb_table_scan", "tb_table_ranks", "tb_table_place",
             "tb_table_buckets"},
            0) {}

TableKernels TableCode::kernels(const Driver& driver) {
  const std::vector<Function> f = code_.functions(driver);
  return {f[0], f[1], f[2], f[3], f[4], f[5], f[6]};
}

}  // namespace turbine::cuda
