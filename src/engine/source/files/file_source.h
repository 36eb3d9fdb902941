/*
 * file_source.h - rows that a query takes of files of columns.
 *
 * Each file is a part of the input. What the column store has of it becomes tasks at once
 * (segments/segment_source.h); of the rest, batches whose statistics say that some row may pass are
 * decoded on the host's threads, segment by segment, but for segments that the file's indexes exclude,
 * and each segment is a task as soon as it is there. It enters the store on the way.
 *
 * The session's thread calls; jobs run on the pool's threads and report to an observer.
 */
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "engine/device/device.h"
#include "engine/source/files/file_segments.h"
#include "engine/source/files/table_file.h"
#include "engine/source/segments/segment_source.h"
#include "engine/store/column_store.h"
#include "engine/threads/worker_pool.h"
#include "engine/wire/requests.h"

namespace turbine {

/* What became of a batch that waited. */
struct BatchRead {
  enum Excluded { kNot, kByBloomFilter, kByPages };
  Excluded excluded = kNot;
  uint64_t rows_excluded = 0;
  BatchReader::LeftOut left_out;  // of a batch that was read
  uint64_t bytes = 0;             // of the file
  uint64_t us = 0;
};

/* Any thread. */
class FileObserver {
 public:
  virtual ~FileObserver() = default;
  /* So many more batches are to be read: the input has not ended before they are. */
  virtual void batches_wait(uint32_t count) = 0;
  /* Rows of a batch that has been decoded. */
  virtual void decoded(std::vector<ChunkTask> tasks) = 0;
  /* A batch has ended; `error` if it could not be read. The job's last act but one. */
  virtual void batch_done(const BatchRead& read, std::exception_ptr error) = 0;
};

class FileSource {
 public:
  FileSource(ColumnStore& store, const Program& program, SegmentSource& segments, WorkerPool& workers,
             FileObserver& observer)
      : store_(store), program_(program), segments_(segments), workers_(workers), observer_(observer) {}
  ~FileSource() { stop(); }

  struct Added {
    uint64_t batches = 0, batches_excluded = 0, batches_cached = 0;
    uint64_t rows_excluded = 0;  // of batches, and of segments that the store has
  };
  /* A part whose file is open at `fd`, which stays the caller's. Throws FileError, ProtocolError. */
  Added add(const FilePartRequest& request, int fd, const Device::SegmentShape& shape,
            const SegmentSource::StartTasks& start);

  /* No job runs any more after this. */
  void stop();

 private:
  struct Part;
  struct Batch {
    std::shared_ptr<const Part> part;
    uint32_t number;
  };
  std::vector<WantedColumn> wanted_columns(const FilePartRequest& request) const;
  std::vector<std::shared_ptr<TextDictionary>> text_dictionaries(const Part& part);
  void start_jobs();
  void run_job();
  void drop_waiting();
  void read_batch(const Batch& batch, BatchRead& read);
  RowRanges wanted_rows(const Part& part, uint32_t batch, BatchRead& read) const;
  void read_segments(const Part& part, uint32_t batch, const RowRanges& rows, BatchRead& read);
  std::shared_ptr<const Segment> keep(const Part& part, const FileSegments::Segment& place,
                                      std::vector<ColumnRows>& columns);

  ColumnStore& store_;
  const Program& program_;
  SegmentSource& segments_;
  WorkerPool& workers_;
  FileObserver& observer_;
  uint32_t parts_ = 0;  // so far

  std::atomic<bool> stopped_{false};
  std::mutex mutex_;  // the fields below
  std::condition_variable idle_;
  std::deque<Batch> waiting_;
  unsigned jobs_ = 0;
  /* By column: of texts that are not cached, so that they are numbers as well. For all parts. */
  std::vector<std::shared_ptr<TextDictionary>> dictionaries_;
};

}  // namespace turbine
