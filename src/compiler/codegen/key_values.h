/*
 * key_values.h - what makes two key values equal, for grouping and for joins.
 *
 * NaN equals NaN and -0 equals 0; text compares by bytes. Equal values hash
 * alike, and canonical() makes their bytes equal too. NULL is the caller's
 * business: grouping takes NULLs for equal, joins never.
 */
#pragma once

#include "compiler/codegen/row_emitter.h"

namespace turbine {

llvm::Value* key_hash(RowEmitter& rows, uint32_t type, const RowValue& v);  // i64

/* Of a fixed-width type: `stored` as in memory. */
llvm::Value* key_equal(RowEmitter& rows, uint32_t type, llvm::Value* key, llvm::Value* stored);

/* The value that stands for all that equal it. */
RowValue canonical_key(RowEmitter& rows, uint32_t type, const RowValue& v);

/* Hash of the keys of a join, none of which is NULL; nullptr without keys. A BUILD
 * stores it, probes look for it. */
llvm::Value* join_hash(RowEmitter& rows, llvm::ArrayRef<uint32_t> types, llvm::ArrayRef<RowValue> keys);

}  // namespace turbine
