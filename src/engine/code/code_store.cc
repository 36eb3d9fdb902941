/*
 * code_store.cc - compiled code on disk, one file a key.
 *
 * OFFSET SIZE  FIELD
 *      0    8  magic and version
 *      8    8  key size
 *     16    8  artifact size
 *     24    8  checksum of everything else
 *     32    -  key, artifact
 */
#include "engine/code/code_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include "engine/code/unique_fd.h"

namespace turbine {
namespace {

namespace fs = std::filesystem;

constexpr char kMagic[8] = {'T', 'B', 'C', 'O', 'D', 'E', '0', '1'};
constexpr char kSuffix[] = ".code";
constexpr uint64_t kMaxFile = 512u << 20;

struct FileHeader {
  char magic[8];
  uint64_t key_size;
  uint64_t artifact_size;
  uint64_t checksum;
};
static_assert(sizeof(FileHeader) == 32, "FileHeader layout");

/* FNV-1a by words, with a finishing mix. */
uint64_t hash64(const char* bytes, size_t size, uint64_t seed) {
  uint64_t hash = 0xcbf29ce484222325ull ^ seed;
  for (; size >= 8; bytes += 8, size -= 8) {
    uint64_t word;
    memcpy(&word, bytes, 8);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 29;
  }
  for (; size > 0; bytes++, size--) hash = (hash ^ static_cast<uint8_t>(*bytes)) * 0x100000001b3ull;
  hash ^= hash >> 32;
  hash *= 0xd6e8feb86659fd93ull;
  return hash ^ (hash >> 32);
}

uint64_t file_checksum(const FileHeader& header, const std::string& key, const char* artifact) {
  uint64_t hash = hash64(header.magic, sizeof header.magic, header.key_size * 31 + header.artifact_size);
  hash = hash64(key.data(), key.size(), hash);
  return hash64(artifact, header.artifact_size, hash);
}

std::optional<std::string> read_file(int fd) {
  struct stat st;
  if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022)) return {};
  if (static_cast<uint64_t>(st.st_size) > kMaxFile) return {};
  std::string bytes(static_cast<size_t>(st.st_size), '\0');
  for (size_t have = 0; have < bytes.size();) {
    const ssize_t n = read(fd, bytes.data() + have, bytes.size() - have);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return {};
    have += static_cast<size_t>(n);
  }
  return bytes;
}

bool write_file(int fd, const std::string& bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t n = write(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<size_t>(n);
  }
  return true;
}

}  // namespace

std::string content_hash(const std::string& bytes) {
  char digits[33];
  snprintf(digits, sizeof digits, "%016llx%016llx",
           static_cast<unsigned long long>(hash64(bytes.data(), bytes.size(), 0)),
           static_cast<unsigned long long>(hash64(bytes.data(), bytes.size(), 0x5bd1e9955bd1e995ull)));
  return digits;
}

CodeStore::CodeStore(std::string directory, uint64_t max_bytes)
    : directory_(std::move(directory)), max_bytes_(max_bytes), total_(max_bytes) {
  if (directory_.empty()) return;
  std::error_code error;
  fs::create_directories(fs::path(directory_).parent_path(), error);
  mkdir(directory_.c_str(), 0700);
  struct stat st;
  usable_ = lstat(directory_.c_str(), &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
            (st.st_mode & 022) == 0;
}

std::string CodeStore::path(const std::string& key) const { return directory_ + "/" + content_hash(key) + kSuffix; }

bool CodeStore::has(const std::string& key) const { return usable_ && access(path(key).c_str(), R_OK) == 0; }

std::optional<std::string> CodeStore::get(const std::string& key) {
  if (!usable_) return {};
  const std::string name = path(key);
  UniqueFd fd(open(name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return {};
  std::optional<std::string> bytes = read_file(fd.get());
  FileHeader header{};
  const bool whole = bytes && bytes->size() >= sizeof header && (memcpy(&header, bytes->data(), sizeof header), true) &&
                     memcmp(header.magic, kMagic, sizeof kMagic) == 0 && header.key_size <= kMaxFile &&
                     header.artifact_size <= kMaxFile &&
                     bytes->size() == sizeof header + header.key_size + header.artifact_size;
  const std::string stored_key = whole ? bytes->substr(sizeof header, header.key_size) : "";
  if (!whole || file_checksum(header, stored_key, bytes->data() + sizeof header + header.key_size) != header.checksum) {
    unlink(name.c_str());
    return {};
  }
  if (stored_key != key) return {};
  futimens(fd.get(), nullptr);  // used now: evicted last
  return bytes->substr(sizeof header + header.key_size);
}

void CodeStore::put(const std::string& key, const std::string& artifact) {
  if (!usable_) return;
  FileHeader header{};
  memcpy(header.magic, kMagic, sizeof kMagic);
  header.key_size = key.size();
  header.artifact_size = artifact.size();
  header.checksum = file_checksum(header, key, artifact.data());
  const std::string bytes = std::string(reinterpret_cast<const char*>(&header), sizeof header) + key + artifact;

  static std::atomic<uint64_t> serial{0};
  const std::string temporary = path(key) + "." + std::to_string(getpid()) + "." + std::to_string(serial++) + ".tmp";
  UniqueFd fd(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return;
  if (!write_file(fd.get(), bytes) || rename(temporary.c_str(), path(key).c_str()) != 0) {
    unlink(temporary.c_str());
    return;
  }
  note_added(bytes.size());
}

void CodeStore::remove(const std::string& key) {
  if (usable_) unlink(path(key).c_str());
}

/* What is in the directory at first is not known: the first file added makes evict() look. */
void CodeStore::note_added(uint64_t bytes) {
  std::lock_guard lock(evicting_);
  total_ += bytes;
  if (total_ > max_bytes_) evict();
}

/* Under the lock. */
void CodeStore::evict() {
  struct File {
    fs::path path;
    fs::file_time_type used;
    uint64_t size;
  };
  std::vector<File> files;
  total_ = 0;
  std::error_code error;
  for (fs::directory_iterator it(directory_, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    const uint64_t size = it->file_size(ignored);
    if (ignored) continue;
    files.push_back({it->path(), it->last_write_time(ignored), size});
    total_ += size;
  }
  if (total_ <= max_bytes_) return;
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.used < b.used; });
  for (const File& file : files) {
    if (total_ <= max_bytes_ - max_bytes_ / 8) break;
    if (fs::remove(file.path, error)) total_ -= file.size;
  }
}

}  // namespace turbine
