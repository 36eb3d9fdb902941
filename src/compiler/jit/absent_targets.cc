/*
 * absent_targets.cc - empty initialisers of the LLVM targets that we leave out.
 *
 * lld's driver initialises every target that LLVM was configured with, for its
 * link-time optimisation, which we never use. Without these definitions the
 * executable would have to contain all of them; with them it holds X86 and
 * NVPTX only.
 */

#define ABSENT(target)                                  \
  extern "C" void LLVMInitialize##target##TargetInfo(); \
  extern "C" void LLVMInitialize##target##Target();     \
  extern "C" void LLVMInitialize##target##TargetMC();   \
  extern "C" void LLVMInitialize##target##AsmPrinter(); \
  extern "C" void LLVMInitialize##target##AsmParser();  \
  void LLVMInitialize##target##TargetInfo() {}          \
  void LLVMInitialize##target##Target() {}              \
  void LLVMInitialize##target##TargetMC() {}            \
  void LLVMInitialize##target##AsmPrinter() {}          \
  void LLVMInitialize##target##AsmParser() {}

/* All targets of LLVM but the two that are linked. */
#define PRESENT(target)
#define LLVM_TARGET_AArch64 ABSENT
#define LLVM_TARGET_AMDGPU ABSENT
#define LLVM_TARGET_ARC ABSENT
#define LLVM_TARGET_ARM ABSENT
#define LLVM_TARGET_AVR ABSENT
#define LLVM_TARGET_BPF ABSENT
#define LLVM_TARGET_CSKY ABSENT
#define LLVM_TARGET_DirectX ABSENT
#define LLVM_TARGET_Hexagon ABSENT
#define LLVM_TARGET_Lanai ABSENT
#define LLVM_TARGET_LoongArch ABSENT
#define LLVM_TARGET_M68k ABSENT
#define LLVM_TARGET_Mips ABSENT
#define LLVM_TARGET_MSP430 ABSENT
#define LLVM_TARGET_NVPTX PRESENT
#define LLVM_TARGET_PowerPC ABSENT
#define LLVM_TARGET_RISCV ABSENT
#define LLVM_TARGET_Sparc ABSENT
#define LLVM_TARGET_SPIRV ABSENT
#define LLVM_TARGET_SystemZ ABSENT
#define LLVM_TARGET_VE ABSENT
#define LLVM_TARGET_WebAssembly ABSENT
#define LLVM_TARGET_X86 PRESENT
#define LLVM_TARGET_XCore ABSENT
#define LLVM_TARGET_Xtensa ABSENT

#define LLVM_TARGET(target) LLVM_TARGET_##target(target)
#include <llvm/Config/Targets.def>
