/*
 * gpu_kernel.cc - the frame of one kernel: entry, grid-stride loop, epilogue.
 *
 * Called by pipeline_gpu.cc and probe_gpu.cc, which emit the steps. It knows nothing of
 * what a step does.
 */
#include "compiler/codegen/gpu_kernel.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <cstddef>

#include "turbine/kernel.h"

namespace turbine {

using llvm::BasicBlock;
using llvm::Value;

bool needs_probe(const Program& program) { return !program.joins().empty() || program.sink() == TB_SINK_PROJECT; }

GpuKernel::GpuKernel(ModuleBuilder& builder, const Program& program, const char* name, Over over)
    : program_(program), over_(over), ir_(builder.context()), rows_(builder, program, ir_) {
  llvm::Function* fn = builder.entry_point(name);
  args_ = fn->getArg(0);
  ir_.SetInsertPoint(BasicBlock::Create(builder.context(), "entry", fn));
  if (!program.joins().empty()) tables_ = field(ir_.getPtrTy(), offsetof(TbPipelineArgs, tables));
  rows_.bind(field(ir_.getPtrTy(), offsetof(TbPipelineArgs, columns)),
             field(ir_.getPtrTy(), offsetof(TbPipelineArgs, bytes)),
             field(ir_.getPtrTy(), offsetof(TbPipelineArgs, params)), tables_);
  auto row_number = [&](uint64_t offset) { return ir_.CreateZExt(field(ir_.getInt32Ty(), offset), ir_.getInt64Ty()); };
  if (needs_probe(program)) {
    tuples_ = field(ir_.getPtrTy(), offsetof(TbPipelineArgs, tuples));
    tuple_capacity_ = field(ir_.getInt64Ty(), offsetof(TbPipelineArgs, tuple_capacity));
  }
  if (over == Over::kTuples) {
    first_ = ir_.getInt64(0);
    end_ = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, field(ir_.getInt64Ty(), offsetof(TbPipelineArgs, ntuples)),
                                     tuple_capacity_);
  } else {
    first_ = row_number(offsetof(TbPipelineArgs, first_row));
    end_ = row_number(offsetof(TbPipelineArgs, nrows));
  }
}

Value* GpuKernel::special(unsigned id) {
  return ir_.CreateZExt(ir_.CreateIntrinsic(static_cast<llvm::Intrinsic::ID>(id), {}, {}), ir_.getInt64Ty());
}

Carried GpuKernel::grid_loop(const Carried& init, llvm::function_ref<Carried(Value*, const Carried&)> body) {
  Value* block = special(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x);
  Value* size = special(llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x);
  Value* blocks = special(llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x);
  Value* thread = special(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x);
  LoopOptions options;
  options.step = ir_.CreateMul(size, blocks);
  Value* first = ir_.CreateAdd(first_, ir_.CreateAdd(ir_.CreateMul(block, size), thread));
  return emit_loop(
      rows_, "grid", first, end_, init,
      [&](Value* step, const Carried& now) {
        if (over_ == Over::kTuples)
          begin_tuple(step);
        else
          rows_.begin_row(step);
        return body(step, now);
      },
      options);
}

/* tuples: the rows, then the matches of each join. */
void GpuKernel::begin_tuple(Value* tuple) {
  auto word = [&](uint64_t array) {
    Value* at = ir_.CreateAdd(ir_.CreateMul(tuple_capacity_, ir_.getInt64(array)), tuple);
    return ir_.CreateLoad(ir_.getInt32Ty(), rows_.index(ir_.getInt32Ty(), tuples_, at));
  };
  rows_.begin_row(ir_.CreateZExt(word(0), ir_.getInt64Ty()));
  for (uint32_t j = 0; j < program_.joins().size(); j++) rows_.set_match(j, word(1 + j));
}

Carried GpuKernel::filtered(const Carried& init, llvm::function_ref<Carried()> body) {
  return over_ == Over::kTuples ? body() : where_all(program_.filters(), init, body);
}

/* if (conjunct) if (next conjunct) ... body. Errors of a conjunct are kept whether
 * it holds or not. */
Carried GpuKernel::where_all(std::span<const uint32_t> conjuncts, const Carried& init,
                             llvm::function_ref<Carried()> body, Value* passed_over) {
  if (conjuncts.empty()) return body();
  Value* wanted = passed_over ? ir_.CreateNot(passed_over) : nullptr;
  Value* pass = rows_.or_maybe(rows_.truth(rows_.eval(conjuncts[0], wanted)), passed_over);
  Value* errors = rows_.take_errors();
  Carried out = emit_if(rows_, "filter", pass, init,
                        [&] { return where_all(conjuncts.subspan(1), init, body, passed_over); });
  if (errors) out.back() = ir_.CreateOr(out.back(), errors);
  return out;
}

void GpuKernel::add_total(uint64_t offset, Value* amount) {
  rows_.call_rt("rt_warp_sum_u64", {rows_.at(args_, offset), amount});
}

void GpuKernel::finish(Value* errors) {
  rows_.call_rt("rt_state_or_u32", {rows_.at(args_, offsetof(TbPipelineArgs, errors)), errors});
  ir_.CreateRetVoid();
}

}  // namespace turbine
