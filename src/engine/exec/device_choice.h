/*
 * device_choice.h - which device runs a program.
 */
#pragma once

#include "engine/exec/engine.h"
#include "engine/program/program.h"

namespace turbine {

/* `wanted` and `flags` are those of TbQuery and TbPrepare. Throws DeviceError
 * (absent, and the host may not stand in). */
uint32_t choose_device(Engine& engine, const Program& program, uint32_t wanted, uint32_t flags);

}  // namespace turbine
