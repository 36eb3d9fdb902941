/*
 * failure.h - the payload of REFUSED and FAILED: a reason, its SQLSTATE and a message.
 *
 * The only place that knows which SQLSTATE a reason has.
 */
#pragma once

#include <exception>
#include <string>

#include "turbine/wire.h"

namespace turbine {

TbFailure make_failure(uint32_t reason, uint32_t verdict, const std::string& message);

/* Why a query fails whose rows do not go back one by one, for a chunk's verdict (TB_ERR_*, not 0). */
TbFallback verdict_reason(uint32_t verdict);

/* What an exception that ends a query tells its backend. */
TbFailure make_failure(std::exception_ptr error);

}  // namespace turbine
