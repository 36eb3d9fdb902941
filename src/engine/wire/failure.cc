/*
 * failure.cc - reasons and exceptions as the backend is told of them.
 *
 * Called by execution/ and the daemon's session; owns nothing and throws nothing of its own.
 */
#include "engine/wire/failure.h"

#include <cstring>
#include <new>

#include "engine/wire/device_error.h"
#include "turbine/kernel.h"

namespace turbine {
namespace {

const char* sqlstate(uint32_t reason) {
  switch (reason) {
    case TB_FALLBACK_DEVICE_MEMORY:
    case TB_FALLBACK_HOST_MEMORY: return "53200";
    case TB_FALLBACK_ADMISSION: return "53000";
    case TB_FALLBACK_VALUE:
    case TB_FALLBACK_RAISED: return "22000";
    case TB_FALLBACK_PROTOCOL: return "08P01";
    case TB_FALLBACK_COMPILE: return "XX000";
    default: return "58000";
  }
}

}  // namespace

TbFailure make_failure(uint32_t reason, uint32_t verdict, const std::string& message) {
  TbFailure failure{};
  memcpy(failure.sqlstate, sqlstate(reason), sizeof failure.sqlstate);
  failure.verdict = static_cast<uint16_t>(verdict);
  failure.reason = reason;
  message.copy(failure.message, sizeof failure.message - 1);
  return failure;
}

TbFallback verdict_reason(uint32_t verdict) {
  constexpr uint32_t kRaised = TB_ERR_OVERFLOW | TB_ERR_DIVISION_BY_ZERO | TB_ERR_DOMAIN;
  return verdict & kRaised ? TB_FALLBACK_RAISED : TB_FALLBACK_VALUE;
}

TbFailure make_failure(std::exception_ptr error) {
  try {
    std::rethrow_exception(error);
  } catch (const DeviceError& e) {
    return make_failure(e.reason, 0, e.what());
  } catch (const std::bad_alloc&) {
    return make_failure(TB_FALLBACK_HOST_MEMORY, 0, "turbined is out of memory");
  } catch (const std::exception& e) {
    return make_failure(TB_FALLBACK_DEVICE_LOST, 0, e.what());
  }
}

}  // namespace turbine
