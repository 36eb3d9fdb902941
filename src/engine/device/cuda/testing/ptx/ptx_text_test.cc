/*
 * ptx_text_test.cc - what the parser makes of PTX text.
 */
#include "engine/device/cuda/testing/ptx/ptx_text.h"

#include <gtest/gtest.h>

namespace turbine::ptx {
namespace {

TEST(PtxTextTest, FindsFunctionsVariablesAndOperands) {
  const ParsedModule module = parse_ptx(R"(
//
.version 8.0
.target sm_70, debug
.address_size 64
.global .align 4 .b8 table[6] = {1, 2, -1};   // the rest is 0
.visible .global .align 8 .u64 pointer = generic(table)+4;
.func (.param .b32 func_retval0) helper(.param .b64 helper_param_0);
.visible .entry kernel(
  .param .u64 kernel_param_0
)
.maxntid 256, 1, 1
{
  .reg .pred  %p<3>;
  .reg .b32  %r<5>;
  .local .align 8 .b8  __local_depot0[24];
$L__BB0_1: /* a comment
of two lines */
  @!%p2 ld.global.L1::evict_last.v2.u32  {%r1, %r4}, [%r3+-8];
  {
  .reg .b32 tmp;
  mov.b64 {%r1, tmp}, 0d3FF0000000000000;
  }
  brx.idx %r2, $L_brx_0;
$L_brx_0: .branchtargets $L__BB0_1, $L__BB0_1;
}
)");
  ASSERT_EQ(module.functions.size(), 1u);
  ASSERT_EQ(module.variables.size(), 2u);
  EXPECT_EQ(module.variables[0].bytes, 6u);
  EXPECT_EQ(module.variables[0].values.size(), 3u);
  EXPECT_EQ(module.variables[0].values[2].value, ~uint64_t{0});
  EXPECT_EQ(module.variables[1].values[0].symbol, "table");
  EXPECT_EQ(module.variables[1].values[0].value, 4u);

  const ParsedFunction& function = module.functions[0];
  EXPECT_TRUE(function.is_entry);
  EXPECT_EQ(function.registers.size(), 3u + 5 + 1);
  EXPECT_EQ(function.variables.size(), 2u);
  EXPECT_EQ(function.variables[1].bytes, 24u);
  EXPECT_EQ(function.labels.at("$L__BB0_1"), 0u);
  EXPECT_EQ(function.branch_targets.at("$L_brx_0").size(), 2u);
  ASSERT_EQ(function.statements.size(), 3u);
  const Statement& load = function.statements[0];
  EXPECT_EQ(load.guard, 2);
  EXPECT_TRUE(load.guard_negated);
  EXPECT_EQ(load.opcode, (std::vector<std::string_view>{"ld", "global", "L1", "evict_last", "v2", "u32"}));
  EXPECT_EQ(load.operands[0].elements[1].reg, 3 + 4);
  EXPECT_EQ(module.line_text(load.line).substr(0, 8), "line 19:");
  // `tmp` is the register of the inner braces, behind all others.
  EXPECT_EQ(function.statements[1].operands[0].elements[1].reg, 8);
  EXPECT_EQ(function.statements[1].operands[1].number, 0x3ff0000000000000u);
}

TEST(PtxTextTest, TellsWhereTextIsWrong) {
  for (const char* text :
       {".entry k() { add.s32 %r1 %r2; }", ".entry k() { @%p1 ret; }", ".global .b8 x[2", "fine", ".entry k() {"}) {
    try {
      parse_ptx(text);
      ADD_FAILURE() << text;
    } catch (const PtxError& error) {
      EXPECT_EQ(std::string(error.what()).substr(0, 7), "line 1:") << error.what();
    }
  }
}

}  // namespace
}  // namespace turbine::ptx
