/*
 * our_nodes.c - see our_nodes.h. Called by planning, by what mends finished plans, and
 * where a run starts.
 *
 * Owns nothing. Nodes are known by their name: a path and a plan have methods of different
 * types, and the name is what both carry.
 */
#include "postgres.h"

#include "nodes/extensible.h"

#include "pg/plans/our_nodes.h"

static const struct
{
	const char *name;
	TbNodeKind	kind;
	bool		table_rows;
} nodes[] = {
	{TB_GPU_SCAN_NAME, TB_NODE_SCAN, true},
	{TB_GPU_FILE_SCAN_NAME, TB_NODE_FILE_SCAN, true},
	{TB_GPU_COLUMN_SCAN_NAME, TB_NODE_FILE_SCAN, true},
	{TB_GPU_JOIN_NAME, TB_NODE_JOIN, true},
	{TB_GPU_PREAGG_NAME, TB_NODE_PREAGG, false},
	{TB_GPU_DISTINCT_NAME, TB_NODE_DISTINCT, false},
	{TB_GPU_SORT_NAME, TB_NODE_SORT, false},
};

static TbNodeKind
kind_named(const char *name)
{
	for (int i = 0; i < lengthof(nodes); i++)
		if (strcmp(nodes[i].name, name) == 0)
			return nodes[i].kind;
	return TB_NODE_NONE;
}

TbNodeKind
tb_node_kind(const Plan *plan)
{
	return IsA(plan, CustomScan) ?
		kind_named(((const CustomScan *) plan)->methods->CustomName) :
		TB_NODE_NONE;
}

TbNodeKind
tb_node_kind_of_path(const Path *path)
{
	return IsA(path, CustomPath) ?
		kind_named(((const CustomPath *) path)->methods->CustomName) :
		TB_NODE_NONE;
}

bool
tb_node_returns_table_rows(TbNodeKind kind)
{
	for (int i = 0; i < lengthof(nodes); i++)
		if (nodes[i].kind == kind)
			return nodes[i].table_rows;
	return false;
}
