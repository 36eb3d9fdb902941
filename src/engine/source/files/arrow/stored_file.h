/*
 * stored_file.h - an open file as libarrow reads it, by way of the storage reader (engine/storage/).
 *
 * Reads go past the page cache if the query's path says so. That holds for small ones too, such as headers of batches:
 * otherwise the kernel would read ahead of them, megabytes that nobody has asked for.
 */
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/io/interfaces.h>
#include <arrow/memory_pool.h>
#include <arrow/result.h>

#include "engine/storage/file_reading.h"
#include "engine/storage/storage_file.h"

namespace turbine {

/* Reads beside each other; has no position. */
class StoredFile final : public arrow::io::RandomAccessFile {
 public:
  /* `fd` is this object's from here on. `pool`: for what is read. */
  StoredFile(int fd, FileReading reading, arrow::MemoryPool* pool);
  ~StoredFile() override;

  int file_descriptor() const { return fd_; }

  arrow::Status Close() override { return arrow::Status::OK(); }  // with the object
  bool closed() const override { return false; }
  arrow::Result<int64_t> Tell() const override { return position_; }
  arrow::Status Seek(int64_t position) override;
  arrow::Result<int64_t> Read(int64_t size, void* to) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t size) override;
  arrow::Result<int64_t> GetSize() override;
  /* Short at the file's end only. */
  arrow::Result<int64_t> ReadAt(int64_t position, int64_t size, void* to) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t position, int64_t size) override;

  struct Range {
    int64_t position, size;
  };
  /* Do so many bytes go past the page cache? Then nobody reads ahead of small reads but their caller. */
  bool goes_past_cache(int64_t size) const;
  /* All of them at once, so that a drive has much to do; each short at the file's end. */
  arrow::Result<std::vector<std::shared_ptr<arrow::Buffer>>> read_ranges(const std::vector<Range>& ranges);

 private:
  /* What the file has of them. */
  arrow::Result<int64_t> clip(int64_t position, int64_t size);
  arrow::Status read_bytes(int64_t position, int64_t size, uint8_t* to);
  arrow::Status read_windows(int64_t position, int64_t size, uint8_t* to);

  const int fd_;
  const FileReading reading_;
  arrow::MemoryPool* const pool_;
  const StorageFile storage_;
  int64_t position_ = 0;  // of Read(), which one thread calls
};

}  // namespace turbine
