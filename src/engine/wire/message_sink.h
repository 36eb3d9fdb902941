/*
 * message_sink.h - where a query's messages to its backend go. The daemon's outbox
 * implements it.
 */
#pragma once

#include <cstdint>
#include <span>

#include "turbine/wire.h"

namespace turbine {

/* Any thread; never blocks on the peer. */
class MessageSink {
 public:
  virtual ~MessageSink() = default;
  /* `fd` (or -1) is duplicated or sent before this returns. */
  virtual void post(TbMessageType type, std::span<const uint8_t> payload, int fd) = 0;
  /* As post() without a descriptor, but may wait for the next post(), which must come,
   * or one of these: waiting messages are sent, or forgotten. */
  virtual void post_later(TbMessageType type, std::span<const uint8_t> payload) = 0;
  virtual void post_waiting() = 0;
  virtual void forget_waiting() = 0;
  /* Makes the session's thread call QueryExecution::advance() soon. */
  virtual void wake() = 0;
};

}  // namespace turbine
