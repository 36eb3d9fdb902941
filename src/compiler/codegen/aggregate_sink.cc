/*
 * aggregate_sink.cc - the sink AGGREGATE of the host's tb_pipeline.
 *
 * Ungrouped programs add to one row of states. Grouped programs first reserve all groups of a tile, which may
 * fail. Then they apply, which cannot fail. Called by pipeline_host.cc once per compilation. The emitted code
 * runs for each tile, and must never add to a state before every group of the tile has its place.
 */
#include "compiler/codegen/aggregate_sink.h"

#include <llvm/IR/Intrinsics.h>

#include <cstddef>

namespace turbine {

using llvm::Value;

namespace {

/* A key that costs more is computed once for each tuple, in integer comparisons; others again where they are used. */
constexpr uint32_t kKeepCost = 64;

}  // namespace

bool is_fused(const Program& program, const FilterPlan& filters) {
  if (program.sink() != TB_SINK_AGGREGATE || program.grouped()) return false;
  if (!program.joins().empty() || !filters.selective.empty()) return false;
  for (const TbAgg& agg : program.aggs()) {
    if (agg.arg != TB_NONE && !is_dense(program, agg.arg)) return false;
    if (agg.filter != TB_NONE && !is_dense(program, agg.filter)) return false;
  }
  return true;
}

AggregateSink::AggregateSink(HostTile& tile, const GroupLayout& layout)
    : tile_(tile),
      program_(tile.program()),
      rows_(tile.rows()),
      ir_(tile.ir()),
      accumulators_(rows_, program_, layout),
      groups_(rows_, program_, layout) {}

void AggregateSink::bind() {
  table_ = tile_.field(ir_.getPtrTy(), offsetof(TbPipelineArgs, groups));
  accumulators_.bind(table_);
  if (rows_.notes_groups()) unknown_ = tile_.take_words();
  for (uint32_t key : program_.keys()) {
    const TbExpr& e = program_.expr(key);
    const bool keep = e.cost > kKeepCost && !tb_type_is_text(e.type) && tb_type_width(e.type) <= sizeof(uint64_t);
    kept_.push_back({});
    if (!keep) continue;
    kept_.back().values = tile_.take_scratch(sizeof(uint64_t) * TB_TILE_ROWS);
    kept_.back().nulls = tile_.take_scratch(TB_TILE_ROWS);
  }
}

/* Puts the keys that are evaluated aside, as those of tuple k. */
void AggregateSink::keep_keys(Value* k) {
  for (size_t i = 0; i < kept_.size(); i++) {
    if (!kept_[i].values) continue;
    const RowValue& key = groups_.keys()[i];
    llvm::Type* type = rows_.memory_type(program_.expr(program_.keys()[i]).type);
    Value* stored = key.value->getType() == type ? key.value : ir_.CreateZExt(key.value, type);
    ir_.CreateStore(stored, rows_.index(ir_.getInt64Ty(), kept_[i].values, k));
    Value* null = key.null ? ir_.CreateZExt(key.null, ir_.getInt8Ty()) : ir_.getInt8(0);
    ir_.CreateStore(null, rows_.index(ir_.getInt8Ty(), kept_[i].nulls, k));
  }
}

/* The keys of tuple k: as they were kept, or evaluated again. */
void AggregateSink::load_keys(Value* k) {
  llvm::SmallVector<RowValue, 4> keys;
  for (size_t i = 0; i < kept_.size(); i++) {
    const uint32_t expr = program_.keys()[i];
    const TbExpr& e = program_.expr(expr);
    if (!kept_[i].values) {
      keys.push_back(rows_.eval(expr, nullptr));
      continue;
    }
    RowValue key;
    key.value = ir_.CreateLoad(rows_.memory_type(e.type), rows_.index(ir_.getInt64Ty(), kept_[i].values, k));
    if (e.type == TB_TYPE_BOOL) key.value = ir_.CreateICmpNE(key.value, ir_.getInt8(0));
    if (e.flags & TB_EX_NULLABLE) {
      Value* null = ir_.CreateLoad(ir_.getInt8Ty(), rows_.index(ir_.getInt8Ty(), kept_[i].nulls, k));
      key.null = ir_.CreateICmpNE(null, ir_.getInt8(0));
    }
    keys.push_back(key);
  }
  groups_.set_keys(keys);
}

/* Tuples whose entry of a dictionary has come here before add nothing, if the sink says so. */
TupleBatch AggregateSink::of_new_entries(const TupleBatch& b) {
  TupleBatch fresh = b;
  if (rows_.notes_entries()) tile_.keep_tuples("unseen", fresh, [&] { return rows_.note_entry(); });
  return fresh;
}

void AggregateSink::emit(const TupleBatch& b) {
  program_.grouped() ? emit_grouped(of_new_entries(b)) : emit_ungrouped(of_new_entries(b));
}

/* One branch-free loop: filter and aggregates. */
void AggregateSink::emit_fused_tile(Value* n, const std::vector<uint32_t>& conjuncts) {
  Carried init = accumulators_.init();
  init.push_back(ir_.getInt64(0));  // rows passed
  Carried end = emit_loop(
      rows_, "fused", tile_.start(), ir_.CreateAdd(tile_.start(), n), init, [&](Value* row, const Carried& now) {
        rows_.begin_row(row);
        Value* pass = emit_conjunction(rows_, conjuncts);
        Value* filter_errors = rows_.take_errors();
        Carried states(now.begin(), now.end() - 1);
        Carried next = accumulators_.step(states, pass);
        if (filter_errors) next.back() = ir_.CreateOr(next.back(), filter_errors);
        next.push_back(ir_.CreateAdd(now.back(), pass ? ir_.CreateZExt(pass, ir_.getInt64Ty()) : ir_.getInt64(1)));
        return next;
      });
  tile_.add_to_field(offsetof(TbPipelineArgs, rows_passed), end.pop_back_val());
  tile_.or_errors(accumulators_.fold(end, rows_.load(ir_.getPtrTy(), table_, offsetof(TbGroupTable, rows))));
}

void AggregateSink::emit_ungrouped(const TupleBatch& b) {
  if (accumulators_.has_text_states()) emit_group_room(b, emit_state_sizes(b));
  Carried end = emit_loop(rows_, "aggregate", ir_.getInt64(0), b.count, accumulators_.init(),
                          [&](Value* k, const Carried& now) {
                            tile_.begin_tuple(b, k);
                            return accumulators_.step(now, nullptr);
                          });
  tile_.or_errors(accumulators_.fold(end, rows_.load(ir_.getPtrTy(), table_, offsetof(TbGroupTable, rows))));
}

/*
 * Groups that are known by their entry of a dictionary need no look-up. For the other tuples: hashes first, with the
 * buckets prefetched; then, once there is room for a batch of new groups, find or insert (reserve). Then combine all
 * tuples (apply).
 */
void AggregateSink::emit_grouped(const TupleBatch& b) {
  groups_.bind(table_);
  const TupleBatch unknown = unknown_ ? of_unknown_groups(b) : b;
  Value* bytes = emit_group_hashes(unknown);
  if (unknown_ && accumulators_.has_text_states()) bytes = ir_.CreateAdd(bytes, emit_state_sizes(b));
  emit_group_room(unknown, bytes);
  groups_.bind(table_);
  emit_prefetches(unknown);
  emit_reserve(unknown);
  emit_apply(b);
}

/* groups[place] = the entry's group, which is on its way to the cache; the others make up a list of their own. */
TupleBatch AggregateSink::of_unknown_groups(const TupleBatch& b) {
  TupleBatch unknown = b;
  unknown.selection = unknown.places = unknown_;
  unknown.count = emit_loop(
      rows_, "known", ir_.getInt64(0), b.count, {ir_.getInt64(0)}, [&](Value* k, const Carried& now) -> Carried {
        Value* place = tile_.begin_tuple(b, k);
        Value* noted = rows_.noted_group();
        Value* group = ir_.CreateSub(noted, ir_.getInt32(1));
        ir_.CreateStore(group, tile_.word_at(tile_.words(), place));
        Value* is_unknown = ir_.CreateIsNull(noted);
        Value* row = groups_.row(ir_.CreateSelect(is_unknown, ir_.getInt32(0), group));
        ir_.CreateIntrinsic(llvm::Intrinsic::prefetch, {ir_.getPtrTy()},
                            {row, ir_.getInt32(1), ir_.getInt32(3), ir_.getInt32(1)});
        ir_.CreateStore(ir_.CreateTrunc(place, ir_.getInt32Ty()), tile_.word_at(unknown_, now[0]));
        return {ir_.CreateAdd(now[0], ir_.CreateZExt(is_unknown, ir_.getInt64Ty()))};
      })[0];
  return unknown;
}

void AggregateSink::emit_group_room(const TupleBatch& b, Value* bytes) {
  auto table_field = [&](uint64_t offset) { return rows_.load(ir_.getInt64Ty(), table_, offset); };
  Value* bytes_after = ir_.CreateAdd(table_field(offsetof(TbGroupTable, arena_used)), bytes);
  Value* room = ir_.CreateICmpULE(bytes_after, table_field(offsetof(TbGroupTable, arena_capacity)));
  Value* groups = ir_.getInt64(0);
  if (program_.grouped()) {
    groups = b.count;
    Value* groups_after = ir_.CreateAdd(table_field(offsetof(TbGroupTable, ngroups)), groups);
    room = ir_.CreateAnd(room, ir_.CreateICmpULE(groups_after, table_field(offsetof(TbGroupTable, group_capacity))));
  }
  tile_.emit_room(room, groups, bytes);
}

/* With text states: the arena bytes that they may need for the batch. */
Value* AggregateSink::emit_state_sizes(const TupleBatch& b) {
  Carried end = emit_loop(rows_, "sizes", ir_.getInt64(0), b.count, {ir_.getInt64(0)},
                          [&](Value* k, const Carried& now) -> Carried {
                            tile_.begin_tuple(b, k);
                            return {ir_.CreateAdd(now[0], accumulators_.text_state_bytes(nullptr))};
                          });
  return end[0];
}

/* Returns the arena bytes that the batch may need, for text states as well if they are those of this batch alone. */
Value* AggregateSink::emit_group_hashes(const TupleBatch& b) {
  Carried end = emit_loop(rows_, "hash", ir_.getInt64(0), b.count, {ir_.getInt64(0), ir_.getInt32(0)},
                          [&](Value* k, const Carried& now) -> Carried {
                            tile_.begin_tuple(b, k);
                            groups_.eval_keys(nullptr);
                            keep_keys(k);
                            Value* errors = rows_.take_errors();
                            Value* hash = groups_.hash();
                            ir_.CreateStore(hash, rows_.index(ir_.getInt64Ty(), tile_.hashes(), k));
                            groups_.prefetch(groups_.bucket_pointer(hash));
                            Value* bytes = groups_.text_bytes();
                            if (!unknown_ && accumulators_.has_text_states()) {
                              Value* states = accumulators_.text_state_bytes(nullptr);
                              bytes = bytes ? ir_.CreateAdd(bytes, states) : states;
                            }
                            return {bytes ? ir_.CreateAdd(now[0], bytes) : now[0],
                                    errors ? ir_.CreateOr(now[1], errors) : now[1]};
                          });
  tile_.or_errors(end[1]);
  return end[0];
}

/* Of a table that no cache holds, asks for the rows that the buckets name, then for the texts that these rows name. */
void AggregateSink::emit_prefetches(const TupleBatch& b) {
  auto for_hashes = [&](const char* name, llvm::function_ref<void(Value*)> ask) {
    emit_loop(rows_, name, ir_.getInt64(0), b.count, {}, [&](Value* k, const Carried&) -> Carried {
      ask(ir_.CreateLoad(ir_.getInt64Ty(), rows_.index(ir_.getInt64Ty(), tile_.hashes(), k)));
      return {};
    });
  };
  emit_if(rows_, "large", groups_.is_large(), {}, [&]() -> Carried {
    for_hashes("rows", [&](Value* hash) { groups_.prefetch_row(hash); });
    if (groups_.has_text_keys()) for_hashes("texts", [&](Value* hash) { groups_.prefetch_text(hash); });
    return {};
  });
}

void AggregateSink::emit_reserve(const TupleBatch& b) {
  emit_loop(rows_, "reserve", ir_.getInt64(0), b.count, {}, [&](Value* k, const Carried&) -> Carried {
    Value* place = tile_.begin_tuple(b, k);
    load_keys(k);
    Value* hash = ir_.CreateLoad(ir_.getInt64Ty(), rows_.index(ir_.getInt64Ty(), tile_.hashes(), k));
    Value* group = groups_.find_or_insert(hash);
    ir_.CreateStore(group, tile_.word_at(tile_.words(), place));
    if (unknown_) rows_.note_group(group);
    return {};
  });
}

void AggregateSink::emit_apply(const TupleBatch& b) {
  Carried end = emit_loop(rows_, "apply", ir_.getInt64(0), b.count, {ir_.getInt32(0)},
                          [&](Value* k, const Carried& now) -> Carried {
                            Value* place = tile_.begin_tuple(b, k);
                            Value* group = ir_.CreateLoad(ir_.getInt32Ty(), tile_.word_at(tile_.words(), place));
                            Value* group_row = groups_.row(group);
                            Value* errors = now[0];
                            for (size_t i = 0; i < program_.aggs().size(); i++) {
                              Value* bits = accumulators_.apply(i, accumulators_.input(i, nullptr), group_row);
                              if (bits) errors = ir_.CreateOr(errors, bits);
                            }
                            Value* row_errors = rows_.take_errors();
                            return {row_errors ? ir_.CreateOr(errors, row_errors) : errors};
                          });
  tile_.or_errors(end[0]);
}

}  // namespace turbine
