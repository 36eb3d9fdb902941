/*
 * outbox.cc - messages on their way to one backend.
 *
 * Owns the queue of what the socket did not take. Any thread posts; the session's thread
 * sends. Nothing here may wait for the peer.
 */
#include "daemon/outbox.h"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace turbine {

Outbox::Outbox(int socket) : socket_(socket), event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_) throw std::runtime_error(std::string("eventfd: ") + strerror(errno));
}

Outbox::Item Outbox::item_of(TbMessageType type, std::span<const uint8_t> payload) {
  Item item;
  const TbMessage header{type, static_cast<uint32_t>(payload.size())};
  item.bytes.reserve(sizeof header + payload.size());
  item.bytes.append(reinterpret_cast<const char*>(&header), sizeof header);
  item.bytes.append(reinterpret_cast<const char*>(payload.data()), payload.size());
  return item;
}

void Outbox::post_later(TbMessageType type, std::span<const uint8_t> payload) {
  const Item item = item_of(type, payload);
  std::lock_guard lock(mutex_);
  waiting_ += item.bytes;
}

void Outbox::post_waiting() {
  std::lock_guard lock(mutex_);
  if (waiting_.empty()) return;
  items_.emplace_back().bytes = std::exchange(waiting_, {});
  send_or_wake_locked();
}

void Outbox::forget_waiting() {
  std::lock_guard lock(mutex_);
  waiting_.clear();
}

void Outbox::post(TbMessageType type, std::span<const uint8_t> payload, int fd) {
  Item item = item_of(type, payload);
  if (fd >= 0) item.fd = UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 0));

  std::lock_guard lock(mutex_);
  // A message that should bring a descriptor must not go without.
  if (fd >= 0 && !item.fd) broken_ = true;
  if (item.fd && !waiting_.empty())
    items_.emplace_back().bytes = std::exchange(waiting_, {});
  else
    item.bytes.insert(0, std::exchange(waiting_, {}));
  add_locked(std::move(item));
  if (holder_ != std::this_thread::get_id()) send_or_wake_locked();
}

/* Descriptors go with the first byte of their piece. */
void Outbox::add_locked(Item item) {
  if (items_.empty() || item.fd || items_.back().sent > 0)
    items_.push_back(std::move(item));
  else
    items_.back().bytes += item.bytes;
}

void Outbox::hold() {
  std::lock_guard lock(mutex_);
  holder_ = std::this_thread::get_id();
}

bool Outbox::release() {
  std::lock_guard lock(mutex_);
  holder_ = {};
  return flush_locked();
}

/* What the socket does not take now is the session thread's. */
void Outbox::send_or_wake_locked() {
  if (!flush_locked() || !items_.empty()) wake();
}

void Outbox::wake() {
  const uint64_t one = 1;
  // Fails only when the counter is full, and then it is readable anyway.
  if (write(event_.get(), &one, sizeof one) < 0) return;
}

void Outbox::clear_event() {
  uint64_t count;
  if (read(event_.get(), &count, sizeof count) < 0) return;
}

bool Outbox::flush() {
  std::lock_guard lock(mutex_);
  return flush_locked();
}

bool Outbox::pending() {
  std::lock_guard lock(mutex_);
  return !items_.empty();
}

bool Outbox::flush_locked() {
  while (!items_.empty() && !broken_) {
    Item& item = items_.front();
    iovec part{item.bytes.data() + item.sent, item.bytes.size() - item.sent};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    if (item.fd && item.sent == 0) {
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      cmsghdr* header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int));
      const int fd = item.fd.get();
      memcpy(CMSG_DATA(header), &fd, sizeof fd);
    }
    const ssize_t n = sendmsg(socket_, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return true;
    if (n < 0) {
      broken_ = true;
      break;
    }
    item.sent += static_cast<size_t>(n);
    if (item.sent == item.bytes.size()) items_.pop_front();
  }
  return !broken_;
}

}  // namespace turbine
