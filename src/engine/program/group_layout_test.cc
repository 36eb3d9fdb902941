/*
 * group_layout_test.cc - rows are laid out without overlap, aligned, and as the
 * hand-written test code expects.
 */
#include "engine/program/group_layout.h"

#include <gtest/gtest.h>

#include <map>

#include "engine/program/testing/program_writer.h"
#include "engine/testing/hand_written_programs.h"

namespace turbine {
namespace {

using testing::ProgramWriter;

void expect_sound(const ProgramWriter& blob) {
  const Program program = Program::parse(blob.blob());
  const GroupLayout layout = group_layout(program);
  std::map<uint32_t, uint32_t> used{{0, 8}};  // offset -> size; the hash
  auto add = [&](const GroupField& field) {
    const uint32_t width = tb_type_width(field.type);
    EXPECT_EQ(field.value_offset % width, 0u);
    EXPECT_TRUE(used.emplace(field.value_offset, width).second);
    if (field.valid_offset) {
      EXPECT_TRUE(used.emplace(field.valid_offset, 1).second);
    }
  };
  for (const GroupField& key : layout.keys) {
    EXPECT_NE(key.valid_offset, 0u);
    add(key);
  }
  for (const GroupField& state : layout.states) add(state);
  uint32_t end = 0;
  for (auto [offset, size] : used) {
    EXPECT_GE(offset, end);
    end = offset + size;
  }
  EXPECT_GE(layout.row_size, end);
  EXPECT_EQ(layout.row_size % 8, 0u);
}

TEST(GroupLayout, EveryTypeAsKeyAndState) {
  ProgramWriter blob;
  blob.sink = TB_SINK_AGGREGATE;
  for (uint8_t type = 1; type < TB_TYPE_COUNT; type++) {
    const uint32_t column = blob.column(type);
    blob.keys.push_back(column);
    if (type != TB_TYPE_BOOL) blob.aggregate(TB_AGG_MAX, column);
    blob.aggregate(TB_AGG_COUNT, column);
  }
  expect_sound(blob);
}

TEST(GroupLayout, WideStatesAlignTheRow) {
  ProgramWriter blob;
  blob.sink = TB_SINK_AGGREGATE;
  const uint32_t column = blob.column(TB_TYPE_INT8);
  blob.keys.push_back(column);
  blob.aggregate(TB_AGG_SUM_WIDE, column);
  expect_sound(blob);
  EXPECT_EQ(group_layout(Program::parse(blob.blob())).row_size % 16, 0u);
}

TEST(GroupLayout, HandWrittenCodeAgrees) {
  const GroupLayout grouped = group_layout(Program::parse(testing::sum_program(true).blob()));
  EXPECT_EQ(grouped.states[0].value_offset, 8u);
  EXPECT_EQ(grouped.states[0].valid_offset, 0u);
  EXPECT_EQ(grouped.states[1].value_offset, 16u);
  EXPECT_EQ(grouped.keys[0].value_offset, 24u);
  EXPECT_EQ(grouped.keys[0].valid_offset, 28u);
  EXPECT_EQ(grouped.states[1].valid_offset, 29u);
  const GroupLayout total = group_layout(Program::parse(testing::sum_program(false).blob()));
  EXPECT_EQ(total.states[1].valid_offset, 24u);
}

}  // namespace
}  // namespace turbine
