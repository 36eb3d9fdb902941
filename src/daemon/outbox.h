/*
 * outbox.h - messages on their way to one backend. Owned by the backend's session.
 *
 * Any thread posts. The socket takes what it can at once. The rest is kept in order, and
 * sent by the session's thread. So no device thread ever waits for a slow backend. The
 * protocol bounds what a backend can leave unread: a few messages a slot.
 */
#pragma once

#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "engine/code/unique_fd.h"
#include "engine/wire/message_sink.h"

namespace turbine {

class Outbox final : public MessageSink {
 public:
  /* `socket` outlives the outbox. */
  explicit Outbox(int socket);

  void post(TbMessageType type, std::span<const uint8_t> payload, int fd) override;
  void post_later(TbMessageType type, std::span<const uint8_t> payload) override;
  void post_waiting() override;
  void forget_waiting() override;
  void wake() override;

  /* The session's thread: what it posts itself waits for release(), and goes in as few pieces as possible, unless
   * another thread sends meanwhile. False if the connection is broken. */
  void hold();
  bool release();

  /* The session's thread: readable when there is work; cleared by it. */
  int event_fd() const { return event_.get(); }
  void clear_event();

  /* Sends what it can; false if the connection is broken. */
  bool flush();
  bool pending();  // waits for POLLOUT

 private:
  struct Item {
    std::string bytes;
    size_t sent = 0;
    UniqueFd fd;  // goes with the first byte
  };
  static Item item_of(TbMessageType type, std::span<const uint8_t> payload);
  void add_locked(Item item);
  void send_or_wake_locked();
  bool flush_locked();

  const int socket_;
  UniqueFd event_;
  std::mutex mutex_;
  std::deque<Item> items_;
  std::string waiting_;  // messages that go with the next that is posted, before it
  std::thread::id holder_;  // whose messages wait; none: nobody's
  bool broken_ = false;
};

}  // namespace turbine
