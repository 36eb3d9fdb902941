/*
 * row_store_test.cc - the sinks PROJECT and BUILD: every type, NULLs, texts that
 * outgrow their arena, canonical keys, and the rows that a BUILD leaves out.
 */
#include <gtest/gtest.h>

#include "compiler/testing/join_reference.h"

namespace turbine {
namespace {

using namespace testing;
using Random = std::mt19937_64;

constexpr uint32_t kStoreRowCounts[] = {
    0, 1, 31, 33, TB_TILE_ROWS - 1, TB_TILE_ROWS, TB_TILE_ROWS + 1, 3 * TB_TILE_ROWS + 7};

const std::vector<CellColumn> kAllTypes = {
    {TB_TYPE_BOOL, true},     {TB_TYPE_INT2, false},     {TB_TYPE_INT4, true}, {TB_TYPE_INT8, true},
    {TB_TYPE_FLOAT4, true},   {TB_TYPE_FLOAT8, false},   {TB_TYPE_DATE, true}, {TB_TYPE_TIMESTAMP, false},
    {TB_TYPE_NUM64, true, 2}, {TB_TYPE_NUM128, true, 3}, {TB_TYPE_TEXT, true}, {TB_TYPE_BPCHAR, false},
    {TB_TYPE_TEXT, false}};

std::vector<CellColumn> filled(std::vector<CellColumn> types, uint32_t rows, Random& random, int null_mode) {
  for (CellColumn& c : types)
    for (uint32_t row = 0; row < rows; row++) {
      if (c.nullable && (null_mode == 2 || (null_mode == 1 && random() % 3 == 0))) {
        c.cells.push_back(std::nullopt);
        continue;
      }
      std::string bytes;
      const size_t size = tb_type_is_text(c.type) ? random() % 40 : tb_type_width(c.type);
      for (size_t i = 0; i < size; i++) bytes += static_cast<char>(c.type == TB_TYPE_BOOL ? random() % 2 : random());
      c.cells.push_back(bytes);
    }
  return types;
}

TEST(RowStore, ProjectsEveryType) {
  ProgramWriter w;
  std::vector<uint32_t> columns;
  for (const CellColumn& c : kAllTypes) columns.push_back(w.column(c.type, c.nullable, c.scale));
  const uint32_t limit = w.param(TB_TYPE_INT2);
  w.filters = {w.call(TB_FN_INT2LT, {columns[1], limit})};
  w.outputs = columns;
  w.outputs.push_back(w.call(TB_FN_INT2LT, {columns[1], limit}));
  CompiledPipeline code(w.blob(TB_SINK_PROJECT));
  Random random(1);
  ParamWriter p;
  const int16_t top = 10000;
  p.scalar(&top, 2);
  const std::string params = p.block();
  for (uint32_t n : kStoreRowCounts)
    for (int null_mode : {0, 1, 2}) {
      const auto source = filled(kAllTypes, n, random, null_mode);
      const CellMemory memory(source);
      GrowingStore store(code.program());
      PipelineCall run(memory.data, n, params);
      run.args.bytes = memory.bytes();
      run.args.store = &store.s;
      run.args.make_room = GrowingStore::make_room;
      code.pipeline(&run.args);
      ASSERT_EQ(run.args.status, TB_PIPELINE_DONE);
      uint64_t at = 0;
      for (uint32_t row = 0; row < n; row++) {
        if (value_of<int16_t>(source[1].cells[row]) >= top) continue;
        ASSERT_LT(at, store.s.nrows);
        for (size_t c = 0; c < source.size(); c++) ASSERT_EQ(store.read(c, at), source[c].cells[row]) << "column " << c;
        ASSERT_EQ(*store.read(source.size(), at), "\x01");
        at++;
      }
      EXPECT_EQ(store.s.nrows, at);
      EXPECT_EQ(run.args.rows_passed, at);
      // Views carry the prefix of their text, and nothing else in its place.
      for (uint64_t row = 0; row < store.s.nrows; row++) {
        TbTextView view;
        std::memcpy(&view, static_cast<const char*>(store.data[12].values) + row * sizeof view, sizeof view);
        uint32_t prefix = 0;
        std::memcpy(&prefix, store.s.arena + view.offset, std::min(view.length, 4u));
        ASSERT_EQ(view.prefix, prefix);
        ASSERT_EQ(view.id, 0u);
      }
    }
}

TEST(RowStore, BuildsWithCanonicalKeys) {
  const std::vector<CellColumn> keys = {{TB_TYPE_FLOAT8, true}, {TB_TYPE_BOOL, false}, {TB_TYPE_FLOAT4, true}};
  const std::vector<CellColumn> outputs = {{TB_TYPE_TEXT, true}, {TB_TYPE_FLOAT8, false}};
  CompiledPipeline code(build_program(keys, outputs));
  const double doubles[] = {std::nan(""), -std::nan("5"), 0.0, -0.0, 1.5};
  const float floats[] = {-0.0f, 0.0f, std::nanf("3"), std::nanf("")};
  Random random(2);
  const std::string params = ParamWriter().block();
  for (uint32_t n : kStoreRowCounts)
    for (int null_mode : {0, 1, 2}) {
      std::vector<CellColumn> source = keys;
      auto payload = filled(outputs, n, random, null_mode);
      source.insert(source.end(), payload.begin(), payload.end());
      auto null = [&] { return null_mode == 2 || (null_mode == 1 && random() % 4 == 0); };
      for (uint32_t row = 0; row < n; row++) {
        source[0].cells.push_back(null() ? Cell() : cell(doubles[random() % 5]));
        source[1].cells.push_back(cell<uint8_t>(random() % 2));
        source[2].cells.push_back(null() ? Cell() : cell(floats[random() % 4]));
      }
      const CellMemory memory(source);
      GrowingStore store(code.program());
      PipelineCall run(memory.data, n, params);
      run.args.bytes = memory.bytes();
      run.args.store = &store.s;
      run.args.make_room = GrowingStore::make_room;
      code.pipeline(&run.args);
      ASSERT_EQ(run.args.status, TB_PIPELINE_DONE);
      EXPECT_EQ(run.args.rows_passed, n);
      uint64_t at = 0;
      std::map<std::string, std::pair<std::string, uint64_t>> by_key;  // bytes and hash
      for (uint32_t row = 0; row < n; row++) {
        if (!source[0].cells[row] || !source[2].cells[row]) continue;
        ASSERT_LT(at, store.s.nrows);
        std::string key, bytes;
        for (size_t c = 0; c < 3; c++) {
          key += key_text(source[c].type, source[c].cells[row]) + "|";
          bytes += *store.read(c, at) + "|";
          EXPECT_EQ(key_text(source[c].type, store.read(c, at)), key_text(source[c].type, source[c].cells[row]));
        }
        const auto& seen = by_key.try_emplace(key, bytes, store.hashes[at]).first->second;
        EXPECT_EQ(seen.first, bytes);
        EXPECT_EQ(seen.second, store.hashes[at]);
        EXPECT_EQ(store.read(3, at), source[3].cells[row]);
        EXPECT_EQ(store.read(4, at), source[4].cells[row]);
        at++;
      }
      EXPECT_EQ(store.s.nrows, at);
    }
}

TEST(RowStore, BuildHasKernelsOfAGpu) {
  for (const bool nullable : {false, true}) {
    const Program program = Program::parse(build_program({{TB_TYPE_INT4, nullable}}, {}));
    const CompiledArtifact code = compile_program(program, TB_TARGET_PTX, "sm_90", "");
    const std::string ptx(code.bytes.data());
    EXPECT_NE(ptx.find(".entry tb_probe("), std::string::npos);
    EXPECT_NE(ptx.find(".entry tb_project("), std::string::npos);
  }
}

}  // namespace
}  // namespace turbine
