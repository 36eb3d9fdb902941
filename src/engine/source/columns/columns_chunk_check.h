/*
 * columns_chunk_check.h - bounds of a chunk of columns in slot memory.
 *
 * Generated code trusts columns and text views; this is where those that a
 * backend wrote are checked.
 */
#pragma once

#include <cstdint>
#include <span>

#include "engine/program/program.h"

namespace turbine {

/* `slot`: the slot's bytes that a chunk may use. Throws ProtocolError. */
void check_columns_chunk(const Program& program, std::span<const uint8_t> slot, uint32_t max_rows);

}  // namespace turbine
