/*
 * file_source.h - rows that a query takes from files of columns.
 *
 * Each file is a part of the input. Segments of it that the column store has become tasks at once
 * (segments/segment_source.h). The host's threads decode the other rows, except batches that the file's
 * statistics exclude. A job decodes one or several batches, or a part of one if that costs no more than
 * its rows. It goes segment by segment, leaves out those that the file's indexes exclude, and makes a
 * task as soon as enough segments are there. Segments enter the store on the way.
 *
 * The session's thread calls. Jobs run on the pool's threads and report to the sink. stop() waits for
 * them.
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
#include "engine/source/files/file_part.h"
#include "engine/source/files/segment_tasks.h"
#include "engine/source/files/table_file.h"
#include "engine/source/segments/segment_source.h"
#include "engine/source/source.h"
#include "engine/storage/file_reading.h"
#include "engine/store/column_store.h"
#include "engine/threads/worker_pool.h"
#include "engine/wire/requests.h"

namespace turbine {

class FileSource final : public PartSource {
 public:
  FileSource(ColumnStore& store, const Program& program, SegmentSource& segments, WorkerPool& workers,
             const FileStorage& storage, QueryProfile* profile)
      : store_(store),
        program_(program),
        segments_(segments),
        workers_(workers),
        storage_(storage),
        profile_(profile) {}
  ~FileSource() override { FileSource::stop(); }

  void add(std::span<const uint8_t> bytes, int fd) override;

  /* No job runs any more after this. */
  void stop() override;

  void resume() override { start_jobs(); }

 private:
  /* What became of batches that waited, or of parts of them. */
  struct BatchesRead {
    uint32_t excluded_by_bloom = 0, excluded_by_pages = 0;  // batches
    uint64_t rows_excluded = 0, rows_streamed = 0;
    BatchReader::LeftOut left_out;  // of what was read
    uint64_t bytes = 0;             // of the file
    std::vector<uint64_t> column_bytes;  // the same by column
    uint64_t us = 0;

    void add_bytes(const BatchReader& reader, size_t columns) {
      std::vector<uint64_t> of_reader(columns);
      reader.add_bytes(of_reader);
      column_bytes.resize(columns);
      for (size_t i = 0; i < columns; i++) {
        column_bytes[i] += of_reader[i];
        bytes += of_reader[i];
      }
    }
  };
  /* What one job decodes: rows of one batch, or of several that follow one another. */
  struct Piece {
    struct Rows {
      uint32_t batch;
      RowRange range;  // whole segments
    };
    std::shared_ptr<const FilePart> part;
    std::vector<Rows> rows;
    uint64_t number = 0;  // among the query's, in the order of parts and rows

    uint64_t count() const {
      uint64_t count = 0;
      for (const Rows& some : rows) count += some.range.count;
      return count;
    }
  };
  FileReading reading_of(int fd) const;
  std::vector<WantedColumn> wanted_columns(const FilePartRequest& request) const;
  std::vector<std::shared_ptr<TextDictionary>> text_dictionaries(const FilePart& part);
  void start_jobs();
  void run_job();
  void drop_waiting();
  std::vector<Piece> pieces_of(const std::shared_ptr<const FilePart>& part, const std::vector<uint32_t>& batches) const;
  void read_piece(const Piece& piece, BatchesRead& read);
  void read_to(const Piece& piece, ReadRows& to, BatchesRead& read);
  void read_rows_to(const FilePart& part, const Piece::Rows& rows, ReadRows& to, BatchesRead& read);
  void note(const BatchesRead& read);
  RowRanges wanted_rows(const FilePart& part, const Piece::Rows& rows, BatchesRead& read) const;
  std::vector<ColumnRows> take_rows(const FilePart& part);
  void read_segments(const FilePart& part, uint32_t batch, const RowRanges& rows, SegmentTasks& tasks,
                     BatchesRead& read);
  std::shared_ptr<const Segment> keep(const FilePart& part, const FileSegments::Segment& place,
                                      std::vector<ColumnRows>& columns, const std::vector<StoredColumn::Zone>& zones,
                                      SegmentTasks& tasks);

  ColumnStore& store_;
  const Program& program_;
  SegmentSource& segments_;
  WorkerPool& workers_;
  const FileStorage storage_;
  const std::shared_ptr<FilesRead> files_read_ = std::make_shared<FilesRead>();
  QueryProfile* const profile_;  // null: nobody asks
  const std::shared_ptr<RowMemory> memory_ = std::make_shared<RowMemory>();
  uint32_t parts_ = 0;  // so far
  uint64_t pieces_ = 0;  // likewise
  uint32_t threads_ = 1;  // that decode at once

  std::atomic<bool> stopped_{false};
  std::mutex mutex_;  // the fields below
  std::condition_variable idle_;
  std::deque<Piece> waiting_;
  unsigned jobs_ = 0;
  /* By column: of texts that are not cached, so that they are numbers as well. For all parts. */
  std::vector<std::shared_ptr<TextDictionary>> dictionaries_;
};

}  // namespace turbine
