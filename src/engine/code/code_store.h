/*
 * code_store.h - compiled code on disk, one file a key.
 *
 * A file holds its full key, so that a hash collision is a miss, and a
 * checksum, so that a torn or changed file is one too (and is removed). Files
 * appear whole, by rename. The total size is bounded: what was used longest
 * ago goes first, an eighth of the bound at a time. The directory is ours alone (mode 0700): its files are code
 * that this process will run.
 */
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace turbine {

/* Thread-safe. No failure is an error: a store that cannot be used is empty. */
class CodeStore {
 public:
  CodeStore(std::string directory, uint64_t max_bytes);

  std::optional<std::string> get(const std::string& key);
  /* There is a file of the key, which get() may still find to be another's. */
  bool has(const std::string& key) const;
  void put(const std::string& key, const std::string& artifact);
  void remove(const std::string& key);

  /* The file of a key, for tests. */
  std::string path(const std::string& key) const;

 private:
  void note_added(uint64_t bytes);
  void evict();

  const std::string directory_;
  const uint64_t max_bytes_;
  bool usable_ = false;
  std::mutex evicting_;  // guards total_
  uint64_t total_;       // at least what the files have; looking at all of them takes long where there are thousands
};

/* 128 bits of a byte string, as hexadecimal digits: names files. */
std::string content_hash(const std::string& bytes);

}  // namespace turbine
