/*
 * device_error.h - what ends a query: the reason that the backend is told, and that
 * turbine.stat_queries counts.
 *
 * Thrown wherever the engine works for a query. execution/ turns it into REFUSED or FAILED.
 * A broken protocol is a ProtocolError instead.
 */
#pragma once

#include <stdexcept>
#include <string>

#include "turbine/wire.h"

namespace turbine {

struct DeviceError : std::runtime_error {
  DeviceError(TbFallback reason, const std::string& what) : std::runtime_error(what), reason(reason) {}
  TbFallback reason;
};

}  // namespace turbine
