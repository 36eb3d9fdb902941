/*
 * compiled_join_test.cc - joins end to end: the daemon with the real compiler,
 * heap pages and rows of other plans in, result rows out.
 */
#include <map>
#include <optional>
#include <tuple>

#include "daemon/testing/turbined_fixture.h"
#include "engine/program/program.h"
#include "engine/testing/heap_pages.h"
#include "turbine/kernel.h"

namespace turbine {
namespace {

using testing::Client;
using testing::heap_pages;
using testing::numbers;
using testing::ProgramWriter;
using testing::Reply;

constexpr uint32_t kAllowHost = TB_QUERY_ALLOW_HOST;

using Name = std::optional<std::string>;

class CompiledJoinTest : public testing::TurbinedTest {
 protected:
  void SetUp() override { start_daemon({"--compiler", TB_COMPILER}, ""); }

  /* Rows (number, name) of another plan, as columns in a slot. */
  static void send_rows(Client& client, const std::vector<std::pair<int32_t, Name>>& rows, uint64_t sequence) {
    uint8_t* slot = client.slot(0);
    const uint64_t numbers_at = 128, names_at = 64 << 10, valid_at = names_at + rows.size() * 16;
    const uint64_t bytes_at = valid_at + rows.size();
    uint32_t used = 0;
    for (size_t i = 0; i < rows.size(); i++) {
      const std::string text = rows[i].second.value_or("");
      TbTextView view{static_cast<uint32_t>(text.size()), 0, 0, used};
      text.copy(reinterpret_cast<char*>(&view.prefix), sizeof view.prefix);
      text.copy(reinterpret_cast<char*>(slot) + bytes_at + used, text.size());
      used += view.length;
      memcpy(slot + numbers_at + i * 4, &rows[i].first, 4);
      memcpy(slot + names_at + i * 16, &view, sizeof view);
      slot[valid_at + i] = rows[i].second.has_value();
    }
    TbColumnsChunk header{};
    header.nrows = static_cast<uint32_t>(rows.size());
    header.ncolumns = 2;
    header.bytes_offset = bytes_at;
    header.bytes_size = used;
    const uint64_t columns[4] = {numbers_at, 0, names_at, valid_at};
    memcpy(slot, &header, sizeof header);
    memcpy(slot + sizeof header, columns, sizeof columns);
    TbChunk chunk{};
    chunk.kind = TB_CHUNK_COLUMNS;
    chunk.sequence = sequence;
    client.send_struct(TB_MSG_CHUNK, chunk);
    client.send_struct(TB_MSG_CHUNK_RELEASE, TbChunkRelease{0, 0});
  }

  static Reply end(Client& client) {
    client.send(TB_MSG_INPUT_END);
    return client.receive();
  }

  /* Table 0: names by number, of rows. */
  static ProgramWriter names_program() {
    ProgramWriter p;
    p.source = TB_SOURCE_ROWS;
    p.sink = TB_SINK_BUILD;
    p.keys = {p.column(TB_TYPE_INT4)};
    p.outputs = {p.column(TB_TYPE_TEXT, true)};
    return p;
  }
  /* Table 1: the numbers of a relation, without payload. */
  static ProgramWriter numbers_program() {
    ProgramWriter p;
    p.sink = TB_SINK_BUILD;
    p.keys = {p.column(TB_TYPE_INT4)};
    return p;
  }
  bool build_both(Client& client, const std::vector<std::pair<int32_t, Name>>& names,
                  const std::vector<int32_t>& values) {
    client.prepare(names_program());
    client.prepare(numbers_program());
    if (!client.start(names_program(), 100, kAllowHost, 0)) return false;
    for (size_t first = 0; first < names.size(); first += 1000) {
      const size_t last = std::min(names.size(), first + 1000);
      send_rows(client, {names.begin() + static_cast<long>(first), names.begin() + static_cast<long>(last)},
                first / 1000);
      if (client.receive().as<TbChunkDone>().verdict != 0) return false;
    }
    const Reply built = end(client);
    if (built.type != TB_MSG_QUERY_DONE) return false;
    names_kind_ = built.as<TbQueryDone>().table_kind;
    if (!client.start(numbers_program(), 100, kAllowHost, 1)) return false;
    client.send_pages(0, heap_pages(values, 100), 0);
    if (client.receive().as<TbChunkDone>().verdict != 0) return false;
    return end(client).type == TB_MSG_QUERY_DONE;
  }

  uint32_t names_kind_ = 0;  // TbTableKind
};

std::vector<std::pair<int32_t, Name>> some_names(int32_t step, int copies) {
  std::vector<std::pair<int32_t, Name>> names;
  for (int32_t i = 0; i < 2000; i++)
    for (int copy = 0; copy < copies; copy++)
      names.emplace_back(i * step, i % 7 == 0 ? Name() : "name " + std::to_string(i) + std::string(copy, '+'));
  return names;
}

/* SELECT v, name FROM s LEFT JOIN names USING (v) WHERE EXISTS (numbers: v) */
TEST_F(CompiledJoinTest, ProjectsThroughEveryKindOfTable) {
  const std::tuple<int32_t, int, uint32_t> cases[] = {
      {1, 1, TB_TABLE_DENSE}, {2, 2, TB_TABLE_DIRECT}, {100000, 1, TB_TABLE_HASH}, {99999, 3, TB_TABLE_HASH}};
  for (const auto& [step, copies, kind] : cases) {
    auto client = connect();
    const auto names = some_names(step, copies);
    std::vector<int32_t> values;
    for (int32_t i = 0; i < 3000; i += 2) values.push_back(i * step);
    ASSERT_TRUE(build_both(*client, names, values));
    EXPECT_EQ(names_kind_, kind);

    ProgramWriter p;
    p.sink = TB_SINK_PROJECT;
    const uint32_t v = p.column(TB_TYPE_INT4);
    p.join(TB_JOIN_SEMI, {v}, 1);
    const uint32_t left = p.join(TB_JOIN_LEFT, {v}, 0);
    p.outputs = {v, p.payload(left, 1, TB_TYPE_TEXT, true)};
    ASSERT_TRUE(client->start(p, 100));
    std::vector<int32_t> probes;
    for (int32_t i = -10; i < 3010; i++) probes.push_back(i * step);
    client->send_pages(0, heap_pages(probes, 200), 0);
    ASSERT_EQ(client->receive().as<TbChunkDone>().verdict, 0u);

    std::vector<std::pair<int32_t, Name>> expected, got;
    for (int32_t i = 0; i < 3000; i += 2) {
      for (int copy = 0; i < 2000 && copy < copies; copy++)
        expected.push_back(names[static_cast<size_t>(i * copies + copy)]);
      if (i >= 2000) expected.emplace_back(i * step, Name());
    }
    Reply reply = end(*client);
    for (; reply.type == TB_MSG_RESULT_BATCH; reply = client->receive()) {
      const auto* batch = reinterpret_cast<const TbResultBatch*>(reply.payload.data());
      const uint8_t* slot = client->slot(batch->slot);
      for (uint32_t i = 0; i < batch->nrows; i++) {
        int32_t value;
        TbTextView view;
        memcpy(&value, slot + batch->columns[0].values + i * 4, 4);
        memcpy(&view, slot + batch->columns[1].values + i * 16, 16);
        const char* text = reinterpret_cast<const char*>(slot) + batch->bytes_offset + view.offset;
        got.emplace_back(value, slot[batch->columns[1].valid + i] ? Name(std::string(text, view.length)) : Name());
      }
      client->send_struct(TB_MSG_SLOT_FREE, TbSlotFree{batch->slot, 0});
    }
    ASSERT_EQ(reply.type, TB_MSG_QUERY_DONE);
    std::sort(expected.begin(), expected.end());
    std::sort(got.begin(), got.end());
    EXPECT_EQ(got, expected) << step << " " << copies << " " << kind;
    const auto done = reply.as<TbQueryDone>();
    EXPECT_EQ(done.join_rows[0], 1500u);
    EXPECT_EQ(done.join_rows[1], expected.size());
  }
}

/* SELECT name, count(*), sum(v) FROM s JOIN names USING (v) GROUP BY name */
TEST_F(CompiledJoinTest, AggregatesOverJoins) {
  auto client = connect();
  std::vector<std::pair<int32_t, Name>> names;
  for (int32_t i = 0; i < 1000; i++) names.emplace_back(i, "group " + std::to_string(i % 10));
  ASSERT_TRUE(build_both(*client, names, {1}));
  ProgramWriter p;
  p.sink = TB_SINK_AGGREGATE;
  const uint32_t v = p.column(TB_TYPE_INT4);
  const uint32_t join = p.join(TB_JOIN_INNER, {v}, 0, TB_JOIN_UNIQUE);
  p.keys = {p.payload(join, 1, TB_TYPE_TEXT, true)};
  p.aggregate(TB_AGG_COUNT);
  p.aggregate(TB_AGG_SUM_INT, v);
  ASSERT_TRUE(client->start(p, 100));
  std::map<std::string, std::pair<int64_t, int64_t>> expected, got;
  for (uint64_t c = 0; c < 10; c++) {
    client->send_pages(0, heap_pages(numbers(1500), 100), c);
    ASSERT_EQ(client->receive().as<TbChunkDone>().verdict, 0u);
    for (int32_t i = 0; i < 1000; i++) {
      expected["group " + std::to_string(i % 10)].first++;
      expected["group " + std::to_string(i % 10)].second += i;
    }
  }
  const Reply reply = end(*client);
  ASSERT_EQ(reply.type, TB_MSG_RESULT_BATCH);
  const auto* batch = reinterpret_cast<const TbResultBatch*>(reply.payload.data());
  const uint8_t* slot = client->slot(batch->slot);
  for (uint32_t i = 0; i < batch->nrows; i++) {
    TbTextView view;
    std::pair<int64_t, int64_t> states;
    memcpy(&view, slot + batch->columns[0].values + i * 16, 16);
    memcpy(&states.first, slot + batch->columns[1].values + i * 8, 8);
    memcpy(&states.second, slot + batch->columns[2].values + i * 8, 8);
    got[{reinterpret_cast<const char*>(slot) + batch->bytes_offset + view.offset, view.length}] = states;
  }
  EXPECT_EQ(got, expected);
}

}  // namespace
}  // namespace turbine
