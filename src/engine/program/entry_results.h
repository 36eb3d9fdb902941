/*
 * entry_results.h - which expressions are computed once for each entry of a text column's dictionary, and where
 * their results lie.
 *
 * An expression whose only column is one text of the source has one value for each text. Where the column is kept as
 * numbers of a dictionary's entries, the first row with an entry computes that value and notes it; later rows look it
 * up by their code (TbEntryResults in kernel.h). So LIKE, comparisons and length() do not touch a text twice. An
 * entry that no row has is never computed, and a value that raises is not noted. So only rows that are met raise.
 *
 * Computed from the program alone, so that generated code (compiler) and devices (engine) agree without any message.
 * A record has the results of all such expressions of a column:
 *
 *   per expression of 2 or 4 bytes: uint64, bits 0-31 its value, bits 32-33 a state, kValue or kNull
 *   per join (match()):             uint64, bits 0-31 the first row of the join table with the keys, or TB_NONE; bit
 * 32: 1 per BOOL:                       uint8, kFalse, kTrue or kNullBool for the sink (seen()):          uint8, 1 once
 * a row with the entry has come there
 *
 * 0 is "not known yet". Record 0 is that of NULL, record 1 + i that of entry i.
 */
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/program/program.h"

namespace turbine {

class EntryResults {
 public:
  static constexpr uint8_t kFalse = 1, kTrue = 2, kNullBool = 3;
  static constexpr uint64_t kValue = 1, kNull = 2;  // shifted by kStateShift
  static constexpr uint32_t kStateShift = 32;

  explicit EntryResults(const Program& program);

  struct Place {
    uint32_t column;  // of the source
    uint32_t offset;  // bytes from the start of a record
    uint32_t width;   // 1 or 8
  };
  /* Nothing: the expression is computed for each row. */
  std::optional<Place> place(uint32_t expr) const { return expr < places_.size() ? places_[expr] : std::nullopt; }

  /* For the join's match, if all its keys are functions of one text of the source and some key is a text: so the join
   * table is hashed, and rows with equal texts find the same of its rows. */
  std::optional<Place> match(uint32_t join) const { return matches_[join]; }

  /* A byte for whether a row with the entry has come to the sink, if later ones add nothing there: the program is a
   * DISTINCT of one text of the source, or has nothing but min and max of one. Nothing: of other programs. */
  std::optional<Place> seen() const { return seen_; }

  /* The column of which all group keys are functions, so that an entry has one group; nothing: there is no such, or
   * seen() serves. The number of an entry's group is no part of a record: each thread has its own groups. */
  std::optional<uint32_t> group_column() const { return group_column_; }

  /* Bytes of a record of the column's results; 0: it has none. */
  uint32_t record_size(uint32_t column) const { return record_sizes_[column]; }
  bool empty() const { return empty_; }

 private:
  void choose(const Program& program, std::vector<bool>& chosen) const;
  void lay_out(const Program& program, const std::vector<bool>& chosen);
  void lay_out_matches(const Program& program);
  void lay_out_seen(const Program& program);
  void find_group_column(const Program& program);

  std::vector<std::optional<Place>> places_;  // by expression
  std::vector<std::optional<Place>> matches_;  // by join
  std::optional<Place> seen_;
  std::optional<uint32_t> group_column_;
  std::vector<uint32_t> columns_;  // by expression: its only column, or kNoColumn, kOthers
  std::vector<bool> reads_;  // by expression: it does more with the text than to test for NULL
  std::vector<uint32_t> record_sizes_;  // by column of the source
  bool empty_ = true;
};

}  // namespace turbine
