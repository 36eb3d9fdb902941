/*
 * program_writer.h - tests write programs and parameter blocks with this:
 * expressions by nested calls, then blob(). Checks nothing, and its parts are
 * open to be damaged. Header only; not part of the product.
 */
#pragma once

#include <cstring>
#include <string>
#include <vector>

#include "turbine/functions.h"
#include "turbine/params.h"
#include "turbine/program.h"

namespace turbine::testing {

class ProgramWriter {
 public:
  uint16_t sink = TB_SINK_ROWS;
  uint16_t source = TB_SOURCE_HEAP;  // set before the first column()
  uint8_t flags = 0;
  uint32_t full_joins_end = 0;  // set before the first payload() if there will be FULL joins
  std::vector<TbAttribute> attributes;
  std::vector<TbColumn> columns;
  std::vector<TbExpr> exprs;
  std::vector<uint32_t> args, filters, keys;
  std::vector<TbAgg> aggs;
  std::vector<TbParamShape> params;
  std::vector<uint32_t> outputs;
  std::vector<TbJoin> joins;

  /* A column of the source, with an attribute of its own. All functions that
   * make an expression return its index. */
  uint32_t column(uint8_t type, bool nullable = false, int16_t scale = 0) {
    static constexpr int16_t lengths[] = {0, 1, 2, 4, 8, 4, 8, 4, 8, 8, -1, -1, -1, -1, -1};
    static_assert(std::size(lengths) == TB_TYPE_COUNT);
    const int16_t length = lengths[type];
    if (source == TB_SOURCE_HEAP)
      attributes.push_back({length, static_cast<uint8_t>(length > 0 ? length : 4),
                            static_cast<uint8_t>((length > 0 ? TB_ATT_BYVAL : 0) | (nullable ? 0 : TB_ATT_NOTNULL)),
                            0});
    const size_t before = source == TB_SOURCE_HEAP ? attributes.size() : columns.size() + 1;
    return add_column(static_cast<uint16_t>(before), type, nullable ? TB_COL_NULLABLE : 0, 0, scale);
  }
  /* A probe; returns the join's index. A residual that uses its columns is
   * added afterwards: joins[i].residual. */
  uint32_t join(uint8_t kind, std::vector<uint32_t> probe_keys, uint32_t table, uint8_t flags = 0,
                uint32_t residual = TB_NONE) {
    TbJoin j{};
    j.kind = kind;
    j.flags = flags;
    j.nkeys = static_cast<uint16_t>(probe_keys.size());
    j.first_key = static_cast<uint32_t>(args.size());
    j.join_table = table;
    j.residual = residual;
    args.insert(args.end(), probe_keys.begin(), probe_keys.end());
    joins.push_back(j);
    return static_cast<uint32_t>(joins.size() - 1);
  }
  /* A column of a joined table: its `output`-th output, from 1. After the
   * columns of the source and of earlier joins. */
  uint32_t payload(uint32_t join, uint16_t output, uint8_t type, bool stored_nullable = false, int16_t scale = 0) {
    const bool nullable = stored_nullable || lacks_match(join);
    const int flags = (nullable ? TB_COL_NULLABLE : 0) | (stored_nullable ? TB_COL_STORED_NULLABLE : 0);
    return add_column(output, type, static_cast<uint8_t>(flags), static_cast<uint16_t>(join + 1), scale);
  }
  uint32_t param(uint8_t type, int16_t scale = 0, uint8_t flags = 0) {
    params.push_back({type, flags, scale});
    return expr(TB_EXPR_PARAM, type, flags & TB_PARAM_NULLABLE ? TB_EX_NULLABLE : 0,
                static_cast<uint32_t>(params.size() - 1), {}, scale);
  }
  uint32_t call(uint32_t function, std::vector<uint32_t> operands, int16_t scale = 0) {
    uint8_t flags = tb_functions[function].flags & TB_FN_RAISES ? TB_EX_RAISES : 0;
    return expr(TB_EXPR_CALL, tb_functions[function].result, flags, function, operands, scale);
  }
  uint32_t expr(uint8_t op, uint8_t type, uint8_t flags, uint32_t index, std::vector<uint32_t> operands,
                int16_t scale = 0) {
    TbExpr e{};
    e.op = op;
    e.type = type;
    e.flags = flags;
    e.scale = scale;
    e.index = index;
    e.nargs = static_cast<uint16_t>(operands.size());
    e.first_arg = static_cast<uint32_t>(args.size());
    e.cost = 1;
    for (uint32_t operand : operands) {
      e.flags |= exprs[operand].flags;
      e.cost += exprs[operand].cost;
    }
    args.insert(args.end(), operands.begin(), operands.end());
    exprs.push_back(e);
    return static_cast<uint32_t>(exprs.size() - 1);
  }
  void aggregate(uint8_t kind, uint32_t arg = TB_NONE, uint32_t filter = TB_NONE) {
    TbAgg a{};
    a.kind = kind;
    a.arg = arg;
    a.filter = filter;
    if (arg != TB_NONE) {
      a.type = exprs[arg].type;
      a.scale = exprs[arg].scale;
    }
    aggs.push_back(a);
  }

  std::vector<uint8_t> blob(uint16_t for_sink) {
    sink = for_sink;
    return blob();
  }
  std::vector<uint8_t> blob() const {
    std::vector<uint8_t> out(sizeof(TbProgram));
    TbProgram header{};
    header.magic = TB_PROGRAM_MAGIC;
    header.version = TB_PROGRAM_VERSION;
    header.sink = sink;
    header.source = static_cast<uint8_t>(source);
    header.flags = flags;
    header.encoding = 6;  // UTF8
    header.attributes = put(out, attributes);
    header.columns = put(out, columns);
    header.exprs = put(out, exprs);
    header.args = put(out, args);
    header.filters = put(out, filters);
    header.keys = put(out, keys);
    header.aggs = put(out, aggs);
    header.params = put(out, params);
    header.outputs = put(out, outputs);
    header.joins = put(out, joins);
    header.total_size = static_cast<uint32_t>(out.size());
    std::memcpy(out.data(), &header, sizeof header);
    return out;
  }

 private:
  bool lacks_match(uint32_t join) const { return joins[join].kind == TB_JOIN_LEFT || join < full_joins_end; }
  uint32_t add_column(uint16_t attnum, uint8_t type, uint8_t flags, uint16_t join, int16_t scale) {
    TbColumn c{};
    c.attnum = attnum;
    c.type = type;
    c.flags = flags;
    c.scale = scale;
    c.join = join;
    c.missing_param = TB_NONE;
    columns.push_back(c);
    return expr(TB_EXPR_COLUMN, type, flags & TB_COL_NULLABLE ? TB_EX_NULLABLE : 0,
                static_cast<uint32_t>(columns.size() - 1), {}, scale);
  }
  template <class T>
  static TbSection put(std::vector<uint8_t>& out, const std::vector<T>& items) {
    TbSection s{static_cast<uint32_t>(items.size()), static_cast<uint32_t>(out.size())};
    const size_t bytes = items.size() * sizeof(T);
    out.resize((out.size() + bytes + 7) / 8 * 8);
    if (bytes) std::memcpy(out.data() + s.offset, items.data(), bytes);
    return s;
  }
};

/* A block of these values, followed by `bytes`. */
inline std::string params_block(const std::vector<TbParam>& values, const std::string& bytes = "") {
  TbParamBlock header{};
  header.magic = TB_PARAMS_MAGIC;
  header.count = static_cast<uint32_t>(values.size());
  header.total_size = sizeof header + values.size() * sizeof(TbParam) + bytes.size();
  std::string block(reinterpret_cast<const char*>(&header), sizeof header);
  block.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(TbParam));
  return block + bytes;
}

/* Scalars only; text by its bytes. */
class ParamWriter {
 public:
  void scalar(const void* value, size_t size, bool is_null = false) {
    TbParam p{};
    p.is_null = is_null;
    std::memcpy(p.value, value, size);
    params_.push_back(p);
    texts_.emplace_back();
  }
  void text(const std::string& s) {
    TbParam p{};
    p.length = static_cast<uint32_t>(s.size());
    params_.push_back(p);
    texts_.push_back(s);
  }
  std::string block() {
    const uint64_t first = sizeof(TbParamBlock) + params_.size() * sizeof(TbParam);
    std::string bytes;
    for (size_t i = 0; i < params_.size(); i++) {
      if (texts_[i].empty()) continue;
      params_[i].offset = first + bytes.size();
      bytes += texts_[i];
    }
    return params_block(params_, bytes);
  }

 private:
  std::vector<TbParam> params_;
  std::vector<std::string> texts_;
};

}  // namespace turbine::testing
