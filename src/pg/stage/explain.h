/*
 * explain.h - what EXPLAIN shows of any accelerated node, and of the stages that it runs.
 */
#ifndef TURBINE_PG_STAGE_EXPLAIN_H
#define TURBINE_PG_STAGE_EXPLAIN_H

#include "postgres.h"

#include "nodes/execnodes.h"

#include "pg/compat/pg18.h"
#include "pg/source/input.h"
#include "pg/source/run_stats.h"
#include "pg/planner/cost.h"
#include "pg/stage/stage_run.h"

/* The expression as EXPLAIN shows it. */
extern char *tb_explain_expr(Node *expr, PlanState *node, List *ancestors,
							 ExplainState *es);

/* A property that is an implicitly ANDed list, or a list, of expressions. */
extern void tb_explain_filter(const char *label, List *quals, PlanState *node,
							  List *ancestors, ExplainState *es);
extern void tb_explain_list(const char *label, List *exprs, PlanState *node,
							List *ancestors, ExplainState *es);

/* The expressions of a list as texts. */
extern List *tb_explain_texts(List *exprs, PlanState *node, List *ancestors,
							  ExplainState *es);

/* "BRIN cond", and in ANALYZE "BRIN skipped"; "Index" if other indexes are used. `prefix`
 * is put before both. */
extern void tb_explain_index(const TbIndexUse *use, const char *prefix, List *condition,
							 PlanState *node, List *ancestors, ExplainState *es);

/* The device that the plan would take. Here and below, `relid` is the table that is read,
 * InvalidOid if it is none. */
extern void tb_explain_device_choice(Oid relid, const TbWork *work, ExplainState *es);

/* Device, Blocks, JIT, Transferred, of a query that has run. */
extern void tb_explain_stats(Oid relid, const TbRunStats *stats, ExplainState *es);

/* Where the node's wall time went, in all its runs so far. */
extern void tb_explain_times(TbProfile *profile, ExplainState *es);

/* Tables, filters, joins, and how the run went; last, why PostgreSQL's plan ran. */
extern void tb_explain_run(const TbRunCursor *cursor, List *ancestors, ExplainState *es);

#endif
