/*
 * decode_tuple.h - emits the decoding of one heap tuple, specialised for the
 * table and the referenced columns.
 *
 * Two steps, because the GPU places rows between them: locate() finds where
 * each referenced column lies and whether the tuple yields a row at all,
 * store() writes the columns of a row. Which tuples there are, and what
 * becomes of a tuple without a row, is the business of decode.cc.
 *
 * C equivalent of locate(), for attributes (int not null, text, int):
 *
 *   if (!line_sane) return CORRUPT;
 *   if (plain) {                           // no NULL, not short
 *     at[0] = 0; end = varlena_end(data, 4, &at[1]); at[2] = align4(end); end = at[2] + 4;
 *   } else {
 *     if (!tuple_sane) return CORRUPT;     // then the same under a bit per attribute
 *   }
 *   return end > length ? CORRUPT : toasted ? DEFERRED : ROW;
 */
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <optional>
#include <span>
#include <vector>

#include "compiler/codegen/module_builder.h"

namespace turbine {

/* What became of a line pointer: values of an i32. */
enum TupleStatus : uint32_t {
  kTupleNone = 0,  // not a tuple (for the loops; locate() does not give it)
  kTupleRow = 1,
  kTupleDeferred = 2,
  kTupleCorrupt = 3,
};

/* A tuple after locate(). Only status is defined unless it is kTupleRow. */
struct LocatedTuple {
  struct Column {
    llvm::Value* offset = nullptr;  // i32, from data: the value, or its varlena header
    llvm::Value* absent = nullptr;  // i1: NULL or missing; nullptr: never
  };
  llvm::Value* status = nullptr;
  llvm::Value* tuple = nullptr;
  llvm::Value* data = nullptr;
  llvm::Value* natts = nullptr;
  std::vector<Column> columns;
};

/* The pointer, known to the GPU's code generator as device memory (instead of
 * any memory): its accesses need no address check. The same on the host. */
llvm::Value* device_pointer(ModuleBuilder& builder, llvm::IRBuilder<>& ir, llvm::Value* pointer);

class TupleDecoder {
 public:
  /* Throws std::runtime_error where a column's type can not lie in its attribute. */
  TupleDecoder(ModuleBuilder& builder, const Program& program, llvm::IRBuilder<>& ir);

  /* Loads what is the same for all tuples; call in the entry block.
   * `pages`: start of the chunk; `errors`: an i32 to or verdicts into. */
  void bind(llvm::Value* args, llvm::Value* pages, llvm::Value* errors);

  /* `line_pointer`: the word of an LP_NORMAL one, inside `page`. */
  LocatedTuple locate(llvm::Value* page, llvm::Value* line_pointer);

  /* Writes row `row` (i64) of every column. `tid` (i64): the row's TB_PACKED_TID; null if no column asks for it. */
  void store(const LocatedTuple& tuple, llvm::Value* row, llvm::Value* tid);

  /* Calls a function of src/rt. */
  llvm::CallInst* call(llvm::StringRef symbol, llvm::ArrayRef<llvm::Value*> operands, const llvm::Twine& name = "");

 private:
  /* A position between two attributes: constant until the first varlena (or,
   * in partial tuples, the first attribute that may be absent). */
  struct Cursor {
    uint32_t constant = 0;
    llvm::Value* dynamic = nullptr;
    uint32_t align = 8;  // known alignment of the position
  };
  /* What a walk over a tuple's attributes leaves behind. */
  struct Walk {
    std::vector<LocatedTuple::Column> columns;
    llvm::Value* end = nullptr;        // i32: where the walk ended
    llvm::Value* toasted = nullptr;    // i1 or nullptr
    llvm::Value* corrupt = nullptr;    // i1 or nullptr: a NULL where none can be
    llvm::BasicBlock* block = nullptr;  // where it ended
  };
  /* A column's missing value, loaded once. */
  struct Missing {
    llvm::Value* value = nullptr;   // of the memory type; text: nullptr
    llvm::Value* valid = nullptr;   // i8
    llvm::Value* defer = nullptr;   // i1, text: it has bytes, which no view can reach
  };
  struct BoundColumn {
    llvm::Value* values = nullptr;
    llvm::Value* valid = nullptr;
    std::optional<Missing> missing;
  };
  /* The tuple that a walk is in. */
  struct Subject {
    llvm::Value* tuple;
    llvm::Value* data;
    llvm::Value* length;  // i32: bytes of data
    llvm::Value* natts;   // i32
  };

  void check_columns() const;
  bool may_be_absent(uint32_t column) const;
  Missing load_missing(const TbColumn& column, llvm::Value* params);

  Walk walk_complete(const Subject& subject);
  Walk walk_partial(const Subject& subject);
  llvm::Value* position(const Cursor& cursor);
  void align_to(Cursor& cursor, uint32_t align);
  void step_fixed(Cursor& cursor, const TbAttribute& attribute);
  llvm::Value* step_variable(Cursor& cursor, const TbAttribute& attribute, const Subject& subject, bool referenced,
                             llvm::Value*& toasted);
  /* Presence bits of 64 attributes, as loaded last. */
  struct Presence {
    llvm::Value* bits = nullptr;
    uint32_t word = TB_NONE;
  };
  llvm::Value* present_bit(const Subject& subject, uint32_t attribute, Presence& presence);
  uint32_t stretch_end(uint32_t attribute) const;
  void step_stretch(Cursor& cursor, const Subject& subject, uint32_t first, uint32_t past);
  llvm::Value* shapes();
  void note_absence(Walk& walk, const Subject& subject, uint32_t column, llvm::Value* present);
  llvm::Value* step_maybe(Cursor& cursor, uint32_t attribute, const Subject& subject, llvm::Value* present, Walk& walk);
  LocatedTuple join(const Subject& usual, const Walk& complete, const Subject& other, const Walk& partial,
                    llvm::ArrayRef<llvm::BasicBlock*> insane);

  void store_fixed(const LocatedTuple& tuple, uint32_t column, llvm::Value* row);
  void note_unless(llvm::Value* fits);
  llvm::Value* within_digits(llvm::Value* value_at, uint32_t digits);
  void store_variable(const LocatedTuple& tuple, uint32_t column, llvm::Value* row);
  void store_absent(const LocatedTuple& tuple, uint32_t column, llvm::Value* value_at);
  void store_valid(const LocatedTuple& tuple, uint32_t column, llvm::Value* row);
  llvm::Value* is_short(const LocatedTuple& tuple, uint32_t column);

  llvm::Type* memory_type(uint32_t type);
  llvm::Value* at(llvm::Value* base, llvm::Value* offset);
  llvm::Value* at(llvm::Value* base, uint64_t offset);
  llvm::Value* load(llvm::Type* type, llvm::Value* base, uint64_t offset, const char* name);
  llvm::Value* or_maybe(llvm::Value* a, llvm::Value* b);
  llvm::BasicBlock* block(const llvm::Twine& name);

  ModuleBuilder& builder_;
  const Program& program_;
  std::span<const TbColumn> columns_;  // of the source: joined tables' are no part of the tuple
  llvm::IRBuilder<>& ir_;
  uint32_t last_ = 0;                      // attributes to walk over
  std::vector<uint32_t> column_of_;        // attribute -> column, TB_NONE
  std::vector<BoundColumn> bound_;
  llvm::Value* pages_ = nullptr;
  llvm::Value* errors_ = nullptr;
  llvm::Value* shapes_ = nullptr;  // constant table, if the walk has stretches
  llvm::Value* start_ = nullptr;  // i32 in memory: an out-parameter of src/rt, gone after SROA
};

}  // namespace turbine
