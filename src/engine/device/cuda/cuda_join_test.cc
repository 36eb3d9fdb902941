/*
 * cuda_join_test.cc - joins and projections on the CUDA device without a GPU:
 * tuples that fit, that do not, a row whose own do not; texts that do not fit;
 * little memory; every driver call failing in turn.
 */
#include <gtest/gtest.h>

#include "engine/device/cuda/testing/fake_device.h"
#include "engine/device/cuda/testing/query_run.h"
#include "engine/device/cuda/testing/table_kernels_on_host.h"

namespace turbine::cuda::testing {
namespace {

class JoinDevice : public FakeDevice {
 public:
  JoinDevice(const Program& program, const FakeOptions& options)
      : FakeDevice(options, [&program](FakeDriver& fake) {
          set_fake_kernels(fake, program);
          fake.set_kernel("tb_probe", fake_probe);
          fake.set_kernel("tb_project", fake_project);
        }) {}
};

class CudaJoin : public ::testing::TestWithParam<std::tuple<Shape, Matches>> {};

TEST_P(CudaJoin, RightAnswer) {
  const auto [shape, matches] = GetParam();
  const auto program = fake_program(shape);
  JoinDevice device(*program, {});
  auto pages = make_pages(100, 1500);
  pages[3].nrows = std::max(pages[3].nrows, 2u);
  pages[3].values[0] = 7;
  pages[3].values[1] = -5;
  auto chunks = chunks_of(pages);
  const Answer answer = run_query(*device, program, chunks, kNoLimit, 0, fake_artifact(), fake_tables(matches));
  expect_join(shape, answer, pages, matches, chunks);
  // Nothing is probed twice where no row makes two tuples.
  if (matches == Matches::UNIQUE) {
    EXPECT_EQ(device.driver().launches("tb_probe"), chunks.size());
  } else if (matches == Matches::BURST) {
    EXPECT_GT(device.driver().launches("tb_probe"), chunks.size());
    EXPECT_LE(device.driver().launches("tb_probe"), 2 * chunks.size()) << "there is memory for all tuples of a chunk";
  }
  if (shape == Shape::PROJECT) {
    if (matches != Matches::UNIQUE) {
      EXPECT_GT(device.driver().launches("tb_project"), chunks.size()) << "the first text memory should not do";
    }
    EXPECT_GT(answer.stats.bytes_from_device, answer.rows.size() * 20);
  }
}

TEST_P(CudaJoin, LittleMemoryMeansFewerRowsAtATime) {
  const auto [shape, matches] = GetParam();
  const auto program = fake_program(shape);
  JoinDevice device(*program, {});
  const auto pages = make_pages(64, 1500);
  const JoinTables tables = fake_tables(matches);
  bool worked = false;
  for (uint64_t budget = 64 << 10; !worked && budget < uint64_t{64} << 20; budget = budget * 5 / 4) {
    auto chunks = chunks_of(pages);
    try {
      const Answer answer = run_query(*device, program, chunks, budget, 0, fake_artifact(), tables);
      expect_join(shape, answer, pages, matches, chunks);
      worked = true;
    } catch (const DeviceError& error) {
      EXPECT_EQ(error.reason, TB_FALLBACK_DEVICE_MEMORY) << error.what();
    }
  }
  EXPECT_TRUE(worked);
}

/* Rows stay on the device until somebody fetches them; where there is no room for all, they go to the host at once. */
TEST_P(CudaJoin, RowsStayOnTheDevice) {
  const auto [shape, matches] = GetParam();
  if (shape != Shape::PROJECT) return;
  const auto program = fake_program(shape);
  JoinDevice device(*program, {});
  const auto pages = make_pages(64, 1500);
  const JoinTables tables = fake_tables(matches);
  auto run = [&](uint64_t budget) {
    auto chunks = chunks_of(pages);
    const Answer answer = run_query(*device, program, chunks, budget, 0, fake_artifact(), tables, nullptr, true);
    expect_join(shape, answer, pages, matches, chunks);
  };
  run(kNoLimit);
  int worked = 0, refused = 0;
  for (uint64_t budget = 64 << 10; worked < 12 && budget < uint64_t{256} << 20; budget = budget * 9 / 8) {
    try {
      run(budget);
      worked++;
    } catch (const DeviceError& error) {
      EXPECT_EQ(error.reason, TB_FALLBACK_DEVICE_MEMORY) << error.what();
      refused++;
    }
  }
  EXPECT_EQ(worked, 12);
  EXPECT_GT(refused, 0);
}

/* Only rows with large values are wanted. */
class LargeValues final : public RowLimit {
 public:
  static constexpr int32_t kFrom = 1400;
  uint64_t worth_pruning(uint64_t kept) const override { return kept + 3000; }
  std::vector<uint32_t> rows_that_stay(const ResultBatch& batch, MemoryBudget&) const override {
    std::vector<uint32_t> stay;
    for (uint32_t i = 0; i < batch.nrows; i++) {
      int32_t v;
      std::memcpy(&v, batch.columns[0].at(i), sizeof v);
      if (v >= kFrom) stay.push_back(i);
    }
    return stay;
  }
};

TEST_P(CudaJoin, RowsThatNobodyWantsGoWhileTheInputComes) {
  const auto [shape, matches] = GetParam();
  if (shape != Shape::PROJECT) return;
  const auto program = fake_program(shape);
  JoinDevice device(*program, {});
  const auto pages = make_pages(200, 1500);
  auto chunks = chunks_of(pages);
  const Answer answer = run_query(*device, program, chunks, kNoLimit, 0, fake_artifact(), fake_tables(matches),
                                  std::make_shared<LargeValues>());
  int64_t all = 0, wanted = 0, kept = 0;
  for (const auto& [row, count] : expected_join(pages, matches).rows) {
    all += count;
    if (std::stoi(row) < LargeValues::kFrom) continue;
    wanted += count;
    const auto found = answer.rows.find(row);
    EXPECT_EQ(found == answer.rows.end() ? 0 : found->second, count) << row;
  }
  for (const auto& [row, count] : answer.rows) kept += count;
  EXPECT_GE(kept, wanted);
  EXPECT_LT(kept, wanted + 8000);
  EXPECT_GT(all, 4 * kept) << "there is something to leave out";
}

TEST_P(CudaJoin, ColumnsAndNothing) {
  const auto [shape, matches] = GetParam();
  const auto program = fake_program(shape);
  JoinDevice device(*program, {});
  std::vector<FakePage> pages(1);
  std::vector<int32_t> values = {1, 7, 2, -3, 3, 7, 5000};
  pages[0].nrows = static_cast<uint32_t>(values.size());
  std::copy(values.begin(), values.end(), pages[0].values);
  std::vector<Chunk> chunks;
  chunks.push_back(columns_chunk(values));
  chunks.push_back(columns_chunk({}));
  chunks.push_back(chunks_of({FakePage{}})[0]);
  const Answer answer = run_query(*device, program, chunks, kNoLimit, 0, fake_artifact(), fake_tables(matches));
  expect_join(shape, answer, pages, matches, chunks);
}

TEST_P(CudaJoin, AVerdictEndsTheChunk) {
  const auto [shape, matches] = GetParam();
  const auto program = fake_program(shape);
  JoinDevice device(*program, {});
  auto pages = make_pages(64, 1000);
  pages[20].nrows = 1;
  pages[20].values[0] = kOverflowInSink;
  auto chunks = chunks_of(pages);
  run_query(*device, program, chunks, kNoLimit, 0, fake_artifact(), fake_tables(matches));
  for (size_t i = 0; i < chunks.size(); i++)
    EXPECT_EQ(chunks[i].outcome.errors, i == 20 / kSlotPages ? uint32_t{TB_ERR_OVERFLOW} : 0u);
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<Shape, Matches>>& info) {
  const auto [shape, matches] = info.param;
  const std::string name = shape == Shape::JOIN_GROUPED     ? "Grouped"
                           : shape == Shape::JOIN_UNGROUPED ? "Ungrouped"
                                                            : "Project";
  return name + (matches == Matches::UNIQUE ? "Unique" : matches == Matches::SEVERAL ? "Several" : "Burst");
}

INSTANTIATE_TEST_SUITE_P(Shapes, CudaJoin,
                         ::testing::Combine(::testing::ValuesIn(kJoinShapes),
                                            ::testing::Values(Matches::UNIQUE, Matches::SEVERAL, Matches::BURST)),
                         name_of);

TEST(CudaJoinTables, AreChargedToTheQuery) {
  const auto program = fake_program(Shape::JOIN_UNGROUPED);
  JoinDevice device(*program, {});
  const JoinTables tables = fake_tables(Matches::BURST);
  auto chunks = chunks_of(make_pages(16, 10));
  try {
    run_query(*device, program, chunks, tables[0]->raw()->total_size / 2, 0, fake_artifact(), tables);
    FAIL() << "the table does not fit";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.reason, TB_FALLBACK_DEVICE_MEMORY);
  }
}

/* What admission grants is enough for a query to start with. */
TEST(CudaJoinTables, NeedsAreEnough) {
  for (Shape shape : kJoinShapes) {
    const auto program = fake_program(shape);
    JoinDevice device(*program, {});
    const JoinTables tables = fake_tables(Matches::UNIQUE);
    const uint64_t needs = (*device).needs(*program, 5000, kSlotPages, 3).device_bytes;
    const auto pages = make_pages(100, 1500);
    auto chunks = chunks_of(pages);
    const Answer answer = run_query(*device, program, chunks, needs + (*device).table_bytes(*program, tables), 0,
                                    fake_artifact(), tables);
    expect_join(shape, answer, pages, Matches::UNIQUE, chunks);
  }
}

/* BUILD (v, v): rows with v < 0 are filtered, those with v % 10 = 3 have a NULL key. */
std::shared_ptr<const Program> build_program() {
  turbine::testing::ProgramWriter writer;
  const uint32_t v = writer.column(TB_TYPE_INT4);
  writer.keys = {v};
  writer.outputs = {v};
  return std::make_shared<const Program>(Program::parse(writer.blob(TB_SINK_BUILD)));
}

void fake_probe_of_build(void* arguments) {
  auto& args = *static_cast<TbPipelineArgs*>(arguments);
  for (uint32_t row = args.nrows; row-- > args.first_row;) {
    if (fake_column_value(args, row) < 0) continue;
    args.rows_passed++;
    if (args.ntuples++ < args.tuple_capacity) args.tuples[args.ntuples - 1] = tb_test_row_number(&args, row);
  }
}

void fake_project_of_build(void* arguments) {
  auto& args = *static_cast<TbPipelineArgs*>(arguments);
  TbRowStore& store = *args.store;
  for (uint64_t tuple = 0; tuple < args.ntuples; tuple++) {
    const int32_t v = fake_column_value(args, args.tuples[tuple]);
    if (v % 10 == 3) continue;
    for (int column : {0, 1}) static_cast<int32_t*>(store.columns[column].values)[store.nrows] = v;
    store.hashes[store.nrows++] = fake_hash(v);
  }
}

class BuildDevice : public FakeDevice {
 public:
  explicit BuildDevice(const FakeOptions& options = {}, uint64_t cache_size = 64 << 20)
      : FakeDevice(
            options,
            [](FakeDriver& fake) {
              fake.set_kernel("tb_decode", fake_decode);
              fake.set_kernel("tb_probe", fake_probe_of_build);
              fake.set_kernel("tb_project", fake_project_of_build);
              set_table_kernels(fake);
            },
            cache_size) {}
};

/* Throws DeviceError. */
std::shared_ptr<const JoinTable> build_on(Device& device, std::vector<Chunk> chunks, uint64_t fault = 0,
                                          uint64_t budget = kNoLimit) {
  const auto program = build_program();
  const std::shared_ptr<LoadedCode> code = device.load(fake_artifact(), *program);
  auto params = std::make_shared<const std::string>(turbine::testing::ParamWriter().block());
  std::unique_ptr<DeviceQuery> query;
  {
    QueryFaultScope scope(fault);
    query = device.start(program, params, code, {}, 0, budget, nullptr);
  }
  submit_all(*query, chunks);
  for (const Chunk& chunk : chunks)
    if (chunk.error) std::rethrow_exception(chunk.error);
  const uint64_t rows = query->finish();
  std::shared_ptr<const JoinTable> table = query->take_table();
  EXPECT_EQ(table->rows(), rows);
  return table;
}

std::map<int32_t, uint64_t> expected_rows(const std::vector<FakePage>& pages) {
  std::map<int32_t, uint64_t> rows;
  for (const FakePage& page : pages)
    for (uint32_t i = 0; i < page.nrows; i++)
      if (page.values[i] >= 0 && page.values[i] % 10 != 3) rows[page.values[i]]++;
  return rows;
}

/* DIRECT: all keys' rows by look-up. */
std::map<int32_t, uint64_t> rows_of(const JoinTable& table) {
  const TbJoinTable& t = *table.raw();
  const auto* block = reinterpret_cast<const uint8_t*>(&t);
  const auto* buckets = reinterpret_cast<const uint32_t*>(block + t.buckets);
  const auto* next = reinterpret_cast<const uint32_t*>(block + t.next);
  const auto* values = reinterpret_cast<const int32_t*>(block + t.columns[1].values);
  std::map<int32_t, uint64_t> rows;
  EXPECT_EQ(t.kind, static_cast<uint32_t>(TB_TABLE_DIRECT));
  for (uint64_t place = 0; place < t.key_span; place++)
    for (uint32_t row = buckets[place]; row != 0; row = next[row - 1]) {
      EXPECT_EQ(values[row - 1], t.key_min + static_cast<int64_t>(place));
      rows[values[row - 1]]++;
    }
  return rows;
}

TEST(CudaJoinTables, AreBuiltOnTheDevice) {
  BuildDevice device;
  auto pages = make_pages(100, 1500);
  pages[3].nrows = std::max(pages[3].nrows, 1u);
  pages[3].values[0] = -5;
  const auto table = build_on(*device, chunks_of(pages));
  EXPECT_EQ(rows_of(*table), expected_rows(pages));
  EXPECT_GT((*device).info().cache_used, table->raw()->total_size) << "the copy is there for whoever probes it";
  EXPECT_EQ(build_on(*device, {})->rows(), 0u);
}

TEST(CudaJoinTables, FindLittleMemory) {
  const auto pages = make_pages(64, 1500);
  bool worked = false;
  uint64_t refused = 0;
  for (uint64_t budget = 64 << 10; !worked && budget < uint64_t{64} << 20; budget = budget * 5 / 4) {
    BuildDevice device({.most_delay_us = 0}, 0);
    try {
      EXPECT_EQ(rows_of(*build_on(*device, chunks_of(pages), 0, budget)), expected_rows(pages));
      worked = true;
    } catch (const DeviceError& error) {
      EXPECT_EQ(error.reason, TB_FALLBACK_DEVICE_MEMORY) << error.what();
      refused++;
    }
  }
  EXPECT_TRUE(worked);
  EXPECT_GT(refused, 0u);
}

TEST(CudaJoinTables, AreRightOrRefusedWhicheverCallFails) {
  const auto pages = make_pages(24, 1000);
  uint64_t refused = 0, worked = 0;
  for (const Result result : {kOutOfMemory, kIllegalAddress})
    for (uint32_t call = 1; call < 400; call += 3) {
      BuildDevice device({.most_delay_us = 0});
      try {
        EXPECT_EQ(rows_of(*build_on(*device, chunks_of(pages), encode_query_fault(call, result))),
                  expected_rows(pages));
        worked++;
      } catch (const DeviceError&) {
        refused++;
      }
    }
  EXPECT_GT(refused, 80u);
  EXPECT_GT(worked, 0u);
}

class EveryCallOfAJoinFails : public ::testing::TestWithParam<std::tuple<Shape, Matches, Result>> {};

TEST_P(EveryCallOfAJoinFails, RightOrRefused) {
  const auto [shape, matches, result] = GetParam();
  const auto pages = make_pages(24, 1000);
  const auto program = fake_program(shape);
  const JoinTables tables = fake_tables(matches);
  uint64_t most_calls;
  {
    JoinDevice device(*program, {.most_delay_us = 0});
    auto counted = chunks_of(pages);
    const uint64_t before = device.driver().calls();
    run_query(*device, program, counted, kNoLimit, 0, fake_artifact(), tables);
    most_calls = device.driver().calls() - before + 10;
  }
  // A burst takes many rounds of the same calls.
  const uint32_t step = static_cast<uint32_t>(std::max<uint64_t>(1, most_calls / 120));
  uint64_t tried = 0, failures = 0;
  for (uint32_t nth = 1; nth <= most_calls && !HasFailure(); nth += step, tried++) {
    JoinDevice device(*program, {.most_delay_us = 0});
    auto chunks = chunks_of(pages);
    bool failed = false;
    try {
      const Answer answer = run_query(*device, program, chunks, kNoLimit, encode_query_fault(nth, result),
                                      fake_artifact(), tables);
      expect_join(shape, answer, pages, matches, chunks);
    } catch (const DeviceError&) {
      failed = true;
      failures++;
    }
    const bool lost = (*device).info().usable == 0;
    EXPECT_TRUE(!lost || result == kIllegalAddress);
    EXPECT_TRUE(lost || !failed || result != kIllegalAddress);
    if (!lost) {
      auto again = chunks_of(pages);
      run_query(*device, program, again, kNoLimit, 0, fake_artifact(), tables);
    }
  }
  EXPECT_GT(failures, tried / 4);
}

INSTANTIATE_TEST_SUITE_P(Faults, EveryCallOfAJoinFails,
                         ::testing::Combine(::testing::Values(Shape::JOIN_GROUPED, Shape::PROJECT),
                                            ::testing::Values(Matches::UNIQUE, Matches::BURST),
                                            ::testing::Values(kOutOfMemory, kIllegalAddress)));

}  // namespace
}  // namespace turbine::cuda::testing
