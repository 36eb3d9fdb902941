/*
 * row_emitter.h - emits the evaluation of a program's expressions for one row.
 *
 * The loops around it decide which row that is (a tile's index on the host, a thread's on the GPU) and what
 * becomes of the result. The values are the same SSA in both shapes. Cheap operations never branch, so the
 * host's dense loops can be vectorised. Errors are kept per row. An error counts only if the operation was
 * wanted (`active`) and its operands were not NULL.
 *
 * Used by the emission of filters, aggregates and rows. Owns no block of its caller.
 */
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "compiler/codegen/expression_parts.h"
#include "compiler/codegen/module_builder.h"
#include "engine/program/entry_results.h"

namespace turbine {

/* A value in registers. bool: i1; text: pointer and i32 length. */
struct RowValue {
  llvm::Value* value = nullptr;
  llvm::Value* length = nullptr;  // text only
  llvm::Value* null = nullptr;    // i1; nullptr: never NULL
  /* Text of a column: its view's id (i32), and what is its hash if that is not 0. Of NULLs undefined. */
  llvm::Value *id = nullptr, *hash = nullptr;
};

class RowEmitter {
 public:
  RowEmitter(ModuleBuilder& builder, const Program& program, llvm::IRBuilder<>& ir);

  /* Loads column pointers and parameters; call once, in the entry block. `tables`:
   * TbJoinTable *[njoins], or nullptr where the program has no joins. `columns`: of the source; nullptr: they
   * have places. */
  void bind(llvm::Value* columns, llvm::Value* bytes, llvm::Value* params, llvm::Value* tables);

  /* Columns that are read as codes: `late` by column, `codes` as TbPipelineArgs says. After bind(). */
  void bind_codes(const std::vector<bool>& late, llvm::Value* codes);

  /* GPU: the source's columns are those of one stretch, TbColumnPlace[]; after bind(), where a stretch begins.
   * `entry_results` as TbPipelineArgs says. */
  void bind_places(llvm::Value* places, llvm::Value* entry_results);

  /* Host: results by entry, for columns that are read as codes; after bind_codes(). */
  void bind_entry_results(llvm::Value* entry_results);

  /* Of the stretch, columns whose elements have been read in code emitted since, in at most 8 bytes: their
   * values, and log2 of an element's bytes (i64). */
  struct ReadColumn {
    llvm::Value *values, *shift;
  };
  std::vector<ReadColumn> read_columns() const;

  /* Starts a row: `row` is its i64 index in the columns, or in the stretch. Forgets loaded values
   * and errors. Loads carry `access_group` if given (parallel loops). */
  void begin_row(llvm::Value* row, llvm::MDNode* access_group = nullptr);
  llvm::Value* row() const { return row_; }

  /* The row's match in a join's table (i32; TB_NONE: none, where one may lack), from
   * which that join's columns are read; after begin_row(). */
  void set_match(uint32_t join, llvm::Value* match) { matches_[join] = match; }
  /* Of a text of a join's table, which has a match: its view, or the first of its bytes. */
  void prefetch_text(uint32_t column, bool bytes);

  /* A shared expression's value, where `active` or what was narrowed from it holds. */
  struct KnownValue {
    RowValue value;
    llvm::Value* active;
  };

  /* A condition that was narrowed by another one, or by its opposite. */
  struct Narrowing {
    llvm::Value *active, *condition;
    bool opposite;
    auto operator<=>(const Narrowing&) const = default;
  };

  /* Values loaded while one of these lives are forgotten when it ends: for code in
   * a loop or branch that the rest of the row is not dominated by. */
  class LoadScope {
   public:
    explicit LoadScope(RowEmitter& rows)
        : rows_(rows),
          loaded_(rows.loaded_),
          known_(rows.known_),
          matches_(rows.matches_),
          locals_(rows.locals_),
          narrows_(rows.narrows_) {}
    ~LoadScope() {
      rows_.loaded_ = std::move(loaded_);
      // Other rows' columns may have taken the places of these.
      rows_.framed_.assign(rows_.framed_.size(), false);
      rows_.known_ = std::move(known_);
      rows_.matches_ = std::move(matches_);
      rows_.locals_ = std::move(locals_);
      rows_.narrows_ = std::move(narrows_);
    }
    LoadScope(const LoadScope&) = delete;
    LoadScope& operator=(const LoadScope&) = delete;

   private:
    RowEmitter& rows_;
    std::vector<RowValue> loaded_;
    std::map<uint32_t, KnownValue> known_;
    std::vector<llvm::Value*> matches_;
    std::map<uint32_t, RowValue> locals_;
    std::map<Narrowing, llvm::Value*> narrows_;
  };

  /* `active`: i1 under which the value is wanted; nullptr: always. */
  RowValue eval(uint32_t expr, llvm::Value* active);

  /* Host: do rows note that their entry has come to the sink (EntryResults::seen)? */
  bool notes_entries() const { return entry_results_.seen() && columns_[entry_results_.seen()->column].results; }
  /* Notes it; i1: no row has before, or nobody knows. */
  llvm::Value* note_entry();

  /* Do rows note the join's match by entry (EntryResults::match)? */
  bool notes_match(uint32_t join) const;
  /* i1: they do in the column's present form; the same for all rows of a tile or stretch. */
  llvm::Value* match_noted(uint32_t join) const { return columns_[entry_results_.match(join)->column].noted; }
  /* i32: the match that was noted, else look_up()'s (i32, TB_NONE: none), which is noted unless an error came of it. */
  llvm::Value* match_by_entry(uint32_t join, llvm::function_ref<llvm::Value*()> look_up);

  /* Host: do rows note their group by entry (EntryResults::group_column)? */
  bool notes_groups() const { return entry_results_.group_column() && columns_[*entry_results_.group_column()].groups; }
  /* i32: 1 + the number of the row's group; 0: nobody has noted it. */
  llvm::Value* noted_group();
  /* Notes the group that the row has got (i32). */
  void note_group(llvm::Value* group);

  /* True and not NULL. */
  llvm::Value* truth(const RowValue& v);

  /* i32 TB_ERR_* of this row so far, or nullptr. */
  llvm::Value* errors() const { return errors_; }
  /* The same, and starts anew: for code that goes on in another block. */
  llvm::Value* take_errors() {
    llvm::Value* errors = errors_;
    errors_ = nullptr;
    return errors;
  }

  /* Memory helpers shared with the loops' emitters. */
  llvm::Type* type_of(uint32_t tb_type);  // in registers
  llvm::Type* memory_type(uint32_t tb_type);  // i8 for bool
  llvm::Value* at(llvm::Value* base, uint64_t offset);
  llvm::Value* load(llvm::Type* type, llvm::Value* base, uint64_t offset);
  void store(llvm::Value* value, llvm::Value* base, uint64_t offset);
  llvm::Value* index(llvm::Type* element, llvm::Value* base, llvm::Value* i);

  /* Calls a function of src/rt: operands flattened as its bitcode signature
   * wants them (i128 as two i64 on x86-64), attributes copied. */
  llvm::Value* call_rt(llvm::StringRef symbol, llvm::ArrayRef<llvm::Value*> operands);

  llvm::Value* and_maybe(llvm::Value* a, llvm::Value* b);  // nullptr: true
  llvm::Value* or_maybe(llvm::Value* a, llvm::Value* b);  // nullptr: false
  llvm::Value* not_null(const RowValue& v);  // nullptr: true
  void add_errors(llvm::Value* bits, llvm::Value* when);

  const Program& program() const { return program_; }
  llvm::IRBuilder<>& ir() { return ir_; }
  ModuleBuilder& builder() { return builder_; }

 private:
  RowEmitter(ModuleBuilder& builder, const Program& program, llvm::IRBuilder<>& ir,
             std::shared_ptr<const ExpressionParts> parts);

  /* Where one column's value of the row is in memory. */
  struct ColumnPlace {
    llvm::Value* value;  // pointer
    llvm::Value* null;  // i1 or nullptr
    llvm::Value* bytes;  // what text offsets count from
  };
  RowValue eval_column(const TbExpr& e);
  ColumnPlace source_place(uint32_t column);
  ColumnPlace payload_place(uint32_t column);
  llvm::Value* load_element(uint32_t column);
  llvm::Value* load_coded(uint32_t column);
  llvm::Value* coded_view(uint32_t column);
  llvm::Value* mark(llvm::Value* loaded);  // with the access group
  void bind_payload(uint32_t column, llvm::Value* tables);
  void bind_codes_of(uint32_t column, llvm::Value* codes);
  llvm::Value* text_base(llvm::Value* columns, uint64_t column, llvm::Value* bytes);
  RowValue eval_call(uint32_t function, llvm::ArrayRef<RowValue> args, const TbExpr& e, int16_t arg_scale,
                     llvm::Value* active);
  RowValue call_now(const TbFunction& fn, llvm::ArrayRef<RowValue> args, const TbExpr& e, int16_t arg_scale,
                    llvm::Value* active);
  /* Operands of a list, or groups of them. */
  struct Operands {
    size_t count;
    llvm::function_ref<RowValue(size_t i, llvm::Value* active)> eval;
  };
  /* Of a CASE: under which condition (i1) which value. */
  using Arms = llvm::SmallVector<std::pair<llvm::Value*, RowValue>, 4>;

  RowValue eval_here(uint32_t expr, llvm::Value* active);
  RowValue eval_anew(uint32_t expr, llvm::Value* active);
  using Range = ExpressionParts::Range;
  RowValue eval_list(uint32_t expr, Range range, llvm::Value* active);
  RowValue eval_logic(const Operands& operands, bool is_and, llvm::Value* active);
  RowValue eval_coalesce(const Operands& operands, llvm::Value* active);
  RowValue eval_extreme(const TbExpr& e, const Operands& operands, bool greatest, llvm::Value* active);
  RowValue eval_test(const TbExpr& e, llvm::Value* active);
  RowValue eval_case(uint32_t expr, llvm::Value* active);
  llvm::Value* eval_arms(uint32_t expr, Range range, llvm::Value* active, Arms& arms);
  RowValue select_arm(const Arms& arms, RowValue otherwise);
  RowValue eval_distinct(const TbExpr& e, llvm::Value* active);
  RowValue eval_array(const TbExpr& e, bool any, llvm::Value* active);
  RowValue search_sorted(const TbExpr& e, bool any, llvm::Value* active);
  RowValue search_all(const TbExpr& e, bool any, llvm::Value* active);
  RowValue eval_rescale(const TbExpr& e, llvm::Value* active);
  RowValue eval_model(const TbExpr& e, llvm::Value* active);
  RowValue eval_grid(const TbExpr& e, llvm::Value* active);
  RowValue eval_point(const TbExpr& e, llvm::Value* active);
  RowValue eval_undecided(const TbExpr& e, llvm::Value* active);
  llvm::Value* eval_linear(llvm::Value* weights, llvm::ArrayRef<llvm::Value*> x);
  llvm::Value* eval_nearest(const TbExpr& e, const RowValue& centroids, llvm::ArrayRef<llvm::Value*> x);
  RowValue load_param(uint32_t index);
  const RowValue& param(uint32_t index);
  RowValue eval_sequence(const TbExpr& e, llvm::Value* active);
  RowValue eval_loop(const TbExpr& e, llvm::Value* active);
  RowValue local(uint32_t index) const;
  /* The condition under which an operand is wanted: `active`, and this one, or its opposite. */
  llvm::Value* narrow(llvm::Value* active, llvm::Value* condition, bool opposite = false);
  bool is_narrowed_from(llvm::Value* active, llvm::Value* wider) const;
  RowValue select(llvm::Value* cond, const RowValue& a, const RowValue& b);
  RowValue null_of(const TbExpr& e);
  llvm::Value* error_slot();

  /* entry_results.cc */
  void bind_results_of(uint32_t column, llvm::Value* entry_results, llvm::Value* views);
  bool has_entry_result(uint32_t expr) const;
  void bind_groups_of(uint32_t column, llvm::Value* entry_results, llvm::Value* views);
  llvm::Value* result_place(const EntryResults::Place& place);
  llvm::Value* record_number(uint32_t column, llvm::Value* mask);
  llvm::Value* group_place();
  RowValue eval_by_entry(uint32_t expr, llvm::Value* active);
  llvm::Value* compute_for_entry(uint32_t expr, llvm::Value* place, RowValue* value, llvm::Value** errors);
  llvm::Value* result_word(const TbExpr& e, const RowValue& value);
  RowValue read_result(const TbExpr& e, llvm::Value* word, bool nullable);

  /* row_parts.cc. Operands of a list, or all of the expression if the range is empty; of arms of a CASE `found`:
   * whether one was taken. */
  RowValue call_part(uint32_t expr, Range range, llvm::Value* active, llvm::Value** found = nullptr);
  const ExpressionPart& part(uint32_t expr, Range range);
  void emit_part(ExpressionPart& part, uint32_t expr, Range range);
  void begin_part(ExpressionPart& part);
  RowValue eval_group(uint32_t expr, Range range, llvm::Value** found);
  void put_into_frame(const std::vector<bool>& columns);
  RowValue read_from_frame(uint32_t column);
  void write_slot(llvm::Value* slot, const TbExpr& type, const RowValue& value);
  llvm::Value* slot_of(uint32_t column);
  llvm::Value* frame();

  ModuleBuilder& builder_;
  const Program& program_;
  llvm::IRBuilder<>& ir_;
  llvm::Value* bytes_ = nullptr;
  llvm::Value* params_base_ = nullptr;
  llvm::Value* row_ = nullptr;
  llvm::MDNode* access_group_ = nullptr;
  llvm::Value* errors_ = nullptr;
  llvm::AllocaInst* error_slot_ = nullptr;
  /* A column's arrays. Payload and codes: `valid` is indexed by row & valid_mask, and then
   * points to a byte that is not 0 if there are no NULLs. */
  struct BoundColumn {
    llvm::Value *values = nullptr, *valid = nullptr, *valid_mask = nullptr, *table = nullptr, *bytes = nullptr;
    llvm::Value *base = nullptr, *mask = nullptr, *shift = nullptr;  // of codes; null: there are none
    llvm::Value *views = nullptr, *row_mask = nullptr;  // of codes of text
    llvm::Value* dictionary = nullptr;  // host: these views, or null
    /* By entry: record i & results_mask of `results`; whether they are the dictionary's own, and are noted. */
    llvm::Value *results = nullptr, *results_mask = nullptr, *noted = nullptr;
    llvm::Value *groups = nullptr, *groups_mask = nullptr, *groups_noted = nullptr;  // likewise
  };
  std::vector<BoundColumn> columns_;
  bool places_ = false;  // elements are read by aligned words
  std::vector<RowValue> params_, loaded_;
  std::vector<llvm::Value*> matches_;
  std::shared_ptr<const ExpressionParts> parts_;
  const EntryResults entry_results_;
  std::map<uint32_t, KnownValue> known_;  // shared expressions of the row
  std::map<llvm::Value*, llvm::Value*> narrowed_;  // a condition and the wider one that it was made of
  std::map<Narrowing, llvm::Value*> narrows_;  // conditions of the row, so that equal ones are the same
  std::map<uint32_t, RowValue> locals_;  // of loops that are under way or have ended
  llvm::Value* steps_ = nullptr;  // i32: runs of loops in the closed SEQUENCE so far
  llvm::Value* frame_ = nullptr;  // where parts find columns and put their results
  std::vector<bool> framed_;  // columns of the row that are there
  ExpressionPart* in_part_ = nullptr;  // emits its body
};

}  // namespace turbine
