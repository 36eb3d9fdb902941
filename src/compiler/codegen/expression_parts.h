/*
 * expression_parts.h - which expressions of a program become functions of their own.
 *
 * Passes of LLVM and of NVIDIA's assembler take time that grows faster than the function that they work on: four
 * times the arms of a CASE in one function take the assembler sixteen times as long. So no function holds more than
 * a bounded weight of an expression. Heavy operands become functions, and long lists of operands (CASE, AND, OR,
 * COALESCE, GREATEST, LEAST) are taken in groups, each a function. Lighter expressions stay in the loop of their
 * caller, where they may be vectorised, and so do all of a program that is light as a whole: aggregates of one model
 * seem heavy, but what they share is evaluated once.
 *
 * Made by RowEmitter; owns nothing of the program. It must never cut an expression that fits, or simple queries
 * would pay for calls.
 */
#pragma once

#include <llvm/IR/Function.h>

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "engine/program/program.h"

namespace turbine {

/* A function that evaluates a part for one row: i32 (frame, params, bytes), see row_parts.cc. */
struct ExpressionPart {
  llvm::Function* function = nullptr;
  std::vector<bool> columns;  // that it reads, or what it calls
  bool nullable = false, raises = false;
};

class ExpressionParts {
 public:
  ExpressionParts(const Program& program, uint32_t most_weight);

  /* Emitted as a function, whoever wants it. */
  bool is_part(uint32_t expr) const { return is_part_[expr]; }
  /* A list's operands [begin, end), as parts: some groups, or groups of these, so that no function has many calls.
   * None: they are evaluated one by one. */
  struct Range {
    uint32_t begin, end;
  };
  std::vector<Range> groups(uint32_t expr, Range of) const;
  /* All operands of a list; of a CASE without ELSE. */
  Range operands(uint32_t expr) const;
  /* More than one expression uses it, and it is more than a column or a parameter. */
  bool is_shared(uint32_t expr) const { return users_[expr] > 1; }
  /* The parameter is read outside parts, too. */
  bool is_read_outside(uint32_t param) const { return read_outside_[param]; }
  /* Columns that parts read have places among each other: this one's, and how many there are. */
  uint32_t place(uint32_t column) const { return place_[column]; }
  uint32_t places() const { return places_; }

  /* It reads a local of a loop, or is one: what is evaluated where the loop is. */
  bool is_open(uint32_t expr) const { return open_[expr]; }

  /* How much code an expression is, roughly in thirds of an integer comparison, without its parts. */
  uint32_t weight(uint32_t expr) const { return weight_[expr]; }

 private:
  uint32_t weight_as_operand(uint32_t expr) const;
  uint32_t operand_weights(const TbExpr& e) const;
  void cut_operands(const TbExpr& e);
  void group_operands(uint32_t expr, const TbExpr& e);
  void count_users();
  uint64_t weight_together(const std::vector<uint32_t>& all) const;
  void cut_roots();
  void note_readers();
  std::vector<uint32_t> roots() const;

  const Program& program_;
  const uint32_t most_weight_;
  std::vector<uint32_t> weight_, users_, place_;
  uint32_t places_ = 0;
  std::vector<bool> is_part_, read_outside_, open_;
  std::map<uint32_t, std::vector<uint32_t>> group_begins_;
};

}  // namespace turbine
