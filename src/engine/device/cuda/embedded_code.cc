/*
 * embedded_code.cc - loads kernels that are a part of this program.
 *
 * Owns the module. Called by sort/ and build/; launches nothing.
 */
#include "engine/device/cuda/embedded_code.h"

#include <exception>
#include <system_error>

#include "engine/device/cuda/cuda_code.h"

namespace turbine::cuda {

EmbeddedCode::EmbeddedCode(std::shared_ptr<CudaContext> context, const char* ptx, std::vector<const char*> kernels,
                           unsigned max_registers)
    : context_(std::move(context)), ptx_(ptx), names_(std::move(kernels)), max_registers_(max_registers) {}

EmbeddedCode::~EmbeddedCode() {
  if (loader_.joinable()) loader_.join();
  if (module_ == nullptr) return;
  context_->enter_to_release();
  context_->driver().note(context_->driver().module_unload(module_));
}

bool EmbeddedCode::ready() {
  std::lock_guard lock(mutex_);
  if (module_ != nullptr) return true;
  if (loader_.joinable()) return false;
  try {
    loader_ = std::thread([this] {
      context_->enter_to_release();
      try {
        functions(context_->driver());
      } catch (const std::exception&) {  // the host does the work
      }
    });
  } catch (const std::system_error&) {  // no thread: the next query tries again
  }
  return false;
}

std::vector<Function> EmbeddedCode::functions(const Driver& driver) {
  std::lock_guard lock(mutex_);
  if (module_ != nullptr) return functions_;
  const Module module = load_module(driver, ptx_, max_registers_);
  try {
    std::vector<Function> found(names_.size(), nullptr);
    for (size_t i = 0; i < names_.size(); i++) driver.check(driver.module_get_function(&found[i], module, names_[i]));
    module_ = module;
    functions_ = std::move(found);
  } catch (...) {
    driver.note(driver.module_unload(module));
    throw;
  }
  return functions_;
}

}  // namespace turbine::cuda
