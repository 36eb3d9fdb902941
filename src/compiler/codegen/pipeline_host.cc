/*
 * pipeline_host.cc - emits tb_pipeline for the host, see pipeline.h.
 *
 * Owns the loop over tiles, the order of filters and joins, and the exit if there is no room. Called by
 * pipeline.cc once per compilation. Emitted code must never wait, and looks at the stop flag between tiles.
 */
#include "compiler/codegen/pipeline_host.h"

#include <llvm/IR/Intrinsics.h>

#include <cstddef>

#include "compiler/codegen/late_columns.h"
#include "turbine/kernel.h"

namespace turbine {

using llvm::BasicBlock;
using llvm::Value;

HostPipeline::HostPipeline(ModuleBuilder& builder, const Program& program, const GroupLayout& layout)
    : builder_(builder),
      program_(program),
      ir_(builder.context()),
      rows_(builder, program, ir_),
      accumulators_(rows_, program, layout),
      groups_(rows_, program, layout),
      store_(rows_, program),
      plan_(plan_joins(program)),
      first_filters_(plan_filters(program, plan_.filters[0])),
      full_(rows_, program) {
  for (uint32_t j = 0; j < program.joins().size(); j++) probes_.emplace_back(rows_, program, j);
}

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
  bind();
  Value* first = ir_.CreateZExt(field(ir_.getInt32Ty(), offsetof(TbPipelineArgs, first_row)), ir_.getInt64Ty());
  Value* nrows = ir_.CreateZExt(field(ir_.getInt32Ty(), offsetof(TbPipelineArgs, nrows)), ir_.getInt64Ty());
  ir_.CreateBr(tile);

  ir_.SetInsertPoint(tile);
  llvm::PHINode* start = ir_.CreatePHI(ir_.getInt64Ty(), 2, "start");
  start->addIncoming(first, entry);
  start_ = start;
  ir_.CreateCondBr(ir_.CreateICmpULT(start, nrows), body, done);

  ir_.SetInsertPoint(body);
  emit_tile(ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, ir_.CreateSub(nrows, start), ir_.getInt64(TB_TILE_ROWS)));
  start->addIncoming(ir_.CreateAdd(start, ir_.getInt64(TB_TILE_ROWS)), ir_.GetInsertBlock());
  ir_.CreateBr(tile);

  ir_.SetInsertPoint(done);
  rows_.store(ir_.getInt32(TB_PIPELINE_DONE), args_, offsetof(TbPipelineArgs, status));
  ir_.CreateRetVoid();
}

void HostPipeline::bind() {
  auto pointer = [&](uint64_t offset) { return field(ir_.getPtrTy(), offset); };
  Value* tables = program_.joins().empty() ? nullptr : pointer(offsetof(TbPipelineArgs, tables));
  rows_.bind(pointer(offsetof(TbPipelineArgs, columns)), pointer(offsetof(TbPipelineArgs, bytes)),
             pointer(offsetof(TbPipelineArgs, params)), tables);
  const std::vector<bool> late = late_columns(program_, plan_, fused());
  rows_.bind_codes(late, pointer(offsetof(TbPipelineArgs, codes)));
  emit_late_columns(builder_, late);
  for (JoinProbe& probe : probes_) probe.bind(tables);
  full_.bind(args_, tables);
  if (!program_.joins().empty()) {
    // Where nobody can stop it, a word that stays 0.
    auto* zero = new llvm::GlobalVariable(builder_.module(), ir_.getInt32Ty(), true, llvm::GlobalValue::PrivateLinkage,
                                          ir_.getInt32(0), "never");
    Value* stop = pointer(offsetof(TbPipelineArgs, stop));
    stop_ = ir_.CreateSelect(ir_.CreateIsNull(stop), zero, stop, "stop");
  }
  scratch_ = pointer(offsetof(TbPipelineArgs, scratch));
  mask_ = take_scratch(TB_TILE_ROWS);
  hashes_ = take_scratch(8 * TB_TILE_ROWS);
  groups_of_ = take_words();
  if (program_.sink() == TB_SINK_ROWS) {
    rowids_ = pointer(offsetof(TbPipelineArgs, rowids));
    out_rowids_ = pointer(offsetof(TbPipelineArgs, out_rowids));
  } else if (program_.sink() == TB_SINK_AGGREGATE) {
    table_ = pointer(offsetof(TbPipelineArgs, groups));
    accumulators_.bind(table_);
  }
}

Value* HostPipeline::take_scratch(uint64_t bytes) {
  Value* array = rows_.at(scratch_, scratch_used_);
  scratch_used_ += (bytes + 63) & ~uint64_t{63};
  if (scratch_used_ > TB_SCRATCH_SIZE) throw std::runtime_error("too many joins that fan out");
  return array;
}

TupleBatch HostPipeline::new_batch() {
  TupleBatch b;
  b.selection = take_words();
  b.matches.resize(program_.joins().size());
  return b;
}

void HostPipeline::emit_tile(Value* n) {
  if (fused()) {
    emit_fused_tile(n);
    return;
  }
  TupleBatch b = new_batch();
  b.count = n;
  if (!first_filters_.dense.empty()) emit_dense_filter(b, first_filters_.dense);
  for (uint32_t conjunct : first_filters_.selective) emit_selective_filter(b, {conjunct}, full_.passes_over(0));
  Value* passed = full_.counted_rows(b.count);
  emit_joins(0, b);
  add_to(offsetof(TbPipelineArgs, rows_passed), passed);
}

void HostPipeline::emit_joins(size_t j, TupleBatch b) {
  if (j == program_.joins().size()) {
    emit_sink(b);
    return;
  }
  emit_lookup(j, b);
  if (plan_.expands[j]) {
    emit_expansion(j, b);
    return;
  }
  if (full_.is_full(j)) emit_marks(j, b);
  emit_filters_after(j, b);
  emit_joins(j + 1, b);
}

void HostPipeline::emit_sink(const TupleBatch& b) {
  switch (program_.sink()) {
    case TB_SINK_ROWS: return emit_rows_sink(b);
    case TB_SINK_AGGREGATE: return program_.grouped() ? emit_grouped_sink(b) : emit_ungrouped_sink(b);
    default: return emit_store_sink(b);
  }
}

Value* HostPipeline::begin_tuple(const TupleBatch& b, Value* k, llvm::MDNode* access_group) {
  auto word = [&](Value* words, Value* i) -> Value* {
    llvm::LoadInst* loaded = ir_.CreateLoad(ir_.getInt32Ty(), word_at(words, i));
    if (access_group) loaded->setMetadata(llvm::LLVMContext::MD_access_group, access_group);
    return loaded;
  };
  Value* place = b.places ? ir_.CreateZExt(word(b.places, k), ir_.getInt64Ty()) : k;
  Value* row = b.rows ? ir_.CreateZExt(word(b.rows, place), ir_.getInt64Ty()) : ir_.CreateAdd(start_, place);
  rows_.begin_row(row, access_group);
  for (uint32_t j = 0; j < b.matches.size(); j++)
    if (b.matches[j]) rows_.set_match(j, word(b.matches[j], place));
  return place;
}

void HostPipeline::or_errors(Value* bits) {
  if (!bits) return;
  Value* old = field(ir_.getInt32Ty(), offsetof(TbPipelineArgs, errors));
  rows_.store(ir_.CreateOr(old, bits), args_, offsetof(TbPipelineArgs, errors));
}

void HostPipeline::add_to(uint64_t offset, Value* amount) {
  rows_.store(ir_.CreateAdd(field(amount->getType(), offset), amount), args_, offset);
}

/*
 * if (!enough && args->make_room(args, rows, bytes) == 0) {
 *   args->status = TB_PIPELINE_STOPPED;
 *   return;
 * }
 * What the sink has loaded of its table before is stale after this.
 */
void HostPipeline::emit_room(Value* enough, Value* rows, Value* bytes) {
  llvm::Function* fn = ir_.GetInsertBlock()->getParent();
  auto block = [&](const char* name) { return BasicBlock::Create(builder_.context(), name, fn); };
  BasicBlock *ask = block("room.ask"), *stop = block("room.stop"), *go = block("room");
  ir_.CreateCondBr(enough, go, ask);

  ir_.SetInsertPoint(ask);
  llvm::FunctionType* type = llvm::FunctionType::get(ir_.getInt32Ty(),
                                                     {ir_.getPtrTy(), ir_.getInt64Ty(), ir_.getInt64Ty()}, false);
  Value* callback = field(ir_.getPtrTy(), offsetof(TbPipelineArgs, make_room));
  Value* made = ir_.CreateCall(type, callback, {args_, rows, bytes});
  ir_.CreateCondBr(ir_.CreateICmpNE(made, ir_.getInt32(0)), go, stop);

  ir_.SetInsertPoint(stop);
  rows_.store(ir_.getInt32(TB_PIPELINE_STOPPED), args_, offsetof(TbPipelineArgs, status));
  ir_.CreateRetVoid();

  ir_.SetInsertPoint(go);
}

/*
 * if (*stop) {
 *   args->status = TB_PIPELINE_STOPPED;
 *   return;
 * }
 * where a null `stop` reads as 0.
 */
void HostPipeline::emit_stop_check() {
  llvm::Function* fn = ir_.GetInsertBlock()->getParent();
  auto block = [&](const char* name) { return BasicBlock::Create(builder_.context(), name, fn); };
  BasicBlock *stopped = block("stopped"), *go = block("go");
  llvm::LoadInst* stop = ir_.CreateLoad(ir_.getInt32Ty(), stop_);
  stop->setAtomic(llvm::AtomicOrdering::Monotonic);  // or it would be read once
  ir_.CreateCondBr(ir_.CreateICmpNE(stop, ir_.getInt32(0)), stopped, go);

  ir_.SetInsertPoint(stopped);
  rows_.store(ir_.getInt32(TB_PIPELINE_STOPPED), args_, offsetof(TbPipelineArgs, status));
  ir_.CreateRetVoid();

  ir_.SetInsertPoint(go);
}

/* One pass, later conjuncts where the earlier ones hold. Then the tuples are counted. */
void HostPipeline::emit_filters_after(size_t j, TupleBatch& b) {
  const std::vector<uint32_t>& conjuncts = plan_.filters[j + 1];
  if (!conjuncts.empty()) emit_selective_filter(b, conjuncts, full_.passes_over(j + 1));
  add_to(offsetof(TbPipelineArgs, join_rows) + j * sizeof(uint64_t), full_.counted(j, b.count));
}

/* mask[i] = conjunction(row i), vectorised; then the mask as a list of places. */
void HostPipeline::emit_dense_filter(TupleBatch& b, const std::vector<uint32_t>& conjuncts) {
  LoopOptions options;
  options.parallel_group = new_access_group(rows_);
  Carried end = emit_loop(
      rows_, "filter", ir_.getInt64(0), b.count, {ir_.getInt32(0)},
      [&](Value* i, const Carried& now) -> Carried {
        begin_tuple(b, i, options.parallel_group);
        Value* pass = emit_conjunction(rows_, conjuncts, full_.passes_over(0));
        llvm::StoreInst* store = ir_.CreateStore(ir_.CreateZExt(pass, ir_.getInt8Ty()),
                                                 rows_.index(ir_.getInt8Ty(), mask_, i));
        store->setMetadata(llvm::LLVMContext::MD_access_group, options.parallel_group);
        Value* errors = rows_.take_errors();
        return {errors ? ir_.CreateOr(now[0], errors) : now[0]};
      },
      options);
  or_errors(end[0]);
  select_by_mask(b);
}

/* The places whose mask byte is set, of a batch whose places are all alive. */
void HostPipeline::select_by_mask(TupleBatch& b) {
  Value* n = ir_.CreateTrunc(b.count, ir_.getInt32Ty());
  b.count = ir_.CreateZExt(rows_.call_rt("rt_mask_to_selection", {mask_, n, b.selection}), ir_.getInt64Ty());
  b.places = b.selection;
}

/* Keeps the tuples for which the conjuncts hold; in place. */
void HostPipeline::emit_selective_filter(TupleBatch& b, const std::vector<uint32_t>& conjuncts, Value* passed_over) {
  Carried end = emit_loop(rows_, "select", ir_.getInt64(0), b.count, {ir_.getInt64(0), ir_.getInt32(0)},
                          [&](Value* k, const Carried& now) -> Carried {
                            Value* place = begin_tuple(b, k);
                            Value* pass = emit_conjunction(rows_, conjuncts, passed_over);
                            Value* errors = rows_.take_errors();
                            ir_.CreateStore(ir_.CreateTrunc(place, ir_.getInt32Ty()), word_at(b.selection, now[0]));
                            return {ir_.CreateAdd(now[0], ir_.CreateZExt(pass, ir_.getInt64Ty())),
                                    errors ? ir_.CreateOr(now[1], errors) : now[1]};
                          });
  or_errors(end[1]);
  b.count = end[0];
  b.places = b.selection;
}

void HostPipeline::emit_rows_sink(const TupleBatch& b) {
  Value* nout = ir_.CreateZExt(field(ir_.getInt32Ty(), offsetof(TbPipelineArgs, nout)), ir_.getInt64Ty());
  emit_loop(rows_, "rows", ir_.getInt64(0), b.count, {}, [&](Value* k, const Carried&) -> Carried {
    Value* place = begin_tuple(b, k);
    Value* id = ir_.CreateLoad(ir_.getInt32Ty(), rows_.index(ir_.getInt32Ty(), rowids_, ir_.CreateAdd(start_, place)));
    ir_.CreateStore(id, word_at(out_rowids_, ir_.CreateAdd(nout, k)));
    return {};
  });
  Value* total = ir_.CreateTrunc(ir_.CreateAdd(nout, b.count), ir_.getInt32Ty());
  rows_.store(total, args_, offsetof(TbPipelineArgs, nout));
}

void emit_host_pipeline(ModuleBuilder& builder, const Program& program, const GroupLayout& layout) {
  HostPipeline(builder, program, layout).emit();
}

}  // namespace turbine
