/*
 * full_join_test.cc - pipelines with FULL joins against nested loops: the pass over
 * the source, then one over what each FULL join's table has left, alone, in chains
 * and among joins of other kinds.
 */
#include <gtest/gtest.h>

#include "compiler/testing/join_contents.h"
#include "compiler/testing/effort.h"
#include "compiler/testing/join_reference.h"

namespace turbine {
namespace {

using namespace testing;

/* A query compiled as PROJECT of all columns that a tuple has, and run as the engine
 * runs it. */
class FullJoinRun {
 public:
  explicit FullJoinRun(const JoinQuery& q) : q_(q), program_(q) {
    auto add = [&](Ref r) {
      shown_.push_back(r);
      program_.w.outputs.push_back(program_.at(r));
    };
    for (uint32_t c = 0; c < q.source.size(); c++) add({-1, c});
    for (size_t j = 0; j < q.joins.size(); j++)
      if (shows_columns(q.joins[j].kind))
        for (uint32_t c = 0; c < q.joins[j].outputs.size(); c++) add({static_cast<int>(j), c});
    code_ = std::make_unique<CompiledPipeline>(program_.w.blob(TB_SINK_PROJECT));
  }

  void check(const std::vector<CellColumn>& source, const std::vector<const BuiltRows*>& tables) {
    const JoinReference reference(q_, source, tables);
    std::vector<std::string> expected, found;
    for (const Tuple& t : reference.tuples) {
      expected.emplace_back();
      for (Ref r : shown_) show(expected.back(), reference.get(t, r));
    }
    const size_t rows = source.empty() ? 0 : source[0].cells.size();
    GrowingStore store(code_->program());
    run_all(source, rows, tables, store);
    EXPECT_EQ(rows_passed_, reference.rows_passed);
    for (size_t j = 0; j < q_.joins.size(); j++) EXPECT_EQ(join_rows_[j], reference.join_rows[j]) << "join " << j;
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

  void run_all(const std::vector<CellColumn>& source, size_t rows, const std::vector<const BuiltRows*>& tables,
               GrowingStore& store) {
    matched_.clear();
    raw_tables_.clear();
    rows_passed_ = 0;
    join_rows_.assign(q_.joins.size(), 0);
    for (size_t j = 0; j < q_.joins.size(); j++) {
      raw_tables_.push_back(tables[j]->table());
      matched_.emplace_back(tables[j]->rows() + 1);
      matched_.back().back() = 1;
    }
    pass(source, static_cast<uint32_t>(rows), nullptr, 0, store);
    for (uint32_t j = 0; j < q_.joins.size(); j++) {
      if (q_.joins[j].kind != TB_JOIN_FULL) continue;
      std::vector<uint32_t> unmatched;
      for (uint32_t row = 0; row < tables[j]->rows(); row++)
        if (!matched_[j][row]) unmatched.push_back(row);
      std::vector<CellColumn> nothing = q_.source;
      for (CellColumn& c : nothing) c.cells.assign(unmatched.size(), std::nullopt);
      const std::vector<uint8_t> before = matched_[j];
      pass(nothing, static_cast<uint32_t>(unmatched.size()), unmatched.data(), j + 1, store);
      EXPECT_EQ(matched_[j], before) << "who probes again must find them";
    }
  }

  void pass(const std::vector<CellColumn>& source, uint32_t rows, const uint32_t* unmatched, uint32_t full_join,
            GrowingStore& store) {
    const CellMemory memory(source);
    ParamWriter params;
    params.scalar(&q_.limit, sizeof q_.limit);
    const std::string block = params.block();
    PipelineCall run(memory.data, rows, block);
    std::vector<uint8_t*> arrays;
    for (auto& bytes : matched_) arrays.push_back(bytes.data());
    run.args.bytes = memory.bytes();
    run.args.tables = raw_tables_.data();
    run.args.store = &store.s;
    run.args.make_room = GrowingStore::make_room;
    run.args.matched = arrays.data();
    run.args.unmatched = unmatched;
    run.args.full_join = full_join;
    code_->pipeline(&run.args);
    ASSERT_EQ(run.args.status, TB_PIPELINE_DONE);
    EXPECT_EQ(run.args.errors, 0u);
    rows_passed_ += run.args.rows_passed;
    for (size_t j = 0; j < q_.joins.size(); j++) join_rows_[j] += run.args.join_rows[j];
  }

  const JoinQuery& q_;
  JoinProgram program_;
  std::vector<Ref> shown_;
  std::unique_ptr<CompiledPipeline> code_;
  std::vector<std::vector<uint8_t>> matched_;
  std::vector<const TbJoinTable*> raw_tables_;
  uint64_t rows_passed_ = 0;
  std::vector<uint64_t> join_rows_;
};

bool has_null(const std::vector<CellColumn>& keys) {
  for (const CellColumn& c : keys)
    if (std::find(c.cells.begin(), c.cells.end(), std::nullopt) != c.cells.end()) return true;
  return false;
}

std::vector<TbTableKind> kinds_of(const std::vector<CellColumn>& keys, bool unique) {
  std::vector<TbTableKind> kinds = table_kinds(keys, unique);
  if (has_null(keys)) std::erase(kinds, TB_TABLE_DENSE);
  return kinds;
}

/* Some keys of unique ones are NULL. */
std::vector<CellColumn> with_nulls(std::vector<CellColumn> keys, Random& random) {
  for (CellColumn& c : keys)
    for (Cell& value : c.cells)
      if (random() % 5 == 0) value.reset();
  return keys;
}

void check_full_join(const std::vector<CellColumn>& keys, uint64_t seed) {
  Random random(seed);
  CompiledPipeline build(build_program(keys, kPayload, true));
  int variant = 0;
  for (bool unique : {true, false})
    for (bool residual : {false, true}) {
      JoinQuery q;
      q.source = keys;
      q.source.push_back(nullable(TB_TYPE_INT4));
      const auto number = static_cast<uint32_t>(keys.size());
      JoinShape shape{TB_JOIN_FULL, unique, keys, kPayload, {}};
      for (uint32_t i = 0; i < keys.size(); i++) shape.probe.push_back({-1, i});
      variant++;
      if (residual) shape.residual = {{-1, number}, {0, 0}};
      if ((variant + seed) % 2 == 0) q.filter = {{-1, number}};
      if ((variant + seed) % 3 == 0) shape.filter = {{0, 0}};
      if ((variant + seed) % 4 == 1) shape.filter = {{-1, number}};
      q.joins = {shape};
      FullJoinRun run(q);
      for (Content content : {kUnique, kDuplicates, kEmpty, kAllNull})
        for (bool nulls : {false, true}) {
          if ((unique && content == kDuplicates) || (nulls && content != kUnique)) continue;
          auto inner = inner_keys(keys, content, random);
          if (nulls) inner = with_nulls(inner, random);
          const size_t rows = inner[0].cells.size();
          BuiltRows table(build, inner, filled(kPayload, rows, random, 60));
          ASSERT_EQ(table.store.s.nrows, rows) << "rows with NULL keys stay";
          for (TbTableKind table_kind : kinds_of(inner, content != kDuplicates)) {
            table.index(table_kind);
            for (uint32_t n : kRowCounts) {
              SCOPED_TRACE((unique ? "unique, content " : "content ") + std::to_string(content) + ", table kind " +
                           std::to_string(table_kind) + ", rows " + std::to_string(n));
              run.check(filled(q.source, n, random, 60), {&table});
              if (::testing::Test::HasFailure()) return;
            }
          }
        }
    }
}

TEST(FullJoin, Int4) { check_full_join({nullable(TB_TYPE_INT4)}, 1); }
TEST(FullJoin, Int8) { check_full_join({nullable(TB_TYPE_INT8)}, 2); }
TEST(FullJoin, Text) { check_full_join({nullable(TB_TYPE_TEXT)}, 3); }
TEST(FullJoin, Float8) { check_full_join({nullable(TB_TYPE_FLOAT8)}, 4); }
TEST(FullJoin, Int4AndText) { check_full_join({nullable(TB_TYPE_INT4), nullable(TB_TYPE_TEXT)}, 5); }
TEST(FullJoin, Numeric128AndBool) { check_full_join({nullable(TB_TYPE_NUM128, 2), nullable(TB_TYPE_BOOL)}, 6); }

TEST(FullJoin, Keyless) {
  Random random(20);
  CompiledPipeline build(build_program({}, kPayload, true));
  for (bool residual : {false, true}) {
    JoinQuery q;
    q.source = {nullable(TB_TYPE_INT4)};
    JoinShape shape{TB_JOIN_FULL, false, {}, kPayload, {}};
    if (residual) shape.residual = {{-1, 0}, {0, 0}};
    q.joins = {shape};
    FullJoinRun run(q);
    for (size_t rows : {0, 1, 7}) {
      BuiltRows table(build, {}, filled(kPayload, rows, random, 60));
      table.index(TB_TABLE_ALL);
      for (uint32_t n : kRowCounts) run.check(filled(q.source, n, random, 60), {&table});
    }
  }
}

/* More matches of a row, and more rows left over, than a batch has places. */
TEST(FullJoin, ManyMatchesAndMoreLeft) {
  Random random(21);
  const std::vector<CellColumn> keys = {nullable(TB_TYPE_INT4)};
  CompiledPipeline build(build_program(keys, kPayload, true));
  for (bool residual : {false, true}) {
    JoinQuery q;
    q.source = {nullable(TB_TYPE_INT4), nullable(TB_TYPE_INT4)};
    JoinShape shape{TB_JOIN_FULL, false, keys, kPayload, {{-1, 0}}};
    if (residual) shape.residual = {{-1, 1}, {0, 0}};
    q.joins = {shape};
    FullJoinRun run(q);
    const size_t rows = 9 * TB_TILE_ROWS + 5;
    BuiltRows table(build, filled(keys, rows, random, 4), filled(kPayload, rows, random, 60));
    for (TbTableKind kind : {TB_TABLE_HASH, TB_TABLE_DIRECT}) {
      table.index(kind);
      run.check(filled(q.source, 12, random, 2), {&table});
    }
  }
}

/* Up to four joins of all kinds, at least one of them FULL: keys, conditions and
 * filters over columns of the source and of earlier joins. */
TEST(FullJoin, AmongOthers) {
  Random random(22);
  const std::vector<CellColumn> int_key = {nullable(TB_TYPE_INT4)}, text_key = {nullable(TB_TYPE_TEXT)};
  CompiledPipeline build_int(build_program(int_key, kPayload, true)),
      build_text(build_program(text_key, kPayload, true));
  const uint8_t kinds[] = {TB_JOIN_INNER, TB_JOIN_LEFT, TB_JOIN_SEMI, TB_JOIN_ANTI, TB_JOIN_FULL, TB_JOIN_FULL};
  for (int round = 0; round < rounds(40); round++) {
    JoinQuery q;
    q.source = {nullable(TB_TYPE_INT4), nullable(TB_TYPE_INT4), nullable(TB_TYPE_TEXT)};
    std::vector<std::unique_ptr<BuiltRows>> owned;
    std::vector<const BuiltRows*> tables;
    const size_t joins = 2 + random() % 3, full = random() % joins;
    std::vector<int> visible = {-1};
    std::string trace;
    for (size_t j = 0; j < joins; j++) {
      const bool by_text = random() % 3 == 0, unique = random() % 2;
      const uint8_t kind = j == full ? uint8_t{TB_JOIN_FULL} : kinds[random() % 6];
      const int from = visible[random() % visible.size()];
      const uint32_t text_column = from < 0 ? 2 : 1;
      JoinShape shape{kind, unique, by_text ? text_key : int_key, kPayload, {{from, by_text ? text_column : 0u}}};
      if (random() % 3 == 0) shape.residual = {{visible[random() % visible.size()], 0}, {static_cast<int>(j), 0}};
      if (shows_columns(kind)) visible.push_back(static_cast<int>(j));
      // Where it stands for sure, so that tuples after each join can be counted.
      const int filtered = kind == TB_JOIN_FULL ? visible[random() % visible.size()] : static_cast<int>(j);
      if (shows_columns(kind) && random() % 3 == 0) shape.filter = {{filtered, 0}};
      const Content content = random() % 8 == 0 ? kEmpty : unique ? kUnique : kDuplicates;
      auto keys = inner_keys(by_text ? text_key : int_key, content, random);
      if (random() % 2) keys = with_nulls(keys, random);
      auto outputs = filled(kPayload, keys[0].cells.size(), random, 60);
      owned.push_back(std::make_unique<BuiltRows>(by_text ? build_text : build_int, keys, outputs));
      const auto possible = kinds_of(keys, content != kDuplicates);
      owned.back()->index(possible[random() % possible.size()]);
      tables.push_back(owned.back().get());
      q.joins.push_back(shape);
      trace += " " + std::to_string(kind) + (unique ? "u" : "") + (shape.residual.empty() ? "" : "r") +
               (shape.filter.empty() ? "" : "f");
    }
    if (random() % 2) q.filter = {{-1, 1}};
    SCOPED_TRACE("round " + std::to_string(round) + ":" + trace);
    FullJoinRun run(q);
    for (uint32_t n : {0u, 1u, 33u, TB_TILE_ROWS + 1}) run.check(filled(q.source, n, random, 40), tables);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace turbine
