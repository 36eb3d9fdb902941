/*
 * estimate_steps.h - what the check of result plans knows of estimates.
 */
#pragma once

#include "turbine/result.h"
#include "turbine/types.h"

namespace turbine {

/* How many intervals an operation takes from the stack; -1: there is no such operation. */
inline int estimate_arguments(uint8_t op) {
  switch (op) {
    case TB_ESTIMATE_COLUMN:
    case TB_ESTIMATE_CONSTANT:
    case TB_ESTIMATE_NULL: return 0;
    case TB_ESTIMATE_NEGATE:
    case TB_ESTIMATE_ABSOLUTE:
    case TB_ESTIMATE_CONVERT:
    case TB_ESTIMATE_ROUND: return 1;
    default: return op > TB_ESTIMATE_NULL && op <= TB_ESTIMATE_NOT_EQUAL ? 2 : -1;
  }
}

/* Has a value of the type a place among doubles? */
inline bool can_estimate(uint32_t type) { return !tb_type_is_text(static_cast<TbType>(type)); }

}  // namespace turbine
