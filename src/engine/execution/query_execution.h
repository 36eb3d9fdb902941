/*
 * query_execution.h - one query of one connection, from QUERY to QUERY_DONE.
 *
 * Owns all that the query holds, each part in a class of its own: the device (query_device.h), the input
 * (query_input.h), the output (query_output.h), the table of a BUILD (built_table.h), and what the backend is told
 * (query_report.h). The destructor waits for what is in flight and gives everything back.
 *
 * The session's thread calls everything here. Completions wake it for long work.
 */
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/execution/built_table.h"
#include "engine/execution/connection_join_tables.h"
#include "engine/execution/engine.h"
#include "engine/execution/query_device.h"
#include "engine/execution/query_input.h"
#include "engine/execution/query_output.h"
#include "engine/execution/query_report.h"
#include "engine/execution/stream/row_stream.h"
#include "engine/wire/message_sink.h"
#include "engine/wire/requests.h"

namespace turbine {

class QueryExecution {
 public:
  /* Compiles, waits for admission, and sends READY. Throws DeviceError (send
   * REFUSED), ProtocolError. `tables`: the connection's, where a BUILD leaves
   * its own. `last_slot_memory`: id of the one that the connection has mapped;
   * updated. `cancelled`: asked on the session's thread, later too. */
  QueryExecution(Engine& engine, ResultKeeper& keeper, MessageSink& sink, const QueryRequest& request,
                 RelationFiles files, ConnectionJoinTables& tables, uint64_t* last_slot_memory,
                 const IsCancelled& cancelled);
  ~QueryExecution();
  QueryExecution(const QueryExecution&) = delete;

  /* Where messages about the input go, except its end. */
  QueryInput& input() { return *input_; }

  /* Messages of the backend. Throw ProtocolError; ignored once failed. */
  void slot_free(const TbSlotFree& message);
  void stream_taken();

  /* Does what completions have made possible. */
  void advance();

  /* QUERY_DONE was sent. */
  bool done() const { return done_; }

  /* The session ends for a reason of ours: its backend may be reading slots. */
  void leave_slots_to_backend() { leave_slots_ = true; }

  /* Null if nobody asks how the time is spent. */
  QueryProfile* profile() const { return profile_.get(); }

  /* Done, and what it did was to build a table. */
  bool built() const { return done_ && program_->sink() == TB_SINK_BUILD; }

 private:
  void finish();
  void send_rows();
  void send_done();

  const IsCancelled cancelled_;
  QueryReport report_;
  std::shared_ptr<const Program> program_;
  std::shared_ptr<const std::string> params_;
  std::unique_ptr<QueryProfile> profile_;  // the device's query points to it
  JoinTables probed_;
  std::unique_ptr<BuiltTable> table_;
  std::unique_ptr<QueryOutput> output_;
  std::unique_ptr<RowStream> stream_;  // null: there is none
  std::unique_ptr<QueryDevice> device_;
  std::unique_ptr<QueryInput> input_;

  bool leave_slots_ = false;
  bool finished_ = false;
  bool done_ = false;
};

}  // namespace turbine
