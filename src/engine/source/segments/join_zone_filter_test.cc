/* join_zone_filter_test.cc - no segment is excluded of which a row may have a match, or be missed; and those that
 * should be are. */
#include "engine/source/segments/join_zone_filter.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "engine/device/host/join_table_build.h"
#include "engine/program/testing/program_writer.h"

namespace turbine {
namespace {

using testing::ProgramWriter;

/* A table of INT8 keys, a row each; no outputs. */
std::shared_ptr<const JoinTable> table_of(const std::vector<std::vector<int64_t>>& rows, size_t nkeys = 1,
                                          uint8_t type = TB_TYPE_INT8) {
  static WorkerPool pool("worker", 2);
  static MemoryBudget budget(1 << 30);
  KeptRowLayout shape;
  shape.nkeys = nkeys;
  for (size_t k = 0; k < nkeys; k++) shape.columns.push_back({type, 0, false});
  KeptParts::Stores stores;
  if (!rows.empty()) stores.push_back(std::make_unique<HostRowStore>(shape, nkeys > 0, 16, budget));
  for (const std::vector<int64_t>& row : rows) {
    stores[0]->ensure_rows(1);
    TbRowStore& raw = *stores[0]->raw();
    for (size_t k = 0; k < nkeys; k++)
      memcpy(static_cast<uint8_t*>(raw.columns[k].values) + raw.nrows * tb_type_width(type), &row[k],
             tb_type_width(type));
    if (nkeys > 0) raw.hashes[raw.nrows] = static_cast<uint64_t>(row[0]) * 0x9fb21c651e98df25ull;
    raw.nrows++;
  }
  return build_join_table(shape, std::move(stores), pool, budget);
}

std::shared_ptr<const JoinTable> table_of_keys(const std::vector<int64_t>& keys) {
  std::vector<std::vector<int64_t>> rows;
  for (const int64_t key : keys) rows.push_back({key});
  return table_of(rows);
}

/* least > greatest: NULLs alone. */
StoredColumn::Zone zone(int64_t least, int64_t greatest) { return {true, least, greatest}; }

bool excludes(const ProgramWriter& w, const JoinTables& tables, const std::vector<StoredColumn::Zone>& zones) {
  ProgramWriter copy = w;
  const JoinZoneFilter filter(Program::parse(copy.blob(TB_SINK_AGGREGATE)), tables);
  Segment segment;
  std::vector<uint32_t> numbers;
  for (const StoredColumn::Zone& each : zones) {
    StoredColumn::Shape shape{TB_TYPE_INT8, false, false};
    shape.zone = each;
    numbers.push_back(static_cast<uint32_t>(3 + numbers.size()));
    segment.columns.emplace_back(numbers.back(), 1, std::make_shared<StoredColumn>(shape, 1));
  }
  const bool found = filter.excludes(zones.data());
  EXPECT_EQ(filter.excludes(segment, numbers), found);
  if (filter.empty()) {
    EXPECT_FALSE(found);
  }
  return found;
}

ProgramWriter one_join(uint8_t kind, uint8_t type = TB_TYPE_INT8) {
  ProgramWriter w;
  w.full_joins_end = kind == TB_JOIN_FULL;
  w.join(kind, {w.column(type, true)}, 0);
  return w;
}

/* DENSE, where keys are unique; DIRECT; HASH, where their range is wide. */
TEST(JoinZoneFilter, ExcludesWhatHasNoKeyAndNothingElse) {
  std::mt19937_64 random(3);
  for (int round = 0; round < 300; round++) {
    const bool wide = round % 3 == 2;
    std::vector<int64_t> keys;
    const auto offset = static_cast<int64_t>(random() % 2000) - 1000;
    for (uint64_t i = 0, n = 1 + random() % 40; i < n; i++)
      keys.push_back(offset + static_cast<int64_t>(random() % 200));
    std::set<int64_t> all(keys.begin(), keys.end());
    if (wide) all.insert(int64_t{1} << 60);
    keys.assign(all.begin(), all.end());
    if (round % 3 == 1) keys.push_back(keys[0]);
    const auto table = table_of_keys(keys);
    ASSERT_EQ(table->raw()->kind, wide ? TB_TABLE_HASH : round % 3 == 1 ? TB_TABLE_DIRECT : TB_TABLE_DENSE);
    for (int i = 0; i < 200; i++) {
      const int64_t least = offset - 20 + static_cast<int64_t>(random() % 240);
      const int64_t greatest = least + static_cast<int64_t>(random() % 20);
      const auto next = all.lower_bound(least);
      const bool has = wide ? greatest >= *all.begin() : next != all.end() && *next <= greatest;
      const uint8_t kind = i % 2 ? TB_JOIN_INNER : TB_JOIN_SEMI;
      ASSERT_EQ(excludes(one_join(kind), {table}, {zone(least, greatest)}), !has)
          << "round " << round << ": " << least << ".." << greatest;
    }
  }
}

TEST(JoinZoneFilter, EndsOfTheRangeDoNotOverflow) {
  constexpr int64_t least = std::numeric_limits<int64_t>::min(), greatest = std::numeric_limits<int64_t>::max();
  for (const std::vector<int64_t>& keys : {std::vector{least, least + 3}, {greatest - 3, greatest}, {int64_t{0}}}) {
    EXPECT_FALSE(excludes(one_join(TB_JOIN_INNER), {table_of_keys(keys)}, {zone(least, greatest)}));
    EXPECT_EQ(excludes(one_join(TB_JOIN_INNER), {table_of_keys(keys)}, {zone(greatest, greatest)}),
              keys.back() != greatest);
    EXPECT_EQ(excludes(one_join(TB_JOIN_INNER), {table_of_keys(keys)}, {zone(least, least)}), keys[0] != least);
  }
}

/* A scan of all places would take as long as what it saves. */
TEST(JoinZoneFilter, ManyPlacesAreNotLookedAt) {
  std::vector<int64_t> keys(700, 0);
  keys.push_back(10000);
  const auto table = table_of_keys(keys);
  ASSERT_EQ(table->raw()->kind, TB_TABLE_DIRECT);
  EXPECT_TRUE(excludes(one_join(TB_JOIN_INNER), {table}, {zone(1, 4000)}));
  EXPECT_FALSE(excludes(one_join(TB_JOIN_INNER), {table}, {zone(1, 9999)}));
}

TEST(JoinZoneFilter, NullsAndNothingHaveNoMatch) {
  const auto some = table_of_keys({5}), none = table_of_keys({});
  EXPECT_TRUE(excludes(one_join(TB_JOIN_INNER), {some}, {zone(1, 0)})) << "NULLs alone";
  EXPECT_FALSE(excludes(one_join(TB_JOIN_INNER), {some}, {{}})) << "nothing is known";
  EXPECT_TRUE(excludes(one_join(TB_JOIN_SEMI), {none}, {{}}));
  ProgramWriter cross;
  cross.column(TB_TYPE_TEXT);
  cross.join(TB_JOIN_INNER, {}, 0);
  EXPECT_TRUE(excludes(cross, {table_of({}, 0)}, {{}}));
  EXPECT_FALSE(excludes(cross, {table_of({{}}, 0)}, {{}}));
}

TEST(JoinZoneFilter, JoinsThatKeepRowsExcludeNothing) {
  for (const auto& table : {table_of_keys({5}), table_of_keys({})})
    for (const uint8_t kind : {TB_JOIN_LEFT, TB_JOIN_ANTI, TB_JOIN_FULL})
      EXPECT_FALSE(excludes(one_join(kind), {table}, {zone(6, 9)})) << int{kind};
}

TEST(JoinZoneFilter, OnlyAFullJoinBeforeKeepsWhatIsLostLater) {
  for (const uint8_t kind : {TB_JOIN_LEFT, TB_JOIN_ANTI, TB_JOIN_FULL})
    for (const bool before : {false, true}) {
      ProgramWriter w;
      w.full_joins_end = kind == TB_JOIN_FULL ? (before ? 1 : 2) : 0;
      const uint32_t v = w.column(TB_TYPE_INT8, true);
      if (before) w.join(kind, {v}, 0);
      w.join(TB_JOIN_INNER, {v}, 1);
      if (!before) w.join(kind, {v}, 0);
      EXPECT_EQ(excludes(w, {table_of_keys({5}), table_of_keys({5})}, {zone(6, 9)}), kind != TB_JOIN_FULL || !before)
          << int{kind} << " " << before;
    }
}

TEST(JoinZoneFilter, EachOfSeveralKeysAndJoins) {
  ProgramWriter w;
  const uint32_t a = w.column(TB_TYPE_INT8), b = w.column(TB_TYPE_INT8), c = w.column(TB_TYPE_INT8);
  w.join(TB_JOIN_INNER, {a, b}, 0);
  w.join(TB_JOIN_SEMI, {c}, 1);
  const JoinTables tables = {table_of({{10, 100}, {20, 200}}, 2), table_of_keys({7})};
  EXPECT_FALSE(excludes(w, tables, {zone(0, 10), zone(100, 150), zone(7, 7)}));
  EXPECT_TRUE(excludes(w, tables, {zone(0, 9), zone(100, 150), zone(7, 7)}));
  EXPECT_TRUE(excludes(w, tables, {zone(0, 10), zone(201, 250), zone(7, 7)}));
  EXPECT_TRUE(excludes(w, tables, {zone(0, 10), zone(100, 150), zone(8, 9)}));
}

TEST(JoinZoneFilter, ColumnsAsTheyAreOrWidened) {
  ProgramWriter w;
  const uint32_t v = w.column(TB_TYPE_INT4), s = w.column(TB_TYPE_INT2);
  const JoinTables tables = {table_of_keys({5})};
  ProgramWriter wider = w;
  wider.join(TB_JOIN_INNER, {wider.call(TB_FN_INT4_TO_INT8, {v})}, 0);
  EXPECT_TRUE(excludes(wider, tables, {zone(6, 9), zone(5, 5)}));
  EXPECT_FALSE(excludes(wider, tables, {zone(4, 9), zone(6, 9)}));
  wider = w;
  wider.join(TB_JOIN_INNER, {wider.call(TB_FN_INT4_TO_INT8, {wider.call(TB_FN_INT2_TO_INT4, {s})})}, 0);
  EXPECT_TRUE(excludes(wider, tables, {zone(5, 5), zone(6, 9)}));
  wider = w;
  wider.join(TB_JOIN_INNER, {wider.call(TB_FN_INT8UM, {wider.call(TB_FN_INT4_TO_INT8, {v})})}, 0);
  EXPECT_FALSE(excludes(wider, tables, {zone(6, 9), zone(6, 9)})) << "another value";

  ProgramWriter numeric = one_join(TB_JOIN_INNER, TB_TYPE_NUM64);
  EXPECT_FALSE(excludes(numeric, {table_of({{5}}, 1, TB_TYPE_NUM64)}, {zone(6, 9)})) << "no bounds are known";
}

/* PostgreSQL may have evaluated what raises for a row without a match. */
TEST(JoinZoneFilter, NothingWhereARowMayRaise) {
  for (const int place : {0, 1, 2, 3}) {
    ProgramWriter w;
    const uint32_t v = w.column(TB_TYPE_INT8), divisor = w.param(TB_TYPE_INT8);
    const uint32_t quotient = w.call(TB_FN_INT8DIV, {v, divisor});
    const uint32_t condition = w.call(TB_FN_INT8LT, {quotient, divisor});
    ASSERT_TRUE(w.exprs[condition].flags & TB_EX_RAISES);
    if (place == 0) w.filters.push_back(condition);
    w.join(TB_JOIN_INNER, {v}, 0, 0, place == 1 ? condition : TB_NONE);
    w.join(TB_JOIN_LEFT, {place == 2 ? quotient : v}, 1);
    if (place == 3) w.aggregate(TB_AGG_MIN, quotient);
    EXPECT_EQ(excludes(w, {table_of_keys({5}), table_of_keys({5})}, {zone(6, 9)}), place == 3) << place;
  }
}

}  // namespace
}  // namespace turbine
