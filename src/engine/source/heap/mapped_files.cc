/*
 * mapped_files.cc - see mapped_files.h.
 *
 * Owns the mappings, a descriptor for each, and the process's handler of SIGBUS. Called by page_lsns.cc on the
 * readers' threads; forget_unused() by the daemon.
 *
 * A load from a mapping fails with SIGBUS where the file has no page any more (a backend that held the table's lock
 * was killed, and the table is truncated), or where the drive cannot read it. The handler puts a page of zeros
 * there, whose LSN says nothing. Such a mapping goes as soon as the next query asks for it.
 */
#include "engine/source/heap/mapped_files.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstring>
#include <new>

#include "engine/source/heap/relation_files.h"

namespace turbine {
namespace {

constexpr size_t kMappedBytes = size_t{kFileBlocks} * TB_PAGE_SIZE;

/* For which a mapping stays that nobody asks for: longer than most tables that change go without a VACUUM. A mapping of
 * 1 GB takes 2 MB of page tables. */
constexpr int64_t kKeptSeconds = 24 * 3600;

/* Pages that one call of mincore(2) is asked about. */
constexpr uint32_t kMostAtOnce = TB_SEGMENT_BLOCKS;

/* Loads under way before the one that is waited for. */
constexpr size_t kAhead = 16;

uintptr_t os_page_size() {
  static const auto size = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  return size;
}

/* What the thread is reading now: a SIGBUS elsewhere is not ours. */
struct Reading {
  uint8_t* begin = nullptr;
  uint8_t* end = nullptr;
  volatile sig_atomic_t failed = 0;
};
thread_local Reading reading;

/* "SIGBUS, code 2, at 7f0123456000": what the process dies of, to its log. Calls only what is safe in a handler. */
void say_where(const siginfo_t& info) {
  char text[] = "turbined: SIGBUS, code ?, at ................\n";
  text[23] = static_cast<char>('0' + (info.si_code & 7));
  auto address = reinterpret_cast<uintptr_t>(info.si_addr);
  for (size_t i = sizeof text - 3; text[i] == '.'; i--, address >>= 4) text[i] = "0123456789abcdef"[address & 15];
  if (write(STDERR_FILENO, text, sizeof text - 1) < 0) return;
}

/* Calls only what is safe here: mmap(2) is a system call without locks of the C library. */
void show_zeros(int number, siginfo_t* info, void*) {
  auto* address = static_cast<uint8_t*>(info->si_addr);
  if (address >= reading.begin && address < reading.end) {
    const uintptr_t size = os_page_size();
    void* page = address - reinterpret_cast<uintptr_t>(address) % size;
    if (mmap(page, size, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == page) {
      reading.failed = 1;
      return;
    }
  }
  say_where(*info);
  signal(number, SIG_DFL);  // the load is tried again, and ends the process
}

bool handle_failed_loads() {
  static const bool handled = [] {
    os_page_size();
    struct sigaction action{};
    action.sa_sigaction = show_zeros;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGBUS, &action, nullptr) == 0;
  }();
  return handled;
}

/* PostgreSQL's PageXLogRecPtr, the upper half first. The server may be writing it: one load, so that the halves are of
 * one moment. */
uint64_t load_lsn(const uint8_t* page) {
  const uint64_t halves = __atomic_load_n(reinterpret_cast<const uint64_t*>(page), __ATOMIC_RELAXED);
  return halves << 32 | halves >> 32;
}

}  // namespace

std::shared_ptr<MappedFile> MappedFile::map(int fd) {
  if (!handle_failed_loads()) return nullptr;
  const int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (own < 0) return nullptr;
  void* memory = mmap(nullptr, kMappedBytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, own, 0);
  if (memory == MAP_FAILED) {
    close(own);
    return nullptr;
  }
  return std::shared_ptr<MappedFile>(new MappedFile(own, static_cast<uint8_t*>(memory)));
}

MappedFile::~MappedFile() {
  munmap(memory_, kMappedBytes);
  close(fd_);
}

void MappedFile::read_lsns(std::span<const uint32_t> pages, uint64_t* lsns) {
  assert(std::is_sorted(pages.begin(), pages.end()));
  while (!pages.empty()) {
    const auto end = std::find_if(pages.begin(), pages.end(),
                                  [&](uint32_t page) { return page >= pages.front() + kMostAtOnce; });
    const auto count = static_cast<size_t>(end - pages.begin());
    read_some(pages.first(count), lsns);
    pages = pages.subspan(count);
    lsns += count;
  }
}

/* A page that is evicted after mincore() has seen it is read from the drive: that is rare, and only takes time. */
void MappedFile::read_some(std::span<const uint32_t> pages, uint64_t* lsns) {
  const uintptr_t size = os_page_size();
  unsigned char in_memory[size_t{kMostAtOnce} * TB_PAGE_SIZE / 4096 + 1];
  const uint64_t first = uint64_t{pages.front()} * TB_PAGE_SIZE / size * size;
  const uint64_t end = uint64_t{pages.back()} * TB_PAGE_SIZE + sizeof(uint64_t);
  const auto at = [&](uint32_t page) { return memory_ + uint64_t{page} * TB_PAGE_SIZE; };
  std::fill_n(lsns, pages.size(), 0);
  if (mincore(memory_ + first, end - first, in_memory) != 0) return;

  for (size_t i = 0; i < std::min(kAhead, pages.size()); i++) __builtin_prefetch(at(pages[i]));
  reading.begin = memory_;
  reading.end = memory_ + kMappedBytes;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  for (size_t i = 0; i < pages.size(); i++) {
    if (i + kAhead < pages.size()) __builtin_prefetch(at(pages[i + kAhead]));
    if (in_memory[(uint64_t{pages[i]} * TB_PAGE_SIZE - first) / size] & 1) lsns[i] = load_lsn(at(pages[i]));
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
  reading.end = reading.begin;
  if (reading.failed) damaged_ = true;
  reading.failed = 0;
}

/* Sessions, programs and slot memory need descriptors too. */
size_t MappedFiles::most_by_default() {
  rlimit limit;
  constexpr size_t kMost = 16384;
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? std::min<size_t>(limit.rlim_cur / 4, kMost) : 0;
}

std::shared_ptr<MappedFile> MappedFiles::find(int fd) {
  struct stat file;
  if (fd < 0 || fstat(fd, &file) != 0) return nullptr;
  std::lock_guard lock(mutex_);
  std::shared_ptr<MappedFile>& mapped = files_[{file.st_dev, file.st_ino}];
  if (!mapped && files_.size() > most_) {  // with the place that was just made
    files_.erase({file.st_dev, file.st_ino});
    return nullptr;
  }
  if (!mapped || mapped->damaged_) mapped = MappedFile::map(fd);
  const std::shared_ptr<MappedFile> found = mapped;
  if (found)
    found->last_asked_s_ = now_s();
  else
    files_.erase({file.st_dev, file.st_ino});
  return found;
}

void MappedFiles::forget_unused() {
  std::map<std::pair<dev_t, ino_t>, std::shared_ptr<MappedFile>> unused;  // unmapped when the lock is free
  std::lock_guard lock(mutex_);
  for (auto it = files_.begin(); it != files_.end();) {
    const auto next = std::next(it);
    struct stat file;
    const bool removed = fstat(it->second->fd_, &file) != 0 || file.st_nlink == 0;
    if (removed || now_s() - it->second->last_asked_s_ >= kKeptSeconds) unused.insert(files_.extract(it));
    it = next;
  }
}

size_t MappedFiles::size() const {
  std::lock_guard lock(mutex_);
  return files_.size();
}

int64_t MappedFiles::now_s() const {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return passed_s_ + std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

}  // namespace turbine
