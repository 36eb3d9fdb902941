/*
 * joined_groups.h - joins rows that have the same grouping keys and come from several
 * plans, each of which brings other columns.
 *
 * Every plan returns each group once. NULLs are equal, as in GROUP BY. Rows are joined in a
 * hash table; if it outgrows hash_mem, they are sorted by the keys instead, in work_mem and
 * temporary files. So there is no limit to the number of groups.
 */
#ifndef TURBINE_PG_NODES_DISTINCT_JOINED_GROUPS_H
#define TURBINE_PG_NODES_DISTINCT_JOINED_GROUPS_H

#include "postgres.h"

#include "executor/tuptable.h"
#include "nodes/execnodes.h"

/* The keys of one set among the columns of a row. */
typedef struct TbGroupKeys
{
	int			count;
	AttrNumber *columns;
	Oid		   *equal; /* equality operators */
	Oid		   *less;  /* sort operators */
	bool		hashable;
} TbGroupKeys;

typedef struct TbJoinedGroups TbJoinedGroups;

/* Rows are of `desc`. Lives in the current context, as do keys and desc. */
extern TbJoinedGroups *tb_joined_groups_begin(PlanState *node, TupleDesc desc,
											  const TbGroupKeys *keys);

/* Takes a copy of a plan's row, in which all columns but the keys and its own are NULL. */
extern void tb_joined_groups_add(TbJoinedGroups *groups, TupleTableSlot *row);

/* After the last row: the next group into a virtual slot, in which it stays until the next
 * call. False after the last one. */
extern bool tb_joined_groups_next(TbJoinedGroups *groups, TupleTableSlot *slot);

/* Whether they are sorted. */
extern bool tb_joined_groups_are_sorted(const TbJoinedGroups *groups);

extern void tb_joined_groups_end(TbJoinedGroups *groups);

#endif
