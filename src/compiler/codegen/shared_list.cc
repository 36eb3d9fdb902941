/*
 * shared_list.cc - see shared_list.h.
 *
 * Called by probe_gpu.cc. Shared memory is not cleared when a block begins, so nothing here has a first value.
 */
#include "compiler/codegen/shared_list.h"

#include "compiler/codegen/llvm_versions.h"

namespace turbine {

using llvm::Value;

namespace {

constexpr unsigned kShared = 3;  // the address space

llvm::GlobalVariable* make_shared(RowEmitter& rows, llvm::Type* type, const llvm::Twine& name) {
  auto* variable = new llvm::GlobalVariable(rows.builder().module(), type, false, llvm::GlobalValue::InternalLinkage,
                                            llvm::UndefValue::get(type), name, nullptr,
                                            llvm::GlobalValue::NotThreadLocal, kShared);
  variable->setAlignment(llvm::Align(16));
  return variable;
}

}  // namespace

llvm::GlobalVariable* make_shared_word(RowEmitter& rows, llvm::Type* type, const char* name) {
  return make_shared(rows, type, name);
}

void emit_block_barrier(RowEmitter& rows) { create_block_barrier(rows.ir()); }

SharedList::SharedList(RowEmitter& rows, const char* name, uint32_t words, uint32_t room)
    : rows_(rows),
      room_(room),
      count_(make_shared(rows, rows.ir().getInt32Ty(), llvm::Twine(name) + ".count")),
      entries_(make_shared(rows, llvm::ArrayType::get(rows.ir().getInt32Ty(), uint64_t{words} * room),
                           llvm::Twine(name) + ".entries")) {}

void SharedList::clear() { rows_.ir().CreateStore(rows_.ir().getInt32(0), count_); }

Value* SharedList::append() {
  auto& ir = rows_.ir();
  return rows_.call_rt("rt_warp_append", {ir.CreateAddrSpaceCast(count_, ir.getPtrTy())});
}

Value* SharedList::word(uint32_t which, Value* place) {
  auto& ir = rows_.ir();
  return rows_.index(ir.getInt32Ty(), entries_, ir.CreateAdd(place, ir.getInt32(which * room_)));
}

Value* SharedList::size() { return rows_.ir().CreateLoad(rows_.ir().getInt32Ty(), count_); }

}  // namespace turbine
