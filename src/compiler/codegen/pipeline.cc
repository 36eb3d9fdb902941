/*
 * pipeline.cc - chooses a pipeline's shape by the target.
 *
 * Called once per compilation by jit/. Must emit nothing itself:
 * pipeline_host.cc and pipeline_gpu.cc do.
 */
#include "compiler/codegen/pipeline.h"

namespace turbine {

void emit_pipeline(ModuleBuilder& builder, const Program& program) {
  const GroupLayout layout = group_layout(program);
  if (builder.gpu())
    emit_gpu_pipeline(builder, program, layout);
  else
    emit_host_pipeline(builder, program, layout);
}

}  // namespace turbine
