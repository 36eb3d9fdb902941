/*
 * negations.h - keeps NVIDIA's compiler from a mistake of its own with negations.
 */
#pragma once

#include <llvm/IR/Module.h>

namespace turbine {

/*
 * Rewrites -x, of at most 32 bits, as y - x, where y is 0 and ptxas can not know it.
 *
 * ptxas 13.0 makes max(max(a, -b), -c) one instruction of Hopper's (VIMNMX3) and takes b for -b there, so that max(-b)
 * over a table was wrong, and greatest(-b, -c) of a row. Least and greatest values of 64 bits are no such instruction.
 */
void hide_negations(llvm::Module& module);

}  // namespace turbine
