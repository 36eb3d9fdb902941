/*
 * loop_emitter.cc - emits loops, conditionals and switches with carried values.
 *
 * Called by all emitters of code with branches. Owns no values except the ones that it
 * carries.
 */
#include "compiler/codegen/loop_emitter.h"

namespace turbine {

using llvm::BasicBlock;
using llvm::Value;

namespace {

/* The code generator makes one jump of a condition that is called unpredictable. */
void shape(llvm::BranchInst* jump, Branch branch) {
  if (branch == Branch::kWhole)
    jump->setMetadata(llvm::LLVMContext::MD_unpredictable, llvm::MDNode::get(jump->getContext(), {}));
}

}  // namespace

llvm::MDNode* new_access_group(RowEmitter& rows) { return llvm::MDNode::getDistinct(rows.builder().context(), {}); }

Carried emit_loop(RowEmitter& rows, const char* name, Value* begin, Value* end, const Carried& init,
                  llvm::function_ref<Carried(Value*, const Carried&)> body, const LoopOptions& options) {
  auto& ir = rows.ir();
  llvm::LLVMContext& context = rows.builder().context();
  llvm::Function* parent = ir.GetInsertBlock()->getParent();
  BasicBlock* before = ir.GetInsertBlock();
  BasicBlock* loop = BasicBlock::Create(context, std::string(name) + ".loop", parent);
  BasicBlock* done = BasicBlock::Create(context, std::string(name) + ".done", parent);
  ir.CreateCondBr(ir.CreateICmpULT(begin, end), loop, done);

  ir.SetInsertPoint(loop);
  llvm::PHINode* i = ir.CreatePHI(begin->getType(), 2, "i");
  i->addIncoming(begin, before);
  Carried current;
  llvm::SmallVector<llvm::PHINode*, 8> phis;
  for (Value* v : init) {
    llvm::PHINode* phi = ir.CreatePHI(v->getType(), 2);
    phi->addIncoming(v, before);
    phis.push_back(phi);
    current.push_back(phi);
  }
  Carried next = body(i, current);
  Value* i_next = ir.CreateNUWAdd(i, options.step ? options.step : llvm::ConstantInt::get(i->getType(), 1));
  BasicBlock* latch = ir.GetInsertBlock();
  llvm::BranchInst* back = ir.CreateCondBr(ir.CreateICmpULT(i_next, end), loop, done);
  i->addIncoming(i_next, latch);
  for (size_t k = 0; k < phis.size(); k++) phis[k]->addIncoming(next[k], latch);
  if (options.parallel_group) {
    llvm::MDNode* accesses = llvm::MDNode::get(
        context, {llvm::MDString::get(context, "llvm.loop.parallel_accesses"), options.parallel_group});
    llvm::SmallVector<llvm::Metadata*, 2> fields{nullptr, accesses};
    llvm::MDNode* id = llvm::MDNode::getDistinct(context, fields);
    id->replaceOperandWith(0, id);
    back->setMetadata(llvm::LLVMContext::MD_loop, id);
  }

  ir.SetInsertPoint(done);
  Carried out;
  for (size_t k = 0; k < phis.size(); k++) {
    llvm::PHINode* phi = ir.CreatePHI(init[k]->getType(), 2);
    phi->addIncoming(init[k], before);
    phi->addIncoming(next[k], latch);
    out.push_back(phi);
  }
  return out;
}

Carried emit_while(RowEmitter& rows, const char* name, const Carried& init,
                   llvm::function_ref<Value*(const Carried&)> cond, llvm::function_ref<Carried(const Carried&)> body,
                   Branch branch) {
  auto& ir = rows.ir();
  llvm::LLVMContext& context = rows.builder().context();
  llvm::Function* parent = ir.GetInsertBlock()->getParent();
  BasicBlock* before = ir.GetInsertBlock();
  BasicBlock* test = BasicBlock::Create(context, std::string(name) + ".test", parent);
  BasicBlock* loop = BasicBlock::Create(context, std::string(name) + ".loop", parent);
  BasicBlock* done = BasicBlock::Create(context, std::string(name) + ".done", parent);
  ir.CreateBr(test);

  ir.SetInsertPoint(test);
  Carried current;
  llvm::SmallVector<llvm::PHINode*, 8> phis;
  for (Value* v : init) {
    phis.push_back(ir.CreatePHI(v->getType(), 2));
    phis.back()->addIncoming(v, before);
    current.push_back(phis.back());
  }
  shape(ir.CreateCondBr(cond(current), loop, done), branch);

  ir.SetInsertPoint(loop);
  const Carried next = body(current);
  for (size_t k = 0; k < phis.size(); k++) phis[k]->addIncoming(next[k], ir.GetInsertBlock());
  ir.CreateBr(test);

  ir.SetInsertPoint(done);
  return current;
}

Carried emit_switch(RowEmitter& rows, const char* name, Value* value, const std::vector<SwitchCase>& cases,
                    const std::function<Carried()>& otherwise) {
  auto& ir = rows.ir();
  llvm::LLVMContext& context = rows.builder().context();
  llvm::Function* parent = ir.GetInsertBlock()->getParent();
  BasicBlock* standard = BasicBlock::Create(context, std::string(name) + ".default", parent);
  BasicBlock* after = BasicBlock::Create(context, std::string(name) + ".done", parent);
  llvm::SwitchInst* fork = ir.CreateSwitch(value, standard, static_cast<unsigned>(cases.size()));
  std::vector<std::pair<Carried, BasicBlock*>> ends;
  auto arm = [&](BasicBlock* block, const std::function<Carried()>& body) {
    ir.SetInsertPoint(block);
    Carried result = body();
    ends.emplace_back(std::move(result), ir.GetInsertBlock());
    ir.CreateBr(after);
  };
  for (const SwitchCase& c : cases) {
    BasicBlock* block = BasicBlock::Create(context, std::string(name) + ".case", parent);
    fork->addCase(llvm::cast<llvm::ConstantInt>(llvm::ConstantInt::get(value->getType(), c.value)), block);
    arm(block, c.body);
  }
  arm(standard, otherwise);
  ir.SetInsertPoint(after);
  Carried out;
  for (size_t k = 0; k < ends[0].first.size(); k++) {
    llvm::PHINode* phi = ir.CreatePHI(ends[0].first[k]->getType(), static_cast<unsigned>(ends.size()));
    for (const auto& [result, end] : ends) phi->addIncoming(result[k], end);
    out.push_back(phi);
  }
  return out;
}

Carried emit_if(RowEmitter& rows, const char* name, Value* cond, const Carried& init,
                llvm::function_ref<Carried()> body, Branch branch) {
  auto& ir = rows.ir();
  llvm::Function* parent = ir.GetInsertBlock()->getParent();
  BasicBlock* before = ir.GetInsertBlock();
  BasicBlock* then = BasicBlock::Create(rows.builder().context(), std::string(name) + ".then", parent);
  BasicBlock* after = BasicBlock::Create(rows.builder().context(), std::string(name) + ".after", parent);
  shape(ir.CreateCondBr(cond, then, after), branch);
  ir.SetInsertPoint(then);
  Carried result = body();
  BasicBlock* then_end = ir.GetInsertBlock();
  ir.CreateBr(after);
  ir.SetInsertPoint(after);
  Carried out;
  for (size_t k = 0; k < init.size(); k++) {
    llvm::PHINode* phi = ir.CreatePHI(init[k]->getType(), 2);
    phi->addIncoming(init[k], before);
    phi->addIncoming(result[k], then_end);
    out.push_back(phi);
  }
  return out;
}

}  // namespace turbine
