/*
 * join_expand.cc - joins of tb_pipeline that fan out: INNER, LEFT and FULL of tables
 * whose keys are not unique.
 *
 *   k = 0; match = head(0); matched = false;
 *   while (k < count) {
 *     n = 0;
 *     while (n < TB_TILE_ROWS && k < count && patience > 0) {     // a candidate each
 *       patience--;                                 // with a residual only
 *       pass = match is there && residual(tuple k, match);
 *       last = the chain ends here;
 *       out[n] = (tuple k, pass ? match : NONE);
 *       n += pass || (LEFT && last && !matched && !pass);
 *       matched = last ? false : matched | pass;
 *       k += last;
 *       match = last ? head(k) : next(match);
 *     }
 *     if (*stop) return;
 *     ... the rest of the pipeline, over n tuples ...
 *   }
 *
 * A tuple that begins with the match, or behind the join, has no chain and no residual.
 */
#include <llvm/IR/Intrinsics.h>

#include <cstddef>

#include "compiler/codegen/pipeline_host.h"
#include "turbine/kernel.h"

namespace turbine {

using llvm::Value;

namespace {

/* Places of the carried values. */
enum { kTuple, kMatch, kMatched, kErrors, kFilled, kPatience };

}  // namespace

void HostPipeline::emit_expansion(size_t j, const TupleBatch& in) {
  TupleBatch out = new_batch();
  out.rows = take_words();
  for (size_t i = 0; i <= j; i++)
    if (i == j ? plan_.match_used[j] : in.matches[i] != nullptr) out.matches[i] = take_words();

  // The first head; of no use, but there, if the batch is empty.
  Value* some = ir_.CreateICmpNE(in.count, ir_.getInt64(0));
  Value* place = ir_.getInt64(0);
  if (in.places) {
    Value* first = ir_.CreateZExt(ir_.CreateLoad(ir_.getInt32Ty(), in.places), ir_.getInt64Ty());
    place = ir_.CreateSelect(some, first, ir_.getInt64(0));
  }
  Value* head = ir_.CreateLoad(ir_.getInt32Ty(), word_at(in.matches[j], place));
  emit_while(
      rows_, "expand", {ir_.getInt64(0), head, ir_.getFalse()},
      [&](const Carried& now) { return ir_.CreateICmpULT(now[kTuple], in.count); },
      [&](const Carried& now) -> Carried {
        const Carried end = fill_batch(j, in, out, now);
        or_errors(end[kErrors]);
        emit_stop_check();
        TupleBatch filled = out;
        filled.count = end[kFilled];
        if (full_.is_full(j)) emit_marks(j, filled);
        emit_filters_after(j, filled);
        emit_joins(j + 1, filled);
        return {end[kTuple], end[kMatch], end[kMatched]};
      });
}

Carried HostPipeline::fill_batch(size_t j, const TupleBatch& in, const TupleBatch& out, const Carried& start) {
  // Every candidate fills a place, unless a residual drops it.
  const bool drops = program_.joins()[j].residual != TB_NONE;
  Carried init = {start[kTuple], start[kMatch], start[kMatched], ir_.getInt32(0), ir_.getInt64(0)};
  if (drops) init.push_back(ir_.getInt32(kCandidates));
  return emit_while(
      rows_, "fill", init,
      [&](const Carried& now) {
        Value* room = ir_.CreateICmpULT(now[kFilled], ir_.getInt64(TB_TILE_ROWS));
        if (drops) room = ir_.CreateAnd(room, ir_.CreateICmpNE(now[kPatience], ir_.getInt32(0)));
        return ir_.CreateAnd(room, ir_.CreateICmpULT(now[kTuple], in.count));
      },
      [&](const Carried& now) { return fill_one(j, in, out, now); });
}

Carried HostPipeline::fill_one(size_t j, const TupleBatch& in, const TupleBatch& out, const Carried& now) {
  const TbJoin& join = program_.joins()[j];
  Value* none = ir_.getInt32(TB_NONE);
  Value* match = now[kMatch];
  TupleBatch source = in;
  source.matches[j] = nullptr;
  Value* place = begin_tuple(source, now[kTuple]);

  Value* given = full_.reaches(j) ? full_.is_given(j) : nullptr;
  Value *pass = keeps_all(j) || given ? ir_.CreateICmpNE(match, none) : ir_.getTrue(), *errors = now[kErrors];
  if (join.residual != TB_NONE) {
    rows_.set_match(static_cast<uint32_t>(j), match);
    Value* active = keeps_all(j) ? pass : nullptr;
    if (given) active = ir_.CreateAnd(pass, ir_.CreateNot(given));
    pass = ir_.CreateAnd(pass, rows_.truth(rows_.eval(join.residual, active)));
    if (Value* bits = rows_.take_errors()) errors = ir_.CreateOr(errors, bits);
  }
  if (given) pass = ir_.CreateOr(pass, given);
  Value* following = probes_[j].next(match);
  Value* last = rows_.or_maybe(ir_.CreateICmpEQ(following, none), given);

  auto copy = [&](Value* from, Value* to) {
    Value* word = ir_.CreateLoad(ir_.getInt32Ty(), word_at(from, place));
    ir_.CreateStore(word, word_at(to, now[kFilled]));
  };
  if (in.rows)
    copy(in.rows, out.rows);
  else
    ir_.CreateStore(ir_.CreateTrunc(ir_.CreateAdd(start_, place), ir_.getInt32Ty()), word_at(out.rows, now[kFilled]));
  for (size_t i = 0; i < j; i++)
    if (out.matches[i]) copy(in.matches[i], out.matches[i]);
  if (out.matches[j]) ir_.CreateStore(ir_.CreateSelect(pass, match, none), word_at(out.matches[j], now[kFilled]));

  Value* yields = pass;
  Value* matched = ir_.CreateOr(now[kMatched], pass);
  if (keeps_all(j)) yields = ir_.CreateOr(pass, ir_.CreateAnd(last, ir_.CreateNot(matched)));

  // A branch, so that the next tuple does not wait for the end of this one's chain.
  const Carried next = emit_if(rows_, "fill.next", last, {now[kTuple], following, matched}, [&]() -> Carried {
    Value* tuple = ir_.CreateAdd(now[kTuple], ir_.getInt64(1));
    Value* there = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, tuple, ir_.CreateSub(in.count, ir_.getInt64(1)));
    if (in.places)
      there = ir_.CreateZExt(ir_.CreateLoad(ir_.getInt32Ty(), word_at(in.places, there)), ir_.getInt64Ty());
    return {tuple, ir_.CreateLoad(ir_.getInt32Ty(), word_at(in.matches[j], there)), ir_.getFalse()};
  });
  Value* filled = ir_.CreateAdd(now[kFilled], ir_.CreateZExt(yields, ir_.getInt64Ty()));
  Carried result = {next[0], next[1], next[2], errors, filled};
  if (now.size() > kPatience) result.push_back(ir_.CreateSub(now[kPatience], ir_.getInt32(1)));
  return result;
}

}  // namespace turbine
