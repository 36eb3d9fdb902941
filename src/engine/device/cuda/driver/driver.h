/*
 * driver.h - driver calls as the device's code makes them.
 *
 * Driver: a DriverFunctions, a fault injector and the health of one device. Its
 * methods have the table's names; each returns a CallResult, which check()
 * turns into a DeviceError. A sticky error marks the device lost for good.
 *
 * Threads: a Driver is immutable and may be used by any thread. The calling
 * thread must have made the device's context current (CudaContext::enter).
 */
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>

#include "engine/device/cuda/driver/driver_api.h"
#include "engine/device/cuda/driver/fault.h"
#include "engine/device/device.h"

namespace turbine::cuda {

/* Whether a device is usable; once lost, it stays lost until turbined restarts. */
class DeviceHealth {
 public:
  void mark_lost(const std::string& message);
  bool lost() const { return lost_.load(std::memory_order_acquire); }
  std::string message() const;

 private:
  std::atomic<bool> lost_{false};
  mutable std::mutex mutex_;
  std::string message_;  // protected by mutex_
};

struct [[nodiscard]] CallResult {
  Result result;
  const char* symbol;
  bool ok() const { return result == kSuccess; }
};

class Driver {
 public:
  Driver(const DriverFunctions& table, DeviceHealth* health, std::shared_ptr<FaultInjector> faults)
      : table_(&table), health_(health), faults_(std::move(faults)) {}

  const DriverFunctions& table() const { return *table_; }

#define F(kind, member, symbol, params)                             \
  template <class... A>                                             \
  CallResult member(A... args) const {                              \
    return {pass<CallKind::kind>(table_->member, args...), symbol}; \
  }
  TURBINE_DRIVER_FUNCTIONS(F)
#undef F

  /* Throws the DeviceError that a failed call means. */
  void check(CallResult call) const;

  /* For calls whose failure nobody can act on (giving things back): marks the
   * device lost if it is, and otherwise forgets it. */
  void note(CallResult call) const noexcept;

  std::string error_name(Result result) const;

 private:
  template <CallKind kind, class... P, class... A>
  Result pass(Result (*function)(P...), A... args) const {
    const Result injected = faults_ ? faults_->next() : kSuccess;
    if (kind == CallKind::CALL && injected != kSuccess) return injected;
    const Result result = function(args...);
    return injected != kSuccess ? injected : result;
  }

  const DriverFunctions* table_;
  DeviceHealth* health_;
  std::shared_ptr<FaultInjector> faults_;
};

/* The kind of fallback that a failed call asks for. */
TbFallback fallback_of(Result result);

}  // namespace turbine::cuda
