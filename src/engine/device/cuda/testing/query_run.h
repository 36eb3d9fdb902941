/*
 * query_run.h - runs queries of fake_kernels.h's shapes on a Device and checks
 * their answers; for tests only.
 */
#pragma once

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <numeric>
#include <span>

#include "engine/device/cuda/driver/fault.h"
#include "engine/device/cuda/testing/fake_joins.h"
#include "engine/device/query_fault.h"

namespace turbine::cuda::testing {

inline constexpr uint32_t kSlotPages = 16;
inline constexpr uint64_t kNoLimit = uint64_t{1} << 32;
inline std::vector<FakePage> make_pages(uint32_t npages, int32_t distinct, uint32_t seed = 1) {
  std::vector<FakePage> pages(npages);
  for (FakePage& page : pages) {
    seed = seed * 1103515245 + 12345;
    page.nrows = (seed >> 16) % 5 == 0 ? 0 : (seed >> 16) % (TB_MAX_TUPLES_PER_PAGE + 1);
    for (uint32_t i = 0; i < page.nrows; i++) {
      seed = seed * 1103515245 + 12345;
      page.values[i] = static_cast<int32_t>((seed >> 8) % static_cast<uint32_t>(distinct));
    }
  }
  return pages;
}

/* A chunk as a backend sees it: its part of the pages, and room for its ids. */
struct Chunk {
  std::vector<uint8_t> data;
  bool is_columns = false;  // else pages, or `segments`
  uint32_t npages = 0;
  std::vector<uint32_t> ids;
  const ChunkLayout* layout = nullptr;
  std::shared_ptr<const SegmentMorsel> segments;
  bool staged = false;  // copies of the segments' columns, where the device takes them
  bool in_place = false;  // every second segment has its columns there alone
  TaskOutcome outcome;
  std::exception_ptr error;
  int times_done = 0;
};

inline std::vector<Chunk> chunks_of(const std::vector<FakePage>& pages) {
  std::vector<Chunk> chunks;
  for (size_t first = 0; first < pages.size(); first += kSlotPages) {
    Chunk chunk;
    chunk.npages = static_cast<uint32_t>(std::min<size_t>(kSlotPages, pages.size() - first));
    chunk.data.resize(chunk.npages * sizeof(FakePage));
    std::memcpy(chunk.data.data(), &pages[first], chunk.data.size());
    chunk.ids.resize(kSlotPages * TB_MAX_TUPLES_PER_PAGE);
    chunks.push_back(std::move(chunk));
  }
  return chunks;
}

/* A chunk of columns with the values, at an odd place. */
inline Chunk columns_chunk(const std::vector<int32_t>& values) {
  const size_t header = sizeof(TbColumnsChunk) + 2 * sizeof(uint64_t);
  const uint64_t at = header + 1;
  Chunk chunk;
  chunk.is_columns = true;
  chunk.data.resize(at + values.size() * sizeof(int32_t));
  TbColumnsChunk columns{};
  columns.nrows = static_cast<uint32_t>(values.size());
  columns.ncolumns = 1;
  std::memcpy(chunk.data.data(), &columns, sizeof(columns));
  std::memcpy(chunk.data.data() + sizeof(columns), &at, sizeof(at));
  if (!values.empty()) std::memcpy(chunk.data.data() + at, values.data(), values.size() * sizeof(int32_t));
  chunk.ids.resize(values.size());
  return chunk;
}

/* What a query gave. */
struct Answer {
  std::map<int32_t, int64_t> counts;  // grouped
  int64_t count = 0, sum = 0;         // ungrouped
  std::map<std::string, int64_t> rows;  // PROJECT
  DeviceQueryStats stats;
};

class Completion {
 public:
  explicit Completion(size_t expected) : missing_(expected) {}
  void one() {
    std::lock_guard lock(mutex_);
    missing_--;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return missing_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t missing_;
};

/* The segment with each column, as far as they have codes or plain values alone, moved to where the device fetches it.
 */
inline std::shared_ptr<const Segment> moved(const Segment& segment, const std::shared_ptr<StagedColumns>& staged) {
  auto moved = std::make_shared<Segment>(segment);
  for (Segment::Column& column : moved->columns) {
    const StoredColumn& data = *column.data;
    const std::shared_ptr<uint8_t> place(staged, staged->place(data.bytes()));
    memcpy(place.get(), data.values(), data.bytes());
    column.data = std::make_shared<StoredColumn>(data.shape(), segment.nrows(), place);
  }
  return moved;
}

/* Null: the device takes none. `in_place`: every second segment lies there alone. */
inline std::shared_ptr<const StagedColumns> stage(DeviceQuery& query, std::shared_ptr<const SegmentMorsel>& morsel,
                                                  bool in_place) {
  uint64_t bytes = 0;
  for (const TakenSegment& taken : morsel->segments) bytes += StagedColumns::bytes_of(*taken.segment, *morsel->columns);
  const auto staged = query.stage_columns(bytes);
  auto changed = std::make_shared<SegmentMorsel>(*morsel);
  for (size_t i = 0; i < changed->segments.size() && staged; i++) {
    TakenSegment& taken = changed->segments[i];
    if (in_place && i % 2 == 1) taken.segment = moved(*taken.segment, staged);
    if (!staged->add(*taken.segment, *morsel->columns)) return nullptr;
  }
  if (in_place) morsel = changed;
  return staged;
}

inline Task task_of(Chunk& chunk, uint64_t sequence) {
  Task task{.sequence = sequence, .ids = chunk.ids.data(), .ids_capacity = static_cast<uint32_t>(chunk.ids.size())};
  if (chunk.segments)
    task.input = SegmentsInput{chunk.segments};
  else if (chunk.is_columns)
    task.input = ColumnsInput{chunk.data.data()};
  else
    task.input = PagesInput{.pages = chunk.data.data(), .npages = chunk.npages, .layout = chunk.layout};
  return task;
}

inline void submit_all(DeviceQuery& query, std::vector<Chunk>& chunks) {
  Completion completion(chunks.size());
  for (size_t i = 0; i < chunks.size(); i++) {
    Chunk& chunk = chunks[i];
    Task task = task_of(chunk, i);
    if (auto* input = task.as<SegmentsInput>(); input && chunk.staged)
      input->staged = stage(query, input->morsel, chunk.in_place);
    query.submit(task, [&](const TaskOutcome& outcome, std::exception_ptr error) {
      chunk.outcome = outcome;
      chunk.error = error;
      chunk.times_done++;
      completion.one();
    });
  }
  completion.wait();
}

inline void read_projected(const ResultBatch& batch, Answer& answer) {
  for (uint64_t i = 0; i < batch.nrows; i++) {
    auto value = [&](size_t column) { return batch.columns[column].values + i * batch.columns[column].stride; };
    auto valid = [&](size_t column) {
      const ResultColumn& c = batch.columns[column];
      return !c.valid || c.valid[i * c.valid_stride];
    };
    int32_t v, p, q;
    TbTextView view;
    std::memcpy(&v, value(0), sizeof(v));
    std::memcpy(&p, value(1), sizeof(p));
    std::memcpy(&view, value(2), sizeof(view));
    std::memcpy(&q, value(3), sizeof(q));
    std::optional<std::string> text;
    if (valid(2)) text.emplace(reinterpret_cast<const char*>(batch.bytes) + view.offset, view.length);
    answer.rows[projected_row(v, p, text, valid(3) ? std::optional<int32_t>(q) : std::nullopt)]++;
  }
}

inline Answer read_answer(DeviceQuery& query, const Program& program) {
  Answer answer;
  const uint64_t ngroups = query.finish();
  constexpr uint64_t kBatch = 1000;
  for (uint64_t first = 0; first < ngroups;) {
    const ResultBatch batch = query.fetch(first, std::min(kBatch, ngroups - first));
    if (program.sink() == TB_SINK_PROJECT) {
      read_projected(batch, answer);
      first += batch.nrows;
      continue;
    }
    auto read = [&batch](size_t column, uint64_t i, auto* value) {
      std::memcpy(value, batch.columns[column].values + i * batch.columns[column].stride, sizeof(*value));
    };
    for (uint64_t i = 0; i < batch.nrows; i++) {
      if (!program.grouped()) {
        read(0, i, &answer.count);
        read(1, i, &answer.sum);
        continue;
      }
      int32_t key;
      int64_t state;
      read(0, i, &key);
      read(1, i, &state);
      EXPECT_TRUE(answer.counts.emplace(key, state).second) << "group " << key << " occurs twice";
    }
    first += batch.nrows;
  }
  answer.stats = query.stats();
  return answer;
}

/* What the fake driver takes for a compiled program. */
inline std::span<const uint8_t> fake_artifact() {
  static constexpr char kPtx[] = "// a program\n";
  return {reinterpret_cast<const uint8_t*>(kPtx), sizeof(kPtx)};
}

/* Runs a query on `device`. Throws DeviceError as the device does. */
inline Answer run_query(Device& device, const std::shared_ptr<const Program>& program, std::vector<Chunk>& chunks,
                        uint64_t budget = kNoLimit, uint64_t fault = 0,
                        std::span<const uint8_t> artifact = fake_artifact(), const JoinTables& tables = {},
                        const std::shared_ptr<const RowLimit>& limit = nullptr, bool keep_on_device = false) {
  auto params = std::make_shared<const std::string>(turbine::testing::ParamWriter().block());
  std::shared_ptr<LoadedCode> code = device.load(artifact, *program);
  std::unique_ptr<DeviceQuery> query;
  {
    QueryFaultScope scope(fault);
    query = device.start(program, params, code, tables, 0, budget, nullptr);
  }
  if (limit) query->limit_rows(limit);
  if (keep_on_device) query->keep_rows_on_device();
  submit_all(*query, chunks);
  for (const Chunk& chunk : chunks) EXPECT_EQ(chunk.times_done, 1);
  for (const Chunk& chunk : chunks)
    if (chunk.error) std::rethrow_exception(chunk.error);
  Answer answer;
  if (program->sink() != TB_SINK_ROWS) answer = read_answer(*query, *program);
  answer.stats = query->stats();
  return answer;
}

/* What PostgreSQL would answer. */
inline void expect_rows(const std::vector<FakePage>& pages, const std::vector<Chunk>& chunks) {
  for (size_t c = 0; c < chunks.size(); c++) {
    std::vector<uint32_t> expected, deferred;
    for (uint32_t page = 0; page < chunks[c].npages; page++) {
      const FakePage& source = pages[c * kSlotPages + page];
      for (uint32_t i = 0; i < source.nrows; i++) {
        if (source.values[i] == kDeferred)
          deferred.push_back(TB_ROWID(page, i + 1));
        else if (source.values[i] % 3 == 0)
          expected.push_back(TB_ROWID(page, i + 1));
      }
    }
    const TaskOutcome& outcome = chunks[c].outcome;
    ASSERT_EQ(outcome.errors, 0u);
    ASSERT_EQ(outcome.nrows, expected.size());
    ASSERT_EQ(outcome.ndeferred, deferred.size());
    EXPECT_EQ(outcome.rows_passed, expected.size());
    expected.insert(expected.end(), deferred.begin(), deferred.end());
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), chunks[c].ids.begin()));
  }
}

inline std::map<int32_t, int64_t> expected_counts(const std::vector<FakePage>& pages) {
  std::map<int32_t, int64_t> counts;
  for (const FakePage& page : pages)
    for (uint32_t i = 0; i < page.nrows; i++)
      if (page.values[i] >= 0) counts[page.values[i]]++;
  return counts;
}

inline void expect_ungrouped(const std::vector<FakePage>& pages, const Answer& answer) {
  int64_t count = 0, sum = 0;
  for (const FakePage& page : pages) {
    count += page.nrows;
    sum = std::accumulate(page.values, page.values + page.nrows, sum);
  }
  EXPECT_EQ(answer.count, count);
  EXPECT_EQ(answer.sum, sum);
}

inline void expect_join(Shape shape, const Answer& answer, const std::vector<FakePage>& pages, Matches matches,
                        const std::vector<Chunk>& chunks) {
  const ExpectedJoin expected = expected_join(pages, matches);
  if (shape == Shape::JOIN_GROUPED) {
    EXPECT_EQ(answer.counts, expected.counts);
  }
  if (shape == Shape::JOIN_UNGROUPED) {
    EXPECT_EQ(answer.count, expected.count);
    EXPECT_EQ(answer.sum, expected.sum);
  }
  if (shape == Shape::PROJECT) {
    EXPECT_TRUE(answer.rows == expected.rows) << answer.rows.size() << " rows, not " << expected.rows.size();
  }
  uint64_t rows_in = 0, rows_passed = 0, joined[2] = {};
  for (const Chunk& chunk : chunks) {
    rows_in += chunk.outcome.rows_in;
    rows_passed += chunk.outcome.rows_passed;
    for (size_t i = 0; i < 2; i++) joined[i] += chunk.outcome.join_rows[i];
  }
  uint64_t rows = 0;
  for (const FakePage& page : pages) rows += page.nrows;
  EXPECT_EQ(rows_in, rows);
  EXPECT_EQ(rows_passed, static_cast<uint64_t>(expected.rows_passed));
  for (uint64_t tuples : joined) EXPECT_EQ(tuples, static_cast<uint64_t>(expected.count));
}

}  // namespace turbine::cuda::testing
