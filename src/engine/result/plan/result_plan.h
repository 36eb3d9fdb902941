/*
 * result_plan.h - a validated result plan (turbine/result.h): what is done with
 * rows before they are returned.
 *
 * parse() checks everything that later code relies on: sizes, every index, kinds,
 * and types against the program's result columns. After it, no reader needs to
 * check.
 */
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/result/plan/column_shape.h"
#include "turbine/result.h"

namespace turbine {

class ResultPlan {
 public:
  /* Throws ProgramError. */
  static ResultPlan parse(std::span<const uint8_t> blob, const Program& program);

  /* Of rows at the end: the sink's columns, then one a window function. */
  const std::vector<ColumnShape>& columns() const { return columns_; }
  size_t sink_columns() const { return header_.ncolumns; }

  std::span<const TbWindowPass> passes() const { return passes_; }
  std::span<const TbSortKey> keys(const TbWindowPass& pass) const {
    return std::span(keys_).subspan(pass.first_key, pass.nkeys);
  }
  std::span<const TbWindowFunction> functions(const TbWindowPass& pass) const {
    return std::span(functions_).subspan(pass.first_function, pass.nfunctions);
  }
  std::span<const TbResultCondition> conditions() const { return conditions_; }

  /* The final order, and how much of it stays. */
  std::span<const TbSortKey> order() const { return std::span(keys_).subspan(header_.first_key, header_.nkeys); }
  uint32_t ndistinct() const { return header_.ndistinct; }
  uint64_t limit() const { return header_.limit; }
  bool with_ties() const { return header_.flags & TB_RESULT_WITH_TIES; }

  /* Do only the first rows of an order matter, which is one of the sink's columns? */
  bool only_best() const { return passes_.empty() && estimates_.empty() && header_.limit != TB_NO_LIMIT; }

  /* What rows are dropped by, where their order is PostgreSQL's to compute. */
  std::span<const TbEstimate> estimates() const { return estimates_; }
  std::span<const TbEstimateStep> steps(const TbEstimate& estimate) const {
    return std::span(steps_).subspan(estimate.first_step, estimate.nsteps);
  }

  /* Are estimates of conditions all that there is? PostgreSQL looks at the rows that come back all the same. */
  bool only_drops() const;

  /* The sink's columns alone. */
  std::vector<ColumnShape> own_columns() const {
    return {columns_.begin(), columns_.begin() + static_cast<ptrdiff_t>(sink_columns())};
  }

 private:
  template <class T>
  static std::vector<T> read_section(std::span<const uint8_t> blob, TbSection section, uint32_t most, const char* name);
  void check_header(std::span<const uint8_t> blob) const;
  void check_keys(std::span<const TbSortKey> keys, const char* of) const;
  void check_pass(size_t index, const TbWindowPass& pass) const;
  void check_offset(const std::string& name, const TbWindowPass& pass, uint8_t bound, uint64_t high,
                    uint64_t low) const;
  void check_limit(const std::string& name, const TbWindowPass& pass, uint8_t bound, uint32_t limit) const;
  void check_condition(size_t index, const TbResultCondition& condition) const;
  void check_estimates() const;
  void check_estimate(size_t index) const;

  TbResultPlan header_{};
  std::vector<TbSortKey> keys_;
  std::vector<TbWindowPass> passes_;
  std::vector<TbWindowFunction> functions_;
  std::vector<TbResultCondition> conditions_;
  std::vector<TbEstimateStep> steps_;
  std::vector<TbEstimate> estimates_;
  std::vector<ColumnShape> columns_;  // while parsing: those that there are so far
};

}  // namespace turbine
