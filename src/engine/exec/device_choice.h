/*
 * device_choice.h - which device runs a program.
 */
#pragma once

#include "engine/exec/engine.h"
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
