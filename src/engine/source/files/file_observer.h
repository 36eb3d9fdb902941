/*
 * file_observer.h - what the jobs that read a query's files report, and whom they ask.
 */
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "engine/device/device.h"
#include "engine/source/files/table_file.h"

namespace turbine {

/* What became of batches that waited, or of parts of them. */
struct BatchesRead {
  uint32_t excluded_by_bloom = 0, excluded_by_pages = 0;  // batches
  uint64_t rows_excluded = 0;
  BatchReader::LeftOut left_out;  // of what was read
  uint64_t bytes = 0;             // of the file
  uint64_t us = 0;
};

/* Any thread. */
class FileObserver {
 public:
  virtual ~FileObserver() = default;
  /* So many more pieces are to be read: the input has not ended before they are. */
  virtual void pieces_wait(uint32_t count) = 0;
  /* As the device query's. */
  virtual std::shared_ptr<StagedColumns> stage_columns(uint64_t bytes) = 0;
  /* Rows of a batch that has been decoded. */
  virtual void decoded(std::vector<Task> tasks) = 0;
  /* One has ended; `error` if it could not be read. The job's last act but one. */
  virtual void piece_done(const BatchesRead& read, std::exception_ptr error) = 0;
};

}  // namespace turbine
