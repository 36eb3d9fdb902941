/*
 * gpu_kernel.cc - the frame of one kernel: entry, loop over runs or tuples, epilogue.
 *
 * Called by pipeline_gpu.cc and probe_gpu.cc, which emit the steps. It knows nothing of
 * what a step does.
 */
#include "compiler/codegen/gpu_kernel.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <cstddef>

#include "compiler/codegen/filter.h"
#include "turbine/kernel.h"

namespace turbine {

using llvm::BasicBlock;
using llvm::Value;

namespace {

/* Rows side by side that a thread takes: of narrow codes they lie in one sector, which is in the first-level
 * cache from the second row on. */
constexpr uint64_t kNeighbours = 4;

/* Candidates of a join that one row looks at, or tuples that it makes, between two looks whether the query is over: a
 * few milliseconds. */
constexpr uint32_t kCandidatesBetweenLooks = 4096;

}  // namespace

bool needs_probe(const Program& program) {
  return !program.joins().empty() || program.sink() == TB_SINK_PROJECT || program.sink() == TB_SINK_BUILD;
}

GpuKernel::GpuKernel(ModuleBuilder& builder, const Program& program, const char* name, Over over, uint32_t blocks)
    : program_(program), over_(over), ir_(builder.context()), rows_(builder, program, ir_) {
  llvm::Function* fn = builder.entry_point(name, blocks);
  args_ = fn->getArg(0);
  ir_.SetInsertPoint(BasicBlock::Create(builder.context(), "entry", fn));
  if (!program.joins().empty()) tables_ = field(ir_.getPtrTy(), offsetof(TbPipelineArgs, tables));
  rows_.bind(nullptr, field(ir_.getPtrTy(), offsetof(TbPipelineArgs, bytes)),
             field(ir_.getPtrTy(), offsetof(TbPipelineArgs, params)), tables_);
  places_ = field(ir_.getPtrTy(), offsetof(TbPipelineArgs, places));
  entry_results_ = field(ir_.getPtrTy(), offsetof(TbPipelineArgs, entry_results));
  if (needs_probe(program)) {
    tuples_ = field(ir_.getPtrTy(), offsetof(TbPipelineArgs, tuples));
    tuple_capacity_ = field(ir_.getInt64Ty(), offsetof(TbPipelineArgs, tuple_capacity));
  }
  block_ = special(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x);
  blocks_ = special(llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x);
  thread_ = special(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x);
  threads_ = special(llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x);
  stop_ = field(ir_.getPtrTy(), offsetof(TbPipelineArgs, stop));
  started_ = rows_.call_rt("rt_clock", {});
}

Value* GpuKernel::stop_wanted() { return rows_.call_rt("rt_stop_wanted", {stop_, started_}); }

/*
 * next = candidates + 1; wanted = next % 4096 == 0 && stop_wanted();
 * if (!wanted) candidates = next;     // so that loops around this one look at once, too
 */
Value* GpuKernel::candidate_stops() {
  if (!candidates_) {
    llvm::BasicBlock& entry = ir_.GetInsertBlock()->getParent()->getEntryBlock();
    llvm::IRBuilder<> at_entry(&entry, entry.getFirstInsertionPt());
    candidates_ = at_entry.CreateAlloca(ir_.getInt32Ty(), nullptr, "candidates");
    at_entry.CreateStore(ir_.getInt32(0), candidates_);
  }
  Value* before = ir_.CreateLoad(ir_.getInt32Ty(), candidates_);
  Value* next = ir_.CreateAdd(before, ir_.getInt32(1));
  Value* time = ir_.CreateICmpEQ(ir_.CreateAnd(next, ir_.getInt32(kCandidatesBetweenLooks - 1)), ir_.getInt32(0));
  Value* wanted = emit_if(rows_, "look", time, {ir_.getFalse()}, [&]() -> Carried { return {stop_wanted()}; })[0];
  ir_.CreateStore(ir_.CreateSelect(wanted, before, next), candidates_);
  return wanted;
}

Value* GpuKernel::special(unsigned id) {
  return ir_.CreateZExt(ir_.CreateIntrinsic(ir_.getInt32Ty(), static_cast<llvm::Intrinsic::ID>(id), {}),
                        ir_.getInt64Ty());
}

Carried GpuKernel::grid_loop(const Carried& init, Step body) {
  return over_ == Over::kTuples ? loop_over_tuples(init, body) : loop_over_rows(init, body);
}

/*
 * for (job = block; job < jobs; job += blocks) {
 *   run = runs ? runs[job] : the job's rows of the arrays; ... places of the run's stretch ...
 *   if (the query is over) the run has no rows;
 *   ask for what the loop reads of the run; begin_run();
 *   for (first = max(run.to, first_row) + 4 * thread; first < min(run.to + run.count, nrows); first += 4 * threads)
 *     for (row = first; row < first + 4 and within the run; row++) body(row);
 *   end_run();
 * }
 */
Carried GpuKernel::loop_over_rows(const Carried& init, Step body) {
  auto word = [&](uint64_t offset) { return ir_.CreateZExt(field(ir_.getInt32Ty(), offset), ir_.getInt64Ty()); };
  auto smaller = [&](Value* a, Value* b) { return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, a, b); };
  auto larger = [&](Value* a, Value* b) { return ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umax, a, b); };
  Value *first_row = word(offsetof(TbPipelineArgs, first_row)), *nrows = word(offsetof(TbPipelineArgs, nrows));
  runs_ = field(ir_.getPtrTy(), offsetof(TbPipelineArgs, runs));
  Value* of_arrays = ir_.CreateIsNull(runs_);
  constexpr uint64_t kRun = TB_RUN_ROWS_OF_ARRAYS;
  Value* first_job = ir_.CreateSelect(of_arrays, ir_.CreateUDiv(first_row, ir_.getInt64(kRun)), ir_.getInt64(0));
  Value* array_jobs = ir_.CreateUDiv(ir_.CreateAdd(nrows, ir_.getInt64(kRun - 1)), ir_.getInt64(kRun));
  Value* jobs = ir_.CreateSelect(of_arrays, array_jobs, field(ir_.getInt64Ty(), offsetof(TbPipelineArgs, nruns)),
                                 "jobs");
  LoopOptions by_block, by_thread;
  by_block.step = blocks_;
  by_thread.step = ir_.CreateTrunc(ir_.CreateMul(threads_, ir_.getInt64(kNeighbours)), ir_.getInt32Ty());
  return emit_loop(
      rows_, "run", ir_.CreateAdd(first_job, block_), jobs, init,
      [&](Value* job, const Carried& before) {
        const Run run = load_run(job);
        bind_stretch(run.stretch);
        Value* begin = larger(run.to, first_row);
        // Every thread still comes to the run's barriers, whatever the others have seen.
        Value* end = ir_.CreateSelect(stop_wanted(), begin, smaller(ir_.CreateAdd(run.to, run.count), nrows));
        // In 32 bits, as a task's rows are numbered.
        llvm::Type* i32 = ir_.getInt32Ty();
        auto narrow = [&](Value* value) { return ir_.CreateTrunc(value, i32); };
        Value* shift = narrow(ir_.CreateSub(run.first, run.to));
        llvm::Function* fn = ir_.GetInsertBlock()->getParent();
        BasicBlock* ahead = BasicBlock::Create(ir_.getContext(), "run.ahead", fn);
        BasicBlock* rows = BasicBlock::Create(ir_.getContext(), "run.rows", fn);
        ir_.CreateBr(ahead);
        ir_.SetInsertPoint(rows);
        begin_run();
        Carried after = emit_loop(
            rows_, "thread", narrow(ir_.CreateAdd(begin, ir_.CreateMul(thread_, ir_.getInt64(kNeighbours)))),
            narrow(end), before,
            [&](Value* first, const Carried& so_far) {
              Value* last = smaller(ir_.CreateAdd(first, ir_.getInt32(kNeighbours)), narrow(end));
              return emit_loop(rows_, "row", first, last, so_far, [&](Value* row, const Carried& now) {
                rows_.begin_row(ir_.CreateZExt(ir_.CreateAdd(row, shift), ir_.getInt64Ty()));
                return body(ir_.CreateZExt(row, ir_.getInt64Ty()), now);
              });
            },
            by_thread);
        after = end_run(after);
        // Which columns the loop reads is known by now.
        llvm::IRBuilderBase::InsertPointGuard guard(ir_);
        ir_.SetInsertPoint(ahead);
        prefetch(run);
        ir_.CreateBr(rows);
        return after;
      },
      by_block);
}

/* A thread goes from column to column of a row, and would wait for device memory at each. */
void GpuKernel::prefetch(const Run& run) {
  for (const RowEmitter::ReadColumn& column : rows_.read_columns()) {
    Value* begin = rows_.index(ir_.getInt8Ty(), column.values, ir_.CreateShl(run.first, column.shift));
    rows_.call_rt("rt_block_prefetch", {begin, ir_.CreateShl(run.count, column.shift), thread_, threads_});
  }
}

GpuKernel::Run GpuKernel::load_run(Value* job) {
  constexpr uint64_t kRun = TB_RUN_ROWS_OF_ARRAYS;
  static_assert(TB_STRETCH_ROWS % kRun == 0);
  Value* to = ir_.CreateMul(job, ir_.getInt64(kRun));
  const Carried of_arrays = {ir_.CreateLShr(to, TB_STRETCH_SHIFT), ir_.CreateAnd(to, TB_STRETCH_ROWS - 1),
                             ir_.getInt64(kRun), to};
  const Carried run = emit_if(rows_, "taken", ir_.CreateIsNotNull(runs_), of_arrays, [&]() -> Carried {
    Value* at = rows_.index(ir_.getInt128Ty(), runs_, job);
    static_assert(sizeof(TbRowRun) == 16);
    auto word = [&](uint64_t offset) {
      return ir_.CreateZExt(rows_.load(ir_.getInt32Ty(), at, offset), ir_.getInt64Ty());
    };
    return {word(offsetof(TbRowRun, stretch)), word(offsetof(TbRowRun, first)), word(offsetof(TbRowRun, count)),
            word(offsetof(TbRowRun, to))};
  });
  return {run[0], run[1], run[2], run[3]};
}

void GpuKernel::bind_stretch(Value* stretch) {
  stretch_ = stretch;
  const uint64_t size = program_.source_columns() * sizeof(TbColumnPlace);
  rows_.bind_places(rows_.index(ir_.getInt8Ty(), places_, ir_.CreateMul(stretch, ir_.getInt64(size))), entry_results_);
}

Value* GpuKernel::row_number() {
  Value* number = ir_.CreateOr(ir_.CreateShl(stretch_, TB_STRETCH_SHIFT), rows_.row());
  return ir_.CreateTrunc(number, ir_.getInt32Ty());
}

Carried GpuKernel::loop_over_tuples(const Carried& init, Step body) {
  LoopOptions options;
  options.step = ir_.CreateMul(threads_, blocks_);
  Value* first = ir_.CreateAdd(ir_.CreateMul(block_, threads_), thread_);
  Value* end = ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umin,
                                         field(ir_.getInt64Ty(), offsetof(TbPipelineArgs, ntuples)), tuple_capacity_);
  return emit_loop(
      rows_, "tuple", first, end, init,
      [&](Value* tuple, const Carried& now) {
        return emit_if(rows_, "tuple.wanted", ir_.CreateNot(stop_wanted()), now, [&] {
          begin_tuple(tuple);
          return body(tuple, now);
        });
      },
      options);
}

/* tuples: the rows, then the matches of each join. */
void GpuKernel::begin_tuple(Value* tuple) {
  auto word = [&](uint64_t array) {
    Value* at = ir_.CreateAdd(ir_.CreateMul(tuple_capacity_, ir_.getInt64(array)), tuple);
    return ir_.CreateLoad(ir_.getInt32Ty(), rows_.index(ir_.getInt32Ty(), tuples_, at));
  };
  Value* row = ir_.CreateZExt(word(0), ir_.getInt64Ty());
  bind_stretch(ir_.CreateLShr(row, TB_STRETCH_SHIFT));
  rows_.begin_row(ir_.CreateAnd(row, TB_STRETCH_ROWS - 1));
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

/* As where_all; what a conjunct that reads geometries raises makes the row undecided, and ends the conjunction. */
Carried GpuKernel::where_all_or_undecided(std::span<const uint32_t> conjuncts, const Carried& init,
                                          llvm::function_ref<Carried(Value* undecided)> body, Value* undecided) {
  if (conjuncts.empty()) return body(undecided);
  Value* wanted = undecided ? ir_.CreateNot(undecided) : nullptr;
  Value* pass = rows_.truth(rows_.eval(conjuncts[0], wanted));
  Value* errors = rows_.take_errors();
  if (errors && leaves_undecided(program_, conjuncts[0])) {
    undecided = rows_.or_maybe(undecided, ir_.CreateICmpNE(errors, ir_.getInt32(0)));
    errors = nullptr;
  }
  pass = rows_.or_maybe(pass, undecided);
  Carried out = emit_if(rows_, "filter", pass, init,
                        [&] { return where_all_or_undecided(conjuncts.subspan(1), init, body, undecided); });
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
