/*
 * fault.cc - makes the Nth driver call fail, for tests.
 *
 * Owns the counting of calls. Called by driver.cc for every call; must decide nothing
 * else.
 */
#include "engine/device/cuda/driver/fault.h"

#include <cstdlib>

namespace turbine::cuda {

bool sticky_result(Result result) {
  switch (result) {
    case kDeinitialized:
    case kDeviceUnavailable:
    case kInvalidContext:
    case kEccUncorrectable:
    case kNvlinkUncorrectable:
    case kContained:
    case kIllegalAddress:
    case kLaunchTimeout:
    case kContextIsDestroyed:
    case kAssert:
    case kHardwareStackError:
    case kIllegalInstruction:
    case kMisalignedAddress:
    case kInvalidAddressSpace:
    case kInvalidPc:
    case kLaunchFailed:
    case kUnknown: return true;
    default: return false;
  }
}

Result FaultInjector::next() {
  const uint64_t call = calls_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (nth_call_ == 0 || call < nth_call_) return kSuccess;
  return call == nth_call_ || sticky_result(result_) ? result_ : kSuccess;
}

std::shared_ptr<FaultInjector> fault_from_query(uint64_t debug_fault) {
  const uint32_t nth_call = static_cast<uint32_t>(debug_fault);
  if (nth_call == 0) return nullptr;
  return std::make_shared<FaultInjector>(nth_call, static_cast<Result>(debug_fault >> 32 & 0xffff));
}

std::shared_ptr<FaultInjector> fault_from_environment() {
  const char* setting = std::getenv("TURBINE_FAULT");
  if (!setting) return nullptr;
  char* end;
  const unsigned long nth_call = std::strtoul(setting, &end, 10);
  if (nth_call == 0 || *end != ':') return nullptr;
  const unsigned long result = std::strtoul(end + 1, &end, 10);
  if (result == 0 || result > 0xffff || *end != '\0') return nullptr;
  return std::make_shared<FaultInjector>(nth_call, static_cast<Result>(result));
}

}  // namespace turbine::cuda
