/*
 * embedded_kernels.cc - the PTX of kernels written by hand, and how a module of them is loaded.
 *
 * Owns the modules. TURBINE_PTX_FOLDER has the files that the build has made. Called by sort/, build/, groups/,
 * window/ and exports/; launches nothing.
 */
#include "engine/device/cuda/embedded_kernels.h"

#include <exception>
#include <stdexcept>
#include <string>
#include <system_error>

#include "engine/device/cuda/cuda_code.h"

/* Defines extern "C" const char turbine_NAME_ptx[]: the bytes of NAME_kernels.ptx and a NUL. */
// clang-format off
#define TURBINE_EMBED(name)                                         \
  asm(".section .rodata.turbine_" #name "_ptx,\"a\"\n"              \
      ".global turbine_" #name "_ptx\n"                             \
      ".hidden turbine_" #name "_ptx\n"                             \
      "turbine_" #name "_ptx:\n"                                    \
      ".incbin \"" TURBINE_PTX_FOLDER "/" #name "_kernels.ptx\"\n"  \
      ".byte 0\n"                                                   \
      ".previous\n");                                               \
  extern "C" const char turbine_##name##_ptx[];
// clang-format on

TURBINE_EMBED(radix)
TURBINE_EMBED(first)
TURBINE_EMBED(table)
TURBINE_EMBED(growth)
TURBINE_EMBED(key)
TURBINE_EMBED(window)
TURBINE_EMBED(export)

namespace turbine::cuda {

namespace {

struct EmbeddedPtx {
  std::string_view name;
  const char* text;
};

const EmbeddedPtx kEmbeddedPtx[] = {
    {"radix", turbine_radix_ptx}, {"table", turbine_table_ptx},   {"growth", turbine_growth_ptx},
    {"key", turbine_key_ptx},     {"window", turbine_window_ptx}, {"export", turbine_export_ptx},
    {"first", turbine_first_ptx},
};

}  // namespace

std::string_view embedded_ptx(std::string_view name) {
  for (const EmbeddedPtx& ptx : kEmbeddedPtx)
    if (ptx.name == name) return ptx.text;
  throw std::out_of_range("no kernels of " + std::string(name));
}

EmbeddedModule::EmbeddedModule(std::shared_ptr<CudaContext> context, std::string_view name,
                               std::vector<const char*> kernels, unsigned max_registers)
    : context_(std::move(context)),
      ptx_(embedded_ptx(name)),
      names_(std::move(kernels)),
      max_registers_(max_registers) {}

EmbeddedModule::~EmbeddedModule() {
  if (loader_.joinable()) loader_.join();
  if (module_ == nullptr) return;
  context_->enter_to_release();
  context_->driver().note(context_->driver().module_unload(module_));
}

bool EmbeddedModule::ready() {
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

std::vector<Function> EmbeddedModule::functions(const Driver& driver) {
  std::lock_guard lock(mutex_);
  if (module_ != nullptr) return functions_;
  const Module module = load_module(driver, ptx_.data(), max_registers_);
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
