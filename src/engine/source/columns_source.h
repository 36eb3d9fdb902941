/*
 * columns_source.h - the source of chunks that the backend writes as columns: rows of
 * another plan, and rows that it had to detoast.
 *
 * Nothing is left to fill. Since a backend wrote the chunk, its bounds are checked.
 */
#pragma once

#include "engine/source/source.h"

namespace turbine {

class ColumnsSource final : public ChunkSource {
 public:
  /* `program` outlives this. */
  explicit ColumnsSource(const Program& program) : program_(program) {}

  void check(const ChunkRequest& chunk, const SlotShape& shape) const override;
  TaskInput input(const ChunkRequest&, uint8_t* slot) const override { return ColumnsInput{slot}; }
  void check_content(const uint8_t* slot, const SlotShape& shape) const override;

 private:
  const Program& program_;
};

}  // namespace turbine
