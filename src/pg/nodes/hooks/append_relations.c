/*
 * append_relations.c - see append_relations.h.
 *
 * A level's append_rel_array tells the numbers that its AppendRelInfos had at first. Range
 * table entries are copied into the plan, but the name that EXPLAIN shows is not: it tells
 * where each copy lies. Called by the planner's hooks.
 */
#include "postgres.h"

#include "parser/parsetree.h"

#include "pg/nodes/hooks/append_relations.h"
#include "pg/planner/planning.h"

void
tb_append_relations_note(PlannerInfo *root)
{
	if (root->append_rel_list != NIL && root->append_rel_array != NULL)
		tb_planning()->append_levels = lappend(tb_planning()->append_levels, root);
}

static int
count_of(const List *relations, const AppendRelInfo *relation)
{
	int		  count = 0;
	ListCell *lc;

	foreach(lc, relations)
		if (lfirst(lc) == relation)
			count++;
	return count;
}

/* Adds a copy of the relation, which was the level's `child`, for each copy of the child.
 */
static List *
add_separate(List *result, const PlannerInfo *level, Index child,
			 const AppendRelInfo *relation, const List *range_table)
{
	const Alias *name = level->simple_rte_array[child]->eref;
	Index		 parent = relation->parent_relid - (relation->child_relid - child);
	ListCell	*lc;

	foreach(lc, range_table)
	{
		AppendRelInfo *copy;
		Index		   offset = foreach_current_index(lc) + 1 - child;

		if (lfirst_node(RangeTblEntry, lc)->eref != name)
			continue;
		copy = makeNode(AppendRelInfo);
		*copy = *relation;
		copy->child_relid = child + offset;
		copy->parent_relid = parent + offset;
		result = lappend(result, copy);
	}
	return result;
}

/* In place of those of the level that the plan has several times. */
static List *
separate_level(List *relations, const PlannerInfo *level, const List *range_table)
{
	for (int child = 1; child < level->simple_rel_array_size; child++)
	{
		AppendRelInfo *relation = level->append_rel_array[child];
		int			   count = relation == NULL ? 0 : count_of(relations, relation);

		if (count < 2)
			continue;
		for (int i = 0; i < count; i++)
			relations = list_delete_ptr(relations, relation);
		relations = add_separate(relations, level, child, relation, range_table);
	}
	return relations;
}

void
tb_append_relations_separate(PlannedStmt *stmt)
{
	ListCell *lc;

	foreach(lc, tb_planning()->append_levels)
		stmt->appendRelations = separate_level(stmt->appendRelations, lfirst(lc),
											   stmt->rtable);
}
