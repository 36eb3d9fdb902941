/*
 * host_joins.cc - emits the joins of the host's tb_pipeline, one at a time.
 *
 * The kind of a table is known only at run time. So a switch stands outside the loop over tuples, with a loop for
 * each kind that the keys allow. Called by pipeline_host.cc once per compilation. Emitted code must never look at
 * more than a tile's tuples, or kCandidates matches, without a look at the stop word.
 */
#include "compiler/codegen/host_joins.h"

#include <llvm/IR/Intrinsics.h>

#include <cstddef>

#include "compiler/codegen/expression_walk.h"
#include "compiler/codegen/filter.h"

namespace turbine {

using llvm::Value;

namespace {

/* Matches that a residual is asked about before `stop` is looked at again: a millisecond or so. */
constexpr uint32_t kCandidates = 64 << 10;

/* Candidates between the prefetch of a text and its use. */
constexpr uint64_t kAhead = 16;

/* Beside TbTableKind: nothing is looked up; the match of a HASH table is noted by the entry of the row's text. */
constexpr uint32_t kGiven = 0xff, kNoted = 0xfe;

/* Places of the values that a loop carries through the batches of a join that fans out. */
enum { kTuple, kMatch, kMatched, kErrors, kFilled, kPatience, kLooked };

/* The field that counts pairs whose residual was asked. */
constexpr uint64_t candidates_of(size_t j) { return offsetof(TbPipelineArgs, join_candidates) + j * sizeof(uint64_t); }

/* The tuples before the join's matches are stored. */
TupleBatch without_match(const TupleBatch& b, size_t j) {
  TupleBatch before = b;
  before.matches[j] = nullptr;
  return before;
}

}  // namespace

HostJoins::HostJoins(HostTile& tile, const JoinPlan& plan)
    : tile_(tile), program_(tile.program()), plan_(plan), rows_(tile.rows()), ir_(tile.ir()), full_(rows_, program_) {
  for (uint32_t j = 0; j < program_.joins().size(); j++) probes_.emplace_back(rows_, program_, j);
}

void HostJoins::bind(Value* args, Value* tables) {
  for (JoinProbe& probe : probes_) probe.bind(tables);
  full_.bind(args, tables);
  if (!program_.joins().empty()) {
    // Where nobody can stop it, a word that stays 0.
    llvm::Module& module = *ir_.GetInsertBlock()->getModule();
    auto* zero = new llvm::GlobalVariable(module, ir_.getInt32Ty(), true, llvm::GlobalValue::PrivateLinkage,
                                          ir_.getInt32(0), "never");
    Value* stop = tile_.field(ir_.getPtrTy(), offsetof(TbPipelineArgs, stop));
    stop_ = ir_.CreateSelect(ir_.CreateIsNull(stop), zero, stop, "stop");
  }
}

void HostJoins::emit(size_t j, TupleBatch b, Sink sink) {
  if (j == program_.joins().size()) {
    sink(b);
    return;
  }
  emit_lookup(j, b);
  if (plan_.expands[j]) {
    emit_expansion(j, b, sink);
    return;
  }
  if (full_.is_full(j)) emit_marks(j, b);
  emit_filters_after(j, b);
  emit(j + 1, b, sink);
}

/* One pass, later conjuncts where the earlier ones hold. Then the tuples are counted. */
void HostJoins::emit_filters_after(size_t j, TupleBatch& b) {
  const std::vector<uint32_t>& conjuncts = plan_.filters[j + 1];
  if (!conjuncts.empty()) {
    Value* passed_over = full_.passes_over(j + 1);
    tile_.keep_tuples("select", b, [&] { return emit_conjunction(rows_, conjuncts, passed_over); });
  }
  tile_.add_to_field(offsetof(TbPipelineArgs, join_rows) + j * sizeof(uint64_t), full_.counted(j, b.count));
}

void HostJoins::emit_marks(size_t j, const TupleBatch& b) {
  const TupleBatch source = without_match(b, j);
  emit_loop(rows_, "mark", ir_.getInt64(0), b.count, {}, [&](Value* k, const Carried&) -> Carried {
    Value* place = tile_.begin_tuple(source, k);
    full_.mark(j, ir_.CreateLoad(ir_.getInt32Ty(), tile_.word_at(b.matches[j], place)));
    return {};
  });
}

/* Returns from the pipeline if nobody wants its result any more. */
void HostJoins::emit_stop_check() {
  llvm::LoadInst* stop = ir_.CreateLoad(ir_.getInt32Ty(), stop_);
  stop->setAtomic(llvm::AtomicOrdering::Monotonic);  // or it would be read once
  tile_.emit_stop(ir_.CreateICmpNE(stop, ir_.getInt32(0)));
}

bool HostJoins::walks_chain(size_t j) const {
  const TbJoin& join = program_.joins()[j];
  return join.residual != TB_NONE && !(join.flags & TB_JOIN_UNIQUE) && !plan_.expands[j];
}

void HostJoins::emit_lookup(size_t j, TupleBatch& b) {
  JoinProbe& probe = probes_[j];
  if (plan_.expands[j] || plan_.match_used[j]) b.matches[j] = tile_.take_words();
  const TupleBatch target = b;
  if (!keeps_all(j)) b.places = b.selection;

  // One loop per kind of table that the keys allow.
  std::vector<SwitchCase> cases;
  if (probe.series()) {
    cases.push_back({TB_TABLE_ALL, [&] {
                       return emit_lookup_loop(j, target, true, [&](Value*) { return probe.first_of_series(); });
                     }});
  } else if (probe.keyless()) {
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

  // Rows whose text is an entry of a dictionary.
  Value* kind = probe.kind();
  if (probe.by_entry()) {
    cases.push_back({kNoted, [&] { return emit_lookup_list(j, target, [&](Value*) { return probe.noted(); }); }});
    Value* hashed = ir_.CreateICmpEQ(kind, ir_.getInt32(TB_TABLE_HASH));
    kind = ir_.CreateSelect(ir_.CreateAnd(hashed, rows_.match_noted(static_cast<uint32_t>(j))), ir_.getInt32(kNoted),
                            kind);
  }

  // Tuples that begin with a match of this join, or behind it.
  if (full_.reaches(j)) {
    cases.push_back(
        {kGiven, [&] { return emit_all_stay(j, target, [&](Value* row) { return full_.given_match(j, row); }); }});
    kind = ir_.CreateSelect(full_.is_given(j), ir_.getInt32(kGiven), kind);
  }

  // The table chooses at run time.
  const Carried end = emit_switch(rows_, "join", kind, cases, [&] { return emit_lookup_empty(j, target); });
  b.count = end[0];
  tile_.or_errors(end[1]);
}

Carried HostJoins::emit_lookup_loop(size_t j, const TupleBatch& in, bool branch_free, Lookup lookup) {
  const TbJoin& join = program_.joins()[j];
  const bool simple_residual = plan_.expands[j] || join.residual == TB_NONE || is_dense(program_, join.residual);
  if (branch_free && !in.places && !walks_chain(j) && simple_residual && probes_[j].dense_keys())
    return emit_lookup_mask(j, in, lookup);
  return emit_lookup_list(j, in, [&](Value* k) {
    probes_[j].eval_keys();
    return lookup(k);
  });
}

/*
 * All places are alive: one vectorised loop to a mask.
 *
 *   for (i) { match = lookup(keys(i)); matches[i] = match.row; mask[i] = match.hit; }
 */
Carried HostJoins::emit_lookup_mask(size_t j, const TupleBatch& in, Lookup lookup) {
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
        tile_.begin_tuple(source, i, options.parallel_group);
        probe.eval_keys();
        JoinMatch match = check_residual(j, lookup(i));
        Value* errors = rows_.take_errors();
        // Store the match.
        if (in.matches[j]) {
          Value* row = keeps_all(j) ? ir_.CreateSelect(match.hit, match.row, ir_.getInt32(TB_NONE)) : match.row;
          mark(ir_.CreateStore(row, tile_.word_at(in.matches[j], i)));
        }
        // Does the tuple stay?
        if (!keeps_all(j)) {
          Value* keep = program_.joins()[j].kind == TB_JOIN_ANTI ? ir_.CreateNot(match.hit) : match.hit;
          mark(ir_.CreateStore(ir_.CreateZExt(keep, ir_.getInt8Ty()), rows_.index(ir_.getInt8Ty(), tile_.mask(), i)));
        }
        return {errors ? ir_.CreateOr(now[0], errors) : now[0]};
      },
      options);
  probe.access_group(nullptr);
  // Drop tuples by the mask.
  TupleBatch out = in;
  if (!keeps_all(j)) tile_.keep_masked(out);
  return {out.count, end[0]};
}

/*
 *   for (k) { match = lookup(keys(k)); matches[place] = match.row;
 *             selection[count] = place; count += match.hit; }
 */
Carried HostJoins::emit_lookup_list(size_t j, const TupleBatch& in, Lookup lookup) {
  const TupleBatch source = without_match(in, j);
  Carried end = emit_loop(
      rows_, "join", ir_.getInt64(0), in.count, {ir_.getInt64(0), ir_.getInt32(0)},
      [&](Value* k, const Carried& now) -> Carried {
        // Look the tuple up.
        Value* place = tile_.begin_tuple(source, k);
        JoinMatch match = lookup(k);
        match = walks_chain(j) ? walk_chain(j, match) : check_residual(j, match);
        Value* errors = rows_.take_errors();
        // Store the match.
        if (in.matches[j]) {
          Value* row = keeps_all(j) ? ir_.CreateSelect(match.hit, match.row, ir_.getInt32(TB_NONE)) : match.row;
          ir_.CreateStore(row, tile_.word_at(in.matches[j], place));
        }
        // Does the tuple stay?
        Value* count = now[0];
        if (!keeps_all(j)) {
          Value* keep = program_.joins()[j].kind == TB_JOIN_ANTI ? ir_.CreateNot(match.hit) : match.hit;
          ir_.CreateStore(ir_.CreateTrunc(place, ir_.getInt32Ty()), tile_.word_at(in.selection, count));
          count = ir_.CreateAdd(count, ir_.CreateZExt(keep, ir_.getInt64Ty()));
        }
        return {count, errors ? ir_.CreateOr(now[1], errors) : now[1]};
      });
  return {keeps_all(j) ? in.count : end[0], end[1]};
}

/* In three loops, each of which prefetches what the next one reads. */
Carried HostJoins::emit_lookup_hashed(size_t j, const TupleBatch& in) {
  JoinProbe& probe = probes_[j];
  const TupleBatch source = without_match(in, j);
  // Hashes of all keys; prefetch their buckets.
  Carried hashed = emit_loop(rows_, "join.hash", ir_.getInt64(0), in.count, {ir_.getInt32(0)},
                             [&](Value* k, const Carried& now) -> Carried {
                               tile_.begin_tuple(source, k);
                               probe.eval_keys();
                               Value* errors = rows_.take_errors();
                               Value* hash = probe.hash();
                               ir_.CreateStore(hash, rows_.index(ir_.getInt64Ty(), tile_.hashes(), k));
                               probe.prefetch(hash);
                               return {errors ? ir_.CreateOr(now[0], errors) : now[0]};
                             });
  auto hash_at = [&](Value* k) {
    return ir_.CreateLoad(ir_.getInt64Ty(), rows_.index(ir_.getInt64Ty(), tile_.hashes(), k));
  };
  // Rows of the same hash; prefetch their keys.
  emit_loop(rows_, "join.candidates", ir_.getInt64(0), in.count, {}, [&](Value* k, const Carried&) -> Carried {
    Value* candidate = probe.candidate(hash_at(k));
    ir_.CreateStore(candidate, tile_.word_at(tile_.words(), k));
    probe.prefetch_keys(candidate);
    return {};
  });
  // Compare the keys.
  Carried end = emit_lookup_loop(j, in, false, [&](Value* k) {
    rows_.take_errors();  // of the keys: the hash loop has them
    return probe.hashed_at(ir_.CreateLoad(ir_.getInt32Ty(), tile_.word_at(tile_.words(), k)), hash_at(k));
  });
  return {end[0], ir_.CreateOr(end[1], hashed[0])};
}

/* A table without rows: nobody has a match, and keys need not be looked at. */
Carried HostJoins::emit_lookup_empty(size_t j, const TupleBatch& in) {
  if (program_.joins()[j].kind != TB_JOIN_ANTI && !keeps_all(j)) return {ir_.getInt64(0), ir_.getInt32(0)};
  return emit_all_stay(j, in, [&](Value*) { return ir_.getInt32(TB_NONE); });
}

/* Nothing is looked up, and every tuple goes on. */
Carried HostJoins::emit_all_stay(size_t j, const TupleBatch& in, llvm::function_ref<Value*(Value* row)> match) {
  const bool new_list = !keeps_all(j) && !in.places;
  const TupleBatch source = without_match(in, j);
  if (in.matches[j] || new_list)
    emit_loop(rows_, "join.stay", ir_.getInt64(0), in.count, {}, [&](Value* k, const Carried&) -> Carried {
      Value* place = tile_.begin_tuple(source, k);
      if (in.matches[j]) ir_.CreateStore(match(rows_.row()), tile_.word_at(in.matches[j], place));
      if (new_list) ir_.CreateStore(ir_.CreateTrunc(place, ir_.getInt32Ty()), tile_.word_at(in.selection, k));
      return {};
    });
  return {in.count, ir_.getInt32(0)};
}

/* The match counts if the residual holds for it; asked of hits only. Other tuples
 * look at row 0, which every table has that is looked up in. */
JoinMatch HostJoins::check_residual(size_t j, JoinMatch match) {
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
JoinMatch HostJoins::walk_chain(size_t j, JoinMatch head) {
  Value* before = rows_.take_errors();
  Value* first = ir_.CreateSelect(head.hit, head.row, ir_.getInt32(TB_NONE));
  const Carried init = {first, ir_.getFalse(), before ? before : ir_.getInt32(0)};
  auto searching = [&](const Carried& now) -> Value* {
    return ir_.CreateAnd(ir_.CreateICmpNE(now[0], ir_.getInt32(TB_NONE)), ir_.CreateNot(now[1]));
  };
  const Carried end = emit_while(rows_, "chain", init, searching, [&](const Carried& start) -> Carried {
    // Does anybody still want the result?
    emit_stop_check();
    // Ask the residual of the next candidates.
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
    Value* looked = ir_.CreateSub(ir_.getInt32(kCandidates), after[3]);
    tile_.add_to_field(candidates_of(j), ir_.CreateZExt(looked, ir_.getInt64Ty()));
    return {after[0], after[1], after[2]};
  });
  rows_.add_errors(end[2], nullptr);
  return {end[1], first};
}

/*
 * Joins that fan out: INNER, LEFT and FULL of tables whose keys are not unique.
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
void HostJoins::emit_expansion(size_t j, const TupleBatch& in, Sink sink) {
  // A batch of its own.
  TupleBatch out = tile_.new_batch();
  out.rows = tile_.take_words();
  const std::vector<uint32_t> texts = late_texts(j);
  for (size_t i = 0; i <= j; i++)
    if (i == j ? plan_.match_used[j] || !texts.empty() : in.matches[i] != nullptr) out.matches[i] = tile_.take_words();

  // The first head; of no use, but there, if the batch is empty.
  Value* some = ir_.CreateICmpNE(in.count, ir_.getInt64(0));
  Value* place = ir_.getInt64(0);
  if (in.places) {
    Value* first = ir_.CreateZExt(ir_.CreateLoad(ir_.getInt32Ty(), in.places), ir_.getInt64Ty());
    place = ir_.CreateSelect(some, first, ir_.getInt64(0));
  }
  Value* head = ir_.CreateLoad(ir_.getInt32Ty(), tile_.word_at(in.matches[j], place));

  // Fill it, and run the rest of the pipeline over it.
  emit_while(
      rows_, "expand", {ir_.getInt64(0), head, ir_.getFalse()},
      [&](const Carried& now) { return ir_.CreateICmpULT(now[kTuple], in.count); },
      [&](const Carried& now) -> Carried {
        const Carried end = fill_batch(j, in, out, now);
        tile_.or_errors(end[kErrors]);
        if (end.size() > kLooked) tile_.add_to_field(candidates_of(j), end[kLooked]);
        emit_stop_check();
        TupleBatch filled = out;
        filled.count = end[kFilled];
        if (!texts.empty()) emit_late_residual(j, texts, filled);
        if (full_.is_full(j)) emit_marks(j, filled);
        emit_filters_after(j, filled);
        emit(j + 1, filled, sink);
        return {end[kTuple], end[kMatch], end[kMatched]};
      });
}

/* Texts of an INNER join's table that its residual reads: they lie anywhere, so that they are worth being prefetched,
 * and the residual is asked of a batch of candidates. */
std::vector<uint32_t> HostJoins::late_texts(size_t j) const {
  const TbJoin& join = program_.joins()[j];
  std::vector<uint32_t> columns;
  if (join.kind != TB_JOIN_INNER || full_.reaches(j)) return columns;
  walk_expression(program_, join.residual, [&](const TbExpr& e) {
    const bool is_text = e.op == TB_EXPR_COLUMN && tb_type_is_text(e.type);
    if (is_text && program_.columns()[e.index].join == j + 1) columns.push_back(e.index);
    return true;
  });
  return columns;
}

/*
 *   for (k) prefetch(&view(k));
 *   for (k) { prefetch(view(k + kAhead)'s bytes); keep the tuple if the residual is true }
 *
 * A whole batch's bytes would not stay in a processor's nearest caches.
 */
void HostJoins::emit_late_residual(size_t j, const std::vector<uint32_t>& texts, TupleBatch& b) {
  tile_.add_to_field(candidates_of(j), b.count);
  auto prefetch = [&](bool bytes) {
    for (uint32_t column : texts) rows_.prefetch_text(column, bytes);
  };
  emit_loop(rows_, "prefetch", ir_.getInt64(0), b.count, {}, [&](Value* k, const Carried&) -> Carried {
    tile_.begin_tuple(b, k);
    prefetch(false);
    return {};
  });
  const HostTile::Ahead ahead = {kAhead, [&] { prefetch(true); }};
  tile_.keep_tuples(
      "residual", b, [&] { return rows_.truth(rows_.eval(program_.joins()[j].residual, nullptr)); }, &ahead);
}

Carried HostJoins::fill_batch(size_t j, const TupleBatch& in, const TupleBatch& out, const Carried& start) {
  // Every candidate fills a place, unless a residual drops it.
  const bool drops = program_.joins()[j].residual != TB_NONE && late_texts(j).empty();
  Carried init = {start[kTuple], start[kMatch], start[kMatched], ir_.getInt32(0), ir_.getInt64(0)};
  if (drops) init.append({ir_.getInt32(kCandidates), ir_.getInt64(0)});
  return emit_while(
      rows_, "fill", init,
      [&](const Carried& now) {
        Value* room = ir_.CreateICmpULT(now[kFilled], ir_.getInt64(TB_TILE_ROWS));
        if (drops) room = ir_.CreateAnd(room, ir_.CreateICmpNE(now[kPatience], ir_.getInt32(0)));
        return ir_.CreateAnd(room, ir_.CreateICmpULT(now[kTuple], in.count));
      },
      [&](const Carried& now) { return fill_one(j, in, out, now); });
}

Carried HostJoins::fill_one(size_t j, const TupleBatch& in, const TupleBatch& out, const Carried& now) {
  const TbJoin& join = program_.joins()[j];
  Value* none = ir_.getInt32(TB_NONE);
  Value* match = now[kMatch];
  Value* place = tile_.begin_tuple(without_match(in, j), now[kTuple]);

  // Does the candidate pass?
  Value* given = full_.reaches(j) ? full_.is_given(j) : nullptr;
  Value *pass = keeps_all(j) || given ? ir_.CreateICmpNE(match, none) : ir_.getTrue(), *errors = now[kErrors];
  if (now.size() > kPatience) {
    rows_.set_match(static_cast<uint32_t>(j), match);
    Value* active = keeps_all(j) ? pass : nullptr;
    if (given) active = ir_.CreateAnd(pass, ir_.CreateNot(given));
    pass = ir_.CreateAnd(pass, rows_.truth(rows_.eval(join.residual, active)));
    if (Value* bits = rows_.take_errors()) errors = ir_.CreateOr(errors, bits);
  }
  if (given) pass = ir_.CreateOr(pass, given);

  // Does the chain end here?
  Value* following = probes_[j].next(match);
  Value* last = rows_.or_maybe(ir_.CreateICmpEQ(following, none), given);

  // Fill the place with the tuple and the match.
  auto copy = [&](Value* from, Value* to) {
    Value* word = ir_.CreateLoad(ir_.getInt32Ty(), tile_.word_at(from, place));
    ir_.CreateStore(word, tile_.word_at(to, now[kFilled]));
  };
  if (in.rows)
    copy(in.rows, out.rows);
  else
    ir_.CreateStore(ir_.CreateTrunc(ir_.CreateAdd(tile_.start(), place), ir_.getInt32Ty()),
                    tile_.word_at(out.rows, now[kFilled]));
  for (size_t i = 0; i < j; i++)
    if (out.matches[i]) copy(in.matches[i], out.matches[i]);
  if (out.matches[j]) ir_.CreateStore(ir_.CreateSelect(pass, match, none), tile_.word_at(out.matches[j], now[kFilled]));

  // Does the place count?
  Value* yields = pass;
  Value* matched = ir_.CreateOr(now[kMatched], pass);
  if (keeps_all(j)) yields = ir_.CreateOr(pass, ir_.CreateAnd(last, ir_.CreateNot(matched)));

  // A branch, so that the next tuple does not wait for the end of this one's chain.
  const Carried next = emit_if(rows_, "fill.next", last, {now[kTuple], following, matched}, [&]() -> Carried {
    Value* tuple = ir_.CreateAdd(now[kTuple], ir_.getInt64(1));
    Value* there = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, tuple, ir_.CreateSub(in.count, ir_.getInt64(1)));
    if (in.places)
      there = ir_.CreateZExt(ir_.CreateLoad(ir_.getInt32Ty(), tile_.word_at(in.places, there)), ir_.getInt64Ty());
    return {tuple, ir_.CreateLoad(ir_.getInt32Ty(), tile_.word_at(in.matches[j], there)), ir_.getFalse()};
  });
  Value* filled = ir_.CreateAdd(now[kFilled], ir_.CreateZExt(yields, ir_.getInt64Ty()));
  Carried result = {next[0], next[1], next[2], errors, filled};
  if (now.size() > kPatience) {
    result.push_back(ir_.CreateSub(now[kPatience], ir_.getInt32(1)));
    // Of LEFT joins some tuples have no candidate.
    result.push_back(ir_.CreateAdd(now[kLooked], ir_.CreateZExt(ir_.CreateICmpNE(match, none), ir_.getInt64Ty())));
  }
  return result;
}

}  // namespace turbine
