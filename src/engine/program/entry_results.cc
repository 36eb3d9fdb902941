/*
 * entry_results.cc - see entry_results.h.
 *
 * Called by compiler and engine, which must get the same answer: nothing except the program may count.
 */
#include "engine/program/entry_results.h"

#include "turbine/kernel.h"

namespace turbine {
namespace {

/* An expression's only column, or: */
constexpr uint32_t kNoColumn = TB_NONE;       // parameters alone
constexpr uint32_t kOthers = TB_NONE - 1;     // several columns, or what has other values for equal texts

uint32_t together(uint32_t a, uint32_t b) {
  if (a == kNoColumn) return b;
  return b == kNoColumn || a == b ? a : kOthers;
}

/* Whether a result has a place in a record, and its bytes there. */
uint32_t width_of_result(uint32_t type) {
  if (type == TB_TYPE_BOOL) return sizeof(uint8_t);
  return !tb_type_is_text(type) && tb_type_width(type) <= sizeof(uint32_t) ? sizeof(uint64_t) : 0;
}

bool reads_operands(uint32_t op) {
  switch (op) {
    case TB_EXPR_CALL:
    case TB_EXPR_IS_DISTINCT:
    case TB_EXPR_ANY:
    case TB_EXPR_ALL:
    case TB_EXPR_GREATEST:
    case TB_EXPR_LEAST: return true;
    default: return false;
  }
}

bool is_function_of_operands(uint32_t op) {
  switch (op) {
    case TB_EXPR_AND:
    case TB_EXPR_OR:
    case TB_EXPR_NOT:
    case TB_EXPR_IS_NULL:
    case TB_EXPR_IS_NOT_NULL:
    case TB_EXPR_IS_TRUE:
    case TB_EXPR_IS_NOT_TRUE:
    case TB_EXPR_IS_FALSE:
    case TB_EXPR_IS_NOT_FALSE:
    case TB_EXPR_CASE:
    case TB_EXPR_COALESCE:
    case TB_EXPR_RESCALE: return true;
    default: return reads_operands(op);
  }
}

/* The expression whose equal values all come to the same in an aggregation; TB_NONE: there is no such. */
uint32_t only_value(const Program& program) {
  if (program.sink() != TB_SINK_AGGREGATE) return TB_NONE;
  if (program.grouped()) return program.keys().size() == 1 && program.aggs().empty() ? program.keys()[0] : TB_NONE;
  uint32_t only = TB_NONE;
  for (const TbAgg& agg : program.aggs()) {
    const bool extreme = agg.kind == TB_AGG_MIN || agg.kind == TB_AGG_MAX;
    if (!extreme || agg.filter != TB_NONE || (only != TB_NONE && only != agg.arg)) return TB_NONE;
    only = agg.arg;
  }
  return only;
}

}  // namespace

EntryResults::EntryResults(const Program& program)
    : places_(program.exprs().size()),
      matches_(program.joins().size()),
      columns_(program.exprs().size(), kNoColumn),
      reads_(program.exprs().size()),
      record_sizes_(program.source_columns()) {
  // Operands come before their users.
  for (uint32_t i = 0; i < program.exprs().size(); i++) {
    const TbExpr& e = program.expr(i);
    if (e.op == TB_EXPR_PARAM) continue;
    if (e.op == TB_EXPR_COLUMN) {
      const TbColumn& column = program.columns()[e.index];
      columns_[i] = column.join == 0 && tb_type_is_character(column.type) ? e.index : kOthers;
      continue;
    }
    for (uint32_t arg : program.args(e)) {
      columns_[i] = together(columns_[i], columns_[arg]);
      reads_[i] = reads_[i] || reads_[arg];
    }
    if (!is_function_of_operands(e.op)) columns_[i] = kOthers;
    if (reads_operands(e.op)) reads_[i] = true;
  }
  std::vector<bool> chosen(program.exprs().size());
  choose(program, chosen);
  lay_out(program, chosen);
}

/* The largest expressions that have a place: operands of others, or what the program asks for. */
void EntryResults::choose(const Program& program, std::vector<bool>& chosen) const {
  auto has_place = [&](uint32_t expr) {
    return columns_[expr] != kNoColumn && columns_[expr] != kOthers && reads_[expr] &&
           width_of_result(program.expr(expr).type) != 0;
  };
  auto take_one = [&](uint32_t expr) {
    if (expr != TB_NONE && has_place(expr)) chosen[expr] = true;
  };
  auto take = [&](std::span<const uint32_t> exprs) {
    for (uint32_t expr : exprs) take_one(expr);
  };
  take(program.filters());
  take(program.keys());
  take(program.outputs());
  for (const TbAgg& agg : program.aggs()) {
    take_one(agg.arg);
    take_one(agg.filter);
  }
  for (const TbJoin& join : program.joins()) {
    take(program.join_keys(join));
    take_one(join.residual);
  }
  for (uint32_t i = 0; i < program.exprs().size(); i++)
    if (!has_place(i)) take(program.args(program.expr(i)));
}

/* Words, before there are bytes. */
void EntryResults::lay_out_matches(const Program& program) {
  for (size_t j = 0; j < program.joins().size(); j++) {
    const TbJoin& join = program.joins()[j];
    if (join.kind == TB_JOIN_SERIES) continue;
    uint32_t column = kNoColumn;
    bool text = false;
    for (uint32_t key : program.join_keys(join)) {
      column = together(column, columns_[key]);
      text = text || tb_type_is_text(program.expr(key).type);
    }
    if (!text || column == kNoColumn || column == kOthers) continue;
    uint32_t& size = record_sizes_[column];
    if (size + sizeof(uint64_t) > TB_MAX_ENTRY_RECORD) continue;
    matches_[j] = Place{column, size, sizeof(uint64_t)};
    size += sizeof(uint64_t);
    empty_ = false;
  }
}

void EntryResults::lay_out_seen(const Program& program) {
  const uint32_t expr = only_value(program);
  if (expr == TB_NONE || program.expr(expr).op != TB_EXPR_COLUMN || columns_[expr] == kOthers) return;
  uint32_t& size = record_sizes_[columns_[expr]];
  if (size == TB_MAX_ENTRY_RECORD) return;
  seen_ = Place{columns_[expr], size++, sizeof(uint8_t)};
  empty_ = false;
}

void EntryResults::find_group_column(const Program& program) {
  if (!program.grouped()) return;
  uint32_t column = kNoColumn;
  for (uint32_t key : program.keys()) column = together(column, columns_[key]);
  if (column == kNoColumn || column == kOthers) return;
  group_column_ = column;
  empty_ = false;
}

/* Words before bytes, so that both are aligned without gaps. What finds no room is computed for each row. */
void EntryResults::lay_out(const Program& program, const std::vector<bool>& chosen) {
  lay_out_matches(program);
  for (uint32_t width : {uint32_t{sizeof(uint64_t)}, uint32_t{sizeof(uint8_t)}})
    for (uint32_t i = 0; i < chosen.size(); i++) {
      if (!chosen[i] || width_of_result(program.expr(i).type) != width) continue;
      uint32_t& size = record_sizes_[columns_[i]];
      if (size + width > TB_MAX_ENTRY_RECORD) continue;
      places_[i] = Place{columns_[i], size, width};
      size += width;
      empty_ = false;
    }
  lay_out_seen(program);
  if (!seen_) find_group_column(program);
  // Words of the next record are aligned as well.
  std::vector<bool> has_words(record_sizes_.size());
  for (const auto* places : {&places_, &matches_})
    for (const auto& place : *places)
      if (place && place->width == sizeof(uint64_t)) has_words[place->column] = true;
  for (size_t c = 0; c < record_sizes_.size(); c++)
    if (has_words[c]) record_sizes_[c] = (record_sizes_[c] + 7) & ~7u;
}

}  // namespace turbine
