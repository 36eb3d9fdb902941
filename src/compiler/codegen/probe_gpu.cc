/*
 * probe_gpu.cc - emits tb_probe: a thread takes a row through filters and joins, as nested branches and
 * loops, and appends the tuples that come out.
 *
 *   if (filters) {
 *     for (match of the first join, or none) if (residual, filters of the join)
 *       ...
 *         found += (row, matches);
 *   }
 *
 * A block collects the tuples of a run of rows in shared memory, and moves them to the task's tuples at the
 * run's end. A tuple that finds no room there goes to the task's tuples at once.
 *
 * If a step keeps few rows, most threads of a warp would idle while the others go on. So the rows that pass
 * the filters (without filters, the first join) are set aside in shared memory, and the block's threads share
 * them out anew. Programs with joins that fan out do not do so, nor those with FULL joins.
 *
 * A row may stand for a row of a FULL join's table (full_join.h). It begins at that join, unless the table's
 * row was a match.
 */
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>
#include <cstddef>
#include <optional>

#include "compiler/codegen/full_join.h"
#include "compiler/codegen/gpu_kernel.h"
#include "compiler/codegen/join_plan.h"
#include "compiler/codegen/join_probe.h"
#include "compiler/codegen/shared_list.h"
#include "turbine/kernel.h"

namespace turbine {

using llvm::Value;

namespace {

/* Shared memory for found tuples: what four blocks leave of a multiprocessor's is its cache, where rows side by
 * side are read. */
constexpr uint32_t kFoundBytes = 24 << 10;

class ProbeKernel : GpuKernel {
 public:
  ProbeKernel(ModuleBuilder& builder, const Program& program)
      : GpuKernel(builder, program, "tb_probe", Over::kRows),
        plan_(plan_joins(program)),
        full_(rows_, program),
        matches_(program.joins().size(), ir_.getInt32(TB_NONE)),
        one_(llvm::ConstantInt::get(
            std::count(plan_.expands.begin(), plan_.expands.end(), true) ? ir_.getInt64Ty() : ir_.getInt32Ty(), 1)),
        found_(rows_, "found", tuple_words(), std::min(TB_RUN_ROWS, kFoundBytes / (4 * tuple_words()))),
        first_found_(make_shared_word(rows_, ir_.getInt64Ty(), "found.first")),
        aside_after_(set_aside_after()) {
    if (aside_after_) aside_.emplace(rows_, "aside", 1 + *aside_after_, TB_RUN_ROWS);
    full_.bind(args_, tables_);
    for (uint32_t j = 0; j < program.joins().size(); j++) probes_.emplace_back(rows_, program, j);
  }
  void emit();

 private:
  uint32_t tuple_words() const { return 1 + static_cast<uint32_t>(program_.joins().size()); }
  std::optional<uint32_t> set_aside_after() const;
  void begin_run() override;
  Carried end_run(const Carried& now) override;
  Carried set_aside(const Carried& now);
  Carried go_on(const Carried& now);
  void put_found();

  /* Carried: rows passed, tuples after each join, candidates of each join, TB_ERR_* bits. */
  static constexpr size_t kPassed = 0, kJoins = 1;
  size_t candidates(size_t j) const { return kJoins + program_.joins().size() + j; }

  Carried unmatched(const Carried& now, llvm::function_ref<Carried()> body);
  Carried from_join(size_t j, const Carried& now);
  JoinMatch look_up(size_t j, Carried& now);
  JoinMatch look_up_or_given(size_t j, Carried& now);
  Carried after_join(size_t j, const Carried& now);
  Carried fan_out(size_t j, JoinMatch head, const Carried& now);
  JoinMatch with_residual(size_t j, JoinMatch head, Carried& now);
  Carried append(const Carried& now);
  Value* tuple_word(uint64_t array, Value* tuple);
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
  SharedList found_;  // tuples, as the task has them
  llvm::GlobalVariable* const first_found_;  // where they go among the task's
  const std::optional<uint32_t> aside_after_;  // joins that rows are through when they are set aside; none are
  std::optional<SharedList> aside_;  // rows of the stretch, and their matches
  bool going_on_ = false;  // the code for rows that were set aside
  Value* row_ = nullptr;
};

std::optional<uint32_t> ProbeKernel::set_aside_after() const {
  const auto joins = program_.joins();
  if (joins.empty() || full_.reaches(0) || std::count(plan_.expands.begin(), plan_.expands.end(), true)) return {};
  if (!plan_.filters[0].empty()) return 0;
  const bool drops = joins[0].kind != TB_JOIN_LEFT;
  return drops && (joins.size() > 1 || !plan_.filters[1].empty()) ? std::optional<uint32_t>(1) : std::nullopt;
}

void ProbeKernel::begin_run() {
  emit_if(rows_, "run.clear", ir_.CreateICmpEQ(thread_, ir_.getInt64(0)), {}, [&]() -> Carried {
    found_.clear();
    if (aside_) aside_->clear();
    return {};
  });
  emit_block_barrier(rows_);
  if (aside_after_ == 1u) probes_[0].bind(tables_);
}

Carried ProbeKernel::set_aside(const Carried& now) {
  Value* place = aside_->append();
  ir_.CreateStore(ir_.CreateTrunc(rows_.row(), ir_.getInt32Ty()), aside_->word(0, place));
  for (uint32_t j = 0; j < *aside_after_; j++) ir_.CreateStore(matches_[j], aside_->word(1 + j, place));
  return now;
}

/* With a row that was set aside. */
Carried ProbeKernel::go_on(const Carried& now) {
  return *aside_after_ == 0 ? from_join(0, now) : after_join(*aside_after_ - 1, now);
}

/*
 * for (i = thread; i < set aside; i += threads) { row = aside[i]; go_on(); }
 */
Carried ProbeKernel::end_run(const Carried& before) {
  emit_block_barrier(rows_);
  Carried after = before;
  if (aside_) {
    llvm::Type* i32 = ir_.getInt32Ty();
    LoopOptions by_thread;
    by_thread.step = ir_.CreateTrunc(threads_, i32);
    after = emit_loop(
        rows_, "aside", ir_.CreateTrunc(thread_, i32), aside_->size(), before,
        [&](Value* place, const Carried& now) {
          rows_.begin_row(ir_.CreateZExt(ir_.CreateLoad(i32, aside_->word(0, place)), ir_.getInt64Ty()));
          std::fill(matches_.begin(), matches_.end(), none());
          for (uint32_t j = 0; j < *aside_after_; j++) set_match(j, ir_.CreateLoad(i32, aside_->word(1 + j, place)));
          going_on_ = true;
          return go_on(now);
        },
        by_thread);
    emit_block_barrier(rows_);
  }
  put_found();
  return after;
}

/*
 * if (thread == 0) first = ntuples += found;
 * for (i = thread; i < found && first + i < tuple_capacity; i += threads) tuples[first + i] = found[i];
 */
void ProbeKernel::put_found() {
  llvm::Type *i32 = ir_.getInt32Ty(), *i64 = ir_.getInt64Ty();
  Value* size = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, found_.size(), ir_.getInt32(found_.room()));
  emit_if(rows_, "put", ir_.CreateICmpNE(size, ir_.getInt32(0)), {}, [&]() -> Carried {
    emit_if(rows_, "put.first", ir_.CreateICmpEQ(thread_, ir_.getInt64(0)), {}, [&]() -> Carried {
      Value* counter = rows_.at(args_, offsetof(TbPipelineArgs, ntuples));
      ir_.CreateStore(ir_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, counter, ir_.CreateZExt(size, i64), llvm::Align(8),
                                          llvm::AtomicOrdering::Monotonic),
                      first_found_);
      return {};
    });
    emit_block_barrier(rows_);
    Value* first = ir_.CreateLoad(i64, first_found_);
    Value* left = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::usub_sat, tuple_capacity_, first);
    Value* end = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, ir_.CreateZExt(size, i64), left);
    LoopOptions by_thread;
    by_thread.step = threads_;
    emit_loop(
        rows_, "put", thread_, end, {},
        [&](Value* i, const Carried&) -> Carried {
          for (uint32_t array = 0; array < tuple_words(); array++)
            ir_.CreateStore(ir_.CreateLoad(i32, found_.word(array, ir_.CreateTrunc(i, i32))),
                            tuple_word(array, ir_.CreateAdd(first, i)));
          return {};
        },
        by_thread);
    return {};
  });
}

void ProbeKernel::emit() {
  Carried init(candidates(program_.joins().size()), llvm::ConstantInt::get(one_->getType(), 0));
  init.push_back(ir_.getInt32(0));
  const Carried end = grid_loop(init, [&](Value* row, const Carried& now) {
    row_ = row;
    return unmatched(now, [&] {
      return where_all(
          plan_.filters[0], now,
          [&] {
            const Carried passed = counted(now, kPassed, full_.counted_rows(one_));
            return aside_after_ == 0u ? set_aside(passed) : from_join(0, passed);
          },
          full_.passes_over(0));
    });
  });
  auto wide = [&](size_t which) { return ir_.CreateZExt(end[which], ir_.getInt64Ty()); };
  add_total(offsetof(TbPipelineArgs, rows_passed), wide(kPassed));
  for (size_t j = 0; j < program_.joins().size(); j++)
    add_total(offsetof(TbPipelineArgs, join_rows) + j * sizeof(uint64_t), wide(kJoins + j));
  for (size_t j = 0; j < program_.joins().size(); j++)
    if (program_.joins()[j].residual != TB_NONE)
      add_total(offsetof(TbPipelineArgs, join_candidates) + j * sizeof(uint64_t), wide(candidates(j)));
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
  // Here, since all joins' tables take more registers than the rows are worth; a first one that is looked at alone
  // has been bound with the run.
  if (j > 0 || aside_after_ != 1u) probes_[j].bind(tables_);
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
  const JoinMatch match = probes_[j].any_kind();
  note_errors(now);
  return match;
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
  if (!going_on_ && aside_after_ == j + 1) return set_aside(now);
  return where_all(
      plan_.filters[j + 1], now, [&] { return from_join(j + 1, counted(now, kJoins + j, full_.counted(j, one_))); },
      full_.passes_over(j + 1));
}

/*
 * pass = false;
 * for (row = head; row is there && !pass; row = next(row)) {
 *   found = row; pass = residual(row);
 *   if (the query is over) break;
 * }
 *
 * A given row passes as it is.
 */
JoinMatch ProbeKernel::with_residual(size_t j, JoinMatch head, Carried& now) {
  const bool unique = program_.joins()[j].flags & TB_JOIN_UNIQUE;
  Value* first = ir_.CreateSelect(head.hit, head.row, none());
  Carried init = {first, none(), ir_.getFalse(), now.back(), now[candidates(j)]};
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
        Carried next = {none(), c[0], pass, errors ? ir_.CreateOr(c[3], errors) : c[3], c[4]};
        if (unique) return next;
        next[4] = ir_.CreateAdd(c[4], one_);
        next[0] = ir_.CreateSelect(candidate_stops(), none(), probes_[j].next(c[0]));
        return next;
      });
  now.back() = end[3];
  now[candidates(j)] = end[4];
  return {end[2], end[1]};
}

/*
 * row = head; matched = false; more = row is there || LEFT || FULL || given;
 * while (more) {
 *   pass = given || (row is there && residual(row)); matched |= pass; following = given ? NONE : next(row);
 *   if (pass || ((LEFT || FULL) && following == NONE && !matched)) ... the rest with pass ? row : NONE ...
 *   row = following; more = following != NONE && !(the query is over);
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
          inner = counted(inner, candidates(j), ir_.CreateZExt(pass, one_->getType()));
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
        more = ir_.CreateAnd(more, ir_.CreateNot(candidate_stops()));
        Carried next = {following, matched, more};
        next.append(after);
        return next;
      });
  return Carried(end.begin() + 3, end.end());
}

Value* ProbeKernel::tuple_word(uint64_t array, Value* tuple) {
  Value* place = ir_.CreateAdd(ir_.CreateMul(tuple_capacity_, ir_.getInt64(array)), tuple);
  return rows_.index(ir_.getInt32Ty(), tuples_, place);
}

/* Of the row and its matches. */
Carried ProbeKernel::append(const Carried& now) {
  llvm::SmallVector<Value*, 8> words = {row_number()};
  words.append(matches_.begin(), matches_.end());
  Value* place = found_.append();
  Value* there = ir_.CreateICmpULT(place, ir_.getInt32(found_.room()));
  emit_if(rows_, "found", there, {}, [&]() -> Carried {
    for (uint32_t i = 0; i < words.size(); i++) ir_.CreateStore(words[i], found_.word(i, place));
    return {};
  });
  emit_if(rows_, "append", ir_.CreateNot(there), {}, [&]() -> Carried {
    Value* counter = rows_.at(args_, offsetof(TbPipelineArgs, ntuples));
    Value* at = rows_.call_rt("rt_warp_append_u64", {counter});
    return emit_if(rows_, "append.room", ir_.CreateICmpULT(at, tuple_capacity_), {}, [&]() -> Carried {
      for (uint32_t i = 0; i < words.size(); i++) ir_.CreateStore(words[i], tuple_word(i, at));
      return {};
    });
  });
  return now;
}

}  // namespace

void emit_gpu_probe(ModuleBuilder& builder, const Program& program) { ProbeKernel(builder, program).emit(); }

}  // namespace turbine
