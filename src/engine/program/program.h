/*
 * program.h - a validated, read-only view of a serialized program.
 *
 * Owns a copy of the blob. parse() checks everything that later code relies on: magic, sizes, every index and
 * type, and argument types against the catalogue. It also checks that operands precede their users, and that
 * no expression uses a joined column before its join. So no reader needs to check again. One check is left to
 * execution/probed_join_tables.h: whether joins fit the tables that they name.
 *
 * Used by the daemon, the compiler and tests. Must never know LLVM or CUDA.
 */
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "turbine/functions.h"
#include "turbine/program.h"

namespace turbine {

/* The blob is not a valid program; what() says where. */
struct ProgramError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Program {
 public:
  static Program parse(std::span<const uint8_t> blob);  // throws ProgramError

  std::span<const uint8_t> blob() const { return blob_; }
  const TbProgram& header() const { return *reinterpret_cast<const TbProgram*>(blob_.data()); }
  TbSink sink() const { return static_cast<TbSink>(header().sink); }
  TbSourceKind source() const { return static_cast<TbSourceKind>(header().source); }

  std::span<const TbAttribute> attributes() const { return section<TbAttribute>(header().attributes); }
  std::span<const TbColumn> columns() const { return section<TbColumn>(header().columns); }
  std::span<const TbExpr> exprs() const { return section<TbExpr>(header().exprs); }
  std::span<const uint32_t> filters() const { return section<uint32_t>(header().filters); }
  std::span<const uint32_t> keys() const { return section<uint32_t>(header().keys); }
  std::span<const TbAgg> aggs() const { return section<TbAgg>(header().aggs); }
  std::span<const TbParamShape> params() const { return section<TbParamShape>(header().params); }
  std::span<const uint32_t> outputs() const { return section<uint32_t>(header().outputs); }
  std::span<const TbJoin> joins() const { return section<TbJoin>(header().joins); }

  const TbExpr& expr(uint32_t index) const { return exprs()[index]; }
  std::span<const uint32_t> args(const TbExpr& e) const {
    return section<uint32_t>(header().args).subspan(e.first_arg, e.nargs);
  }
  std::span<const uint32_t> join_keys(const TbJoin& join) const {
    return section<uint32_t>(header().args).subspan(join.first_key, join.nkeys);
  }
  /* Columns of the source; those of joined tables follow. */
  size_t source_columns() const;
  /* Joins before this index may be without a match, whatever their kind: 1 + that of
   * the last FULL join, or 0. */
  size_t full_joins_end() const;
  /* Has a tuple a row of the join's table, or maybe none? */
  bool may_lack_match(size_t join) const { return joins()[join].kind == TB_JOIN_LEFT || join < full_joins_end(); }
  bool keeps_null_keys() const { return header().flags & TB_PROGRAM_KEEPS_NULL_KEYS; }
  /* Does a column have the tuple ids of the rows? */
  bool has_tids() const;
  bool grouped() const { return sink() == TB_SINK_AGGREGATE && !keys().empty(); }

 private:
  template <class T>
  std::span<const T> section(TbSection s) const {
    return {reinterpret_cast<const T*>(blob_.data() + s.offset), s.count};
  }
  std::vector<uint8_t> blob_;
};

/* Checks a parameter block against the program's shapes: counts, types, text
 * and array bounds. Throws ProgramError. */
void check_params(const Program& program, std::span<const uint8_t> block);

}  // namespace turbine
