/*
 * export_server.cc - see export_server.h.
 *
 * Owns the socket and the importers' connections. Made by main.cc. An importer is anybody: nothing that it sends or
 * leaves unread may cost others more than a place among the connections.
 */
#include "daemon/export_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <utility>
#include <vector>

#include "daemon/log.h"

namespace turbine {
namespace {

constexpr int kExportBacklog = 128;
constexpr size_t kMostImporters = 4096;
constexpr size_t kMostImportersOfUser = 1024;
constexpr std::chrono::seconds kPatience{10};
constexpr uint32_t kMostFailures = 100;  // of a user in a second
constexpr int kTickMs = 1000;

[[noreturn]] void fail_export_socket(const std::string& what) {
  throw std::runtime_error(what + ": " + strerror(errno));
}

/* The new socket takes the place of the old one's name at once: nobody finds none. */
UniqueFd listen_for_all(const std::string& path) {
  const std::string fresh = path + ".new";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (fresh.size() >= sizeof address.sun_path)
    throw std::runtime_error("the export socket's path is too long: " + path);
  memcpy(address.sun_path, fresh.data(), fresh.size());
  struct stat found;
  if (lstat(path.c_str(), &found) == 0 && !S_ISSOCK(found.st_mode))
    throw std::runtime_error(path + ": the file is there and no socket");
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) fail_export_socket("socket");
  unlink(fresh.c_str());
  if (bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) fail_export_socket(fresh);
  if (chmod(fresh.c_str(), 0666) != 0) fail_export_socket(fresh);
  if (listen(fd.get(), kExportBacklog) != 0) fail_export_socket("listen");
  if (rename(fresh.c_str(), path.c_str()) != 0) fail_export_socket(path);
  return fd;
}

std::string message_json(const char* message, const char* hint) {
  return std::string("{\"message\":\"") + message + "\",\"hint\":\"" + hint + "\"}";
}

}  // namespace

ExportServer::ExportServer(Exports& exports, std::string path)
    : exports_(exports), path_(std::move(path)), listener_(listen_for_all(path_)), stop_(eventfd(0, EFD_CLOEXEC)) {
  struct stat own;
  if (!stop_ || stat(path_.c_str(), &own) != 0) fail_export_socket(path_);
  inode_ = own.st_ino;
  thread_ = std::thread([this] { run(); });
}

ExportServer::~ExportServer() {
  const uint64_t one = 1;
  if (write(stop_.get(), &one, sizeof one) < 0) log_message(LogLevel::kError, "export socket: %s", strerror(errno));
  thread_.join();
  // Another server may have its own there by now.
  struct stat found;
  if (lstat(path_.c_str(), &found) == 0 && found.st_ino == inode_) unlink(path_.c_str());
}

void ExportServer::run() noexcept {
  try {
    serve();
  } catch (const std::exception& e) {
    log_message(LogLevel::kError, "the export socket is closed: %s", e.what());
    listener_.reset();
  }
}

void ExportServer::serve() {
  std::vector<pollfd> fds;
  while (true) {
    const bool full = importers_.size() >= kMostImporters;
    fds.clear();
    fds.push_back({stop_.get(), POLLIN, 0});
    fds.push_back({listener_.get(), static_cast<short>(full ? 0 : POLLIN), 0});
    for (const Importer& importer : importers_) {
      const bool sending = !importer.answer.empty() && importer.sent < importer.answer.size();
      fds.push_back({importer.socket.get(), static_cast<short>(sending ? POLLOUT : POLLIN), 0});
    }
    if (poll(fds.data(), fds.size(), kTickMs) < 0 && errno != EINTR) fail_export_socket("poll");
    if (fds[0].revents != 0) return;
    const auto now = Clock::now();
    size_t i = 2;
    for (auto importer = importers_.begin(); importer != importers_.end(); i++) {
      const bool late = !importer->answered && importer->deadline < now;
      const bool stays = !late && (fds[i].revents == 0 || attend(*importer, fds[i].revents));
      importer = stays ? std::next(importer) : importers_.erase(importer);
    }
    if (fds[1].revents & POLLIN) accept_all();
    exports_.forget_ended();
  }
}

void ExportServer::accept_all() {
  while (importers_.size() < kMostImporters) {
    UniqueFd socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) usleep(10000);  // it stays ready: do not spin
      return;
    }
    ucred peer{};
    socklen_t size = sizeof peer;
    if (getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) continue;
    const auto same = std::count_if(importers_.begin(), importers_.end(),
                                    [&](const Importer& other) { return other.uid == peer.uid; });
    if (static_cast<size_t>(same) >= kMostImportersOfUser) continue;
    Importer& importer = importers_.emplace_back();
    importer.socket = std::move(socket);
    importer.uid = peer.uid;
    importer.deadline = Clock::now() + kPatience;
  }
}

/* False: the connection is over. */
bool ExportServer::attend(Importer& importer, short events) {
  if (events & (POLLERR | POLLNVAL)) return false;
  if (events & POLLOUT) return send_answer(importer);
  if (events & (POLLIN | POLLHUP)) return receive(importer);
  return true;
}

bool ExportServer::receive(Importer& importer) {
  if (importer.answered) return false;  // it is closed, or speaks when all has been said
  auto* const to = reinterpret_cast<uint8_t*>(&importer.request);
  const ssize_t n = recv(importer.socket.get(), to + importer.received, sizeof importer.request - importer.received, 0);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
  if (n <= 0) return false;
  importer.received += static_cast<size_t>(n);
  if (importer.received < sizeof importer.request) return true;
  answer(importer);
  return send_answer(importer);
}

bool ExportServer::too_many_failures(uint32_t uid) {
  const auto found = failures_.find(uid);
  if (found == failures_.end()) return false;
  if (Clock::now() - found->second.since >= std::chrono::seconds(1)) {
    failures_.erase(found);
    return false;
  }
  return found->second.count >= kMostFailures;
}

void ExportServer::note_failure(uint32_t uid) {
  Failures& failures = failures_.try_emplace(uid, Failures{Clock::now()}).first->second;
  failures.count++;
}

void ExportServer::answer(Importer& importer) {
  if (memcmp(importer.request.magic, "PGTI", 4) != 0 || importer.request.version != TB_IMPORT_VERSION) {
    note_failure(importer.uid);
    return fill_answer(importer, TB_IMPORT_DAMAGED,
                       message_json("this is no request of this version", "Use the package of the server's release."));
  }
  if (too_many_failures(importer.uid))
    return fill_answer(importer, TB_IMPORT_BUSY,
                       message_json("too many requests of this user were refused", "Try again in a second."));
  ExportSecret secret;
  memcpy(secret.data(), importer.request.secret, secret.size());
  importer.import = exports_.redeem(secret, importer.uid);
  if (!importer.import) {
    note_failure(importer.uid);
    return fill_answer(importer, TB_IMPORT_REFUSED,
                       message_json("the token is not valid",
                                    "It may have ended, been used or revoked, or belong to another user. Tokens end "
                                    "with their session."));
  }
  importer.descriptors = importer.import->descriptors();
  fill_answer(importer, TB_IMPORT_GRANTED, importer.import->describe());
}

void ExportServer::fill_answer(Importer& importer, uint32_t status, const std::string& json) {
  TbImportReply reply{{'P', 'G', 'T', 'R'},
                      status,
                      static_cast<uint32_t>(json.size()),
                      static_cast<uint32_t>(importer.descriptors.size())};
  const size_t groups = (importer.descriptors.size() + TB_IMPORT_FDS - 1) / TB_IMPORT_FDS;
  importer.answer.assign(reinterpret_cast<const char*>(&reply), sizeof reply);
  importer.answer += json;
  importer.head = importer.answer.size();
  importer.answer.append(groups, 'F');
}

/* What the socket takes; the rest when it is ready. */
bool ExportServer::send_answer(Importer& importer) {
  while (importer.sent < importer.answer.size()) {
    const bool in_head = importer.sent < importer.head;
    iovec part{importer.answer.data() + importer.sent, in_head ? importer.head - importer.sent : 1};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int) * TB_IMPORT_FDS)];
    if (!in_head) {
      const size_t first = (importer.sent - importer.head) * TB_IMPORT_FDS;
      const size_t bytes = std::min<size_t>(importer.descriptors.size() - first, TB_IMPORT_FDS) * sizeof(int);
      message.msg_control = control;
      message.msg_controllen = CMSG_SPACE(bytes);
      cmsghdr* const header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(bytes);
      memcpy(CMSG_DATA(header), importer.descriptors.data() + first, bytes);
    }
    const ssize_t n = sendmsg(importer.socket.get(), &message, MSG_NOSIGNAL);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (n <= 0) return false;
    importer.sent += static_cast<size_t>(n);
  }
  importer.answered = true;
  return importer.import != nullptr;
}

}  // namespace turbine
