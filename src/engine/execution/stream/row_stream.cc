/*
 * row_stream.cc - see row_stream.h.
 *
 * Owns pieces that wait and batches in the making. Called by device threads as tasks end, by threads of sources, and by
 * the session's thread. Nothing that a write throws may leave its thread: it fails the query.
 */
#include "engine/execution/stream/row_stream.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "engine/wire/device_error.h"
#include "engine/wire/failure.h"
#include "engine/wire/protocol_error.h"

namespace turbine {
namespace {

/* Steps of a thread that may wait for those before them: with more, sources pause. */
constexpr size_t kWaitingOfThread = 4;
/* Batches' memory that waits to be used again: what the caller has given back while others are made. */
constexpr size_t kIdleBatches = 1;

StreamId random_id() {
  StreamId id{};
  size_t have = 0;
  while (have < id.size()) {
    const ssize_t n = getrandom(id.data() + have, id.size() - have, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw std::runtime_error(std::string("getrandom: ") + strerror(errno));
    have += static_cast<size_t>(n);
  }
  return id;
}

}  // namespace

RowStream::RowStream(StreamRequest request, const Needs& needs)
    : request_(std::move(request)),
      needs_(needs),
      pool_(std::make_shared<BatchPool<BatchMemory>>(
          request_.stream.batches + kIdleBatches,
          [ncolumns = request_.stream.ncolumns, &admission = needs.admission, device = needs.device] {
            return std::make_unique<BatchMemory>(ncolumns, admission, device);
          })),
      device_pool_(needs.device
                       ? std::make_shared<BatchPool<DeviceBatch>>(
                             request_.stream.batches + kIdleBatches,
                             [stream = request_.stream, &admission = needs.admission, device = needs.device] {
                               return std::make_unique<DeviceBatch>(stream.ncolumns, *device, stream.device, admission);
                             })
                       : nullptr),
      skip_(request_.stream.skip) {}

void RowStream::take(const TaskPlace& place, TaskRows rows) {
  Step step{std::move(rows), {}, 0};
  for (const StreamColumn& column : request_.columns)
    step.texts.push_back(text_bytes(step.rows.rows, column, 0, step.rows.rows.nrows));
  Writes writes;
  {
    std::lock_guard lock(mutex_);
    if (ended_) return;
    Piece& piece = pieces_[place.piece];
    if (place.piece < next_piece_ || place.step < piece.next ||
        !piece.steps.emplace(place.step, std::move(step)).second)
      throw DeviceError(TB_FALLBACK_PROTOCOL, "two tasks of a stream have one place");
    if (place.alone) piece.count = 1;
    waiting_++;
    writes = place_all();
  }
  start(std::move(writes), true);
}

void RowStream::piece_ends(uint64_t piece, uint32_t steps) {
  Writes writes;
  {
    std::lock_guard lock(mutex_);
    if (ended_) return;
    pieces_[piece].count = steps;
    writes = place_all();
  }
  start(std::move(writes), true);
}

/* Rows of one piece on their way from the file to the places that it has. */
class RowStream::PieceRows final : public ReadRows {
 public:
  PieceRows(RowStream& stream, Writes writes) : stream_(stream), writes_(std::move(writes)) {}

  uint8_t* room(size_t column, uint32_t nrows) override {
    const auto& sources = stream_.request_.source_columns;
    const auto found = std::find(sources.begin(), sources.end(), column);
    if (found == sources.end() || now_ == writes_.size()) return nullptr;
    // A column that is wanted twice is copied.
    if (std::find(std::next(found), sources.end(), column) != sources.end()) return nullptr;
    const Write& write = writes_[now_];
    if (nrows > write.run.count - done_) return nullptr;
    return write.batch->content.room(static_cast<uint32_t>(found - sources.begin()), write.run.row + done_, nrows);
  }

  void add(const std::vector<ColumnRows>& columns, uint32_t nrows) override {
    const StreamRequest& request = stream_.request_;
    ResultBatch rows;
    rows.nrows = nrows;
    for (size_t i = 0; i < request.columns.size(); i++) {
      const StreamColumn& column = request.columns[i];
      const TbColumnData data = columns[request.source_columns[i]].data();
      if (rows.columns.size() <= column.output) rows.columns.resize(column.output + 1);
      rows.columns[column.output] = {static_cast<const uint8_t*>(data.values), tb_type_width(column.type), data.valid,
                                     1};
    }
    for (uint64_t at = 0; at < nrows;) {
      Write& write = writes_[now_];
      const uint64_t count = std::min<uint64_t>(nrows - at, write.run.count - done_);
      StreamBatch::Run run = write.run;
      run.from.rows = rows;
      run.first = at;
      run.count = count;
      run.row += done_;
      write.batch->content.write(run);
      at += count;
      done_ += count;
      if (done_ < write.run.count) continue;
      stream_.run_ends(*write.batch);
      now_++;
      done_ = 0;
    }
  }

 private:
  RowStream& stream_;
  Writes writes_;
  size_t now_ = 0;
  uint64_t done_ = 0;  // rows of the run at hand
};

RowsPlace RowStream::begin_piece(uint64_t piece, uint64_t rows) {
  std::lock_guard lock(mutex_);
  const TbStream& stream = request_.stream;
  // Would it be more than two batches, or is it behind pieces that have no place yet?
  if (ended_ || request_.source_columns.empty() || rows > stream.rows || skip_ > 0 || piece != next_piece_ ||
      pieces_.contains(piece))
    return {};
  const uint64_t left = open_ ? stream.rows - open_->content.rows() : 0;
  if (rows > left && ahead_ == stream.batches) {
    piece_waits_ = true;
    wants_input_ = false;
    return {RowsPlace::Way::kLater, nullptr};
  }
  Writes writes;
  place_rows(rows, writes);
  next_piece_++;
  return {RowsPlace::Way::kBatches, std::make_unique<PieceRows>(*this, std::move(writes))};
}

/* There is a batch for all of them. */
void RowStream::place_rows(uint64_t rows, Writes& writes) {
  const std::vector<uint64_t> texts(request_.columns.size());
  for (uint64_t done = 0; done < rows;) {
    if (!open_) open_batch();
    StreamBatch& batch = open_->content;
    const uint64_t count = std::min({rows - done, request_.stream.rows - batch.rows(), batch.rows_to_boundary()});
    writes.push_back({open_, batch.place({}, done, count, texts)});
    open_->writes++;
    done += count;
    if (batch.rows() == request_.stream.rows) close_batch(*open_);
  }
}

void RowStream::run_ends(Batch& batch) {
  bool is_last;
  {
    std::lock_guard lock(mutex_);
    is_last = --batch.writes == 0 && batch.is_closed;
  }
  if (is_last) complete(batch);
}

/* All that may be placed now. */
RowStream::Writes RowStream::place_all() {
  Writes writes;
  while (true) {
    const auto piece = pieces_.find(next_piece_);
    if (piece == pieces_.end()) break;
    Piece& now = piece->second;
    if (now.count && now.next == *now.count) {
      pieces_.erase(piece);
      next_piece_++;
      continue;
    }
    const auto step = now.steps.find(now.next);
    if (step == now.steps.end() || !place_step(step->second, writes)) break;
    now.steps.erase(step);
    now.next++;
    waiting_--;
  }
  // The last batch may be smaller.
  if (input_ended_ && waiting_ == 0 && open_) close_batch(*open_);
  const bool is_stalled = !open_ && ahead_ == request_.stream.batches && waiting_ > 0;
  const bool wanted_before = wants_input_;
  wants_input_ = !is_stalled && !piece_waits_ && waiting_ < kWaitingOfThread * std::max(needs_.workers.size(), 1u);
  room_opened_ = room_opened_ || (!wanted_before && wants_input_);
  return writes;
}

/* False: the rest has to wait for the backend. */
bool RowStream::place_step(Step& step, Writes& writes) {
  const uint64_t nrows = step.rows.rows.nrows;
  const uint64_t skipped = std::min(skip_, nrows - step.done);
  skip_ -= skipped;
  step.done += skipped;
  while (step.done < nrows) {
    if (!open_ && !open_batch()) return false;
    StreamBatch& batch = open_->content;
    const uint64_t count = std::min({nrows - step.done, request_.stream.rows - batch.rows(), batch.rows_to_boundary()});
    std::vector<uint64_t> texts = step.texts;
    if (count < nrows)
      for (size_t i = 0; i < texts.size(); i++)
        texts[i] = text_bytes(step.rows.rows, request_.columns[i], step.done, count);
    writes.push_back({open_, batch.place(step.rows, step.done, count, texts)});
    open_->writes++;
    step.done += count;
    if (batch.rows() == request_.stream.rows) close_batch(*open_);
  }
  return true;
}

bool RowStream::open_batch() {
  if (ahead_ == request_.stream.batches) return false;
  auto batch = std::make_unique<Batch>(request_.columns, pool_->take());
  open_ = batch.get();
  batches_.emplace(next_batch_++, std::move(batch));
  ahead_++;
  return true;
}

void RowStream::close_batch(Batch& batch) {
  batch.is_closed = true;
  if (batch.writes == 0) to_complete_.push_back(&batch);
  open_ = nullptr;
}

/* Hands writes to the pool's threads; the first is `here`'s own, whose caches have its rows. */
void RowStream::start(Writes writes, bool here) {
  std::vector<Batch*> complete_now;
  bool has_room;
  {
    std::lock_guard lock(mutex_);
    complete_now.swap(to_complete_);
    has_room = std::exchange(room_opened_, false);
    jobs_ += static_cast<uint32_t>(writes.size() + complete_now.size());
  }
  size_t first = here && !writes.empty() ? 1 : 0;
  for (size_t i = first; i < writes.size(); i++)
    needs_.workers.post_first([this, write = std::move(writes[i])](unsigned) { run_write(write); });
  for (Batch* const batch : complete_now)
    needs_.workers.post_first([this, batch](unsigned) {
      complete(*batch);
      std::lock_guard lock(mutex_);
      if (--jobs_ == 0) idle_.notify_all();
    });
  if (has_room && on_room_) on_room_();
  if (first == 1) run_write(writes[0]);
}

/* Under the lock to the end: end() may return as soon as it is free. */
void RowStream::run_write(const Write& write) noexcept {
  bool is_last = false;
  try {
    write.batch->content.write(write.run);
    std::lock_guard lock(mutex_);
    is_last = --write.batch->writes == 0 && write.batch->is_closed;
  } catch (...) {
    fail_stream();
  }
  if (is_last) complete(*write.batch);
  std::lock_guard lock(mutex_);
  if (--jobs_ == 0) idle_.notify_all();
}

void RowStream::complete(Batch& batch) {
  try {
    batch.content.complete();
    if (device_pool_) move_to_device(batch);
    std::lock_guard lock(mutex_);
    batch.is_complete = true;
    post_complete();
  } catch (...) {
    fail_stream();
  }
}

/* Without room on the device the batch stays where it is: whoever takes it may still move it. */
void RowStream::move_to_device(Batch& batch) {
  try {
    auto moved = device_pool_->take();
    moved->fill(batch.content.shapes(), batch.content.rows(), *batch.content.memory());
    batch.on_device = std::move(moved);
    batch.content.drop_memory();
  } catch (const DeviceError&) {
  }
}

void RowStream::fail_stream() noexcept { needs_.report.fail(make_failure(std::current_exception())); }

/* In their order. */
void RowStream::post_complete() {
  while (!batches_.empty() && batches_.begin()->second->is_complete && !ended_) {
    const Batch& batch = *batches_.begin()->second;
    const StreamId id = random_id();
    const std::vector<uint8_t> described = batch.content.describe(id);
    needs_.streamed.add(id, {batch.content.rows(), batch.content.shapes(), batch.content.memory(), batch.on_device});
    posted_.push_back(id);
    posted_rows_ += batch.content.rows();
    needs_.report.post(TB_MSG_STREAM_BATCH, described);
    batches_.erase(batches_.begin());
  }
  if (input_ended_ && batches_.empty() && waiting_ == 0) needs_.report.wake();
}

void RowStream::batch_taken() {
  Writes writes;
  {
    std::lock_guard lock(mutex_);
    if (posted_.size() == taken_) throw ProtocolError("STREAM_TAKEN without a batch");
    taken_++;
    ahead_--;
    piece_waits_ = false;
    writes = place_all();
  }
  start(std::move(writes), false);
}

void RowStream::finish() {
  Writes writes;
  {
    std::lock_guard lock(mutex_);
    input_ended_ = true;
    writes = place_all();
  }
  start(std::move(writes), false);
}

bool RowStream::all_taken() {
  std::lock_guard lock(mutex_);
  return input_ended_ && waiting_ == 0 && batches_.empty() && taken_ == posted_.size();
}

uint64_t RowStream::rows() {
  std::lock_guard lock(mutex_);
  return posted_rows_;
}

void RowStream::end() {
  std::map<uint64_t, Piece> pieces;
  Batches batches;
  std::unique_lock lock(mutex_);
  ended_ = true;
  wants_input_ = false;
  idle_.wait(lock, [this] { return jobs_ == 0; });
  pieces.swap(pieces_);
  batches.swap(batches_);
  open_ = nullptr;
  lock.unlock();
  for (const StreamId& id : posted_) needs_.streamed.take(id);
  posted_.clear();
  pool_->close();
  if (device_pool_) device_pool_->close();
}

}  // namespace turbine
