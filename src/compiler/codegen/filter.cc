/*
 * filter.cc - splits conjuncts into dense ones and ones that deserve a selection.
 *
 * Called by the pipelines of both targets. It must never move a conjunct that can raise
 * before one that PostgreSQL evaluates first.
 */
#include "compiler/codegen/filter.h"

#include "compiler/codegen/expression_walk.h"
#include "turbine/model.h"

namespace turbine {

namespace {

/* Above this many integer comparisons, evaluating dead rows costs more than a
 * selection saves. */
constexpr uint32_t kDenseCost = 12;

bool fixed_and_simple(const TbExpr& e) {
  if (tb_type_is_text(e.type) || e.type == TB_TYPE_NUM128) return false;
  if (e.op == TB_EXPR_ANY || e.op == TB_EXPR_ALL || e.op == TB_EXPR_LOOP) return false;
  if (e.op == TB_EXPR_MODEL && tb_model_has_centroids(e.index)) return false;
  return e.op != TB_EXPR_CALL || tb_functions[e.index].cost < kDenseCost;
}

}  // namespace

bool is_dense(const Program& program, uint32_t expr) {
  bool dense = true;
  walk_expression(program, expr, [&](const TbExpr& e) {
    dense = dense && fixed_and_simple(e);
    return dense;
  });
  return dense;
}

bool leaves_undecided(const Program& program, uint32_t conjunct) {
  if (program.sink() != TB_SINK_ROWS || !(program.expr(conjunct).flags & TB_EX_RAISES)) return false;
  bool reads_geometry = false;
  walk_expression(program, conjunct, [&](const TbExpr& e) {
    reads_geometry = reads_geometry || e.type == TB_TYPE_GEOMETRY;
    return !reads_geometry;
  });
  return reads_geometry;
}

FilterPlan plan_filters(const Program& program, const std::vector<uint32_t>& filters) {
  FilterPlan plan;
  for (uint32_t filter : filters) {
    const bool may_move = plan.selective.empty() || !(program.expr(filter).flags & TB_EX_RAISES);
    (may_move && is_dense(program, filter) ? plan.dense : plan.selective).push_back(filter);
  }
  return plan;
}

llvm::Value* emit_conjunction(RowEmitter& rows, const std::vector<uint32_t>& conjuncts, llvm::Value* passed_over) {
  llvm::Value* pass = passed_over && !conjuncts.empty() ? rows.ir().CreateNot(passed_over) : nullptr;
  for (uint32_t conjunct : conjuncts) pass = rows.and_maybe(pass, rows.truth(rows.eval(conjunct, pass)));
  return pass && passed_over ? rows.ir().CreateOr(pass, passed_over) : pass;
}

}  // namespace turbine
