/*
 * module_builder.h - the module that emitters fill, and the device library's
 * declarations in it.
 *
 * One ModuleBuilder per compilation. rt() declares a function of src/rt with
 * the signature that its bitcode has, never retyped; its body is linked,
 * internalised and inlined after emission (jit/).
 */
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <map>
#include <memory>
#include <string>
#include <tuple>

#include "compiler/codegen/expression_parts.h"
#include "engine/program/program.h"
#include "turbine/compile.h"
#include "turbine/kernel.h"

namespace turbine {

class ModuleBuilder {
 public:
  ModuleBuilder(llvm::Module& module, const llvm::Module& rt_bitcode, TbTarget target)
      : module_(module), rt_(rt_bitcode), target_(target) {}

  llvm::Module& module() { return module_; }
  llvm::LLVMContext& context() { return module_.getContext(); }
  TbTarget target() const { return target_; }
  bool gpu() const { return target_ == TB_TARGET_PTX; }

  /* A function of the device library. Throws std::runtime_error if src/rt has
   * no such symbol. */
  llvm::Function* rt(llvm::StringRef symbol);

  /* Creates the entry point `name` with one pointer argument: external,
   * default visibility; on the GPU a kernel, of which so many blocks
   * of threads find registers on one multiprocessor. Positions nothing; the caller adds
   * its code. */
  llvm::Function* entry_point(llvm::StringRef name, uint32_t blocks = TB_BLOCKS_PER_MULTIPROCESSOR);

  /* Functions of parts, by expression and the range of its operands: all loops of the module call the same. */
  using PartKey = std::tuple<uint32_t, uint32_t, uint32_t>;
  std::map<PartKey, std::unique_ptr<ExpressionPart>>& parts() { return parts_; }

 private:
  std::map<PartKey, std::unique_ptr<ExpressionPart>> parts_;
  llvm::Module& module_;
  const llvm::Module& rt_;
  TbTarget target_;
};

/* decode.cc: tb_decode for the program's table and columns. */
void emit_decode(ModuleBuilder& builder, const Program& program);

/* pipeline.cc: tb_pipeline, or the GPU's kernels of the program's sink. */
void emit_pipeline(ModuleBuilder& builder, const Program& program);

}  // namespace turbine
