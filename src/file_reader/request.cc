/*
 * request.cc - receives and parses requests: see request.h. The backend is trusted with
 * what it wants, but lengths and kinds are checked all the same.
 */
#include "file_reader/request.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "file_reader/reader_error.h"

namespace turbine::file_reader {

namespace {

constexpr uint32_t kMaxRequest = 64 << 20;
constexpr int kMaxDepth = 64;

[[noreturn]] void raise_protocol() { throw ReaderError(sqlstate::protocol, "malformed request to the file reader"); }

class RequestParser {
 public:
  explicit RequestParser(const std::vector<char>& bytes) : at_(bytes.data()), end_(at_ + bytes.size()) {}

  uint32_t number() {
    uint32_t value;
    std::memcpy(&value, take(sizeof(value)), sizeof(value));
    return value;
  }
  std::string text() {
    const uint32_t length = number();
    return {take(length), length};
  }
  Target target(int depth = 0) {
    const uint32_t kind = number();
    if (kind < TB_TARGET_BOOL || kind > TB_TARGET_GEOMETRY || depth > kMaxDepth) raise_protocol();
    Target target{static_cast<TbReaderTarget>(kind), {}, {}};
    if (kind == TB_TARGET_ARRAY) target.parts.push_back(this->target(depth + 1));
    if (kind == TB_TARGET_COMPOSITE) {
      for (uint32_t left = number(); left > 0; left--) {
        target.names.push_back(text());
        target.parts.push_back(this->target(depth + 1));
      }
    }
    return target;
  }
  bool at_end() const { return at_ == end_; }

 private:
  const char* take(size_t count) {
    if (static_cast<size_t>(end_ - at_) < count) raise_protocol();
    at_ += count;
    return at_ - count;
  }

  const char* at_;
  const char* const end_;
};

/* Reads exactly `count` bytes; takes the descriptor that comes with them. False: the peer
 * has closed the socket. */
bool receive(int socket, void* data, size_t count, int* file) {
  auto* at = static_cast<char*>(data);
  while (count > 0) {
    iovec part = {at, count};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message = {};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof(control);
    const ssize_t received = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return false;
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr; header = CMSG_NXTHDR(&message, header)) {
      if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
      if (*file >= 0) close(*file);
      std::memcpy(file, CMSG_DATA(header), sizeof(*file));
    }
    at += received;
    count -= static_cast<size_t>(received);
  }
  return true;
}

}  // namespace

std::optional<Request> receive_request(int socket) {
  uint32_t length = 0;
  int file = -1;
  if (!receive(socket, &length, sizeof(length), &file)) return std::nullopt;
  if (length > kMaxRequest) raise_protocol();
  std::vector<char> bytes(length);
  if (!receive(socket, bytes.data(), length, &file)) return std::nullopt;
  if (file < 0) raise_protocol();

  RequestParser parser(bytes);
  const uint32_t kind = parser.number();
  if (kind != TB_READER_DESCRIBE && kind != TB_READER_SCAN) raise_protocol();
  Request request{static_cast<TbReaderRequest>(kind), file, parser.text(), {}, {}};
  if (kind == TB_READER_SCAN) {
    for (uint32_t left = parser.number(); left > 0; left--) {
      std::string name = parser.text();
      request.columns.push_back({std::move(name), parser.target()});
    }
    for (uint32_t left = parser.number(); left > 0; left--) {
      Bound bound{parser.number(), static_cast<TbReaderCompare>(parser.number()), {}};
      for (uint32_t values = parser.number(); values > 0; values--) bound.values.push_back(parser.text());
      if (bound.column >= request.columns.size() || bound.compare < TB_COMPARE_LESS ||
          bound.compare > TB_COMPARE_GREATER || bound.values.empty())
        raise_protocol();
      request.bounds.push_back(std::move(bound));
    }
  }
  if (!parser.at_end()) raise_protocol();
  return request;
}

}  // namespace turbine::file_reader
