/*
 * query_report.h - what a query tells its backend: messages, one failure at most, and its figures.
 *
 * Nothing is posted after a failure, nor once the report is closed: the backend's next query would get it.
 * Any thread. Lock order: the query input's mutex, this one's, the outbox's.
 */
#pragma once

#include <atomic>
#include <mutex>
#include <span>

#include "engine/profile/query_totals.h"
#include "engine/wire/message_bytes.h"
#include "engine/wire/message_sink.h"

namespace turbine {

class QueryReport {
 public:
  explicit QueryReport(MessageSink& sink) : sink_(sink) {}

  QueryTotals totals;

  /* As those of MessageSink. */
  void post(TbMessageType type, std::span<const uint8_t> payload, int fd = -1) {
    std::lock_guard lock(mutex_);
    if (!failed_) sink_.post(type, payload, fd);
  }
  void post_later(TbMessageType type, std::span<const uint8_t> payload) {
    std::lock_guard lock(mutex_);
    if (!failed_) sink_.post_later(type, payload);
  }
  void post_waiting() {
    std::lock_guard lock(mutex_);
    if (!failed_) sink_.post_waiting();
  }
  void wake() {
    std::lock_guard lock(mutex_);
    if (!failed_) sink_.wake();
  }

  /* The first failure is told, and ends the query. */
  void fail(const TbFailure& failure) {
    std::lock_guard lock(mutex_);
    if (failed_) return;
    failed_ = true;
    sink_.post(TB_MSG_FAILED, bytes_of(failure), -1);
  }

  /* The query goes away. */
  void close() {
    std::lock_guard lock(mutex_);
    failed_ = true;
    sink_.forget_waiting();
  }

  /* Or closed. */
  bool failed() const { return failed_; }

 private:
  MessageSink& sink_;
  std::mutex mutex_;
  std::atomic<bool> failed_{false};
};

}  // namespace turbine
