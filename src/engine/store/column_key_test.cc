/* column_key_test.cc - what makes a column another one. */
#include "engine/store/column_key.h"

#include <gtest/gtest.h>

#include <functional>

#include "engine/program/testing/program_writer.h"

namespace turbine {
namespace {

using Change = std::function<void(testing::ProgramWriter&)>;

ColumnKey key_of(const Change& change, int64_t missing = 5) {
  testing::ProgramWriter w;
  w.column(TB_TYPE_NUM64, true, 2);
  w.column(TB_TYPE_INT4);
  w.params.push_back({TB_TYPE_NUM64, 0, 2});
  w.columns[0].missing_param = 0;
  change(w);
  const Program program = Program::parse(w.blob(TB_SINK_ROWS));
  std::vector<uint8_t> block(sizeof(TbParamBlock) + sizeof(TbParam));
  auto* params = reinterpret_cast<TbParamBlock*>(block.data());
  params->count = 1;
  reinterpret_cast<TbParam*>(params + 1)->value[0] = static_cast<uint64_t>(missing);
  return column_key(program, 0, params);
}

TEST(ColumnKey, IsTheSameForTheSame) {
  EXPECT_EQ(key_of([](auto&) {}), key_of([](auto&) {}));
  // Other columns of the program do not matter.
  EXPECT_EQ(key_of([](auto&) {}), key_of([](auto& w) { w.column(TB_TYPE_TEXT); }));
}

TEST(ColumnKey, DiffersByAllThatDecodingDependsOn) {
  const ColumnKey key = key_of([](auto&) {});
  EXPECT_NE(key, key_of([](auto&) {}, 6)) << "missing value";
  EXPECT_NE(key, key_of([](auto& w) { w.columns[0].missing_param = TB_NONE; })) << "no missing value";
  EXPECT_NE(key, key_of([](auto& w) { w.columns[0].scale = w.params[0].scale = w.exprs[0].scale = 3; })) << "scale";
  const auto wider = [](auto& w) { w.columns[0].type = w.params[0].type = w.exprs[0].type = TB_TYPE_NUM128; };
  EXPECT_NE(key, key_of(wider)) << "type";
  EXPECT_NE(key, key_of([](auto& w) { w.columns[0].flags = w.exprs[0].flags = 0; })) << "nullable";
  EXPECT_NE(key, key_of([](auto& w) { w.columns[0].digits = 9; })) << "digits";
  EXPECT_NE(key, key_of([](auto& w) {
              w.attributes.push_back(w.attributes[0]);
              w.columns[0].attnum = 3;
            }))
      << "attribute";
  EXPECT_NE(key, key_of([](auto& w) { w.attributes[0].align = 8; })) << "alignment";
}

}  // namespace
}  // namespace turbine
