/*
 * expression_walk.h - goes over an expression and all below it, each once.
 *
 * Expressions share operands, so that a walk by plain recursion could take time beyond all bounds.
 */
#pragma once

#include <cstdint>
#include <vector>

#include "engine/program/program.h"

namespace turbine {

/* visit(expression) -> whether to go on below it. TB_NONE is no expression. */
template <class Visit>
void walk_expression(const Program& program, uint32_t root, Visit visit) {
  if (root == TB_NONE) return;
  std::vector<bool> seen(root + size_t{1});
  std::vector<uint32_t> waiting{root};
  seen[root] = true;
  while (!waiting.empty()) {
    const TbExpr& e = program.expr(waiting.back());
    waiting.pop_back();
    if (!visit(e)) continue;
    for (uint32_t arg : program.args(e)) {  // operands come before their users
      if (seen[arg]) continue;
      seen[arg] = true;
      waiting.push_back(arg);
    }
  }
}

}  // namespace turbine
