/*
 * file_source.cc - see file_source.h.
 *
 * Owns the pieces of batches that wait, and what is known of each part. A job reads one piece. If more wait,
 * it then posts the next job, behind all that waits for the pool. So tasks of the decoded rows run in
 * between, and no more pieces are in memory than there are threads. Called by execution/ for PART.
 */
#include "engine/source/files/file_source.h"

#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/profile/query_profile.h"
#include "engine/profile/stopwatch.h"
#include "engine/source/files/arrow/open_table_file.h"
#include "engine/store/segment_merge.h"
#include "engine/wire/device_error.h"
#include "engine/wire/protocol_error.h"

namespace turbine {
namespace {

/* So many even out the end. */
constexpr uint64_t kPiecesOfThread = 4;

/* No relation's: no database has the number 0. */
TbFileIdentity identity_of(const FileVersion& version) {
  TbFileIdentity identity{};
  identity.file_number = static_cast<uint32_t>(version.device);
  identity.inode = version.inode;
  identity.birth_ns = static_cast<uint64_t>(version.changed_ns) ^
                      std::rotl(static_cast<uint64_t>(version.inode_changed_ns), 32) ^
                      version.size * 0x9e3779b97f4a7c15u;
  return identity;
}

template <class T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

/* Without its folder, as errors name it. */
std::string file_name(int fd) {
  char path[PATH_MAX];
  const ssize_t length = readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path, sizeof path);
  const std::string_view name(path, length > 0 ? static_cast<size_t>(length) : 0);
  return "file \"" + std::string(name.substr(name.find_last_of('/') + 1)) + "\"";
}

/* All that the column's values are made of, the file apart. */
std::string decoded_with(const WantedColumn& column) {
  std::string bytes;
  append(bytes, column.is_constant);
  append(bytes, column.digits);
  append(bytes, column.characters);
  append(bytes, column.typmod);
  if (!column.is_constant) return bytes + column.name;
  append(bytes, column.is_null);
  append(bytes, column.value);
  return bytes + column.text;
}

/* Those of a batch that may pass, as far as its columns' pages tell. */
RowRanges rows_of_pages(const TableFile& file, uint32_t batch, const SegmentSource& segments) {
  const uint64_t nrows = file.rows(batch);
  const std::vector<PageZones> columns = file.page_zones(batch, segments.zone_columns());
  if (columns.empty()) return {{0, nrows}};
  const std::vector<StoredColumn::Zone> of_batch = file.zones(batch);
  std::vector<size_t> page(columns.size());
  RowRanges rows;
  for (uint64_t first = 0, end; first < nrows; first = end) {
    std::vector<StoredColumn::Zone> zones = of_batch;
    end = nrows;
    for (size_t i = 0; i < columns.size(); i++) {
      const PageZones& pages = columns[i];
      while (page[i] + 1 < pages.first_rows.size() && pages.first_rows[page[i] + 1] <= first) page[i]++;
      if (page[i] + 1 < pages.first_rows.size()) end = std::min(end, pages.first_rows[page[i] + 1]);
      if (pages.zones[page[i]].known) zones[pages.column] = pages.zones[page[i]];
    }
    if (!segments.excludes(zones.data())) append_rows(rows, {first, end - first});
  }
  return rows;
}

/* By column. */
std::vector<uint8_t> constant_columns(const FilePartRequest& request) {
  std::vector<uint8_t> constant;
  for (const TbPartColumn& column : request.columns) constant.push_back(column.is_constant != 0);
  return constant;
}

}  // namespace

std::vector<WantedColumn> FileSource::wanted_columns(const FilePartRequest& request) const {
  if (request.columns.size() != program_.source_columns()) throw ProtocolError("PART of a file: number of columns");
  std::vector<WantedColumn> wanted;
  for (size_t i = 0; i < request.columns.size(); i++) {
    const TbColumn& column = program_.columns()[i];
    const TbPartColumn& from = request.columns[i];
    WantedColumn to;
    to.type = column.type;
    to.scale = column.scale;
    to.digits = tb_type_is_numeric(column.type) && column.digits > 0 ? column.digits
                : tb_type_is_numeric(column.type)                    ? from.most
                                                                     : 0;
    to.characters = tb_type_is_character(column.type) ? from.most : 0;
    if (column.type == TB_TYPE_GEOMETRY && from.most != 0) to.typmod = static_cast<int32_t>(from.most);
    to.is_coordinate = column.flags & TB_COL_COORDINATE;
    if (to.is_coordinate) to.point_form = column.digits;
    to.nullable = column.flags & TB_COL_NULLABLE;
    to.display_scale = column.flags & TB_COL_DISPLAY_SCALE;
    to.is_constant = from.is_constant != 0;
    to.is_null = from.is_null != 0;
    to.value = {from.constant[0], from.constant[1]};
    const std::string text(reinterpret_cast<const char*>(request.bytes.data()) + from.offset, from.length);
    (to.is_constant ? to.text : to.name) = text;
    wanted.push_back(std::move(to));
  }
  return wanted;
}

FileReading FileSource::reading_of(int fd) const {
  return {&storage_.reader, storage_.path_of(file_version(fd).size), files_read_};
}

void FileSource::add(std::span<const uint8_t> bytes, int fd) {
  // Check the request.
  const FilePartRequest request = parse_file_part(bytes);
  if (program_.source() == TB_SOURCE_ROWS || program_.sink() == TB_SINK_ROWS)
    throw ProtocolError("PART of a file for a program that takes none");
  if (fd < 0) throw ProtocolError("PART of a file without its file");
  if (request.part.format < TB_COLUMN_FILE_ARROW || request.part.format > TB_COLUMN_FILE_ARROW_STREAM)
    throw ProtocolError("PART of a file of an unknown format");
  const Device::SegmentShape shape = sink().segment_shape(UINT64_MAX);
  if (shape.rows == 0) throw DeviceError(TB_FALLBACK_NO_DEVICE, "the device does not take files");
  threads_ = std::max(workers_.size(), shape.threads + 1) - shape.threads;
  try {
    // Open the file.
    std::vector<WantedColumn> columns = wanted_columns(request);
    std::vector<ColumnKey> keys;
    for (size_t i = 0; i < columns.size(); i++)
      keys.push_back(file_column_key(program_.columns()[i], decoded_with(columns[i])));
    auto file = open_table_file(fd, request.part.format, std::move(columns), reading_of(fd));
    FileSegments segments(*file);
    // Take what the store has.
    const bool cached = (request.part.flags & TB_FILE_PART_CACHED) != 0 && is_settled(file->version());
    SegmentSource::FileTaken taken = segments_.take_file(identity_of(file->version()), keys, segments.blocks(), cached);
    auto part = std::make_shared<FilePart>(++parts_, file_name(fd), std::move(file), std::move(segments),
                                           std::move(taken.part), std::move(taken.bits), shape.decoded_rows,
                                           constant_columns(request), memory_);
    // Which batches are left to read?
    uint64_t excluded = 0, in_cache = 0, rows_excluded = 0;
    std::vector<uint32_t> wanted;
    for (uint32_t i = 0; i < part->file->batches(); i++) {
      const auto places = part->segments.of_batch(i);
      if (std::all_of(places.begin(), places.end(), [&](const auto& place) { return part->has(place); })) {
        in_cache++;
        continue;
      }
      if (segments_.excludes(part->file->zones(i).data())) {
        excluded++;
        for (const auto& place : places)
          if (!part->has(place)) rows_excluded += place.nrows;
        continue;
      }
      wanted.push_back(i);
    }
    sink().totals().change([&](TbQueryDone& totals) {
      totals.rows_in += rows_excluded;
      totals.file_batches += part->file->batches();
      totals.file_batches_excluded += excluded;
      totals.file_batches_cached += in_cache;
    });
    // Queue them for the threads.
    std::vector<Piece> waiting = pieces_of(part, wanted);
    for (Piece& piece : waiting) piece.number = pieces_++;
    sink().pieces_wait(static_cast<uint32_t>(waiting.size()));
    {
      std::lock_guard lock(mutex_);
      std::move(waiting.begin(), waiting.end(), std::back_inserter(waiting_));
    }
    start_jobs();
  } catch (const FileError& e) {
    throw DeviceError(TB_FALLBACK_VALUE, file_name(fd) + ": " + e.what());
  }
}

/* Of the segments that the store has not got. A piece makes one task or more, yet every thread shall have several.
 * Where its rows do not cost what all of the batch does, a batch is cut. */
std::vector<FileSource::Piece> FileSource::pieces_of(const std::shared_ptr<const FilePart>& part,
                                                     const std::vector<uint32_t>& batches) const {
  // How large is a piece?
  uint64_t rows = 0;
  for (const uint32_t batch : batches) rows += part->file->rows(batch);
  const uint64_t of_piece = std::min(part->task_rows, rows / (kPiecesOfThread * threads_));
  std::vector<Piece> pieces;
  Piece piece{part, {}, 0};
  uint64_t so_far = 0;
  const auto flush = [&] {
    if (!piece.rows.empty()) pieces.push_back(piece);
    piece.rows.clear();
    so_far = 0;
  };
  // Rows that follow others join them.
  const auto add = [&](uint32_t batch, RowRange range) {
    if (!piece.rows.empty() && piece.rows.back().batch == batch && piece.rows.back().range.end() == range.first)
      piece.rows.back().range.count += range.count;
    else
      piece.rows.push_back({batch, range});
    so_far += range.count;
    if (so_far >= of_piece) flush();
  };
  // Whole batches, or their missing segments.
  for (const uint32_t batch : batches) {
    if (!part->file->reads_rows_apart()) {
      add(batch, {0, part->file->rows(batch)});
      continue;
    }
    for (const FileSegments::Segment& place : part->segments.of_batch(batch))
      if (!part->has(place)) add(batch, {place.first_row, place.nrows});
  }
  flush();
  return pieces;
}

void FileSource::start_jobs() {
  unsigned count = 0;
  {
    std::lock_guard lock(mutex_);
    if (stopped_ || !sink().wants_input()) return;
    const auto wanted = static_cast<unsigned>(std::min<size_t>(waiting_.size() + jobs_, threads_));
    count = wanted > jobs_ ? wanted - jobs_ : 0;
    jobs_ += count;
  }
  for (unsigned posted = 0; posted < count; posted++) {
    try {
      workers_.post([this](unsigned) { run_job(); });
    } catch (...) {
      // stop() waits for jobs that run, and for no others.
      std::lock_guard lock(mutex_);
      jobs_ -= count - posted;
      if (jobs_ == 0) idle_.notify_all();
      throw;
    }
  }
}

/* One piece. Under the lock to the end: the destructor may run as soon as it is free. */
void FileSource::run_job() {
  // Take a piece.
  std::optional<Piece> piece;
  RowsPlace place;
  std::exception_ptr error;
  {
    std::lock_guard lock(mutex_);
    place.way = RowsPlace::Way::kLater;
    try {
      if (!waiting_.empty() && sink().wants_input())
        place = sink().begin_piece(waiting_.front().number, waiting_.front().count());
    } catch (...) {
      error = std::current_exception();
    }
    if (error || place.way != RowsPlace::Way::kLater) {
      piece = std::move(waiting_.front());
      waiting_.pop_front();
    }
  }
  // Read it, and report.
  if (piece) {
    const Stopwatch stopwatch;
    BatchesRead read;
    try {
      if (error) std::rethrow_exception(error);
      if (place.to)
        read_to(*piece, *place.to, read);
      else
        read_piece(*piece, read);
    } catch (...) {
      error = std::current_exception();
    }
    piece.reset();
    if (error) drop_waiting();
    read.us = stopwatch.microseconds();
    note(read);
    sink().piece_done(error);
  }
  std::lock_guard lock(mutex_);
  // The next piece, later.
  if (!waiting_.empty() && !stopped_ && sink().wants_input())
    workers_.post([this](unsigned) { run_job(); });
  else if (--jobs_ == 0)
    idle_.notify_all();
}

void FileSource::note(const BatchesRead& read) {
  const uint64_t drive_bytes = files_read_->drive_bytes.exchange(0);
  if (profile_) {
    const uint64_t now = monotonic_ns(), began = now - read.us * 1000;
    profile_->add_bytes(TB_SPAN_RATE_DRIVE, drive_bytes, began, now);
    profile_->add_bytes(TB_SPAN_RATE_PAGE_CACHE, read.bytes - std::min(drive_bytes, read.bytes), began, now);
  }
  sink().totals().change([&](TbQueryDone& totals) {
    totals.bytes_read += read.bytes;
    for (size_t i = 0; i < read.column_bytes.size(); i++) totals.column_bytes[i] += read.column_bytes[i];
    totals.drive_bytes += drive_bytes;
    totals.drive_us += files_read_->drive_us.exchange(0);
    totals.decode_us += read.us;
    totals.rows_in += read.rows_excluded + read.rows_streamed;
    totals.rows_passed += read.rows_streamed;
    totals.file_batches_excluded += read.excluded_by_bloom + read.excluded_by_pages;
    totals.file_batches_excluded_by_bloom += read.excluded_by_bloom;
    totals.file_batches_excluded_by_pages += read.excluded_by_pages;
    totals.file_pages += read.left_out.of_pages;
    totals.file_pages_excluded += read.left_out.pages;
  });
}

void FileSource::drop_waiting() {
  std::lock_guard lock(mutex_);
  waiting_.clear();
}

void FileSource::stop() {
  stopped_ = true;
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return jobs_ == 0; });
}

/* By column; null: it has none. */
std::vector<std::shared_ptr<TextDictionary>> FileSource::text_dictionaries(const FilePart& part) {
  std::vector<std::shared_ptr<TextDictionary>> dictionaries(program_.source_columns());
  std::lock_guard lock(mutex_);
  dictionaries_.resize(dictionaries.size());
  for (size_t i = 0; i < dictionaries.size(); i++) {
    if (!tb_type_is_text(program_.columns()[i].type)) continue;
    if (part.stored.table) {
      dictionaries[i] = part.stored.table->dictionary((*part.stored.columns)[i]);
    } else {
      if (!dictionaries_[i]) dictionaries_[i] = std::make_shared<TextDictionary>();
      dictionaries[i] = dictionaries_[i];
    }
  }
  return dictionaries;
}

/* What the file's indexes tell is read here, by the pool's threads, and only of batches that are to be read. */
void FileSource::read_piece(const Piece& piece, BatchesRead& read) {
  const FilePart& part = *piece.part;
  SegmentTasks tasks(part, program_, piece.number, sink());
  for (const Piece::Rows& some : piece.rows) {
    try {
      const RowRanges rows = wanted_rows(part, some, read);
      // What an index of another version said does not count.
      part.file->check_unchanged();
      if (!rows.empty()) read_segments(part, some.batch, rows, tasks, read);
    } catch (const FileError& e) {
      throw DeviceError(TB_FALLBACK_VALUE, part.name + ", batch " + std::to_string(some.batch) + ": " + e.what());
    }
  }
  tasks.flush();
  sink().piece_ends(piece.number, tasks.tasks());
}

/* Nothing is kept, and no row is left out. */
void FileSource::read_to(const Piece& piece, ReadRows& to, BatchesRead& read) {
  for (const Piece::Rows& some : piece.rows) {
    try {
      read_rows_to(*piece.part, some, to, read);
    } catch (const FileError& e) {
      throw DeviceError(TB_FALLBACK_VALUE,
                        piece.part->name + ", batch " + std::to_string(some.batch) + ": " + e.what());
    }
  }
}

void FileSource::read_rows_to(const FilePart& part, const Piece::Rows& rows, ReadRows& to, BatchesRead& read) {
  const auto reader = part.file->read_rows(rows.batch, {rows.range});
  std::vector<ColumnRows> columns = take_rows(part);
  for (const FileSegments::Segment& place : part.segments.of_batch(rows.batch)) {
    if (!any_row({rows.range}, place.first_row, uint64_t{place.first_row} + place.nrows)) continue;
    if (stopped_) throw DeviceError(TB_FALLBACK_NONE, "query was closed");
    for (size_t i = 0; i < columns.size(); i++) columns[i].write_to(to.room(i, place.nrows));
    {
      const Span span(profile_, TB_SPAN_READ, place.number);
      reader->read(place.nrows, columns);
      part.file->check_unchanged();
    }
    const Span span(profile_, TB_SPAN_DECODE, place.number);
    to.add(columns, place.nrows);
    read.rows_streamed += place.nrows;
  }
  read.add_bytes(*reader, program_.source_columns());
  std::lock_guard lock(part.mutex);
  part.idle_rows.push_back(std::move(columns));
}

/* Whole segments, without those that the store has: all rows of the others. */
RowRanges FileSource::wanted_rows(const FilePart& part, const Piece::Rows& of, BatchesRead& read) const {
  RowRanges rows, wanted;
  const auto& equalities = segments_.equalities();
  const bool by_bloom = std::any_of(equalities.begin(), equalities.end(), [&](const ColumnEquality& equality) {
    return part.file->lacks(of.batch, equality);
  });
  if (!by_bloom) rows = rows_of_pages(*part.file, of.batch, segments_);
  for (const FileSegments::Segment& place : part.segments.of_batch(of.batch)) {
    const uint64_t end = uint64_t{place.first_row} + place.nrows;
    if (part.has(place) || !any_row({of.range}, place.first_row, end)) continue;
    if (any_row(rows, place.first_row, end))
      append_rows(wanted, {place.first_row, place.nrows});
    else
      read.rows_excluded += place.nrows;
  }
  if (by_bloom)
    read.excluded_by_bloom++;
  else if (wanted.empty())
    read.excluded_by_pages++;
  return wanted;
}

/* For all columns, with memory of a job before where there was one. */
std::vector<ColumnRows> FileSource::take_rows(const FilePart& part) {
  {
    std::lock_guard lock(part.mutex);
    if (!part.idle_rows.empty()) {
      std::vector<ColumnRows> columns = std::move(part.idle_rows.back());
      part.idle_rows.pop_back();
      return columns;
    }
  }
  std::vector<ColumnRows> columns;
  const auto dictionaries = text_dictionaries(part);
  for (size_t i = 0; i < dictionaries.size(); i++) columns.emplace_back(program_.columns()[i].type, dictionaries[i]);
  return columns;
}

void FileSource::read_segments(const FilePart& part, uint32_t batch, const RowRanges& rows, SegmentTasks& tasks,
                               BatchesRead& read) {
  const auto reader = part.file->read_rows(batch, rows);
  const std::vector<StoredColumn::Zone> zones = part.file->zones(batch);
  tasks.begin_batch(*reader);
  std::vector<ColumnRows> columns = take_rows(part);
  for (const FileSegments::Segment& place : part.segments.of_batch(batch)) {
    if (!any_row(rows, place.first_row, uint64_t{place.first_row} + place.nrows)) continue;
    if (stopped_) throw DeviceError(TB_FALLBACK_NONE, "query was closed");
    tasks.begin_segment(place, columns);
    {
      const Span span(profile_, TB_SPAN_READ, place.number);
      reader->read(place.nrows, columns);
      part.file->check_unchanged();
    }
    const Span span(profile_, TB_SPAN_DECODE, place.number);
    tasks.add(place, keep(part, place, columns, zones, tasks));
  }
  const BatchReader::LeftOut left_out = reader->left_out();
  read.left_out = {read.left_out.pages + left_out.pages, read.left_out.of_pages + left_out.of_pages,
                   read.left_out.bytes + left_out.bytes};
  read.add_bytes(*reader, program_.source_columns());
  std::lock_guard lock(part.mutex);
  part.idle_rows.push_back(std::move(columns));
}

/* The rows as a segment, which enters the store where there is one. */
std::shared_ptr<const Segment> FileSource::keep(const FilePart& part, const FileSegments::Segment& place,
                                                std::vector<ColumnRows>& columns,
                                                const std::vector<StoredColumn::Zone>& zones, SegmentTasks& tasks) {
  DecodedBlocks decoded;
  decoded.first_block = segment_first_block(place.number);
  decoded.map_lsn = kFileLsn;
  const uint32_t blocks = segment_blocks(place.number);
  for (uint32_t i = 0; i < blocks; i++) {
    decoded.blocks |= BlockMask{1} << i;
    decoded.page_lsn[i] = kFileLsn;
    decoded.first_row[i] = std::min(i * kFileBlockRows, place.nrows);
    decoded.row_count[i] = std::min(kFileBlockRows, place.nrows - decoded.first_row[i]);
  }
  for (size_t i = 0; i < columns.size(); i++) {
    const TbColumn& column = program_.columns()[i];
    // Texts that come without a dictionary are looked up in one only to be kept.
    const bool is_coded = columns[i].is_coded();
    decoded.columns.push_back({(*part.stored.columns)[i], column.type, (column.flags & TB_COL_NULLABLE) != 0,
                               columns[i].data(), is_coded || part.stored.table ? columns[i].dictionary() : nullptr,
                               is_coded, tasks.made_column(i, columns[i], zones[i])});
  }
  std::shared_ptr<Segment> segment = merge_segment(nullptr, decoded);
  if (part.stored.table) store_.add(*part.stored.table, decoded, segment);
  return segment;
}

}  // namespace turbine
