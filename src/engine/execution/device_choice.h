/*
 * device_choice.h - which device runs a program.
 *
 * Called as a query starts. The backend names a device (src/pg/planner/cost.h); only where
 * it leaves the choice, or its device has gone, is it made here.
 */
#pragma once

#include "engine/execution/engine.h"
#include "engine/program/program.h"

namespace turbine {

struct DeviceChoice {
  uint32_t device;
  uint32_t host_because = TB_FALLBACK_NONE;  // why the host stands in for `wanted`
};

/* `wanted` and `flags` are those of TbQuery and TbPrepare. Throws DeviceError
 * (absent, and the host may not stand in). */
DeviceChoice choose_device(Engine& engine, const Program& program, uint32_t wanted, uint32_t flags);

}  // namespace turbine
