/*
 * probe_gpu.cc - tb_probe: a thread takes a row through filters and joins, as
 * nested branches and loops, and appends the tuples that come out.
 *
 *   if (filters) {
 *     for (match of the first join, or none) if (residual, filters of the join)
 *       ...
 *         at = ntuples++; if (at < tuple_capacity) tuples[at] = (row, matches);
 *   }
 *
 * A row that stands for one of a FULL join's table (full_join.h) begins there, if that
 * was no match.
 */
#include <llvm/IR/Constants.h>

#include <algorithm>
#include <cstddef>

#include "compiler/codegen/full_join.h"
#include "compiler/codegen/gpu_kernel.h"
#include "compiler/codegen/join_plan.h"
#include "compiler/codegen/join_probe.h"
#include "turbine/kernel.h"

namespace turbine {

using llvm::Value;

namespace {

class ProbeKernel : GpuKernel {
 public:
  ProbeKernel(ModuleBuilder& builder, const Program& program)
      : GpuKernel(builder, program, "tb_probe", Over::kRows),
        plan_(plan_joins(program)),
        full_(rows_, program),
        matches_(program.joins().size(), ir_.getInt32(TB_NONE)),
        one_(llvm::ConstantInt::get(
            std::count(plan_.expands.begin(), plan_.expands.end(), true) ? ir_.getInt64Ty() : ir_.getInt32Ty(), 1)) {
    full_.bind(args_, tables_);
    for (uint32_t j = 0; j < program.joins().size(); j++) probes_.emplace_back(rows_, program, j);
  }
  void emit();

 private:
  /* Carried: rows passed, tuples after each join, TB_ERR_* bits. */
  static constexpr size_t kPassed = 0, kJoins = 1;

  Carried unmatched(const Carried& now, llvm::function_ref<Carried()> body);
  Carried from_join(size_t j, const Carried& now);
  JoinMatch look_up(size_t j, Carried& now);
  JoinMatch look_up_or_given(size_t j, Carried& now);
  Carried after_join(size_t j, const Carried& now);
  Carried fan_out(size_t j, JoinMatch head, const Carried& now);
  JoinMatch with_residual(size_t j, JoinMatch head, Carried& now);
  Carried append(const Carried& now);
  Carried counted(const Carried& now, size_t which, Value* amount) {
    Carried next = now;
    next[which] = ir_.CreateAdd(next[which], amount);
    return next;
  }
  Value* given(size_t j) { return full_.reaches(j) ? full_.is_given(j) : nullptr; }
  void note_errors(Carried& now) {
    if (Value* errors = rows_.take_errors()) now.back() = ir_.CreateOr(now.back(), errors);
  }
  void set_match(size_t j, Value* match) {
    matches_[j] = match;
    rows_.set_match(static_cast<uint32_t>(j), match);
  }
  Value* none() { return ir_.getInt32(TB_NONE); }

  const JoinPlan plan_;
  FullJoins full_;
  std::vector<JoinProbe> probes_;
  std::vector<Value*> matches_;
  llvm::ConstantInt* const one_;  // what counters count in: a thread's rows are fewer than 2^32, its tuples may be more
  Value* row_ = nullptr;
};

void ProbeKernel::emit() {
  Carried init(kJoins + program_.joins().size(), llvm::ConstantInt::get(one_->getType(), 0));
  init.push_back(ir_.getInt32(0));
  const Carried end = grid_loop(init, [&](Value* row, const Carried& now) {
    row_ = row;
    return unmatched(now, [&] {
      return where_all(
          plan_.filters[0], now, [&] { return from_join(0, counted(now, kPassed, full_.counted_rows(one_))); },
          full_.passes_over(0));
    });
  });
  auto wide = [&](size_t which) { return ir_.CreateZExt(end[which], ir_.getInt64Ty()); };
  add_total(offsetof(TbPipelineArgs, rows_passed), wide(kPassed));
  for (size_t j = 0; j < program_.joins().size(); j++)
    add_total(offsetof(TbPipelineArgs, join_rows) + j * sizeof(uint64_t), wide(kJoins + j));
  finish(end.back());
}

/* body(), but not for a row of a table that was a match. */
Carried ProbeKernel::unmatched(const Carried& now, llvm::function_ref<Carried()> body) {
  if (!full_.reaches(0)) return body();
  const Carried look = emit_if(rows_, "unmatched", full_.is_given(0), {ir_.getFalse()},
                               [&]() -> Carried { return {full_.is_matched(row_)}; });
  return emit_if(rows_, "goes", ir_.CreateNot(look[0]), now, body);
}

Carried ProbeKernel::from_join(size_t j, const Carried& before) {
  if (j == program_.joins().size()) return append(before);
  probes_[j].bind(tables_);  // here, since all joins' tables take more registers than the rows are worth
  Carried now = before;
  JoinMatch match = full_.reaches(j) ? look_up_or_given(j, now) : look_up(j, now);
  if (plan_.expands[j]) return fan_out(j, match, now);
  if (program_.joins()[j].residual != TB_NONE) match = with_residual(j, match, now);
  switch (program_.joins()[j].kind) {
    case TB_JOIN_FULL:
    case TB_JOIN_LEFT:
      set_match(j, ir_.CreateSelect(match.hit, match.row, none()));
      if (full_.is_full(j)) full_.mark(j, matches_[j]);
      return after_join(j, now);
    case TB_JOIN_ANTI:
      return emit_if(rows_, "anti", rows_.or_maybe(ir_.CreateNot(match.hit), given(j)), now,
                     [&] { return after_join(j, now); });
    case TB_JOIN_SEMI:
      return emit_if(rows_, "semi", rows_.or_maybe(match.hit, given(j)), now, [&] { return after_join(j, now); });
    default:
      return emit_if(rows_, "inner", rows_.or_maybe(match.hit, given(j)), now, [&] {
        set_match(j, match.row);
        return after_join(j, now);
      });
  }
}

JoinMatch ProbeKernel::look_up(size_t j, Carried& now) {
  probes_[j].eval_keys();
  note_errors(now);
  return probes_[j].any_kind();
}

/* Where nothing is to be looked up, the row that the tuple begins with, if it does here. */
JoinMatch ProbeKernel::look_up_or_given(size_t j, Carried& now) {
  Value* begins = full_.given_match(j, row_);
  const Carried otherwise = {ir_.CreateICmpNE(begins, none()), begins, now.back()};
  const Carried found = emit_if(rows_, "lookup", ir_.CreateNot(given(j)), otherwise, [&]() -> Carried {
    RowEmitter::LoadScope scope(rows_);
    Carried inner = now;
    const JoinMatch match = look_up(j, inner);
    return {match.hit, match.row, inner.back()};
  });
  now.back() = found[2];
  return {found[0], found[1]};
}

Carried ProbeKernel::after_join(size_t j, const Carried& now) {
  return where_all(
      plan_.filters[j + 1], now, [&] { return from_join(j + 1, counted(now, kJoins + j, full_.counted(j, one_))); },
      full_.passes_over(j + 1));
}

/*
 * pass = false;
 * for (row = head; row is there && !pass; row = next(row)) { found = row; pass = residual(row); }
 *
 * A given row passes as it is.
 */
JoinMatch ProbeKernel::with_residual(size_t j, JoinMatch head, Carried& now) {
  const bool unique = program_.joins()[j].flags & TB_JOIN_UNIQUE;
  Value* first = ir_.CreateSelect(head.hit, head.row, none());
  Carried init = {first, none(), ir_.getFalse(), now.back()};
  if (Value* is_given = given(j)) {
    init[1] = ir_.CreateSelect(is_given, first, none());
    init[2] = ir_.CreateAnd(is_given, head.hit);
  }
  const Carried end = emit_while(
      rows_, "residual", init,
      [&](const Carried& c) -> Value* { return ir_.CreateAnd(ir_.CreateICmpNE(c[0], none()), ir_.CreateNot(c[2])); },
      [&](const Carried& c) -> Carried {
        RowEmitter::LoadScope scope(rows_);
        rows_.set_match(static_cast<uint32_t>(j), c[0]);
        Value* pass = rows_.truth(rows_.eval(program_.joins()[j].residual, nullptr));
        Value* errors = rows_.take_errors();
        return {unique ? none() : probes_[j].next(c[0]), c[0], pass, errors ? ir_.CreateOr(c[3], errors) : c[3]};
      });
  now.back() = end[3];
  return {end[2], end[1]};
}

/*
 * row = head; matched = false; more = row is there || LEFT || FULL || given;
 * while (more) {
 *   pass = given || (row is there && residual(row)); matched |= pass; following = given ? NONE : next(row);
 *   if (pass || ((LEFT || FULL) && following == NONE && !matched)) ... the rest with pass ? row : NONE ...
 *   row = following; more = following != NONE;
 * }
 */
Carried ProbeKernel::fan_out(size_t j, JoinMatch head, const Carried& now) {
  const TbJoin& join = program_.joins()[j];
  const bool left = join.kind == TB_JOIN_LEFT || full_.is_full(j);
  Value* is_given = given(j);
  Carried init = {ir_.CreateSelect(head.hit, head.row, none()), ir_.getFalse(),
                  left ? ir_.getTrue() : rows_.or_maybe(head.hit, is_given)};
  init.append(now);
  const Carried end = emit_while(
      rows_, "fan_out", init, [&](const Carried& c) -> Value* { return c[2]; },
      [&](const Carried& c) -> Carried {
        RowEmitter::LoadScope scope(rows_);
        Carried inner(c.begin() + 3, c.end());
        Value* pass = ir_.CreateICmpNE(c[0], none());
        if (join.residual != TB_NONE) {
          rows_.set_match(static_cast<uint32_t>(j), c[0]);
          RowEmitter::LoadScope residual_scope(rows_);
          // Where there may be no row, the join's columns then read as NULL.
          Value* wanted = left ? pass : nullptr;
          if (is_given) wanted = ir_.CreateAnd(pass, ir_.CreateNot(is_given));
          pass = ir_.CreateAnd(pass, rows_.truth(rows_.eval(join.residual, wanted)));
          note_errors(inner);
        }
        pass = rows_.or_maybe(pass, is_given);
        Value* matched = ir_.CreateOr(c[1], pass);
        Value* following = probes_[j].next(c[0]);
        Value* more = ir_.CreateICmpNE(following, none());
        if (is_given) more = ir_.CreateAnd(more, ir_.CreateNot(is_given));
        Value* yields = pass;
        if (left) yields = ir_.CreateOr(pass, ir_.CreateNot(ir_.CreateOr(more, matched)));
        Carried after = emit_if(rows_, "fan_out.tuple", yields, inner, [&] {
          set_match(j, ir_.CreateSelect(pass, c[0], none()));
          if (full_.is_full(j)) full_.mark(j, matches_[j]);
          return after_join(j, inner);
        });
        Carried next = {following, matched, more};
        next.append(after);
        return next;
      });
  return Carried(end.begin() + 3, end.end());
}

Carried ProbeKernel::append(const Carried& now) {
  Value* counter = rows_.at(args_, offsetof(TbPipelineArgs, ntuples));
  Value* at = rows_.call_rt("rt_warp_append_u64", {counter});
  emit_if(rows_, "append", ir_.CreateICmpULT(at, tuple_capacity_), {}, [&]() -> Carried {
    auto put = [&](Value* word, uint64_t array) {
      Value* place = ir_.CreateAdd(ir_.CreateMul(tuple_capacity_, ir_.getInt64(array)), at);
      ir_.CreateStore(word, rows_.index(ir_.getInt32Ty(), tuples_, place));
    };
    put(row_number(), 0);
    for (size_t j = 0; j < matches_.size(); j++) put(matches_[j], 1 + j);
    return {};
  });
  return now;
}

}  // namespace

void emit_gpu_probe(ModuleBuilder& builder, const Program& program) { ProbeKernel(builder, program).emit(); }

}  // namespace turbine
