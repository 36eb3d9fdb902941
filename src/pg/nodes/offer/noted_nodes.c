/*
 * noted_nodes.c - see noted_nodes.h.
 *
 * Relations of the upper steps of a query: a few a query level, so a list does. Called
 * by the planning of nodes, and by the planner hook around each run of the planner.
 * Paths are copied, since add_path() frees what loses.
 */
#include "postgres.h"

#include "pg/nodes/offer/noted_nodes.h"

typedef struct NotedNode
{
	const RelOptInfo *rel;
	CustomPath		  path;
} NotedNode;

static List *noted = NIL;

List *
tb_noted_nodes_begin(void)
{
	List *outer = noted;

	noted = NIL;
	return outer;
}

/* The list lies in the run's memory and goes with it. */
void
tb_noted_nodes_end(List *outer)
{
	noted = outer;
}

void
tb_noted_nodes_note(const RelOptInfo *rel, const CustomPath *path)
{
	NotedNode *node = palloc(sizeof(NotedNode));

	node->rel = rel;
	node->path = *path;
	noted = lcons(node, noted);
}

const CustomPath *
tb_noted_node_of(const RelOptInfo *rel)
{
	ListCell *lc;

	foreach(lc, noted)
	{
		const NotedNode *node = lfirst(lc);

		if (node->rel == rel)
			return &node->path;
	}
	return NULL;
}
