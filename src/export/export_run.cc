/*
 * export_run.cc - one thread a worker, and a queue of finished record batches to the writer.
 *
 * Lock protocol: BatchQueue's mutex protects all of its fields; nothing else is shared
 * between threads but Progress's counter. The queue holds one batch, so there are at most
 * a batch for each worker, one waiting and one being written: memory does not depend on
 * the number of rows. Must never: leave a thread behind, whatever fails.
 */
#include "export/export_run.h"

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>

#include "export/batch_builder.h"
#include "export/ipc_writer.h"
#include "export/parquet_writer.h"
#include "export/progress.h"

namespace turbine::exporting {
namespace {

using Batch = std::shared_ptr<arrow::RecordBatch>;
constexpr auto kBetweenDrawings = std::chrono::milliseconds(200);

class BatchQueue {
 public:
  explicit BatchQueue(int workers) : running_(workers) {}

  /* Waits until there is room; false if the export has failed. */
  bool push(Batch batch) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_ == nullptr || failure_ != nullptr; });
    if (failure_ != nullptr) return false;
    waiting_ = std::move(batch);
    changed_.notify_all();
    return true;
  }

  void worker_ended() {
    const std::lock_guard lock(mutex_);
    running_--;
    changed_.notify_all();
  }

  void fail(std::exception_ptr failure) {
    const std::lock_guard lock(mutex_);
    if (failure_ == nullptr) failure_ = std::move(failure);
    changed_.notify_all();
  }

  bool failed() {
    const std::lock_guard lock(mutex_);
    return failure_ != nullptr;
  }

  /* The next batch: null at the end, or after kBetweenDrawings, when `ended` is false. */
  Batch pop(bool& ended) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, kBetweenDrawings,
                      [&] { return waiting_ != nullptr || failure_ != nullptr || running_ == 0; });
    if (failure_ != nullptr) std::rethrow_exception(failure_);
    ended = running_ == 0 && waiting_ == nullptr;
    Batch batch = std::move(waiting_);
    waiting_ = nullptr;
    changed_.notify_all();
    return batch;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  Batch waiting_;
  std::exception_ptr failure_;
  int running_;
};

/* Rows between looks at the clock of others: whether one has failed, and the row counter. */
constexpr int64_t kRowsBetweenLooks = 4096;

void read_rows(RowSource& rows, BatchBuilder& builder, BatchQueue& queue, Progress& progress) {
  int64_t uncounted = 0;
  for (;;) {
    const int64_t before = builder.rows();
    if (!rows.add(builder)) break;
    uncounted += builder.rows() - before;
    if (uncounted >= kRowsBetweenLooks) {
      progress.add_rows(uncounted);
      uncounted = 0;
      if (queue.failed()) return;
    }
    if (builder.full() && !queue.push(builder.finish())) return;
  }
  progress.add_rows(uncounted);
  if (builder.rows() > 0) queue.push(builder.finish());
}

/* `temporary`: becomes the name of the file if the options name none. */
std::unique_ptr<OutputFile> make_file(const Options& options, std::string& temporary) {
  if (!options.output.empty()) return std::make_unique<ReplacingFile>(options.output);
  auto file = std::make_unique<TemporaryFile>(options.temporary_name, options.parquet ? ".parquet" : ".arrow");
  temporary = file->old_name();
  return file;
}

std::unique_ptr<TableWriter> make_writer(const Options& options, const std::shared_ptr<arrow::Schema>& schema,
                                         std::string& temporary) {
  ValueRanges ranges;
  if (options.statistics && !options.parquet) ranges = ValueRanges(*schema, options.statistics_columns);
  auto file = make_file(options, temporary);
  if (options.parquet) return make_parquet_writer(std::move(file), schema, {options.compression, options.dictionary});
  return std::make_unique<IpcWriter>(std::move(file), options.append, schema, std::move(ranges), options.compression);
}

}  // namespace

/* Large batches that come and go: jemalloc keeps their memory for the next one, where mimalloc,
 * Arrow's default, returns it to the system, which has to clear it again. The user's own
 * choice holds. */
void choose_allocator() { setenv("ARROW_DEFAULT_MEMORY_POOL", "jemalloc", /*overwrite=*/0); }

void run_export(ExportSource& source, const Options& options) {
  std::string temporary;
  run_export(source, options, [&](const auto& schema) { return make_writer(options, schema, temporary); });
  if (!temporary.empty()) printf("%s\n", temporary.c_str());
}

void run_export(ExportSource& source, const Options& options, const WriterMaker& make) {
  std::vector<std::unique_ptr<BatchBuilder>> builders;
  std::vector<std::unique_ptr<RowSource>> rows;
  for (int i = 0; i < options.workers; i++) {
    builders.push_back(
        std::make_unique<BatchBuilder>(source.column_names(), source.make_decoders(), options.segment_bytes));
  }
  const auto writer = make(builders[0]->schema());
  for (int i = 0; i < options.workers; i++) rows.push_back(source.open(i));

  Progress progress(options.progress, source.expected_rows());
  BatchQueue queue(options.workers);
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < rows.size(); i++) {
    threads.emplace_back([&, i] {
      try {
        read_rows(*rows[i], *builders[i], queue, progress);
      } catch (...) {
        queue.fail(std::current_exception());
      }
      queue.worker_ended();
    });
  }
  try {
    for (bool ended = false; !ended;) {
      const Batch batch = queue.pop(ended);
      if (batch != nullptr) writer->write(*batch);
      progress.show(writer->bytes());
    }
  } catch (...) {
    queue.fail(std::current_exception());
    throw;
  }
  threads.clear();
  writer->finish();
  progress.finish(writer->bytes());
  for (const auto& builder : builders) {
    for (const std::string& warning : builder->warnings()) fprintf(stderr, "warning: %s\n", warning.c_str());
  }
}

}  // namespace turbine::exporting
