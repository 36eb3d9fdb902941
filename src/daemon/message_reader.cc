/*
 * message_reader.cc - messages and descriptors that arrive from one backend.
 *
 * Owns the bytes and descriptors that have arrived and were not taken yet. Called by the
 * session's thread alone. Lengths are the peer's claim: none is trusted before it was checked
 * against the protocol's limit.
 */
#include "daemon/message_reader.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "engine/wire/protocol_error.h"

namespace turbine {
namespace {

constexpr size_t kReceive = 64 << 10;
constexpr size_t kMaxSpareFds = 4 * TB_MAX_FDS;

}  // namespace

bool MessageReader::fill() {
  if (consumed_ > 0) {
    memmove(buffer_.data(), buffer_.data() + consumed_, size_ - consumed_);
    size_ -= consumed_;
    consumed_ = 0;
  }
  if (buffer_.size() < size_ + kReceive) buffer_.resize(size_ + kReceive);

  iovec part{buffer_.data() + size_, buffer_.size() - size_};
  alignas(cmsghdr) char control[CMSG_SPACE(TB_MAX_FDS * sizeof(int)) + CMSG_SPACE(16)];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t n = recvmsg(socket_, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (n < 0) return errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK;

  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; i++) {
      int fd;
      memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
      fds_.emplace_back(fd);
    }
  }
  if (message.msg_flags & MSG_CTRUNC) throw ProtocolError("too many descriptors in one message");
  if (fds_.size() > kMaxSpareFds) throw ProtocolError("too many descriptors");
  if (n == 0) return false;
  size_ += static_cast<size_t>(n);
  return true;
}

std::optional<MessageReader::Message> MessageReader::next() {
  TbMessage header;
  if (size_ - consumed_ < sizeof header) return {};
  memcpy(&header, buffer_.data() + consumed_, sizeof header);
  if (header.length > TB_MAX_MESSAGE) throw ProtocolError("message is too long");
  if (size_ - consumed_ < sizeof header + header.length) return {};
  message_.resize((header.length + 7) / 8);
  if (header.length > 0) memcpy(message_.data(), buffer_.data() + consumed_ + sizeof header, header.length);
  consumed_ += sizeof header + header.length;
  return Message{header.type, {reinterpret_cast<const uint8_t*>(message_.data()), header.length}};
}

std::vector<int> MessageReader::take_fds(size_t count) {
  if (fds_.size() < count) throw ProtocolError("message without its descriptors");
  std::vector<int> fds;
  for (; count > 0; count--) {
    fds.push_back(fds_.front().release());
    fds_.pop_front();
  }
  return fds;
}

}  // namespace turbine
