/* pipeline_gpu.cc - the GPU's kernels of a pipeline, see pipeline.h. */
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <cstddef>

#include "compiler/codegen/pipeline.h"
#include "turbine/kernel.h"

namespace turbine {

using llvm::BasicBlock;
using llvm::Value;

namespace {

/* One kernel: entry, grid-stride loop over the chunk's rows, epilogue. */
class Kernel {
 public:
  Kernel(ModuleBuilder& builder, const Program& program, const GroupLayout& layout, const char* name)
      : program_(program), ir_(builder.context()), rows_(builder, program, ir_),
        accumulators_(rows_, program, layout), groups_(rows_, program, layout) {
    llvm::Function* fn = builder.entry_point(name);
    args_ = fn->getArg(0);
    ir_.SetInsertPoint(BasicBlock::Create(builder.context(), "entry", fn));
    rows_.bind(field(ir_.getPtrTy(), offsetof(TbPipelineArgs, columns)),
               field(ir_.getPtrTy(), offsetof(TbPipelineArgs, bytes)),
               field(ir_.getPtrTy(), offsetof(TbPipelineArgs, params)));
    if (program.sink() == TB_SINK_AGGREGATE) {
      table_ = field(ir_.getPtrTy(), offsetof(TbPipelineArgs, groups));
      groups_.bind(table_);
    }
    nrows_ = ir_.CreateZExt(field(ir_.getInt32Ty(), offsetof(TbPipelineArgs, nrows)), ir_.getInt64Ty());
  }

  void emit_rows();
  void emit_reserve();
  void emit_apply();
  void emit_reduce();

 private:
  Value* field(llvm::Type* type, uint64_t offset) { return rows_.load(type, args_, offset); }
  Value* special(llvm::Intrinsic::ID id) { return ir_.CreateZExt(ir_.CreateIntrinsic(id, {}, {}), ir_.getInt64Ty()); }
  Carried grid_loop(const Carried& init, llvm::function_ref<Carried(Value*, const Carried&)> body);
  Carried filtered(size_t conjunct, const Carried& init, llvm::function_ref<Carried()> body);
  void finish(Value* errors, Value* rows_passed);
  Value* state_row() { return rows_.load(ir_.getPtrTy(), table_, offsetof(TbGroupTable, rows)); }

  const Program& program_;
  llvm::IRBuilder<> ir_;
  RowEmitter rows_;
  Accumulators accumulators_;
  GroupTableEmitter groups_;
  Value *args_ = nullptr, *table_ = nullptr, *nrows_ = nullptr;
};

Carried Kernel::grid_loop(const Carried& init, llvm::function_ref<Carried(Value*, const Carried&)> body) {
  Value* block = special(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x);
  Value* size = special(llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x);
  Value* blocks = special(llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x);
  Value* thread = special(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x);
  LoopOptions options;
  options.step = ir_.CreateMul(size, blocks);
  Value* first = ir_.CreateAdd(ir_.CreateMul(block, size), thread);
  return emit_loop(rows_, "grid", first, nrows_, init, [&](Value* row, const Carried& now) {
    rows_.begin_row(row);
    return body(row, now);
  }, options);
}

/*
 * if (conjunct) if (next conjunct) ... body. The last carried value holds
 * TB_ERR_* bits; those of a conjunct are kept whether it holds or not.
 */
Carried Kernel::filtered(size_t conjunct, const Carried& init, llvm::function_ref<Carried()> body) {
  if (conjunct == program_.filters().size()) return body();
  Value* pass = rows_.truth(rows_.eval(program_.filters()[conjunct], nullptr));
  Value* errors = rows_.take_errors();
  Carried out = emit_if(rows_, "filter", pass, init, [&] { return filtered(conjunct + 1, init, body); });
  if (errors) out.back() = ir_.CreateOr(out.back(), errors);
  return out;
}

/* All threads arrive here, warps whole. */
void Kernel::finish(Value* errors, Value* rows_passed) {
  if (rows_passed)
    rows_.call_rt("rt_warp_sum_u64", {rows_.at(args_, offsetof(TbPipelineArgs, rows_passed)), rows_passed});
  rows_.call_rt("rt_state_or_u32", {rows_.at(args_, offsetof(TbPipelineArgs, errors)), errors});
  ir_.CreateRetVoid();
}

/* Appends the ids of the rows that pass, in any order. */
void Kernel::emit_rows() {
  Value* rowids = field(ir_.getPtrTy(), offsetof(TbPipelineArgs, rowids));
  Value* out = field(ir_.getPtrTy(), offsetof(TbPipelineArgs, out_rowids));
  Value* counter = rows_.at(args_, offsetof(TbPipelineArgs, nout));
  Carried end = grid_loop({ir_.getInt64(0), ir_.getInt32(0)}, [&](Value* row, const Carried& now) {
    return filtered(0, now, [&]() -> Carried {
      Value* at = ir_.CreateZExt(rows_.call_rt("rt_warp_append", {counter}), ir_.getInt64Ty());
      Value* id = ir_.CreateLoad(ir_.getInt32Ty(), rows_.index(ir_.getInt32Ty(), rowids, row));
      ir_.CreateStore(id, rows_.index(ir_.getInt32Ty(), out, at));
      return {ir_.CreateAdd(now[0], ir_.getInt64(1)), now[1]};
    });
  });
  finish(end[1], end[0]);
}

/* group_of_row[row] = find or insert; idempotent, so it may run again after the
 * table has grown. */
void Kernel::emit_reserve() {
  Value* group_of_row = field(ir_.getPtrTy(), offsetof(TbPipelineArgs, group_of_row));
  Carried end = grid_loop({ir_.getInt32(0)}, [&](Value* row, const Carried& now) -> Carried {
    const Carried none = {ir_.getInt32(TB_NONE), now[0]};
    Carried found = filtered(0, none, [&]() -> Carried {
      groups_.eval_keys(nullptr);
      Value* errors = rows_.take_errors();
      Value* group = groups_.find_or_insert_atomic(groups_.hash(), accumulators_);
      return {group, errors ? ir_.CreateOr(now[0], errors) : now[0]};
    });
    ir_.CreateStore(found[0], rows_.index(ir_.getInt32Ty(), group_of_row, row));
    return {found[1]};
  });
  finish(end[0], nullptr);
}

void Kernel::emit_apply() {
  Value* group_of_row = field(ir_.getPtrTy(), offsetof(TbPipelineArgs, group_of_row));
  Carried end = grid_loop({ir_.getInt64(0), ir_.getInt32(0)}, [&](Value* row, const Carried& now) {
    Value* group = ir_.CreateLoad(ir_.getInt32Ty(), rows_.index(ir_.getInt32Ty(), group_of_row, row));
    return emit_if(rows_, "grouped", ir_.CreateICmpNE(group, ir_.getInt32(TB_NONE)), now, [&]() -> Carried {
      Value* group_row = groups_.row(group);
      Value* peers = rows_.call_rt("rt_warp_peers", {group});
      Value* errors = now[1];
      for (size_t i = 0; i < program_.aggs().size(); i++) {
        const AggInput in = accumulators_.input(i, nullptr);
        Value* bits = accumulators_.apply_atomic(i, in, group_row, peers);
        if (bits) errors = ir_.CreateOr(errors, bits);
      }
      if (Value* row_errors = rows_.take_errors()) errors = ir_.CreateOr(errors, row_errors);
      return {ir_.CreateAdd(now[0], ir_.getInt64(1)), errors};
    });
  });
  finish(end[1], end[0]);
}

void Kernel::emit_reduce() {
  Carried init;
  init.push_back(ir_.getInt64(0));  // rows passed
  init.append(accumulators_.init());
  Carried end = grid_loop(init, [&](Value*, const Carried& now) {
    return filtered(0, now, [&] {
      Carried next;
      next.push_back(ir_.CreateAdd(now[0], ir_.getInt64(1)));
      next.append(accumulators_.step(Carried(now.begin() + 1, now.end()), nullptr));
      rows_.take_errors();  // step() has added them to its last value
      return next;
    });
  });
  Value* errors = accumulators_.fold_atomic(Carried(end.begin() + 1, end.end()), state_row());
  finish(errors, end[0]);
}

}  // namespace

void emit_gpu_pipeline(ModuleBuilder& builder, const Program& program, const GroupLayout& layout) {
  if (program.sink() == TB_SINK_ROWS) {
    Kernel(builder, program, layout, "tb_rows").emit_rows();
  } else if (program.grouped()) {
    Kernel(builder, program, layout, "tb_reserve").emit_reserve();
    Kernel(builder, program, layout, "tb_apply").emit_apply();
  } else {
    Kernel(builder, program, layout, "tb_reduce").emit_reduce();
  }
}

}  // namespace turbine
