/*
 * cuda_window_run.cc - one pass of window functions on a GPU.
 *
 * Owns what the pass has on the device. Scans run one after the other on the sort's stream, so that their
 * arguments and totals need one place.
 */
#include "engine/device/cuda/window/cuda_window_run.h"

#include <algorithm>

namespace turbine::cuda {
namespace {

static_assert(kMostDeviceWindowCalls == TB_WINDOW_MOST_CALLS);
static_assert(kMostDeviceWindowConditions == TB_WINDOW_MOST_CONDITIONS);
static_assert(kMostPackedFields == TB_KEY_MOST_FIELDS && kMostDeviceWindowKeys == TB_KEY_MOST_KEYS);
static_assert(TB_KEY_THREADS == TB_SCAN_THREADS);
static_assert(static_cast<uint32_t>(PackedField::Part::kNotNull) == TB_KEY_NOT_NULL &&
              static_cast<uint32_t>(PackedField::Part::kHigh) == TB_KEY_HIGH &&
              static_cast<uint32_t>(PackedField::Part::kLow) == TB_KEY_LOW);

constexpr unsigned kEmitBlocks = 8;  // a multiprocessor

template <class T>
T* pointer(const Block& block) {
  return block ? reinterpret_cast<T*>(block.device()) : nullptr;
}

}  // namespace

CudaWindowRun::CudaWindowRun(CudaContext& context, const WindowRunKernels& kernels, const Driver& driver,
                             MemoryAccount& account, const DeviceRows::Part* rows, const WindowInput& input,
                             ParallelWork& work)
    : context_(context),
      kernels_(kernels),
      driver_(driver),
      account_(account),
      rows_(rows),
      input_(input),
      nrows_(static_cast<uint32_t>(input.keys.count)),
      sort_(context, kernels.sort, driver, account, input.keys, work),
      arguments_(context, driver, account, sort_.stream()),
      nstay_(input.keys.count) {}

/* Blocks go back while nothing uses them. */
CudaWindowRun::~CudaWindowRun() {
  context_.enter_to_release();
  driver_.note(driver_.stream_synchronize(sort_.stream()));
}

Block CudaWindowRun::array(uint64_t count, uint64_t width) const {
  return context_.device_memory().allocate(driver_, std::max<uint64_t>(count * width, 1), &account_);
}

CudaWindowRun::Column CudaWindowRun::column(uint64_t count, uint64_t width, bool nullable) const {
  Column column;
  column.values = array(count, width);
  if (nullable) column.valid = array(count, 1);
  return column;
}

TbWindowColumn CudaWindowRun::Column::on_device(uint64_t width) const {
  return {pointer<uint8_t>(values), pointer<uint8_t>(valid), width};
}

TbWindowColumn CudaWindowRun::argument(uint32_t column) const {
  if (column == TB_NONE) return {};
  return rows_ ? row_column(input_.columns[column]) : columns_[column].on_device(input_.columns[column].width);
}

/* Of rows that the device has. */
TbWindowColumn CudaWindowRun::row_column(const WindowColumn& column) const {
  const TbColumnData& data = rows_->columns[column.column];
  return {static_cast<const uint8_t*>(data.values), column.nullable ? data.valid : nullptr, column.width};
}

TbWindowOrder CudaWindowRun::order() const {
  TbWindowOrder order{};
  order.rows = reinterpret_cast<const uint32_t*>(sort_.order());
  order.agree = reinterpret_cast<const uint8_t*>(sort_.agree());
  order.nrows = nrows_;
  order.npartition = input_.pass.npartition;
  order.nkeys = input_.keys.nkeys;
  return order;
}

unsigned CudaWindowRun::blocks() const {
  return std::min((nrows_ + TB_SCAN_THREADS - 1) / TB_SCAN_THREADS,
                  context_.properties().multiprocessors * kEmitBlocks);
}

void CudaWindowRun::compute(ParallelWork& work) {
  if (rows_) {
    pack_keys();
    sort_.count();
  } else {
    sort_.send();
    send_columns(work);
  }
  sort_.sort();
  find_bounds();
  emit();
  if (!input_.conditions.empty()) keep_passing();
}

void CudaWindowRun::pack_keys() {
  TbKeyPack& pack = arguments_.host().pack;
  pack = {};
  for (const PackedField& from : input_.fields) {
    TbKeyField& to = pack.fields[pack.nfields++];
    const TbColumnData& data = rows_->columns[from.column];
    to.column = {static_cast<const uint8_t*>(data.values), from.nullable ? data.valid : nullptr, from.type, 0};
    to.least = from.least;
    to.greatest = from.greatest;
    to.part = static_cast<uint32_t>(from.part);
    to.shift = 128 - from.offset - from.bits;
    to.descending = from.descending;
    to.nulls_first = from.nulls_first;
  }
  pack.nwords = input_.keys.words;
  for (unsigned w = 0; w < pack.nwords; w++) pack.words[w] = reinterpret_cast<uint32_t*>(sort_.word(w));
  pack.nrows = nrows_;
  arguments_.send(&pack, sizeof pack);
  launch(kernels_.keys.pack, blocks(), &pack);
}

void CudaWindowRun::send_columns(ParallelWork& work) {
  for (const WindowColumn& column : input_.columns) {
    const Column& to = columns_.emplace_back(this->column(nrows_, column.width, column.nullable));
    PinnedStaging staging(context_, driver_, sort_.stream(), nrows_, column.width + 1, work);
    const StreamWait wait(driver_, sort_.stream());
    const uint64_t valid_at = staging.piece_items() * column.width;
    staging.send(
        [&](uint64_t first, uint64_t n, uint8_t* memory) { column.pack(first, n, memory, memory + valid_at); },
        [&](uint64_t first, uint64_t n, uint8_t* memory) {
          driver_.check(driver_.memcpy_htod_async(to.values.device() + first * column.width, memory, n * column.width,
                                                  sort_.stream()));
          if (column.nullable)
            driver_.check(driver_.memcpy_htod_async(to.valid.device() + first, memory + valid_at, n, sort_.stream()));
        });
  }
}

/* Waits, since the next scan's arguments take this one's place. */
void CudaWindowRun::scan(TbWindowScan& scan) {
  if (!tiles_) tiles_ = array((nrows_ + TB_SCAN_TILE - 1) / TB_SCAN_TILE, sizeof(TbWindowTotal));
  scan.order = order();
  scan.tiles = pointer<TbWindowTotal>(tiles_);
  scan.ntiles = (nrows_ + TB_SCAN_TILE - 1) / TB_SCAN_TILE;
  arguments_.host().scan = scan;
  arguments_.send(&arguments_.host().scan, sizeof scan);
  launch(kernels_.window.totals, scan.ntiles, &arguments_.host().scan);
  launch(kernels_.window.before, 1, &arguments_.host().scan);
  launch(kernels_.window.scan, scan.ntiles, &arguments_.host().scan);
  driver_.check(driver_.stream_synchronize(sort_.stream()));
}

void CudaWindowRun::find_bounds() {
  bounds_ = array(nrows_, sizeof(uint64_t));
  partition_starts_ = array(uint64_t{nrows_} + 1, sizeof(uint32_t));
  peer_starts_ = array(uint64_t{nrows_} + 1, sizeof(uint32_t));
  TbWindowScan bounds{};
  bounds.kind = TB_SCAN_BOUNDS;
  bounds.bounds = pointer<uint64_t>(bounds_);
  bounds.partition_starts = pointer<uint32_t>(partition_starts_);
  bounds.peer_starts = pointer<uint32_t>(peer_starts_);
  scan(bounds);
}

/* Functions of one argument and filter share what a scan has found. */
const CudaWindowRun::Scanned& CudaWindowRun::scanned(const TbWindowFunction& function) {
  uint32_t kind = TB_SCAN_SUM;
  if (function.kind == TB_WINDOW_MIN) kind = TB_SCAN_LEAST;
  if (function.kind == TB_WINDOW_MAX) kind = TB_SCAN_GREATEST;
  const bool sums = function.kind == TB_WINDOW_SUM;
  for (const auto& known : scanned_)
    if (known->arg == function.arg && known->filter == function.filter && known->kind == kind && (known->sums || !sums))
      return *known;
  Scanned& found = *scanned_.emplace_back(
      std::make_unique<Scanned>(Scanned{function.arg, function.filter, kind, {}, {}, {}}));
  found.counts = array(nrows_, sizeof(uint32_t));
  if (sums) found.sums = array(nrows_, sizeof(__int128));
  if (kind != TB_SCAN_SUM) found.best = array(nrows_, sizeof(int64_t));
  TbWindowScan what{};
  what.kind = kind;
  what.value = argument(function.arg);
  what.filter = argument(function.filter);
  what.sums = pointer<__int128>(found.sums);
  what.best = pointer<int64_t>(found.best);
  what.counts = pointer<uint32_t>(found.counts);
  scan(what);
  return found;
}

TbWindowFunctionCall CudaWindowRun::call(size_t c) {
  const WindowCall& from = input_.calls[c];
  TbWindowFunctionCall call{};
  call.function = from.function;
  call.width = from.width;
  call.values = pointer<uint8_t>(values_[c].values);
  call.valid = pointer<uint8_t>(values_[c].valid);
  const uint32_t kind = from.function.kind;
  if (kind < TB_WINDOW_COUNT) {
    call.arg = argument(from.function.arg);
    call.other = argument(from.function.other);
  } else if (kind != TB_WINDOW_COUNT || from.function.filter != TB_NONE ||
             (from.function.arg != TB_NONE && input_.columns[from.function.arg].nullable)) {
    const Scanned& found = scanned(from.function);
    call.sums = pointer<const __int128>(found.sums);
    call.best = pointer<const int64_t>(found.best);
    call.counts = pointer<const uint32_t>(found.counts);
  }
  return call;
}

void CudaWindowRun::emit() {
  TbWindowEmit& emit = arguments_.host().emit;
  emit = {};
  for (const WindowCall& call : input_.calls) values_.push_back(column(nrows_, call.width, call.nullable));
  for (size_t c = 0; c < input_.calls.size(); c++) emit.calls[c] = call(c);
  emit.ncalls = static_cast<uint32_t>(input_.calls.size());
  emit.nconditions = static_cast<uint32_t>(input_.conditions.size());
  std::copy(input_.conditions.begin(), input_.conditions.end(), emit.conditions);
  if (!input_.conditions.empty()) passing_ = array(nrows_, 1);
  emit.order = order();
  emit.pass = input_.pass;
  emit.bounds = pointer<const uint64_t>(bounds_);
  emit.partition_starts = pointer<const uint32_t>(partition_starts_);
  emit.peer_starts = pointer<const uint32_t>(peer_starts_);
  emit.passing = pointer<uint8_t>(passing_);
  emit.by_place = by_place();
  arguments_.send(&emit, sizeof emit);
  launch(kernels_.window.emit, blocks(), &emit);
  arguments_.fetch(&emit.overflow, sizeof emit.overflow);
  driver_.check(driver_.stream_synchronize(sort_.stream()));
  if (emit.overflow) throw DeviceError(TB_FALLBACK_VALUE, "a window's sum does not fit its type");
  scanned_.clear();
  bounds_.reset();
  partition_starts_.reset();
  peer_starts_.reset();
  columns_.clear();
}

/* Moves the values of places that pass together. */
void CudaWindowRun::keep_passing() {
  counts_ = array(nrows_, sizeof(uint32_t));
  TbWindowScan passing{};
  passing.kind = TB_SCAN_PASSING;
  passing.passing = pointer<const uint8_t>(passing_);
  passing.counts = pointer<uint32_t>(counts_);
  scan(passing);
  uint32_t& count = arguments_.host().take.ncalls;  // its place, until the count is known
  driver_.check(driver_.memcpy_dtoh_async(&count, counts_.device() + (uint64_t{nrows_} - 1) * sizeof count,
                                          sizeof count, sort_.stream()));
  driver_.check(driver_.stream_synchronize(sort_.stream()));
  nstay_ = count;
  if (nstay_ == 0) return;

  TbWindowTake& take = arguments_.host().take;
  take = {};
  stay_ = array(nstay_, sizeof(uint32_t));
  take.order = order();
  take.passing = pointer<const uint8_t>(passing_);
  take.counts = pointer<const uint32_t>(counts_);
  take.rows = pointer<uint32_t>(stay_);
  take.ncalls = static_cast<uint32_t>(input_.calls.size());
  std::vector<Column> kept;
  for (size_t c = 0; c < input_.calls.size(); c++) {
    const Column& to = kept.emplace_back(column(nstay_, input_.calls[c].width, input_.calls[c].nullable));
    take.from[c] = values_[c].on_device(input_.calls[c].width);
    take.values[c] = pointer<uint8_t>(to.values);
    take.valid[c] = pointer<uint8_t>(to.valid);
  }
  arguments_.send(&take, sizeof take);
  launch(kernels_.window.take, blocks(), &take);
  driver_.check(driver_.stream_synchronize(sort_.stream()));
  values_ = std::move(kept);
}

void CudaWindowRun::fetch_order(const TakeSortedRows& take, ParallelWork& work) {
  if (input_.conditions.empty()) return sort_.fetch(take);
  if (nstay_ == 0) return;
  PinnedStaging staging(context_, driver_, sort_.stream(), nstay_, sizeof(uint32_t), work);
  const StreamWait wait(driver_, sort_.stream());
  staging.fetch(
      [&](uint64_t first, uint64_t n, uint8_t* memory) {
        driver_.check(driver_.memcpy_dtoh_async(memory, stay_.device() + first * sizeof(uint32_t), n * sizeof(uint32_t),
                                                sort_.stream()));
      },
      [&](uint64_t first, uint64_t n, uint8_t* memory) {
        take(first, n, reinterpret_cast<const uint32_t*>(memory), nullptr);
      });
}

void CudaWindowRun::fetch_values(size_t call, uint64_t count, const TakeValues& take, ParallelWork& work) {
  fetch(values_[call].on_device(input_.calls[call].width), count, take, work);
}

/* By number, or gathered in the order of those that stay. */
void CudaWindowRun::fetch_column(const WindowColumn& column, uint64_t count, const TakeValues& take,
                                 ParallelWork& work) {
  const TbWindowColumn from = row_column(column);
  const auto* order = stay_ ? pointer<const uint32_t>(stay_) : reinterpret_cast<const uint32_t*>(sort_.order());
  if (!by_place() || !order || count == 0) return fetch(from, count, take, work);
  const Column gathered = this->column(count, column.width, column.nullable);
  const StreamWait wait(driver_, sort_.stream());
  TbGather& gather = arguments_.host().gather;
  gather = {from.values,
            from.valid,
            order,
            pointer<uint8_t>(gathered.values),
            pointer<uint8_t>(gathered.valid),
            static_cast<uint32_t>(column.width),
            static_cast<uint32_t>(count)};
  arguments_.send(&gather, sizeof gather);
  launch(kernels_.keys.gather, blocks(), &gather);
  driver_.check(driver_.stream_synchronize(sort_.stream()));
  fetch(gathered.on_device(column.width), count, take, work);
}

void CudaWindowRun::fetch(const TbWindowColumn& from, uint64_t count, const TakeValues& take, ParallelWork& work) {
  if (count == 0) return;
  PinnedStaging staging(context_, driver_, sort_.stream(), count, from.width + 1, work);
  const StreamWait wait(driver_, sort_.stream());
  const auto values = reinterpret_cast<DevicePtr>(from.values), valid = reinterpret_cast<DevicePtr>(from.valid);
  const uint64_t width = from.width, valid_at = staging.piece_items() * width;
  staging.fetch(
      [&](uint64_t first, uint64_t n, uint8_t* memory) {
        driver_.check(driver_.memcpy_dtoh_async(memory, values + first * width, n * width, sort_.stream()));
        if (valid) driver_.check(driver_.memcpy_dtoh_async(memory + valid_at, valid + first, n, sort_.stream()));
      },
      [&](uint64_t first, uint64_t n, uint8_t* memory) {
        take(first, n, memory, valid ? memory + valid_at : nullptr);
      });
}

}  // namespace turbine::cuda
