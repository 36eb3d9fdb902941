/*
 * expression_parts.cc - see expression_parts.h.
 *
 * One pass over the expressions, operands before their users, so that the weight of a user is known from those
 * of its operands. Called once for each function that evaluates expressions.
 */
#include "compiler/codegen/expression_parts.h"

#include <algorithm>

#include "turbine/model.h"

namespace turbine {

namespace {

/* Of a call of a part: columns are put where it finds them, and its result is read. */
constexpr uint32_t kCallWeight = 6;
/* An operand that several users share is worth a part from here on, if its users do not fit into one function. */
constexpr uint32_t kSharedWeight = 24;
/* Groups, or groups of groups, that one function calls: a call is several instructions, and what lives across it. */
constexpr uint32_t kMostGroups = 8;
/* All expressions that a program evaluates, in numbers of the largest function: beyond the one they are cut; up to the
 * other none is, however many of them use what they share. */
constexpr uint32_t kMostRoots = 4;
constexpr uint32_t kUncutRoots = 3;

/* A result that was built lies on the stack of the function that calls the body: it does not leave that function. */
bool stays(const TbExpr& e) { return e.type == TB_TYPE_GEOMETRY; }

bool is_leaf(const TbExpr& e) { return e.op == TB_EXPR_COLUMN || e.op == TB_EXPR_PARAM || e.op == TB_EXPR_LOCAL; }

/* Beyond this a weight is only "too much": operands that are shared count for each of their users. */
constexpr uint32_t kMostOfWeights = 1u << 20;

bool is_list(const TbExpr& e) {
  switch (e.op) {
    case TB_EXPR_AND:
    case TB_EXPR_OR:
    case TB_EXPR_CASE:
    case TB_EXPR_COALESCE:
    case TB_EXPR_GREATEST:
    case TB_EXPR_LEAST: return true;
    default: return false;
  }
}

/* Of the operation alone, or of each operand of a list. */
uint32_t own_weight(const TbExpr& e) {
  constexpr uint32_t kRaising = 4;
  constexpr uint32_t kMostOfCost = 16;
  constexpr uint32_t kSearch = 24;
  constexpr uint32_t kModel = 24;
  switch (e.op) {
    case TB_EXPR_COLUMN:
    case TB_EXPR_PARAM:
    case TB_EXPR_LOCAL: return 1;
    case TB_EXPR_CALL:
    case TB_EXPR_IS_DISTINCT:
    case TB_EXPR_GREATEST:
    case TB_EXPR_LEAST: {
      const TbFunction& fn = tb_functions[e.index];
      return 2 + std::min<uint32_t>(fn.cost, kMostOfCost) + (fn.flags & TB_FN_RAISES ? kRaising : 0);
    }
    case TB_EXPR_ANY:
    case TB_EXPR_ALL: return kSearch;
    case TB_EXPR_RESCALE: return 2 + kRaising;
    case TB_EXPR_GRID: return kSearch;
    case TB_EXPR_MODEL: return 2 * e.nargs + (e.index == TB_MODEL_LINEAR || e.index == TB_MODEL_PRODUCT ? 0 : kModel);
    default: return 2;
  }
}

}  // namespace

ExpressionParts::ExpressionParts(const Program& program, uint32_t most_weight)
    : program_(program),
      most_weight_(most_weight),
      weight_(program.exprs().size()),
      users_(program.exprs().size()),
      is_part_(program.exprs().size()),
      read_outside_(program.params().size()),
      open_(program.exprs().size()) {
  count_users();
  const bool uncut = weight_together(roots()) <= uint64_t{kUncutRoots} * most_weight_;
  for (uint32_t i = 0; i < program.exprs().size(); i++) {
    const TbExpr& e = program.expr(i);
    open_[i] = e.op == TB_EXPR_LOCAL || e.op == TB_EXPR_LOOP;
    for (uint32_t arg : program.args(e)) open_[i] = open_[i] || open_[arg];
    if (e.op == TB_EXPR_SEQUENCE && e.index != 0) open_[i] = false;
    weight_[i] = own_weight(e) + operand_weights(e);
    if (uncut || weight_[i] <= most_weight_) continue;
    cut_operands(e);
    weight_[i] = own_weight(e) + operand_weights(e);
    if (weight_[i] > most_weight_ && is_list(e) && !open_[i] && !stays(e)) group_operands(i, e);
  }
  cut_roots();
  note_readers();
}

ExpressionParts::Range ExpressionParts::operands(uint32_t expr) const {
  const TbExpr& e = program_.expr(expr);
  return {0, e.op == TB_EXPR_CASE ? e.nargs - 1u : e.nargs};
}

std::vector<ExpressionParts::Range> ExpressionParts::groups(uint32_t expr, Range of) const {
  std::vector<Range> ranges;
  const auto found = group_begins_.find(expr);
  if (found == group_begins_.end()) return ranges;
  const std::vector<uint32_t>& begins = found->second;
  const auto first = std::lower_bound(begins.begin(), begins.end(), of.begin);
  const auto last = std::lower_bound(begins.begin(), begins.end(), of.end);
  const auto count = static_cast<size_t>(last - first);
  if (count <= 1) return ranges;
  size_t step = 1;
  while (step * kMostGroups < count) step *= kMostGroups;
  for (size_t i = 0; i < count; i += step)
    ranges.push_back(
        {first[static_cast<ptrdiff_t>(i)], i + step < count ? first[static_cast<ptrdiff_t>(i + step)] : of.end});
  return ranges;
}

void ExpressionParts::count_users() {
  for (uint32_t i = 0; i < program_.exprs().size(); i++)
    for (uint32_t arg : program_.args(program_.expr(i)))
      if (!is_leaf(program_.expr(arg))) users_[arg]++;
}

uint32_t ExpressionParts::weight_as_operand(uint32_t expr) const {
  return is_part_[expr] ? kCallWeight : weight_[expr];
}

uint32_t ExpressionParts::operand_weights(const TbExpr& e) const {
  uint32_t sum = 0;
  for (uint32_t arg : program_.args(e))
    sum = std::min(sum + weight_as_operand(arg) + (is_list(e) ? own_weight(e) : 0), kMostOfWeights);
  return sum;
}

/* What makes the user too heavy, or would be in each of its groups. */
void ExpressionParts::cut_operands(const TbExpr& e) {
  for (uint32_t arg : program_.args(e)) {
    if (is_leaf(program_.expr(arg)) || open_[arg] || stays(program_.expr(arg))) continue;
    if (weight_[arg] > most_weight_ / 4 || (is_shared(arg) && weight_[arg] > kSharedWeight)) is_part_[arg] = true;
  }
}

/* A condition of a CASE and its value stay together; ELSE belongs to no group. */
void ExpressionParts::group_operands(uint32_t expr, const TbExpr& e) {
  const auto args = program_.args(e);
  const bool arms = e.op == TB_EXPR_CASE;
  const size_t step = arms ? 2 : 1;
  std::vector<uint32_t> begins;
  uint32_t sum = most_weight_;
  for (size_t i = 0; i + step <= args.size(); i += step) {
    uint32_t added = 0;
    for (size_t k = i; k < i + step; k++) added += weight_as_operand(args[k]) + own_weight(e);
    if (sum + added > most_weight_) {
      begins.push_back(static_cast<uint32_t>(i));
      sum = 0;
    }
    sum += added;
  }
  weight_[expr] = own_weight(e) + std::min<uint32_t>(static_cast<uint32_t>(begins.size()), kMostGroups) * kCallWeight +
                  (arms ? weight_as_operand(args.back()) : 0);
  group_begins_[expr] = std::move(begins);
}

std::vector<uint32_t> ExpressionParts::roots() const {
  std::vector<uint32_t> all;
  auto add = [&](std::span<const uint32_t> exprs) { all.insert(all.end(), exprs.begin(), exprs.end()); };
  add(program_.filters());
  add(program_.keys());
  add(program_.outputs());
  for (const TbAgg& agg : program_.aggs()) {
    if (agg.arg != TB_NONE) all.push_back(agg.arg);
    if (agg.filter != TB_NONE) all.push_back(agg.filter);
  }
  for (const TbJoin& join : program_.joins()) {
    add(program_.join_keys(join));
    if (join.residual != TB_NONE) all.push_back(join.residual);
  }
  return all;
}

/* Of all roots in one function, where what they share is evaluated once. */
uint64_t ExpressionParts::weight_together(const std::vector<uint32_t>& all) const {
  uint64_t sum = 0;
  std::vector<bool> seen(program_.exprs().size());
  std::vector<uint32_t> waiting = all;
  while (!waiting.empty()) {
    const uint32_t expr = waiting.back();
    waiting.pop_back();
    const TbExpr& e = program_.expr(expr);
    if (is_leaf(e)) sum += own_weight(e);
    if (seen[expr] || is_leaf(e)) continue;
    seen[expr] = true;
    if (is_part_[expr] || group_begins_.contains(expr)) {
      sum += weight_as_operand(expr);
      continue;
    }
    const auto args = program_.args(e);
    sum += own_weight(e) * (is_list(e) ? args.size() + 1 : 1);
    waiting.insert(waiting.end(), args.begin(), args.end());
  }
  return sum;
}

/* Many expressions of middling weight are a large function, too. */
void ExpressionParts::cut_roots() {
  const std::vector<uint32_t> all = roots();
  for (uint32_t root : all) {
    if (weight_together(all) <= uint64_t{kMostRoots} * most_weight_) return;
    if (!is_part_[root] && weight_[root] > 2 * kCallWeight && !stays(program_.expr(root))) is_part_[root] = true;
  }
}

/* Users come after their operands: one pass from the end. */
void ExpressionParts::note_readers() {
  std::vector<bool> outside(program_.exprs().size()), inside(program_.exprs().size());
  std::vector<bool> read_inside(program_.columns().size());
  for (uint32_t root : roots()) (is_part_[root] ? inside : outside)[root] = true;
  for (uint32_t i = static_cast<uint32_t>(program_.exprs().size()); i-- > 0;) {
    const TbExpr& e = program_.expr(i);
    if (outside[i] && e.op == TB_EXPR_PARAM) read_outside_[e.index] = true;
    if (inside[i] && e.op == TB_EXPR_COLUMN) read_inside[e.index] = true;
    const auto args = program_.args(e);
    const size_t in_groups = group_begins_.contains(i) ? operands(i).end : 0;
    for (size_t k = 0; k < args.size(); k++) {
      if (inside[i] || (outside[i] && (k < in_groups || is_part_[args[k]]))) inside[args[k]] = true;
      if (outside[i] && k >= in_groups && !is_part_[args[k]]) outside[args[k]] = true;
    }
  }
  place_.resize(program_.columns().size());
  for (size_t c = 0; c < place_.size(); c++) place_[c] = read_inside[c] ? places_++ : TB_NONE;
}

}  // namespace turbine
