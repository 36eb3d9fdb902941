/*
 * join_pipeline_test.cc - pipelines with joins against nested loops: every join
 * kind over unique keys, duplicates, empty tables and NULL keys, every key type,
 * every kind of table, and {0, 1, 31, 33, tile-1, tile, tile+1, several tiles} rows.
 */
#include <gtest/gtest.h>

#include "compiler/testing/growing_groups.h"
#include "compiler/testing/effort.h"
#include "compiler/testing/join_contents.h"
#include "compiler/testing/join_reference.h"
#include "engine/program/group_layout.h"

namespace turbine {
namespace {

using namespace testing;
/* A query compiled as PROJECT of all columns that a tuple has. */
class ProjectRun {
 public:
  explicit ProjectRun(const JoinQuery& q) : q_(q), program_(q) {
    auto add = [&](Ref r) {
      shown_.push_back(r);
      program_.w.outputs.push_back(program_.at(r));
    };
    for (uint32_t c = 0; c < q.source.size(); c++) add({-1, c});
    for (size_t j = 0; j < q.joins.size(); j++)
      if (q.joins[j].kind == TB_JOIN_INNER || q.joins[j].kind == TB_JOIN_LEFT)
        for (uint32_t c = 0; c < q.joins[j].outputs.size(); c++) add({static_cast<int>(j), c});
    code_ = std::make_unique<CompiledPipeline>(program_.w.blob(TB_SINK_PROJECT));
  }

  void check(const std::vector<CellColumn>& source, const std::vector<const BuiltRows*>& tables) {
    const JoinReference reference(q_, source, tables);
    std::vector<std::string> expected, found;
    for (const Tuple& t : reference.tuples) {
      std::string row;
      for (Ref r : shown_) show(row, reference.get(t, r));
      expected.push_back(row);
    }
    const CellMemory memory(source);
    ParamWriter p;
    p.scalar(&q_.limit, 4);
    const std::string params = p.block();
    std::vector<const TbJoinTable*> pointers;
    for (const BuiltRows* table : tables) pointers.push_back(table->table());
    GrowingStore store(code_->program());
    PipelineCall run(memory.data, static_cast<uint32_t>(source[0].cells.size()), params);
    run.args.bytes = memory.bytes();
    run.args.tables = pointers.data();
    run.args.store = &store.s;
    run.args.make_room = GrowingStore::make_room;
    code_->pipeline(&run.args);
    ASSERT_EQ(run.args.status, TB_PIPELINE_DONE);
    EXPECT_EQ(run.args.errors, 0u);
    EXPECT_EQ(run.args.rows_passed, reference.rows_passed);
    for (size_t j = 0; j < q_.joins.size(); j++)
      EXPECT_EQ(run.args.join_rows[j], reference.join_rows[j]) << "join " << j;
    ASSERT_EQ(store.s.nrows, expected.size());
    for (uint64_t row = 0; row < store.s.nrows; row++) {
      found.emplace_back();
      for (size_t c = 0; c < shown_.size(); c++) show(found.back(), store.read(c, row));
    }
    std::sort(expected.begin(), expected.end());
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, expected);
  }

 private:
  static void show(std::string& row, const Cell& c) { row += c ? "=" + *c + "|" : "null|"; }
  const JoinQuery& q_;
  JoinProgram program_;
  std::vector<Ref> shown_;
  std::unique_ptr<CompiledPipeline> code_;
};

/* One join on these keys, over all contents and table kinds. */
void check_one_join(const std::vector<CellColumn>& keys, uint64_t seed) {
  Random random(seed);
  std::vector<CellColumn> inner_types = keys;
  CompiledPipeline build(build_program(inner_types, kPayload));
  int variant = 0;
  for (uint8_t kind : {TB_JOIN_INNER, TB_JOIN_LEFT, TB_JOIN_SEMI, TB_JOIN_ANTI})
    for (bool unique : {true, false}) {
      JoinQuery q;
      q.source = keys;
      q.source.push_back({TB_TYPE_INT4, true});
      const uint32_t number = static_cast<uint32_t>(keys.size());
      JoinShape shape{kind, unique, inner_types, kPayload, {}};
      for (uint32_t i = 0; i < keys.size(); i++) shape.probe.push_back({-1, i});
      const bool own = kind == TB_JOIN_INNER || kind == TB_JOIN_LEFT;
      variant++;
      if ((variant + seed) % 2) shape.residual = {{-1, number}, {0, 0}};
      if ((variant + seed) % 3 == 0) q.filter = {{-1, number}};
      if (own && (variant + seed) % 3 == 1) shape.filter = {{0, 0}};
      q.joins = {shape};
      ProjectRun run(q);
      for (Content content : {kUnique, kDuplicates, kEmpty, kAllNull}) {
        if (unique && content == kDuplicates) continue;
        if (content == kAllNull && !keys[0].nullable) continue;
        auto inner = inner_keys(inner_types, content, random);
        const size_t rows = inner.empty() ? 0 : inner[0].cells.size();
        BuiltRows table(build, inner, filled(kPayload, rows, random, 60));
        for (TbTableKind table_kind : table_kinds(keys, content != kDuplicates)) {
          table.index(table_kind);
          for (uint32_t n : kRowCounts) {
            SCOPED_TRACE("join kind " + std::to_string(kind) + (unique ? " unique" : "") + ", content " +
                         std::to_string(content) + ", table kind " + std::to_string(table_kind) + ", rows " +
                         std::to_string(n));
            run.check(filled(q.source, n, random, 60), {&table});
            if (::testing::Test::HasFailure()) return;
          }
        }
      }
    }
}

TEST(JoinPipeline, Int2) { check_one_join({nullable(TB_TYPE_INT2)}, 1); }
TEST(JoinPipeline, Int4) { check_one_join({nullable(TB_TYPE_INT4)}, 2); }
TEST(JoinPipeline, Int4NotNull) { check_one_join({{TB_TYPE_INT4, false}}, 3); }
TEST(JoinPipeline, Int8) { check_one_join({nullable(TB_TYPE_INT8)}, 4); }
TEST(JoinPipeline, Timestamp) { check_one_join({nullable(TB_TYPE_TIMESTAMP)}, 5); }
TEST(JoinPipeline, Float8) { check_one_join({nullable(TB_TYPE_FLOAT8)}, 6); }
TEST(JoinPipeline, Float4) { check_one_join({nullable(TB_TYPE_FLOAT4)}, 7); }
TEST(JoinPipeline, Text) { check_one_join({nullable(TB_TYPE_TEXT)}, 8); }
TEST(JoinPipeline, Numeric64) { check_one_join({nullable(TB_TYPE_NUM64, 2)}, 9); }
TEST(JoinPipeline, Numeric128) { check_one_join({nullable(TB_TYPE_NUM128, 2)}, 10); }
TEST(JoinPipeline, Int4AndText) { check_one_join({nullable(TB_TYPE_INT4), nullable(TB_TYPE_TEXT)}, 11); }
TEST(JoinPipeline, Float8AndInt8) { check_one_join({nullable(TB_TYPE_FLOAT8), nullable(TB_TYPE_INT8)}, 12); }
TEST(JoinPipeline, DateAndBool) { check_one_join({nullable(TB_TYPE_DATE), nullable(TB_TYPE_BOOL)}, 13); }

/* Without keys every row is a candidate. */
TEST(JoinPipeline, Keyless) {
  Random random(20);
  CompiledPipeline build(build_program({}, kPayload));
  for (uint8_t kind : {TB_JOIN_INNER, TB_JOIN_LEFT, TB_JOIN_SEMI, TB_JOIN_ANTI})
    for (bool residual : {false, true}) {
      JoinQuery q;
      q.source = {nullable(TB_TYPE_INT4)};
      JoinShape shape{kind, false, {}, kPayload, {}};
      if (residual) shape.residual = {{-1, 0}, {0, 0}};
      q.joins = {shape};
      ProjectRun run(q);
      for (size_t rows : {0, 1, 7}) {
        BuiltRows table(build, {}, filled(kPayload, rows, random, 60));
        table.index(TB_TABLE_ALL);
        for (uint32_t n : kRowCounts) run.check(filled(q.source, n, random, 60), {&table});
      }
    }
}

/* Chains longer than a tile, so that one tuple's matches fill several batches. */
TEST(JoinPipeline, ChainsLongerThanABatch) {
  Random random(21);
  const std::vector<CellColumn> keys = {nullable(TB_TYPE_INT4)};
  CompiledPipeline build(build_program(keys, kPayload));
  for (uint8_t kind : {TB_JOIN_INNER, TB_JOIN_LEFT})
    for (bool residual : {false, true}) {
      JoinQuery q;
      q.source = {nullable(TB_TYPE_INT4), nullable(TB_TYPE_INT4)};
      JoinShape shape{kind, false, keys, kPayload, {{-1, 0}}};
      if (residual) shape.residual = {{-1, 1}, {0, 0}};
      q.joins = {shape};
      ProjectRun run(q);
      const size_t rows = 3 * TB_TILE_ROWS + 5;
      BuiltRows table(build, filled(keys, rows, random, 2), filled(kPayload, rows, random, 60));
      table.index(TB_TABLE_HASH);
      run.check(filled(q.source, 12, random, 3), {&table});
      table.index(TB_TABLE_DIRECT);
      run.check(filled(q.source, 12, random, 3), {&table});
    }
}

/* Two and three joins in a row, keys from earlier payload, conditions in between. */
TEST(JoinPipeline, JoinsInARow) {
  Random random(22);
  const std::vector<CellColumn> int_key = {nullable(TB_TYPE_INT4)}, text_key = {nullable(TB_TYPE_TEXT)};
  CompiledPipeline build_int(build_program(int_key, kPayload)), build_text(build_program(text_key, kPayload));
  const uint8_t kinds[] = {TB_JOIN_INNER, TB_JOIN_LEFT, TB_JOIN_SEMI, TB_JOIN_ANTI};
  for (int round = 0; round < rounds(24); round++) {
    JoinQuery q;
    q.source = {nullable(TB_TYPE_INT4), nullable(TB_TYPE_INT4), nullable(TB_TYPE_TEXT)};
    std::vector<std::unique_ptr<BuiltRows>> owned;
    std::vector<const BuiltRows*> tables;
    const size_t joins = 2 + random() % 2;
    int payload = -1;  // a join whose columns can be used
    std::string trace;
    for (size_t j = 0; j < joins; j++) {
      const bool by_text = random() % 3 == 0, unique = random() % 2;
      const uint8_t kind = kinds[random() % 4];
      const int from = random() % 2 ? payload : -1;
      const uint32_t text_column = from < 0 ? 2 : 1;
      JoinShape shape{kind, unique, by_text ? text_key : int_key, kPayload, {{from, by_text ? text_column : 0u}}};
      if (random() % 3 == 0) shape.residual = {{from, 0}, {static_cast<int>(j), 0}};
      const bool own = kind == TB_JOIN_INNER || kind == TB_JOIN_LEFT;
      if (own) payload = static_cast<int>(j);
      if (own && random() % 3 == 0) shape.filter = {{payload, 0}};
      const Content content = random() % 8 == 0 ? kEmpty : unique ? kUnique : kDuplicates;
      auto keys = inner_keys(by_text ? text_key : int_key, content, random);
      const size_t rows = keys[0].cells.size();
      auto outputs = filled(kPayload, rows, random, 60);
      owned.push_back(std::make_unique<BuiltRows>(by_text ? build_text : build_int, keys, outputs));
      const auto possible = table_kinds(keys, content != kDuplicates);
      owned.back()->index(possible[random() % possible.size()]);
      tables.push_back(owned.back().get());
      q.joins.push_back(shape);
      trace += " " + std::to_string(kind) + (unique ? "u" : "") + (shape.residual.empty() ? "" : "r") +
               (shape.filter.empty() ? "" : "f");
    }
    if (random() % 2) q.filter = {{-1, 1}};
    SCOPED_TRACE("round " + std::to_string(round) + ":" + trace);
    ProjectRun run(q);
    for (uint32_t n : kRowCounts) run.check(filled(q.source, n, random, 40), tables);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace turbine
