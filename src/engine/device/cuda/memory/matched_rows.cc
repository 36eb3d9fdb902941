/*
 * matched_rows.cc - which rows of FULL joins' tables were a match, in device memory.
 *
 * Owns a byte per row. Called by cuda_query.cc. The host looks at the bytes only to join those of several GPUs. They
 * go with the query.
 */
#include "engine/device/cuda/memory/matched_rows.h"

#include "engine/device/cuda/driver/stream.h"

namespace turbine::cuda {

MatchedRows::MatchedRows(CudaContext& context, const Driver& driver, const Program& program, const JoinTables& tables,
                         MemoryAccount& account, Stream stream) {
  try {
    clear(context, driver, program, tables, account, stream);
  } catch (...) {
    driver.note(driver.stream_synchronize(stream));  // the blocks go back to the pool now
    throw;
  }
}

void MatchedRows::clear(CudaContext& context, const Driver& driver, const Program& program, const JoinTables& tables,
                        MemoryAccount& account, Stream stream) {
  MemoryPool& pool = context.device_memory();
  for (size_t j = 0; j < program.full_joins_end(); j++) {
    host_addresses_.push_back(0);
    blocks_.emplace_back();
    sizes_.push_back(0);
    if (program.joins()[j].kind != TB_JOIN_FULL) continue;
    const uint64_t size = matched_bytes(*tables[j]);
    const Block& block = blocks_.back() = pool.allocate(driver, size, &account);
    sizes_.back() = size;
    if (size > 1) driver.check(driver.memset_d8_async(block.device(), 0, static_cast<size_t>(size - 1), stream));
    driver.check(driver.memset_d8_async(block.device() + size - 1, 1, size_t{1}, stream));
    host_addresses_.back() = block.device();
  }
  const uint64_t size = host_addresses_.size() * sizeof(DevicePtr);
  addresses_ = pool.allocate(driver, size, &account);
  driver.check(driver.memcpy_htod_async(addresses_.device(), host_addresses_.data(), size, stream));
}

std::vector<uint8_t> MatchedRows::read(uint32_t join, const Driver& driver, Stream stream) const {
  std::vector<uint8_t> bytes(sizes_.at(join));
  const StreamWait wait(driver, stream);  // the bytes are not the stream's to keep
  if (!bytes.empty())
    driver.check(driver.memcpy_dtoh_async(bytes.data(), blocks_[join].device(), bytes.size(), stream));
  driver.check(driver.stream_synchronize(stream));
  return bytes;
}

void MatchedRows::write(uint32_t join, std::span<const uint8_t> bytes, const Driver& driver, Stream stream) {
  if (bytes.size() != sizes_.at(join)) throw DeviceError(TB_FALLBACK_PROTOCOL, "marks of another table's rows");
  const StreamWait wait(driver, stream);
  if (!bytes.empty())
    driver.check(driver.memcpy_htod_async(blocks_[join].device(), bytes.data(), bytes.size(), stream));
  driver.check(driver.stream_synchronize(stream));
}

uint64_t MatchedRows::bytes_for(const Program& program, const JoinTables& tables) {
  const size_t end = program.full_joins_end();
  if (end == 0) return 0;
  uint64_t bytes = MemoryPool::rounded(end * sizeof(DevicePtr));
  for (size_t j = 0; j < end; j++)
    if (program.joins()[j].kind == TB_JOIN_FULL) bytes += MemoryPool::rounded(matched_bytes(*tables[j]));
  return bytes;
}

}  // namespace turbine::cuda
