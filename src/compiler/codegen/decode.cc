/*
 * decode.cc - emits tb_decode: the loops over pages and line pointers, around what
 * decode_tuple.h does with one tuple. Called by jit/ once per compilation; only programs
 * with source HEAP have a tb_decode.
 *
 * Host: one thread, rows in order.
 *
 *   for (page) for (line) {
 *     if (!LP_NORMAL) continue;
 *     switch (locate()) {
 *       case ROW: store(nrows++); case DEFERRED: deferred[ndeferred++] = id;
 *       case CORRUPT: errors |= TB_ERR_CORRUPT; } }
 *
 * GPU: a warp takes a page, its lanes 32 line pointers at a time. A page's rows lie
 * together and in order, so the warp goes over the page twice: it counts the rows and
 * reserves their place with one atomic, then it writes them. Both passes are one loop
 * with twice as many steps, so that the tuple's code exists once. All branches around
 * warp primitives are uniform; a launch's blocks are whole warps.
 */
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/MDBuilder.h>

#include <cstddef>

#include "compiler/codegen/decode_tuple.h"
#include "rt/heap_page.h"
#include "turbine/kernel.h"

namespace turbine {

namespace {

constexpr uint32_t kWarp = 32;
constexpr uint32_t kAllLanes = 0xffffffffu;

/* What both shapes need: arguments, counters, blocks. */
class DecodeEmitter {
 public:
  DecodeEmitter(ModuleBuilder& builder, const Program& program)
      : builder_(builder),
        ir_(builder.context()),
        rows_sink_(program.sink() == TB_SINK_ROWS),
        has_tids_(program.has_tids()),
        tuples_(builder, program, ir_) {}

  void emit_host();
  void emit_gpu();

 private:
  void begin();
  void bind_arguments();
  llvm::Value* argument(llvm::Type* type, size_t offset, const char* name);
  llvm::Value* argument_address(size_t offset);
  llvm::AllocaInst* variable(llvm::Type* type, const char* name);
  llvm::Value* get(llvm::AllocaInst* variable);
  void set(llvm::AllocaInst* variable, llvm::Value* value);
  void add(llvm::AllocaInst* variable, llvm::Value* value);
  void note_errors(llvm::Value* verdict);
  llvm::BasicBlock* block(const char* name);
  llvm::BasicBlock* enter(const char* name);  // branches to it and goes on there

  llvm::Value* page_address(llvm::Value* page);
  llvm::Value* line_pointer(llvm::Value* page_address, llvm::Value* line);
  llvm::Value* is_normal(llvm::Value* line_pointer);
  llvm::Value* row_id(llvm::Value* page, llvm::Value* line);
  llvm::Value* count_lines(llvm::Value* page_address);
  void store_id(llvm::Value* array, llvm::Value* index, llvm::Value* id);
  llvm::Value* packed_tid(llvm::Value* page, llvm::Value* line);
  void store_row(const LocatedTuple& tuple, llvm::Value* row, llvm::Value* page, llvm::Value* line);

  void host_page_end(llvm::Value* page);
  void host_line(llvm::Value* page, llvm::Value* address, llvm::BasicBlock* next);

  llvm::Value* special_register(llvm::Intrinsic::ID id);
  llvm::Value* ballot(llvm::Value* flag);
  llvm::Value* population(llvm::Value* mask);
  llvm::Value* reserve(llvm::Value* count);
  void gpu_step(llvm::Value* page, llvm::Value* address, llvm::Value* lines, llvm::Value* batches);
  void gpu_note(llvm::Value* status, llvm::Value* id);
  llvm::Value* gpu_line(llvm::Value* batches);

  ModuleBuilder& builder_;
  llvm::IRBuilder<> ir_;
  const bool rows_sink_;
  const bool has_tids_;
  TupleDecoder tuples_;
  llvm::Function* function_ = nullptr;
  llvm::Value* args_ = nullptr;
  llvm::Value* pages_ = nullptr;
  llvm::Value* npages_ = nullptr;
  llvm::Value* rowids_ = nullptr;
  llvm::Value* blocks_ = nullptr;
  llvm::Value* deferred_ = nullptr;
  llvm::AllocaInst* errors_ = nullptr;
  llvm::AllocaInst* page_ = nullptr;
  llvm::AllocaInst* nrows_ = nullptr;      // host
  llvm::AllocaInst* ndeferred_ = nullptr;  // host
  llvm::AllocaInst* line_ = nullptr;       // host
  llvm::Value* page_ends_ = nullptr;       // host
  llvm::Value* lane_ = nullptr;            // GPU
  llvm::AllocaInst* step_ = nullptr;       // GPU
  llvm::AllocaInst* count_ = nullptr;      // GPU: rows of the page, first pass
  llvm::AllocaInst* base_ = nullptr;       // GPU: place of the next batch, second pass
};

/* ---- both shapes ---- */

void DecodeEmitter::begin() {
  function_ = builder_.entry_point("tb_decode");
  args_ = function_->getArg(0);
  ir_.SetInsertPoint(llvm::BasicBlock::Create(builder_.context(), "entry", function_));
}

llvm::Value* DecodeEmitter::argument_address(size_t offset) {
  return ir_.CreateInBoundsGEP(ir_.getInt8Ty(), args_, ir_.getInt64(offset));
}

llvm::Value* DecodeEmitter::argument(llvm::Type* type, size_t offset, const char* name) {
  return ir_.CreateLoad(type, argument_address(offset), name);
}

void DecodeEmitter::bind_arguments() {
  llvm::Type* pointer = ir_.getPtrTy();
  pages_ = device_pointer(builder_, ir_, argument(pointer, offsetof(TbDecodeArgs, pages), "pages"));
  npages_ = argument(ir_.getInt32Ty(), offsetof(TbDecodeArgs, npages), "npages");
  if (rows_sink_) rowids_ = device_pointer(builder_, ir_, argument(pointer, offsetof(TbDecodeArgs, rowids), "rowids"));
  if (has_tids_) blocks_ = device_pointer(builder_, ir_, argument(pointer, offsetof(TbDecodeArgs, blocks), "blocks"));
  deferred_ = device_pointer(builder_, ir_, argument(pointer, offsetof(TbDecodeArgs, deferred), "deferred"));
  errors_ = variable(ir_.getInt32Ty(), "errors");
  page_ = variable(ir_.getInt32Ty(), "page");
  tuples_.bind(args_, pages_, errors_);
}

/* A local variable, zero; a register after SROA. */
llvm::AllocaInst* DecodeEmitter::variable(llvm::Type* type, const char* name) {
  llvm::AllocaInst* variable = ir_.CreateAlloca(type, nullptr, name);
  set(variable, llvm::Constant::getNullValue(type));
  return variable;
}

llvm::Value* DecodeEmitter::get(llvm::AllocaInst* variable) {
  return ir_.CreateLoad(variable->getAllocatedType(), variable, variable->getName());
}

void DecodeEmitter::set(llvm::AllocaInst* variable, llvm::Value* value) { ir_.CreateStore(value, variable); }

void DecodeEmitter::add(llvm::AllocaInst* variable, llvm::Value* value) {
  set(variable, ir_.CreateAdd(get(variable), value));
}

void DecodeEmitter::note_errors(llvm::Value* verdict) { set(errors_, ir_.CreateOr(get(errors_), verdict)); }

llvm::BasicBlock* DecodeEmitter::block(const char* name) {
  return llvm::BasicBlock::Create(builder_.context(), name, function_);
}

llvm::BasicBlock* DecodeEmitter::enter(const char* name) {
  llvm::BasicBlock* next = block(name);
  ir_.CreateBr(next);
  ir_.SetInsertPoint(next);
  return next;
}

llvm::Value* DecodeEmitter::page_address(llvm::Value* page) {
  llvm::Value* offset = ir_.CreateMul(ir_.CreateZExt(page, ir_.getInt64Ty()), ir_.getInt64(TB_PAGE_SIZE));
  return ir_.CreateInBoundsGEP(ir_.getInt8Ty(), pages_, offset, "page.address");
}

llvm::Value* DecodeEmitter::line_pointer(llvm::Value* page_address, llvm::Value* line) {
  llvm::Value* offset = ir_.CreateAdd(ir_.CreateMul(ir_.CreateZExt(line, ir_.getInt64Ty()), ir_.getInt64(kLinePointer)),
                                      ir_.getInt64(kPageHeader));
  return ir_.CreateLoad(ir_.getInt32Ty(), ir_.CreateInBoundsGEP(ir_.getInt8Ty(), page_address, offset), "line.pointer");
}

llvm::Value* DecodeEmitter::is_normal(llvm::Value* line_pointer) {
  llvm::Value* flags = ir_.CreateAnd(ir_.CreateLShr(line_pointer, kFlagsShift), ir_.getInt32(kFlagsMask));
  return ir_.CreateICmpEQ(flags, ir_.getInt32(kNormal), "normal");
}

/* TB_ROWID of the 0-based line. */
llvm::Value* DecodeEmitter::row_id(llvm::Value* page, llvm::Value* line) {
  return ir_.CreateOr(ir_.CreateShl(page, 16), ir_.CreateAdd(line, ir_.getInt32(1)), "row.id");
}

/* 0, with a verdict, for a page whose header is impossible. */
llvm::Value* DecodeEmitter::count_lines(llvm::Value* page_address) {
  llvm::Value* count = tuples_.call("rt_decode_line_count", {page_address}, "lines");
  llvm::Value* bad = ir_.CreateICmpEQ(count, ir_.getInt32(TB_NONE));
  note_errors(ir_.CreateSelect(bad, ir_.getInt32(TB_ERR_CORRUPT), ir_.getInt32(0)));
  return ir_.CreateSelect(bad, ir_.getInt32(0), count, "lines");
}

void DecodeEmitter::store_id(llvm::Value* array, llvm::Value* index, llvm::Value* id) {
  llvm::Value* i = ir_.CreateZExt(index, ir_.getInt64Ty());
  ir_.CreateStore(id, ir_.CreateInBoundsGEP(ir_.getInt32Ty(), array, i));
}

/* TB_PACKED_TID of the 0-based line. */
llvm::Value* DecodeEmitter::packed_tid(llvm::Value* page, llvm::Value* line) {
  llvm::Type* type = ir_.getInt64Ty();
  llvm::Value* at = ir_.CreateInBoundsGEP(ir_.getInt32Ty(), blocks_, ir_.CreateZExt(page, type));
  llvm::Value* block = ir_.CreateZExt(ir_.CreateLoad(ir_.getInt32Ty(), at, "block"), type);
  llvm::Value* offnum = ir_.CreateZExt(ir_.CreateAdd(line, ir_.getInt32(1)), type);
  return ir_.CreateOr(ir_.CreateShl(block, TB_TID_LINE_BITS), offnum, "tid");
}

void DecodeEmitter::store_row(const LocatedTuple& tuple, llvm::Value* row, llvm::Value* page, llvm::Value* line) {
  llvm::Value* tid = has_tids_ ? packed_tid(page, line) : nullptr;
  tuples_.store(tuple, ir_.CreateZExt(row, ir_.getInt64Ty(), "row"), tid);
  if (rows_sink_) store_id(rowids_, row, row_id(page, line));
}

/* ---- host ---- */

void DecodeEmitter::emit_host() {
  begin();
  bind_arguments();
  nrows_ = variable(ir_.getInt32Ty(), "nrows");
  ndeferred_ = variable(ir_.getInt32Ty(), "ndeferred");
  line_ = variable(ir_.getInt32Ty(), "line");
  page_ends_ = argument(ir_.getPtrTy(), offsetof(TbDecodeArgs, page_ends), "page.ends");
  llvm::BasicBlock* body = block("page.body");
  llvm::BasicBlock* line_body = block("line.body");
  llvm::BasicBlock* line_next = block("line.next");
  llvm::BasicBlock* page_next = block("page.next");
  llvm::BasicBlock* done = block("done");

  // For each page.
  llvm::BasicBlock* page_loop = enter("page.loop");
  llvm::Value* page = get(page_);
  ir_.CreateCondBr(ir_.CreateICmpULT(page, npages_), body, done);

  ir_.SetInsertPoint(body);
  llvm::Value* address = page_address(page);
  llvm::Value* lines = count_lines(address);
  set(line_, ir_.getInt32(0));
  // For each line pointer.
  llvm::BasicBlock* line_loop = enter("line.loop");
  ir_.CreateCondBr(ir_.CreateICmpULT(get(line_), lines), line_body, page_next);

  ir_.SetInsertPoint(line_body);
  host_line(page, address, line_next);
  ir_.SetInsertPoint(line_next);
  add(line_, ir_.getInt32(1));
  ir_.CreateBr(line_loop);

  // The page is done.
  ir_.SetInsertPoint(page_next);
  host_page_end(page);
  add(page_, ir_.getInt32(1));
  ir_.CreateBr(page_loop);

  // Report counts and errors.
  ir_.SetInsertPoint(done);
  ir_.CreateStore(get(nrows_), argument_address(offsetof(TbDecodeArgs, nrows)));
  ir_.CreateStore(get(ndeferred_), argument_address(offsetof(TbDecodeArgs, ndeferred)));
  llvm::Value* before = argument(ir_.getInt32Ty(), offsetof(TbDecodeArgs, errors), "errors.before");
  ir_.CreateStore(ir_.CreateOr(before, get(errors_)), argument_address(offsetof(TbDecodeArgs, errors)));
  ir_.CreateRetVoid();
}

/* Notes how many rows there are now, if someone asks. */
void DecodeEmitter::host_page_end(llvm::Value* page) {
  llvm::BasicBlock* note = block("page.end");
  llvm::BasicBlock* after = block("page.after");
  ir_.CreateCondBr(ir_.CreateIsNull(page_ends_), after, note);
  ir_.SetInsertPoint(note);
  store_id(page_ends_, page, get(nrows_));
  ir_.CreateBr(after);
  ir_.SetInsertPoint(after);
}

/* One line pointer; every way leads to `next`. */
void DecodeEmitter::host_line(llvm::Value* page, llvm::Value* address, llvm::BasicBlock* next) {
  llvm::BasicBlock* tuple_block = block("tuple");
  llvm::BasicBlock* is_row = block("tuple.row");
  llvm::BasicBlock* is_deferred = block("tuple.deferred");
  llvm::BasicBlock* is_corrupt = block("tuple.corrupt");
  llvm::Value* line = get(line_);
  llvm::Value* pointer = line_pointer(address, line);
  ir_.CreateCondBr(is_normal(pointer), tuple_block, next);

  // What does the tuple yield?
  ir_.SetInsertPoint(tuple_block);
  const LocatedTuple tuple = tuples_.locate(address, pointer);
  llvm::SwitchInst* outcome = ir_.CreateSwitch(tuple.status, is_row, 2);
  outcome->addCase(ir_.getInt32(kTupleDeferred), is_deferred);
  outcome->addCase(ir_.getInt32(kTupleCorrupt), is_corrupt);

  // A row.
  ir_.SetInsertPoint(is_row);
  store_row(tuple, get(nrows_), page, line);
  add(nrows_, ir_.getInt32(1));
  ir_.CreateBr(next);

  // A row for the backend.
  ir_.SetInsertPoint(is_deferred);
  store_id(deferred_, get(ndeferred_), row_id(page, line));
  add(ndeferred_, ir_.getInt32(1));
  ir_.CreateBr(next);

  // A verdict.
  ir_.SetInsertPoint(is_corrupt);
  note_errors(ir_.getInt32(TB_ERR_CORRUPT));
  ir_.CreateBr(next);
}

/* ---- GPU ---- */

llvm::Value* DecodeEmitter::special_register(llvm::Intrinsic::ID id) {
  return ir_.CreateIntrinsic(ir_.getInt32Ty(), id, {});
}

llvm::Value* DecodeEmitter::ballot(llvm::Value* flag) {
  return ir_.CreateIntrinsic(ir_.getInt32Ty(), llvm::Intrinsic::nvvm_vote_ballot_sync, {ir_.getInt32(kAllLanes), flag});
}

llvm::Value* DecodeEmitter::population(llvm::Value* mask) {
  return ir_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, mask);
}

/* Room for `count` rows: lane 0 takes it, all lanes learn where. */
llvm::Value* DecodeEmitter::reserve(llvm::Value* count) {
  llvm::BasicBlock* from = ir_.GetInsertBlock();
  llvm::BasicBlock* first = block("reserve.lane0");
  llvm::BasicBlock* after = block("reserve.after");
  ir_.CreateCondBr(ir_.CreateICmpEQ(lane_, ir_.getInt32(0)), first, after);
  ir_.SetInsertPoint(first);
  llvm::Value* taken = ir_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, argument_address(offsetof(TbDecodeArgs, nrows)),
                                           count, llvm::MaybeAlign(4), llvm::AtomicOrdering::Monotonic);
  ir_.CreateBr(after);
  ir_.SetInsertPoint(after);
  llvm::PHINode* base = ir_.CreatePHI(ir_.getInt32Ty(), 2, "base");
  base->addIncoming(taken, first);
  base->addIncoming(ir_.getInt32(0), from);
  return ir_.CreateIntrinsic(ir_.getInt32Ty(), llvm::Intrinsic::nvvm_shfl_sync_idx_i32,
                             {ir_.getInt32(kAllLanes), base, ir_.getInt32(0), ir_.getInt32(kWarp - 1)});
}

void DecodeEmitter::emit_gpu() {
  begin();
  bind_arguments();
  step_ = variable(ir_.getInt32Ty(), "step");
  count_ = variable(ir_.getInt32Ty(), "count");
  base_ = variable(ir_.getInt32Ty(), "base");
  // Number the warps of the grid.
  llvm::Value* thread = special_register(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x);
  llvm::Value* threads = special_register(llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x);
  llvm::Value* block_index = special_register(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x);
  llvm::Value* blocks = special_register(llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x);
  lane_ = ir_.CreateAnd(thread, ir_.getInt32(kWarp - 1), "lane");
  llvm::Value* warps_of_block = ir_.CreateLShr(threads, 5);
  llvm::Value* warp = ir_.CreateAdd(ir_.CreateMul(block_index, warps_of_block), ir_.CreateLShr(thread, 5), "warp");
  llvm::Value* warps = ir_.CreateMul(blocks, warps_of_block, "warps");
  set(page_, warp);
  llvm::BasicBlock* body = block("page.body");
  llvm::BasicBlock* step_body = block("step.body");
  llvm::BasicBlock* page_next = block("page.next");
  llvm::BasicBlock* done = block("done");

  // For each page of this warp.
  llvm::BasicBlock* page_loop = enter("page.loop");
  llvm::Value* page = get(page_);
  ir_.CreateCondBr(ir_.CreateICmpULT(page, npages_), body, done);

  ir_.SetInsertPoint(body);
  llvm::Value* address = page_address(page);
  llvm::Value* lines = count_lines(address);
  llvm::Value* batches = ir_.CreateLShr(ir_.CreateAdd(lines, ir_.getInt32(kWarp - 1)), 5, "batches");
  set(step_, ir_.getInt32(0));
  set(count_, ir_.getInt32(0));
  // Batches to count, then to write.
  llvm::BasicBlock* step_loop = enter("step.loop");
  ir_.CreateCondBr(ir_.CreateICmpULT(get(step_), ir_.CreateShl(batches, 1)), step_body, page_next);

  ir_.SetInsertPoint(step_body);
  gpu_step(page, address, lines, batches);
  add(step_, ir_.getInt32(1));
  ir_.CreateBr(step_loop);

  // The page is done.
  ir_.SetInsertPoint(page_next);
  add(page_, warps);
  ir_.CreateBr(page_loop);

  // Report errors, if any.
  ir_.SetInsertPoint(done);
  llvm::BasicBlock* report = block("report");
  llvm::BasicBlock* leave = block("leave");
  ir_.CreateCondBr(ir_.CreateICmpNE(get(errors_), ir_.getInt32(0)), report, leave);
  ir_.SetInsertPoint(report);
  ir_.CreateAtomicRMW(llvm::AtomicRMWInst::Or, argument_address(offsetof(TbDecodeArgs, errors)), get(errors_),
                      llvm::MaybeAlign(4), llvm::AtomicOrdering::Monotonic);
  ir_.CreateBr(leave);
  ir_.SetInsertPoint(leave);
  ir_.CreateRetVoid();
}

/* This lane's line of the current step. */
llvm::Value* DecodeEmitter::gpu_line(llvm::Value* batches) {
  llvm::Value* step = get(step_);
  llvm::Value* writing = ir_.CreateICmpUGE(step, batches);
  llvm::Value* batch = ir_.CreateSelect(writing, ir_.CreateSub(step, batches), step);
  return ir_.CreateAdd(ir_.CreateShl(batch, 5), lane_, "line");
}

/* One batch of line pointers, counting or writing. */
void DecodeEmitter::gpu_step(llvm::Value* page, llvm::Value* address, llvm::Value* lines, llvm::Value* batches) {
  llvm::BasicBlock* turn = block("step.turn");
  llvm::BasicBlock* batch = block("step.batch");
  // Between the passes: reserve rows.
  llvm::Value* first_write = ir_.CreateICmpEQ(get(step_), batches);
  ir_.CreateCondBr(first_write, turn, batch);
  ir_.SetInsertPoint(turn);
  set(base_, reserve(get(count_)));
  ir_.CreateBr(batch);

  // Locate this lane's tuple.
  ir_.SetInsertPoint(batch);
  llvm::Value* line = gpu_line(batches);
  llvm::BasicBlock* in_page = block("line.in_page");
  llvm::BasicBlock* tuple_block = block("tuple");
  llvm::BasicBlock* vote = block("vote");
  ir_.CreateCondBr(ir_.CreateICmpULT(line, lines), in_page, vote);
  ir_.SetInsertPoint(in_page);
  llvm::Value* pointer = line_pointer(address, line);
  ir_.CreateCondBr(is_normal(pointer), tuple_block, vote);
  ir_.SetInsertPoint(tuple_block);
  LocatedTuple tuple = tuples_.locate(address, pointer);
  llvm::BasicBlock* located = ir_.GetInsertBlock();
  ir_.CreateBr(vote);

  // Lanes meet, with or without tuple.
  ir_.SetInsertPoint(vote);
  auto carry = [&](llvm::Value*& value, llvm::Value* otherwise) {
    if (value == nullptr) return;
    llvm::PHINode* phi = ir_.CreatePHI(value->getType(), 3);
    phi->addIncoming(value, located);
    phi->addIncoming(otherwise, batch);
    phi->addIncoming(otherwise, in_page);
    value = phi;
  };
  auto carry_defined = [&](llvm::Value*& value) {
    if (value != nullptr) carry(value, llvm::PoisonValue::get(value->getType()));
  };
  carry(tuple.status, ir_.getInt32(kTupleNone));
  carry_defined(tuple.tuple);
  carry_defined(tuple.data);
  carry_defined(tuple.natts);
  for (LocatedTuple::Column& column : tuple.columns) {
    carry_defined(column.offset);
    carry_defined(column.absent);
  }

  // Which lanes have a row?
  llvm::Value* is_row = ir_.CreateICmpEQ(tuple.status, ir_.getInt32(kTupleRow), "is.row");
  llvm::Value* mask = ballot(is_row);
  llvm::BasicBlock* counting = block("counting");
  llvm::BasicBlock* writing = block("writing");
  llvm::BasicBlock* write = block("write.row");
  llvm::BasicBlock* written = block("written");
  llvm::BasicBlock* next = block("step.next");
  ir_.CreateCondBr(ir_.CreateICmpULT(get(step_), batches), counting, writing);

  // First pass.
  ir_.SetInsertPoint(counting);
  add(count_, population(mask));
  gpu_note(tuple.status, row_id(page, line));
  ir_.CreateBr(next);

  // Second pass.
  ir_.SetInsertPoint(writing);
  ir_.CreateCondBr(is_row, write, written);
  ir_.SetInsertPoint(write);
  llvm::Value* before = special_register(llvm::Intrinsic::nvvm_read_ptx_sreg_lanemask_lt);
  llvm::Value* row = ir_.CreateAdd(get(base_), population(ir_.CreateAnd(mask, before)), "row.number");
  store_row(tuple, row, page, line);
  ir_.CreateBr(written);
  ir_.SetInsertPoint(written);
  add(base_, population(mask));
  ir_.CreateBr(next);
  ir_.SetInsertPoint(next);
}

/* A tuple without a row, noted once: while counting. */
void DecodeEmitter::gpu_note(llvm::Value* status, llvm::Value* id) {
  llvm::Value* corrupt = ir_.CreateICmpEQ(status, ir_.getInt32(kTupleCorrupt));
  note_errors(ir_.CreateSelect(corrupt, ir_.getInt32(TB_ERR_CORRUPT), ir_.getInt32(0)));
  llvm::BasicBlock* defer = block("defer");
  llvm::BasicBlock* noted = block("noted");
  ir_.CreateCondBr(ir_.CreateICmpEQ(status, ir_.getInt32(kTupleDeferred)), defer, noted);
  ir_.SetInsertPoint(defer);
  llvm::Value* place = ir_.CreateAtomicRMW(llvm::AtomicRMWInst::Add,
                                           argument_address(offsetof(TbDecodeArgs, ndeferred)), ir_.getInt32(1),
                                           llvm::MaybeAlign(4), llvm::AtomicOrdering::Monotonic);
  store_id(deferred_, place, id);
  ir_.CreateBr(noted);
  ir_.SetInsertPoint(noted);
}

}  // namespace

void emit_decode(ModuleBuilder& builder, const Program& program) {
  if (program.header().source != TB_SOURCE_HEAP) return;  // columns only
  DecodeEmitter emitter(builder, program);
  if (builder.gpu())
    emitter.emit_gpu();
  else
    emitter.emit_host();
}

}  // namespace turbine
