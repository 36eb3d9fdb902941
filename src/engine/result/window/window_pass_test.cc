/*
 * window_pass_test.cc - window functions against their definitions, row by row.
 */
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>

#include "engine/result/testing/result_run_fixture.h"
#include "engine/result/window/window_frame.h"

namespace turbine {
namespace {

using namespace testing;

constexpr __int128 kDay = 86400000000;

bool is_infinite_time(uint32_t type, const Cell& cell) {
  const __int128 value = std::get<__int128>(cell);
  return type == TB_TYPE_DATE ? value == INT32_MIN || value == INT32_MAX : value == INT64_MIN || value == INT64_MAX;
}

/* One pass over rows, by definition: slow and simple. */
class Definition {
 public:
  Definition(const PlanWriter& writer, const TbWindowPass& pass, const Rows& rows, const std::vector<uint32_t>& types)
      : pass_(pass), rows_(rows), types_(types) {
    keys_.assign(writer.keys.begin() + pass.first_key, writer.keys.begin() + pass.first_key + pass.nkeys);
    partition_keys_.assign(keys_.begin(), keys_.begin() + pass.npartition);
    for (size_t i = 0; i < rows.size(); i++) order_.push_back(i);
    std::stable_sort(order_.begin(), order_.end(),
                     [&](size_t a, size_t b) { return compare_rows(keys_, rows[a], rows[b]) < 0; });
  }

  /* Of each row, by its index in `rows`. */
  std::vector<Cell> compute(const TbWindowFunction& function) {
    f_ = &function;
    arg_type_ = function.arg == TB_NONE ? 0u : types_[function.arg];
    std::vector<Cell> result(rows_.size());
    for (size_t begin = 0; begin < order_.size();) {
      size_t end = begin + 1;
      while (end < order_.size() && compare_rows(partition_keys_, row(begin), row(end)) == 0) end++;
      begin_ = static_cast<__int128>(begin);
      end_ = static_cast<__int128>(end);
      for (size_t i = begin; i < end; i++) result[order_[i]] = value_at(static_cast<__int128>(i));
      begin = end;
    }
    return result;
  }

 private:
  const std::vector<Cell>& row(size_t place) const { return rows_[order_[place]]; }
  const std::vector<Cell>& row(__int128 place) const { return row(static_cast<size_t>(place)); }
  bool peers(__int128 a, __int128 b) const { return compare_rows(keys_, row(a), row(b)) == 0; }
  __int128 group_of(__int128 place) const {
    __int128 group = 0;
    for (__int128 i = begin_ + 1; i <= place; i++) group += !peers(i - 1, i);
    return group;
  }

  bool in_frame(__int128 current, __int128 other) const {
    const bool same_peers = peers(current, other);
    if (pass_.exclusion == TB_EXCLUDE_CURRENT_ROW && other == current) return false;
    if (pass_.exclusion == TB_EXCLUDE_GROUP && same_peers) return false;
    if (pass_.exclusion == TB_EXCLUDE_TIES && same_peers && other != current) return false;
    return pass_.frame_mode == TB_FRAME_RANGE ? in_range(current, other) : in_distance(current, other);
  }

  /* By values of the key, not by places. */
  bool in_range(__int128 current, __int128 other) const {
    const int order = compare_rows(keys_, row(other), row(current));
    auto offset = [](uint64_t high, uint64_t low) { return static_cast<uint128>(high) << 64 | low; };
    bool in = true;
    if (pass_.start_bound == TB_BOUND_CURRENT_ROW)
      in = order >= 0;
    else if (pass_.start_bound != TB_BOUND_UNBOUNDED_PRECEDING)
      in = pass_.start_limit != TB_NONE ? reaches_limit(current, other, order, pass_.start_limit, true)
                                        : reaches(current, other, order, pass_.start_bound,
                                                  offset(pass_.start_offset_high, pass_.start_offset), true);
    if (pass_.end_bound == TB_BOUND_CURRENT_ROW)
      in = in && order <= 0;
    else if (pass_.end_bound != TB_BOUND_UNBOUNDED_FOLLOWING)
      in = in && (pass_.end_limit != TB_NONE ? reaches_limit(current, other, order, pass_.end_limit, false)
                                             : reaches(current, other, order, pass_.end_bound,
                                                       offset(pass_.end_offset_high, pass_.end_offset), false));
    return in;
  }

  /* Likewise, of a frame that ends where the current row's limit says. */
  bool reaches_limit(__int128 current, __int128 other, int order, uint32_t limit, bool start) const {
    const TbSortKey& key = keys_[pass_.npartition];
    const Cell &value = row(other)[key.column], &base = row(current)[key.column];
    if (is_null(value) || is_null(base)) return start ? order >= 0 : order <= 0;
    const bool date = types_[key.column] == TB_TYPE_DATE;
    const __int128 at = std::get<__int128>(value) * (date ? kDay : 1), end = std::get<__int128>(row(current)[limit]);
    return start != ((key.flags & TB_SORT_DESCENDING) != 0) ? at >= end : at <= end;
  }

  /* Is the other row not before the start (not behind the end) that lies an offset
   * away? What is no number has no distance, only an order. */
  bool reaches(__int128 current, __int128 other, int order, uint8_t bound, uint128 offset, bool start) const {
    const TbSortKey& key = keys_[pass_.npartition];
    const uint32_t type = types_[key.column];
    const Cell &value = row(other)[key.column], &base = row(current)[key.column];
    const bool by_order = start ? order >= 0 : order <= 0;
    if (is_null(value) || is_null(base)) return by_order;
    if (const auto* x = std::get_if<double>(&value)) {
      const double y = std::get<double>(base), span = std::bit_cast<double>(static_cast<uint64_t>(offset));
      if (std::isnan(*x) || std::isnan(y)) return by_order;
      const bool down = (bound == TB_BOUND_PRECEDING) != ((key.flags & TB_SORT_DESCENDING) != 0);
      const double end = down ? y - span : y + span;
      if (std::isnan(end)) return true;
      return start != ((key.flags & TB_SORT_DESCENDING) != 0) ? *x >= end : *x <= end;
    }
    if (is_time_type(type) && (is_infinite_time(type, value) || is_infinite_time(type, base))) return by_order;
    const __int128 x = std::get<__int128>(value), y = std::get<__int128>(base);
    const uint128 apart = static_cast<uint128>(std::max(x, y)) - static_cast<uint128>(std::min(x, y));
    const uint128 distance = type == TB_TYPE_DATE ? apart * static_cast<uint128>(kDay) : apart;
    if (start == (bound == TB_BOUND_PRECEDING)) return by_order || distance <= offset;
    return by_order && distance >= offset;
  }

  /* By how far behind the current row another one is, in rows or groups. */
  bool in_distance(__int128 current, __int128 other) const {
    const bool in_rows = pass_.frame_mode == TB_FRAME_ROWS;
    const __int128 distance = in_rows ? other - current : group_of(other) - group_of(current);
    const __int128 before = pass_.start_offset, after = pass_.end_offset;
    bool in = true;
    if (pass_.start_bound == TB_BOUND_PRECEDING) in = distance >= -before;
    if (pass_.start_bound == TB_BOUND_CURRENT_ROW) in = distance >= 0;
    if (pass_.start_bound == TB_BOUND_FOLLOWING) in = distance >= before;
    if (pass_.end_bound == TB_BOUND_PRECEDING) in = in && distance <= -after;
    if (pass_.end_bound == TB_BOUND_CURRENT_ROW) in = in && distance <= 0;
    if (pass_.end_bound == TB_BOUND_FOLLOWING) in = in && distance <= after;
    return in;
  }

  Cell value_at(__int128 place) const {
    __int128 rank = begin_, last_peer = place;
    while (!peers(rank, place)) rank++;
    while (last_peer + 1 < end_ && peers(last_peer + 1, place)) last_peer++;
    const __int128 size = end_ - begin_, at = place - begin_;
    auto ratio = [](__int128 a, __int128 b) { return static_cast<double>(a) / static_cast<double>(b); };
    switch (f_->kind) {
      case TB_WINDOW_ROW_NUMBER: return at + 1;
      case TB_WINDOW_RANK: return rank - begin_ + 1;
      case TB_WINDOW_DENSE_RANK: return group_of(place) + 1;
      case TB_WINDOW_PERCENT_RANK: return size > 1 ? ratio(rank - begin_, size - 1) : 0.0;
      case TB_WINDOW_CUME_DIST: return ratio(last_peer - begin_ + 1, size);
      case TB_WINDOW_NTILE: {
        // As window_ntile counts.
        __int128 bucket = 1, in_bucket = 0, boundary = size / f_->n, rest = size % f_->n;
        if (boundary <= 0)
          boundary = 1;
        else if (rest != 0)
          boundary++;
        if (size / f_->n <= 0) rest = 0;
        for (__int128 i = 0; i <= at; i++) {
          if (++in_bucket > boundary) {
            if (rest != 0 && bucket == rest) boundary--, rest = 0;
            bucket++;
            in_bucket = 1;
          }
        }
        return bucket;
      }
      case TB_WINDOW_LAG: return shifted(place, place - f_->n);
      case TB_WINDOW_LEAD: return shifted(place, place + f_->n);
      default: return of_frame(place);
    }
  }

  Cell shifted(__int128 place, __int128 from) const {
    if (from >= begin_ && from < end_) return row(from)[f_->arg];
    return f_->other == TB_NONE ? Cell() : row(place)[f_->other];
  }

  Cell of_frame(__int128 place) const {
    std::vector<size_t> frame;
    for (__int128 i = begin_; i < end_; i++)
      if (in_frame(place, i)) frame.push_back(static_cast<size_t>(i));
    const auto n = static_cast<uint64_t>(f_->n);
    switch (f_->kind) {
      case TB_WINDOW_FIRST_VALUE: return frame.empty() ? Cell() : row(frame.front())[f_->arg];
      case TB_WINDOW_LAST_VALUE: return frame.empty() ? Cell() : row(frame.back())[f_->arg];
      case TB_WINDOW_NTH_VALUE: return frame.size() < n ? Cell() : row(frame[n - 1])[f_->arg];
      default: return aggregate(frame);
    }
  }

  Cell aggregate(const std::vector<size_t>& frame) const {
    Cell result;
    __int128 count = 0;
    for (size_t place : frame) {
      if (f_->filter != TB_NONE && row(place)[f_->filter] != Cell(static_cast<__int128>(1))) continue;
      if (f_->arg != TB_NONE && is_null(row(place)[f_->arg])) continue;
      count++;
      if (f_->kind == TB_WINDOW_COUNT) continue;
      const Cell& value = row(place)[f_->arg];
      if (is_null(result))
        result = value;
      else if (f_->kind == TB_WINDOW_MIN)
        result = compare_values(value, result) <= 0 ? value : result;
      else if (f_->kind == TB_WINDOW_MAX)
        result = compare_values(value, result) >= 0 ? value : result;
      else if (arg_type_ == TB_TYPE_FLOAT4 || arg_type_ == TB_TYPE_FLOAT8)
        result = std::get<double>(result) + std::get<double>(value);
      else
        result = std::get<__int128>(result) + std::get<__int128>(value);
    }
    return f_->kind == TB_WINDOW_COUNT ? Cell(count) : result;
  }

  const TbWindowPass& pass_;
  const Rows& rows_;
  const std::vector<uint32_t>& types_;
  std::vector<TbSortKey> keys_, partition_keys_;
  std::vector<size_t> order_;
  const TbWindowFunction* f_ = nullptr;
  uint32_t arg_type_ = 0;
  __int128 begin_ = 0, end_ = 0;
};

bool same(const Cell& a, const Cell& b) {
  if (is_null(a) || is_null(b)) return is_null(a) == is_null(b);
  if (const auto* x = std::get_if<double>(&a); x && *x == 0)
    return std::get<double>(b) == 0 && std::signbit(*x) == std::signbit(std::get<double>(b));
  return a.index() == b.index() && compare_values(a, b) == 0;
}

bool holds(const TbResultCondition& condition, const Cell& cell) {
  if (is_null(cell)) return false;
  const __int128 value = std::get<__int128>(cell);
  switch (condition.flags) {
    case TB_CONDITION_EQUAL: return value == condition.bound;
    case TB_CONDITION_AT_LEAST: return value >= condition.bound;
    case TB_CONDITION_AT_LEAST | TB_CONDITION_STRICT: return value > condition.bound;
    case TB_CONDITION_STRICT: return value < condition.bound;
    default: return value <= condition.bound;
  }
}

/* Runs the plan, whose final order is by the table's last column, its rows' numbers. */
void check(PlanWriter& writer, const TestTable& table, bool stay, uint64_t batch_rows) {
  const auto number = static_cast<uint32_t>(table.columns.size() - 1);
  writer.order({{number, 0}});
  const ResultPlan plan = ResultPlan::parse(writer.blob(), table.program());
  Rows right = table.rows;
  std::vector<uint32_t> types;
  for (const ColumnShape& column : plan.columns()) types.push_back(column.type);
  for (const TbWindowPass& pass : writer.passes) {
    std::vector<std::vector<Cell>> made;
    Definition definition(writer, pass, right, types);
    for (size_t f = 0; f < pass.nfunctions; f++)
      made.push_back(definition.compute(writer.functions[pass.first_function + f]));
    for (const auto& column : made)
      for (size_t i = 0; i < right.size(); i++) right[i].push_back(column[i]);
  }
  std::erase_if(right, [&](const auto& row) {
    return std::any_of(writer.conditions.begin(), writer.conditions.end(),
                       [&](const auto& condition) { return !holds(condition, row[condition.column]); });
  });
  TableQuery query(table, stay, batch_rows);
  const Rows rows = run(writer, table, query);
  ASSERT_EQ(rows.size(), right.size());
  for (size_t i = 0; i < rows.size(); i++)
    for (size_t c = number; c < rows[i].size(); c++) {
      if (same(rows[i][c], right[i][c])) continue;
      const TbWindowFunction& f = writer.functions[c - number - 1];
      FAIL() << "row " << i << ", function " << c - number - 1 << " of kind " << f.kind << ", n " << f.n;
    }
}

/* A function that the pass can have; where rows have no full order, one that peers
 * do not change. */
void add_function(std::mt19937_64& random, PlanWriter& writer, const TestTable& table, bool full_order, uint32_t flag) {
  const TbWindowPass& pass = writer.passes.back();
  const uint32_t arg = static_cast<uint32_t>(random() % (table.columns.size() - 1));
  const uint8_t type = table.columns[arg].type;
  const uint32_t filter = random() % 2 ? flag : TB_NONE;
  static const int64_t shifts[] = {0, 1, 2, -1, 7, 1000, INT64_MAX, INT64_MIN};
  auto kind = static_cast<uint32_t>(1 + random() % TB_WINDOW_MAX);
  const bool peers_agree = kind == TB_WINDOW_RANK || kind == TB_WINDOW_DENSE_RANK || kind == TB_WINDOW_PERCENT_RANK ||
                           kind == TB_WINDOW_CUME_DIST;
  const bool frame_of_peers = kind >= TB_WINDOW_COUNT && pass.frame_mode != TB_FRAME_ROWS;
  const bool grows = pass.start_bound == TB_BOUND_UNBOUNDED_PRECEDING && pass.exclusion == TB_EXCLUDE_NONE;
  const bool is_float = type == TB_TYPE_FLOAT4 || type == TB_TYPE_FLOAT8;
  if (!full_order && !peers_agree && (!frame_of_peers || is_float)) kind = TB_WINDOW_RANK;
  switch (kind) {
    case TB_WINDOW_LAG:
    case TB_WINDOW_LEAD: {
      writer.function(kind, arg, shifts[random() % 8], random() % 2 ? arg : TB_NONE);
      return;
    }
    case TB_WINDOW_NTILE: writer.function(kind, TB_NONE, 1 + static_cast<int64_t>(random() % 9)); return;
    case TB_WINDOW_FIRST_VALUE:
    case TB_WINDOW_LAST_VALUE: writer.function(kind, arg); return;
    case TB_WINDOW_NTH_VALUE: writer.function(kind, arg, 1 + static_cast<int64_t>(random() % 5)); return;
    case TB_WINDOW_COUNT: writer.function(kind, random() % 2 ? arg : TB_NONE, 0, TB_NONE, filter); return;
    case TB_WINDOW_SUM: {
      const bool integer = type == TB_TYPE_INT2 || type == TB_TYPE_INT4 || type == TB_TYPE_INT8 ||
                           type == TB_TYPE_NUM64;
      if (integer || (is_float && grows))
        writer.function(kind, arg, 0, TB_NONE, filter);
      else
        writer.function(TB_WINDOW_COUNT);
      return;
    }
    case TB_WINDOW_MIN:
    case TB_WINDOW_MAX:
      writer.function(type == TB_TYPE_BOOL ? static_cast<uint32_t>(TB_WINDOW_COUNT) : kind, arg, 0, TB_NONE, filter);
      return;
    default: writer.function(kind); return;
  }
}

uint128 random_offset(std::mt19937_64& random, uint8_t type, uint8_t mode) {
  static const uint64_t counts[] = {0, 1, 2, 3, 10, INT64_MAX, UINT64_MAX};
  static const __int128 distances[] = {0, 1, 2, 3, 10, INT64_MAX, ~(__int128{1} << 127)};
  static const double spans[] = {0, 0.25, 1.5, 3, 1e4, 1e30, INFINITY};
  static const __int128 times[] = {0, 1, kDay - 1, kDay, 2 * kDay, 30 * kDay + 7, 1000 * kDay};
  const size_t which = random() % 7;
  if (mode != TB_FRAME_RANGE) return counts[which];
  if (is_time_type(type)) return static_cast<uint128>(times[which]);
  if (type == TB_TYPE_FLOAT4 || type == TB_TYPE_FLOAT8) return std::bit_cast<uint64_t>(spans[which]);
  return static_cast<uint128>(distances[which]);
}

void add_pass(std::mt19937_64& random, PlanWriter& writer, const TestTable& table, uint32_t flag) {
  const auto number = static_cast<uint32_t>(table.columns.size() - 1);
  std::vector<TbSortKey> keys;
  for (size_t i = 0, n = random() % 3; i < n; i++)
    keys.push_back({static_cast<uint32_t>(random() % number), static_cast<uint32_t>(random() % 4)});
  auto npartition = static_cast<uint32_t>(random() % (keys.size() + 1));
  const bool full_order = random() % 2;
  if (full_order) keys.push_back({number, static_cast<uint32_t>(random() % 2)});
  const auto mode = static_cast<uint8_t>(1 + random() % 3);
  if (mode == TB_FRAME_RANGE && !keys.empty() && random() % 4) npartition = static_cast<uint32_t>(keys.size() - 1);
  const uint8_t type = npartition < keys.size() ? table.columns[keys[npartition].column].type
                                                : uint8_t{TB_TYPE_INVALID};
  const bool distances = npartition + 1 == keys.size() && type != TB_TYPE_BOOL && !tb_type_is_text(type);
  uint8_t start, end;
  bool valid;
  do {
    start = static_cast<uint8_t>(1 + random() % 4);
    end = static_cast<uint8_t>(2 + random() % 4);
    const bool by_offset = start == TB_BOUND_PRECEDING || start == TB_BOUND_FOLLOWING || end == TB_BOUND_PRECEDING ||
                           end == TB_BOUND_FOLLOWING;
    valid = end >= start && !(mode == TB_FRAME_RANGE && by_offset && !distances);
  } while (!valid);
  const bool range = mode == TB_FRAME_RANGE && distances;
  TbWindowPass& pass = writer.pass(keys, npartition, mode, start, end);
  auto set = [&](uint8_t bound, uint64_t* low, uint64_t* high) {
    if (mode == TB_FRAME_RANGE && (!range || (bound != TB_BOUND_PRECEDING && bound != TB_BOUND_FOLLOWING))) return;
    const uint128 offset = random_offset(random, type, mode);
    *low = static_cast<uint64_t>(offset);
    *high = static_cast<uint64_t>(offset >> 64);
  };
  set(start, &pass.start_offset, &pass.start_offset_high);
  set(end, &pass.end_offset, &pass.end_offset_high);
  if (random() % 3 == 0) pass.exclusion = static_cast<uint8_t>(1 + random() % 3);
  for (size_t i = 0, n = 1 + random() % 5; i < n; i++) add_function(random, writer, table, full_order, flag);
}

/* Times that stay in their range a thousand days further on, some of them infinite. */
void tame_times(TestTable& table) {
  for (size_t c = 0; c < table.columns.size(); c++)
    for (auto& row : table.rows) {
      const uint8_t type = table.columns[c].type;
      if (!is_time_type(type) || is_null(row[c])) continue;
      auto& value = std::get<__int128>(row[c]);
      const bool date = type == TB_TYPE_DATE;
      if (value % 9 == 1)
        value = date ? INT32_MAX : INT64_MAX;
      else if (value % 9 == -1)
        value = date ? INT32_MIN : INT64_MIN;
      else
        value %= date ? 100 : 100 * kDay;
    }
}

TEST(WindowPass, RandomPasses) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 4000; round++) {
    SCOPED_TRACE("round " + std::to_string(round));
    std::vector<uint8_t> types;
    for (size_t i = 0, n = 1 + random() % 4; i < n; i++) types.push_back(kTypes[random() % std::size(kTypes)]);
    types.push_back(TB_TYPE_BOOL);
    static const size_t sizes[] = {0, 1, 2, 30, 30, 30, 60};
    TestTable table = random_table(random, types, sizes[random() % 7], random() % 4 > 0);
    tame_times(table);
    PlanWriter writer(static_cast<uint32_t>(table.columns.size()));
    for (size_t i = 0, n = 1 + random() % 3; i < n; i++)
      add_pass(random, writer, table, static_cast<uint32_t>(types.size() - 1));
    const ResultPlan plan = ResultPlan::parse(writer.blob(), table.program());
    for (uint32_t c = writer.header.ncolumns; c < plan.columns().size() && random() % 3 == 0; c++) {
      const uint32_t type = plan.columns()[c].type;
      if (type != TB_TYPE_INT8 && type != TB_TYPE_INT4) continue;
      static const uint32_t flags[] = {0, TB_CONDITION_STRICT, TB_CONDITION_AT_LEAST,
                                       TB_CONDITION_AT_LEAST | TB_CONDITION_STRICT, TB_CONDITION_EQUAL};
      writer.conditions.push_back({c, flags[random() % 5], static_cast<int64_t>(random() % 6)});
    }
    check(writer, table, random() % 2, 1 + random() % 40);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

/* All bounds in all directions, where sums leave the type and numbers are none. */
TEST(WindowPass, RangesAtTheEndsOfTheType) {
  constexpr __int128 kMost = ~(__int128{1} << 127);
  const auto integers = [](__int128 most) {
    return std::vector<Cell>{-most - 1, -most, __int128{-1}, __int128{0}, __int128{1}, most, Cell(), Cell()};
  };
  const std::vector<std::tuple<uint8_t, std::vector<Cell>, std::vector<uint128>>> cases = {
      {TB_TYPE_INT2, integers(INT16_MAX), {0, 2, UINT16_MAX}},
      {TB_TYPE_INT8, integers(INT64_MAX), {1, UINT64_MAX, static_cast<uint128>(kMost)}},
      {TB_TYPE_NUM128, integers(kMost), {2, static_cast<uint128>(kMost) - 1, static_cast<uint128>(kMost)}},
      {TB_TYPE_FLOAT8,
       {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1.0, 1e308, -1e308, -NAN, Cell()},
       {std::bit_cast<uint64_t>(0.0), std::bit_cast<uint64_t>(1.5e308), std::bit_cast<uint64_t>(double{INFINITY})}},
      {TB_TYPE_DATE, integers(INT32_MAX), {0, kDay - 1, kDay}}};
  for (const auto& [type, values, offsets] : cases) {
    TestTable table;
    table.columns = {{type, true}, {TB_TYPE_INT8, false}};
    for (Cell value : values) {
      // Next to the ends of date there is no timestamp.
      if (is_time_type(type) && !is_null(value) && std::get<__int128>(value) == -INT32_MAX) value = __int128{2};
      table.rows.push_back({value, static_cast<__int128>(table.rows.size())});
    }
    for (uint32_t flags = 0; flags < 4; flags++)
      for (uint8_t start = TB_BOUND_UNBOUNDED_PRECEDING; start < TB_BOUND_UNBOUNDED_FOLLOWING; start++)
        for (uint8_t end = std::max<uint8_t>(start, TB_BOUND_PRECEDING); end <= TB_BOUND_UNBOUNDED_FOLLOWING; end++)
          for (uint128 first : offsets)
            for (uint128 last : offsets) {
              const auto offset = [](uint8_t bound, uint128 by) { return tb_bound_is_offset(bound) ? by : 0; };
              PlanWriter writer(2);
              writer.pass({{0, flags}}, 0, TB_FRAME_RANGE, start, end, offset(start, first), offset(end, last));
              writer.function(TB_WINDOW_COUNT);
              writer.function(TB_WINDOW_COUNT, 0);
              SCOPED_TRACE("type " + std::to_string(type) + ", flags " + std::to_string(flags) + ", bounds " +
                           std::to_string(start) + " and " + std::to_string(end));
              check(writer, table, true, 100);
              if (::testing::Test::HasFatalFailure()) return;
            }
  }
}

/* Ends that lie as far away as each row says, by steps, as months are. */
TEST(WindowPass, LimitsOfRows) {
  std::mt19937_64 random(7);
  for (uint8_t type : {TB_TYPE_DATE, TB_TYPE_TIMESTAMP, TB_TYPE_TIMESTAMPTZ})
    for (int round = 0; round < 200; round++) {
      const uint8_t of_limit = type == TB_TYPE_TIMESTAMPTZ ? TB_TYPE_TIMESTAMPTZ : TB_TYPE_TIMESTAMP;
      const auto flags = static_cast<uint32_t>(random() % 4);
      const bool descending = (flags & TB_SORT_DESCENDING) != 0;
      TestTable table;
      table.columns = {{type, true}, {of_limit, true}, {of_limit, true}, {TB_TYPE_INT8, false}};
      for (int i = 0; i < 40; i++) {
        const auto number = static_cast<__int128>(table.rows.size());
        if (random() % 8 == 0) {
          table.rows.push_back({Cell(), Cell(), Cell(), number});
          continue;
        }
        const auto days = static_cast<__int128>(random() % 120);
        const auto month = [&](__int128 away) { return (days / 30 + away) * 30 * kDay; };
        table.rows.push_back({type == TB_TYPE_DATE ? days : days * kDay, month(descending ? 1 : -1),
                              month(descending ? -1 : 2), number});
      }
      PlanWriter writer(4);
      TbWindowPass& pass = writer.pass({{0, flags}}, 0, TB_FRAME_RANGE, TB_BOUND_PRECEDING, TB_BOUND_FOLLOWING);
      if (round % 3 != 0) pass.start_limit = 1;
      if (round % 3 != 1) pass.end_limit = 2;
      writer.function(TB_WINDOW_COUNT);
      writer.function(TB_WINDOW_SUM, 3);
      SCOPED_TRACE("type " + std::to_string(type) + ", round " + std::to_string(round));
      check(writer, table, true, 100);
      if (::testing::Test::HasFatalFailure()) return;
    }
}

/* Many partitions, shared out among threads; and one that nobody can share. */
TEST(WindowPass, LargeInputs) {
  for (uint32_t npartition : {0u, 1u}) {
    TestTable table;
    table.columns = {{TB_TYPE_INT4, false}, {TB_TYPE_INT8, false}};
    constexpr int64_t kRows = 150000;
    for (int64_t i = 0; i < kRows; i++)
      table.rows.push_back({static_cast<__int128>(i * 7919 % 1000), static_cast<__int128>(i)});
    PlanWriter writer(2);
    writer.pass({{0, 0}, {1, 0}}, npartition, TB_FRAME_ROWS, TB_BOUND_PRECEDING, TB_BOUND_CURRENT_ROW, 1);
    writer.function(TB_WINDOW_ROW_NUMBER);
    writer.function(TB_WINDOW_SUM, 1);
    writer.function(TB_WINDOW_MAX, 1);
    writer.order({{0, 0}, {1, 0}});
    TableQuery query(table, true, 1 << 20);
    const Rows rows = run(writer, table, query);
    ASSERT_EQ(rows.size(), static_cast<size_t>(kRows));
    for (size_t i = 0; i < rows.size(); i++) {
      const size_t at = npartition ? i % 150 : i;
      ASSERT_EQ(std::get<__int128>(rows[i][2]), static_cast<__int128>(at + 1));
      const __int128 own = std::get<__int128>(rows[i][1]), before = at ? std::get<__int128>(rows[i - 1][1]) : 0;
      ASSERT_EQ(std::get<__int128>(rows[i][3]), own + before);
      ASSERT_EQ(std::get<__int128>(rows[i][4]), std::max(own, before));
    }
  }
}

/* Passes that need no sort of their own see rows in the order of the pass before,
 * and so does a query without an order. */
TEST(WindowPass, OneSortServesSeveralPasses) {
  std::mt19937_64 random(7);
  TestTable table = random_table(random, {TB_TYPE_INT4}, 5000, true);
  PlanWriter writer(2);
  writer.pass({{0, 0}}, 0);
  writer.function(TB_WINDOW_ROW_NUMBER);
  writer.pass({{0, 0}}, 0, TB_FRAME_ROWS);
  writer.function(TB_WINDOW_COUNT);
  writer.pass({}, 0);
  writer.function(TB_WINDOW_ROW_NUMBER);
  TableQuery query(table, true, 1000);
  const Rows rows = run(writer, table, query);
  ASSERT_EQ(rows.size(), 5000u);
  for (size_t i = 0; i < rows.size(); i++)
    for (size_t c = 2; c < 5; c++) ASSERT_EQ(std::get<__int128>(rows[i][c]), static_cast<__int128>(i + 1));
}

/* What frames exclude costs each row once, however many peers it has. */
TEST(WindowPass, LargeGroupsAreExcluded) {
  TestTable table;
  table.columns = {{TB_TYPE_INT4, false}, {TB_TYPE_INT8, false}};
  constexpr int64_t kRows = 300000, kPeers = kRows / 2;
  for (int64_t i = 0; i < kRows; i++) table.rows.push_back({static_cast<__int128>(i % 2), static_cast<__int128>(i)});
  for (uint8_t exclusion : {TB_EXCLUDE_CURRENT_ROW, TB_EXCLUDE_GROUP, TB_EXCLUDE_TIES}) {
    PlanWriter writer(2);
    writer.pass({{0, 0}}, 0, TB_FRAME_RANGE, TB_BOUND_PRECEDING, TB_BOUND_FOLLOWING, 0, 1).exclusion = exclusion;
    writer.function(TB_WINDOW_COUNT);
    writer.function(TB_WINDOW_SUM, 0);
    writer.function(TB_WINDOW_MIN, 0);
    writer.order({{1, 0}});
    TableQuery query(table, true, 1 << 20);
    const Rows rows = run(writer, table, query);
    ASSERT_EQ(rows.size(), static_cast<size_t>(kRows));
    const int64_t stay = exclusion == TB_EXCLUDE_CURRENT_ROW ? kPeers - 1 : exclusion == TB_EXCLUDE_TIES ? 1 : 0;
    for (size_t i = 0; i < rows.size(); i++) {
      const bool upper = i % 2;
      ASSERT_EQ(std::get<__int128>(rows[i][2]), static_cast<__int128>(stay + (upper ? 0 : kPeers)));
      ASSERT_EQ(is_null(rows[i][3]), upper && stay == 0);
      if (is_null(rows[i][3])) continue;
      ASSERT_EQ(std::get<__int128>(rows[i][3]), static_cast<__int128>(upper ? stay : kPeers));
      ASSERT_EQ(std::get<__int128>(rows[i][4]), static_cast<__int128>(upper || stay == 0));
    }
  }
}

TEST(WindowPass, OfTiesTheRowItselfStays) {
  TestTable table;
  table.columns = {{TB_TYPE_INT4, false}, {TB_TYPE_INT8, false}};
  for (int64_t i = 0; i < 60; i++) table.rows.push_back({static_cast<__int128>(i % 3), static_cast<__int128>(i)});
  PlanWriter writer(2);
  writer.pass({{0, 0}}, 0, TB_FRAME_RANGE, TB_BOUND_CURRENT_ROW, TB_BOUND_CURRENT_ROW).exclusion = TB_EXCLUDE_TIES;
  writer.function(TB_WINDOW_FIRST_VALUE, 1);
  writer.function(TB_WINDOW_LAST_VALUE, 1);
  writer.function(TB_WINDOW_NTH_VALUE, 1, 2);
  writer.pass({{0, 0}}, 0, TB_FRAME_GROUPS, TB_BOUND_PRECEDING, TB_BOUND_CURRENT_ROW, 1).exclusion = TB_EXCLUDE_TIES;
  writer.function(TB_WINDOW_LAST_VALUE, 1);
  writer.pass({{0, 0}}, 0, TB_FRAME_RANGE, TB_BOUND_CURRENT_ROW, TB_BOUND_FOLLOWING, 0, 1).exclusion = TB_EXCLUDE_TIES;
  writer.function(TB_WINDOW_FIRST_VALUE, 1);
  writer.function(TB_WINDOW_NTH_VALUE, 0, 2);
  TableQuery query(table, true, 100);
  for (const auto& row : run(writer, table, query)) {
    for (size_t c : {2, 3, 5, 6}) EXPECT_EQ(row[c], row[1]) << c;
    EXPECT_TRUE(is_null(row[4]));
    const __int128 key = std::get<__int128>(row[0]);
    EXPECT_EQ(row[7], key == 2 ? Cell() : Cell(key + 1));
  }
}

/* Where PostgreSQL's own arithmetic on timestamps raises an error. */
TEST(WindowPass, FramesBeyondAllTimestampsAreVerdicts) {
  auto failure = [](uint8_t type, __int128 value, uint8_t start, uint8_t end, uint64_t offset) {
    TestTable table;
    table.columns = {{type, true}, {TB_TYPE_INT8, false}};
    table.rows = {{value, static_cast<__int128>(0)}, {Cell(), static_cast<__int128>(1)}};
    PlanWriter writer(2);
    writer.pass({{0, 0}}, 0, TB_FRAME_RANGE, start, end, offset, offset);
    writer.function(TB_WINDOW_COUNT);
    TableQuery query(table, true, 100);
    try {
      run(writer, table, query);
    } catch (const DeviceError& e) {
      return e.reason;
    }
    return TB_FALLBACK_NONE;
  };
  constexpr uint8_t kBefore = TB_BOUND_PRECEDING, kCurrent = TB_BOUND_CURRENT_ROW, kAfter = TB_BOUND_FOLLOWING;
  constexpr __int128 kFirst = -211813488000000000, kLast = 9223371331200000000 - 1;
  for (uint8_t type : {TB_TYPE_TIMESTAMP, TB_TYPE_TIMESTAMPTZ}) {
    EXPECT_EQ(failure(type, kLast - 5, kCurrent, kAfter, 5), TB_FALLBACK_NONE);
    EXPECT_EQ(failure(type, kLast - 5, kCurrent, kAfter, 6), TB_FALLBACK_RAISED);
    EXPECT_EQ(failure(type, kFirst + 5, kBefore, kCurrent, 5), TB_FALLBACK_NONE);
    EXPECT_EQ(failure(type, kFirst + 5, kBefore, kCurrent, 6), TB_FALLBACK_RAISED);
    EXPECT_EQ(failure(type, kLast, kCurrent, kAfter, INT64_MAX), TB_FALLBACK_RAISED);
    EXPECT_EQ(failure(type, INT64_MAX, kBefore, kAfter, INT64_MAX), TB_FALLBACK_NONE);
    EXPECT_EQ(failure(type, INT64_MIN, kBefore, kAfter, INT64_MAX), TB_FALLBACK_NONE);
  }
  // There are dates behind the last timestamp.
  constexpr __int128 kLastDay = kLast / kDay;
  EXPECT_EQ(failure(TB_TYPE_DATE, kLastDay, kBefore, kCurrent, 5), TB_FALLBACK_NONE);
  EXPECT_EQ(failure(TB_TYPE_DATE, kLastDay + 1, kBefore, kCurrent, 5), TB_FALLBACK_RAISED);
  EXPECT_EQ(failure(TB_TYPE_DATE, kLastDay, kCurrent, kAfter, kDay), TB_FALLBACK_RAISED);
  EXPECT_EQ(failure(TB_TYPE_DATE, INT32_MAX, kBefore, kAfter, kDay), TB_FALLBACK_NONE);
}

TEST(WindowPass, SumsThatOverflowAreVerdicts) {
  auto failure = [](const TestTable& table, uint8_t start) {
    PlanWriter writer(2);
    writer.pass({{1, 0}}, 0, TB_FRAME_ROWS, start, TB_BOUND_CURRENT_ROW, 1);
    writer.function(TB_WINDOW_SUM, 0);
    writer.order({{1, 0}});
    TableQuery query(table, true, 100);
    try {
      run(writer, table, query);
    } catch (const DeviceError& e) {
      return e.reason;
    }
    return TB_FALLBACK_NONE;
  };
  const auto most = static_cast<__int128>(~(static_cast<uint128>(1) << 127));
  TestTable table;
  table.columns = {{TB_TYPE_NUM128, false}, {TB_TYPE_INT8, false}};
  // Fits within a frame of two rows, though all before would not.
  for (int64_t i = 0; i < 6; i++) table.rows.push_back({i % 2 ? most / 2 : most / 2 - 1, static_cast<__int128>(i)});
  EXPECT_EQ(failure(table, TB_BOUND_PRECEDING), TB_FALLBACK_NONE);
  EXPECT_EQ(failure(table, TB_BOUND_UNBOUNDED_PRECEDING), TB_FALLBACK_VALUE);
  for (auto& row : table.rows) row[0] = -std::get<__int128>(row[0]) - 1;
  EXPECT_EQ(failure(table, TB_BOUND_PRECEDING), TB_FALLBACK_NONE);
  EXPECT_EQ(failure(table, TB_BOUND_UNBOUNDED_PRECEDING), TB_FALLBACK_VALUE);
  table.columns[0].type = TB_TYPE_FLOAT8;
  // The sum of 1e200 fits; the squares of which PostgreSQL's average keeps a sum do not.
  for (const double large : {1e308, -1e200, tb_float_sum_limit(TB_TYPE_FLOAT8)}) {
    for (auto& row : table.rows) row[0] = large;
    EXPECT_EQ(failure(table, TB_BOUND_UNBOUNDED_PRECEDING), TB_FALLBACK_VALUE) << large;
  }
  for (const double summed : {double{INFINITY}, -double{INFINITY}, double{NAN}, 1e139}) {
    for (auto& row : table.rows) row[0] = summed;
    EXPECT_EQ(failure(table, TB_BOUND_UNBOUNDED_PRECEDING), TB_FALLBACK_NONE) << summed;
  }
}

}  // namespace
}  // namespace turbine
