/*
 * batch_memory.cc - see batch_memory.h.
 *
 * Owns the descriptors and mappings of a stream's batches. Called by row_stream.cc, stream_columns.cc and
 * device_batch.cc and, when the last importer of a batch goes, by the thread that notices. A fresh page is written by a
 * system call, which need not clear it; one that was written before through a mapping, which costs nothing but the
 * copy.
 */
#include "engine/execution/stream/batch_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "engine/wire/device_error.h"
#include "turbine/export.h"

namespace turbine {
namespace {

constexpr uint64_t kRegionAt[] = {TB_EXPORT_VALUES_AT, TB_EXPORT_VALIDITY_AT, TB_EXPORT_BYTES_AT, TB_EXPORT_BITS_AT};
constexpr uint64_t kBatchPage = 4096;
constexpr size_t kRegionsOfColumn = std::size(kRegionAt);

[[noreturn]] void fail_batch(const char* what) {
  throw DeviceError(TB_FALLBACK_HOST_MEMORY, std::string("memory of a batch: ") + what + ": " + strerror(errno));
}

/* Nobody else may open it by its name under /proc, and this descriptor cannot write. */
UniqueFd open_to_read(int file) {
  if (fchmod(file, S_IRUSR) != 0) fail_batch("fchmod");
  UniqueFd opened(open(("/proc/self/fd/" + std::to_string(file)).c_str(), O_RDONLY | O_CLOEXEC));
  if (!opened) fail_batch("open");
  return opened;
}

}  // namespace

BatchMemory::BatchMemory(uint32_t ncolumns, Admission& admission, Device* reader)
    : admission_(admission), reader_(reader), extents_(size_t{ncolumns} * kRegionsOfColumn) {
  const uint64_t size = tb_export_file_size(ncolumns);
  for (uint32_t i = 0; i < tb_export_files(ncolumns); i++) {
    File file{UniqueFd(memfd_create("pg_turbine batch", MFD_CLOEXEC | MFD_ALLOW_SEALING)), {}};
    if (!file.own) fail_batch("memfd_create");
    if (ftruncate(file.own.get(), static_cast<off_t>(size)) != 0) fail_batch("ftruncate");
    if (fcntl(file.own.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) fail_batch("F_ADD_SEALS");
    file.shared = open_to_read(file.own.get());
    files_.push_back(std::move(file));
  }
}

BatchMemory::~BatchMemory() {
  for (Extent& extent : extents_) unmap(extent);
}

UniqueFd& BatchMemory::file(uint32_t column) { return files_[tb_export_file_of(column)].shared; }

void BatchMemory::charge(uint64_t bytes) {
  grants_.push_back(admission_.reserve(TB_DEVICE_HOST, bytes));
  charged_ += bytes;
}

uint64_t BatchMemory::bytes_used() const {
  uint64_t bytes = 0;
  for (const Extent& extent : extents_) {
    // A device that has registered a mapping has made all of its pages.
    const uint64_t made = std::max<uint64_t>(extent.used, reader_ ? extent.mapped_bytes : 0);
    bytes += (made + kBatchPage - 1) / kBatchPage * kBatchPage;
  }
  return bytes;
}

void BatchMemory::hand_over() {
  grants_.clear();
  charged_ = 0;
}

void BatchMemory::unmap(Extent& extent) {
  if (!extent.mapped) return;
  if (reader_) reader_->unregister_slot_memory(extent.mapped);
  munmap(extent.mapped, extent.mapped_bytes);
  extent.mapped = nullptr;
  extent.mapped_bytes = 0;
}

/* Registering costs more than a copy, so a mapping for a device has room for a batch whose texts are a little longer.
 */
void BatchMemory::map_used(size_t number) {
  Extent& extent = extents_[number];
  const uint64_t used = extent.used;
  if (used <= extent.mapped_bytes) return;
  unmap(extent);
  const auto column = static_cast<uint32_t>(number / kRegionsOfColumn);
  const uint64_t at = tb_export_base_of(column) + kRegionAt[number % kRegionsOfColumn];
  const uint64_t wanted = reader_ ? used + used / 16 : used;
  const uint64_t bytes = (wanted + kBatchPage - 1) / kBatchPage * kBatchPage;
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                            files_[tb_export_file_of(column)].own.get(), static_cast<off_t>(at));
  if (mapped == MAP_FAILED) return;
  extent.mapped = static_cast<uint8_t*>(mapped);
  extent.mapped_bytes = bytes;
  if (reader_) reader_->register_slot_memory(mapped, bytes);
}

/* Where mapping fails, system calls do as well. */
void BatchMemory::use_again() {
  for (size_t i = 0; i < extents_.size(); i++) map_used(i);
}

const uint8_t* BatchMemory::content(uint32_t column, Region region, uint64_t bytes) {
  const size_t number = size_t{column} * kRegionsOfColumn + region;
  map_used(number);
  if (bytes > extents_[number].mapped_bytes) fail_batch("mmap");
  return extents_[number].mapped;
}

uint8_t* BatchMemory::mapped(uint32_t column, Region region, uint64_t offset, uint64_t bytes) const {
  const Extent& extent = extents_[size_t{column} * kRegionsOfColumn + region];
  return offset + bytes <= extent.mapped_bytes ? extent.mapped + offset : nullptr;
}

void BatchMemory::write(uint32_t column, Region region, uint64_t offset, const void* from, uint64_t bytes) {
  if (bytes == 0) return;
  Extent& extent = extents_[size_t{column} * kRegionsOfColumn + region];
  if (offset + bytes <= extent.mapped_bytes) {
    if (from != extent.mapped + offset) memcpy(extent.mapped + offset, from, bytes);
    return;
  }
  const uint64_t end = offset + bytes;
  const auto* place = static_cast<const uint8_t*>(from);
  const int file = files_[tb_export_file_of(column)].own.get();
  uint64_t at = tb_export_base_of(column) + kRegionAt[region] + offset;
  while (bytes > 0) {
    const ssize_t n = pwrite(file, place, bytes, static_cast<off_t>(at));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail_batch("pwrite");
    place += n;
    at += static_cast<uint64_t>(n);
    bytes -= static_cast<uint64_t>(n);
  }
  uint64_t used = extent.used;
  while (end > used && !extent.used.compare_exchange_weak(used, end)) {
  }
}

}  // namespace turbine
