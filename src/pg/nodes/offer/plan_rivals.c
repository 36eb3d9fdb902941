/*
 * plan_rivals.c - see plan_rivals.h.
 *
 * Our costs are times. PostgreSQL's are not: it charges many times what a page in memory
 * takes, above all a page that an index leads to (plain_path_time.h). So a node of ours
 * might cost less than nested loops over indexes, and take longer. Such a node is given
 * the rival's cost times the proportion of their times. A node that is faster keeps its
 * own cost. The rival is the path that PostgreSQL would take: only a node that wins
 * against that one can make a query slower.
 *
 * Owns nothing. Must never make a path cheaper, except one that has been paid for
 * (is_paid_for). Called where nodes are offered.
 */
#include "postgres.h"

#include "catalog/pg_am.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"

#include "pg/nodes/offer/compile_hints.h"
#include "pg/nodes/offer/plan_rivals.h"
#include "pg/planner/cost.h"
#include "pg/planner/plain_path_time.h"
#include "pg/planner/plain_plan_time.h"
#include "pg/planner/planning.h"
#include "pg/planner/program/stage.h"
#include "pg/source/heap/feeders/feeder_count.h"
#include "pg/settings/guc.h"
#include "pg/shmem/cache_advice.h"

typedef struct Rival
{
	Cost   cost;
	double us; /* -1: nobody to compare with */
} Rival;

bool
tb_returns_joined_rows(const PlannerInfo *root)
{
	const Query *parse = root->parse;

	return !parse->hasAggs && parse->groupClause == NIL && parse->groupingSets == NIL &&
		parse->distinctClause == NIL && parse->limitCount == NULL;
}

static bool
is_of_step(const PlannerInfo *root, const RelOptInfo *rel, UpperRelationKind step)
{
	return list_member_ptr(root->upper_rels[step], rel);
}

/* Whether LIMIT stands right above the relation. */
static bool
is_limited(const PlannerInfo *root, const RelOptInfo *rel)
{
	const Query *parse = root->parse;

	if (root->limit_tuples <= 0)
		return false;
	if (parse->sortClause != NIL)
		return is_of_step(root, rel, UPPERREL_ORDERED);
	if (parse->distinctClause != NIL)
		return is_of_step(root, rel, UPPERREL_DISTINCT);
	if (parse->hasWindowFuncs)
		return is_of_step(root, rel, UPPERREL_WINDOW);
	if (parse->hasAggs || parse->groupClause != NIL || parse->groupingSets != NIL)
		return is_of_step(root, rel, UPPERREL_GROUP_AGG);
	return true;
}

/* What the rows that are wanted of the path cost. */
static Cost
wanted_cost(const PlannerInfo *root, const RelOptInfo *rel, const Path *path)
{
	double part = 1;

	if (is_limited(root, rel))
		part = Min(root->limit_tuples / Max(path->rows, 1), 1);
	return path->startup_cost + (path->total_cost - path->startup_cost) * part;
}

/* The cheapest of those that depend on no other table. */
static Rival
rival_in(PlannerInfo *root, const RelOptInfo *rel, const List *paths)
{
	const Path *best = NULL;
	Rival		rival = {.us = -1};
	ListCell   *lc;

	foreach(lc, paths)
	{
		const Path *path = lfirst(lc);
		Cost		cost = wanted_cost(root, rel, path);

		if (path->param_info != NULL || path->total_cost >= disable_cost ||
			(best != NULL && cost >= rival.cost))
			continue;
		best = path;
		rival.cost = cost;
	}
	if (best != NULL && best->total_cost > 0)
		rival.us = tb_plain_plan_us(root, best) * rival.cost / best->total_cost;
	return rival;
}

/* Of the topmost join PostgreSQL gathers partial paths later. */
static Rival
gathered_rival(PlannerInfo *root, const RelOptInfo *rel)
{
	Rival  rival = rival_in(root, rel, rel->partial_pathlist);
	double rows = tb_returns_joined_rows(root) ? rel->rows : 0;

	if (rival.us < 0)
		return rival;
	rival.cost += parallel_setup_cost + rows * parallel_tuple_cost;
	rival.us += tb_plain_gather_us(rows);
	return rival;
}

/* What PostgreSQL would take for the relation, as far as its paths are there. */
static Rival
rival_of(PlannerInfo *root, const RelOptInfo *rel)
{
	Rival rival = rival_in(root, rel, rel->pathlist);
	Rival gathered = {.us = -1};

	if (rel->reloptkind == RELOPT_JOINREL)
		gathered = gathered_rival(root, rel);
	return gathered.us >= 0 && (rival.us < 0 || gathered.cost < rival.cost) ? gathered :
																			  rival;
}

static bool
has_brin_index(const RelOptInfo *table)
{
	ListCell *lc;

	foreach(lc, table->indexlist)
		if (lfirst_node(IndexOptInfo, lc)->relam == BRIN_AM_OID)
			return true;
	return false;
}

/* The tables that it reads, and the pages and rows that it has to read whatever they are
 * asked for: of those that are not cached and have no index that leaves pages out. */
static TbLeastWork
least_work(const PlannerInfo *root, const RelOptInfo *input)
{
	TbLeastWork work = {0};
	int			relid = -1;

	while ((relid = bms_next_member(input->relids, relid)) >= 0)
	{
		const RelOptInfo	*table = root->simple_rel_array[relid];
		const RangeTblEntry *rte = root->simple_rte_array[relid];

		if (rte->rtekind != RTE_RELATION || table == NULL)
			continue;
		work.tables++;
		if ((tb_guc_enable_cache && tb_advice_has_columns(rte->relid)) ||
			has_brin_index(table))
			continue;
		work.pages += table->pages;
		work.rows += Max(table->tuples, 0);
	}
	return work;
}

bool
tb_plan_rivals_leave_room(PlannerInfo *root, const RelOptInfo *rel, const RelOptInfo *input)
{
	TbLeastWork work;
	Rival		rival;

	if (tb_guc_debug_force_offload || tb_planning_is_recording() || input->relids == NULL)
		return true;
	work = least_work(root, input);
	/* A join or a scan by itself. */
	if (rel == input)
		work.returned = rel->rows;
	if (work.pages > effective_cache_size)
		return true;
	rival = rival_of(root, rel);
	return rival.us < 0 ||
		tb_cost_weighed_us(tb_cost_least_us(&work, false), tb_cost_least_us(&work, true),
						   rival.us) < rival.us;
}

/* Less than this, and waiting for PostgreSQL is not worth a compilation. */
#define SLOW_US 5000.0

/* Stages that lose to PostgreSQL's path now, but would not if their programs had been
 * compiled. */
static void
note_missing_code(PlannerInfo *root, List *stages, Cost cost, const Rival *rival)
{
	double	  compilation = 0;
	double	  charged = 0;
	double	  us;
	ListCell *lc;

	if (rival->us < SLOW_US)
		return;
	foreach(lc, stages)
	{
		const TbWork *work = &((const TbStage *) lfirst(lc))->info.work;
		bool		  builds = lnext(stages, lc) != NULL;

		compilation += tb_cost_kept_compilation_us(work, builds, true);
		charged += tb_cost_kept_compilation_us(work, builds, false);
	}
	if (compilation <= 0 || cost - compilation / TB_US_PER_UNIT >= rival->cost)
		return;
	us = tb_stages_us(root, stages, cost, false) - (compilation - charged);
	if (tb_cost_weighed_us(us, tb_stages_us(root, stages, cost, true), rival->us) <
		rival->us)
		tb_compile_hints_note(stages);
}

/* What a plan costs that is to be taken before another of this cost. */
#define TAKEN_SHARE 0.9

static bool
all_stay_cached(List *stages)
{
	ListCell *lc;

	foreach(lc, stages)
		if (!((const TbStage *) lfirst(lc))->info.work.stays_cached)
			return false;
	return true;
}

/*
 * Stages that lose only because their columns are not cached yet would lose for ever, and
 * the rival, cheap as it is, would take its time each time. What the plans made so far
 * would have saved pays for reading the columns once, and again if they do not stay.
 */
static bool
is_paid_for(PlannerInfo *root, List *stages, Cost cost, const Rival *rival)
{
	uint64 shape = ((const TbStage *) llast(stages))->info.work.program.shape;
	double later = tb_stages_us(root, stages, cost, true);
	double extra;
	double foregone;

	if (!tb_guc_enable_cache || shape == 0 || tb_planning_is_recording() ||
		!tb_cost_is_promising(later, rival->us) || !all_stay_cached(stages))
		return false;
	extra = Max(tb_stages_us(root, stages, cost, false) - rival->us, 0);
	foregone = tb_advice_foregone_us(shape);
	if (foregone > 0 && foregone > extra)
	{
		tb_advice_note_foregone(shape, -extra);
		return true;
	}
	tb_advice_note_foregone(shape, rival->us - later);
	return false;
}

static void
undercut(Path *path, const Rival *rival)
{
	path->total_cost = Min(path->total_cost, rival->cost * TAKEN_SHARE);
	path->startup_cost = Min(path->startup_cost, path->total_cost);
}

void
tb_plan_rivals_bound(PlannerInfo *root, const RelOptInfo *rel, List *stages, Path *path)
{
	Rival  rival;
	Cost   cost = wanted_cost(root, rel, path);
	double us;

	/* If the drive decides, both wait for it. */
	if (tb_guc_debug_force_offload || path->total_cost >= disable_cost ||
		!tb_stages_stay_in_memory(stages))
		return;
	rival = rival_of(root, rel);
	if (rival.us <= 0)
		return;
	if (cost >= rival.cost)
	{
		if (is_paid_for(root, stages, cost, &rival))
			undercut(path, &rival);
		else
			note_missing_code(root, stages, cost, &rival);
		return;
	}
	us = tb_cost_weighed_us(tb_stages_us(root, stages, cost, false),
							tb_stages_us(root, stages, cost, true), rival.us);
	if (us < rival.us || is_paid_for(root, stages, cost, &rival))
		return;
	note_missing_code(root, stages, cost, &rival);
	path->total_cost = Max(path->total_cost, rival.cost * us / rival.us);
	path->startup_cost = Max(path->startup_cost, Min(path->total_cost, rival.cost));
}
