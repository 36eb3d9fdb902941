/*
 * explain.c - GpuJoin: what EXPLAIN shows.
 *
 * Called by PostgreSQL's EXPLAIN through the node's methods. All of it is what stages
 * show (stage/explain.c), since a join has nothing of its own.
 */
#include "postgres.h"

#include "commands/explain.h"

#include "pg/nodes/join/gpu_join.h"
#include "pg/stage/explain.h"

void
tb_join_explain(CustomScanState *css, List *ancestors, ExplainState *es)
{
	tb_explain_run(&((TbJoinState *) css)->cursor, ancestors, es);
}
