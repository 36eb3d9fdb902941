/*
 * program_blob.h - builds serialized programs and parameter blocks for tests.
 */
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "turbine/params.h"
#include "turbine/program.h"

namespace turbine::testing {

struct ProgramBlob {
  uint16_t sink = TB_SINK_ROWS;
  std::vector<TbAttribute> attributes;
  std::vector<TbColumn> columns;
  std::vector<TbExpr> exprs;
  std::vector<uint32_t> args;
  std::vector<uint32_t> filters;
  std::vector<uint32_t> keys;
  std::vector<TbAgg> aggs;
  std::vector<TbParamShape> params;

  /* A NOT NULL column of a fixed-width type, and the expression that reads it:
   * returns the expression's index. */
  uint32_t add_column(uint8_t type) {
    const auto width = static_cast<int16_t>(tb_type_width(type));
    const bool varlena = tb_type_is_text(type) || tb_type_is_numeric(type);
    attributes.push_back({static_cast<int16_t>(varlena ? -1 : width), static_cast<uint8_t>(varlena ? 4 : width),
                          static_cast<uint8_t>(TB_ATT_NOTNULL), 0});
    TbColumn column{};
    column.attnum = static_cast<uint16_t>(attributes.size());
    column.type = type;
    column.missing_param = TB_NONE;
    columns.push_back(column);
    TbExpr expr{};
    expr.op = TB_EXPR_COLUMN;
    expr.type = type;
    expr.index = static_cast<uint32_t>(columns.size() - 1);
    return add_expr(expr, {});
  }

  uint32_t add_expr(TbExpr expr, const std::vector<uint32_t>& operands) {
    expr.first_arg = static_cast<uint32_t>(args.size());
    expr.nargs = static_cast<uint16_t>(operands.size());
    args.insert(args.end(), operands.begin(), operands.end());
    exprs.push_back(expr);
    return static_cast<uint32_t>(exprs.size() - 1);
  }

  void add_agg(uint8_t kind, uint32_t arg) {
    TbAgg agg{};
    agg.kind = kind;
    agg.type = arg == TB_NONE ? 0 : exprs[arg].type;
    agg.arg = arg;
    agg.filter = TB_NONE;
    aggs.push_back(agg);
  }

  std::vector<uint8_t> build() const {
    std::vector<uint8_t> blob(sizeof(TbProgram));
    TbProgram header{};
    header.magic = TB_PROGRAM_MAGIC;
    header.version = TB_PROGRAM_VERSION;
    header.sink = sink;
    header.source = TB_SOURCE_HEAP;
    header.attributes = append(blob, attributes);
    header.columns = append(blob, columns);
    header.exprs = append(blob, exprs);
    header.args = append(blob, args);
    header.filters = append(blob, filters);
    header.keys = append(blob, keys);
    header.aggs = append(blob, aggs);
    header.params = append(blob, params);
    header.outputs = append(blob, std::vector<uint32_t>{});
    header.total_size = static_cast<uint32_t>(blob.size());
    memcpy(blob.data(), &header, sizeof header);
    return blob;
  }

 private:
  template <class T>
  static TbSection append(std::vector<uint8_t>& blob, const std::vector<T>& elements) {
    const TbSection section{static_cast<uint32_t>(elements.size()), static_cast<uint32_t>(blob.size())};
    const auto* bytes = reinterpret_cast<const uint8_t*>(elements.data());
    blob.insert(blob.end(), bytes, bytes + elements.size() * sizeof(T));
    blob.resize((blob.size() + 7) / 8 * 8);
    return section;
  }
};

/* A block of scalar values, followed by `bytes`. */
inline std::string params_block(const std::vector<TbParam>& values, const std::string& bytes = "") {
  TbParamBlock header{};
  header.magic = TB_PARAMS_MAGIC;
  header.count = static_cast<uint32_t>(values.size());
  header.total_size = sizeof header + values.size() * sizeof(TbParam) + bytes.size();
  std::string block(reinterpret_cast<const char*>(&header), sizeof header);
  block.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(TbParam));
  return block + bytes;
}

/* The programs that testing/hand_written_code.c is the code of: over a table
 * (v integer NOT NULL). */
inline ProgramBlob rows_program() {
  ProgramBlob blob;
  blob.add_column(TB_TYPE_INT4);
  return blob;
}

/* SELECT v, count(*), sum(v) GROUP BY v; without `grouped`, no v. */
inline ProgramBlob sum_program(bool grouped) {
  ProgramBlob blob;
  blob.sink = TB_SINK_AGGREGATE;
  const uint32_t v = blob.add_column(TB_TYPE_INT4);
  if (grouped) blob.keys.push_back(v);
  blob.add_agg(TB_AGG_COUNT, TB_NONE);
  blob.add_agg(TB_AGG_SUM_INT, v);
  return blob;
}

}  // namespace turbine::testing
