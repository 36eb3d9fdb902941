/*
 * pipeline_gpu.cc - the GPU's kernels of a pipeline's sink, see pipeline.h.
 *
 * One kernel reserves and one applies, or one alone does what can not fail; a thread has one
 * row. Called by pipeline.cc. Barriers stand where all threads of a block get to, so no row
 * may leave a kernel early.
 */
#include <algorithm>
#include <cstddef>

#include "compiler/codegen/gpu_kernel.h"
#include "compiler/codegen/row_store.h"
#include "turbine/kernel.h"

namespace turbine {

using llvm::Value;

namespace {

GpuKernel::Over input_of_sink(const Program& program) {
  return needs_probe(program) ? GpuKernel::Over::kTuples : GpuKernel::Over::kRows;
}

/* Registers of one multiprocessor for each thread of a block, and those that a thread of tb_reduce takes besides the
 * carried values, as counted in ptxas's reports: for the loop and what is computed of a row; for each column's place.
 */
constexpr uint32_t kRegisters = 65536 / TB_BLOCK_THREADS;
constexpr uint32_t kLoopRegisters = 40;
constexpr uint32_t kColumnRegisters = 8;

/* Blocks of tb_reduce on one multiprocessor: fewer than of other kernels if the carried values want the registers. A
 * sum without a register is read from memory and written there for each row, which costs more than waiting does. */
uint32_t blocks_of_reduce(const Program& program) {
  const auto columns = static_cast<uint32_t>(program.columns().size());
  const uint32_t registers = kLoopRegisters + Accumulators::carried_words(program) + columns * kColumnRegisters;
  return std::clamp(kRegisters / registers, 1u, TB_BLOCKS_PER_MULTIPROCESSOR);
}

class SinkKernel : GpuKernel {
 public:
  SinkKernel(ModuleBuilder& builder, const Program& program, const GroupLayout& layout, const char* name,
             uint32_t blocks = TB_BLOCKS_PER_MULTIPROCESSOR)
      : GpuKernel(builder, program, name, input_of_sink(program), blocks),
        accumulators_(rows_, program, layout),
        groups_(rows_, program, layout),
        store_(rows_, program) {
    if (program.sink() != TB_SINK_AGGREGATE) return;
    table_ = field(ir_.getPtrTy(), offsetof(TbPipelineArgs, groups));
    groups_.bind(table_);
  }

  void emit_rows();
  void emit_reserve();
  void emit_reserve_texts();
  void emit_apply();
  void emit_reduce();
  void emit_project();

 private:
  /* tb_probe has counted the rows where there is one. */
  void finish_counted(Value* errors, Value* rows_passed) {
    if (over_ == Over::kRows) add_total(offsetof(TbPipelineArgs, rows_passed), rows_passed);
    finish(errors);
  }
  Value* state_row() { return rows_.load(ir_.getPtrTy(), table_, offsetof(TbGroupTable, rows)); }

  Accumulators accumulators_;
  GroupTableEmitter groups_;
  RowStoreEmitter store_;
  Value* table_ = nullptr;
};

/* Appends the ids of the rows that pass, in any order. */
void SinkKernel::emit_rows() {
  Value* rowids = field(ir_.getPtrTy(), offsetof(TbPipelineArgs, rowids));
  Value* out = field(ir_.getPtrTy(), offsetof(TbPipelineArgs, out_rowids));
  Value* counter = rows_.at(args_, offsetof(TbPipelineArgs, nout));
  Carried end = grid_loop({ir_.getInt64(0), ir_.getInt32(0)}, [&](Value* row, const Carried& now) {
    return where_all_or_undecided(program_.filters(), now, [&](Value* undecided) -> Carried {
      Value* at = ir_.CreateZExt(rows_.call_rt("rt_warp_append", {counter}), ir_.getInt64Ty());
      Value* id = ir_.CreateLoad(ir_.getInt32Ty(), rows_.index(ir_.getInt32Ty(), rowids, row));
      if (undecided) {
        Value* mark = ir_.CreateZExt(undecided, ir_.getInt32Ty());
        id = ir_.CreateOr(id, ir_.CreateShl(mark, TB_ROWID_UNDECIDED_SHIFT));
      }
      ir_.CreateStore(id, rows_.index(ir_.getInt32Ty(), out, at));
      return {ir_.CreateAdd(now[0], ir_.getInt64(1)), now[1]};
    });
  });
  finish_counted(end[1], end[0]);
}

/* group_of_row[row or tuple] = find or insert; then min and max of text, which need memory, too. Idempotent, so it may
 * run again after the table has grown. */
void SinkKernel::emit_reserve() {
  Value* group_of_row = field(ir_.getPtrTy(), offsetof(TbPipelineArgs, group_of_row));
  Carried end = grid_loop({ir_.getInt32(0)}, [&](Value* step, const Carried& now) -> Carried {
    const Carried none = {ir_.getInt32(TB_NONE), now[0]};
    Carried found = filtered(none, [&]() -> Carried {
      groups_.eval_keys(nullptr);
      Value* errors = rows_.take_errors();
      Value* group = groups_.find_or_insert_atomic(groups_.hash(), accumulators_);
      Carried out = {group, errors ? ir_.CreateOr(now[0], errors) : now[0]};
      if (!accumulators_.has_text_states()) return out;
      return emit_if(rows_, "texts", ir_.CreateICmpNE(group, ir_.getInt32(TB_NONE)), out, [&]() -> Carried {
        Value* peers = rows_.call_rt("rt_warp_peers", {group});
        accumulators_.reserve_texts(table_, groups_.row(group), peers);
        Value* of_texts = rows_.take_errors();
        return {group, of_texts ? ir_.CreateOr(out[1], of_texts) : out[1]};
      });
    });
    ir_.CreateStore(found[0], rows_.index(ir_.getInt32Ty(), group_of_row, step));
    return {found[1]};
  });
  finish(end[0]);
}

/* Ungrouped: min and max of text alone; tb_reduce has the other states. */
void SinkKernel::emit_reserve_texts() {
  Carried init = accumulators_.init_texts();
  init.push_back(ir_.getInt32(0));  // errors
  Carried end = grid_loop(init, [&](Value*, const Carried& now) {
    return filtered(now, [&] {
      Carried next = accumulators_.step_texts(Carried(now.begin(), now.end() - 1));
      Value* errors = rows_.take_errors();
      next.push_back(errors ? ir_.CreateOr(now.back(), errors) : now.back());
      return next;
    });
  });
  Value* errors = end.pop_back_val();
  accumulators_.reserve_texts_of_warp(end, table_, state_row());
  finish(errors);
}

void SinkKernel::emit_apply() {
  Value* group_of_row = field(ir_.getPtrTy(), offsetof(TbPipelineArgs, group_of_row));
  Carried end = grid_loop({ir_.getInt64(0), ir_.getInt32(0)}, [&](Value* step, const Carried& now) {
    Value* group = ir_.CreateLoad(ir_.getInt32Ty(), rows_.index(ir_.getInt32Ty(), group_of_row, step));
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
  finish_counted(end[1], end[0]);
}

void SinkKernel::emit_reduce() {
  Carried init;
  init.push_back(ir_.getInt64(0));  // rows passed
  init.append(accumulators_.init());
  Carried end = grid_loop(init, [&](Value*, const Carried& now) {
    return filtered(now, [&] {
      Carried next;
      next.push_back(ir_.CreateAdd(now[0], ir_.getInt64(1)));
      next.append(accumulators_.step(Carried(now.begin() + 1, now.end()), nullptr));
      rows_.take_errors();  // step() has added them to its last value
      return next;
    });
  });
  BlockFold fold(rows_);
  Value* errors = accumulators_.fold_of_block(Carried(end.begin() + 1, end.end()), state_row(), fold);
  // tb_probe has counted the rows where there is one.
  if (over_ == Over::kRows) fold.add_sum(rows_.at(args_, offsetof(TbPipelineArgs, rows_passed)), end[0]);
  fold.emit();
  finish(errors);
}

/* A row of the store a tuple: a PROJECT's in the order of the tuples, a BUILD's as they come, since it leaves rows out
 * that have a NULL key and that nobody finds. None where there is no room, and then store->full is set. */
void SinkKernel::emit_project() {
  Value* store = field(ir_.getPtrTy(), offsetof(TbPipelineArgs, store));
  store_.bind(store);
  llvm::AllocaInst* offset_slot = ir_.CreateAlloca(ir_.getInt64Ty(), nullptr, "arena_offset");
  auto with_errors = [&](Value* errors) {
    Value* of_row = rows_.take_errors();
    return of_row ? ir_.CreateOr(errors, of_row) : errors;
  };
  auto keep_row = [&](Value* tuple, const Carried& now) -> Carried {
    Value* bytes = store_.text_bytes();
    Value* reserved = rows_.call_rt("rt_store_reserve", {store, bytes ? bytes : ir_.getInt64(0), offset_slot});
    Value* at = program_.sink() == TB_SINK_PROJECT ? tuple : reserved;
    const Carried before = {with_errors(now[0])};
    return emit_if(rows_, "store", ir_.CreateICmpNE(reserved, ir_.getInt64(~uint64_t{0})), before, [&]() -> Carried {
      Value* offset = ir_.CreateLoad(ir_.getInt64Ty(), offset_slot);
      if (store_.nkeys() != 0) store_.write_hash(at);
      for (size_t column = 0; column < store_.columns(); column++) offset = store_.write(column, at, offset);
      return {with_errors(before[0])};
    });
  };
  Carried end = grid_loop({ir_.getInt32(0)}, [&](Value* tuple, const Carried& now) -> Carried {
    Value* null = store_.drops_null_keys() ? store_.null_key() : nullptr;
    if (!null) return keep_row(tuple, now);
    const Carried asked = {with_errors(now[0])};
    return emit_if(rows_, "key", ir_.CreateNot(null), asked, [&] { return keep_row(tuple, asked); });
  });
  finish(end[0]);
}

}  // namespace

void emit_gpu_pipeline(ModuleBuilder& builder, const Program& program, const GroupLayout& layout) {
  if (needs_probe(program)) emit_gpu_probe(builder, program);
  auto kernel = [&](const char* name) { return SinkKernel(builder, program, layout, name); };
  switch (program.sink()) {
    case TB_SINK_ROWS: return kernel("tb_rows").emit_rows();
    case TB_SINK_PROJECT:
    case TB_SINK_BUILD: return kernel("tb_project").emit_project();
    default: break;
  }
  if (!program.grouped()) {
    if (reserves_memory(program)) kernel("tb_reserve").emit_reserve_texts();
    return SinkKernel(builder, program, layout, "tb_reduce", blocks_of_reduce(program)).emit_reduce();
  }
  kernel("tb_reserve").emit_reserve();
  kernel("tb_apply").emit_apply();
}

}  // namespace turbine
