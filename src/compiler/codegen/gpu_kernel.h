/*
 * gpu_kernel.h - one kernel of a GPU pipeline: entry, a loop of all blocks over runs of rows or
 * over tuples, epilogue. What a step does is emitted by its caller:
 *
 *   pipeline_gpu.cc  the sinks' kernels
 *   probe_gpu.cc     tb_probe
 */
#pragma once

#include "compiler/codegen/pipeline.h"

namespace turbine {

class GpuKernel {
 public:
  /* A row or tuple a step. Over tuples, which tb_probe has written, no filter is
   * evaluated any more. */
  enum class Over { kRows, kTuples };
  /* `blocks` find registers on one multiprocessor. */
  GpuKernel(ModuleBuilder& builder, const Program& program, const char* name, Over over,
            uint32_t blocks = TB_BLOCKS_PER_MULTIPROCESSOR);
  virtual ~GpuKernel() = default;

 protected:
  using Value = llvm::Value;

  Value* field(llvm::Type* type, uint64_t offset) { return rows_.load(type, args_, offset); }
  /* body(step, carried): the row or tuple has been started. The step is its place in the task or among the
   * tuples. */
  using Step = llvm::function_ref<Carried(Value*, const Carried&)>;
  Carried grid_loop(const Carried& init, Step body);
  /* Before a run's rows and after them, where all threads of a block arrive. */
  virtual void begin_run() {}
  virtual Carried end_run(const Carried& now) { return now; }
  /* Of the row that has been started, as tuples name it (i32). */
  Value* row_number();
  /* body() where all conjuncts hold, or are passed over (i1, nullptr: never); over
   * tuples always. The last carried value holds TB_ERR_* bits. */
  Carried filtered(const Carried& init, llvm::function_ref<Carried()> body);
  Carried where_all(std::span<const uint32_t> conjuncts, const Carried& init, llvm::function_ref<Carried()> body,
                    Value* passed_over = nullptr);
  /* Of rows, where they may be left undecided (leaves_undecided): what a conjunct raises then counts as true, and
   * `undecided` (i1; nullptr: never) holds. No later conjunct is asked. */
  Carried where_all_or_undecided(std::span<const uint32_t> conjuncts, const Carried& init,
                                 llvm::function_ref<Carried(Value* undecided)> body, Value* undecided = nullptr);
  /* All threads arrive here, warps whole. */
  void finish(Value* errors);
  /* i1: the query is over, and the kernel has run for a while (rt_stop_wanted). Threads may hear of it at different
   * times, so all still go through their barriers, with nothing to do. */
  Value* stop_wanted();
  /* The same for a loop over what one row finds, once an iteration: looks now and then. */
  Value* candidate_stops();
  void add_total(uint64_t offset, Value* amount);

  const Program& program_;
  const Over over_;
  llvm::IRBuilder<> ir_;
  RowEmitter rows_;
  Value *args_ = nullptr, *tables_ = nullptr;
  Value *tuples_ = nullptr, *tuple_capacity_ = nullptr;  // programs with tb_probe
  Value *block_ = nullptr, *blocks_ = nullptr, *thread_ = nullptr, *threads_ = nullptr;

 private:
  Value* special(unsigned id);
  Carried loop_over_rows(const Carried& init, Step body);
  Carried loop_over_tuples(const Carried& init, Step body);
  /* Rows [first, first + count) of a stretch are [to, to + count) of the task; i64. */
  struct Run {
    Value *stretch, *first, *count, *to;
  };
  Run load_run(Value* job);
  void prefetch(const Run& run);
  void bind_stretch(Value* stretch);
  void begin_tuple(Value* tuple);

  Value *places_ = nullptr, *runs_ = nullptr, *entry_results_ = nullptr;
  Value* stretch_ = nullptr;  // of the row that has been started
  Value *stop_ = nullptr, *started_ = nullptr;
  llvm::AllocaInst* candidates_ = nullptr;  // that the thread has looked at; programs whose rows look at many
};

/* The program's rows become tuples first. */
bool needs_probe(const Program& program);

/* probe_gpu.cc: tb_probe. */
void emit_gpu_probe(ModuleBuilder& builder, const Program& program);

}  // namespace turbine
