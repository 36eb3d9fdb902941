/*
 * cuda_full_join_test.cc - FULL joins on the CUDA device without a GPU: the rows of a
 * table that nobody has matched come after the source's, with nothing to copy; every
 * driver call failing in turn.
 *
 *   SELECT v, p FROM chunks FULL JOIN inner ON inner.key = v
 */
#include <gtest/gtest.h>

#include "engine/device/cuda/testing/fake_device.h"
#include "engine/device/cuda/testing/fake_gpus.h"
#include "engine/device/cuda/testing/query_run.h"
#include "engine/device/query_fault.h"

namespace turbine::cuda::testing {
namespace {

constexpr uint32_t kRowsAChunk = 700;

std::shared_ptr<const Program> full_program(bool project, bool unique) {
  turbine::testing::ProgramWriter writer;
  writer.full_joins_end = 1;
  const uint32_t v = writer.column(TB_TYPE_INT4, true);
  writer.join(TB_JOIN_FULL, {v}, 0, unique ? TB_JOIN_UNIQUE : 0);
  const uint32_t p = writer.payload(0, 1, TB_TYPE_INT4);
  if (project) {
    writer.outputs = {v, p};
  } else {
    writer.aggregate(TB_AGG_COUNT);
    writer.aggregate(TB_AGG_SUM_INT, p);
  }
  return std::make_shared<const Program>(Program::parse(writer.blob(project ? TB_SINK_PROJECT : TB_SINK_AGGREGATE)));
}

void full_decode(void* arguments) {
  auto& args = *static_cast<TbDecodeArgs*>(arguments);
  fake_decode(arguments);
  std::memset(args.columns[0].valid, 1, args.nrows);
}

void append(TbPipelineArgs& args, uint32_t row, uint32_t match) {
  args.join_rows[0]++;
  const uint64_t at = args.ntuples++;
  if (at >= args.tuple_capacity) return;
  args.tuples[at] = row;
  args.tuples[args.tuple_capacity + at] = match;
}

/* As kernel.h says. */
void full_probe(void* arguments) {
  auto& args = *static_cast<TbPipelineArgs*>(arguments);
  const TbJoinTable* inner = args.tables[0];
  if (args.matched[0][inner->nrows] == 0) throw FakeDriver::KernelFault{kIllegalAddress};
  for (uint32_t row = args.nrows; row-- > args.first_row;) {
    if (args.full_join != 0) {
      const uint64_t match = args.first_unmatched + row;
      if (tb_test_valid(&args, row) || match >= inner->nrows) throw FakeDriver::KernelFault{kIllegalAddress};
      if (!args.matched[0][match]) append(args, row, static_cast<uint32_t>(match));
      continue;
    }
    args.rows_passed++;
    uint32_t match = first_match(inner, fake_column_value(args, row));
    if (match == 0) append(args, row, TB_NONE);
    for (; match != 0; match = inner->next ? in_table<uint32_t>(inner, inner->next)[match - 1] : 0) {
      args.matched[0][match - 1] = 1;
      append(args, row, match - 1);
    }
  }
}

std::optional<int32_t> tuple_v(TbPipelineArgs& args, uint64_t tuple) {
  const uint32_t row = args.tuples[tuple];
  if (!tb_test_valid(&args, row)) return std::nullopt;
  return fake_column_value(args, row);
}

std::optional<int32_t> tuple_p(TbPipelineArgs& args, uint64_t tuple) {
  const uint32_t match = args.tuples[args.tuple_capacity + tuple];
  if (match == TB_NONE) return std::nullopt;
  return in_table<int32_t>(args.tables[0], args.tables[0]->columns[1].values)[match];
}

void full_project(void* arguments) {
  auto& args = *static_cast<TbPipelineArgs*>(arguments);
  TbRowStore& store = *args.store;
  for (uint64_t i = args.ntuples; i-- > 0;) {
    const uint64_t at = store.nrows++;
    if (at >= store.capacity) throw FakeDriver::KernelFault{kIllegalAddress};
    const std::optional<int32_t> values[2] = {tuple_v(args, i), tuple_p(args, i)};
    for (size_t c = 0; c < 2; c++) {
      static_cast<int32_t*>(store.columns[c].values)[at] = values[c].value_or(0);
      store.columns[c].valid[at] = values[c].has_value();
    }
  }
}

/* count(*), sum(p) */
struct FullReduce {
  GroupLayout layout;
  void operator()(void* arguments) const {
    auto& args = *static_cast<TbPipelineArgs*>(arguments);
    uint8_t* row = args.groups->rows;
    int64_t state[2];
    for (size_t i = 0; i < 2; i++) std::memcpy(&state[i], row + layout.states[i].value_offset, sizeof state[i]);
    for (uint64_t i = 0; i < args.ntuples; i++) {
      state[0]++;
      state[1] += tuple_p(args, i).value_or(0);
    }
    for (size_t i = 0; i < 2; i++) std::memcpy(row + layout.states[i].value_offset, &state[i], sizeof state[i]);
    if (args.ntuples > 0) row[layout.states[1].valid_offset] = 1;
  }
};

void set_full_kernels(FakeDriver& fake, const Program& program) {
  fake.set_kernel("tb_decode", full_decode);
  fake.set_kernel("tb_probe", full_probe);
  fake.set_kernel("tb_project", full_project);
  fake.set_kernel("tb_reduce", FullReduce{group_layout(program)});
}

class FullDevice : public FakeDevice {
 public:
  FullDevice(const Program& program, const FakeOptions& options)
      : FakeDevice(options, [&program](FakeDriver& fake) { set_full_kernels(fake, program); }) {}
};

using Row = std::pair<std::optional<int32_t>, std::optional<int32_t>>;

struct FullAnswer {
  std::map<Row, int64_t> rows;
  int64_t count = 0, sum = 0;
  uint64_t rows_in = 0, rows_passed = 0, joined = 0;
  friend bool operator==(const FullAnswer&, const FullAnswer&) = default;
};

/* Key 7 may be many. Nobody asks for those from 600 on. */
std::vector<InnerRow> inner_rows(Matches matches) {
  std::vector<InnerRow> rows;
  for (int32_t key = 0; key < 3000; key++)
    for (int32_t match = 0; match < (key < kInnerKeys ? matches_of(key, matches) : 1); match++)
      rows.push_back({key, key * 3 + match, std::nullopt});
  return rows;
}

FullAnswer expected(const std::vector<FakePage>& pages, const std::vector<InnerRow>& inner, bool project) {
  std::multimap<int32_t, int32_t> by_key;
  std::set<int32_t> asked;
  for (const InnerRow& row : inner) by_key.emplace(row.key, row.value);
  FullAnswer answer;
  auto add = [&](std::optional<int32_t> v, std::optional<int32_t> p) {
    if (project) answer.rows[{v, p}]++;
    if (!project) answer.sum += p.value_or(0);
    if (!project) answer.count++;
    answer.joined++;
  };
  for (const FakePage& page : pages)
    for (uint32_t i = 0; i < page.nrows; i++) {
      const int32_t v = page.values[i];
      answer.rows_in++;
      answer.rows_passed++;
      asked.insert(v);
      const auto [first, last] = by_key.equal_range(v);
      if (first == last) add(v, std::nullopt);
      for (auto it = first; it != last; ++it) add(v, it->second);
    }
  for (const auto& [key, value] : by_key)
    if (!asked.contains(key)) add(std::nullopt, value);
  return answer;
}

void read_rows(DeviceQuery& query, uint64_t nrows, FullAnswer& answer) {
  for (uint64_t first = 0; first < nrows;) {
    const ResultBatch batch = query.fetch(first, nrows - first);
    for (uint64_t i = 0; i < batch.nrows; i++) {
      auto read = [&](size_t c) -> std::optional<int32_t> {
        const ResultColumn& column = batch.columns[c];
        if (!column.valid[i * column.valid_stride]) return std::nullopt;
        int32_t value;
        std::memcpy(&value, column.values + i * column.stride, sizeof value);
        return value;
      };
      answer.rows[{read(0), read(1)}]++;
    }
    first += batch.nrows;
  }
}

FullAnswer run_full(Device& device, const std::shared_ptr<const Program>& program, std::vector<Chunk>& chunks,
                    const JoinTables& tables, uint64_t budget = kNoLimit, uint64_t fault = 0) {
  auto params = std::make_shared<const std::string>(turbine::testing::ParamWriter().block());
  std::shared_ptr<LoadedCode> code = device.load(fake_artifact(), *program);
  std::unique_ptr<DeviceQuery> query;
  {
    QueryFaultScope scope(fault);
    query = device.start(program, params, code, tables, 0, budget, nullptr);
  }
  submit_all(*query, chunks);
  FullAnswer answer;
  auto count = [&](const TaskOutcome& outcome, std::exception_ptr error) {
    if (error) std::rethrow_exception(error);
    EXPECT_EQ(outcome.errors, 0u);
    answer.rows_in += outcome.rows_in;
    answer.rows_passed += outcome.rows_passed;
    answer.joined += outcome.join_rows[0];
  };
  for (const Chunk& chunk : chunks) count(chunk.outcome, chunk.error);

  const uint64_t nrows = tables[0]->rows(), nchunks = (nrows + kRowsAChunk - 1) / kRowsAChunk;
  std::vector<std::pair<TaskOutcome, std::exception_ptr>> outcomes(nchunks);
  Completion completion(nchunks);
  for (uint64_t i = 0; i < nchunks; i++) {
    const uint64_t first_row = i * kRowsAChunk;
    const auto count_of_rows = static_cast<uint32_t>(std::min<uint64_t>(kRowsAChunk, nrows - first_row));
    const Task task{.sequence = chunks.size() + i, .input = UnmatchedInput{0, first_row, count_of_rows}};
    query->submit(task, [&outcomes, &completion, i](const TaskOutcome& outcome, std::exception_ptr error) {
      outcomes[i] = {outcome, error};
      completion.one();
    });
  }
  completion.wait();
  for (const auto& [outcome, error] : outcomes) count(outcome, error);
  const uint64_t rows = query->finish();
  if (program->sink() == TB_SINK_PROJECT) {
    read_rows(*query, rows, answer);
  } else {
    const ResultBatch batch = query->fetch(0, 1);
    std::memcpy(&answer.count, batch.columns[0].values, sizeof answer.count);
    std::memcpy(&answer.sum, batch.columns[1].values, sizeof answer.sum);
  }
  return answer;
}

class CudaFullJoin : public ::testing::TestWithParam<std::tuple<bool, Matches>> {};

TEST_P(CudaFullJoin, RightAnswer) {
  const auto [project, matches] = GetParam();
  const auto program = full_program(project, matches == Matches::UNIQUE);
  const std::vector<InnerRow> inner = inner_rows(matches);
  const JoinTables tables = {make_join_table(inner, false)};
  for (uint32_t npages : {0u, 1u, 60u}) {
    FullDevice device(*program, {});
    const auto pages = make_pages(npages, 600);
    auto chunks = chunks_of(pages);
    EXPECT_TRUE(run_full(*device, program, chunks, tables) == expected(pages, inner, project)) << npages << " pages";
  }
}

TEST_P(CudaFullJoin, AllMatchedOrNothingThere) {
  const auto [project, matches] = GetParam();
  const auto program = full_program(project, matches == Matches::UNIQUE);
  const auto pages = make_pages(60, 40);
  const std::vector<InnerRow> few = {{3, 30, std::nullopt}, {5, 50, std::nullopt}}, none;
  for (const std::vector<InnerRow>& inner : {few, none}) {
    FullDevice device(*program, {});
    auto chunks = chunks_of(pages);
    EXPECT_TRUE(run_full(*device, program, chunks, {make_join_table(inner, false)}) == expected(pages, inner, project));
  }
}

/* A row of the table that only one GPU has matched is matched. */
TEST_P(CudaFullJoin, MarksOfSeveralGpusAreJoined) {
  const auto [project, matches] = GetParam();
  const auto program = full_program(project, matches == Matches::UNIQUE);
  const std::vector<InnerRow> inner = inner_rows(matches);
  const JoinTables tables = {make_join_table(inner, false)};
  for (const int count : {2, 4, 8}) {
    FakeGpus gpus(count, [&program](FakeDriver& fake) { set_full_kernels(fake, *program); });
    const auto split = gpus.split();
    const auto pages = make_pages(200, 600);
    auto chunks = chunks_of(pages);
    EXPECT_TRUE(run_full(*split, program, chunks, tables) == expected(pages, inner, project)) << count << " GPUs";
  }
}

/* What admission grants is enough for a query to start with. */
TEST_P(CudaFullJoin, NeedsAreEnough) {
  const auto [project, matches] = GetParam();
  if (matches == Matches::BURST) return;
  const auto program = full_program(project, matches == Matches::UNIQUE);
  const std::vector<InnerRow> inner = inner_rows(matches);
  const JoinTables tables = {make_join_table(inner, false)};
  FullDevice device(*program, {});
  const uint64_t needs = (*device).needs(*program, 5000, kSlotPages, 3).device_bytes +
                         (*device).table_bytes(*program, tables);
  const auto pages = make_pages(60, 600);
  auto chunks = chunks_of(pages);
  EXPECT_TRUE(run_full(*device, program, chunks, tables, needs) == expected(pages, inner, project));
}

TEST_P(CudaFullJoin, EveryCallFails) {
  const auto [project, matches] = GetParam();
  if (matches == Matches::BURST) return;
  const auto program = full_program(project, matches == Matches::UNIQUE);
  const std::vector<InnerRow> inner = inner_rows(matches);
  const JoinTables tables = {make_join_table(inner, false)};
  const auto pages = make_pages(20, 600);
  const FullAnswer right = expected(pages, inner, project);
  for (Result result : {Result{kOutOfMemory}, Result{kIllegalAddress}}) {
    uint64_t failures = 0, calls;
    {
      FullDevice device(*program, {.most_delay_us = 0});
      auto chunks = chunks_of(pages);
      const uint64_t before = device.driver().calls();
      run_full(*device, program, chunks, tables);
      calls = device.driver().calls() - before + 10;
    }
    const uint32_t step = static_cast<uint32_t>(std::max<uint64_t>(1, calls / 80));
    for (uint32_t nth = 1; nth <= calls && !HasFailure(); nth += step) {
      FullDevice device(*program, {.most_delay_us = 0});
      auto chunks = chunks_of(pages);
      try {
        EXPECT_TRUE(run_full(*device, program, chunks, tables, kNoLimit, encode_query_fault(nth, result)) == right);
      } catch (const DeviceError&) {
        failures++;
      }
    }
    EXPECT_GT(failures, 20u);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, CudaFullJoin,
                         ::testing::Combine(::testing::Bool(),
                                            ::testing::Values(Matches::UNIQUE, Matches::SEVERAL, Matches::BURST)));

}  // namespace
}  // namespace turbine::cuda::testing
