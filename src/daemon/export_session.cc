/*
 * export_session.cc - see export_session.h.
 *
 * Called by session.cc. Refuses what there is no memory for; what breaks the contract ends the connection.
 */
#include "daemon/export_session.h"

#include <cstring>
#include <utility>

#include "engine/wire/failure.h"
#include "engine/wire/message_bytes.h"
#include "engine/wire/protocol_error.h"

namespace turbine {

void ExportSession::handle(const MessageReader::Message& message, std::vector<UniqueFd> files) {
  try {
    switch (message.type) {
      case TB_MSG_EXPORT_RESERVE: return reserve(message.payload);
      case TB_MSG_EXPORT_CREATE: return create(message.payload, std::move(files));
      case TB_MSG_EXPORT_STREAMED: return take_streamed(message.payload);
      case TB_MSG_EXPORT_TOKEN: return make_token(message.payload);
      case TB_MSG_EXPORT_RELEASE: return release(message.payload);
      case TB_MSG_EXPORT_DESCRIBE: return describe(message.payload);
      default: throw ProtocolError("unexpected message " + std::to_string(message.type));
    }
  } catch (const DeviceError& e) {
    charges_.clear();
    reserved_ = 0;
    refuse(e.reason, e.what());
  } catch (const std::bad_alloc&) {
    charges_.clear();
    reserved_ = 0;
    refuse(TB_FALLBACK_HOST_MEMORY, "turbined is out of memory");
  }
}

void ExportSession::refuse(uint32_t reason, const std::string& message) {
  const TbFailure failure = make_failure(reason, 0, message);
  outbox_.post(TB_MSG_REFUSED, bytes_of(failure), -1);
}

void ExportSession::unknown() { outbox_.post(TB_MSG_EXPORT_UNKNOWN, {}, -1); }

/* A backend that gave up a copy begins the next one with less. */
void ExportSession::reserve(std::span<const uint8_t> payload) {
  const auto asked = read_struct<TbExportReserve>(payload);
  if (asked.bytes < reserved_) {
    charges_.clear();
    reserved_ = 0;
  }
  exports_.reserve(charges_, reserved_, asked.bytes);
  reserved_ = asked.bytes;
  outbox_.post(TB_MSG_EXPORT_RESERVED, bytes_of(asked), -1);
}

void ExportSession::create(std::span<const uint8_t> payload, std::vector<UniqueFd> files) {
  ExportRequest request = parse_export(payload);
  const bool left = request.create.flags & TB_EXPORT_LEFT;
  if (left && !files.empty()) throw ProtocolError("EXPORT_CREATE: files besides what a query has left");
  if (!left) take_files(request, std::move(files));
  // What was asked for ahead goes back.
  charges_.clear();
  reserved_ = 0;
  if (!left) exports_.reserve(charges_, 0, host_bytes(request));
  const TbExportInfo info = exports_.create(session_, pid_, std::move(request), std::exchange(charges_, {}));
  outbox_.post(TB_MSG_EXPORT_CREATED, bytes_of(info), -1);
}

/* A batch that a query of any connection has made: its name is as good as a token. */
void ExportSession::take_streamed(std::span<const uint8_t> payload) {
  const auto id = read_head<TbStreamId>(payload, "EXPORT_STREAMED");
  ExportRequest request = parse_export(payload);
  StreamId name;
  memcpy(name.data(), id.bytes, name.size());
  const StreamedBatch batch = streamed_.take(name);
  if (!batch.memory && !batch.on_device) return unknown();
  use_streamed(request, batch);
  ExportCharges charges;
  if (batch.on_device) {
    batch.on_device->hand_over();
  } else {
    batch.memory->hand_over();
    exports_.reserve(charges, 0, host_bytes(request));
  }
  const TbExportInfo info = exports_.create(session_, pid_, std::move(request), std::move(charges));
  outbox_.post(TB_MSG_EXPORT_CREATED, bytes_of(info), -1);
}

void ExportSession::make_token(std::span<const uint8_t> payload) {
  const auto terms = read_head<TbExportToken>(payload, "EXPORT_TOKEN");
  if (payload.size() != uint64_t{terms.ncolumns} * sizeof(uint32_t)) throw ProtocolError("EXPORT_TOKEN: bad length");
  std::vector<uint32_t> columns(terms.ncolumns);
  if (!columns.empty()) memcpy(columns.data(), payload.data(), payload.size());
  const auto secret = exports_.make_token(session_, terms, columns);
  if (!secret) return unknown();
  TbExportTokenMade made{};
  memcpy(made.secret, secret->data(), secret->size());
  outbox_.post(TB_MSG_EXPORT_TOKEN_MADE, bytes_of(made), -1);
}

void ExportSession::release(std::span<const uint8_t> payload) {
  const TbExportReleased released{exports_.release(session_, read_struct<TbExportRelease>(payload)), 0};
  outbox_.post(TB_MSG_EXPORT_RELEASED, bytes_of(released), -1);
}

void ExportSession::list(Exports& exports, Outbox& outbox) {
  const std::vector<TbExportInfo> infos = exports.list(TB_EXPORT_MOST_LISTED);
  const TbExportListed head{infos.size()};
  std::vector<uint8_t> payload(sizeof head + infos.size() * sizeof(TbExportInfo));
  memcpy(payload.data(), &head, sizeof head);
  if (!infos.empty()) memcpy(payload.data() + sizeof head, infos.data(), infos.size() * sizeof(TbExportInfo));
  outbox.post(TB_MSG_EXPORT_LISTED, payload, -1);
}

void ExportSession::describe(std::span<const uint8_t> payload) {
  const auto asked = read_struct<TbExportDescribe>(payload);
  ExportId id;
  memcpy(id.data(), asked.id, id.size());
  const std::vector<uint8_t> described = exports_.describe(session_, id);
  if (described.empty()) return unknown();
  outbox_.post(TB_MSG_EXPORT_DESCRIBED, described, -1);
}

}  // namespace turbine
