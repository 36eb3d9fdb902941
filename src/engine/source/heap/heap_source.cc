/*
 * heap_source.cc - chunks of heap pages: which are valid, and how their runs are read.
 *
 * Owns the files and layouts of a query's chunks. Called by execution/ on the session's
 * thread; reads end on reader and device threads. It knows nothing of visibility, and
 * must touch nothing of the query once the sink has heard of the chunk.
 */
#include "engine/source/heap/heap_source.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <string>
#include <utility>

#include "engine/profile/stopwatch.h"
#include "engine/source/heap/direct_reader.h"
#include "engine/wire/protocol_error.h"

namespace turbine {
namespace {

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

/* The block of each page; none if the runs do not tell them all. */
std::shared_ptr<const std::vector<uint32_t>> blocks_of(const ChunkRequest& chunk) {
  constexpr uint32_t kUnknown = UINT32_MAX;  // PostgreSQL has no such block
  auto blocks = std::make_shared<std::vector<uint32_t>>(chunk.npages, kUnknown);
  for (const std::vector<TbRun>* runs : {&chunk.runs, &chunk.copied, &chunk.placed})
    for (const TbRun& run : *runs)
      for (uint32_t i = 0; i < run.count; i++) (*blocks)[run.page + i] = run.block + i;
  if (std::find(blocks->begin(), blocks->end(), kUnknown) != blocks->end()) return nullptr;
  return blocks;
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

  std::atomic<uint64_t> us{0};  // that the device has read ahead
  uint64_t began_ns = 0;        // traced: at a drive

  Fill(TaskSink& sink, const ChunkRequest& chunk, uint8_t* to, std::shared_ptr<const RelationFiles> files)
      : sink(sink), slot(chunk.slot), sequence(chunk.sequence), to(to), files(std::move(files)), runs(chunk.runs) {}
};

HeapSource::HeapSource(const Program& program, const SegmentSource& segments, RelationFiles files,
                       const HeapReading& reading, QueryProfile* profile)
    : program_(program),
      segments_(segments),
      files_(std::make_shared<RelationFiles>(std::move(files))),
      reading_(reading),
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
  check_runs(chunk.placed, chunk.npages);
  if (program_.has_tids() && !blocks_of(chunk)) throw ProtocolError("chunk without the blocks of its pages");
}

TaskInput HeapSource::input(const ChunkRequest& chunk, uint8_t* slot) const {
  PagesInput input{
      .pages = slot, .npages = chunk.npages, .layout = layouts_.find(chunk.layout), .keep = segments_.fill_of(chunk)};
  if (program_.has_tids()) input.blocks = blocks_of(chunk);
  return input;
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
  if (reading_.path == ReadPath::kDirect) return false;
  if (pages_of(fill->runs) != task.as<PagesInput>()->npages) return false;
  // A try would make the kernel read ahead into the page cache that is to be spared.
  if (reading_.path == ReadPath::kPastPageCache && !were_in_page_cache(*fill->files, fill->runs)) return false;
  auto read = [this, fill](uint32_t first, uint32_t count, uint8_t* pages) {
    const Stopwatch stopwatch;
    cache_clock_.begin();
    const uint64_t began_ns = profile_ ? monotonic_ns() : 0;
    const CachedRead read = read_cached(*fill->files, fill->runs, first, count, reading_.verify_checksums, pages);
    fill->us += stopwatch.microseconds();
    if (profile_ && read == CachedRead::kDone)
      profile_->add_bytes(TB_SPAN_RATE_PAGE_CACHE, uint64_t{count} * TB_PAGE_SIZE, began_ns, monotonic_ns());
    if (const uint64_t us = cache_clock_.end())
      fill->sink.totals().change([us](TbQueryDone& totals) { totals.page_cache_us += us; });
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
    fill->sink.filled(fill->slot, {.ok = ok, .page_cache_bytes = bytes, .us = fill->us, .decoded = std::move(decoded)});
  });
}

/* Hands the runs to the storage reader. */
void HeapSource::start_reads(const std::shared_ptr<Fill>& fill) {
  fill->sink.waits_for_drive(fill->slot);
  if (profile_) fill->began_ns = monotonic_ns();
  reads_clock().begin();
  try {
    auto extents = extents_of(*fill->files, fill->runs, fill->to);
    if (extents) {
      reading_.storage.read(std::move(*extents), reading_.path,
                            [this, fill](const ExtentsRead& read) { end_reads(fill, read); });
      return;
    }
  } catch (const std::bad_alloc&) {
    // Nothing has begun.
  }
  reads_clock().end();
  fill->sink.filled(fill->slot, {.ok = false});
}

/* Reads of several slots overlap, so each slot has a track. */
void HeapSource::add_span(const Fill& fill, const ExtentsRead& read) {
  const uint64_t now = monotonic_ns();
  profile_->add_bytes(TB_SPAN_RATE_DRIVE, read.drive_bytes, fill.began_ns, now);
  profile_->add_bytes(TB_SPAN_RATE_PAGE_CACHE, read.page_cache_bytes, fill.began_ns, now);
  try {
    const uint32_t track = profile_->track("reads of slot " + std::to_string(fill.slot));
    profile_->add(TB_SPAN_READ, fill.sequence, fill.began_ns, now, track);
  } catch (const std::bad_alloc&) {
    // The profile lacks it.
  }
}

/* On a thread of the storage reader. The query, and its profile, may be gone as soon as it is told. */
void HeapSource::end_reads(const std::shared_ptr<Fill>& fill, const ExtentsRead& read) {
  const bool by_cache = reading_.path == ReadPath::kPageCache;
  if (const uint64_t us = reads_clock().end())
    fill->sink.totals().change(
        [us, by_cache](TbQueryDone& totals) { (by_cache ? totals.page_cache_us : totals.drive_us) += us; });
  if (profile_) add_span(*fill, read);
  const ChunkFill filled{
      .ok = read.ok, .drive_bytes = read.drive_bytes, .page_cache_bytes = read.page_cache_bytes, .us = read.us};
  if (!read.ok || !reading_.verify_checksums) return fill->sink.filled(fill->slot, filled);
  // Checksums take a processor's time, which the thread of all drives has not got.
  try {
    reading_.threads.post([fill, filled](unsigned) {
      ChunkFill checked = filled;
      checked.ok = checksums_ok(fill->runs, fill->to);
      fill->sink.filled(fill->slot, checked);
    });
  } catch (const std::bad_alloc&) {
    fill->sink.filled(fill->slot, {.ok = false});
  }
}

}  // namespace turbine
