/*
 * hand_written_programs.h - programs that hand_written_code.c is the code of: over a
 * table (v integer NOT NULL).
 */
#pragma once

#include "engine/program/testing/program_writer.h"

namespace turbine::testing {

/* WHERE v is even. */
inline ProgramWriter rows_program() {
  ProgramWriter program;
  program.column(TB_TYPE_INT4);
  return program;
}

/* SELECT v, count(*), sum(v) GROUP BY v; without `grouped`, no v. */
inline ProgramWriter sum_program(bool grouped) {
  ProgramWriter program;
  program.sink = TB_SINK_AGGREGATE;
  const uint32_t v = program.column(TB_TYPE_INT4);
  if (grouped) program.keys.push_back(v);
  program.aggregate(TB_AGG_COUNT);
  program.aggregate(TB_AGG_SUM_INT, v);
  return program;
}

/* A table of (v, v, t) by key v, or the rows themselves. The code makes up t:
 * "v" and the number, NULL where v is a multiple of 5. */
inline ProgramWriter build_program(uint16_t sink = TB_SINK_BUILD) {
  ProgramWriter program;
  program.sink = sink;
  const uint32_t v = program.column(TB_TYPE_INT4);
  const uint32_t t = program.column(TB_TYPE_TEXT, true);
  if (sink == TB_SINK_BUILD) program.keys = {v};
  program.outputs = {v, t};
  if (sink == TB_SINK_PROJECT) program.outputs = {v, v, t};
  return program;
}

/* SELECT s.v, b.v, b.t FROM s JOIN b USING (v): `table` was built so. */
inline ProgramWriter probe_program(uint32_t table) {
  ProgramWriter program;
  program.sink = TB_SINK_PROJECT;
  const uint32_t v = program.column(TB_TYPE_INT4);
  const uint32_t join = program.join(TB_JOIN_INNER, {v}, table);
  program.outputs = {v, program.payload(join, 1, TB_TYPE_INT4), program.payload(join, 2, TB_TYPE_TEXT, true)};
  return program;
}

}  // namespace turbine::testing
