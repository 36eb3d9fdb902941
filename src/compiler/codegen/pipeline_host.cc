/*
 * pipeline_host.cc - emits tb_pipeline for the host, see pipeline.h.
 *
 * Owns the loop over tiles, the filters before the joins, and the order of the steps. Called by pipeline.cc once
 * per compilation. Emitted code must never wait.
 */
#include <llvm/IR/Intrinsics.h>

#include <cstddef>

#include "compiler/codegen/aggregate_sink.h"
#include "compiler/codegen/host_joins.h"
#include "compiler/codegen/late_columns.h"
#include "compiler/codegen/pipeline.h"
#include "compiler/codegen/row_store_sink.h"

namespace turbine {

using llvm::BasicBlock;
using llvm::Value;

namespace {

class HostPipeline {
 public:
  HostPipeline(ModuleBuilder& builder, const Program& program, const GroupLayout& layout);
  void emit();

 private:
  void bind(Value* args);
  void emit_tile(Value* n);
  void emit_dense_filter(TupleBatch& b, const std::vector<uint32_t>& conjuncts);
  void emit_selection(TupleBatch& b, uint32_t conjunct);
  void emit_rows_sink(const TupleBatch& b);

  ModuleBuilder& builder_;
  const Program& program_;
  const JoinPlan plan_;
  const FilterPlan first_filters_;  // those before the first join
  const bool fused_;
  HostTile tile_;
  RowEmitter& rows_;
  llvm::IRBuilder<>& ir_;
  HostJoins joins_;
  AggregateSink aggregates_;
  RowStoreSink store_;
  Value *rowids_ = nullptr, *out_rowids_ = nullptr;
  Value* undecided_ = nullptr;  // uint8 by place: the row is for PostgreSQL to decide; nullptr: none can be
  bool marks_ = false;          // the places that are alive have it
};

HostPipeline::HostPipeline(ModuleBuilder& builder, const Program& program, const GroupLayout& layout)
    : builder_(builder),
      program_(program),
      plan_(plan_joins(program)),
      first_filters_(plan_filters(program, plan_.filters[0])),
      fused_(is_fused(program, first_filters_)),
      tile_(builder, program),
      rows_(tile_.rows()),
      ir_(tile_.ir()),
      joins_(tile_, plan_),
      aggregates_(tile_, layout),
      store_(tile_) {}

/*
 * for (start = args->first_row; start < args->nrows; start += TB_TILE_ROWS) {
 *   n = min(TB_TILE_ROWS, nrows - start); ... the tile ...
 * }
 * args->status = TB_PIPELINE_DONE;
 */
void HostPipeline::emit() {
  llvm::Function* fn = builder_.entry_point("tb_pipeline");
  auto block = [&](const char* name) { return BasicBlock::Create(builder_.context(), name, fn); };
  BasicBlock *entry = block("entry"), *tile = block("tile"), *body = block("tile.body"), *done = block("done");
  // Arguments that stay the same.
  ir_.SetInsertPoint(entry);
  bind(fn->getArg(0));
  Value* first = ir_.CreateZExt(tile_.field(ir_.getInt32Ty(), offsetof(TbPipelineArgs, first_row)), ir_.getInt64Ty());
  Value* nrows = ir_.CreateZExt(tile_.field(ir_.getInt32Ty(), offsetof(TbPipelineArgs, nrows)), ir_.getInt64Ty());
  ir_.CreateBr(tile);

  // Is there another tile?
  ir_.SetInsertPoint(tile);
  llvm::PHINode* start = ir_.CreatePHI(ir_.getInt64Ty(), 2, "start");
  start->addIncoming(first, entry);
  tile_.begin(start);
  ir_.CreateCondBr(ir_.CreateICmpULT(start, nrows), body, done);

  // Its rows go through all steps.
  ir_.SetInsertPoint(body);
  emit_tile(ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, ir_.CreateSub(nrows, start), ir_.getInt64(TB_TILE_ROWS)));
  start->addIncoming(ir_.CreateAdd(start, ir_.getInt64(TB_TILE_ROWS)), ir_.GetInsertBlock());
  ir_.CreateBr(tile);

  // The chunk is done.
  ir_.SetInsertPoint(done);
  tile_.set_field(offsetof(TbPipelineArgs, status), ir_.getInt32(TB_PIPELINE_DONE));
  ir_.CreateRetVoid();
}

void HostPipeline::bind(Value* args) {
  Value* tables = program_.joins().empty() ? nullptr
                                           : rows_.load(ir_.getPtrTy(), args, offsetof(TbPipelineArgs, tables));
  const std::vector<bool> late = late_columns(program_, plan_, fused_);
  tile_.bind_columns(args, tables, late);
  emit_late_columns(builder_, late);
  joins_.bind(args, tables);
  tile_.bind_scratch();
  if (program_.sink() == TB_SINK_ROWS) {
    rowids_ = tile_.field(ir_.getPtrTy(), offsetof(TbPipelineArgs, rowids));
    out_rowids_ = tile_.field(ir_.getPtrTy(), offsetof(TbPipelineArgs, out_rowids));
    for (uint32_t filter : program_.filters())
      if (!undecided_ && leaves_undecided(program_, filter)) undecided_ = tile_.take_scratch(TB_TILE_ROWS);
  } else if (program_.sink() == TB_SINK_AGGREGATE) {
    aggregates_.bind();
  }
}

/* `n`: i64, rows of the tile. */
void HostPipeline::emit_tile(Value* n) {
  if (fused_) {
    aggregates_.emit_fused_tile(n, first_filters_.dense);
    return;
  }
  TupleBatch b = tile_.new_batch();
  b.count = n;

  // Filters before the joins: first all that one vectorised loop can take.
  if (!first_filters_.dense.empty()) emit_dense_filter(b, first_filters_.dense);
  for (uint32_t conjunct : first_filters_.selective) emit_selection(b, conjunct);
  Value* passed = joins_.full().counted_rows(b.count);

  // Joins, and behind the last one the sink.
  joins_.emit(0, b, [&](const TupleBatch& joined) {
    switch (program_.sink()) {
      case TB_SINK_ROWS: return emit_rows_sink(joined);
      case TB_SINK_AGGREGATE: return aggregates_.emit(joined);
      default: return store_.emit(joined);
    }
  });
  tile_.add_to_field(offsetof(TbPipelineArgs, rows_passed), passed);
}

/* mask[i] = conjunction(row i), vectorised; then the mask as a list of places. */
void HostPipeline::emit_dense_filter(TupleBatch& b, const std::vector<uint32_t>& conjuncts) {
  LoopOptions options;
  options.parallel_group = new_access_group(rows_);
  Carried end = emit_loop(
      rows_, "filter", ir_.getInt64(0), b.count, {ir_.getInt32(0)},
      [&](Value* i, const Carried& now) -> Carried {
        tile_.begin_tuple(b, i, options.parallel_group);
        Value* pass = emit_conjunction(rows_, conjuncts, joins_.full().passes_over(0));
        llvm::StoreInst* store = ir_.CreateStore(ir_.CreateZExt(pass, ir_.getInt8Ty()),
                                                 rows_.index(ir_.getInt8Ty(), tile_.mask(), i));
        store->setMetadata(llvm::LLVMContext::MD_access_group, options.parallel_group);
        Value* errors = rows_.take_errors();
        return {errors ? ir_.CreateOr(now[0], errors) : now[0]};
      },
      options);
  tile_.or_errors(end[0]);
  tile_.keep_masked(b);
}

/*
 * keep = conjunct(row);
 * With rows that may be undecided:
 *   if (!undecided[place]) { keep = conjunct(row); undecided[place] = it raised; }
 *   keep |= undecided[place];
 */
void HostPipeline::emit_selection(TupleBatch& b, uint32_t conjunct) {
  Value* passed_over = joins_.full().passes_over(0);
  const bool may_mark = undecided_ && leaves_undecided(program_, conjunct);
  tile_.keep_tuples("select", b, [&]() -> Value* {
    if (!may_mark && !marks_) return emit_conjunction(rows_, {conjunct}, passed_over);
    // Without joins a place is a row of the tile. PostgreSQL evaluates all conjuncts of a row that is undecided.
    Value* mark = rows_.index(ir_.getInt8Ty(), undecided_, ir_.CreateSub(rows_.row(), tile_.start()));
    Value* before = marks_ ? ir_.CreateICmpNE(ir_.CreateLoad(ir_.getInt8Ty(), mark), ir_.getInt8(0)) : nullptr;
    Value* keep = emit_conjunction(rows_, {conjunct}, before);
    if (!may_mark) return keep;
    Value* errors = rows_.take_errors();
    Value* raised = errors ? ir_.CreateICmpNE(errors, ir_.getInt32(0)) : ir_.getFalse();
    Value* undecided = rows_.or_maybe(before, raised);
    ir_.CreateStore(ir_.CreateZExt(undecided, ir_.getInt8Ty()), mark);
    return ir_.CreateOr(keep, undecided);
  });
  marks_ = marks_ || may_mark;
}

void HostPipeline::emit_rows_sink(const TupleBatch& b) {
  Value* nout = ir_.CreateZExt(tile_.field(ir_.getInt32Ty(), offsetof(TbPipelineArgs, nout)), ir_.getInt64Ty());
  emit_loop(rows_, "rows", ir_.getInt64(0), b.count, {}, [&](Value* k, const Carried&) -> Carried {
    Value* place = tile_.begin_tuple(b, k);
    Value* id = ir_.CreateLoad(ir_.getInt32Ty(),
                               rows_.index(ir_.getInt32Ty(), rowids_, ir_.CreateAdd(tile_.start(), place)));
    if (marks_) {
      Value* mark = ir_.CreateLoad(ir_.getInt8Ty(), rows_.index(ir_.getInt8Ty(), undecided_, place));
      id = ir_.CreateOr(id, ir_.CreateShl(ir_.CreateZExt(mark, ir_.getInt32Ty()), TB_ROWID_UNDECIDED_SHIFT));
    }
    ir_.CreateStore(id, tile_.word_at(out_rowids_, ir_.CreateAdd(nout, k)));
    return {};
  });
  Value* total = ir_.CreateTrunc(ir_.CreateAdd(nout, b.count), ir_.getInt32Ty());
  tile_.set_field(offsetof(TbPipelineArgs, nout), total);
}

}  // namespace

void emit_host_pipeline(ModuleBuilder& builder, const Program& program, const GroupLayout& layout) {
  HostPipeline(builder, program, layout).emit();
}

}  // namespace turbine
