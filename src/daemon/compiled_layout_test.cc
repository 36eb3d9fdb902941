/*
 * compiled_layout_test.cc - chunks of several layouts, and of several relations'
 * files, in one query: the daemon with the real compiler.
 */
#include <fcntl.h>

#include "daemon/testing/turbined_fixture.h"
#include "engine/testing/hand_written_programs.h"
#include "engine/testing/heap_pages.h"

namespace turbine {
namespace {

using testing::Client;
using testing::heap_pages;
using testing::numbers;
using testing::ParamWriter;
using testing::ProgramWriter;
using testing::Reply;

class CompiledLayoutTest : public testing::TurbinedTest {
 protected:
  void SetUp() override { start_daemon({"--compiler", TB_COMPILER}, ""); }

  /* Nothing but the decoding of (v integer NOT NULL). */
  static ProgramWriter plain_layout() {
    ProgramWriter layout;
    layout.sink = TB_SINK_AGGREGATE;
    layout.column(TB_TYPE_INT4);
    layout.exprs.clear();
    return layout;
  }
  /* v is the second attribute, which tuples of heap_pages() are too short for. */
  static ProgramWriter late_layout() {
    ProgramWriter layout = plain_layout();
    layout.attributes.insert(layout.attributes.begin(), {4, 4, TB_ATT_BYVAL | TB_ATT_DROPPED, 0});
    layout.columns[0].attnum = 2;
    layout.columns[0].missing_param = 0;
    layout.params.push_back({TB_TYPE_INT4, 0, 0});
    return layout;
  }
  static std::string late_params(int32_t value) {
    ParamWriter params;
    params.scalar(&value, sizeof value);
    return params.block();
  }
  static void send_layout(Client& client, const ProgramWriter& layout, const std::string& params) {
    const std::vector<uint8_t> program = layout.blob();
    TbLayout header{};
    header.program_size = static_cast<uint32_t>(program.size());
    header.params_size = params.size();
    std::string rest(program.begin(), program.end());
    rest.resize((rest.size() + 7) / 8 * 8);
    client.send_struct(TB_MSG_LAYOUT, header, rest + params);
  }
  static void send_chunk(Client& client, uint32_t slot, uint64_t sequence, uint32_t layout, uint32_t npages,
                         const std::vector<TbRun>& runs = {}) {
    TbChunk chunk{};
    chunk.slot = slot;
    chunk.kind = TB_CHUNK_PAGES;
    chunk.npages = npages;
    chunk.nruns = static_cast<uint32_t>(runs.size());
    chunk.sequence = sequence;
    chunk.layout = layout;
    client.send_struct(TB_MSG_CHUNK, chunk,
                       std::string(reinterpret_cast<const char*>(runs.data()), runs.size() * sizeof(TbRun)));
  }
  static void send_pages(Client& client, uint32_t slot, uint64_t sequence, uint32_t layout,
                         const std::vector<uint8_t>& pages) {
    memcpy(client.slot(slot), pages.data(), pages.size());
    send_chunk(client, slot, sequence, layout, static_cast<uint32_t>(pages.size() / TB_PAGE_SIZE));
    client.send_struct(TB_MSG_CHUNK_RELEASE, TbChunkRelease{slot, 0});
    ASSERT_EQ(client.receive().as<TbChunkDone>().verdict, 0u);
  }
  /* {count, sum} of an ungrouped sum_program(). */
  static std::pair<int64_t, int64_t> totals(Client& client) {
    std::pair<int64_t, int64_t> result{-1, -1};
    client.send(TB_MSG_INPUT_END);
    const Reply reply = client.receive();
    if (reply.type != TB_MSG_RESULT_BATCH) return result;
    const auto* batch = reinterpret_cast<const TbResultBatch*>(reply.payload.data());
    memcpy(&result.first, client.slot(batch->slot) + batch->columns[0].values, 8);
    memcpy(&result.second, client.slot(batch->slot) + batch->columns[1].values, 8);
    client.send_struct(TB_MSG_SLOT_FREE, TbSlotFree{batch->slot, 0});
    EXPECT_EQ(client.receive().type, TB_MSG_QUERY_DONE);
    return result;
  }
  static UniqueFd file_of(const std::vector<uint8_t>& pages) {
    UniqueFd file(memfd_create("relation", MFD_CLOEXEC));
    EXPECT_EQ(write(file.get(), pages.data(), pages.size()), static_cast<ssize_t>(pages.size()));
    return file;
  }
};

TEST_F(CompiledLayoutTest, EachChunkIsDecodedByItsOwn) {
  auto client = connect();
  ASSERT_TRUE(client->start(testing::sum_program(false), 100));
  const std::vector<uint8_t> pages = heap_pages(numbers(1000), 100);
  send_pages(*client, 0, 0, 0, pages);
  send_layout(*client, late_layout(), late_params(7));
  send_layout(*client, late_layout(), late_params(-100));
  send_layout(*client, plain_layout(), testing::params_block({}));
  send_pages(*client, 1, 1, 1, pages);
  send_pages(*client, 0, 2, 2, heap_pages(numbers(10), 10));
  send_pages(*client, 1, 3, 0, pages);
  send_pages(*client, 0, 4, 3, pages);
  EXPECT_EQ(totals(*client), std::make_pair(int64_t{4010}, int64_t{3 * 499500 + 7000 - 1000}));
  // The next query of the connection has none.
  ASSERT_TRUE(client->start(testing::sum_program(false), 100));
  send_chunk(*client, 0, 0, 1, 1);
  EXPECT_EQ(client->receive().type, 0u);
}

TEST_F(CompiledLayoutTest, FilesReplaceThoseOfEarlierChunks) {
  const UniqueFd first = file_of(heap_pages(numbers(1000), 100)), second = file_of(heap_pages(numbers(100), 100));
  auto client = connect();
  ASSERT_TRUE(client->start(testing::sum_program(false), 100));
  const size_t fds = daemon_fds();
  client->send_struct(TB_MSG_FILES, TbFiles{0, 1}, "", {first.get()});
  send_chunk(*client, 0, 0, 0, 1, {{0, 9, 1}});
  ASSERT_EQ(client->receive().as<TbChunkRead>().outcome, uint32_t{TB_READ_DECODED});
  client->send_struct(TB_MSG_FILES, TbFiles{0, 1}, "", {second.get()});
  send_chunk(*client, 1, 1, 0, 1, {{0, 0, 1}});
  ASSERT_EQ(client->receive().as<TbChunkRead>().outcome, uint32_t{TB_READ_DECODED});
  for (uint32_t slot = 0; slot < 2; slot++) {
    client->send_struct(TB_MSG_CHUNK_RELEASE, TbChunkRelease{slot, 0});
    ASSERT_EQ(client->receive().type, TB_MSG_CHUNK_DONE);
  }
  // A block that only the first file had.
  send_chunk(*client, 0, 2, 0, 1, {{0, 9, 1}});
  ASSERT_EQ(client->receive().as<TbChunkRead>().outcome, uint32_t{TB_READ_FAILED});
  memset(client->slot(0), 0, TB_PAGE_SIZE);
  client->send_struct(TB_MSG_CHUNK_RELEASE, TbChunkRelease{0, 0});
  ASSERT_EQ(client->receive().type, TB_MSG_CHUNK_DONE);
  for (int i = 0; i < 300; i++) client->send_struct(TB_MSG_FILES, TbFiles{0, 1}, "", {second.get()});
  EXPECT_EQ(totals(*client), std::make_pair(int64_t{200}, int64_t{94950 + 4950}));
  EXPECT_TRUE(soon([&] { return daemon_fds() <= fds; })) << "files are kept";
}

/* Each closes its connection. */
TEST_F(CompiledLayoutTest, LayoutsThatDoNotFitAreRefused) {
  const auto refused = [this](const ProgramWriter& query, const ProgramWriter& layout, const std::string& params) {
    auto client = connect();
    ASSERT_TRUE(client->start(query, 100));
    send_layout(*client, layout, params);
    EXPECT_EQ(client->receive().type, 0u);
  };
  const ProgramWriter sum = testing::sum_program(false);
  const std::string none = testing::params_block({});
  refused(sum, sum, none);
  refused(sum, late_layout(), none);
  refused(testing::rows_program(), plain_layout(), none);
  ProgramWriter other = plain_layout();
  other.columns[0].flags = TB_COL_NULLABLE;
  refused(sum, other, none);
  other = plain_layout();
  other.columns.push_back(other.columns[0]);
  refused(sum, other, none);
  other = plain_layout();
  other.columns[0].attnum = 2;
  refused(sum, other, none);
  other = ProgramWriter();
  other.sink = TB_SINK_AGGREGATE;
  other.column(TB_TYPE_INT8);
  other.exprs.clear();
  refused(sum, other, none);
  auto idle = connect();
  send_layout(*idle, plain_layout(), none);
  EXPECT_EQ(idle->receive().type, 0u);
  auto torn = connect();
  ASSERT_TRUE(torn->start(sum, 100));
  torn->send(TB_MSG_LAYOUT, "short");
  EXPECT_EQ(torn->receive().type, 0u);
  EXPECT_TRUE(alive());
}

}  // namespace
}  // namespace turbine
