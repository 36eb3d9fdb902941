/*
 * chunk_lane_probe.cc - the lane's steps of programs that probe: tuples first,
 * range of rows by range, then the sink over them.
 *
 * tb_probe counts in the arguments; what it counted for rows that are probed
 * again must not stay. So probed_ keeps the counters as of the ranges done, and
 * goes to the device with the next range.
 */
#include "engine/device/cuda/query/chunk_lane.h"

#include <algorithm>
#include <bit>

namespace turbine::cuda {

namespace {

constexpr uint64_t kMostTuples = uint64_t{1} << 32;  // group numbers and row numbers have 32 bits

/* Room for so many is made before a chunk's rows are probed in pieces: a small table whose rows have thousands of
 * matches each would be probed row by row, some 100 us each. */
constexpr uint64_t kRoomForTuples = uint64_t{4} << 20;

}  // namespace

/* Probes the rows that the arguments on the device name. The sink follows at once
 * where the tuples must have room. */
void ChunkLane::run_probe() {
  sink_begin_.record(query_.compute.get());
  if (!query_.one_tuple) {
    state_ = State::PROBING;
    run_last(query_.code->probe, row_threads());
    return;
  }
  launch(query_.code->probe, row_threads(), pipeline_arguments());
  prepare_tuple_sink();
  run_last(sink_kernel(), tuple_threads(most_rows()));
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
  for (size_t i = 0; i < query_.program->joins().size(); i++) pipeline.join_rows[i] = probed_.join_rows[i];
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
  // A BUILD may leave rows with NULL keys out.
  if (query_.parts ? store.nrows > tuples : store.nrows != tuples)
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
    return true;
  } catch (const DeviceError& error) {
    if (error.reason != TB_FALLBACK_DEVICE_MEMORY) throw;
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

bool ChunkLane::next_rows() {
  if (!probes_) return false;
  note_rows();
  probed_ = outcome().pipeline;
  if (!range_.next()) return false;
  probe_again();
  return true;
}

}  // namespace turbine::cuda
