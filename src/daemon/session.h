/*
 * session.h - one backend's connection: the handshake, then queries, one at a time, with the join tables that
 * the first queries of a node build for its last one.
 *
 * A session runs on a thread of its own until the peer closes, breaks the protocol, or the daemon stops.
 * Whatever goes wrong stays here: run() throws nothing, and gives back all that the session held.
 */
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>

#include "daemon/export_session.h"
#include "daemon/message_reader.h"
#include "daemon/outbox.h"
#include "engine/execution/connection_join_tables.h"
#include "engine/execution/engine.h"
#include "engine/execution/query_execution.h"

namespace turbine {

using Nonce = std::array<uint8_t, 16>;

/* What sessions share. */
struct SessionContext {
  Engine& engine;
  Exports& exports;
  const Nonce nonce;
  const uint64_t generation;
  std::atomic<uint64_t> sessions{0};
  std::atomic<uint64_t> open_queries{0};
  std::atomic<bool> stopping{false};
};

/* Since when the session waits for a backend that holds nothing of it, by
 * std::chrono::steady_clock; 0: it does not. */
using IdleSince = std::atomic<std::chrono::steady_clock::rep>;

class Session {
 public:
  /* `idle_since` outlives this: see IdleSince. */
  Session(SessionContext& context, UniqueFd socket, IdleSince& idle_since);

  void run() noexcept;

 private:
  void check_peer() const;
  void serve();
  bool wait_for_events();
  bool holds_something() const;
  void handle(const MessageReader::Message& message);
  void hello(std::span<const uint8_t> payload);
  void files(std::span<const uint8_t> payload);
  void query(std::span<const uint8_t> payload);
  void layout(std::span<const uint8_t> payload);
  void refuse(uint32_t reason, const std::string& message);
  void prepare(std::span<const uint8_t> payload);
  void attach(std::span<const uint8_t> payload);
  void end_query();
  void close_query();
  void release_query();
  void exports(const MessageReader::Message& message);
  void send_status();
  void report_cache();
  void report_topology();
  void drop_cached(std::span<const uint8_t> payload);
  bool peer_gone() const;

  SessionContext& context_;
  IdleSince& idle_since_;
  UniqueFd socket_;
  MessageReader reader_;
  Outbox outbox_;
  bool greeted_ = false;
  int peer_pid_ = 0;
  bool refused_ = false;  // the QUERY before this message
  RelationFiles files_;
  uint64_t last_slot_memory_ = 0;
  ConnectionJoinTables tables_;  // built for the query to come that probes them
  std::unique_ptr<QueryExecution> query_;
  std::optional<SlotLeases::Attachment> attachment_;  // a feeder's, until it is gone
  std::optional<ExportSession> exports_;              // from its first message about copies on
};

}  // namespace turbine
