/*
 * query_fault.h - arms the fault that a query asks for, for tests.
 *
 * execution/ holds a QueryFaultScope around Device::start(). A device that has
 * faults to inject looks at armed() there; other devices ignore it. What the bits
 * mean is the device's own business (cuda's fault.h).
 */
#pragma once

#include <cstdint>

namespace turbine {

/* Arms TbQuery::debug_fault on the calling thread, for as long as it lives. */
class QueryFaultScope {
 public:
  explicit QueryFaultScope(uint64_t debug_fault);
  ~QueryFaultScope();
  QueryFaultScope(const QueryFaultScope&) = delete;
  QueryFaultScope& operator=(const QueryFaultScope&) = delete;

  /* The value armed on this thread; 0 if none. */
  static uint64_t armed();
};

}  // namespace turbine
