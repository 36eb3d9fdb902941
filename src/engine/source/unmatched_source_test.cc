/* unmatched_source_test.cc - which rows of which tables follow all other input, in what order. */
#include "engine/source/unmatched_source.h"

#include <gtest/gtest.h>

#include "engine/program/testing/program_writer.h"
#include "engine/source/testing/recording_sink.h"

namespace turbine {
namespace {

std::shared_ptr<const JoinTable> table_of(uint64_t rows) {
  static MemoryBudget unlimited(UINT64_MAX);
  HostBuffer block(unlimited, sizeof(TbJoinTable));
  reinterpret_cast<TbJoinTable*>(block.data())->nrows = rows;
  return std::make_shared<const JoinTable>(std::move(block), KeptRowLayout{}, rows);
}

Program joins_of(std::vector<uint8_t> kinds) {
  testing::ProgramWriter w;
  const uint32_t v = w.column(TB_TYPE_INT4, true);
  for (uint8_t kind : kinds) w.join(kind, {v}, 0);
  w.outputs = {v};
  return Program::parse(w.blob(TB_SINK_PROJECT));
}

TEST(UnmatchedSource, JoinByJoinInWaves) {
  const Program program = joins_of({TB_JOIN_FULL, TB_JOIN_INNER, TB_JOIN_FULL, TB_JOIN_FULL, TB_JOIN_LEFT});
  const uint64_t many = 100 * (TB_MAX_SLOTS + 2) + 1;
  UnmatchedSource unmatched(program, {table_of(250), table_of(9), table_of(0), table_of(many), table_of(8)}, 100);
  testing::RecordingSink sink;
  unmatched.begin(sink);
  std::vector<uint64_t> rows(program.joins().size());
  std::vector<size_t> waves;
  for (uint64_t before = 0; unmatched.run_rest();) {
    const auto tasks = std::move(sink.tasks);
    sink.tasks.clear();
    waves.push_back(tasks.size());
    for (const Task& task : tasks) {
      const auto* input = task.as<UnmatchedInput>();
      ASSERT_TRUE(input);
      EXPECT_GT(task.sequence, before);
      before = task.sequence;
      EXPECT_EQ(input->join, tasks[0].as<UnmatchedInput>()->join) << "one join's at a time";
      EXPECT_EQ(input->first_row, rows[input->join]) << "no row twice, none left out";
      EXPECT_LE(input->nrows, 100u);
      rows[input->join] += input->nrows;
    }
  }
  EXPECT_EQ(rows, (std::vector<uint64_t>{250, 0, 0, many, 0}));
  EXPECT_EQ(waves, (std::vector<size_t>{3, TB_MAX_SLOTS, 3}));
  EXPECT_FALSE(unmatched.run_rest());
}

TEST(UnmatchedSource, NoneWithoutFullJoins) {
  const Program program = joins_of({TB_JOIN_LEFT, TB_JOIN_INNER});
  UnmatchedSource unmatched(program, {table_of(250), table_of(9)}, 100);
  testing::RecordingSink sink;
  unmatched.begin(sink);
  EXPECT_FALSE(unmatched.run_rest());
  EXPECT_TRUE(sink.tasks.empty());
}

}  // namespace
}  // namespace turbine
