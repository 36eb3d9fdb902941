/* pipeline_host.cc - tb_pipeline: tile loops, see pipeline.h. */
#include <llvm/IR/Intrinsics.h>

#include <cstddef>

#include "compiler/codegen/pipeline.h"
#include "turbine/kernel.h"

namespace turbine {

using llvm::BasicBlock;
using llvm::Value;

namespace {

/* The tile's arrays in TbPipelineArgs::scratch. */
constexpr uint64_t kMaskOffset = 0;
constexpr uint64_t kSelectionOffset = kMaskOffset + TB_TILE_ROWS;
constexpr uint64_t kGroupsOffset = kSelectionOffset + 4 * TB_TILE_ROWS;
constexpr uint64_t kHashesOffset = kGroupsOffset + 4 * TB_TILE_ROWS;
static_assert(kHashesOffset + 8 * TB_TILE_ROWS <= TB_SCRATCH_SIZE);

class HostPipeline {
 public:
  HostPipeline(ModuleBuilder& builder, const Program& program, const GroupLayout& layout)
      : builder_(builder), program_(program), ir_(builder.context()), rows_(builder, program, ir_),
        accumulators_(rows_, program, layout), groups_(rows_, program, layout), plan_(plan_filters(program)) {}

  void emit();

 private:
  /* Rows of the tile that the sink sees: all, or those in the selection. */
  struct Selection {
    Value* rows = nullptr;   // uint32 indexes in the tile; nullptr: all
    Value* count = nullptr;  // i64
  };
  Value* row_of(const Selection& s, Value* k);
  Value* field(llvm::Type* type, uint64_t offset) { return rows_.load(type, args_, offset); }
  Value* scratch(uint64_t offset) { return rows_.at(scratch_, offset); }
  void or_errors(Value* bits);
  void add_to(uint64_t offset, Value* amount);

  bool fused() const;
  void emit_fused_tile(Value* n);
  Selection emit_selection(Value* n);
  Value* emit_dense_filter(Value* n);
  Selection emit_selective_filter(const Selection& in, uint32_t conjunct);
  void emit_rows_sink(const Selection& s);
  void emit_ungrouped_sink(const Selection& s);
  void emit_grouped_sink(const Selection& s);
  void emit_room_check(const Selection& s);
  void emit_sizes(const Selection& s);
  void emit_hashes(const Selection& s);
  void emit_groups(const Selection& s);
  void emit_apply(const Selection& s);

  ModuleBuilder& builder_;
  const Program& program_;
  llvm::IRBuilder<> ir_;
  RowEmitter rows_;
  Accumulators accumulators_;
  GroupTableEmitter groups_;
  FilterPlan plan_;
  Value *args_ = nullptr, *scratch_ = nullptr, *table_ = nullptr, *start_ = nullptr, *arena_wanted_ = nullptr;
  Value *rowids_ = nullptr, *out_rowids_ = nullptr;
};

/*
 * for (start = args->first_row; start < args->nrows; start += TB_TILE_ROWS) {
 *   n = min(TB_TILE_ROWS, nrows - start); ... the tile ...
 * }
 * args->status = TB_PIPELINE_DONE;
 */
void HostPipeline::emit() {
  llvm::Function* fn = builder_.entry_point("tb_pipeline");
  args_ = fn->getArg(0);
  auto block = [&](const char* name) { return BasicBlock::Create(builder_.context(), name, fn); };
  BasicBlock *entry = block("entry"), *tile = block("tile"), *body = block("tile.body"), *done = block("done");
  ir_.SetInsertPoint(entry);
  rows_.bind(field(ir_.getPtrTy(), offsetof(TbPipelineArgs, columns)),
             field(ir_.getPtrTy(), offsetof(TbPipelineArgs, bytes)),
             field(ir_.getPtrTy(), offsetof(TbPipelineArgs, params)));
  scratch_ = field(ir_.getPtrTy(), offsetof(TbPipelineArgs, scratch));
  rowids_ = field(ir_.getPtrTy(), offsetof(TbPipelineArgs, rowids));
  out_rowids_ = field(ir_.getPtrTy(), offsetof(TbPipelineArgs, out_rowids));
  if (program_.sink() == TB_SINK_AGGREGATE) {
    table_ = field(ir_.getPtrTy(), offsetof(TbPipelineArgs, groups));
    groups_.bind(table_);
    accumulators_.bind(table_);
  }
  Value* first = ir_.CreateZExt(field(ir_.getInt32Ty(), offsetof(TbPipelineArgs, first_row)), ir_.getInt64Ty());
  Value* nrows = ir_.CreateZExt(field(ir_.getInt32Ty(), offsetof(TbPipelineArgs, nrows)), ir_.getInt64Ty());
  ir_.CreateBr(tile);

  ir_.SetInsertPoint(tile);
  llvm::PHINode* start = ir_.CreatePHI(ir_.getInt64Ty(), 2, "start");
  start->addIncoming(first, entry);
  start_ = start;
  ir_.CreateCondBr(ir_.CreateICmpULT(start, nrows), body, done);

  ir_.SetInsertPoint(body);
  Value* n = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, ir_.CreateSub(nrows, start), ir_.getInt64(TB_TILE_ROWS));
  if (fused()) {
    emit_fused_tile(n);
  } else {
    const Selection selection = emit_selection(n);
    if (program_.sink() == TB_SINK_ROWS)
      emit_rows_sink(selection);
    else if (program_.grouped())
      emit_grouped_sink(selection);
    else
      emit_ungrouped_sink(selection);
    add_to(offsetof(TbPipelineArgs, rows_passed), selection.count);
  }
  start->addIncoming(ir_.CreateAdd(start, ir_.getInt64(TB_TILE_ROWS)), ir_.GetInsertBlock());
  ir_.CreateBr(tile);

  ir_.SetInsertPoint(done);
  rows_.store(ir_.getInt32(TB_PIPELINE_DONE), args_, offsetof(TbPipelineArgs, status));
  rows_.store(ir_.CreateTrunc(nrows, ir_.getInt32Ty()), args_, offsetof(TbPipelineArgs, first_row));
  ir_.CreateRetVoid();
}

Value* HostPipeline::row_of(const Selection& s, Value* k) {
  if (!s.rows) return ir_.CreateAdd(start_, k);
  Value* i = ir_.CreateLoad(ir_.getInt32Ty(), rows_.index(ir_.getInt32Ty(), s.rows, k));
  return ir_.CreateAdd(start_, ir_.CreateZExt(i, ir_.getInt64Ty()));
}

void HostPipeline::or_errors(Value* bits) {
  if (!bits) return;
  Value* old = field(ir_.getInt32Ty(), offsetof(TbPipelineArgs, errors));
  rows_.store(ir_.CreateOr(old, bits), args_, offsetof(TbPipelineArgs, errors));
}

void HostPipeline::add_to(uint64_t offset, Value* amount) {
  rows_.store(ir_.CreateAdd(field(amount->getType(), offset), amount), args_, offset);
}

bool HostPipeline::fused() const {
  if (program_.sink() != TB_SINK_AGGREGATE || program_.grouped() || !plan_.selective.empty()) return false;
  for (const TbAgg& agg : program_.aggs()) {
    if (agg.arg != TB_NONE && !is_dense(program_, agg.arg)) return false;
    if (agg.filter != TB_NONE && !is_dense(program_, agg.filter)) return false;
  }
  return true;
}

/* One branch-free loop: filter and aggregates. */
void HostPipeline::emit_fused_tile(Value* n) {
  Carried init = accumulators_.init();
  init.push_back(ir_.getInt64(0));  // rows passed
  Carried end = emit_loop(rows_, "fused", start_, ir_.CreateAdd(start_, n), init, [&](Value* row, const Carried& now) {
    rows_.begin_row(row);
    Value* pass = emit_conjunction(rows_, plan_.dense);
    Value* filter_errors = rows_.take_errors();
    Carried states(now.begin(), now.end() - 1);
    Carried next = accumulators_.step(states, pass);
    if (filter_errors) next.back() = ir_.CreateOr(next.back(), filter_errors);
    next.push_back(ir_.CreateAdd(now.back(), pass ? ir_.CreateZExt(pass, ir_.getInt64Ty()) : ir_.getInt64(1)));
    return next;
  });
  add_to(offsetof(TbPipelineArgs, rows_passed), end.pop_back_val());
  or_errors(accumulators_.fold(end, rows_.load(ir_.getPtrTy(), table_, offsetof(TbGroupTable, rows))));
}

HostPipeline::Selection HostPipeline::emit_selection(Value* n) {
  Selection selection;
  selection.count = n;
  if (!plan_.dense.empty()) {
    selection.count = emit_dense_filter(n);
    selection.rows = scratch(kSelectionOffset);
  }
  for (uint32_t conjunct : plan_.selective) selection = emit_selective_filter(selection, conjunct);
  return selection;
}

/* mask[i] = conjunction(row i), vectorised; then the mask as a selection. */
Value* HostPipeline::emit_dense_filter(Value* n) {
  Value* mask = scratch(kMaskOffset);
  LoopOptions options;
  options.parallel_group = new_access_group(rows_);
  Carried end = emit_loop(
      rows_, "filter", ir_.getInt64(0), n, {ir_.getInt32(0)},
      [&](Value* i, const Carried& now) -> Carried {
        rows_.begin_row(ir_.CreateAdd(start_, i), options.parallel_group);
        Value* pass = emit_conjunction(rows_, plan_.dense);
        llvm::StoreInst* store =
            ir_.CreateStore(ir_.CreateZExt(pass, ir_.getInt8Ty()), rows_.index(ir_.getInt8Ty(), mask, i));
        store->setMetadata(llvm::LLVMContext::MD_access_group, options.parallel_group);
        Value* errors = rows_.take_errors();
        return {errors ? ir_.CreateOr(now[0], errors) : now[0]};
      },
      options);
  or_errors(end[0]);
  Value* count = rows_.call_rt("rt_mask_to_selection",
                               {mask, ir_.CreateTrunc(n, ir_.getInt32Ty()), scratch(kSelectionOffset)});
  return ir_.CreateZExt(count, ir_.getInt64Ty());
}

/* Keeps the selected rows for which the conjunct holds; in place. */
HostPipeline::Selection HostPipeline::emit_selective_filter(const Selection& in, uint32_t conjunct) {
  Selection out;
  out.rows = scratch(kSelectionOffset);
  Carried end = emit_loop(rows_, "select", ir_.getInt64(0), in.count, {ir_.getInt64(0), ir_.getInt32(0)},
                          [&](Value* k, const Carried& now) -> Carried {
                            Value* row = row_of(in, k);
                            rows_.begin_row(row);
                            Value* pass = emit_conjunction(rows_, {conjunct});
                            Value* errors = rows_.take_errors();
                            Value* i = ir_.CreateTrunc(ir_.CreateSub(row, start_), ir_.getInt32Ty());
                            ir_.CreateStore(i, rows_.index(ir_.getInt32Ty(), out.rows, now[0]));
                            return {ir_.CreateAdd(now[0], ir_.CreateZExt(pass, ir_.getInt64Ty())),
                                    errors ? ir_.CreateOr(now[1], errors) : now[1]};
                          });
  or_errors(end[1]);
  out.count = end[0];
  return out;
}

void HostPipeline::emit_rows_sink(const Selection& s) {
  Value* nout = ir_.CreateZExt(field(ir_.getInt32Ty(), offsetof(TbPipelineArgs, nout)), ir_.getInt64Ty());
  emit_loop(rows_, "rows", ir_.getInt64(0), s.count, {}, [&](Value* k, const Carried&) -> Carried {
    Value* id = ir_.CreateLoad(ir_.getInt32Ty(), rows_.index(ir_.getInt32Ty(), rowids_, row_of(s, k)));
    ir_.CreateStore(id, rows_.index(ir_.getInt32Ty(), out_rowids_, ir_.CreateAdd(nout, k)));
    return {};
  });
  Value* total = ir_.CreateTrunc(ir_.CreateAdd(nout, s.count), ir_.getInt32Ty());
  rows_.store(total, args_, offsetof(TbPipelineArgs, nout));
}

void HostPipeline::emit_ungrouped_sink(const Selection& s) {
  if (accumulators_.has_text_states()) {
    emit_sizes(s);
    emit_room_check(s);
  }
  Carried end = emit_loop(rows_, "aggregate", ir_.getInt64(0), s.count, accumulators_.init(),
                          [&](Value* k, const Carried& now) {
                            rows_.begin_row(row_of(s, k));
                            return accumulators_.step(now, nullptr);
                          });
  or_errors(accumulators_.fold(end, rows_.load(ir_.getPtrTy(), table_, offsetof(TbGroupTable, rows))));
}

/*
 * Hashes first, with the slots prefetched; then, if there is room for a tile of
 * new groups, find or insert (reserve); then combine the rows (apply). Where
 * there is no room, nothing of the tile has been applied and the caller grows
 * the table.
 */
void HostPipeline::emit_grouped_sink(const Selection& s) {
  emit_hashes(s);
  emit_room_check(s);
  emit_groups(s);
  emit_apply(s);
}

void HostPipeline::emit_room_check(const Selection& s) {
  auto table_field = [&](uint64_t offset) { return rows_.load(ir_.getInt64Ty(), table_, offset); };
  Value* room = ir_.getTrue();
  if (program_.grouped()) {
    Value* groups_after = ir_.CreateAdd(table_field(offsetof(TbGroupTable, ngroups)), s.count);
    room = ir_.CreateICmpULE(groups_after, table_field(offsetof(TbGroupTable, group_capacity)));
  }
  Value* bytes_after = ir_.CreateAdd(table_field(offsetof(TbGroupTable, arena_used)), arena_wanted_);
  room = ir_.CreateAnd(room, ir_.CreateICmpULE(bytes_after, table_field(offsetof(TbGroupTable, arena_capacity))));
  llvm::Function* fn = ir_.GetInsertBlock()->getParent();
  BasicBlock* grow = BasicBlock::Create(builder_.context(), "grow", fn);
  BasicBlock* reserve = BasicBlock::Create(builder_.context(), "reserve", fn);
  ir_.CreateCondBr(room, reserve, grow);

  ir_.SetInsertPoint(grow);
  rows_.store(ir_.getInt32(TB_PIPELINE_GROW), args_, offsetof(TbPipelineArgs, status));
  rows_.store(ir_.CreateTrunc(start_, ir_.getInt32Ty()), args_, offsetof(TbPipelineArgs, first_row));
  rows_.store(arena_wanted_, args_, offsetof(TbPipelineArgs, arena_needed));
  ir_.CreateRetVoid();

  ir_.SetInsertPoint(reserve);
}

/* Ungrouped, with text states: the arena bytes that the tile may need. */
void HostPipeline::emit_sizes(const Selection& s) {
  Carried end = emit_loop(rows_, "sizes", ir_.getInt64(0), s.count, {ir_.getInt64(0)},
                          [&](Value* k, const Carried& now) -> Carried {
                            rows_.begin_row(row_of(s, k));
                            return {ir_.CreateAdd(now[0], accumulators_.text_state_bytes(nullptr))};
                          });
  arena_wanted_ = end[0];
}

void HostPipeline::emit_hashes(const Selection& s) {
  Carried end = emit_loop(rows_, "hash", ir_.getInt64(0), s.count, {ir_.getInt64(0), ir_.getInt32(0)},
                          [&](Value* k, const Carried& now) -> Carried {
                            rows_.begin_row(row_of(s, k));
                            groups_.eval_keys(nullptr);
                            Value* errors = rows_.take_errors();
                            Value* hash = groups_.hash();
                            ir_.CreateStore(hash, rows_.index(ir_.getInt64Ty(), scratch(kHashesOffset), k));
                            ir_.CreateIntrinsic(llvm::Intrinsic::prefetch, {ir_.getPtrTy()},
                                                {groups_.slot_pointer(hash), ir_.getInt32(0), ir_.getInt32(3),
                                                 ir_.getInt32(1)});
                            Value* bytes = groups_.text_bytes();
                            if (accumulators_.has_text_states()) {
                              Value* states = accumulators_.text_state_bytes(nullptr);
                              bytes = bytes ? ir_.CreateAdd(bytes, states) : states;
                            }
                            return {bytes ? ir_.CreateAdd(now[0], bytes) : now[0],
                                    errors ? ir_.CreateOr(now[1], errors) : now[1]};
                          });
  arena_wanted_ = end[0];
  or_errors(end[1]);
}

void HostPipeline::emit_groups(const Selection& s) {
  emit_loop(rows_, "reserve", ir_.getInt64(0), s.count, {}, [&](Value* k, const Carried&) -> Carried {
    rows_.begin_row(row_of(s, k));
    groups_.eval_keys(nullptr);
    Value* hash = ir_.CreateLoad(ir_.getInt64Ty(), rows_.index(ir_.getInt64Ty(), scratch(kHashesOffset), k));
    Value* group = groups_.find_or_insert(hash);
    ir_.CreateStore(group, rows_.index(ir_.getInt32Ty(), scratch(kGroupsOffset), k));
    return {};
  });
}

void HostPipeline::emit_apply(const Selection& s) {
  Carried end = emit_loop(rows_, "apply", ir_.getInt64(0), s.count, {ir_.getInt32(0)},
                          [&](Value* k, const Carried& now) -> Carried {
                            Value* group = ir_.CreateLoad(
                                ir_.getInt32Ty(), rows_.index(ir_.getInt32Ty(), scratch(kGroupsOffset), k));
                            Value* group_row = groups_.row(group);
                            rows_.begin_row(row_of(s, k));
                            Value* errors = now[0];
                            for (size_t i = 0; i < program_.aggs().size(); i++) {
                              Value* bits = accumulators_.apply(i, accumulators_.input(i, nullptr), group_row);
                              if (bits) errors = ir_.CreateOr(errors, bits);
                            }
                            Value* row_errors = rows_.take_errors();
                            return {row_errors ? ir_.CreateOr(errors, row_errors) : errors};
                          });
  or_errors(end[0]);
}

}  // namespace

void emit_host_pipeline(ModuleBuilder& builder, const Program& program, const GroupLayout& layout) {
  HostPipeline(builder, program, layout).emit();
}

}  // namespace turbine
