/*
 * fault.h - makes the Nth driver call fail, for tests.
 *
 * Owns: the encoding of TbQuery::debug_fault and of the environment variable
 * TURBINE_FAULT, and the counting of calls. Every driver call passes through
 * one injector's before() (see driver.h). Must never be consulted by code that
 * decides anything but a call's result.
 *
 * debug_fault: bits 0..31 = N, the call of the query that fails (1 = first;
 * 0 = no fault), bits 32..47 = the CUresult it fails with. A result that
 * poisons the context (sticky_result()) is returned by every later call too,
 * as the driver does.
 *
 * TURBINE_FAULT=N:RESULT, both decimal, does the same for all calls of the
 * process that belong to no query with a fault of its own.
 */
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "engine/device/cuda/driver/driver_api.h"

namespace turbine::cuda {

enum class CallKind { CALL, RELEASE };

/* Does the result leave the context unusable until the process restarts? */
bool sticky_result(Result result);

class FaultInjector {
 public:
  FaultInjector(uint64_t nth_call, Result result) : nth_call_(nth_call), result_(result) {}

  /* Counts one call. Returns what it must return, or kSuccess to leave it be. */
  Result next();

  uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }

 private:
  const uint64_t nth_call_;
  const Result result_;
  std::atomic<uint64_t> calls_{0};
};

/* Null if the value asks for no fault. */
std::shared_ptr<FaultInjector> fault_from_query(uint64_t debug_fault);

/* The process's injector from TURBINE_FAULT; null if unset or malformed. */
std::shared_ptr<FaultInjector> fault_from_environment();

constexpr uint64_t encode_query_fault(uint32_t nth_call, Result result) {
  return static_cast<uint64_t>(static_cast<uint16_t>(result)) << 32 | nth_call;
}

}  // namespace turbine::cuda
