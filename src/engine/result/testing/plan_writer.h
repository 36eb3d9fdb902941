/*
 * plan_writer.h - tests write result plans with this. Checks nothing, and its parts
 * are open to be damaged. Header only; not part of the product.
 */
#pragma once

#include <cstring>
#include <vector>

#include "turbine/result.h"

namespace turbine::testing {

class PlanWriter {
 public:
  TbResultPlan header{};
  std::vector<TbSortKey> keys;
  std::vector<TbWindowPass> passes;
  std::vector<TbWindowFunction> functions;
  std::vector<TbResultCondition> conditions;
  std::vector<TbEstimateStep> steps;
  std::vector<TbEstimate> estimates;

  explicit PlanWriter(uint32_t ncolumns) {
    header.magic = TB_RESULT_MAGIC;
    header.version = TB_RESULT_VERSION;
    header.limit = TB_NO_LIMIT;
    header.ncolumns = ncolumns;
  }

  /* The final order. */
  PlanWriter& order(const std::vector<TbSortKey>& by) {
    header.first_key = add_keys(by);
    header.nkeys = static_cast<uint32_t>(by.size());
    return *this;
  }
  PlanWriter& limit(uint64_t rows, bool ties = false) {
    header.limit = rows;
    header.flags = ties ? TB_RESULT_WITH_TIES : 0;
    return *this;
  }
  /* A pass; its functions follow. */
  TbWindowPass& pass(const std::vector<TbSortKey>& by, uint32_t npartition, uint8_t mode = TB_FRAME_RANGE,
                     uint8_t start = TB_BOUND_UNBOUNDED_PRECEDING, uint8_t end = TB_BOUND_CURRENT_ROW,
                     unsigned __int128 start_offset = 0, unsigned __int128 end_offset = 0) {
    TbWindowPass p{};
    p.first_key = add_keys(by);
    p.nkeys = static_cast<uint32_t>(by.size());
    p.npartition = npartition;
    p.first_function = static_cast<uint32_t>(functions.size());
    p.frame_mode = mode;
    p.start_bound = start;
    p.end_bound = end;
    p.start_offset = static_cast<uint64_t>(start_offset);
    p.start_offset_high = static_cast<uint64_t>(start_offset >> 64);
    p.end_offset = static_cast<uint64_t>(end_offset);
    p.end_offset_high = static_cast<uint64_t>(end_offset >> 64);
    p.start_limit = p.end_limit = TB_NONE;
    passes.push_back(p);
    return passes.back();
  }
  /* Returns its column. */
  uint32_t function(uint32_t kind, uint32_t arg = TB_NONE, int64_t n = 0, uint32_t other = TB_NONE,
                    uint32_t filter = TB_NONE) {
    functions.push_back({kind, arg, other, filter, n, 0});
    passes.back().nfunctions++;
    return header.ncolumns + static_cast<uint32_t>(functions.size()) - 1;
  }

  /* Conditions first, then keys. */
  PlanWriter& estimate(uint32_t role, const std::vector<TbEstimateStep>& by, uint32_t flags = 0) {
    estimates.push_back({static_cast<uint32_t>(steps.size()), static_cast<uint32_t>(by.size()), role, flags});
    steps.insert(steps.end(), by.begin(), by.end());
    return *this;
  }

  std::vector<uint8_t> blob() const {
    TbResultPlan head = header;
    std::vector<uint8_t> bytes(sizeof head);
    head.keys = append(bytes, keys);
    head.passes = append(bytes, passes);
    head.functions = append(bytes, functions);
    head.conditions = append(bytes, conditions);
    head.steps = append(bytes, steps);
    head.estimates = append(bytes, estimates);
    head.total_size = static_cast<uint32_t>(bytes.size());
    memcpy(bytes.data(), &head, sizeof head);
    return bytes;
  }

 private:
  uint32_t add_keys(const std::vector<TbSortKey>& by) {
    keys.insert(keys.end(), by.begin(), by.end());
    return static_cast<uint32_t>(keys.size() - by.size());
  }
  template <class T>
  static TbSection append(std::vector<uint8_t>& bytes, const std::vector<T>& elements) {
    const TbSection section{static_cast<uint32_t>(elements.size()), static_cast<uint32_t>(bytes.size())};
    const auto* begin = reinterpret_cast<const uint8_t*>(elements.data());
    bytes.insert(bytes.end(), begin, begin + elements.size() * sizeof(T));
    return section;
  }
};

}  // namespace turbine::testing
