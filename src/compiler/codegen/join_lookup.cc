/*
 * join_lookup.cc - emits the joins of tb_pipeline, one at a time: the first match of every tuple of
 * a batch.
 *
 * For joins that keep or drop tuples (unique INNER, LEFT and FULL, SEMI, ANTI) this is all. Joins
 * that fan out (join_expand.cc) take the matches as heads of chains, and check the residual there.
 *
 * The kind of a table is known only at run time. So a switch stands outside the loop over tuples,
 * with a loop for each kind that the keys allow. Called by pipeline_host.cc once per compilation.
 */
#include <cstddef>

#include "compiler/codegen/pipeline_host.h"
#include "turbine/kernel.h"

namespace turbine {

using llvm::Value;

namespace {

constexpr uint32_t kGiven = 0xff;  // beside TbTableKind: nothing is looked up

/* The tuples before the join's matches are stored. */
TupleBatch without_match(const TupleBatch& b, size_t j) {
  TupleBatch before = b;
  before.matches[j] = nullptr;
  return before;
}

}  // namespace

bool HostPipeline::walks_chain(size_t j) const {
  const TbJoin& join = program_.joins()[j];
  return join.residual != TB_NONE && !(join.flags & TB_JOIN_UNIQUE) && !plan_.expands[j];
}

void HostPipeline::emit_lookup(size_t j, TupleBatch& b) {
  JoinProbe& probe = probes_[j];
  if (plan_.expands[j] || plan_.match_used[j]) b.matches[j] = take_words();
  const TupleBatch target = b;
  if (!keeps_all(j)) b.places = b.selection;

  std::vector<SwitchCase> cases;
  if (probe.keyless()) {
    cases.push_back({TB_TABLE_ALL,
                     [&] { return emit_lookup_loop(j, target, true, [&](Value*) { return probe.first_of_all(); }); }});
  } else {
    cases.push_back({TB_TABLE_HASH, [&] { return emit_lookup_hashed(j, target); }});
  }
  if (probe.integer_key()) {
    cases.push_back(
        {TB_TABLE_DIRECT, [&] { return emit_lookup_loop(j, target, true, [&](Value*) { return probe.direct(); }); }});
    cases.push_back(
        {TB_TABLE_DENSE, [&] { return emit_lookup_loop(j, target, true, [&](Value*) { return probe.dense(); }); }});
  }
  Value* kind = probe.kind();
  if (full_.reaches(j)) {
    cases.push_back({kGiven, [&] { return emit_lookup_given(j, target); }});
    kind = ir_.CreateSelect(full_.is_given(j), ir_.getInt32(kGiven), kind);
  }
  const Carried end = emit_switch(rows_, "join", kind, cases, [&] { return emit_lookup_empty(j, target); });
  b.count = end[0];
  or_errors(end[1]);
}

/* All forms return {count, errors}. */
Carried HostPipeline::emit_lookup_loop(size_t j, const TupleBatch& in, bool branch_free, Lookup lookup) {
  const TbJoin& join = program_.joins()[j];
  const bool simple_residual = plan_.expands[j] || join.residual == TB_NONE || is_dense(program_, join.residual);
  if (branch_free && !in.places && !walks_chain(j) && simple_residual && probes_[j].dense_keys())
    return emit_lookup_mask(j, in, lookup);
  return emit_lookup_list(j, in, lookup);
}

/*
 * All places are alive: one vectorised loop to a mask.
 *
 *   for (i) { match = lookup(keys(i)); matches[i] = match.row; mask[i] = match.hit; }
 */
Carried HostPipeline::emit_lookup_mask(size_t j, const TupleBatch& in, Lookup lookup) {
  JoinProbe& probe = probes_[j];
  const TupleBatch source = without_match(in, j);
  // Tell LLVM that iterations are independent.
  LoopOptions options;
  options.parallel_group = new_access_group(rows_);
  auto mark = [&](llvm::StoreInst* store) {
    store->setMetadata(llvm::LLVMContext::MD_access_group, options.parallel_group);
  };
  probe.access_group(options.parallel_group);
  Carried end = emit_loop(
      rows_, "join.mask", ir_.getInt64(0), in.count, {ir_.getInt32(0)},
      [&](Value* i, const Carried& now) -> Carried {
        // Look the tuple up.
        begin_tuple(source, i, options.parallel_group);
        probe.eval_keys();
        JoinMatch match = check_residual(j, lookup(i));
        Value* errors = rows_.take_errors();
        // Store the match.
        if (in.matches[j]) {
          Value* row = keeps_all(j) ? ir_.CreateSelect(match.hit, match.row, ir_.getInt32(TB_NONE)) : match.row;
          mark(ir_.CreateStore(row, word_at(in.matches[j], i)));
        }
        // Does the tuple stay?
        if (!keeps_all(j)) {
          Value* keep = program_.joins()[j].kind == TB_JOIN_ANTI ? ir_.CreateNot(match.hit) : match.hit;
          mark(ir_.CreateStore(ir_.CreateZExt(keep, ir_.getInt8Ty()), rows_.index(ir_.getInt8Ty(), mask_, i)));
        }
        return {errors ? ir_.CreateOr(now[0], errors) : now[0]};
      },
      options);
  probe.access_group(nullptr);
  // Drop tuples by the mask.
  TupleBatch out = in;
  if (!keeps_all(j)) select_by_mask(out);
  return {out.count, end[0]};
}

/*
 *   for (k) { match = lookup(keys(k)); matches[place] = match.row;
 *             selection[count] = place; count += match.hit; }
 */
Carried HostPipeline::emit_lookup_list(size_t j, const TupleBatch& in, Lookup lookup) {
  const TupleBatch source = without_match(in, j);
  Carried end = emit_loop(
      rows_, "join", ir_.getInt64(0), in.count, {ir_.getInt64(0), ir_.getInt32(0)},
      [&](Value* k, const Carried& now) -> Carried {
        Value* place = begin_tuple(source, k);
        probes_[j].eval_keys();
        JoinMatch match = lookup(k);
        match = walks_chain(j) ? walk_chain(j, match) : check_residual(j, match);
        Value* errors = rows_.take_errors();
        Value* count = now[0];
        if (in.matches[j]) {
          Value* row = keeps_all(j) ? ir_.CreateSelect(match.hit, match.row, ir_.getInt32(TB_NONE)) : match.row;
          ir_.CreateStore(row, word_at(in.matches[j], place));
        }
        if (!keeps_all(j)) {
          Value* keep = program_.joins()[j].kind == TB_JOIN_ANTI ? ir_.CreateNot(match.hit) : match.hit;
          ir_.CreateStore(ir_.CreateTrunc(place, ir_.getInt32Ty()), word_at(in.selection, count));
          count = ir_.CreateAdd(count, ir_.CreateZExt(keep, ir_.getInt64Ty()));
        }
        return {count, errors ? ir_.CreateOr(now[1], errors) : now[1]};
      });
  return {keeps_all(j) ? in.count : end[0], end[1]};
}

/* Hashes of all keys first, with their buckets prefetched; then the rows that have the
 * same, with their keys prefetched; then the comparison. */
Carried HostPipeline::emit_lookup_hashed(size_t j, const TupleBatch& in) {
  JoinProbe& probe = probes_[j];
  const TupleBatch source = without_match(in, j);
  Carried hashed = emit_loop(rows_, "join.hash", ir_.getInt64(0), in.count, {ir_.getInt32(0)},
                             [&](Value* k, const Carried& now) -> Carried {
                               begin_tuple(source, k);
                               probe.eval_keys();
                               Value* errors = rows_.take_errors();
                               Value* hash = probe.hash();
                               ir_.CreateStore(hash, rows_.index(ir_.getInt64Ty(), hashes_, k));
                               probe.prefetch(hash);
                               return {errors ? ir_.CreateOr(now[0], errors) : now[0]};
                             });
  auto hash_at = [&](Value* k) { return ir_.CreateLoad(ir_.getInt64Ty(), rows_.index(ir_.getInt64Ty(), hashes_, k)); };
  emit_loop(rows_, "join.candidates", ir_.getInt64(0), in.count, {}, [&](Value* k, const Carried&) -> Carried {
    Value* candidate = probe.candidate(hash_at(k));
    ir_.CreateStore(candidate, word_at(groups_of_, k));
    probe.prefetch_keys(candidate);
    return {};
  });
  Carried end = emit_lookup_loop(j, in, false, [&](Value* k) {
    rows_.take_errors();  // of the keys: the hash loop has them
    return probe.hashed_at(ir_.CreateLoad(ir_.getInt32Ty(), word_at(groups_of_, k)), hash_at(k));
  });
  return {end[0], ir_.CreateOr(end[1], hashed[0])};
}

/* A table without rows: nobody has a match, and keys need not be looked at. */
Carried HostPipeline::emit_lookup_empty(size_t j, const TupleBatch& in) {
  if (program_.joins()[j].kind != TB_JOIN_ANTI && !keeps_all(j)) return {ir_.getInt64(0), ir_.getInt32(0)};
  return emit_all_stay(j, in, [&](Value*) { return ir_.getInt32(TB_NONE); });
}

/* Tuples that begin with a match of this join, or behind it. */
Carried HostPipeline::emit_lookup_given(size_t j, const TupleBatch& in) {
  return emit_all_stay(j, in, [&](Value* row) { return full_.given_match(j, row); });
}

/* Nothing is looked up, and every tuple goes on. */
Carried HostPipeline::emit_all_stay(size_t j, const TupleBatch& in, llvm::function_ref<Value*(Value* row)> match) {
  const bool new_list = !keeps_all(j) && !in.places;
  const TupleBatch source = without_match(in, j);
  if (in.matches[j] || new_list)
    emit_loop(rows_, "join.stay", ir_.getInt64(0), in.count, {}, [&](Value* k, const Carried&) -> Carried {
      Value* place = begin_tuple(source, k);
      if (in.matches[j]) ir_.CreateStore(match(rows_.row()), word_at(in.matches[j], place));
      if (new_list) ir_.CreateStore(ir_.CreateTrunc(place, ir_.getInt32Ty()), word_at(in.selection, k));
      return {};
    });
  return {in.count, ir_.getInt32(0)};
}

void HostPipeline::emit_marks(size_t j, const TupleBatch& b) {
  const TupleBatch source = without_match(b, j);
  emit_loop(rows_, "mark", ir_.getInt64(0), b.count, {}, [&](Value* k, const Carried&) -> Carried {
    Value* place = begin_tuple(source, k);
    full_.mark(j, ir_.CreateLoad(ir_.getInt32Ty(), word_at(b.matches[j], place)));
    return {};
  });
}

/* The match counts if the residual holds for it; asked of hits only. Other tuples
 * look at row 0, which every table has that is looked up in. */
JoinMatch HostPipeline::check_residual(size_t j, JoinMatch match) {
  const TbJoin& join = program_.joins()[j];
  if (join.residual == TB_NONE || plan_.expands[j]) return match;
  rows_.set_match(static_cast<uint32_t>(j), ir_.CreateSelect(match.hit, match.row, ir_.getInt32(0)));
  match.hit = ir_.CreateAnd(match.hit, rows_.truth(rows_.eval(join.residual, match.hit)));
  return match;
}

/*
 * while (row is there && !passed) {
 *   if (*stop) return;
 *   for (patience = kCandidates; row is there && !passed && patience > 0; patience--) {
 *     passed = residual(row); row = next(row);
 *   }
 * }
 */
JoinMatch HostPipeline::walk_chain(size_t j, JoinMatch head) {
  Value* before = rows_.take_errors();
  Value* first = ir_.CreateSelect(head.hit, head.row, ir_.getInt32(TB_NONE));
  const Carried init = {first, ir_.getFalse(), before ? before : ir_.getInt32(0)};
  auto searching = [&](const Carried& now) -> Value* {
    return ir_.CreateAnd(ir_.CreateICmpNE(now[0], ir_.getInt32(TB_NONE)), ir_.CreateNot(now[1]));
  };
  const Carried end = emit_while(rows_, "chain", init, searching, [&](const Carried& start) -> Carried {
    emit_stop_check();
    Carried piece = start;
    piece.push_back(ir_.getInt32(kCandidates));
    const Carried after = emit_while(
        rows_, "chain.piece", piece,
        [&](const Carried& now) { return ir_.CreateAnd(searching(now), ir_.CreateICmpNE(now[3], ir_.getInt32(0))); },
        [&](const Carried& now) -> Carried {
          RowEmitter::LoadScope scope(rows_);
          rows_.set_match(static_cast<uint32_t>(j), now[0]);
          Value* pass = rows_.truth(rows_.eval(program_.joins()[j].residual, nullptr));
          Value* errors = rows_.take_errors();
          return {probes_[j].next(now[0]), pass, errors ? ir_.CreateOr(now[2], errors) : now[2],
                  ir_.CreateSub(now[3], ir_.getInt32(1))};
        });
    return {after[0], after[1], after[2]};
  });
  rows_.add_errors(end[2], nullptr);
  return {end[1], first};
}

}  // namespace turbine
