/*
 * radix_code.cc - embeds and loads the kernels that sort. TURBINE_RADIX_PTX is the file that
 * the build has made of radix_kernels.c.
 *
 * Owns the module. Called by device_key_sort.cc; launches nothing.
 */
#include "engine/device/cuda/sort/radix_code.h"

#include <exception>
#include <system_error>

#include "engine/device/cuda/cuda_code.h"

// clang-format off
asm(".section .rodata.turbine_radix,\"a\"\n"
    ".global turbine_radix_ptx\n"
    ".hidden turbine_radix_ptx\n"
    "turbine_radix_ptx:\n"
    ".incbin \"" TURBINE_RADIX_PTX "\"\n"
    ".byte 0\n"
    ".previous\n");
// clang-format on
extern "C" const char turbine_radix_ptx[];

namespace turbine::cuda {

std::string_view radix_ptx() { return turbine_radix_ptx; }

RadixCode::RadixCode(std::shared_ptr<CudaContext> context, unsigned max_registers)
    : context_(std::move(context)), max_registers_(max_registers) {}

RadixCode::~RadixCode() {
  if (loader_.joinable()) loader_.join();
  if (module_ == nullptr) return;
  context_->enter_to_release();
  context_->driver().note(context_->driver().module_unload(module_));
}

bool RadixCode::ready() {
  std::lock_guard lock(mutex_);
  if (module_ != nullptr) return true;
  if (loader_.joinable()) return false;
  try {
    loader_ = std::thread([this] {
      context_->enter_to_release();
      try {
        kernels(context_->driver());
      } catch (const std::exception&) {  // the host sorts
      }
    });
  } catch (const std::system_error&) {  // no thread: the next query tries again
  }
  return false;
}

RadixKernels RadixCode::kernels(const Driver& driver) {
  std::lock_guard lock(mutex_);
  if (module_ != nullptr) return kernels_;
  const Module module = load_module(driver, turbine_radix_ptx, max_registers_);
  try {
    RadixKernels found;
    driver.check(driver.module_get_function(&found.count, module, "tb_sort_count"));
    driver.check(driver.module_get_function(&found.pass, module, "tb_sort_pass"));
    driver.check(driver.module_get_function(&found.agree, module, "tb_sort_agree"));
    module_ = module;
    kernels_ = found;
  } catch (...) {
    driver.note(driver.module_unload(module));
    throw;
  }
  return kernels_;
}

}  // namespace turbine::cuda
