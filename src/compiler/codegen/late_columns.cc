/*
 * late_columns.cc - see late_columns.h.
 *
 * Called by pipeline_host.cc once per compilation. It follows emit_dense_filter, emit_lookup_mask
 * and emit_fused_tile: a column that they read would be right as codes too, but slow.
 */
#include "compiler/codegen/late_columns.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>

#include <array>

#include "compiler/codegen/expression_walk.h"
#include "compiler/codegen/filter.h"

namespace turbine {

namespace {

bool is_source_text(const TbColumn& column) { return column.join == 0 && tb_type_is_text(column.type); }

bool has_codes(const TbColumn& column) {
  if (column.join != 0 || column.type == TB_TYPE_BOOL) return false;
  return tb_type_is_text(column.type) || tb_type_width(column.type) <= 8;
}

/* The expression is read of every row. */
void keep_early(const Program& program, uint32_t expr, std::vector<bool>& late) {
  walk_expression(program, expr, [&](const TbExpr& e) {
    if (e.op == TB_EXPR_COLUMN && !is_source_text(program.columns()[e.index])) late[e.index] = false;
    return true;
  });
}

}  // namespace

std::vector<bool> late_columns(const Program& program, const JoinPlan& plan, bool fused) {
  const auto columns = program.columns();
  std::vector<bool> late(columns.size());
  if (fused) return late;
  for (size_t i = 0; i < columns.size(); i++) late[i] = has_codes(columns[i]);
  auto keep = [&](auto exprs) {
    for (uint32_t expr : exprs) keep_early(program, expr, late);
  };

  keep(plan_filters(program, plan.filters[0]).dense);
  if (!plan.filters[0].empty()) return late;
  for (size_t j = 0; j < program.joins().size(); j++) {
    const TbJoin& join = program.joins()[j];
    keep(program.join_keys(join));
    keep_early(program, join.residual, late);
    const bool all_stay = join.kind == TB_JOIN_LEFT && !plan.expands[j];
    if (!all_stay || !plan.filters[j + 1].empty()) return late;
  }
  for (size_t i = 0; i < columns.size(); i++) late[i] = is_source_text(columns[i]);
  return late;
}

void emit_late_columns(ModuleBuilder& builder, const std::vector<bool>& late) {
  std::array<uint64_t, TB_MAX_COLUMNS / 64> set{};
  for (size_t i = 0; i < late.size(); i++)
    if (late[i]) set[i / 64] |= uint64_t{1} << (i % 64);
  llvm::Constant* value = llvm::ConstantDataArray::get(builder.context(), set);
  new llvm::GlobalVariable(builder.module(), value->getType(), true, llvm::GlobalValue::ExternalLinkage, value,
                           "tb_late_columns");
}

}  // namespace turbine
