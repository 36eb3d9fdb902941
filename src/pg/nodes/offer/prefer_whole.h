/*
 * prefer_whole.h - among accelerated plans of about the same cost, the one that does
 * more in its node.
 */
#ifndef TURBINE_PG_NODES_OFFER_PREFER_WHOLE_H
#define TURBINE_PG_NODES_OFFER_PREFER_WHOLE_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/*
 * Before `whole`, a node over the stages, is added to the relation, and before it is
 * compared with PostgreSQL's plans: drops paths of PostgreSQL's nodes over one of ours,
 * with or without workers, that are estimated to cost no less, or so little less that it
 * says nothing. If rows are more than estimated, as those of joins mostly are, they lose
 * much, and `whole`, to which only its result comes back, little.
 * A `whole` that reads columns into the cache may cost somewhat more the first time. What
 * stands on a GpuScan reads the pages as well, and would do so each time: rows that come
 * back are formed from them.
 */
extern void tb_prefer_whole(PlannerInfo *root, RelOptInfo *rel, List *stages,
							const Path *whole);

#endif
