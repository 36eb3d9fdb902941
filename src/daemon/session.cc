/*
 * session.cc - one backend's connection.
 *
 * Owns the socket, the reader, the outbox and the query under way. Runs on a thread of its
 * own, started by server.cc. Whatever a backend sends, or a query throws, must end this
 * session at most.
 */
#include "daemon/session.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "daemon/log.h"
#include "engine/execution/query_device.h"
#include "engine/topology/topology_report.h"
#include "engine/wire/failure.h"
#include "engine/wire/message_bytes.h"

namespace turbine {
namespace {

/* A connection that does not say hello by then is not a backend's. */
constexpr int kHelloTimeoutMs = 10000;

/* Takes the same time wherever the first difference is. */
bool equal_secrets(const uint8_t* a, const uint8_t* b, size_t size) {
  unsigned difference = 0;
  for (size_t i = 0; i < size; i++) difference |= a[i] ^ b[i];
  return difference == 0;
}

/* Once: the supervisor's library may be of that release, too, and it asks many times a second. */
void log_other_release(uint32_t version) {
  static std::atomic<bool> logged{false};
  if (!logged.exchange(true))
    log_message(LogLevel::kError,
                "backends speak version %u of the protocol, this program speaks %u: restart PostgreSQL", version,
                TB_WIRE_VERSION);
}

}  // namespace

Session::Session(SessionContext& context, UniqueFd socket, IdleSince& idle_since)
    : context_(context),
      idle_since_(idle_since),
      socket_(std::move(socket)),
      reader_(socket_.get()),
      outbox_(socket_.get()) {}

void Session::run() noexcept {
  bool ended_by_peer = false;
  try {
    check_peer();
    serve();
    ended_by_peer = !context_.stopping;
  } catch (const ProtocolError& e) {
    log_message(LogLevel::kError, "connection of backend %d closed: %s", peer_pid_, e.what());
  } catch (const std::exception& e) {
    log_message(LogLevel::kError, "session of backend %d ended: %s", peer_pid_, e.what());
  } catch (...) {
    log_message(LogLevel::kError, "session of backend %d ended by an unknown exception", peer_pid_);
  }
  if (query_ && !ended_by_peer) query_->leave_slots_to_backend();
  // The peer learns at once; what its query holds takes as long as it takes.
  shutdown(socket_.get(), SHUT_RDWR);
  try {
    close_query();
  } catch (const std::exception& e) {
    log_message(LogLevel::kError, "closing the query of backend %d: %s", peer_pid_, e.what());
  }
}

/* The socket's mode keeps other users out; this holds where it does not. */
void Session::check_peer() const {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0)
    throw ProtocolError(std::string("SO_PEERCRED: ") + strerror(errno));
  if (peer.uid != geteuid()) throw ProtocolError("peer is user " + std::to_string(peer.uid));
}

void Session::serve() {
  while (wait_for_events()) {
    outbox_.hold();
    while (auto message = reader_.next()) handle(*message);
    // FILES has its descriptors with its first byte: none may be left over.
    if (query_) query_->advance();
    // The backend goes on while memory and threads are given back. What it sends next waits for that.
    if (!outbox_.release()) return;
    if (query_ && query_->done()) end_query();
  }
}

bool Session::holds_something() const { return query_ || attachment_ || exports_ || !tables_.empty(); }

/* Waits for bytes or a completion, and takes and sends what there is. False
 * when the connection is over. */
bool Session::wait_for_events() {
  const short out = outbox_.pending() ? POLLOUT : 0;
  pollfd fds[2] = {{socket_.get(), static_cast<short>(POLLIN | out), 0}, {outbox_.event_fd(), POLLIN, 0}};
  if (greeted_ && !holds_something()) idle_since_ = std::chrono::steady_clock::now().time_since_epoch().count();
  const int n = poll(fds, 2, greeted_ ? -1 : kHelloTimeoutMs);
  idle_since_ = 0;
  if (n == 0) throw ProtocolError("no HELLO");
  if (n < 0 && errno != EINTR) throw std::runtime_error(std::string("poll: ") + strerror(errno));
  if (context_.stopping) return false;
  if (fds[1].revents & POLLIN) outbox_.clear_event();
  if (!outbox_.flush()) return false;
  if (fds[0].revents & (POLLIN | POLLHUP | POLLERR)) return reader_.fill();
  return true;
}

void Session::handle(const MessageReader::Message& message) {
  if (!greeted_ && message.type != TB_MSG_HELLO) throw ProtocolError("message before HELLO");
  // Sent before the backend could know.
  if (refused_ && (message.type == TB_MSG_LAYOUT || message.type == TB_MSG_SEGMENTS || message.type == TB_MSG_SNAPSHOT))
    return;
  refused_ = false;
  switch (message.type) {
    case TB_MSG_HELLO: return hello(message.payload);
    case TB_MSG_STATUS: return send_status();
    case TB_MSG_CACHE_REPORT: return report_cache();
    case TB_MSG_TOPOLOGY: return report_topology();
    case TB_MSG_CACHE_DROP: return drop_cached(message.payload);
    case TB_MSG_FILES: return files(message.payload);
    case TB_MSG_PREPARE: return prepare(message.payload);
    case TB_MSG_QUERY: return query(message.payload);
    case TB_MSG_QUERY_CLOSE: return close_query();
    case TB_MSG_ATTACH: return attach(message.payload);
    default: break;
  }
  if (ExportSession::is_ours(message.type)) return exports(message);
  const bool known = message.type == TB_MSG_CHUNK || message.type == TB_MSG_CHUNK_RELEASE ||
                     message.type == TB_MSG_SLOT_FREE || message.type == TB_MSG_INPUT_END ||
                     message.type == TB_MSG_LAYOUT || message.type == TB_MSG_SEGMENTS || message.type == TB_MSG_PART ||
                     message.type == TB_MSG_SNAPSHOT || message.type == TB_MSG_STREAM_TAKEN;
  if (!known) throw ProtocolError("unexpected message " + std::to_string(message.type));
  if (!query_) throw ProtocolError("message " + std::to_string(message.type) + " without a query");
  const Span span(query_->profile(), TB_SPAN_MESSAGE, message.type);
  switch (message.type) {
    case TB_MSG_CHUNK: return query_->input().chunk(parse_chunk(message.payload));
    case TB_MSG_CHUNK_RELEASE: return query_->input().chunk_release(read_struct<TbChunkRelease>(message.payload));
    case TB_MSG_SLOT_FREE: return query_->slot_free(read_struct<TbSlotFree>(message.payload));
    case TB_MSG_STREAM_TAKEN: return query_->stream_taken();
    case TB_MSG_LAYOUT: return layout(message.payload);
    case TB_MSG_SEGMENTS: return query_->input().segments(parse_segments(message.payload));
    case TB_MSG_SNAPSHOT: return query_->input().snapshot(parse_snapshot(message.payload));
    case TB_MSG_PART: return query_->input().part(parse_part(message.payload));
    default: return query_->input().end();
  }
}

void Session::hello(std::span<const uint8_t> payload) {
  const auto hello = read_struct<TbHello>(payload);
  if (greeted_) throw ProtocolError("HELLO twice");
  if (hello.magic != TB_WIRE_MAGIC) throw ProtocolError("no HELLO of pg_turbine");
  if (!equal_secrets(hello.nonce, context_.nonce.data(), context_.nonce.size())) throw ProtocolError("wrong nonce");
  // A backend of another release learns our version from WELCOME and leaves; nothing else is taken from it.
  greeted_ = hello.version == TB_WIRE_VERSION;
  if (!greeted_) log_other_release(hello.version);
  peer_pid_ = hello.pid;
  TbWelcome welcome{};
  welcome.version = TB_WIRE_VERSION;
  welcome.ndevices = static_cast<uint32_t>(context_.engine.devices.size());
  welcome.generation = context_.generation;
  outbox_.post(TB_MSG_WELCOME, bytes_of(welcome), -1);
}

void Session::files(std::span<const uint8_t> payload) {
  const auto files = read_struct<TbFiles>(payload);
  if (files.count == 0 || files.count > TB_MAX_FDS) throw ProtocolError("FILES: bad count");
  if (query_) return query_->input().files(files.first_file, reader_.take_fds(files.count));
  if (!files_.add(files.first_file, reader_.take_fds(files.count))) throw ProtocolError("FILES: bad file numbers");
}

void Session::query(std::span<const uint8_t> payload) {
  if (query_ || attachment_) throw ProtocolError("QUERY within a query");
  const QueryRequest request = parse_query(payload);
  RelationFiles files = std::move(files_);
  files_ = RelationFiles();
  try {
    query_ = std::make_unique<QueryExecution>(context_.engine, context_.exports, outbox_, request, std::move(files),
                                              tables_, &last_slot_memory_, [this] { return peer_gone(); });
    context_.open_queries++;
  } catch (const DeviceError& e) {
    refuse(e.reason, e.what());
    refused_ = true;
  } catch (const std::bad_alloc&) {
    refuse(TB_FALLBACK_HOST_MEMORY, "turbined is out of memory");
    refused_ = true;
  }
}

/* Copies for other processes: the files before are the columns of one. */
void Session::exports(const MessageReader::Message& message) {
  if (query_ || attachment_) throw ProtocolError("message about exports within a query");
  if (message.type == TB_MSG_EXPORT_LIST) return ExportSession::list(context_.exports, outbox_);
  if (!exports_) exports_.emplace(context_.exports, context_.engine.streamed_batches, outbox_, peer_pid_);
  std::vector<UniqueFd> files;
  if (message.type == TB_MSG_EXPORT_CREATE)
    for (const int file : files_.take_all()) files.emplace_back(file);
  exports_->handle(message, std::move(files));
}

void Session::layout(std::span<const uint8_t> payload) {
  query_->input().layout(parse_layout(payload), [this] { return peer_gone(); });
}

/* The query is over before it began: so is the join that it was part of. */
void Session::refuse(uint32_t reason, const std::string& message) {
  tables_.clear();
  log_message(LogLevel::kDebug, "query of backend %d refused: %s", peer_pid_, message.c_str());
  const TbFailure failure = make_failure(reason, 0, message);
  outbox_.post(TB_MSG_REFUSED, bytes_of(failure), -1);
}

/* What cannot be compiled, or not there, is the QUERY's to tell. */
void Session::prepare(std::span<const uint8_t> payload) {
  const auto [prepare, blob] = parse_prepare(payload);
  try {
    auto program = std::make_shared<const Program>(Program::parse(blob));
    Engine& engine = context_.engine;
    Device& device = *engine.devices[choose_device(engine, *program, prepare.device, prepare.flags).device];
    engine.compile_ahead.start(device, std::move(program));
  } catch (const ProgramError& e) {
    throw ProtocolError(e.what());
  } catch (const DeviceError& e) {
    log_message(LogLevel::kDebug, "backend %d prepares in vain: %s", peer_pid_, e.what());
  }
}

/* A feeder of another session's query. */
void Session::attach(std::span<const uint8_t> payload) {
  const auto attach = read_struct<TbAttach>(payload);
  if (query_ || attachment_) throw ProtocolError("ATTACH to more than one thing");
  if (attach.generation == context_.generation)
    if (auto attachment = context_.engine.leases.attach(attach.lease)) attachment_.emplace(std::move(*attachment));
  if (!attachment_) return refuse(TB_FALLBACK_NO_SERVICE, "the query to be fed is over");
  const SlotMemory& memory = attachment_->memory();
  TbAttached attached{};
  attached.memory_id = memory.id();
  attached.memory_size = memory.size();
  outbox_.post(TB_MSG_ATTACHED, bytes_of(attached), memory.fd());
}

/* The query went well: a table that it built is kept for those to come. */
void Session::end_query() {
  const bool built = query_->built();
  release_query();
  if (!built) tables_.clear();
}

/* The backend gives up a query, or between queries a join that it has begun. */
void Session::close_query() {
  release_query();
  tables_.clear();
}

void Session::release_query() {
  files_.close_all();
  if (!query_) return;
  query_.reset();
  context_.open_queries--;
}

void Session::send_status() {
  Engine& engine = context_.engine;
  TbStatusReply reply{};
  reply.generation = context_.generation;
  reply.pid = getpid();
  reply.ndevices = static_cast<uint32_t>(engine.devices.size());
  reply.shared_bytes = engine.slot_memory.total_bytes();
  reply.sessions = context_.sessions;
  reply.open_queries = context_.open_queries;
  const CodeCache::Counters counters = engine.code.counters();
  reply.code_compiled = counters.compiled;
  reply.code_memory_hits = counters.memory_hits;
  reply.code_disk_hits = counters.disk_hits;
  std::vector<uint8_t> payload(sizeof reply + reply.ndevices * sizeof(TbDeviceInfo));
  memcpy(payload.data(), &reply, sizeof reply);
  for (uint32_t i = 0; i < reply.ndevices; i++) {
    const TbDeviceInfo info = engine.device_info(i);
    memcpy(payload.data() + sizeof reply + i * sizeof info, &info, sizeof info);
  }
  outbox_.post(TB_MSG_STATUS_REPLY, payload, -1);
}

void Session::report_topology() {
  const MachineTopology& topology = context_.engine.topology;
  const std::vector<TbTopologyDevice> devices = topology_records(topology);
  TbTopologyReply reply{};
  reply.ngpus = static_cast<uint32_t>(topology.gpus().size());
  reply.ndevices = static_cast<uint32_t>(devices.size());
  std::vector<uint8_t> payload(sizeof reply + devices.size() * sizeof(TbTopologyDevice));
  memcpy(payload.data(), &reply, sizeof reply);
  if (!devices.empty()) memcpy(payload.data() + sizeof reply, devices.data(), payload.size() - sizeof reply);
  outbox_.post(TB_MSG_TOPOLOGY_REPLY, payload, -1);
}

void Session::report_cache() {
  ColumnStore& store = context_.engine.column_store;
  const std::vector<TbCachedColumn> columns = store.report(TB_MAX_CACHED_COLUMNS);
  TbCacheReported reply{};
  reply.capacity = store.capacity();
  reply.used = store.used();
  reply.ncolumns = columns.size();
  std::vector<uint8_t> payload(sizeof reply + columns.size() * sizeof(TbCachedColumn));
  memcpy(payload.data(), &reply, sizeof reply);
  if (!columns.empty()) memcpy(payload.data() + sizeof reply, columns.data(), columns.size() * sizeof(TbCachedColumn));
  outbox_.post(TB_MSG_CACHE_REPORTED, payload, -1);
}

void Session::drop_cached(std::span<const uint8_t> payload) {
  const auto file = read_struct<TbFileIdentity>(payload);
  Engine& engine = context_.engine;
  const TbCacheDropped reply{engine.column_store.drop(file) +
                             engine.kept_tables.drop(file.tablespace, file.database, file.file_number)};
  for (const auto& device : engine.devices) device->forget_dropped();
  outbox_.post(TB_MSG_CACHE_DROPPED, bytes_of(reply), -1);
}

/* Asked while the session's thread waits for code or admission. */
bool Session::peer_gone() const {
  if (context_.stopping) return true;
  pollfd p{socket_.get(), POLLRDHUP, 0};
  return poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
}

}  // namespace turbine
