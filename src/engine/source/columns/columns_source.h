/*
 * columns_source.h - the source of chunks that the backend writes as columns: rows of
 * another plan, and rows that it had to detoast.
 *
 * Nothing is left to fill. Since a backend wrote the chunk, its bounds are checked.
 */
#pragma once

#include "engine/source/chunk_source.h"

namespace turbine {

class ColumnsSource final : public ChunkSource {
 public:
  /* `program` outlives this. */
  explicit ColumnsSource(const Program& program) : program_(program) {}

  void check(const ChunkRequest& chunk, const SlotShape& shape) const override;
  bool fills(const ChunkRequest&) const override { return false; }
  void fill(const ChunkRequest& chunk, const Task& task, DeviceQuery& device, FillObserver& observer) override;
  void check_content(const uint8_t* slot, const SlotShape& shape) const override;
  const ChunkLayout* layout(uint32_t) const override { return nullptr; }

 private:
  const Program& program_;
};

}  // namespace turbine
