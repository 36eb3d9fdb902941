/*
 * exports.cc - see exports.h.
 *
 * Called by sessions' threads and by the export server's. A driver takes its time to free memory, so copies that go are
 * moved out under the lock and destroyed behind it: `gone` is declared before each lock.
 */
#include "engine/exports/exports.h"

#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "engine/wire/message_bytes.h"

namespace turbine {
namespace {

template <size_t kBytes>
std::array<uint8_t, kBytes> random_bytes() {
  std::array<uint8_t, kBytes> bytes{};
  size_t have = 0;
  while (have < kBytes) {
    const ssize_t n = getrandom(bytes.data() + have, kBytes - have, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw std::runtime_error(std::string("getrandom: ") + strerror(errno));
    have += static_cast<size_t>(n);
  }
  return bytes;
}

int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void append(std::vector<uint8_t>& to, const void* from, size_t bytes) {
  const auto* begin = static_cast<const uint8_t*>(from);
  to.insert(to.end(), begin, begin + bytes);
}

}  // namespace

Import::Import(std::shared_ptr<ExportedCopy> copy, std::vector<uint32_t> columns,
               std::shared_ptr<std::atomic<uint32_t>> importers)
    : copy_(std::move(copy)), columns_(std::move(columns)), importers_(std::move(importers)) {
  ++*importers_;
}

Import::~Import() { --*importers_; }

std::vector<int> Import::descriptors() const {
  std::vector<int> descriptors;
  for (const uint32_t column : columns_) descriptors.push_back(copy_->columns[column].descriptor());
  return descriptors;
}

Exports::Exports(const Devices& devices, Admission& admission) : devices_(devices), admission_(admission) {
  for (size_t i = 0; i < devices.size(); i++) ledgers_.push_back(std::make_shared<ExportLedger>());
}

/* Queries keep at least half of each device's memory: they wait for nobody who holds a copy. */
ExportCharge Exports::charge(uint32_t device, uint64_t bytes) {
  const uint64_t most = admission_.usage(device).budget / 2;
  if (bytes > most || ledgers_[device]->used > most - bytes)
    throw DeviceError(
        device == TB_DEVICE_HOST ? TB_FALLBACK_HOST_MEMORY : TB_FALLBACK_DEVICE_MEMORY,
        "results and exports may take half of the memory for queries, " + std::to_string(most >> 20) + " MB");
  return ExportCharge(admission_.reserve(device, bytes), ledgers_[device]);
}

void Exports::reserve(ExportCharges& charges, uint64_t have, uint64_t bytes) {
  if (bytes > have) charges.push_back(charge(TB_DEVICE_HOST, bytes - have));
}

/* The GPU with the fewest queries, or the host. The host stands in for a device that is not there, too. */
uint32_t Exports::choose_device(const ExportRequest& request) const {
  if (request.create.device != TB_EXPORT_ANY_DEVICE) {
    if (request.create.device < devices_.size()) return request.create.device;
    if (request.create.flags & TB_EXPORT_MUST) throw DeviceError(TB_FALLBACK_NO_DEVICE, "there is no such device");
    return TB_DEVICE_HOST;
  }
  uint32_t best = TB_DEVICE_HOST, fewest = UINT32_MAX;
  for (uint32_t i = 1; i < devices_.size(); i++) {
    const TbDeviceInfo info = devices_[i]->info();
    if (!info.usable || info.queries_running >= fewest) continue;
    best = i;
    fewest = info.queries_running;
  }
  if (best == TB_DEVICE_HOST && (request.create.flags & TB_EXPORT_MUST))
    throw DeviceError(TB_FALLBACK_NO_DEVICE, "there is no usable GPU");
  return best;
}

std::vector<uint8_t> Exports::keep(DeviceQuery& query, uint32_t device, uint64_t rows, const KeptRowLayout& layout,
                                   std::span<const TbColumnLeft> columns) {
  Left left{rows, device, {}, {}, {}, Clock::now() + std::chrono::seconds(TB_LEFT_SECONDS)};
  uint64_t bytes = 0;
  for (const TbColumnLeft& column : columns) {
    if (column.column >= layout.columns.size() || tb_export_width(column.format) == 0)
      throw DeviceError(TB_FALLBACK_PROTOCOL, "a column that there is not");
    ExportRegions regions = device_column_regions(column.format, rows, layout.columns[column.column].nullable);
    bytes += device_pages(place_on_device(regions));
    left.formats.push_back(column.format);
  }
  left.memory.push_back(charge(device, bytes));
  left.columns = query.take_columns(columns);

  const ExportId id = random_bytes<TB_EXPORT_ID_BYTES>();
  TbResultLeft head{};
  memcpy(head.id, id.data(), id.size());
  head.rows = rows;
  head.device = device;
  head.ncolumns = static_cast<uint32_t>(left.columns.size());
  std::vector<uint8_t> payload;
  append(payload, &head, sizeof head);
  for (const DeviceColumn& column : left.columns) append(payload, &column.nulls, sizeof column.nulls);
  Gone gone;
  std::lock_guard lock(mutex_);
  forget_ended_locked(gone);
  left_.emplace(id, std::move(left));
  return payload;
}

/* The request's columns get what a query has left. Returns the device. */
uint32_t Exports::take_left(ExportRequest& request, ExportCharges& charges) {
  ExportId id;
  memcpy(id.data(), request.create.left, id.size());
  AllLeft::node_type found;
  {
    std::lock_guard lock(mutex_);
    found = left_.extract(id);
  }
  if (found.empty()) throw DeviceError(TB_FALLBACK_DEVICE_MEMORY, "the columns that a query has left are gone");
  Left& left = found.mapped();
  if (left.rows != request.create.rows || left.columns.size() != request.columns.size())
    throw ProtocolError("EXPORT_CREATE: not what the query has left");
  for (size_t i = 0; i < left.columns.size(); i++) {
    const TbExportColumn& shape = request.columns[i].shape;
    if (shape.format != left.formats[i] || shape.nulls != left.columns[i].nulls)
      throw ProtocolError("EXPORT_CREATE: not what the query has left");
    take_memory(request.columns[i], std::move(left.columns[i]));
  }
  charges = std::move(left.memory);
  return left.device;
}

/* The request's columns get their memory on the device that it names. Returns the device. */
uint32_t Exports::place(ExportRequest& request, ExportCharges& charges) {
  if (request.create.flags & TB_EXPORT_LEFT) return take_left(request, charges);
  if (request.placed_on != TB_DEVICE_HOST) {
    uint64_t bytes = 0;
    for (const ExportedColumn& column : request.columns) bytes += column.allocation;
    charges.push_back(charge(request.placed_on, bytes));
    return request.placed_on;
  }
  const uint32_t device = choose_device(request);
  if (device == TB_DEVICE_HOST) return device;
  // Out of memory there: the host's is as right, if slower to read.
  try {
    ExportCharge on_device = charge(device, device_bytes(request));
    move_to_device(request.columns, *devices_[device]);
    charges.clear();
    charges.push_back(std::move(on_device));
    return device;
  } catch (const DeviceError&) {
    if (request.create.flags & TB_EXPORT_MUST) throw;
    return TB_DEVICE_HOST;
  }
}

TbExportInfo Exports::create(uint64_t session, int pid, ExportRequest request, ExportCharges charges) {
  auto copy = std::make_shared<ExportedCopy>();
  const uint32_t device = place(request, charges);
  if (device != TB_DEVICE_HOST) copy->place = devices_[device]->export_place();
  copy->source = std::move(request.source);
  copy->revision = std::move(request.revision);
  copy->columns = std::move(request.columns);
  copy->memory = std::move(charges);
  TbExportInfo& info = copy->info;
  info.rows = request.create.rows;
  for (const ExportedColumn& column : copy->columns)
    info.bytes += column.memory ? column.allocation
                                : column.values.bytes + column.validity.bytes + column.bytes.bytes + column.bits.bytes;
  info.created_us = now_us();
  info.device = device;
  info.ncolumns = request.create.ncolumns;
  info.owner = request.create.owner;
  info.database = request.create.database;
  info.relation = request.create.relation;
  info.pid = pid;

  const ExportId id = random_bytes<TB_EXPORT_ID_BYTES>();
  Entry entry;
  entry.copy = std::move(copy);
  entry.importers = std::make_shared<std::atomic<uint32_t>>(0);
  entry.session = session;
  entry.named = (request.create.flags & TB_EXPORT_OF_TOKEN) == 0;
  std::lock_guard lock(mutex_);
  return info_of(id, copies_.emplace(id, std::move(entry)).first->second);
}

TbExportInfo Exports::info_of(const ExportId& id, const Entry& entry) const {
  TbExportInfo info = entry.copy->info;
  memcpy(info.id, id.data(), id.size());
  info.importers = *entry.importers;
  info.tokens = entry.tokens;
  info.kept = entry.kept;
  info.named = entry.named;
  return info;
}

Exports::Entry* Exports::find(uint64_t session, const ExportId& id) {
  const auto found = copies_.find(id);
  if (found == copies_.end() || (found->second.session != session && !found->second.kept)) return nullptr;
  return &found->second;
}

std::optional<ExportSecret> Exports::make_token(uint64_t session, const TbExportToken& terms,
                                                std::span<const uint32_t> columns) {
  ExportId id;
  memcpy(id.data(), terms.id, id.size());
  std::lock_guard lock(mutex_);
  Entry* const entry = find(session, id);
  if (!entry) return std::nullopt;
  Token token{id, session, {columns.begin(), columns.end()}, terms.uid, terms.flags, std::nullopt};
  if (columns.empty())
    for (uint32_t i = 0; i < entry->copy->info.ncolumns; i++) token.columns.push_back(i);
  for (const uint32_t column : token.columns)
    if (column >= entry->copy->info.ncolumns) return std::nullopt;
  if (terms.lifetime_s > 0) token.end = Clock::now() + std::chrono::seconds(terms.lifetime_s);
  if (terms.flags & TB_EXPORT_KEEP) entry->kept = true;
  entry->tokens++;
  const ExportSecret secret = random_bytes<TB_EXPORT_SECRET_BYTES>();
  tokens_.emplace(secret, std::move(token));
  return secret;
}

Exports::Copies::iterator Exports::erase(Copies::iterator copy, Gone& gone) {
  gone.copies.push_back(std::move(copy->second.copy));
  return copies_.erase(copy);
}

/* The last token of a copy that nothing names takes the copy along. */
Exports::Tokens::iterator Exports::drop(Tokens::iterator token, Gone& gone) {
  const auto copy = copies_.find(token->second.copy);
  copy->second.tokens--;
  if (copy->second.tokens == 0 && !copy->second.named) erase(copy, gone);
  return tokens_.erase(token);
}

void Exports::forget_ended_locked(Gone& gone) {
  const auto now = Clock::now();
  for (auto token = tokens_.begin(); token != tokens_.end();)
    token = token->second.end && *token->second.end <= now ? drop(token, gone) : std::next(token);
  for (auto left = left_.begin(); left != left_.end();) {
    if (left->second.end > now) {
      ++left;
      continue;
    }
    gone.left.push_back(std::move(left->second));
    left = left_.erase(left);
  }
}

void Exports::forget_ended() {
  Gone gone;
  std::lock_guard lock(mutex_);
  forget_ended_locked(gone);
}

std::unique_ptr<Import> Exports::redeem(const ExportSecret& secret, uint32_t uid) {
  Gone gone;
  std::lock_guard lock(mutex_);
  const auto found = tokens_.find(secret);
  if (found == tokens_.end()) return nullptr;
  const Token& token = found->second;
  if (token.end && *token.end <= Clock::now()) return nullptr;
  if (!(token.flags & TB_EXPORT_ONCE) && token.uid != uid) return nullptr;
  const Entry& entry = copies_.at(token.copy);
  auto import = std::make_unique<Import>(entry.copy, token.columns, entry.importers);
  if (token.flags & TB_EXPORT_ONCE) drop(found, gone);
  return import;
}

uint32_t Exports::release(uint64_t session, const TbExportRelease& release) {
  Gone gone;
  std::lock_guard lock(mutex_);
  const bool any = release.flags & TB_EXPORT_ANY_OWNER;
  if (release.flags & TB_EXPORT_RELEASE_TOKEN) {
    ExportSecret secret;
    memcpy(secret.data(), release.key, secret.size());
    const auto token = tokens_.find(secret);
    if (token == tokens_.end()) return 0;
    if (!any && copies_.at(token->second.copy).copy->info.owner != release.owner) return 0;
    drop(token, gone);
    return 1;
  }
  ExportId id;
  memcpy(id.data(), release.key, id.size());
  const Entry* const entry = find(session, id);
  if (!entry || (!any && entry->copy->info.owner != release.owner)) return 0;
  // Its tokens go along.
  std::erase_if(tokens_, [&](const auto& token) { return token.second.copy == id; });
  erase(copies_.find(id), gone);
  return 1;
}

void Exports::end_session(uint64_t session) {
  Gone gone;
  std::lock_guard lock(mutex_);
  for (auto token = tokens_.begin(); token != tokens_.end();) {
    const bool stays = token->second.session != session || (token->second.flags & TB_EXPORT_KEEP);
    token = stays ? std::next(token) : drop(token, gone);
  }
  for (auto copy = copies_.begin(); copy != copies_.end();) {
    const bool stays = copy->second.session != session || copy->second.kept;
    copy = stays ? std::next(copy) : erase(copy, gone);
  }
}

std::vector<TbExportInfo> Exports::list(size_t most) {
  Gone gone;
  std::lock_guard lock(mutex_);
  forget_ended_locked(gone);
  std::vector<TbExportInfo> infos;
  for (const auto& [id, entry] : copies_) {
    if (infos.size() == most) break;
    infos.push_back(info_of(id, entry));
  }
  return infos;
}

std::vector<uint8_t> Exports::describe(uint64_t session, const ExportId& id) {
  std::vector<uint8_t> payload;
  std::lock_guard lock(mutex_);
  const Entry* const entry = find(session, id);
  if (!entry) return payload;
  const TbExportInfo info = info_of(id, *entry);
  append(payload, &info, sizeof info);
  for (const ExportedColumn& column : entry->copy->columns) append(payload, &column.shape, sizeof column.shape);
  for (const ExportedColumn& column : entry->copy->columns) {
    append(payload, column.name.data(), column.name.size());
    append(payload, column.type.data(), column.type.size());
  }
  return payload;
}

}  // namespace turbine
