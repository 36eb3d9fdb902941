/*
 * turbined_fixture.h - tests run a turbined of their own, with the scripted
 * compiler, in a directory of their own.
 */
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <thread>

#include "daemon/testing/client.h"

namespace turbine::testing {

class TurbinedTest : public ::testing::Test {
 protected:
  void SetUp() override { start_daemon({}); }
  void TearDown() override {
    stop_daemon();
    std::filesystem::remove_all(directory_);
  }

  void start_daemon(const std::vector<std::string>& more, const char* code = TB_TEST_CODE_ROWS) {
    if (directory_.empty()) {
      char name[] = "/tmp/turbined-XXXXXX";
      directory_ = mkdtemp(name);
    }
    int nonce[2];
    ASSERT_EQ(pipe2(nonce, O_CLOEXEC), 0);
    ASSERT_EQ(write(nonce[1], kNonce, sizeof kNonce), static_cast<ssize_t>(sizeof kNonce));
    close(nonce[1]);
    std::vector<std::string> arguments = {TB_TURBINED, "--data-dir", directory_,       "--nonce-fd",
                                          "3",         "--compiler", TB_TEST_COMPILER, "--host-threads",
                                          "4",         "--no-gpu",   "--log-level",    "error"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const std::string script = script_.empty() ? std::string("artifact:") + code : script_;
    pid_ = fork();
    if (pid_ == 0) {
      std::vector<char*> argv;
      for (std::string& argument : arguments) argv.push_back(argument.data());
      argv.push_back(nullptr);
      setenv("TURBINE_TEST_COMPILER", script.c_str(), 1);
      if (nonce[0] == 3)
        fcntl(3, F_SETFD, 0);
      else
        dup2(nonce[0], 3);
      execv(argv[0], argv.data());
      _exit(127);
    }
    close(nonce[0]);
    for (int i = 0; i < 500 && !Client(socket_path()).connected(); i++)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  /* Its exit status. */
  int stop_daemon(int signal = SIGTERM) {
    if (pid_ <= 0) return -1;
    kill(pid_, signal);
    int status = 0;
    for (int i = 0; i < 1000; i++) {
      if (waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = -1;
        return status;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << "turbined does not stop";
    kill(pid_, SIGKILL);
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }
  void restart(const std::vector<std::string>& more, const char* code) {
    stop_daemon();
    // Another hand-written program under the same key: nothing may be kept.
    std::filesystem::remove_all(directory_ + "/pg_turbine");
    start_daemon(more, code);
  }
  std::string socket_path() const { return directory_ + "/pg_turbine/pgsql_tmp.turbined.sock"; }
  std::unique_ptr<Client> connect() {
    auto client = std::make_unique<Client>(socket_path());
    EXPECT_EQ(client->hello().type, TB_MSG_WELCOME);
    return client;
  }
  TbDeviceInfo host() {
    auto client = connect();
    client->send(TB_MSG_STATUS);
    const Reply reply = client->receive();
    TbDeviceInfo info{};
    if (reply.payload.size() >= sizeof(TbStatusReply) + sizeof info)
      memcpy(&info, reply.payload.data() + sizeof(TbStatusReply), sizeof info);
    return info;
  }
  TbStatusReply status() {
    auto client = connect();
    client->send(TB_MSG_STATUS);
    return client->receive().as<TbStatusReply>();
  }
  bool alive() { return pid_ > 0 && waitpid(pid_, nullptr, WNOHANG) == 0; }
  /* The daemon's descriptors except those of slot memory, some of which it keeps. */
  size_t daemon_fds() const {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/fd")) {
      std::error_code gone;
      const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
      if (!gone && target.find("turbine-slots") == std::string::npos) count++;
    }
    return count;
  }
  template <class Condition>
  static bool soon(Condition condition) {
    for (int i = 0; i < 300; i++) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  std::string script_;  // of the compiler, instead of a code
  std::string directory_;
  pid_t pid_ = -1;
};

/* 0, 1, 2, ... */
inline std::vector<int32_t> numbers(size_t count) {
  std::vector<int32_t> values(count);
  for (size_t i = 0; i < count; i++) values[i] = static_cast<int32_t>(i);
  return values;
}

}  // namespace turbine::testing
