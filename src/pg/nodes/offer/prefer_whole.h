/*
 * prefer_whole.h - among accelerated plans of about the same cost, the one that does
 * more in its node.
 */
#ifndef TURBINE_PG_NODES_OFFER_PREFER_WHOLE_H
#define TURBINE_PG_NODES_OFFER_PREFER_WHOLE_H

#include "postgres.h"

#include "nodes/pathnodes.h"

/*
 * Before `whole` is added to the relation: drops paths of PostgreSQL's nodes over one
 * of ours that are estimated to cost no less, or so little less that it says nothing.
 * If rows are more than estimated, as those of joins mostly are, they lose much, and
 * `whole`, to which only its result comes back, little.
 */
extern void tb_prefer_whole(RelOptInfo *rel, const Path *whole);

#endif
