/*
 * query_execution.cc - one query of one connection, from QUERY to QUERY_DONE.
 *
 * Owns the parts of a query and the order in which they begin and end. Called by the session for each message of its
 * query, and when a completion has woken it. No message may be posted once the query has failed or is going away.
 */
#include "engine/execution/query_execution.h"

#include <algorithm>
#include <utility>

#include "engine/execution/probed_join_tables.h"
#include "engine/profile/stopwatch.h"
#include "engine/wire/failure.h"
#include "engine/wire/message_bytes.h"
#include "engine/wire/protocol_error.h"

namespace turbine {

QueryExecution::QueryExecution(Engine& engine, ResultKeeper& keeper, MessageSink& sink, const QueryRequest& request,
                               RelationFiles files, ConnectionJoinTables& tables, uint64_t* last_slot_memory,
                               const IsCancelled& cancelled)
    : cancelled_(cancelled), report_(sink) {
  const TbQuery& query = request.query;
  if (query.flags & (TB_QUERY_PROFILE | TB_QUERY_TRACE))
    profile_ = std::make_unique<QueryProfile>((query.flags & TB_QUERY_TRACE) != 0);
  // Check what the backend sent.
  try {
    program_ = std::make_shared<const Program>(Program::parse(request.program));
    check_params(*program_, request.params);
    output_ = std::make_unique<QueryOutput>(engine, keeper, program_, request, cancelled_, report_.totals,
                                            profile_.get());
  } catch (const ProgramError& e) {
    throw ProtocolError(e.what());
  }
  params_ = std::make_shared<const std::string>(reinterpret_cast<const char*>(request.params.data()),
                                                request.params.size());
  table_ = std::make_unique<BuiltTable>(engine, *program_, *params_, tables, query.join_table);
  probed_ = probed_join_tables(*program_, tables);
  if (!request.stream.empty()) {
    if (!request.result_plan.empty() || !request.continuation.empty())
      throw ProtocolError("QUERY with a stream of rows that come last");
    StreamRequest wanted = parse_stream(request.stream, *program_);
    if (wanted.stream.device >= engine.devices.size()) throw ProtocolError("QUERY's stream: no such device");
    Device* const device = wanted.stream.device == TB_DEVICE_HOST ? nullptr
                                                                  : engine.devices[wanted.stream.device].get();
    stream_ = std::make_unique<RowStream>(
        std::move(wanted),
        RowStream::Needs{engine.workers, engine.admission, engine.streamed_batches, report_, device});
  }
  // Start on a device, or refuse.
  device_ = std::make_unique<QueryDevice>(engine);
  input_ = std::make_unique<QueryInput>(
      QueryInput::Query{engine, program_, params_, probed_, *table_, *device_, report_, profile_.get()},
      std::move(files), query);
  device_->start({request, program_, params_, probed_, !tables.empty(), *last_slot_memory, profile_.get(), cancelled_},
                 *output_);
  input_->begin(output_->begin(device_->query()));
  if (stream_) {
    device_->query().stream_rows(*stream_);
    input_->stream_to(*stream_);
  }
  if (profile_) profile_->begin();
  *last_slot_memory = device_->send_ready(report_, *last_slot_memory);
}

QueryExecution::~QueryExecution() {
  report_.close();
  device_->query().stop();  // reads may wait for a thread that joins
  input_->stop();           // its jobs begin tasks
  if (stream_) stream_->end();
  output_->end();
  device_->end(leave_slots_);
}

void QueryExecution::slot_free(const TbSlotFree& message) {
  if (report_.failed()) return;
  SlotTable& slots = input_->slots();
  slots.check_state(message.slot, SlotState::kOutput);
  slots.end_output(message.slot);
}

void QueryExecution::stream_taken() {
  if (report_.failed()) return;
  if (!stream_) throw ProtocolError("STREAM_TAKEN without a stream");
  try {
    stream_->batch_taken();
  } catch (const DeviceError&) {
    report_.fail(make_failure(std::current_exception()));
  }
}

void QueryExecution::advance() {
  if (report_.failed() || done_) return;
  try {
    if (!input_->is_through()) return;
    if (!finished_) finish();
    if (!stream_) send_rows();
  } catch (...) {
    report_.fail(make_failure(std::current_exception()));
    return;
  }
  // The slot memory is another query's after QUERY_DONE, so all of it must be read.
  const bool all_sent = stream_ ? stream_->all_taken() : output_->all_sent();
  if (all_sent && input_->slots().all_ours()) send_done();
}

void QueryExecution::finish() {
  const Stopwatch stopwatch;
  const KeptJoinTable* kept = table_->found();
  if (stream_) stream_->finish();
  output_->finish(kept ? kept->table->rows() : device_->query().finish(), device_->number(), report_);
  if (program_->sink() == TB_SINK_BUILD) table_->leave(*device_, report_.totals);
  report_.totals.change([&](TbQueryDone& totals) { totals.finish_us += stopwatch.microseconds(); });
  finished_ = true;
}

/* Nothing is in flight any more: slots are the session's thread's alone. */
void QueryExecution::send_rows() {
  const Stopwatch stopwatch;
  output_->send(input_->slots(), report_);
  report_.totals.change([&](TbQueryDone& totals) { totals.finish_us += stopwatch.microseconds(); });
}

void QueryExecution::send_done() {
  const DeviceQueryStats stats = device_->query().stats();
  TbQueryDone totals = report_.totals.get();
  if (stream_) totals.groups = stream_->rows();
  totals.bytes_to_device = stats.bytes_to_device;
  totals.bytes_from_device = stats.bytes_from_device;
  totals.transfer_us = stats.transfer_us;
  totals.decode_us += stats.decode_us;
  totals.compute_us = stats.compute_us;
  totals.table_grows = stats.table_grows;
  totals.dictionaries = static_cast<uint32_t>(stats.dictionaries);
  totals.dictionary_entries = stats.dictionary_entries;
  device_->report_shares(totals);
  if (totals.cached_bytes > 0) totals.cached_columns = static_cast<uint32_t>(program_->source_columns());
  if (profile_) {
    const auto phases = profile_->phases();
    std::copy(phases.begin(), phases.end(), totals.phase_ns);
    for (const std::vector<uint8_t>& payload : profile_->take_trace()) report_.post(TB_MSG_TRACE, payload);
  }
  done_ = true;
  report_.post(TB_MSG_QUERY_DONE, bytes_of(totals));
}

}  // namespace turbine
