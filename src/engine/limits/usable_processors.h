/*
 * usable_processors.h - how many processors this process may keep busy: what threads are
 * started for, and what the planner's costs divide by.
 */
#pragma once

#include <cstdint>

#include "engine/limits/control_groups.h"

namespace turbine {

/* Those that the process may run on, or less where a control group has a quota of their
 * time; 1 at least. */
unsigned usable_processors();

/* The least quota of the groups, in whole processors, rounded up; UINT32_MAX: there is
 * none. */
uint32_t processor_quota_of(const ControlGroups& groups);

}  // namespace turbine
