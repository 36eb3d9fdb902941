/*
 * explain_input.h - what EXPLAIN (ANALYZE) shows of a node's input: blocks and how they
 * were read, cached segments, files.
 *
 * `prefix` stands before each property's name: empty, or which of the node's inputs it is.
 */
#ifndef TURBINE_PG_STAGE_EXPLAIN_INPUT_H
#define TURBINE_PG_STAGE_EXPLAIN_INPUT_H

#include "postgres.h"

#include "pg/compat/pg18.h"
#include "pg/source/input.h"
#include "pg/source/run_stats.h"
#include "turbine/program.h"

extern void tb_explain_blocks(const TbRunStats *stats, ExplainState *es);
extern void tb_explain_why_buffered(const char *prefix, const TbBlockStats *blocks,
									ExplainState *es);
extern void tb_explain_direct(const char *prefix, const TbRunStats *stats,
							  ExplainState *es);
extern void tb_explain_segments(const char *prefix, const TbRunStats *stats,
								ExplainState *es);
extern void tb_explain_files(const TbRunStats *stats, ExplainState *es);
/* With VERBOSE, of files: the bytes that each of the table's columns in the program took.
 */
extern void tb_explain_file_columns(Oid relid, const TbProgram *program,
									const TbRunStats *stats, ExplainState *es);

#endif
