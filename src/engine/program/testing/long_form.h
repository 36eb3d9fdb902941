/*
 * long_form.h - how much of its cases a unit test tries: all where TURBINE_LONG_FORM is set, as `make test-nightly`
 * sets it, else some. Called by unit tests of the engine and of the compiler.
 */
#pragma once

#include <cstdint>
#include <cstdlib>

namespace turbine::testing {

inline bool is_long_form() { return std::getenv("TURBINE_LONG_FORM") != nullptr; }

/* Of calls that are to fail one by one, from one to the next. `stride` shall be odd: calls that come in pairs both
 * fail. */
inline uint64_t step_of(uint64_t stride) { return is_long_form() ? 1 : stride; }

}  // namespace turbine::testing
