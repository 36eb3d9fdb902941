/*
 * load_obstacle.h - why the column cache would keep nothing of a table.
 */
#ifndef TURBINE_PG_CACHE_LOAD_OBSTACLE_H
#define TURBINE_PG_CACHE_LOAD_OBSTACLE_H

#include "postgres.h"

#include "utils/rel.h"

typedef struct TbLoadObstacle
{
	const char *detail; /* a sentence; NULL: nothing is in the way */
	const char *hint;	/* what to do about it, or NULL */
} TbLoadObstacle;

/* What a query with these settings would find, in this transaction. `columns`: how many
 * columns devices know. */
extern TbLoadObstacle tb_load_obstacle(Relation rel, int columns);

/* Raises an error for what is no table at all. */
extern void tb_require_loadable_kind(Relation rel);

#endif
