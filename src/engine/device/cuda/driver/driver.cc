/*
 * driver.cc - driver calls turned into results and errors.
 *
 * Owns the rule that a sticky error marks the device lost. Called by everything in
 * device/cuda; must never retry a call.
 */
#include "engine/device/cuda/driver/driver.h"

namespace turbine::cuda {

void DeviceHealth::mark_lost(const std::string& message) {
  std::lock_guard lock(mutex_);
  if (lost_.load(std::memory_order_relaxed)) return;  // the first reason is the cause
  message_ = message;
  lost_.store(true, std::memory_order_release);
}

std::string DeviceHealth::message() const {
  std::lock_guard lock(mutex_);
  return message_;
}

TbFallback fallback_of(Result result) {
  switch (result) {
    case kOutOfMemory: return TB_FALLBACK_DEVICE_MEMORY;
    case kInvalidImage:
    case kNoBinaryForGpu:
    case kInvalidPtx:
    case kJitCompilerNotFound:
    case kUnsupportedPtxVersion:
    case kJitCompilationDisabled:
    case kInvalidSource:
    case kNotFound: return TB_FALLBACK_COMPILE;
    case kNoDevice:
    case kSystemNotReady:
    case kSystemDriverMismatch: return TB_FALLBACK_NO_DEVICE;
    default: return TB_FALLBACK_DEVICE_LOST;
  }
}

std::string Driver::error_name(Result result) const {
  const char* name = nullptr;
  if (table_->get_error_name(result, &name) == kSuccess && name) return name;
  return "CUDA error " + std::to_string(result);
}

void Driver::check(CallResult call) const {
  if (call.ok()) return;
  const std::string message = std::string(call.symbol) + ": " + error_name(call.result);
  if (sticky_result(call.result)) health_->mark_lost(message);
  throw DeviceError(fallback_of(call.result), message);
}

void Driver::note(CallResult call) const noexcept {
  if (!sticky_result(call.result)) return;
  try {
    health_->mark_lost(std::string(call.symbol) + ": " + error_name(call.result));
  } catch (const std::bad_alloc&) {
    // Without memory for the message the next checked call reports it.
  }
}

}  // namespace turbine::cuda
