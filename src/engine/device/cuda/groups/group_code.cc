/*
 * group_code.cc - embeds the kernel that moves groups. TURBINE_GROWTH_PTX is the file that the build has
 * made of growth_kernels.c.
 *
 * Called by group_table.cc; launches nothing.
 */
#include "engine/device/cuda/groups/group_code.h"

TURBINE_EMBED(turbine_growth_ptx, TURBINE_GROWTH_PTX)

namespace turbine::cuda {

GroupCode::GroupCode(std::shared_ptr<CudaContext> context)
    : code_(std::move(context), turbine_growth_ptx, {"tb_group_grow"}, 0) {}

}  // namespace turbine::cuda
