/*
 * rt_bitcode.h - the device library's bitcode, embedded in this executable.
 *
 * Read-only bytes with the life of the process; the linker of runtime_link.h
 * reads functions out of them lazily.
 */
#pragma once

#include <string_view>

#include "turbine/compile.h"

namespace turbine {

std::string_view rt_bitcode(TbTarget target);

}  // namespace turbine
