/*
 * decode_program.h - the part of a program that makes columns of tuples.
 */
#pragma once

#include <cstdint>
#include <vector>

#include "engine/program/program.h"

namespace turbine {

/* The blob of a program that decodes the same columns of the same tuples, with the same parameters, and does nothing
 * with them. The program reads a heap. */
std::vector<uint8_t> decode_program(const Program& program);

}  // namespace turbine
