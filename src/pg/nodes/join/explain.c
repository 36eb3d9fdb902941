/*
 * explain.c - GpuJoin: what EXPLAIN shows.
 */
#include "postgres.h"

#include "commands/explain.h"

#include "pg/nodes/join/gpu_join.h"
#include "pg/nodes/stage_explain.h"

void
tb_join_explain(CustomScanState *css, List *ancestors, ExplainState *es)
{
	TbJoinState *node = (TbJoinState *) css;

	tb_explain_run(node->run, node->falling_back, ancestors, es);
	if (node->falling_back)
		ExplainPropertyText("Fallback To PostgreSQL", node->fallback_message, es);
}
