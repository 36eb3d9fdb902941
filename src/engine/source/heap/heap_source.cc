/*
 * heap_source.cc - chunks of heap pages: which are valid, and how their runs are read.
 *
 * Owns the files and layouts of a query's chunks. Called by execution/ on the session's
 * thread; reads end on reader and device threads. It knows nothing of visibility, and
 * must touch nothing of the query once the observer has heard of the last part.
 */
#include "engine/source/heap/heap_source.h"

#include <atomic>
#include <new>
#include <utility>

#include "engine/profile/stopwatch.h"
#include "engine/source/heap/direct_reader.h"
#include "engine/wire/protocol_error.h"

namespace turbine {
namespace {

/* A thread copies some 5-16 GB/s from the page cache, a GPU takes 55: several
 * read a large slot. 2 MB keep a drive busy as well. */
constexpr uint32_t kPagesPerRead = 256;

/* Runs lie in their chunk and in a relation, in order, and none overlaps another. */
void check_runs(const std::vector<TbRun>& runs, uint32_t npages) {
  uint32_t end = 0;
  for (const TbRun& run : runs) {
    if (run.count == 0 || uint64_t{run.page} + run.count > npages) throw ProtocolError("run leaves its chunk");
    // Else pages that nobody reads would count as read.
    if (run.page < end) throw ProtocolError("runs overlap");
    end = run.page + run.count;
    if (uint64_t{run.block} + run.count > UINT32_MAX) throw ProtocolError("run leaves its relation");
  }
}

uint64_t pages_of(const std::vector<TbRun>& runs) {
  uint64_t pages = 0;
  for (const TbRun& run : runs) pages += run.count;
  return pages;
}

PagesRead pages_read(CachedRead read) {
  switch (read) {
    case CachedRead::kDone: return PagesRead::kDone;
    case CachedRead::kNotCached: return PagesRead::kNotCached;
    default: return PagesRead::kFailed;
  }
}

}  // namespace

/* One chunk on its way from files to its slot. */
struct HeapSource::Fill {
  TaskSink& sink;
  const uint32_t slot;
  const uint64_t sequence;
  uint8_t* const to;
  const std::shared_ptr<const RelationFiles> files;
  const std::vector<TbRun> runs;

  std::atomic<uint32_t> parts_left{1};
  std::atomic<bool> failed{false};
  std::atomic<uint64_t> bytes{0};
  std::atomic<uint64_t> us{0};

  Fill(TaskSink& sink, const ChunkRequest& chunk, uint8_t* to, std::shared_ptr<const RelationFiles> files)
      : sink(sink), slot(chunk.slot), sequence(chunk.sequence), to(to), files(std::move(files)), runs(chunk.runs) {}

  /* The chunk is filled when all its parts have been tried: the backend may write to
   * the slot then. */
  void part_done(bool ok, uint64_t part_bytes) {
    if (ok)
      bytes += part_bytes;
    else
      failed = true;
    if (parts_left.fetch_sub(1, std::memory_order_acq_rel) == 1) sink.filled(slot, {!failed, bytes, us});
  }
};

HeapSource::HeapSource(const Program& program, const SegmentSource& segments, RelationFiles files,
                       bool verify_checksums, WorkerPool& readers, QueryProfile* profile)
    : program_(program),
      segments_(segments),
      files_(std::make_shared<RelationFiles>(std::move(files))),
      verify_checksums_(verify_checksums),
      readers_(readers),
      profile_(profile) {}

/* File 0 begins another relation. Chunks being read keep the files that they began
 * with, to which nothing is added behind their backs. */
void HeapSource::add_files(uint32_t first_file, const std::vector<int>& fds) {
  if (first_file == 0) {
    files_ = std::make_shared<RelationFiles>();
    files_in_use_ = false;
  }
  const bool added = files_->add(files_in_use_ ? UINT32_MAX : first_file, fds);
  if (!added) throw ProtocolError("FILES: bad file numbers");
}

void HeapSource::check(const ChunkRequest& chunk, const SlotShape& shape) const {
  if (program_.source() != TB_SOURCE_HEAP) throw ProtocolError("pages for a program of rows");
  if (chunk.npages > shape.pages) throw ProtocolError("chunk is larger than a slot");
  if (!layouts_.has(chunk.layout)) throw ProtocolError("chunk of an unknown layout");
  check_runs(chunk.runs, chunk.npages);
  check_runs(chunk.copied, chunk.npages);
}

TaskInput HeapSource::input(const ChunkRequest& chunk, uint8_t* slot) const {
  return PagesInput{
      .pages = slot, .npages = chunk.npages, .layout = layouts_.find(chunk.layout), .keep = segments_.fill_of(chunk)};
}

void HeapSource::fill(const ChunkRequest& chunk, const Task& task) {
  files_in_use_ = true;
  std::shared_ptr<Fill> fill;
  bool ahead = false;
  try {
    fill = std::make_shared<Fill>(sink(), chunk, task.as<PagesInput>()->pages, files_);
    ahead = read_ahead(fill, task);
  } catch (const std::bad_alloc&) {
    // Nothing has begun.
  }
  if (ahead) return;
  if (fill)
    start_reads(fill);
  else
    sink().filled(chunk.slot, {.ok = false});
}

/* Has the device read the runs and decode them; false if it does not. The chunk must
 * consist of runs alone: the backend, or its feeders, may still be writing other pages. */
bool HeapSource::read_ahead(const std::shared_ptr<Fill>& fill, const Task& task) {
  if (pages_of(fill->runs) != task.as<PagesInput>()->npages) return false;
  auto read = [this, fill](uint32_t first, uint32_t count, uint8_t* pages) {
    const Stopwatch stopwatch;
    const CachedRead read = read_cached(*fill->files, fill->runs, first, count, verify_checksums_, pages);
    fill->us += stopwatch.microseconds();
    return pages_read(read);
  };
  return sink().decode_ahead(task, read, [this, fill](PagesRead read, std::shared_ptr<DecodedPages> decoded) {
    if (read == PagesRead::kNotCached) {
      fill->us = 0;  // what was tried is read again
      start_reads(fill);
      return;
    }
    const bool ok = read == PagesRead::kDone;
    const uint64_t bytes = ok ? pages_of(fill->runs) * TB_PAGE_SIZE : 0;
    fill->sink.filled(fill->slot, {ok, bytes, fill->us, std::move(decoded)});
  });
}

/* Shares the runs out among reader threads. */
void HeapSource::start_reads(const std::shared_ptr<Fill>& fill) {
  fill->sink.waits_for_drive(fill->slot);
  std::vector<std::vector<TbRun>> parts;
  try {
    parts = split_runs(fill->runs, kPagesPerRead);
  } catch (const std::bad_alloc&) {
    fill->part_done(false, 0);
    return;
  }
  fill->parts_left = static_cast<uint32_t>(parts.size());
  for (std::vector<TbRun>& part : parts) {
    try {
      readers_.post([this, fill, runs = std::move(part)](unsigned) { read_part(*fill, runs); });
    } catch (const std::bad_alloc&) {
      fill->part_done(false, 0);
    }
  }
}

void HeapSource::read_part(Fill& fill, const std::vector<TbRun>& part) {
  const Stopwatch stopwatch;
  bool ok;
  {
    const Span span(profile_, TB_SPAN_READ, fill.sequence);
    ok = read_runs(*fill.files, part, verify_checksums_, fill.to);
  }
  fill.us += stopwatch.microseconds();
  // The query, and its profile, may be gone as soon as the last part is told of.
  fill.part_done(ok, pages_of(part) * TB_PAGE_SIZE);
}

}  // namespace turbine
