/*
 * continuation.cc - see continuation.h. Called by query_output.cc between the result
 * plan and the first row that is sent.
 *
 * Owns the chunks' memory and the continuation's query. Must not return while a chunk
 * is in flight.
 */
#include "engine/execution/continuation.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <span>

#include "engine/memory/alignment.h"
#include "engine/memory/host_memory.h"
#include "engine/wire/device_error.h"
#include "engine/wire/failure.h"
#include "engine/wire/protocol_error.h"
#include "turbine/wire.h"

namespace turbine {
namespace {

/* Some 10,000 rows: a chunk is worth a job, and stays in a processor's cache. */
constexpr uint64_t kChunkBytes = 512 << 10;
constexpr uint64_t kMostRows = 32 << 10, kLeastRows = 2 << 10;
/* Numbers of sets that a chunk has: one a row and set. */
constexpr uint64_t kMostNumbers = 256 << 10;

bool is_in(uint64_t set, size_t column) { return column >= 64 || (set >> column & 1); }

void check_column(const TbColumn& column, const ColumnShape& from) {
  if (column.join != 0 || column.type != from.type || (from.nullable && !(column.flags & TB_COL_NULLABLE)) ||
      (column.flags & TB_COL_DISPLAY_SCALE) || (tb_type_is_numeric(column.type) && column.scale != from.scale))
    throw ProtocolError("continuation: a column of the source is not one of the rows");
}

}  // namespace

/* What lies in a chunk's memory, by offsets. The device sees as many chunks as there are sets, each with a header of
 * its own and all with the same values. */
struct ChunkShape {
  ChunkShape(std::span<const uint32_t> source, std::span<const uint64_t> of_sets)
      : columns(source),
        sets(of_sets),
        header(host_aligned(sizeof(TbColumnsChunk) + source.size() * sizeof(TbColumnsChunk::columns[0]))),
        tasks(std::max<uint64_t>(of_sets.size(), 1)),
        rows(rows_of(of_sets.size())),
        values(tasks * header),
        all_valid(values + kChunkBytes),
        all_null(all_valid + rows),
        numbers(all_null + rows),
        size(numbers + of_sets.size() * rows * sizeof(int32_t)) {}

  /* A multiple of the alignment: what follows is aligned like it. */
  static uint64_t rows_of(uint64_t nsets) {
    return nsets == 0 ? kMostRows
                      : std::clamp(kMostNumbers / nsets, kLeastRows, kMostRows) / kHostAlignment * kHostAlignment;
  }

  std::span<const uint32_t> columns;  // as Continuation's
  std::span<const uint64_t> sets;
  uint64_t header, tasks, rows;
  uint64_t values, all_valid, all_null, numbers, size;
};

/* Rows as columns, and how many tasks of theirs the device has. */
class Continuation::Chunk {
 public:
  Chunk(MemoryBudget& memory, const ChunkShape& shape) : shape_(shape), memory_(memory, shape.size) {
    memset(memory_.data() + shape.all_valid, 1, shape.rows);
    memset(memory_.data() + shape.all_null, 0, shape.rows);
    auto* numbers = reinterpret_cast<int32_t*>(memory_.data() + shape.numbers);
    for (size_t set = 0; set < shape.sets.size(); set++)
      std::fill_n(numbers + set * shape.rows, shape.rows, static_cast<int32_t>(set));
  }

  /* As many rows from `first` on as there is room for; returns their number. */
  uint32_t fill(ResultOutput& output, const ResultOutput::Fetch& fetch, uint64_t first, uint64_t left) {
    const std::vector<uint8_t> written = output.write(fetch, first, std::min(left, shape_.rows),
                                                      memory_.data() + shape_.values, kChunkBytes);
    TbResultBatch batch;
    memcpy(&batch, written.data(), sizeof batch);
    for (uint64_t task = 0; task < shape_.tasks; task++) write_header(task, batch, written.data() + sizeof batch);
    return batch.nrows;
  }

  Task task(uint64_t number, uint64_t sequence) {
    return {.sequence = sequence, .input = ColumnsInput{memory_.data() + number * shape_.header}};
  }

  uint64_t running = 0;

 private:
  /* `offsets`: of each column of the rows, as a RESULT_BATCH has them. */
  void write_header(uint64_t task, const TbResultBatch& batch, const uint8_t* offsets) {
    const uint64_t at = task * shape_.header;
    auto* chunk = reinterpret_cast<TbColumnsChunk*>(memory_.data() + at);
    chunk->nrows = batch.nrows;
    chunk->ncolumns = static_cast<uint32_t>(shape_.columns.size());
    chunk->bytes_offset = shape_.values + batch.bytes_offset - at;
    chunk->bytes_size = batch.bytes_size;
    for (size_t i = 0; i < shape_.columns.size(); i++) {
      if (shape_.columns[i] == TB_NONE) {
        chunk->columns[i] = {shape_.numbers + task * shape_.rows * sizeof(int32_t) - at, shape_.all_valid - at};
        continue;
      }
      uint64_t of[2];
      memcpy(of, offsets + shape_.columns[i] * sizeof of, sizeof of);
      // No column begins with its `valid` bytes: 0 is none, where no row has a NULL.
      uint64_t valid = of[1] ? shape_.values + of[1] : shape_.all_valid;
      if (!shape_.sets.empty() && !is_in(shape_.sets[task], i)) valid = shape_.all_null;
      chunk->columns[i] = {shape_.values + of[0] - at, valid - at};
    }
  }

  const ChunkShape& shape_;
  HostBuffer memory_;
};

/* A few chunks, which are filled again as soon as the device is done with them. */
class Continuation::Chunks {
 public:
  Chunks(MemoryBudget& memory, const ChunkShape& shape, unsigned count, DeviceQuery& query)
      : shape_(shape), query_(query) {
    for (unsigned i = 0; i < count; i++) chunks_.push_back(std::make_unique<Chunk>(memory, shape));
  }
  ~Chunks() {
    query_.stop();
    await([this] { return running_ == 0; });
  }

  Chunk& free_one() {
    await([this] { return running_ < chunks_.size(); });
    std::lock_guard lock(mutex_);
    return **std::find_if(chunks_.begin(), chunks_.end(), [](const auto& chunk) { return chunk->running == 0; });
  }

  void submit(Chunk& chunk) {
    {
      std::lock_guard lock(mutex_);
      chunk.running = shape_.tasks;
      running_++;
    }
    for (uint64_t task = 0; task < shape_.tasks; task++)
      query_.submit(chunk.task(task, sequence_++),
                    [this, &chunk](const TaskOutcome& outcome, std::exception_ptr error) {
                      std::lock_guard lock(mutex_);
                      errors_ |= outcome.errors;
                      if (error && !error_) error_ = error;
                      if (--chunk.running > 0) return;
                      running_--;
                      changed_.notify_all();
                    });
  }

  void finish() {
    await([this] { return running_ == 0; });
    check();
  }

  /* Throws what has gone wrong so far. */
  void check() {
    std::lock_guard lock(mutex_);
    if (error_) std::rethrow_exception(error_);
    if (errors_ != 0) throw DeviceError(verdict_reason(errors_), "a value made of several rows needs PostgreSQL");
  }

 private:
  template <class Condition>
  void await(Condition condition) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, condition);
  }

  const ChunkShape& shape_;
  DeviceQuery& query_;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  uint64_t sequence_ = 0;
  std::mutex mutex_;  // the fields below, and the chunks' `running`
  std::condition_variable changed_;
  size_t running_ = 0;
  uint32_t errors_ = 0;
  std::exception_ptr error_;
};

Continuation::Continuation(const ContinuationRequest& request, const std::vector<ColumnShape>& rows)
    : columns_(request.columns), sets_(request.sets), estimated_groups_(request.estimated_groups) {
  try {
    program_ = std::make_shared<const Program>(Program::parse(request.program));
    check_params(*program_, request.params);
    if (!request.result_plan.empty()) plan_ = ResultPlan::parse(request.result_plan, *program_);
  } catch (const ProgramError& e) {
    throw ProtocolError(std::string("continuation: ") + e.what());
  }
  params_ = std::make_shared<const std::string>(reinterpret_cast<const char*>(request.params.data()),
                                                request.params.size());
  if (program_->source() != TB_SOURCE_ROWS || !program_->joins().empty() ||
      (program_->sink() != TB_SINK_AGGREGATE && program_->sink() != TB_SINK_PROJECT))
    throw ProtocolError("continuation: a program of another source or sink");
  if (columns_.size() != program_->source_columns()) throw ProtocolError("continuation: number of columns");
  unread_ = ~uint64_t{0};
  for (size_t i = 0; i < columns_.size(); i++) {
    const TbColumn& column = program_->columns()[i];
    const bool in_all = std::all_of(sets_.begin(), sets_.end(), [i](uint64_t set) { return is_in(set, i); });
    if (!in_all && !(column.flags & TB_COL_NULLABLE))
      throw ProtocolError("continuation: a column that sets lack has no NULLs");
    if (columns_[i] == TB_NONE && !sets_.empty()) {
      check_column(column, {TB_TYPE_INT4, 0, false});
      continue;
    }
    if (columns_[i] >= rows.size()) throw ProtocolError("continuation: no such column");
    check_column(column, rows[columns_[i]]);
    if (columns_[i] < 64) unread_ &= ~(uint64_t{1} << columns_[i]);
  }
}

bool Continuation::compile(CodeCache& cache, Device& host, const IsCancelled& cancelled, CodeDemand demand) {
  const CodeCache::Result result = cache.get(host, *program_, cancelled, demand);
  code_ = result.code;
  return result.improve;
}

uint64_t Continuation::run(const Input& input, Device& host, ParallelWork& work, QueryProfile* profile) {
  const ChunkShape shape(columns_, sets_);
  const unsigned nchunks = std::min<unsigned>(work.threads() + 2, TB_MAX_SLOTS);
  const uint64_t chunks_bytes = nchunks * HostBuffer::charged(shape.size);
  // Chunks, and what fetching takes, are charged beside it.
  const uint64_t free = input.memory.free();
  const uint64_t bytes = free - std::min(free, chunks_bytes + free / 8);
  input.memory.reserve(bytes);
  const struct Reserved {
    MemoryBudget& memory;
    uint64_t bytes;
    ~Reserved() { memory.release(bytes); }
  } reserved{input.memory, bytes};
  query_ = host.start(program_, params_, code_, {}, estimated_groups_, bytes, profile);
  Chunks chunks(input.memory, shape, nchunks, *query_);
  for (uint64_t next = 0; next < input.nrows;) {
    work.check();
    chunks.check();
    Chunk& chunk = chunks.free_one();
    next += chunk.fill(*input.output, input.fetch, next, input.nrows - next);
    chunks.submit(chunk);
  }
  chunks.finish();
  return query_->finish();
}

}  // namespace turbine
