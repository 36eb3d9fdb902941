/*
 * result_plan.cc - a validated result plan.
 *
 * Called when a query begins. Everything that later code relies on is checked here; a plan
 * that fails is a ProgramError, and nothing of it is kept.
 */
#include "engine/result/plan/result_plan.h"

#include <bit>
#include <cstring>
#include <string>

#include "engine/result/estimate/estimate_steps.h"
#include "engine/result/window/window_function.h"
#include "engine/result/window/window_range.h"

namespace turbine {
namespace {

[[noreturn]] void fail(const std::string& what) { throw ProgramError("result plan: " + what); }

/* Is it an offset by which keys of the type have a range? */
bool is_range_offset(uint32_t type, uint64_t high, uint64_t low) {
  if (is_float_type(type)) return high == 0 && std::bit_cast<double>(low) >= 0;
  const auto signed_low = static_cast<int64_t>(low), signed_high = static_cast<int64_t>(high);
  return is_time_type(type) ? high == 0 && signed_low >= 0 : signed_high >= 0;
}

}  // namespace

template <class T>
std::vector<T> ResultPlan::read_section(std::span<const uint8_t> blob, TbSection section, uint32_t most,
                                        const char* name) {
  if (section.count > most) fail(std::string("too many ") + name);
  if (section.count == 0) return {};
  const uint64_t bytes = uint64_t{section.count} * sizeof(T);
  if (section.offset % 8 != 0 || section.offset < sizeof(TbResultPlan) || section.offset > blob.size() ||
      bytes > blob.size() - section.offset)
    fail(std::string(name) + " out of bounds");
  std::vector<T> elements(section.count);
  memcpy(elements.data(), blob.data() + section.offset, bytes);
  return elements;
}

void ResultPlan::check_header(std::span<const uint8_t> blob) const {
  if (header_.magic != TB_RESULT_MAGIC) fail("bad magic");
  if (header_.version != TB_RESULT_VERSION) fail("another version");
  if (header_.total_size != blob.size()) fail("bad size");
  if (header_.flags & ~TB_RESULT_WITH_TIES) fail("unknown flags");
  if (header_.reserved != 0) fail("reserved field");
  if (header_.ndistinct > header_.nkeys) fail("distinct by more keys than there are");
}

ResultPlan ResultPlan::parse(std::span<const uint8_t> blob, const Program& program) {
  ResultPlan plan;
  TbResultPlan& header = plan.header_;
  if (blob.size() < sizeof header) fail("bad size");
  memcpy(&header, blob.data(), sizeof header);
  plan.check_header(blob);
  if (program.sink() != TB_SINK_AGGREGATE && program.sink() != TB_SINK_PROJECT) fail("of a sink without result rows");
  plan.columns_ = result_columns(program);
  if (header.ncolumns != plan.columns_.size()) fail("number of columns");

  plan.keys_ = read_section<TbSortKey>(blob, header.keys, TB_MAX_SORT_KEYS, "keys");
  plan.passes_ = read_section<TbWindowPass>(blob, header.passes, TB_MAX_WINDOW_PASSES, "window passes");
  plan.functions_ = read_section<TbWindowFunction>(blob, header.functions, TB_MAX_WINDOW_FUNCTIONS, "functions");
  plan.conditions_ = read_section<TbResultCondition>(blob, header.conditions, TB_MAX_RESULT_CONDITIONS, "conditions");
  if (uint64_t{header.first_key} + header.nkeys > plan.keys_.size()) fail("order out of bounds");

  uint64_t next_function = 0;
  for (size_t i = 0; i < plan.passes_.size(); i++) {
    const TbWindowPass& pass = plan.passes_[i];
    if (pass.first_function != next_function) fail("functions of window passes do not follow one another");
    next_function += pass.nfunctions;
    if (next_function > plan.functions_.size()) fail("functions out of bounds");
    plan.check_pass(i, pass);
    // A pass sees the functions of those before it, and not its own.
    std::vector<ColumnShape> made;
    for (const TbWindowFunction& f : plan.functions(pass)) made.push_back(window_column(f, pass, plan.columns_));
    plan.columns_.insert(plan.columns_.end(), made.begin(), made.end());
  }
  if (next_function != plan.functions_.size()) fail("functions without a window pass");
  plan.check_keys(plan.order(), "order");
  for (size_t i = 0; i < plan.conditions_.size(); i++) plan.check_condition(i, plan.conditions_[i]);
  plan.steps_ = read_section<TbEstimateStep>(blob, header.steps, TB_MAX_ESTIMATE_STEPS, "steps of estimates");
  plan.estimates_ = read_section<TbEstimate>(blob, header.estimates, TB_MAX_ESTIMATES, "estimates");
  plan.check_estimates();
  return plan;
}

void ResultPlan::check_keys(std::span<const TbSortKey> keys, const char* of) const {
  for (const TbSortKey& key : keys) {
    if (key.column >= columns_.size()) fail(std::string(of) + ": no such column");
    if (key.flags & ~(TB_SORT_DESCENDING | TB_SORT_NULLS_FIRST)) fail(std::string(of) + ": unknown flags of a key");
  }
}

void ResultPlan::check_pass(size_t index, const TbWindowPass& pass) const {
  const std::string name = "window pass " + std::to_string(index);
  if (uint64_t{pass.first_key} + pass.nkeys > keys_.size()) fail(name + ": keys out of bounds");
  if (pass.npartition > pass.nkeys) fail(name + ": partitions by more keys than there are");
  check_keys(keys(pass), name.c_str());
  if (pass.frame_mode < TB_FRAME_ROWS || pass.frame_mode > TB_FRAME_GROUPS) fail(name + ": frame mode");
  const uint8_t start = pass.start_bound, end = pass.end_bound;
  if (start < TB_BOUND_UNBOUNDED_PRECEDING || start >= TB_BOUND_UNBOUNDED_FOLLOWING)
    fail(name + ": start of the frame");
  if (end <= TB_BOUND_UNBOUNDED_PRECEDING || end > TB_BOUND_UNBOUNDED_FOLLOWING) fail(name + ": end of the frame");
  if (end < start) fail(name + ": frame ends before it starts");
  if (pass.exclusion > TB_EXCLUDE_TIES) fail(name + ": what the frame excludes");
  check_offset(name, pass, start, pass.start_offset_high, pass.start_offset);
  check_offset(name, pass, end, pass.end_offset_high, pass.end_offset);
  check_limit(name, pass, start, pass.start_limit);
  check_limit(name, pass, end, pass.end_limit);
}

void ResultPlan::check_offset(const std::string& name, const TbWindowPass& pass, uint8_t bound, uint64_t high,
                              uint64_t low) const {
  if (pass.frame_mode != TB_FRAME_RANGE || !tb_bound_is_offset(bound)) {
    if (high != 0) fail(name + ": upper half of an offset");
    return;
  }
  if (pass.nkeys != pass.npartition + 1) fail(name + ": range by an offset without one key");
  const uint32_t type = columns_[keys(pass)[pass.npartition].column].type;
  if (!has_range_offsets(type)) fail(name + ": range by an offset of such a key");
  if (!is_range_offset(type, high, low)) fail(name + ": offset of a range");
}

void ResultPlan::check_limit(const std::string& name, const TbWindowPass& pass, uint8_t bound, uint32_t limit) const {
  if (limit == TB_NONE) return;
  if (pass.frame_mode != TB_FRAME_RANGE || !tb_bound_is_offset(bound)) fail(name + ": limit without an offset");
  if (limit >= columns_.size()) fail(name + ": no such limit");
  const uint32_t key = columns_[keys(pass)[pass.npartition].column].type;
  if (!is_time_type(key)) fail(name + ": limit of such a key");
  if (columns_[limit].type != (key == TB_TYPE_TIMESTAMPTZ ? TB_TYPE_TIMESTAMPTZ : TB_TYPE_TIMESTAMP))
    fail(name + ": type of a limit");
}

void ResultPlan::check_condition(size_t index, const TbResultCondition& condition) const {
  const std::string name = "condition " + std::to_string(index);
  if (condition.column < sink_columns() || condition.column >= columns_.size())
    fail(name + ": no such window function");
  const uint32_t type = columns_[condition.column].type;
  if (type != TB_TYPE_INT8 && type != TB_TYPE_INT4) fail(name + ": type");
  if (condition.flags & ~(TB_CONDITION_STRICT | TB_CONDITION_AT_LEAST | TB_CONDITION_EQUAL)) fail(name + ": flags");
  if ((condition.flags & TB_CONDITION_EQUAL) && condition.flags != TB_CONDITION_EQUAL) fail(name + ": flags");
}

bool ResultPlan::only_drops() const {
  return !estimates_.empty() && estimates_.back().role == TB_ESTIMATE_OF_CONDITION && order().empty() &&
         limit() == TB_NO_LIMIT;
}

void ResultPlan::check_estimates() const {
  uint64_t next_step = 0, nkeys = 0;
  for (size_t i = 0; i < estimates_.size(); i++) {
    const TbEstimate& estimate = estimates_[i];
    if (estimate.first_step != next_step) fail("steps of estimates do not follow one another");
    next_step += estimate.nsteps;
    if (next_step > steps_.size()) fail("steps of an estimate out of bounds");
    if (i > 0 && estimate.role < estimates_[i - 1].role) fail("order of the estimates");
    check_estimate(i);
    nkeys += estimate.role == TB_ESTIMATE_OF_KEY;
  }
  if (nkeys > TB_MAX_ESTIMATED_KEYS) fail("too many estimated keys");
  if (next_step != steps_.size()) fail("steps without an estimate");
  if (estimates_.empty()) return;
  if (!passes_.empty() || !conditions_.empty() || with_ties()) fail("estimates beside windows or ties");
  if (!keys_.empty() && (nkeys > 0 || ndistinct() > 0 || limit() != TB_NO_LIMIT))
    fail("estimates beside another order");
}

void ResultPlan::check_estimate(size_t index) const {
  const TbEstimate& estimate = estimates_[index];
  const std::string name = "estimate " + std::to_string(index);
  if (estimate.role < TB_ESTIMATE_OF_CONDITION || estimate.role > TB_ESTIMATE_OF_ERRORS) fail(name + ": role");
  const uint32_t flags = estimate.role == TB_ESTIMATE_OF_KEY ? TB_SORT_DESCENDING | TB_SORT_NULLS_FIRST : 0;
  if (estimate.flags & ~flags) fail(name + ": flags");
  int depth = 0;
  for (const TbEstimateStep& step : steps(estimate)) {
    const int taken = estimate_arguments(step.op);
    if (taken < 0) fail(name + ": operation");
    if (step.domain > TB_DOMAIN_FLOAT8) fail(name + ": domain");
    if (step.scale < -TB_MAX_ESTIMATE_SCALE || step.scale > TB_MAX_ESTIMATE_SCALE) fail(name + ": scale");
    if (!(step.low <= step.high)) fail(name + ": bounds");
    if (step.op == TB_ESTIMATE_COLUMN && (step.column >= sink_columns() || !can_estimate(columns_[step.column].type)))
      fail(name + ": no such column");
    if (taken > depth) fail(name + ": arguments are missing");
    depth += 1 - taken;
    if (depth > TB_MAX_ESTIMATE_DEPTH) fail(name + ": too many arguments at a time");
  }
  if (depth != 1) fail(name + ": not one result");
}

}  // namespace turbine
