/*
 * chunk_lane.cc - the steps of one chunk on the GPU: copies, kernels, outcome.
 *
 * Owns a lane's memory, streams and events. Called by the query's worker; must never
 * wait for the device.
 */
#include "engine/device/cuda/query/chunk_lane.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>

#include "engine/device/cuda/query/row_id_order.h"
#include "engine/memory/alignment.h"

namespace turbine::cuda {

namespace {

constexpr unsigned kThreadsPerBlock = TB_BLOCK_THREADS;
constexpr unsigned kBlocksPerMultiprocessor = 8;  // 2,048 threads: all that one holds
constexpr unsigned kWarp = 32;

uint64_t append_array(uint64_t& size, uint64_t bytes) {
  const uint64_t offset = size;
  size += device_aligned(bytes);
  return offset;
}

template <class T>
T* device_pointer(DevicePtr base, uint64_t offset = 0) {
  return reinterpret_cast<T*>(base + offset);
}

uint64_t arguments_size(const Program& program) {
  return sizeof(TbDecodeArgs) + sizeof(TbPipelineArgs) + sizeof(TbExportOrder) +
         program.source_columns() * (sizeof(TbColumnData) + sizeof(TbEntryResults));
}

/* Entries of 4 bytes that a tuple takes. */
uint64_t tuple_entries(const Program& program) { return 1 + program.joins().size() + (program.grouped() ? 1 : 0); }

uint64_t places_size(const Program& program, uint64_t rows) {
  return stretches(rows) * program.source_columns() * sizeof(TbColumnPlace);
}

uint64_t tuples_size(const Program& program, uint64_t capacity) {
  return tuple_entries(program) * capacity * sizeof(uint32_t);
}

/* Pages, then the block of each if someone asks for tuple ids. */
uint64_t pages_size(const Program& program, uint64_t pages) {
  return pages * (uint64_t{TB_PAGE_SIZE} + (program.has_tids() ? sizeof(uint32_t) : 0));
}

constexpr uint64_t kMostTuples = uint64_t{1} << 32;  // group numbers and row numbers have 32 bits

/* Room for so many is made before a chunk's rows are probed in pieces: a small table whose rows have thousands of
 * matches each would be probed row by row, some 100 us each. */
constexpr uint64_t kRoomForTuples = uint64_t{4} << 20;

}  // namespace

LaneLayout lane_layout(const Program& program, uint64_t rows) {
  LaneLayout layout;
  for (const TbColumn& column : program.columns().first(program.source_columns())) {
    LaneLayout::Column arrays{};
    arrays.values = append_array(layout.size, rows * tb_type_width(column.type));
    if (column.flags & TB_COL_NULLABLE) arrays.valid = append_array(layout.size, rows);
    layout.columns.push_back(arrays);
  }
  if (program.sink() == TB_SINK_ROWS) {
    layout.rowids = append_array(layout.size, rows * sizeof(uint32_t));
    layout.out_rowids = append_array(layout.size, rows * sizeof(uint32_t));
  }
  layout.deferred = append_array(layout.size, rows * sizeof(uint32_t));
  return layout;
}

uint64_t lane_bytes_a_row(const Program& program) {
  uint64_t bytes = 0;
  if (groups_rows(program)) bytes += sizeof(uint32_t);
  if (probes(program)) bytes += tuples_size(program, 1);
  if (keeps_rows(program)) {
    constexpr uint64_t kMany = 1 << 20;
    bytes += LaneRows::device_bytes(kept_row_layout(program), kMany) / kMany;
  }
  return bytes;
}

uint64_t lane_device_bytes(const Program& program, uint64_t pages, uint64_t segment_rows) {
  const uint64_t array_rows = pages * TB_MAX_TUPLES_PER_PAGE, rows = std::max(array_rows, segment_rows);
  uint64_t bytes = MemoryPool::rounded(pages_size(program, pages)) +
                   MemoryPool::rounded(lane_layout(program, array_rows).size) +
                   MemoryPool::rounded(places_size(program, array_rows)) + MemoryPool::rounded(arguments_size(program));
  if (groups_rows(program)) bytes += MemoryPool::rounded(rows * sizeof(uint32_t));
  if (probes(program)) bytes += MemoryPool::rounded(tuples_size(program, rows));
  if (keeps_rows(program)) bytes += LaneRows::device_bytes(kept_row_layout(program), rows);
  return bytes;
}

QueryResources::QueryResources(std::shared_ptr<CudaContext> context_, std::shared_ptr<GpuCache> cache_,
                               std::shared_ptr<EmbeddedKernels> kernels_, std::shared_ptr<FaultInjector> faults,
                               std::shared_ptr<const Program> program_, std::shared_ptr<const std::string> params_,
                               std::shared_ptr<const CudaCode> code_, JoinTables join_tables, double estimated_rows,
                               uint64_t budget, QueryProfile* profile_)
    : context(std::move(context_)),
      cache(std::move(cache_)),
      kernels(std::move(kernels_)),
      driver(context->driver_with(std::move(faults))),
      program(std::move(program_)),
      params(std::move(params_)),
      code(std::move(code_)),
      account(budget),
      profile(profile_),
      stop(*context, driver),
      one_tuple(at_most_one_tuple(*program, join_tables)),
      copy(context->streams(), driver),
      compute(context->streams(), driver),
      out(context->streams(), driver) {
  // Constants.
  segment_query = cache->tier.begin_query();
  if (profile) stream_profile.emplace(driver, *profile, copy);
  device_params = context->device_memory().allocate(driver, params->size(), nullptr);
  driver.check(driver.memcpy_htod_async(device_params.device(), params->data(), params->size(), copy.get()));
  // Join tables, and marks of their rows.
  if (program->full_joins_end() > 0) matched.emplace(*context, driver, *program, join_tables, account, copy.get());
  if (EntryResults layout(*program); !layout.empty())
    entry_results.emplace(*context, driver, std::move(layout), copy.get());
  if (!join_tables.empty())
    tables.emplace(*context, driver, cache->join_tables, std::move(join_tables), account, copy.get());
  // What the sink fills.
  if (program->sink() == TB_SINK_AGGREGATE)
    groups.emplace(*context, kernels->groups, driver, *program, account, estimated_rows, compute.get());
  if (program->sink() == TB_SINK_PROJECT) rows.emplace(kept_row_layout(*program), projected_rows_limit());
  if (program->sink() == TB_SINK_BUILD) parts.emplace(*context, driver, kept_row_layout(*program), account);
  if (stream_profile) stream_profile->tables_sent(copy.get());
}

void QueryResources::prepare_layout(const ChunkLayout& layout) {
  if (layout_params.contains(&layout)) return;
  Block block = context->device_memory().allocate(driver, layout.params->size(), nullptr);
  driver.check(driver.memcpy_htod_async(block.device(), layout.params->data(), layout.params->size(), copy.get()));
  layout_params.emplace(&layout, std::move(block));
}

ChunkLane::ChunkLane(QueryResources& query)
    : query_(query),
      rows_sink_(query.rows_sink()),
      grouped_(query.program->grouped()),
      reserves_(reserves_memory(*query.program)),
      probes_(probes(*query.program)),
      ncolumns_(query.program->source_columns()),
      copy_begin_(query.driver),
      copy_end_(query.driver),
      decode_begin_(query.driver),
      decode_end_(query.driver),
      sink_begin_(query.driver),
      sink_end_(query.driver),
      ids_begin_(query.driver),
      ids_end_(query.driver) {
  const uint64_t size = arguments_size(*query_.program);
  arguments_ = query_.context->device_memory().allocate(query_.driver, size, &query_.account);
  host_arguments_ = query_.context->pinned_memory().allocate(query_.driver, size, nullptr);
  outcome_ = query_.context->pinned_memory().allocate(query_.driver, sizeof(Outcome), nullptr);
  if (query_.groups && query_.groups->takes_states())
    states_ = query_.context->pinned_memory().allocate(query_.driver, query_.groups->row_size(), nullptr);
  if (query_.rows) rows_.emplace(*query_.context, query_.driver, query_.rows->shape(), query_.account);
  if (query_.parts) rows_.emplace(*query_.context, query_.driver, query_.parts->shape(), query_.account);
}

void ChunkLane::ensure_memory(uint64_t bytes, uint64_t rows) {
  if (data_.size() < bytes) {
    data_.reset();
    data_ = query_.context->device_memory().allocate(query_.driver, bytes, &query_.account);
  }
  if (row_capacity_ < rows || !arrays_) ensure_arrays(rows);
  ensure_results(rows);
}

void ChunkLane::ensure_arrays(uint64_t rows) {
  MemoryPool& pool = query_.context->device_memory();
  arrays_.reset();
  places_.reset();
  host_places_.reset();
  row_capacity_ = 0;
  places_sent_ = false;
  layout_ = lane_layout(*query_.program, rows);
  arrays_ = pool.allocate(query_.driver, layout_.size, &query_.account);
  const uint64_t size = places_size(*query_.program, rows);
  places_ = pool.allocate(query_.driver, size, &query_.account);
  host_places_ = query_.context->pinned_memory().allocate(query_.driver, size, nullptr);
  auto* place = reinterpret_cast<TbColumnPlace*>(host_places_.host());
  for (uint64_t stretch = 0; stretch < stretches(rows); stretch++)
    for (size_t i = 0; i < ncolumns_; i++) {
      const TbColumn& column = query_.program->columns()[i];
      const LaneLayout::Column& at = layout_.columns[i];
      const DevicePtr valid = column.flags & TB_COL_NULLABLE ? arrays_.device() + at.valid : 0;
      *place++ = place_of_array(column.type, arrays_.device() + at.values, valid, stretch);
    }
  row_capacity_ = rows;
}

/* What is noted of each row of a chunk or task. */
void ChunkLane::ensure_results(uint64_t rows) {
  if (groups_rows(*query_.program) && group_row_capacity_ < rows) {
    group_of_row_.reset();
    group_row_capacity_ = 0;
    group_of_row_ = query_.context->device_memory().allocate(query_.driver, rows * sizeof(uint32_t), &query_.account);
    group_row_capacity_ = rows;
  }
  if (probes_ && tuple_capacity_ < rows) ensure_tuples(rows);
}

void ChunkLane::ensure_tuples(uint64_t capacity) {
  tuples_.reset();
  tuple_capacity_ = 0;
  tuples_ = query_.context->device_memory().allocate(query_.driver, tuples_size(*query_.program, capacity),
                                                     &query_.account);
  if (rows_) rows_->ensure(capacity);
  tuple_capacity_ = capacity;
}

void ChunkLane::prepare(const Task& task) {
  std::visit(EachKind{[&](const PagesInput& input) {
                        ensure_memory(pages_size(*query_.program, input.npages),
                                      uint64_t{input.npages} * TB_MAX_TUPLES_PER_PAGE);
                        if (input.layout) query_.prepare_layout(*input.layout);
                      },
                      [&](const ColumnsInput& input) {
                        if (input.chunk().ncolumns != ncolumns_)
                          throw DeviceError(TB_FALLBACK_PROTOCOL, "a chunk of columns does not match the program");
                        ensure_memory(input.chunk().bytes_size, input.chunk().nrows);
                      },
                      [&](const SegmentsInput& input) { prepare_segments(input); },
                      [&](const UnmatchedInput& input) { ensure_memory(0, input.nrows); }},
             task.input);
}

void ChunkLane::prepare_segments(const SegmentsInput& input) {
  if (!batch_) batch_.emplace(*query_.context, query_.driver, *query_.cache, query_.segment_query);
  batch_->prepare(input.morsel, input.staged, ncolumns_);
  try {
    ensure_results(batch_->nrows());
  } catch (...) {
    batch_->release();
    throw;
  }
}

TbColumnData* ChunkLane::column_arguments() const { return reinterpret_cast<TbColumnData*>(&host_arguments() + 1); }

/* Behind the columns. Empty: the program has none. */
std::span<TbEntryResults> ChunkLane::entry_results() const {
  if (!query_.entry_results) return {};
  return {reinterpret_cast<TbEntryResults*>(column_arguments() + ncolumns_), ncolumns_};
}

/* What a chunk of any kind has. */
void ChunkLane::fill_arguments() {
  static_assert(sizeof(Arguments) == sizeof(TbDecodeArgs) + sizeof(TbPipelineArgs) + sizeof(TbExportOrder));
  Arguments& arguments = host_arguments();
  arguments = {};
  TbPipelineArgs& pipeline = arguments.pipeline;
  pipeline.params = device_pointer<const TbParamBlock>(query_.device_params.device());
  pipeline.stop = query_.stop.address();
  if (groups_rows(*query_.program)) pipeline.group_of_row = device_pointer<uint32_t>(group_of_row_.device());
  if (query_.groups) pipeline.groups = device_pointer<TbGroupTable>(query_.groups->header());
  if (query_.tables) pipeline.tables = device_pointer<const TbJoinTable* const>(query_.tables->addresses());
  if (query_.entry_results) {
    const std::span<TbEntryResults> results = entry_results();
    std::fill(results.begin(), results.end(), TbEntryResults{});
    const uint64_t offset = sizeof(Arguments) + ncolumns_ * sizeof(TbColumnData);
    pipeline.entry_results = device_pointer<const TbEntryResults>(arguments_.device(), offset);
  }
  if (query_.matched) pipeline.matched = device_pointer<uint8_t* const>(query_.matched->arrays());
  if (rows_) pipeline.store = device_pointer<TbRowStore>(rows_->header());
  if (probes_) point_to_tuples();
}

/* What a task has whose columns are arrays of the lane: `npages` of them decoded, in `layout` or the program's. */
void ChunkLane::fill_arrays(uint32_t npages, uint64_t row_capacity, const ChunkLayout* layout) {
  // Where decoding puts columns and row ids.
  fill_arguments();
  Arguments& arguments = host_arguments();
  TbColumnData* columns = column_arguments();
  for (size_t i = 0; i < layout_.columns.size(); i++) {
    const bool nullable = query_.program->columns()[i].flags & TB_COL_NULLABLE;
    columns[i].values = device_pointer<void>(arrays_.device(), layout_.columns[i].values);
    columns[i].valid = nullable ? device_pointer<uint8_t>(arrays_.device(), layout_.columns[i].valid) : nullptr;
    columns[i].bytes = nullptr;
  }
  auto* rowids = rows_sink_ ? device_pointer<uint32_t>(arrays_.device(), layout_.rowids) : nullptr;

  // What is decoded.
  arguments.decode.pages = device_pointer<const uint8_t>(data_.device());
  arguments.decode.npages = npages;
  arguments.decode.capacity = static_cast<uint32_t>(row_capacity);
  arguments.decode.columns = device_pointer<TbColumnData>(arguments_.device(), sizeof(Arguments));
  arguments.decode.rowids = rowids;
  arguments.decode.deferred = device_pointer<uint32_t>(arrays_.device(), layout_.deferred);
  arguments.decode.params = layout ? device_pointer<const TbParamBlock>(query_.layout_params.at(layout).device())
                                   : arguments.pipeline.params;

  // What the pipeline reads, and where it leaves row ids.
  arguments.pipeline.places = device_pointer<const TbColumnPlace>(places_.device());
  arguments.pipeline.bytes = device_pointer<const uint8_t>(data_.device());
  arguments.pipeline.rowids = rowids;
  if (rows_sink_) arguments.pipeline.out_rowids = device_pointer<uint32_t>(arrays_.device(), layout_.out_rowids);
}

void ChunkLane::point_to_tuples() {
  TbPipelineArgs& pipeline = host_arguments().pipeline;
  const uint64_t arrays = 1 + query_.program->joins().size();
  pipeline.tuples = device_pointer<uint32_t>(tuples_.device());
  pipeline.tuple_capacity = tuple_capacity_;
  if (grouped_)
    pipeline.group_of_row = device_pointer<uint32_t>(tuples_.device(), arrays * tuple_capacity_ * sizeof(uint32_t));
}

void ChunkLane::upload(DevicePtr to, const void* from, uint64_t bytes) {
  if (bytes == 0) return;
  query_.driver.check(query_.driver.memcpy_htod_async(to, from, bytes, query_.copy.get()));
  bytes_to_device_ += bytes;
}

void ChunkLane::upload_arguments() {
  upload(arguments_.device(), host_arguments_.host(), arguments_size(*query_.program));
  if (task_.as<SegmentsInput>() || places_sent_) return;
  upload(places_.device(), host_places_.host(), places_size(*query_.program, row_capacity_));
  places_sent_ = true;
}

void ChunkLane::upload_pages(const PagesInput& input) {
  fill_arrays(input.npages, uint64_t{input.npages} * TB_MAX_TUPLES_PER_PAGE, input.layout);
  const uint64_t size = uint64_t{input.npages} * TB_PAGE_SIZE;
  if (input.blocks) host_arguments().decode.blocks = device_pointer<const uint32_t>(data_.device(), size);
  upload_arguments();
  upload(data_.device(), input.pages, size);
  if (input.blocks) upload(data_.device() + size, input.blocks->data(), input.blocks->size() * sizeof(uint32_t));
}

/* Columns are copied one by one: their places in the slot need not have the
 * alignment that kernels load with. */
void ChunkLane::upload_columns(const ColumnsInput& input) {
  const TbColumnsChunk& chunk = input.chunk();
  fill_arrays(0, chunk.nrows, nullptr);
  host_arguments().pipeline.nrows = chunk.nrows;
  upload_arguments();
  const auto columns = query_.program->columns();
  for (size_t i = 0; i < ncolumns_; i++) {
    upload(arrays_.device() + layout_.columns[i].values, input.data + chunk.columns[i].values,
           uint64_t{chunk.nrows} * tb_type_width(columns[i].type));
    if (!(columns[i].flags & TB_COL_NULLABLE)) continue;
    const DevicePtr valid = arrays_.device() + layout_.columns[i].valid;
    if (chunk.columns[i].valid) {
      upload(valid, input.data + chunk.columns[i].valid, chunk.nrows);
    } else {
      query_.driver.check(query_.driver.memset_d8_async(valid, 1, static_cast<size_t>(chunk.nrows), query_.copy.get()));
    }
  }
  upload(data_.device(), input.data + chunk.bytes_offset, chunk.bytes_size);
  if (rows_sink_) {
    row_numbers_.resize(chunk.nrows);
    std::iota(row_numbers_.begin(), row_numbers_.end(), 0u);
    upload(arrays_.device() + layout_.rowids, row_numbers_.data(), row_numbers_.size() * sizeof(uint32_t));
  }
}

void ChunkLane::upload_unmatched(const UnmatchedInput& input) {
  fill_arrays(0, input.nrows, nullptr);
  TbPipelineArgs& pipeline = host_arguments().pipeline;
  pipeline.nrows = input.nrows;
  pipeline.full_join = input.join + 1;
  pipeline.first_unmatched = input.first_row;
  upload_arguments();
  for (const LaneLayout::Column& column : layout_.columns)
    query_.driver.check(query_.driver.memset_d8_async(arrays_.device() + column.valid, 0,
                                                      static_cast<size_t>(input.nrows), query_.copy.get()));
}

void ChunkLane::upload_segments() {
  bytes_to_device_ += batch_->upload(query_.copy.get());
  fill_arguments();
  TbPipelineArgs& pipeline = host_arguments().pipeline;
  pipeline.nrows = batch_->nrows();
  pipeline.places = device_pointer<const TbColumnPlace>(batch_->places());
  pipeline.runs = device_pointer<const TbRowRun>(batch_->runs());
  pipeline.nruns = batch_->nruns();
  for (uint32_t i = 0; i < entry_results().size(); i++) {
    if (!query_.entry_results->has(i)) continue;
    const auto [dictionary, copy] = batch_->dictionary_of(i);
    query_.entry_results->find(i, dictionary, copy, &entry_results()[i]);
  }
  upload_arguments();
}

void ChunkLane::launch(Function kernel, uint64_t threads, DevicePtr arguments) const {
  const uint64_t most = uint64_t{query_.context->properties().multiprocessors} * kBlocksPerMultiprocessor;
  const uint64_t blocks = std::clamp<uint64_t>((threads + kThreadsPerBlock - 1) / kThreadsPerBlock, 1, most);
  void* parameters[] = {&arguments};
  query_.driver.check(query_.driver.launch_kernel(kernel, static_cast<unsigned>(blocks), 1u, 1u, kThreadsPerBlock, 1u,
                                                  1u, 0u, query_.compute.get(), static_cast<void**>(parameters),
                                                  static_cast<void**>(nullptr)));
}

Function ChunkLane::decode_kernel(const PagesInput& input) const {
  if (!input.layout) return query_.code->decode;
  const auto* code = dynamic_cast<const CudaCode*>(input.layout->code.get());
  if (!code) throw DeviceError(TB_FALLBACK_COMPILE, "code of another device");
  return code->decode;
}

void ChunkLane::run_decode() {
  decode_begin_.record(query_.compute.get());
  if (const auto* input = task_.as<PagesInput>()) {
    launch(decode_kernel(*input), uint64_t{input->npages} * kWarp, decode_arguments());
    query_.driver.check(query_.driver.memcpy_dtod_async(pipeline_arguments() + offsetof(TbPipelineArgs, nrows),
                                                        decode_arguments() + offsetof(TbDecodeArgs, nrows),
                                                        sizeof(uint32_t), query_.compute.get()));
  }
  decode_end_.record(query_.compute.get());
}

void ChunkLane::read_outcome() {
  const Stream stream = query_.compute.get();
  auto fetch = [&](size_t to, DevicePtr from, size_t bytes) {
    query_.driver.check(query_.driver.memcpy_dtoh_async(outcome_.host() + to, from, bytes, stream));
  };
  static_assert(offsetof(Outcome, pipeline) == offsetof(Arguments, pipeline));
  fetch(0, arguments_.device(), offsetof(Arguments, order));
  if (query_.groups) fetch(offsetof(Outcome, groups), query_.groups->header(), sizeof(TbGroupTable));
  if (rows_) fetch(offsetof(Outcome, rows), rows_->header(), sizeof(TbRowStore));
}

/* Rows that the chunk may have, before it is known how many it has. */
uint64_t ChunkLane::most_rows() const {
  const auto* input = task_.as<PagesInput>();
  return input ? uint64_t{input->npages} * TB_MAX_TUPLES_PER_PAGE : host_arguments().pipeline.nrows;
}

/* Threads of a kernel that goes over the rows: a block for each of its runs. */
uint64_t ChunkLane::row_threads() const {
  const uint64_t runs = task_.as<SegmentsInput>() ? batch_->nruns()
                                                  : (most_rows() + TB_RUN_ROWS_OF_ARRAYS - 1) / TB_RUN_ROWS_OF_ARRAYS;
  return runs * kThreadsPerBlock;
}

/* Threads of a kernel that goes over tuples: no more than run at once, as each warp adds what it has to the same
 * few words at its end. */
uint64_t ChunkLane::tuple_threads(uint64_t tuples) const {
  return std::min<uint64_t>(
      tuples, uint64_t{query_.context->properties().multiprocessors} * TB_BLOCKS_PER_MULTIPROCESSOR * kThreadsPerBlock);
}

Function ChunkLane::sink_kernel() const {
  if (rows_sink_) return query_.code->rows;
  if (rows_) return query_.code->project;
  return reserves_ ? query_.code->reserve : query_.code->reduce;
}

/* The step's last kernel; sink_begin_ was recorded before its first. */
void ChunkLane::run_last(Function kernel, uint64_t threads) {
  launch(kernel, threads, pipeline_arguments());
  if (rows_ && kernel == query_.code->project) drop_late_rows(threads);
  if (states_ && kernel == query_.code->reduce) query_.groups->take_states(states_.host(), query_.compute.get());
  read_outcome();
  sink_end_.record(query_.compute.get());
}

/* Of the rows that were projected, those that cannot be among the first of the order. Without memory for that, or while
 * the kernels are compiled, all stay. */
void ChunkLane::drop_late_rows(uint64_t threads) {
  drops_rows_ = false;
  if (!query_.first_key || query_.kept || !query_.kernels->first.ready()) return;
  const Stream stream = query_.compute.get();
  try {
    if (!query_.first_bound)
      query_.first_bound.emplace(*query_.context, query_.driver, *query_.first_key, query_.account, stream);
    if (!first_rows_) first_rows_.emplace(*query_.context, query_.driver, query_.rows->shape(), query_.account);
  } catch (const DeviceError& error) {
    if (error.reason != TB_FALLBACK_DEVICE_MEMORY) throw;
    query_.first_key.reset();
    return;
  }
  drops_rows_ = true;
  first_rows_->run(*query_.first_bound, query_.kernels->first.kernels(query_.driver), rows_->header(), threads, stream);
}

void ChunkLane::run_sink(Function kernel, uint64_t threads) {
  sink_begin_.record(query_.compute.get());
  run_last(kernel, threads);
}

void ChunkLane::start(const Task& task) {
  task_ = task;
  bytes_to_device_ = bytes_from_device_ = 0;
  rows_known_ = input_accounted_ = false;
  steps_ = 0;
  copy_begin_.record(query_.copy.get());
  std::visit(EachKind{[&](const PagesInput& input) { upload_pages(input); },
                      [&](const ColumnsInput& input) { upload_columns(input); },
                      [&](const SegmentsInput&) { upload_segments(); },
                      [&](const UnmatchedInput& input) { upload_unmatched(input); }},
             task_.input);
  copy_end_.record(query_.copy.get());
  copy_end_.hold(query_.compute.get());
  run_decode();
  if (probes_) {
    run_probe();
    return;
  }
  state_ = State::SINKING;
  run_sink(sink_kernel(), row_threads());
}

/* The table has grown: finds or inserts the chunk's groups once more. Growing
 * has waited for `compute`, so the outcome of the first try is here. */
void ChunkLane::reserve_again() {
  note_rows();
  state_ = State::SINKING;
  if (probes_) {  // the tuples are there
    run_sink(query_.code->reserve, tuple_threads(outcome().pipeline.ntuples));
    return;
  }
  host_arguments().pipeline.nrows = decoded_;
  write_pipeline_arguments();
  run_sink(query_.code->reserve, row_threads());
}

void ChunkLane::apply() {
  note_rows();
  state_ = State::APPLYING;
  run_sink(grouped_ ? query_.code->apply : query_.code->reduce,
           probes_ ? tuple_threads(outcome().pipeline.ntuples) : row_threads());
}

/* The first outcome tells how many rows the chunk has. */
void ChunkLane::note_rows() {
  if (rows_known_) return;
  rows_known_ = true;
  decoded_ = outcome().pipeline.nrows;
  if (decoded_ > most_rows())
    throw DeviceError(TB_FALLBACK_DEVICE_LOST, "the device reports more rows than the chunk can have");
  range_ = RowRange(decoded_);
  probed_ = {};
}

void ChunkLane::write_pipeline_arguments() {
  query_.driver.check(query_.driver.memcpy_htod_async(pipeline_arguments(), &host_arguments().pipeline,
                                                      sizeof(TbPipelineArgs), query_.compute.get()));
}

bool ChunkLane::fetch_ids() {
  note_rows();
  const uint64_t nout = rows_sink_ ? outcome().pipeline.nout : 0;
  const uint64_t ndeferred = outcome().decode.ndeferred;
  if (nout > row_capacity_ || ndeferred > row_capacity_)
    throw DeviceError(TB_FALLBACK_DEVICE_LOST, "the device reports more rows than the chunk can have");
  if (nout + ndeferred > task_.ids_capacity) throw DeviceError(TB_FALLBACK_PROTOCOL, "no room for a chunk's row ids");
  if (errors() != 0 || nout + ndeferred == 0) return false;

  state_ = State::FETCHING;
  const Stream stream = query_.out.get();
  const Driver& driver = query_.driver;
  if (query_.stream_profile) ids_begin_.record(stream);
  if (nout)
    driver.check(
        driver.memcpy_dtoh_async(task_.ids, arrays_.device() + layout_.out_rowids, nout * sizeof(uint32_t), stream));
  if (ndeferred)
    driver.check(driver.memcpy_dtoh_async(task_.ids + nout, arrays_.device() + layout_.deferred,
                                          ndeferred * sizeof(uint32_t), stream));
  ids_end_.record(stream);
  return true;
}

bool ChunkLane::reached() const {
  return state_ == State::FETCHING || state_ == State::COPYING ? ids_end_.reached() : sink_end_.reached();
}

uint32_t ChunkLane::errors() const { return outcome().decode.errors | outcome().pipeline.errors; }

bool ChunkLane::table_full() const {
  return query_.groups && (outcome().groups.full != 0 || outcome().pipeline.status != TB_PIPELINE_DONE);
}

/* What the step that was reached has done on the streams. */
void ChunkLane::record_spans() {
  StreamProfile& profile = *query_.stream_profile;
  const uint64_t chunk = task_.sequence;
  if (!input_accounted_) {
    profile.add_tables();
    profile.add(TB_SPAN_COPY_TO_GPU, chunk, copy_begin_, copy_end_, profile.copy_track());
    profile.add_bytes(TB_SPAN_RATE_COPY_TO_GPU, bytes_to_device_, copy_begin_, copy_end_);
    if (task_.as<PagesInput>())
      profile.add(TB_SPAN_KERNEL_DECODE, chunk, decode_begin_, decode_end_, profile.compute_track());
  }
  if (state_ == State::FETCHING || state_ == State::COPYING) {
    profile.add(TB_SPAN_COPY_FROM_GPU, chunk, ids_begin_, ids_end_, profile.out_track());
    return;
  }
  const TbSpanKind kernel = state_ == State::PROBING    ? TB_SPAN_KERNEL_PROBE
                            : state_ == State::APPLYING ? TB_SPAN_KERNEL_APPLY
                                                        : TB_SPAN_KERNEL_SINK;
  profile.add(kernel, chunk, sink_begin_, sink_end_, profile.compute_track());
  // Of pages and rows, what came; of segments, the columns that are read.
  const uint64_t read = task_.as<SegmentsInput>() ? batch_->bytes() : bytes_to_device_;
  profile.add_bytes(TB_SPAN_RATE_KERNELS, read, sink_begin_, sink_end_);
}

void ChunkLane::account_times(DeviceQueryStats& stats) {
  if (query_.stream_profile) record_spans();
  if (!input_accounted_) {
    input_accounted_ = true;
    stats.transfer_us += copy_end_.microseconds_since(copy_begin_);
    stats.decode_us += decode_end_.microseconds_since(decode_begin_);
  }
  if (state_ != State::FETCHING && state_ != State::COPYING)
    stats.compute_us += sink_end_.microseconds_since(sink_begin_);
}

TaskOutcome ChunkLane::finish(DeviceQueryStats& stats) {
  // Counts, and errors of rows.
  TaskOutcome result;
  if (task_.as<SegmentsInput>()) {
    result.cached_bytes = batch_->bytes();
    stats.cached_bytes += result.cached_bytes;
    batch_->keep();
  }
  result.errors = errors();
  result.rows_in = task_.as<UnmatchedInput>() ? 0 : decoded_;
  result.rows_passed = outcome().pipeline.rows_passed;
  stats.rows_in += result.rows_in;
  for (size_t i = 0; i < query_.program->joins().size(); i++) {
    result.join_rows[i] = outcome().pipeline.join_rows[i];
    result.join_candidates[i] = outcome().pipeline.join_candidates[i];
  }
  stats.bytes_to_device += bytes_to_device_;
  stats.bytes_from_device += sizeof(Outcome) + bytes_from_device_;
  if (result.errors != 0) return result;

  // Row ids, which the chunk must have.
  result.nrows = rows_sink_ ? outcome().pipeline.nout : 0;
  result.ndeferred = outcome().decode.ndeferred;
  stats.bytes_from_device += (uint64_t{result.nrows} + result.ndeferred) * sizeof(uint32_t);
  const std::span<uint32_t> ids(task_.ids, result.nrows);
  const std::span<uint32_t> deferred(task_.ids + result.nrows, result.ndeferred);
  const auto* pages = task_.as<PagesInput>();
  const bool sound = (pages ? sort_page_row_ids(ids, pages->npages) : sort_row_numbers(ids, decoded_)) &&
                     sort_page_row_ids(deferred, pages ? pages->npages : 0);
  if (!sound) throw DeviceError(TB_FALLBACK_DEVICE_LOST, "the device reports row ids that the chunk does not have");
  return result;
}

/*
 * Programs that probe: tuples first, range of rows by range, then the sink over them.
 *
 * tb_probe counts in the arguments; what it counted for rows that are probed again must not stay. So probed_ keeps
 * the counters as of the ranges done, and goes to the device with the next range.
 */

/* Probes the rows that the arguments on the device name. The sink follows at once
 * where the tuples must have room. */
void ChunkLane::run_probe() {
  sink_begin_.record(query_.compute.get());
  if (!query_.one_tuple) {
    state_ = State::PROBING;
    run_last(query_.code->probe, row_threads());
    return;
  }
  run_probe_kernel();
  prepare_tuple_sink();
  run_last(sink_kernel(), tuple_threads(most_rows()));
}

/* Where rows are wanted in their order, all of them are tuples. */
void ChunkLane::run_probe_kernel() {
  if (!query_.order) return launch(query_.code->probe, row_threads(), pipeline_arguments());
  if (!task_.as<SegmentsInput>())
    throw DeviceError(TB_FALLBACK_VALUE, "a part of the table is not cached: the device does not know its rows' order");
  TbExportOrder& order = host_arguments().order;
  order.pipeline = device_pointer<TbPipelineArgs>(pipeline_arguments());
  order.runs = host_arguments().pipeline.runs;
  order.nruns = batch_->nruns();
  order.nrows = batch_->nrows();
  const DevicePtr at = arguments_.device() + offsetof(Arguments, order);
  query_.driver.check(query_.driver.memcpy_htod_async(at, &order, sizeof order, query_.compute.get()));
  launch(query_.kernels->exports.kernels(query_.driver).order, row_threads(), at);
}

/* The task's rows are the last of those kept. */
void ChunkLane::note_order() {
  for (const TakenSegment& taken : task_.as<SegmentsInput>()->morsel->segments)
    if (taken.segment->rows_of_blocks(taken.blocks) > 0)
      query_.order->end_segment(0, first_block(taken), last_block(taken));
  query_.order->end_chunk(0, task_.sequence, query_.kept->rows());
}

void ChunkLane::prepare_tuple_sink() {
  state_ = State::SINKING;
  if (rows_) rows_->reset(query_.compute.get());
}

/* Probes range_, whatever has come of it before. */
void ChunkLane::probe_again() {
  TbPipelineArgs& pipeline = host_arguments().pipeline;
  point_to_tuples();
  pipeline.first_row = range_.first();
  pipeline.nrows = range_.end();
  pipeline.ntuples = 0;
  pipeline.rows_passed = probed_.rows_passed;
  for (size_t i = 0; i < query_.program->joins().size(); i++) {
    pipeline.join_rows[i] = probed_.join_rows[i];
    pipeline.join_candidates[i] = probed_.join_candidates[i];
  }
  write_pipeline_arguments();
  run_probe();
}

bool ChunkLane::sink_tuples() {
  note_rows();
  const uint64_t found = outcome().pipeline.ntuples;
  if (found == 0) return false;
  if (found <= tuple_capacity_) {
    prepare_tuple_sink();
    run_sink(sink_kernel(), tuple_threads(found));
    return true;
  }
  make_room_for_tuples(found);
  if (found > tuple_capacity_ && !range_.shrink(found, tuple_capacity_)) {
    if (found > kMostTuples) throw DeviceError(TB_FALLBACK_DEVICE_MEMORY, "a row joins with too many others");
    ensure_tuples(std::bit_ceil(found));
  }
  probe_again();
  return true;
}

/* As far as the query has memory for it. */
void ChunkLane::make_room_for_tuples(uint64_t found) {
  const uint64_t before = tuple_capacity_, wanted = std::min(std::bit_ceil(found), kRoomForTuples);
  if (wanted <= before) return;
  try {
    ensure_tuples(wanted);
  } catch (const DeviceError& error) {
    if (error.reason != TB_FALLBACK_DEVICE_MEMORY) throw;
    ensure_tuples(before);
  }
}

bool ChunkLane::copy_rows() {
  note_rows();
  const TbRowStore& store = outcome().rows;
  const uint64_t tuples = outcome().pipeline.ntuples;
  if (tuples > tuple_capacity_) throw DeviceError(TB_FALLBACK_DEVICE_LOST, "a row has made more than one tuple");
  if (store.full) {
    try {
      rows_->grow_text();
    } catch (const DeviceError& error) {
      // No room for the texts of all: those of fewer rows may fit.
      if (error.reason != TB_FALLBACK_DEVICE_MEMORY || !range_.shrink(tuples, tuples / 2)) throw;
      probe_again();
      return true;
    }
    prepare_tuple_sink();
    run_sink(sink_kernel(), tuple_threads(tuples));
    return true;
  }
  // A BUILD may leave rows with NULL keys out, and late rows have been dropped.
  if (query_.parts || drops_rows_ ? store.nrows > tuples : store.nrows != tuples)
    throw DeviceError(TB_FALLBACK_DEVICE_LOST, "the device has not projected every tuple");
  if (store.nrows == 0) return false;
  state_ = State::COPYING;
  if (query_.stream_profile) ids_begin_.record(query_.out.get());
  staged_ = false;
  if (query_.parts)
    query_.parts->append(store, rows_->columns(), query_.out.get());
  else if (!keep_on_device(store))
    stage_rows(store);
  ids_end_.record(query_.out.get());
  return true;
}

/* False: they are to come to the host, since the device has no room for them. */
bool ChunkLane::keep_on_device(const TbRowStore& store) {
  if (!query_.kept) return false;
  try {
    query_.kept->append(store, rows_->columns(), query_.out.get());
    if (query_.order) note_order();
    return true;
  } catch (const DeviceError& error) {
    if (error.reason != TB_FALLBACK_DEVICE_MEMORY || query_.leaves_columns) throw;
    return false;
  }
}

void ChunkLane::stage_rows(const TbRowStore& store) {
  rows_->copy_out(store, query_.out.get());
  staged_ = true;
}

void ChunkLane::take_rows() {
  if (!query_.rows || !staged_) return;
  query_.rows->append(rows_->staged());
  bytes_from_device_ += rows_->staged().bytes;
}

void ChunkLane::note_states() {
  if (!states_) return;
  const uint8_t* const row = states_.host();
  query_.task_states.push_back({task_.sequence, steps_++, {row, row + query_.groups->row_size()}});
}

bool ChunkLane::next_rows() {
  if (!probes_) return false;
  note_rows();
  probed_ = outcome().pipeline;
  if (!range_.next()) return false;
  probe_again();
  return true;
}

}  // namespace turbine::cuda
