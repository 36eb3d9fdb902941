/*
 * message_reader.h - messages and descriptors that arrive from one backend.
 *
 * Knows framing only: a header, its payload, descriptors in the order in which
 * they came. Never blocks.
 */
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "engine/code/unique_fd.h"
#include "turbine/wire.h"

namespace turbine {

class MessageReader {
 public:
  explicit MessageReader(int socket) : socket_(socket) {}

  /* Takes what the socket has. False: the peer has closed it, or it broke.
   * Throws ProtocolError. */
  bool fill();

  struct Message {
    uint32_t type;
    std::span<const uint8_t> payload;  // 8-aligned; until the next call
  };
  /* The next whole message. Throws ProtocolError. */
  std::optional<Message> next();

  /* The oldest `count` descriptors. Throws ProtocolError if there are fewer. */
  std::vector<int> take_fds(size_t count);

 private:
  const int socket_;
  std::vector<uint8_t> buffer_;
  size_t size_ = 0;      // received bytes in the buffer
  size_t consumed_ = 0;  // of them, returned by next()
  std::vector<uint64_t> message_;
  std::deque<UniqueFd> fds_;
};

}  // namespace turbine
