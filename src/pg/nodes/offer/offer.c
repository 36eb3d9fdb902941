/*
 * offer.c - see offer.h.
 *
 * Owns what an offer in the recording's list is (TbRecord). Called by the plan.c of every
 * node, and by the hook behind turbine.why_not.
 */
#include "postgres.h"

#include "catalog/partition.h"
#include "optimizer/pathnode.h"
#include "utils/lsyscache.h"

#include "pg/compat/pg18.h"
#include "pg/nodes/offer/offer.h"
#include "pg/planner/planning.h"
#include "pg/plans/plan_walk.h"
#include "pg/settings/guc.h"
#include "pg/stage/plan_private.h"

/* An accelerated path that was offered to the planner. */
typedef struct Offer
{
	const char *part;
	const char *node_name;
	List	   *relids; /* OIDs: tables that it reads */
	Cost		cost;
} Offer;

CustomPath *
tb_offer_make_path(RelOptInfo *parent, PathTarget *target, double rows, uint32 flags,
				   List *children, void *plan, const CustomPathMethods *methods)
{
	CustomPath *path = makeNode(CustomPath);

	path->path.pathtype = T_CustomScan;
	path->path.parent = parent;
	path->path.pathtarget = target;
	path->path.parallel_safe = false;
	path->path.rows = rows;
	path->flags = flags;
	path->custom_paths = children;
	path->custom_private = list_make1(plan);
	path->methods = methods;
	return path;
}

bool
tb_offer_finds_device(const TbWork *work, const char *part)
{
	const char *reason;
	uint32		device;

	if (tb_choose_device(work, &device, &reason) || tb_guc_debug_force_offload)
		return true;
	tb_planning_note(part, "%s", reason);
	return false;
}

static void
note_offer(const char *part, const char *node_name, List *relids, Cost cost)
{
	Offer *offer;

	if (!tb_planning_is_recording() || part == NULL)
		return;
	offer = palloc(sizeof(Offer));
	offer->part = pstrdup(part);
	offer->node_name = node_name;
	offer->relids = list_copy(relids);
	offer->cost = cost;
	tb_planning()->record->offers = lappend(tb_planning()->record->offers, offer);
}

void
tb_offer_path(RelOptInfo *rel, Path *path, const char *part, const char *node_name,
			  List *relids)
{
	if (tb_guc_debug_force_offload)
	{
		rel->pathlist = NIL;
		rel->partial_pathlist = NIL;
	}
	else
		note_offer(part, node_name, relids, path->total_cost);
	tb_path_count_disabled(path);
	add_path(rel, path);
}

/* Drops the offer that the node is. */
static bool
take_offer(Plan *plan, void *context)
{
	TbRecord   *record = context;
	CustomScan *node = (CustomScan *) plan;
	ListCell   *lc;

	if (!IsA(plan, CustomScan))
		return true;
	foreach(lc, record->offers)
	{
		Offer *offer = lfirst(lc);

		if (strcmp(offer->node_name, node->methods->CustomName) == 0 &&
			equal(offer->relids, tb_private_relids(node)))
		{
			record->offers = foreach_delete_current(record->offers, lc);
			break;
		}
	}
	/* The first is the kept plan, the others feed it. */
	for_each_from(lc, node->custom_plans, 1)
		tb_walk_plan(lfirst(lc), take_offer, context);
	return false;
}

/* The table, or one that it is a partition of. */
static bool
reads_table(const Offer *offer, Oid relid)
{
	ListCell *lc;

	if (list_member_oid(offer->relids, relid))
		return true;
	if (!get_rel_relispartition(relid))
		return false;
	foreach(lc, get_partition_ancestors(relid))
		if (list_member_oid(offer->relids, lfirst_oid(lc)))
			return true;
	return false;
}

static bool
reads_all_of(const Offer *offer, const Offer *part)
{
	ListCell *lc;

	foreach(lc, part->relids)
		if (OidIsValid(lfirst_oid(lc)) && !reads_table(offer, lfirst_oid(lc)))
			return false;
	return true;
}

/* A join or an aggregation that was taken covers the scans and joins below it. */
static bool
is_covered(const Offer *part, const List *left, List *all_offers)
{
	ListCell *lc;

	foreach(lc, all_offers)
	{
		Offer *other = lfirst(lc);

		if (reads_all_of(other, part) && other->node_name != part->node_name &&
			!list_member_ptr(left, other))
			return true;
	}
	return false;
}

void
tb_offers_note_lost(PlannedStmt *stmt)
{
	TbRecord *record = tb_planning()->record;
	List	 *all_offers = list_copy(record->offers);
	ListCell *lc;

	tb_walk_statement(stmt, take_offer, record);
	foreach(lc, record->offers)
	{
		Offer *offer = lfirst(lc);

		if (!is_covered(offer, record->offers, all_offers))
			tb_planning_note(
				offer->part,
				"PostgreSQL's plan is estimated to be cheaper than %s (cost %.2f)",
				offer->node_name, offer->cost);
	}
}
