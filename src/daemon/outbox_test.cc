/*
 * outbox_test.cc - what waits, what goes along, and in which order.
 */
#include "daemon/outbox.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "turbine/wire.h"

namespace turbine {
namespace {

class OutboxTest : public ::testing::Test {
 protected:
  OutboxTest() {
    int pair[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
    ours_ = UniqueFd(pair[0]);
    peer_ = UniqueFd(pair[1]);
    outbox_.emplace(ours_.get());
  }

  static std::span<const uint8_t> bytes(const uint32_t& value) {
    return {reinterpret_cast<const uint8_t*>(&value), sizeof value};
  }
  void post(uint32_t value, int fd = -1) { outbox_->post(TB_MSG_CHUNK_READ, bytes(value), fd); }
  void post_later(uint32_t value) { outbox_->post_later(TB_MSG_CHUNK_READ, bytes(value)); }

  /* The values of the messages that have arrived; *fds of them had a descriptor. */
  std::vector<uint32_t> arrived(int* fds = nullptr) {
    struct Message {
      TbMessage header;
      uint32_t value;
    };
    std::vector<uint32_t> values;
    Message message;
    iovec part{&message, sizeof message};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    for (;;) {
      msghdr header{};
      header.msg_iov = &part;
      header.msg_iovlen = 1;
      header.msg_control = control;
      header.msg_controllen = sizeof control;
      if (recvmsg(peer_.get(), &header, 0) != sizeof message) return values;
      if (const cmsghdr* c = CMSG_FIRSTHDR(&header)) {
        int fd;
        memcpy(&fd, CMSG_DATA(c), sizeof fd);
        close(fd);
        if (fds) ++*fds;
      }
      EXPECT_EQ(message.header.length, sizeof message.value);
      values.push_back(message.value);
    }
  }

  UniqueFd ours_, peer_;
  std::optional<Outbox> outbox_;
};

using Values = std::vector<uint32_t>;

TEST_F(OutboxTest, WhatMayWaitGoesBeforeTheNextThatMayNot) {
  post_later(1);
  post_later(2);
  EXPECT_TRUE(outbox_->flush());
  EXPECT_FALSE(outbox_->pending()) << "nobody should wait for the socket";
  EXPECT_EQ(arrived(), Values{});
  post(3);
  EXPECT_EQ(arrived(), (Values{1, 2, 3}));
  post(4);
  EXPECT_EQ(arrived(), Values{4});
}

TEST_F(OutboxTest, WhatWaitsIsSentOrForgottenWhenAsked) {
  outbox_->post_waiting();
  EXPECT_EQ(arrived(), Values{});
  post_later(1);
  post_later(2);
  outbox_->post_waiting();
  EXPECT_EQ(arrived(), (Values{1, 2}));
  post_later(3);
  outbox_->forget_waiting();
  post(4);
  EXPECT_EQ(arrived(), Values{4});
}

TEST_F(OutboxTest, DescriptorsStayWithTheirMessage) {
  post_later(1);
  post(2, STDERR_FILENO);
  int fds = 0;
  EXPECT_EQ(arrived(&fds), (Values{1, 2}));
  EXPECT_EQ(fds, 1);
}

TEST_F(OutboxTest, AFullSocketKeepsTheOrder) {
  uint32_t next = 0;
  while (!outbox_->pending()) {
    post_later(next++);
    post(next++);
  }
  post_later(next++);
  post(next++);
  Values all;
  while (all.size() < next) {
    const Values some = arrived();
    ASSERT_FALSE(some.empty());
    all.insert(all.end(), some.begin(), some.end());
    EXPECT_TRUE(outbox_->flush());
  }
  for (uint32_t i = 0; i < next; i++) ASSERT_EQ(all[i], i);
  EXPECT_FALSE(outbox_->pending());
}

TEST_F(OutboxTest, WhatIsHeldGoesTogether) {
  outbox_->hold();
  post(1);
  post(2, peer_.get());
  post(3);
  EXPECT_TRUE(arrived().empty());
  int fds = 0;
  EXPECT_TRUE(outbox_->release());
  EXPECT_EQ(arrived(&fds), (std::vector<uint32_t>{1, 2, 3}));
  EXPECT_EQ(fds, 1);

  outbox_->hold();
  post(4);
  std::thread([this] { post(5); }).join();
  EXPECT_EQ(arrived(), (std::vector<uint32_t>{4, 5})) << "another thread's takes along what is held, in order";
  EXPECT_TRUE(outbox_->release());
}

}  // namespace
}  // namespace turbine
