/*
 * compiled_pipeline.h - compiles a test's program for the host, loads it, and
 * generates its PTX, which must leave no symbol unresolved.
 */
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "compiler/jit/compile_program.h"
#include "compiler/testing/effort.h"
#include "compiler/testing/loaded_object.h"
#include "turbine/kernel.h"

namespace turbine::testing {

using PipelineFn = void (*)(TbPipelineArgs*);

class CompiledPipeline {
 public:
  explicit CompiledPipeline(const std::vector<uint8_t>& blob, bool gpu = true) : program_(Program::parse(blob)) {
    const CompiledArtifact artifact = compile_program(program_, TB_TARGET_HOST, "", "", effort());
    object_ = std::make_unique<LoadedObject>(artifact.bytes);
    pipeline = object_->symbol<PipelineFn>("tb_pipeline");
    if (pipeline == nullptr) throw std::runtime_error("no tb_pipeline");
    late_columns = object_->symbol<const uint64_t*>("tb_late_columns");
    if (!gpu || program_.sink() == TB_SINK_BUILD) return;
    const CompiledArtifact ptx = compile_program(program_, TB_TARGET_PTX, "sm_90", "");
    ptx_ = std::string(ptx.bytes.begin(), ptx.bytes.end());
    if (ptx_.find(".extern .func") != std::string::npos) throw std::runtime_error("unresolved symbols in PTX");
    const bool tuples = !program_.joins().empty() || program_.sink() == TB_SINK_PROJECT;
    if (has_kernel("tb_probe") != tuples) throw std::runtime_error("tb_probe");
    if (has_kernel("tb_project") != (program_.sink() == TB_SINK_PROJECT)) throw std::runtime_error("tb_project");
  }
  PipelineFn pipeline = nullptr;
  const uint64_t* late_columns = nullptr;
  const Program& program() const { return program_; }
  const std::string& ptx() const { return ptx_; }
  bool has_kernel(const std::string& name) const { return ptx_.find(".entry " + name + "(") != std::string::npos; }

 private:
  Program program_;
  std::unique_ptr<LoadedObject> object_;
  std::string ptx_;
};

/* Arguments of a run over `columns`, with scratch of its own. */
struct PipelineCall {
  std::vector<uint8_t> scratch = std::vector<uint8_t>(TB_SCRATCH_SIZE + 64);
  TbPipelineArgs args{};
  PipelineCall(const std::vector<TbColumnData>& columns, uint32_t nrows, const std::string& params) {
    args.columns = columns.data();
    args.nrows = nrows;
    args.params = reinterpret_cast<const TbParamBlock*>(params.data());
    args.scratch = reinterpret_cast<uint8_t*>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) & ~uintptr_t{63});
    args.scratch_size = TB_SCRATCH_SIZE;
  }
};

}  // namespace turbine::testing
