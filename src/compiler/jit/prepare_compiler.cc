/*
 * prepare_compiler.cc - what a process does once before it compiles.
 *
 * Above all one compilation of the smallest program for each target: afterwards
 * LLVM's tables exist and its pages are in memory, and a forked child pays for
 * neither.
 */
#include <llvm/Support/ErrorHandling.h>

#include <cstring>

#include "compiler/jit/compile_program.h"
#include "compiler/jit/targets.h"

namespace turbine {

namespace {

/* SELECT of the row ids of a table with one integer column. */
Program smallest_program() {
  struct {
    TbProgram header;
    TbAttribute attribute;
    TbColumn column;
  } blob;
  std::memset(&blob, 0, sizeof(blob));
  blob.header.magic = TB_PROGRAM_MAGIC;
  blob.header.version = TB_PROGRAM_VERSION;
  blob.header.sink = TB_SINK_ROWS;
  blob.header.source = TB_SOURCE_HEAP;
  blob.header.total_size = sizeof(blob);
  const uint32_t attribute = sizeof(TbProgram);
  const uint32_t column = attribute + sizeof(TbAttribute);
  const uint32_t end = column + sizeof(TbColumn);
  blob.header.attributes = {1, attribute};
  blob.header.columns = {1, column};
  for (TbSection* empty : {&blob.header.exprs, &blob.header.args, &blob.header.filters, &blob.header.keys,
                           &blob.header.aggs, &blob.header.params, &blob.header.outputs})
    *empty = {0, end};
  blob.attribute.length = 4;
  blob.attribute.align = 4;
  blob.attribute.flags = TB_ATT_BYVAL | TB_ATT_NOTNULL;
  blob.column.attnum = 1;
  blob.column.type = TB_TYPE_INT4;
  blob.column.missing_param = TB_NONE;
  return Program::parse({reinterpret_cast<const uint8_t*>(&blob), sizeof(blob)});
}

}  // namespace

void prepare_compiler() {
  initialize_targets();
  const Program program = smallest_program();
  for (TbTarget target : {TB_TARGET_HOST, TB_TARGET_PTX}) compile_program(program, target, "", "");
  compile_program(program, TB_TARGET_HOST, "", "", TB_EFFORT_QUICK);
}

void set_fatal_error_handler(void (*handler)(const char* reason)) {
  static void (*current)(const char*);
  if (current != nullptr) llvm::remove_fatal_error_handler();
  current = handler;
  llvm::install_fatal_error_handler([](void*, const char* reason, bool) { current(reason); });
}

void raise_fatal_error(const char* reason) { llvm::report_fatal_error(reason, false); }

}  // namespace turbine
