/*
 * scripted_compiler.cc - stands in for turbine-compiler in tests: speaks the
 * zygote protocol of compile.h, and does what TURBINE_TEST_COMPILER says:
 *
 *   artifact:FILE   answers every request with the file's bytes
 *   slow:FILE       the same after 300 ms; stuck:FILE after 30 s; busy:FILE after
 *                   4 s in which it computes now and then
 *   stopped:FILE    the zygote stops itself when a request comes
 *   effort:FILE     the file's bytes, then " quick" or " full" as was asked
 *   fail:MESSAGE    answers that the program cannot be compiled
 *   crash           the child exits without an answer
 *   die             the zygote itself exits when a request comes
 *   die-once:FILE   the first zygote does (it leaves FILE.died), later ones
 *                   answer as artifact:FILE
 */
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "turbine/compile.h"

namespace {

void answer(const std::string& script, uint32_t effort, int artifact, int status) {
  TbCompileReply reply{};
  reply.magic = TB_COMPILE_MAGIC;
  const bool slow = script.rfind("slow:", 0) == 0, stuck = script.rfind("stuck:", 0) == 0,
             busy = script.rfind("busy:", 0) == 0;
  if (slow) usleep(300000);
  if (stuck) sleep(30);
  for (int i = 0; busy && i < 40; i++) usleep(100000);  // each wake-up takes some processor time
  const bool tells = script.rfind("effort:", 0) == 0;
  if (slow || stuck || busy || tells || script.rfind("artifact:", 0) == 0) {
    std::ifstream in(script.substr(script.find(':') + 1), std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(in), {}};
    if (tells) bytes += effort == TB_EFFORT_QUICK ? " quick" : " full";
    reply.ok = write(artifact, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
    reply.artifact_size = bytes.size();
  } else if (script.rfind("fail:", 0) == 0) {
    snprintf(reply.message, sizeof reply.message, "%s", script.c_str() + 5);
  } else {
    _exit(1);
  }
  _exit(write(status, &reply, sizeof reply) == sizeof reply ? 0 : 1);
}

}  // namespace

int main() {
  const char* environment = getenv("TURBINE_TEST_COMPILER");
  std::string script = environment ? environment : "crash";
  const bool die_once = script.rfind("die-once:", 0) == 0;
  const std::string died = script.substr(script.find(':') + 1) + ".died";
  if (die_once) script = access(died.c_str(), F_OK) == 0 ? "artifact:" + script.substr(9) : "die";
  while (true) {
    TbCompileRequest request;
    iovec part{&request, sizeof request};
    alignas(cmsghdr) char control[CMSG_SPACE(3 * sizeof(int))];
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t n = recvmsg(3, &message, 0);
    if (n <= 0) return 0;
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    if (n != sizeof request || request.magic != TB_COMPILE_MAGIC || header == nullptr) return 1;
    int fds[3];
    memcpy(fds, CMSG_DATA(header), sizeof fds);
    if (script == "die") {
      if (die_once) std::ofstream(died) << "1";
      return 1;
    }
    if (script.rfind("stopped:", 0) == 0) raise(SIGSTOP);
    if (fork() == 0) answer(script, request.effort, fds[1], fds[2]);
    for (int fd : fds) close(fd);
    while (waitpid(-1, nullptr, WNOHANG) > 0) continue;
  }
}
