/*
 * window_code.cc - embeds the kernels of window functions. TURBINE_WINDOW_PTX is the file that the build
 * has made of window_kernels.c.
 *
 * Called by cuda_window.cc; launches nothing.
 */
#include "engine/device/cuda/window/window_code.h"

TURBINE_EMBED(turbine_window_ptx, TURBINE_WINDOW_PTX)

namespace turbine::cuda {

WindowCode::WindowCode(std::shared_ptr<CudaContext> context)
    : code_(std::move(context), turbine_window_ptx,
            {"tb_window_totals", "tb_window_before", "tb_window_scan", "tb_window_emit", "tb_window_take"}, 0) {}

WindowKernels WindowCode::kernels(const Driver& driver) {
  const std::vector<Function> functions = code_.functions(driver);
  return {functions[0], functions[1], functions[2], functions[3], functions[4]};
}

}  // namespace turbine::cuda
