/*
 * long_form.h - how much of its cases a unit test tries.
 *
 * Where TURBINE_LONG_FORM is set, as in `make test-nightly`, a test that lets each call of a run fail in turn tries all
 * of them, and else one in so many. Called by unit tests.
 */
#pragma once

#include <cstdint>
#include <cstdlib>

namespace turbine::testing {

/* From one case to the next: 1 in the long form. `stride` shall be odd, so that calls that come in pairs both fail. */
inline uint64_t step_of(uint64_t stride) { return std::getenv("TURBINE_LONG_FORM") ? 1 : stride; }

}  // namespace turbine::testing
