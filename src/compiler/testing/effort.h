/*
 * effort.h - how the tests compile for the host: in full, or quickly where
 * TURBINE_TEST_EFFORT is "quick". CTest runs them both ways.
 */
#pragma once

#include <cstdlib>
#include <string_view>

#include "engine/program/testing/long_form.h"
#include "turbine/compile.h"

namespace turbine::testing {

inline TbEffort effort() {
  const char* name = std::getenv("TURBINE_TEST_EFFORT");
  return name != nullptr && std::string_view(name) == "quick" ? TB_EFFORT_QUICK : TB_EFFORT_FULL;
}

/* Of random rounds that compile a program each: all in the long form and where compiling is quick, else a third. */
inline int rounds(int all) { return effort() == TB_EFFORT_FULL && !is_long_form() ? (all + 2) / 3 : all; }

}  // namespace turbine::testing
