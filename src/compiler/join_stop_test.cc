/*
 * join_stop_test.cc - joins that look at very many candidates: the right rows, and
 * an end as soon as nobody wants them.
 */
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "compiler/testing/join_reference.h"

namespace turbine {
namespace {

using namespace testing;

/* More than the pipeline looks at before it looks whether to stop. */
constexpr size_t kInnerRows = 200000;

/* Every row of the source meets every row of the table; the residual, source <
 * payload, holds for the last one only, or for all. */
class ManyCandidates {
 public:
  ManyCandidates(uint8_t kind, bool keyed, bool residual)
      : build_(build_program(key_type(keyed), {{TB_TYPE_INT4, true}})) {
    query_.source = {{TB_TYPE_INT4, true}, {TB_TYPE_INT4, true}};
    JoinShape shape{kind, false, key_type(keyed), {{TB_TYPE_INT4, true}}, {}};
    if (keyed) shape.probe = {{-1, 1}};
    if (residual) shape.residual = {{-1, 0}, {0, 0}};
    query_.joins = {shape};
    JoinProgram program(query_);
    program.w.outputs = {program.at({-1, 0})};
    code_ = std::make_unique<CompiledPipeline>(program.w.blob(TB_SINK_PROJECT), false);

    std::vector<CellColumn> keys = key_type(keyed), payload = {{TB_TYPE_INT4, true}};
    for (size_t row = 0; row < kInnerRows; row++) {
      for (CellColumn& key : keys) key.cells.push_back(cell<int32_t>(1));
      payload[0].cells.push_back(cell<int32_t>(row + 1 == kInnerRows ? 100 : 0));
    }
    table_ = std::make_unique<BuiltRows>(build_, keys, payload);
    table_->index(keyed ? TB_TABLE_HASH : TB_TABLE_ALL);
  }

  /* Runs `rows` source rows of this value; returns the status. */
  uint32_t run(size_t rows, int32_t value, const std::atomic<uint32_t>* stop) {
    std::vector<CellColumn> source = query_.source;
    source[0].cells.assign(rows, cell(value));
    source[1].cells.assign(rows, cell<int32_t>(1));
    const CellMemory memory(source);
    ParamWriter p;
    p.scalar(&query_.limit, 4);
    const std::string params = p.block();
    const TbJoinTable* tables[] = {table_->table()};
    GrowingStore store(code_->program());
    PipelineCall call(memory.data, static_cast<uint32_t>(rows), params);
    call.args.tables = tables;
    call.args.store = &store.s;
    call.args.make_room = GrowingStore::make_room;
    call.args.stop = reinterpret_cast<const uint32_t*>(stop);
    code_->pipeline(&call.args);
    found = store.s.nrows;
    return call.args.status;
  }

  uint64_t found = 0;

 private:
  static std::vector<CellColumn> key_type(bool keyed) {
    return keyed ? std::vector<CellColumn>{{TB_TYPE_INT4, true}} : std::vector<CellColumn>{};
  }
  CompiledPipeline build_;
  JoinQuery query_;
  std::unique_ptr<CompiledPipeline> code_;
  std::unique_ptr<BuiltRows> table_;
};

struct JoinShape {
  uint8_t kind;
  bool keyed, residual;
};

const JoinShape kShapes[] = {{TB_JOIN_INNER, true, true},   {TB_JOIN_INNER, false, true}, {TB_JOIN_INNER, true, false},
                             {TB_JOIN_INNER, false, false}, {TB_JOIN_LEFT, true, true},   {TB_JOIN_LEFT, false, true},
                             {TB_JOIN_SEMI, true, true},    {TB_JOIN_SEMI, false, true},  {TB_JOIN_ANTI, true, true},
                             {TB_JOIN_ANTI, false, true}};

/* A match after more candidates than are looked at in one go, and none at all. */
TEST(JoinStop, RightRowsOfManyCandidates) {
  for (const JoinShape& s : kShapes) {
    if (!s.residual) continue;
    SCOPED_TRACE("kind " + std::to_string(s.kind) + (s.keyed ? ", keyed" : ""));
    ManyCandidates join(s.kind, s.keyed, s.residual);
    const std::atomic<uint32_t> go{0};
    for (const std::atomic<uint32_t>* stop : {&go, static_cast<const std::atomic<uint32_t>*>(nullptr)}) {
      ASSERT_EQ(join.run(3, 5, stop), TB_PIPELINE_DONE);
      EXPECT_EQ(join.found, s.kind == TB_JOIN_ANTI ? 0u : 3u);
      ASSERT_EQ(join.run(3, 500, stop), TB_PIPELINE_DONE);
      EXPECT_EQ(join.found, s.kind == TB_JOIN_ANTI || s.kind == TB_JOIN_LEFT ? 3u : 0u);
    }
  }
}

TEST(JoinStop, StopsBeforeTheFirstTuple) {
  const std::atomic<uint32_t> stop{1};
  for (const JoinShape& s : kShapes) {
    SCOPED_TRACE("kind " + std::to_string(s.kind) + (s.keyed ? ", keyed" : "") + (s.residual ? ", residual" : ""));
    ManyCandidates join(s.kind, s.keyed, s.residual);
    EXPECT_EQ(join.run(3, 5, &stop), TB_PIPELINE_STOPPED);
    EXPECT_EQ(join.found, 0u);
  }
}

/* Within one tile, whose candidates would take far longer than the wait. */
TEST(JoinStop, StopsInTheMiddleOfATile) {
  for (const JoinShape& s : kShapes) {
    if (!s.residual) continue;
    SCOPED_TRACE("kind " + std::to_string(s.kind) + (s.keyed ? ", keyed" : ""));
    ManyCandidates join(s.kind, s.keyed, s.residual);
    std::atomic<uint32_t> stop{0};
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      stop = 1;
    });
    EXPECT_EQ(join.run(TB_TILE_ROWS, 500, &stop), TB_PIPELINE_STOPPED);
    other.join();
  }
}

}  // namespace
}  // namespace turbine
