/*
 * memory_limit.h - how much memory this process may use at most, so that what is taken by
 * default leaves room for PostgreSQL.
 */
#pragma once

#include <cstdint>

#include "engine/limits/control_groups.h"

namespace turbine {

/* What the machine has, or less where a control group of this process says so. Bytes; 0 if
 * nothing is known. */
uint64_t memory_limit();

/* The least limit of the groups, bytes; UINT64_MAX: there is none. */
uint64_t memory_limit_of(const ControlGroups& groups);

}  // namespace turbine
