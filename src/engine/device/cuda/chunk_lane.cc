#include "engine/device/cuda/chunk_lane.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

#include "engine/device/cuda/row_id_order.h"

namespace turbine::cuda {

namespace {

constexpr unsigned kThreadsPerBlock = 256;
constexpr unsigned kBlocksPerMultiprocessor = 8;  // 2,048 threads: all that one holds
constexpr unsigned kWarp = 32;
constexpr uint64_t kArrayAlignment = 256;

uint64_t append_array(uint64_t& size, uint64_t bytes) {
  const uint64_t offset = size;
  size += (bytes + kArrayAlignment - 1) / kArrayAlignment * kArrayAlignment;
  return offset;
}

template <class T>
T* device_pointer(DevicePtr base, uint64_t offset = 0) {
  return reinterpret_cast<T*>(base + offset);
}

uint64_t arguments_size(const Program& program) {
  return sizeof(TbDecodeArgs) + sizeof(TbPipelineArgs) + program.columns().size() * sizeof(TbColumnData);
}

}  // namespace

LaneLayout lane_layout(const Program& program, uint64_t rows) {
  LaneLayout layout;
  for (const TbColumn& column : program.columns()) {
    LaneLayout::Column arrays{};
    arrays.values = append_array(layout.size, rows * tb_type_width(column.type));
    if (column.flags & TB_COL_NULLABLE) arrays.valid = append_array(layout.size, rows);
    layout.columns.push_back(arrays);
  }
  const bool rows_sink = program.sink() == TB_SINK_ROWS;
  if (rows_sink) layout.rowids = append_array(layout.size, rows * sizeof(uint32_t));
  layout.deferred = append_array(layout.size, rows * sizeof(uint32_t));
  if (rows_sink || program.grouped()) layout.row_results = append_array(layout.size, rows * sizeof(uint32_t));
  return layout;
}

uint64_t lane_device_bytes(const Program& program, uint64_t pages) {
  return MemoryPool::rounded(pages * TB_PAGE_SIZE) +
         MemoryPool::rounded(lane_layout(program, pages * TB_MAX_TUPLES_PER_PAGE).size) +
         MemoryPool::rounded(arguments_size(program));
}

QueryResources::QueryResources(std::shared_ptr<CudaContext> context_, std::shared_ptr<FaultInjector> faults,
                               std::shared_ptr<const Program> program_, std::shared_ptr<const std::string> params_,
                               std::shared_ptr<const CudaCode> code_, double estimated_groups, uint64_t budget)
    : context(std::move(context_)),
      driver(context->driver_with(std::move(faults))),
      program(std::move(program_)),
      params(std::move(params_)),
      code(std::move(code_)),
      account(budget),
      copy(driver),
      compute(driver),
      out(driver),
      signal(driver) {
  device_params = context->device_memory().allocate(driver, params->size(), nullptr);
  driver.check(driver.memcpy_htod_async(device_params.device(), params->data(), params->size(), copy.get()));
  if (program->sink() == TB_SINK_AGGREGATE)
    groups.emplace(*context, driver, *program, account, estimated_groups, compute.get());
}

ChunkLane::ChunkLane(QueryResources& query, HostCallback wake, void* argument)
    : query_(query),
      wake_(wake),
      wake_argument_(argument),
      rows_sink_(query.rows_sink()),
      grouped_(query.program->grouped()),
      copy_begin_(query.driver),
      copy_end_(query.driver),
      decode_begin_(query.driver),
      decode_end_(query.driver),
      sink_begin_(query.driver),
      sink_end_(query.driver),
      ids_end_(query.driver) {
  const uint64_t size = arguments_size(*query_.program);
  arguments_ = query_.context->device_memory().allocate(query_.driver, size, &query_.account);
  host_arguments_ = query_.context->pinned_memory().allocate(query_.driver, size, nullptr);
  outcome_ = query_.context->pinned_memory().allocate(query_.driver, sizeof(Outcome), nullptr);
}

void ChunkLane::ensure_memory(uint64_t bytes, uint64_t rows) {
  MemoryPool& pool = query_.context->device_memory();
  if (data_.size() < bytes) {
    data_.reset();
    data_ = pool.allocate(query_.driver, bytes, &query_.account);
  }
  if (row_capacity_ < rows || !arrays_) {
    arrays_.reset();
    row_capacity_ = 0;
    layout_ = lane_layout(*query_.program, rows);
    arrays_ = pool.allocate(query_.driver, layout_.size, &query_.account);
    row_capacity_ = rows;
  }
}

void ChunkLane::prepare(const ChunkTask& task) {
  if (task.kind == TB_CHUNK_PAGES) {
    ensure_memory(uint64_t{task.npages} * TB_PAGE_SIZE, uint64_t{task.npages} * TB_MAX_TUPLES_PER_PAGE);
  } else {
    const auto* chunk = reinterpret_cast<const TbColumnsChunk*>(task.data);
    if (chunk->ncolumns != query_.program->columns().size())
      throw DeviceError(TB_FALLBACK_PROTOCOL, "a chunk of columns does not match the program");
    ensure_memory(chunk->bytes_size, chunk->nrows);
  }
}

TbColumnData* ChunkLane::column_arguments() const {
  return reinterpret_cast<TbColumnData*>(&host_arguments() + 1);
}

void ChunkLane::fill_arguments(uint32_t npages, uint64_t row_capacity) {
  static_assert(sizeof(Arguments) == sizeof(TbDecodeArgs) + sizeof(TbPipelineArgs));
  Arguments& arguments = host_arguments();
  arguments = {};
  TbColumnData* columns = column_arguments();
  for (size_t i = 0; i < layout_.columns.size(); i++) {
    const bool nullable = query_.program->columns()[i].flags & TB_COL_NULLABLE;
    columns[i].values = device_pointer<void>(arrays_.device(), layout_.columns[i].values);
    columns[i].valid = nullable ? device_pointer<uint8_t>(arrays_.device(), layout_.columns[i].valid) : nullptr;
  }
  auto* device_columns = device_pointer<TbColumnData>(arguments_.device(), sizeof(Arguments));
  auto* rowids = rows_sink_ ? device_pointer<uint32_t>(arrays_.device(), layout_.rowids) : nullptr;
  auto* params = device_pointer<const TbParamBlock>(query_.device_params.device());

  arguments.decode.pages = device_pointer<const uint8_t>(data_.device());
  arguments.decode.npages = npages;
  arguments.decode.capacity = static_cast<uint32_t>(row_capacity);
  arguments.decode.columns = device_columns;
  arguments.decode.rowids = rowids;
  arguments.decode.deferred = device_pointer<uint32_t>(arrays_.device(), layout_.deferred);
  arguments.decode.params = params;

  arguments.pipeline.columns = device_columns;
  arguments.pipeline.bytes = device_pointer<const uint8_t>(data_.device());
  arguments.pipeline.rowids = rowids;
  arguments.pipeline.params = params;
  auto* results = device_pointer<uint32_t>(arrays_.device(), layout_.row_results);
  if (rows_sink_) arguments.pipeline.out_rowids = results;
  if (grouped_) arguments.pipeline.group_of_row = results;
  if (query_.groups) arguments.pipeline.groups = device_pointer<TbGroupTable>(query_.groups->header());
}

void ChunkLane::upload(DevicePtr to, const void* from, uint64_t bytes) {
  if (bytes == 0) return;
  query_.driver.check(query_.driver.memcpy_htod_async(to, from, bytes, query_.copy.get()));
  bytes_to_device_ += bytes;
}

void ChunkLane::upload_pages() {
  fill_arguments(task_.npages, uint64_t{task_.npages} * TB_MAX_TUPLES_PER_PAGE);
  upload(arguments_.device(), host_arguments_.host(), arguments_size(*query_.program));
  upload(data_.device(), task_.data, uint64_t{task_.npages} * TB_PAGE_SIZE);
}

/* Columns are copied one by one: their places in the slot need not have the
 * alignment that kernels load with. */
void ChunkLane::upload_columns() {
  const auto& chunk = *reinterpret_cast<const TbColumnsChunk*>(task_.data);
  fill_arguments(0, chunk.nrows);
  host_arguments().pipeline.nrows = chunk.nrows;
  upload(arguments_.device(), host_arguments_.host(), arguments_size(*query_.program));
  const auto columns = query_.program->columns();
  for (size_t i = 0; i < columns.size(); i++) {
    upload(arrays_.device() + layout_.columns[i].values, task_.data + chunk.columns[i].values,
           uint64_t{chunk.nrows} * tb_type_width(columns[i].type));
    if (!(columns[i].flags & TB_COL_NULLABLE)) continue;
    const DevicePtr valid = arrays_.device() + layout_.columns[i].valid;
    if (chunk.columns[i].valid) {
      upload(valid, task_.data + chunk.columns[i].valid, chunk.nrows);
    } else {
      query_.driver.check(
          query_.driver.memset_d8_async(valid, 1, static_cast<size_t>(chunk.nrows), query_.copy.get()));
    }
  }
  upload(data_.device(), task_.data + chunk.bytes_offset, chunk.bytes_size);
  if (rows_sink_) {
    row_numbers_.resize(chunk.nrows);
    std::iota(row_numbers_.begin(), row_numbers_.end(), 0u);
    upload(arrays_.device() + layout_.rowids, row_numbers_.data(), row_numbers_.size() * sizeof(uint32_t));
  }
}

void ChunkLane::launch(Function kernel, uint64_t threads, DevicePtr arguments) const {
  const uint64_t most = uint64_t{query_.context->properties().multiprocessors} * kBlocksPerMultiprocessor;
  const uint64_t blocks = std::clamp<uint64_t>((threads + kThreadsPerBlock - 1) / kThreadsPerBlock, 1, most);
  void* parameters[] = {&arguments};
  query_.driver.check(query_.driver.launch_kernel(kernel, static_cast<unsigned>(blocks), 1u, 1u, kThreadsPerBlock, 1u,
                                                  1u, 0u, query_.compute.get(), static_cast<void**>(parameters),
                                                  static_cast<void**>(nullptr)));
}

void ChunkLane::run_decode() {
  decode_begin_.record(query_.compute.get());
  if (task_.kind == TB_CHUNK_PAGES) {
    launch(query_.code->decode, uint64_t{task_.npages} * kWarp, decode_arguments());
    query_.driver.check(query_.driver.memcpy_dtod_async(pipeline_arguments() + offsetof(TbPipelineArgs, nrows),
                                                        decode_arguments() + offsetof(TbDecodeArgs, nrows),
                                                        sizeof(uint32_t), query_.compute.get()));
  }
  decode_end_.record(query_.compute.get());
}

void ChunkLane::read_outcome() {
  const Stream stream = query_.compute.get();
  static_assert(offsetof(Outcome, pipeline) == offsetof(Arguments, pipeline));
  query_.driver.check(
      query_.driver.memcpy_dtoh_async(outcome_.host(), arguments_.device(), sizeof(Arguments), stream));
  if (query_.groups)
    query_.driver.check(query_.driver.memcpy_dtoh_async(outcome_.host() + offsetof(Outcome, groups),
                                                        query_.groups->header(), sizeof(TbGroupTable), stream));
}

void ChunkLane::wake_after(const UniqueEvent& event) const {
  event.hold(query_.signal.get());
  query_.driver.check(query_.driver.launch_host_func(query_.signal.get(), wake_, wake_argument_));
}

void ChunkLane::run_sink(Function kernel) {
  sink_begin_.record(query_.compute.get());
  const uint64_t rows = task_.kind == TB_CHUNK_PAGES ? uint64_t{task_.npages} * TB_MAX_TUPLES_PER_PAGE
                                                     : host_arguments().pipeline.nrows;
  launch(kernel, rows, pipeline_arguments());
  read_outcome();
  sink_end_.record(query_.compute.get());
  wake_after(sink_end_);
}

void ChunkLane::start(const ChunkTask& task) {
  task_ = task;
  bytes_to_device_ = 0;
  state_ = State::SINKING;
  copy_begin_.record(query_.copy.get());
  if (task_.kind == TB_CHUNK_PAGES)
    upload_pages();
  else
    upload_columns();
  copy_end_.record(query_.copy.get());
  copy_end_.hold(query_.compute.get());
  run_decode();
  run_sink(rows_sink_ ? query_.code->rows : grouped_ ? query_.code->reserve : query_.code->reduce);
}

/* The table has grown: finds or inserts the chunk's groups once more. Growing
 * has waited for `compute`, so the outcome of the first try is here. */
void ChunkLane::reserve_again() {
  state_ = State::SINKING;
  Arguments& arguments = host_arguments();
  arguments.pipeline.nrows = nrows();
  query_.driver.check(query_.driver.memcpy_htod_async(pipeline_arguments(), &arguments.pipeline,
                                                      sizeof(TbPipelineArgs), query_.compute.get()));
  run_sink(query_.code->reserve);
}

void ChunkLane::apply() {
  state_ = State::APPLYING;
  run_sink(query_.code->apply);
}

bool ChunkLane::fetch_ids() {
  const uint64_t nout = rows_sink_ ? outcome().pipeline.nout : 0;
  const uint64_t ndeferred = outcome().decode.ndeferred;
  if (nout > row_capacity_ || ndeferred > row_capacity_ || nrows() > row_capacity_)
    throw DeviceError(TB_FALLBACK_DEVICE_LOST, "the device reports more rows than the chunk can have");
  if (nout + ndeferred > task_.ids_capacity) throw DeviceError(TB_FALLBACK_PROTOCOL, "no room for a chunk's row ids");
  if (errors() != 0 || nout + ndeferred == 0) return false;

  state_ = State::FETCHING;
  const Stream stream = query_.out.get();
  const Driver& driver = query_.driver;
  if (nout)
    driver.check(driver.memcpy_dtoh_async(task_.ids, arrays_.device() + layout_.row_results,
                                          nout * sizeof(uint32_t), stream));
  if (ndeferred)
    driver.check(driver.memcpy_dtoh_async(task_.ids + nout, arrays_.device() + layout_.deferred,
                                          ndeferred * sizeof(uint32_t), stream));
  ids_end_.record(stream);
  wake_after(ids_end_);
  return true;
}

bool ChunkLane::reached() const { return state_ == State::FETCHING ? ids_end_.reached() : sink_end_.reached(); }

uint32_t ChunkLane::errors() const { return outcome().decode.errors | outcome().pipeline.errors; }

bool ChunkLane::table_full() const {
  return query_.groups && (outcome().groups.full != 0 || outcome().pipeline.status != TB_PIPELINE_DONE);
}

uint32_t ChunkLane::nrows() const { return outcome().pipeline.nrows; }

void ChunkLane::account_times(DeviceQueryStats& stats) const {
  if (state_ == State::SINKING) {
    stats.transfer_us += copy_end_.microseconds_since(copy_begin_);
    stats.decode_us += decode_end_.microseconds_since(decode_begin_);
  }
  if (state_ != State::FETCHING) stats.compute_us += sink_end_.microseconds_since(sink_begin_);
}

ChunkOutcome ChunkLane::finish(DeviceQueryStats& stats) {
  ChunkOutcome result;
  result.errors = errors();
  result.rows_in = nrows();
  result.rows_passed = outcome().pipeline.rows_passed;
  stats.bytes_to_device += bytes_to_device_;
  stats.bytes_from_device += sizeof(Outcome);
  if (result.errors != 0) return result;

  result.nrows = rows_sink_ ? outcome().pipeline.nout : 0;
  result.ndeferred = outcome().decode.ndeferred;
  stats.bytes_from_device += (uint64_t{result.nrows} + result.ndeferred) * sizeof(uint32_t);
  const std::span<uint32_t> ids(task_.ids, result.nrows);
  const std::span<uint32_t> deferred(task_.ids + result.nrows, result.ndeferred);
  const bool sound = (task_.kind == TB_CHUNK_PAGES ? sort_page_row_ids(ids, task_.npages)
                                                   : sort_row_numbers(ids, nrows())) &&
                     sort_page_row_ids(deferred, task_.npages);
  if (!sound) throw DeviceError(TB_FALLBACK_DEVICE_LOST, "the device reports row ids that the chunk does not have");
  return result;
}

}  // namespace turbine::cuda
