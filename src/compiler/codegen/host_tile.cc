/*
 * host_tile.cc - what filters, joins and sinks of the host's tb_pipeline emit their loops with.
 *
 * Owns the places of a batch, the scratch memory and the exit if there is no room. Called once per compilation by
 * pipeline_host.cc, host_joins.cc and the sinks. Emitted code must never wait.
 */
#include "compiler/codegen/host_tile.h"

#include <cstddef>
#include <stdexcept>

namespace turbine {

using llvm::BasicBlock;
using llvm::Value;

HostTile::HostTile(ModuleBuilder& builder, const Program& program)
    : builder_(builder), program_(program), ir_(builder.context()), rows_(builder, program, ir_) {}

void HostTile::bind_columns(Value* args, Value* tables, const std::vector<bool>& late) {
  args_ = args;
  auto pointer = [&](uint64_t offset) { return field(ir_.getPtrTy(), offset); };
  rows_.bind(pointer(offsetof(TbPipelineArgs, columns)), pointer(offsetof(TbPipelineArgs, bytes)),
             pointer(offsetof(TbPipelineArgs, params)), tables);
  rows_.bind_codes(late, pointer(offsetof(TbPipelineArgs, codes)));
  rows_.bind_entry_results(pointer(offsetof(TbPipelineArgs, entry_results)));
}

void HostTile::bind_scratch() {
  scratch_ = field(ir_.getPtrTy(), offsetof(TbPipelineArgs, scratch));
  mask_ = take_scratch(TB_TILE_ROWS);
  hashes_ = take_scratch(8 * TB_TILE_ROWS);
  words_ = take_words();
}

Value* HostTile::take_scratch(uint64_t bytes) {
  Value* array = rows_.at(scratch_, scratch_used_);
  scratch_used_ += (bytes + 63) & ~uint64_t{63};
  if (scratch_used_ > TB_SCRATCH_SIZE) throw std::runtime_error("too many joins that fan out");
  return array;
}

void HostTile::add_to_field(uint64_t offset, Value* amount) {
  set_field(offset, ir_.CreateAdd(field(amount->getType(), offset), amount));
}

void HostTile::or_errors(Value* bits) {
  if (!bits) return;
  Value* old = field(ir_.getInt32Ty(), offsetof(TbPipelineArgs, errors));
  set_field(offsetof(TbPipelineArgs, errors), ir_.CreateOr(old, bits));
}

TupleBatch HostTile::new_batch() {
  TupleBatch b;
  b.selection = take_words();
  b.matches.resize(program_.joins().size());
  return b;
}

Value* HostTile::begin_tuple(const TupleBatch& b, Value* k, llvm::MDNode* access_group) {
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

void HostTile::keep_tuples(const char* name, TupleBatch& b, llvm::function_ref<Value*()> keeps, const Ahead* ahead) {
  Carried end = emit_loop(rows_, name, ir_.getInt64(0), b.count, {ir_.getInt64(0), ir_.getInt32(0)},
                          [&](Value* k, const Carried& now) -> Carried {
                            if (ahead) {
                              Value* later = ir_.CreateAdd(k, ir_.getInt64(ahead->distance));
                              Value* last = ir_.CreateSub(b.count, ir_.getInt64(1));
                              begin_tuple(b, ir_.CreateBinaryIntrinsic(llvm::Intrinsic::umin, later, last));
                              ahead->prefetch();
                            }
                            Value* place = begin_tuple(b, k);
                            Value* keep = keeps();
                            Value* errors = rows_.take_errors();
                            ir_.CreateStore(ir_.CreateTrunc(place, ir_.getInt32Ty()), word_at(b.selection, now[0]));
                            return {ir_.CreateAdd(now[0], ir_.CreateZExt(keep, ir_.getInt64Ty())),
                                    errors ? ir_.CreateOr(now[1], errors) : now[1]};
                          });
  or_errors(end[1]);
  b.count = end[0];
  b.places = b.selection;
}

void HostTile::keep_masked(TupleBatch& b) {
  Value* n = ir_.CreateTrunc(b.count, ir_.getInt32Ty());
  b.count = ir_.CreateZExt(rows_.call_rt("rt_mask_to_selection", {mask_, n, b.selection}), ir_.getInt64Ty());
  b.places = b.selection;
}

/*
 * if (!enough && args->make_room(args, rows, bytes) == 0) {
 *   args->status = TB_PIPELINE_STOPPED;
 *   return;
 * }
 */
void HostTile::emit_room(Value* enough, Value* rows, Value* bytes) {
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
  set_field(offsetof(TbPipelineArgs, status), ir_.getInt32(TB_PIPELINE_STOPPED));
  ir_.CreateRetVoid();

  ir_.SetInsertPoint(go);
}

/*
 * if (stop) {
 *   args->status = TB_PIPELINE_STOPPED;
 *   return;
 * }
 */
void HostTile::emit_stop(Value* stop) {
  llvm::Function* fn = ir_.GetInsertBlock()->getParent();
  auto block = [&](const char* name) { return BasicBlock::Create(builder_.context(), name, fn); };
  BasicBlock *stopped = block("stopped"), *go = block("go");
  ir_.CreateCondBr(stop, stopped, go);

  ir_.SetInsertPoint(stopped);
  set_field(offsetof(TbPipelineArgs, status), ir_.getInt32(TB_PIPELINE_STOPPED));
  ir_.CreateRetVoid();

  ir_.SetInsertPoint(go);
}

}  // namespace turbine
