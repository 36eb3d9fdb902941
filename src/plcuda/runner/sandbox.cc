/*
 * sandbox.cc - see sandbox.h. Called by main.cc before any user code is loaded.
 *
 * The filter looks at numbers of system calls, and at the flags of clone: threads are allowed. clone3 has its flags in
 * memory, where no filter can look, so it is "not there", and the C library uses clone.
 */
#include "plcuda/runner/sandbox.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace turbine {
namespace {

void append_rule(std::vector<sock_filter>& program, uint32_t call, uint32_t action) {
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, action));
}

void forbid_processes() {
#if defined(__x86_64__)
  constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#else
  constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#endif
  std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
  };
#if defined(__x86_64__)
  // The other numbers of the same calls.
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  append_rule(program, SYS_fork, SECCOMP_RET_KILL_PROCESS);
  append_rule(program, SYS_vfork, SECCOMP_RET_KILL_PROCESS);
#endif
  append_rule(program, SYS_execve, SECCOMP_RET_KILL_PROCESS);
  append_rule(program, SYS_execveat, SECCOMP_RET_KILL_PROCESS);
  append_rule(program, SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS);
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3));
  program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[0])));
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 1, 0));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0) {
    perror("this kernel has no system call filters");
    exit(1);
  }
}

}  // namespace

void offer_to_oom_killer() {
  const int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (file < 0) return;
  [[maybe_unused]] const ssize_t written = write(file, "1000", 4);
  close(file);
}

void limit_memory(uint64_t megabytes) {
  const rlimit none{0, 0};
  const rlimit memory{megabytes << 20, megabytes << 20};
  setrlimit(RLIMIT_CORE, &none);
  setrlimit(RLIMIT_DATA, &memory);
}

void enter_sandbox(uint64_t megabytes) {
  using Init = int (*)(unsigned);
  if (void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL))
    if (const auto init = reinterpret_cast<Init>(dlsym(driver, "cuInit"))) init(0);
  limit_memory(megabytes);
  forbid_processes();
}

}  // namespace turbine
