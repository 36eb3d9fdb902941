/*
 * continuation.cc - see continuation.h. Called by query_execution.cc between the result
 * plan and the first row that is sent.
 *
 * Owns the chunks' memory and the second program's query. Must not return while a chunk
 * is in flight.
 */
#include "engine/execution/continuation.h"

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <span>

#include "engine/memory/host_memory.h"
#include "engine/wire/device_error.h"
#include "engine/wire/failure.h"
#include "engine/wire/protocol_error.h"
#include "turbine/wire.h"

namespace turbine {
namespace {

/* Some 10,000 rows: a chunk is worth a job, and stays in a processor's cache. */
constexpr uint64_t kChunkBytes = 512 << 10;
constexpr uint64_t kMostRows = 32 << 10;
constexpr uint64_t kAlignment = 64;

uint64_t aligned(uint64_t size) { return (size + kAlignment - 1) & ~(kAlignment - 1); }

void check_column(const TbColumn& column, const ColumnShape& from) {
  if (column.join != 0 || column.type != from.type || (from.nullable && !(column.flags & TB_COL_NULLABLE)) ||
      (column.flags & TB_COL_DISPLAY_SCALE) || (tb_type_is_numeric(column.type) && column.scale != from.scale))
    throw ProtocolError("continuation: a column of the source is not one of the rows");
}

}  // namespace

/* Rows as columns, and whether the device has them. */
class Continuation::Chunk {
 public:
  Chunk(MemoryBudget& memory, size_t ncolumns)
      : header_(aligned(sizeof(TbColumnsChunk) + ncolumns * sizeof(TbColumnsChunk::columns[0]))),
        memory_(memory, header_ + kChunkBytes + kMostRows) {
    memset(memory_.data() + all_valid(), 1, kMostRows);
  }

  /* As many rows from `first` on as there is room for; returns their number. */
  uint32_t fill(ResultOutput& output, const ResultOutput::Fetch& fetch, uint64_t first, uint64_t left,
                std::span<const uint32_t> columns) {
    const std::vector<uint8_t> written = output.write(fetch, first, std::min(left, kMostRows), memory_.data() + header_,
                                                      kChunkBytes);
    TbResultBatch batch;
    memcpy(&batch, written.data(), sizeof batch);
    auto* chunk = reinterpret_cast<TbColumnsChunk*>(memory_.data());
    chunk->nrows = batch.nrows;
    chunk->ncolumns = static_cast<uint32_t>(columns.size());
    chunk->bytes_offset = header_ + batch.bytes_offset;
    chunk->bytes_size = batch.bytes_size;
    for (size_t i = 0; i < columns.size(); i++) {
      uint64_t offsets[2];
      memcpy(offsets, written.data() + sizeof batch + columns[i] * sizeof offsets, sizeof offsets);
      // No column begins with its `valid` bytes: 0 is none, where no row has a NULL.
      chunk->columns[i] = {header_ + offsets[0], offsets[1] ? header_ + offsets[1] : all_valid()};
    }
    return batch.nrows;
  }

  ChunkTask task(uint64_t sequence) {
    ChunkTask task{};
    task.sequence = sequence;
    task.kind = TB_CHUNK_COLUMNS;
    task.data = memory_.data();
    return task;
  }

  bool running = false;

 private:
  uint64_t all_valid() const { return header_ + kChunkBytes; }

  const uint64_t header_;
  HostBuffer memory_;
};

/* A few chunks, which are filled again as soon as the device is done with them. */
class Continuation::Chunks {
 public:
  Chunks(MemoryBudget& memory, size_t ncolumns, unsigned count, DeviceQuery& query) : query_(query) {
    for (unsigned i = 0; i < count; i++) chunks_.push_back(std::make_unique<Chunk>(memory, ncolumns));
  }
  ~Chunks() {
    query_.stop();
    await([this] { return running_ == 0; });
  }

  Chunk& free_one() {
    await([this] { return running_ < chunks_.size(); });
    std::lock_guard lock(mutex_);
    return **std::find_if(chunks_.begin(), chunks_.end(), [](const auto& chunk) { return !chunk->running; });
  }

  void submit(Chunk& chunk) {
    {
      std::lock_guard lock(mutex_);
      chunk.running = true;
      running_++;
    }
    query_.submit(chunk.task(sequence_++), [this, &chunk](const ChunkOutcome& outcome, std::exception_ptr error) {
      std::lock_guard lock(mutex_);
      chunk.running = false;
      running_--;
      errors_ |= outcome.errors;
      if (error && !error_) error_ = error;
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
    : columns_(request.columns), estimated_groups_(request.estimated_groups) {
  try {
    program_ = std::make_shared<const Program>(Program::parse(request.program));
    check_params(*program_, request.params);
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
    if (columns_[i] >= rows.size()) throw ProtocolError("continuation: no such column");
    check_column(program_->columns()[i], rows[columns_[i]]);
    if (columns_[i] < 64) unread_ &= ~(uint64_t{1} << columns_[i]);
  }
}

bool Continuation::compile(CodeCache& cache, Device& host, const IsCancelled& cancelled, CodeDemand demand) {
  const CodeCache::Result result = cache.get(host, *program_, cancelled, demand);
  code_ = result.code;
  return result.improve;
}

uint64_t Continuation::run(const Input& input, Device& host, ParallelWork& work, QueryProfile* profile) {
  const unsigned nchunks = std::min<unsigned>(work.threads() + 2, TB_MAX_SLOTS);
  const uint64_t chunks_bytes = nchunks * HostBuffer::charged(kChunkBytes + kMostRows + TB_MAX_COLUMNS * kAlignment);
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
  Chunks chunks(input.memory, columns_.size(), nchunks, *query_);
  for (uint64_t next = 0; next < input.nrows;) {
    work.check();
    chunks.check();
    Chunk& chunk = chunks.free_one();
    next += chunk.fill(*input.output, input.fetch, next, input.nrows - next, columns_);
    chunks.submit(chunk);
  }
  chunks.finish();
  return query_->finish();
}

}  // namespace turbine
