/*
 * compile_time.cc - see compile_time.h. Called by the code cache, before a compilation.
 *
 * Must only look at sizes: it runs for every query whose code is not there.
 */
#include "engine/code/compile_time.h"

namespace turbine {
namespace {

struct CompileTime {
  double base_ms, node_ms;
};

CompileTime time_of(TbTarget target, TbEffort effort) {
  if (target == TB_TARGET_PTX) return {200, 1.5};
  return effort == TB_EFFORT_QUICK ? CompileTime{25, 0.07} : CompileTime{100, 0.4};
}

/* What an aggregate's state, a key or an output adds, in nodes of an expression. */
constexpr double kNodesOfResult = 4;

double nodes(const Program& program) {
  const size_t results = program.aggs().size() + program.keys().size() + program.outputs().size();
  return static_cast<double>(program.exprs().size()) + kNodesOfResult * static_cast<double>(results);
}

}  // namespace

std::chrono::milliseconds expected_compile_time(const Program& program, TbTarget target, TbEffort effort) {
  const CompileTime time = time_of(target, effort);
  return std::chrono::milliseconds(static_cast<int64_t>(time.base_ms + time.node_ms * nodes(program)));
}

}  // namespace turbine
