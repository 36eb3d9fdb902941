/*
 * join_aggregate_test.cc - aggregates over joined tuples, ungrouped and grouped by
 * columns of source and tables, against nested loops; and pipelines that are refused
 * room.
 */
#include <gtest/gtest.h>

#include "compiler/testing/growing_groups.h"
#include "compiler/testing/join_reference.h"
#include "engine/program/group_layout.h"

namespace turbine {
namespace {

using namespace testing;
using Random = std::mt19937_64;

const std::vector<CellColumn> kKey = {{TB_TYPE_INT4, true}};
const std::vector<CellColumn> kPayload = {{TB_TYPE_INT4, true}, {TB_TYPE_TEXT, true}};

/* Integers below `domain`, texts of as many values. */
std::vector<CellColumn> filled_columns(std::vector<CellColumn> types, size_t rows, Random& random, uint32_t domain) {
  for (CellColumn& c : types)
    for (size_t row = 0; row < rows; row++) {
      const uint32_t n = static_cast<uint32_t>(random() % domain);
      if (c.nullable && random() % 6 == 0)
        c.cells.push_back(std::nullopt);
      else if (tb_type_is_text(c.type))
        c.cells.push_back(std::string(n % 11, 'y') + std::to_string(n));
      else
        c.cells.push_back(cell(static_cast<int32_t>(n)));
    }
  return types;
}

/* count(*), count(c), sum(c), min(text): of table 0's columns. */
struct Sums {
  int64_t rows = 0, values = 0, sum = 0;
  std::optional<std::string> least;
  bool operator==(const Sums&) const = default;
};

template <class T>
T read(const uint8_t* row, uint32_t offset) {
  T v;
  std::memcpy(&v, row + offset, sizeof v);
  return v;
}

Sums read_sums(const GroupLayout& layout, const uint8_t* row, const uint8_t* arena) {
  Sums s;
  s.rows = read<int64_t>(row, layout.states[0].value_offset);
  s.values = read<int64_t>(row, layout.states[1].value_offset);
  if (row[layout.states[2].valid_offset]) s.sum = read<int64_t>(row, layout.states[2].value_offset);
  if (layout.states.size() > 3 && row[layout.states[3].valid_offset]) {
    const auto text = read<TbGroupText>(row, layout.states[3].value_offset);
    s.least = std::string(reinterpret_cast<const char*>(arena) + text.offset, text.length);
  }
  return s;
}

void check_aggregates(bool grouped, bool texts, uint8_t kind, bool unique) {
  Random random(kind * 2u + unique);
  CompiledPipeline build(build_program(kKey, kPayload));
  JoinQuery q;
  q.source = {{TB_TYPE_INT4, true}};
  q.joins = {{kind, unique, kKey, kPayload, {{-1, 0}}}};
  JoinProgram program(q);
  const uint32_t number = program.at({0, 0}), text = program.at({0, 1});
  if (grouped) program.w.keys = {text, program.at({-1, 0})};
  program.w.aggregate(TB_AGG_COUNT);
  program.w.aggregate(TB_AGG_COUNT, number);
  program.w.aggregate(TB_AGG_SUM_INT, number);
  if (texts) program.w.aggregate(TB_AGG_MIN, text);
  // Texts' extremes have no GPU code.
  CompiledPipeline code(program.w.blob(TB_SINK_AGGREGATE), !texts);
  const GroupLayout layout = group_layout(code.program());
  std::vector<CellColumn> keys = kKey;
  if (unique)
    for (int i = 0; i < 30; i++) keys[0].cells.push_back(cell(i * 2));
  else
    keys = filled_columns(kKey, 60, random, 40);
  BuiltRows table(build, keys, filled_columns(kPayload, keys[0].cells.size(), random, 50));
  for (TbTableKind table_kind : {TB_TABLE_HASH, TB_TABLE_DIRECT}) {
    table.index(table_kind);
    for (uint32_t n : {0u, 1u, 33u, TB_TILE_ROWS, TB_TILE_ROWS + 1, 3 * TB_TILE_ROWS + 7}) {
      const auto source = filled_columns(q.source, n, random, 60);
      const JoinReference reference(q, source, {&table});
      std::map<std::string, Sums> expected, found;
      auto key_of = [](const Cell& a, const Cell& b) { return (a ? "'" + *a : "null") + "|" + (b ? *b : "null"); };
      if (!grouped) expected[""];
      for (const Tuple& t : reference.tuples) {
        Sums& s = expected[grouped ? key_of(reference.get(t, {0, 1}), reference.get(t, {-1, 0})) : ""];
        s.rows++;
        if (const Cell c = reference.get(t, {0, 0})) {
          s.values++;
          s.sum += value_of<int32_t>(c);
        }
        const Cell word = reference.get(t, {0, 1});
        if (texts && word && (!s.least || *word < *s.least)) s.least = *word;
      }
      const CellMemory memory(source);
      ParamWriter p;
      p.scalar(&q.limit, 4);
      const std::string params = p.block();
      const TbJoinTable* pointer = table.table();
      GrowingGroups groups(layout.row_size, 1, 0);
      PipelineCall run(memory.data, n, params);
      run.args.bytes = memory.bytes();
      run.args.tables = &pointer;
      run.args.groups = &groups.t;
      run.args.make_room = GrowingGroups::make_room;
      code.pipeline(&run.args);
      ASSERT_EQ(run.args.status, TB_PIPELINE_DONE);
      EXPECT_EQ(run.args.errors, 0u);
      if (!grouped) {
        found[""] = read_sums(layout, groups.t.rows, groups.t.arena);
      } else {
        for (uint64_t g = 0; g < groups.t.ngroups; g++) {
          const uint8_t* row = groups.t.rows + g * layout.row_size;
          Cell word, key;
          const auto view = read<TbGroupText>(row, layout.keys[0].value_offset);
          if (row[layout.keys[0].valid_offset])
            word = std::string(reinterpret_cast<const char*>(groups.t.arena) + view.offset, view.length);
          if (row[layout.keys[1].valid_offset]) key = cell(read<int32_t>(row, layout.keys[1].value_offset));
          found[key_of(word, key)] = read_sums(layout, row, groups.t.arena);
        }
        EXPECT_EQ(groups.t.ngroups, expected.size());
      }
      EXPECT_TRUE(found == expected) << n << " rows, table kind " << table_kind << ", join kind " << int{kind};
    }
  }
}

TEST(JoinAggregate, Ungrouped) {
  for (bool unique : {false, true})
    for (bool texts : {false, true}) {
      check_aggregates(false, texts, TB_JOIN_INNER, unique);
      check_aggregates(false, texts, TB_JOIN_LEFT, unique);
    }
}

TEST(JoinAggregate, Grouped) {
  for (bool unique : {false, true})
    for (bool texts : {false, true}) {
      check_aggregates(true, texts, TB_JOIN_INNER, unique);
      check_aggregates(true, texts, TB_JOIN_LEFT, unique);
    }
}

/* Room is asked for inside the loop of a join that fans out; a refusal ends the run
 * from there. */
TEST(JoinAggregate, StopsInsideAFanOut) {
  Random random(9);
  CompiledPipeline build(build_program(kKey, kPayload));
  JoinQuery q;
  q.source = {{TB_TYPE_INT4, false}};
  q.joins = {{TB_JOIN_INNER, false, kKey, kPayload, {{-1, 0}}}};
  JoinProgram program(q);
  program.w.outputs = {program.at({0, 0}), program.at({0, 1})};
  CompiledPipeline code(program.w.blob(TB_SINK_PROJECT));
  const size_t rows = 3 * TB_TILE_ROWS;
  std::vector<CellColumn> keys = kKey;
  keys[0].cells.assign(rows, cell(int32_t{1}));
  BuiltRows table(build, keys, filled_columns(kPayload, rows, random, 50));
  table.index(TB_TABLE_HASH);
  const TbJoinTable* pointer = table.table();
  std::vector<CellColumn> source = q.source;
  source[0].cells.assign(2, cell(int32_t{1}));
  const CellMemory memory(source);
  ParamWriter p;
  p.scalar(&q.limit, 4);
  const std::string params = p.block();
  for (int allowed : {0, 2, -1}) {
    GrowingStore store(code.program());
    store.refuse_after = allowed;
    PipelineCall run(memory.data, 2, params);
    run.args.bytes = memory.bytes();
    run.args.tables = &pointer;
    run.args.store = &store.s;
    run.args.make_room = GrowingStore::make_room;
    code.pipeline(&run.args);
    EXPECT_EQ(run.args.status, static_cast<uint32_t>(allowed < 0 ? TB_PIPELINE_DONE : TB_PIPELINE_STOPPED));
    EXPECT_EQ(store.s.nrows, allowed < 0 ? 2 * rows : static_cast<size_t>(allowed) * TB_TILE_ROWS);
  }
}

/* Conditions and keys are evaluated for tuples that are still alive, and only then
 * may raise. */
TEST(JoinAggregate, ErrorsOfLiveTuplesOnly) {
  CompiledPipeline build(build_program(kKey, kPayload));
  ProgramWriter w;
  const uint32_t a = w.column(TB_TYPE_INT4);
  const uint32_t top = w.param(TB_TYPE_INT4);
  w.join(TB_JOIN_INNER, {a}, 0, TB_JOIN_UNIQUE);
  const uint32_t number = w.payload(0, 1, TB_TYPE_INT4, true);
  w.join(TB_JOIN_SEMI, {w.call(TB_FN_INT4PL, {number, top})}, 0, TB_JOIN_UNIQUE);
  w.filters = {w.call(TB_FN_INT4LT, {w.call(TB_FN_INT4PL, {number, top}), top})};
  w.aggregate(TB_AGG_COUNT);
  CompiledPipeline code(w.blob(TB_SINK_AGGREGATE));
  std::vector<CellColumn> keys = kKey, payload = kPayload;
  for (int32_t key : {1, 2, 3}) {
    keys[0].cells.push_back(cell(key));
    payload[0].cells.push_back(key == 3 ? cell(INT32_MAX) : cell(-key));
    payload[1].cells.push_back("t");
  }
  BuiltRows table(build, keys, payload);
  for (TbTableKind kind : {TB_TABLE_HASH, TB_TABLE_DIRECT, TB_TABLE_DENSE}) {
    table.index(kind);
    const TbJoinTable* pointers[] = {table.table(), table.table()};
    for (int32_t last : {7, 3}) {  // 3 finds the row whose payload overflows
      const std::vector<int32_t> values = {1, 2, 2, 5, last};
      const std::vector<TbColumnData> columns = {{const_cast<int32_t*>(values.data()), nullptr}};
      ParamWriter p;
      const int32_t limit = 2;
      p.scalar(&limit, 4);
      const std::string params = p.block();
      const GroupLayout layout = group_layout(code.program());
      GrowingGroups groups(layout.row_size, 1, 0);
      PipelineCall run(columns, 5, params);
      run.args.tables = pointers;
      run.args.groups = &groups.t;
      code.pipeline(&run.args);
      EXPECT_EQ(run.args.errors, last == 3 ? TB_ERR_OVERFLOW : 0u);
      if (last != 3) {
        // -1 + 2 = 1 and -2 + 2 = 0 are below 2; only 1 is a key.
        EXPECT_EQ(run.args.join_rows[0], 3u);
        EXPECT_EQ(run.args.join_rows[1], 1u);
      }
    }
  }
}

}  // namespace
}  // namespace turbine
