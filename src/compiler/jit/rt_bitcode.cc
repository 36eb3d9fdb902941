/*
 * rt_bitcode.cc - embeds the two bitcode files that src/rt is built into.
 * TURBINE_RT_BITCODE_DIR is the build's folder of them.
 *
 * Called by runtime_link.cc, which must not change the bytes.
 */
#include "compiler/jit/rt_bitcode.h"

// clang-format off
#define EMBED(name, file)                      \
  asm(".section .rodata." #name ",\"a\"\n"     \
      ".balign 16\n"                           \
      ".global " #name "_begin\n"              \
      ".hidden " #name "_begin\n"              \
      #name "_begin:\n"                        \
      ".incbin \"" file "\"\n"                 \
      ".global " #name "_end\n"                \
      ".hidden " #name "_end\n"                \
      #name "_end:\n"                          \
      ".previous\n");                          \
  extern "C" const char name##_begin[];        \
  extern "C" const char name##_end[]
// clang-format on

EMBED(turbine_rt_host, TURBINE_RT_BITCODE_DIR "/rt_host.bc");
EMBED(turbine_rt_nvptx, TURBINE_RT_BITCODE_DIR "/rt_nvptx.bc");

namespace turbine {

std::string_view rt_bitcode(TbTarget target) {
  const char* begin = target == TB_TARGET_PTX ? turbine_rt_nvptx_begin : turbine_rt_host_begin;
  const char* end = target == TB_TARGET_PTX ? turbine_rt_nvptx_end : turbine_rt_host_end;
  return {begin, static_cast<size_t>(end - begin)};
}

}  // namespace turbine
