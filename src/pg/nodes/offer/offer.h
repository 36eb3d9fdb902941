/*
 * offer.h - offers accelerated paths to the planner, and knows which of them it took.
 *
 * Used by every node's plan.c, so that a path is made, forced and noted in one way.
 * turbine.why_not asks which offers the plan left.
 */
#ifndef TURBINE_PG_NODES_OFFER_OFFER_H
#define TURBINE_PG_NODES_OFFER_OFFER_H

#include "postgres.h"

#include "nodes/extensible.h"
#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

#include "pg/planner/cost.h"

/*
 * A path for a node of ours, without costs. `parent` tells EXPLAIN the tables' names;
 * `children` are the paths of its child plans, `plan` is what the methods get as the only
 * entry of custom_private. `flags`: CUSTOMPATH_*.
 */
extern CustomPath *tb_offer_make_path(RelOptInfo *parent, PathTarget *target, double rows,
									  uint32 flags, List *children, void *plan,
									  const CustomPathMethods *methods);

/* Whether a device should do the work; if not, the reason is noted for that part. */
extern bool tb_offer_finds_device(const TbWork *work, const char *part);

/*
 * Adds the path, of which a node of ours with that name is the top, to the relation. It
 * reads these tables (OIDs). If offloading is forced, all other paths go; otherwise, if
 * anyone asks later why the finished plan lacks the node, the costs are the reason. `part`
 * NULL: no reason is noted if it loses. */
extern void tb_offer_path(RelOptInfo *rel, Path *path, const char *part,
						  const char *node_name, List *relids);

/* While turbine.why_not records: notes, for each offer that the finished plan lacks, that
 * PostgreSQL's path was cheaper. */
extern void tb_offers_note_lost(PlannedStmt *stmt);

#endif
