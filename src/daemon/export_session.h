/*
 * export_session.h - the messages of one connection about exported copies (include/turbine/export.h).
 *
 * Made by the first of them; when it goes, so do the connection's copies that are not kept. The session's thread only.
 */
#pragma once

#include <span>
#include <vector>

#include "daemon/message_reader.h"
#include "daemon/outbox.h"
#include "engine/execution/stream/streamed_batches.h"
#include "engine/exports/exports.h"

namespace turbine {

class ExportSession {
 public:
  ExportSession(Exports& exports, StreamedBatches& streamed, Outbox& outbox, int pid)
      : exports_(exports), streamed_(streamed), outbox_(outbox), pid_(pid), session_(exports.begin_session()) {}
  ~ExportSession() { exports_.end_session(session_); }
  ExportSession(const ExportSession&) = delete;

  static bool is_ours(uint32_t type) {
    return (type >= TB_MSG_EXPORT_RESERVE && type <= TB_MSG_EXPORT_DESCRIBED) || type == TB_MSG_EXPORT_STREAMED;
  }

  /* Answers EXPORT_LIST, which begins no session. */
  static void list(Exports& exports, Outbox& outbox);

  /* Answers any other message. `files`: what FILES has brought since the last one. Throws ProtocolError. */
  void handle(const MessageReader::Message& message, std::vector<UniqueFd> files);

 private:
  void reserve(std::span<const uint8_t> payload);
  void create(std::span<const uint8_t> payload, std::vector<UniqueFd> files);
  void take_streamed(std::span<const uint8_t> payload);
  void make_token(std::span<const uint8_t> payload);
  void release(std::span<const uint8_t> payload);
  void describe(std::span<const uint8_t> payload);
  void unknown();
  void refuse(uint32_t reason, const std::string& message);

  Exports& exports_;
  StreamedBatches& streamed_;
  Outbox& outbox_;
  const int pid_;
  const uint64_t session_;
  ExportCharges charges_;  // for the copy in the making
  uint64_t reserved_ = 0;                 // in these
};

}  // namespace turbine
