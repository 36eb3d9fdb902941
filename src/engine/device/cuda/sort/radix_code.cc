/*
 * radix_code.cc - embeds the kernels that sort. TURBINE_RADIX_PTX is the file that the build has
 * made of radix_kernels.c.
 *
 * Called by device_key_sort.cc; launches nothing.
 */
#include "engine/device/cuda/sort/radix_code.h"

TURBINE_EMBED(turbine_radix_ptx, TURBINE_RADIX_PTX)

namespace turbine::cuda {

std::string_view radix_ptx() { return turbine_radix_ptx; }

RadixCode::RadixCode(std::shared_ptr<CudaContext> context, unsigned max_registers)
    : code_(std::move(context), turbine_radix_ptx, {"tb_sort_count", "tb_sort_pass", "tb_sort_agree"}, max_registers) {}

RadixKernels RadixCode::kernels(const Driver& driver) {
  const std::vector<Function> functions = code_.functions(driver);
  return {functions[0], functions[1], functions[2]};
}

}  // namespace turbine::cuda
