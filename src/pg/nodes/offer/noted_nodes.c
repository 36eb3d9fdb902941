/*
 * noted_nodes.c - see noted_nodes.h.
 *
 * Relations of the upper steps of a query: a few a query level, so a list does. Called
 * by the planning of nodes. Paths are copied, since add_path() frees what loses.
 */
#include "postgres.h"

#include "pg/nodes/offer/noted_nodes.h"
#include "pg/planner/planning.h"

typedef struct NotedNode
{
	const RelOptInfo *rel;
	CustomPath		  path;
} NotedNode;

void
tb_noted_nodes_note(const RelOptInfo *rel, const CustomPath *path)
{
	NotedNode *node = palloc(sizeof(NotedNode));

	node->rel = rel;
	node->path = *path;
	tb_planning()->noted_nodes = lcons(node, tb_planning()->noted_nodes);
}

const CustomPath *
tb_noted_node_of(const RelOptInfo *rel)
{
	ListCell *lc;

	foreach(lc, tb_planning()->noted_nodes)
	{
		const NotedNode *node = lfirst(lc);

		if (node->rel == rel)
			return &node->path;
	}
	return NULL;
}
