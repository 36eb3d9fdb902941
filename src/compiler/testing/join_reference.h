/*
 * join_reference.h - queries of joins, twice: as programs for the compiler, and as
 * nested loops over cells, which say what is right.
 */
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "compiler/testing/cells.h"
#include "compiler/testing/compiled_pipeline.h"
#include "compiler/testing/growing_store.h"
#include "compiler/testing/join_table_writer.h"
#include "engine/program/testing/program_writer.h"

namespace turbine::testing {

/* A column: of the source (join -1) or an output of a join's table. */
struct Ref {
  int join;
  uint32_t column;
};

/* The shape of one join. Columns that conditions name are integers. */
struct JoinShape {
  uint8_t kind;
  bool unique;
  std::vector<CellColumn> keys, outputs;  // types only
  std::vector<Ref> probe;
  std::vector<Ref> residual = {};  // {a, b}: a < b
  std::vector<Ref> filter = {};    // {a}: a < limit, after this join
};

struct JoinQuery {
  std::vector<CellColumn> source;  // types only
  std::vector<Ref> filter = {};    // {a}: a < limit, before the joins
  std::vector<JoinShape> joins;
  int32_t limit = 50;

  const CellColumn& column(Ref r) const {
    return r.join < 0 ? source[r.column] : joins[static_cast<size_t>(r.join)].outputs[r.column];
  }
};

/* Can its columns be used after the join? */
inline bool shows_columns(uint8_t kind) { return kind != TB_JOIN_SEMI && kind != TB_JOIN_ANTI; }

/* Its program, and the expressions of its columns. */
struct JoinProgram {
  ProgramWriter w;
  std::vector<uint32_t> source;
  std::vector<std::vector<uint32_t>> outputs;
  uint32_t at(Ref r) const { return r.join < 0 ? source[r.column] : outputs[static_cast<size_t>(r.join)][r.column]; }

  explicit JoinProgram(const JoinQuery& q) {
    for (size_t j = 0; j < q.joins.size(); j++)
      if (q.joins[j].kind == TB_JOIN_FULL) w.full_joins_end = static_cast<uint32_t>(j + 1);
    for (const CellColumn& c : q.source) source.push_back(w.column(c.type, c.nullable, c.scale));
    const uint32_t limit = w.param(TB_TYPE_INT4);
    auto less = [&](Ref a) { w.filters.push_back(w.call(TB_FN_INT4LT, {at(a), limit})); };
    for (Ref a : q.filter) less(a);
    for (size_t j = 0; j < q.joins.size(); j++) {
      const JoinShape& shape = q.joins[j];
      std::vector<uint32_t> keys;
      for (Ref r : shape.probe) keys.push_back(at(r));
      w.join(shape.kind, keys, static_cast<uint32_t>(j), shape.unique ? TB_JOIN_UNIQUE : 0);
      if (shape.kind == TB_JOIN_FULL) w.joins[j].nfilters = static_cast<uint32_t>(w.filters.size());
      outputs.emplace_back();
      const bool own = shows_columns(shape.kind);
      for (uint16_t o = 0; o < shape.outputs.size(); o++) {
        const bool in_residual = std::any_of(shape.residual.begin(), shape.residual.end(),
                                             [&](Ref r) { return r.join == static_cast<int>(j) && r.column == o; });
        const CellColumn& c = shape.outputs[o];
        outputs[j].push_back(own || in_residual ? w.payload(static_cast<uint32_t>(j), static_cast<uint16_t>(o + 1),
                                                            c.type, c.nullable, c.scale)
                                                : TB_NONE);
      }
      if (!shape.residual.empty())
        w.joins[j].residual = w.call(TB_FN_INT4LT, {at(shape.residual[0]), at(shape.residual[1])});
      for (Ref a : shape.filter) less(a);
    }
  }
};

/* The BUILD program of a table of these columns: keys first. Rows with NULL keys stay in
 * it: other joins than FULL ones do not find them. */
inline std::vector<uint8_t> build_program(const std::vector<CellColumn>& keys, const std::vector<CellColumn>& outputs,
                                          bool keep_null_keys = false) {
  ProgramWriter w;
  w.source = TB_SOURCE_ROWS;
  if (keep_null_keys) w.flags = TB_PROGRAM_KEEPS_NULL_KEYS;
  for (const CellColumn& c : keys) w.keys.push_back(w.column(c.type, c.nullable, c.scale));
  for (const CellColumn& c : outputs) w.outputs.push_back(w.column(c.type, c.nullable, c.scale));
  return w.blob(TB_SINK_BUILD);
}

/* The rows of a join table, and the table that generated code makes of them. */
class BuiltRows {
 public:
  BuiltRows(const CompiledPipeline& build, std::vector<CellColumn> keys, std::vector<CellColumn> outputs)
      : keys(std::move(keys)), outputs(std::move(outputs)), store(build.program()) {
    std::vector<CellColumn> all = this->keys;
    all.insert(all.end(), this->outputs.begin(), this->outputs.end());
    const CellMemory memory(all);
    const std::string params = ParamWriter().block();
    PipelineCall run(memory.data, static_cast<uint32_t>(rows()), params);
    run.args.bytes = memory.bytes();
    run.args.store = &store.s;
    run.args.make_room = GrowingStore::make_room;
    build.pipeline(&run.args);
    status = run.args.status;
    errors = run.args.errors;
  }
  size_t rows() const { return !keys.empty() ? keys[0].cells.size() : outputs.empty() ? 0 : outputs[0].cells.size(); }
  void index(TbTableKind kind) { writer_ = std::make_unique<JoinTableWriter>(store, kind); }
  const TbJoinTable* table() const { return writer_->table(); }

  std::vector<CellColumn> keys, outputs;
  GrowingStore store;
  uint32_t status = 0, errors = 0;

 private:
  std::unique_ptr<JoinTableWriter> writer_;
};

/* A tuple: the source's row or -1, then each join's row or -1. */
using Tuple = std::vector<int64_t>;

class JoinReference {
 public:
  JoinReference(const JoinQuery& q, const std::vector<CellColumn>& source, const std::vector<const BuiltRows*>& tables)
      : q_(q), source_(source), tables_(tables) {
    const size_t n = source.empty() ? 0 : source[0].cells.size();
    for (size_t row = 0; row < n; row++) {
      const Tuple t{static_cast<int64_t>(row)};
      if (passes(t, q.filter)) tuples.push_back(t);
    }
    rows_passed = tuples.size();
    for (size_t j = 0; j < q.joins.size(); j++) {
      join(j);
      join_rows.push_back(tuples.size());
    }
  }
  Cell get(const Tuple& t, Ref r) const {
    if (r.join < 0) return t[0] < 0 ? std::nullopt : source_[r.column].cells[static_cast<size_t>(t[0])];
    const int64_t match = t[static_cast<size_t>(r.join) + 1];
    if (match < 0) return std::nullopt;
    return tables_[static_cast<size_t>(r.join)]->outputs[r.column].cells[static_cast<size_t>(match)];
  }
  std::vector<Tuple> tuples;
  uint64_t rows_passed = 0;
  std::vector<uint64_t> join_rows;

 private:
  bool less(const Cell& a, const Cell& b) const { return a && b && value_of<int32_t>(a) < value_of<int32_t>(b); }
  bool passes(const Tuple& t, const std::vector<Ref>& filter) const {
    return std::all_of(filter.begin(), filter.end(), [&](Ref r) { return less(get(t, r), cell(q_.limit)); });
  }
  static std::string text(const CellColumn& type, const Cell& c) {
    return c ? key_text(type.type, c) + "\x1f" : std::string();
  }
  void join(size_t j) {
    const JoinShape& shape = q_.joins[j];
    const BuiltRows& inner = *tables_[j];
    std::map<std::string, std::vector<int64_t>> by_key;
    for (size_t row = 0; row < inner.rows(); row++) {
      std::string key;
      bool null = false;
      for (const CellColumn& c : inner.keys) {
        null |= !c.cells[row];
        key += text(c, c.cells[row]);
      }
      if (!null) by_key[key].push_back(static_cast<int64_t>(row));
    }
    std::vector<Tuple> out;
    std::vector<bool> matched(inner.rows());
    for (const Tuple& t : tuples) {
      std::string key;
      bool null = false;
      for (Ref r : shape.probe) {
        const Cell c = get(t, r);
        null |= !c;
        key += text(q_.column(r), c);
      }
      std::vector<Tuple> matches;
      if (const auto found = by_key.find(key); !null && found != by_key.end())
        for (int64_t row : found->second) {
          Tuple with = t;
          with.push_back(row);
          if (!shape.residual.empty() && !less(get(with, shape.residual[0]), get(with, shape.residual[1]))) continue;
          matches.push_back(with);
          matched[static_cast<size_t>(row)] = true;
        }
      Tuple alone = t;
      alone.push_back(-1);
      switch (shape.kind) {
        case TB_JOIN_INNER: break;
        case TB_JOIN_FULL:
        case TB_JOIN_LEFT:
          if (matches.empty()) matches.push_back(alone);
          break;
        case TB_JOIN_SEMI: matches.assign(matches.empty() ? 0 : 1, alone); break;
        default: matches.assign(matches.empty() ? 1 : 0, alone); break;
      }
      for (const Tuple& m : matches)
        if (passes(m, shape.filter)) out.push_back(m);
    }
    for (size_t row = 0; row < inner.rows() && shape.kind == TB_JOIN_FULL; row++) {
      if (matched[row]) continue;
      Tuple alone(j + 1, -1);
      alone.push_back(static_cast<int64_t>(row));
      if (passes(alone, shape.filter)) out.push_back(alone);
    }
    tuples.swap(out);
  }

  const JoinQuery& q_;
  const std::vector<CellColumn>& source_;
  const std::vector<const BuiltRows*> tables_;
};

}  // namespace turbine::testing
