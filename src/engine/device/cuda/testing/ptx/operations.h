/*
 * operations.h - which function runs an instruction, and of what width its operands are.
 *
 * Implemented by arithmetic.cc, conversions.cc, memory_access.cc and lane_exchange.cc. Called by program.cc.
 */
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "engine/device/cuda/testing/ptx/program.h"

namespace turbine::ptx {

/* What a slot has: 'p' a predicate, '4' and '8' words of so many bytes. */
using Width = char;

struct Operation {
  Run run = nullptr;
  Width result = 0;
  std::string sources;  // a width for each
};

/* By opcode, such as "add.s32" or "setp.lt.u64"; null if there is none. */
const Operation* find_arithmetic(const std::string& opcode);
const Operation* find_conversion(const std::string& opcode);

/* Conversion between integers: the bits of source and result are in the instruction, both are extended by sign if so
 * said. */
Run integer_conversion(bool signed_source, bool signed_result, Width source, Width result);

/* `and`, `or`, `xor`, `not` and `mov` of predicates; null for others. */
Run predicate_operation(std::string_view name);

/* Loads and stores of `count` elements; a load extends to the register's width. Null if there is none. */
Run load_of(std::string_view type, Width reg, unsigned count);
Run store_of(std::string_view type, Width reg, unsigned count);
Run atomic_of(std::string_view operation, std::string_view type);

/* "tid.x" and the like. False if there is no such register. */
bool find_special(const std::string& name, uint64_t* index, Width* width);
Run special_read(Width width);
/* Address of a variable: the instruction's base and number. */
Run address_of();
/* Two 32-bit words to one of 64 bits and back; the same with halves of 32. */
Run pack_of(Width result);
Run unpack_of(Width source);

/* shfl, vote, match, redux, activemask: by opcode without `sync`. */
const Operation* find_exchange(const std::string& opcode);

}  // namespace turbine::ptx
