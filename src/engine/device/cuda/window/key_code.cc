/*
 * key_code.cc - embeds the kernels that pack keys. TURBINE_KEY_PTX is the file that the build has made of
 * key_kernels.c.
 *
 * Called by cuda_window.cc; launches nothing.
 */
#include "engine/device/cuda/window/key_code.h"

TURBINE_EMBED(turbine_key_ptx, TURBINE_KEY_PTX)

namespace turbine::cuda {

KeyCode::KeyCode(std::shared_ptr<CudaContext> context)
    : code_(std::move(context), turbine_key_ptx, {"tb_key_ranges", "tb_key_pack", "tb_gather"}, 0) {}

KeyKernels KeyCode::kernels(const Driver& driver) {
  const std::vector<Function> functions = code_.functions(driver);
  return {functions[0], functions[1], functions[2]};
}

}  // namespace turbine::cuda
