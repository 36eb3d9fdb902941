/*
 * fold_estimate.c - see fold_estimate.h.
 *
 * Goes through the sets as set_fold.c does: those with most keys first, each made of the
 * smallest one that contains it, and let go when none is left to be made of it. Called by
 * analyze.c.
 */
#include "postgres.h"

#include "optimizer/optimizer.h"
#include "port/pg_bitutils.h"
#include "utils/selfuncs.h"

#include "pg/nodes/aggregate/fold_estimate.h"

#define NONE (-1)

/* Values of a computed key for one of its inputs. PostgreSQL takes the key for unique among
 * them; but nobody would group by it if they were not many more. */
#define COMPUTED_SHARE 0.1

typedef struct EstimatedSet
{
	uint64 keys;
	double groups;
	int	   source;	 /* the set that it is made of; NONE: the groups of all keys */
	int	   last_use; /* the last set that is made of it, or itself */
} EstimatedSet;

static int
by_key_set(const void *left, const void *right)
{
	return pg_popcount64(((const EstimatedSet *) right)->keys) -
		pg_popcount64(((const EstimatedSet *) left)->keys);
}

/* Whether the set's groups are the device's. */
static bool
is_whole(const TbAggAnalysis *analysis, uint64 set)
{
	return analysis->computed == NIL && pg_popcount64(set) == list_length(analysis->keys);
}

static double
groups_of(PlannerInfo *root, const TbAggAnalysis *analysis, uint64 set)
{
	List	 *all = list_concat_copy(analysis->keys, analysis->computed);
	List	 *keys = NIL;
	double	  most = analysis->groups;
	ListCell *lc;

	foreach(lc, all)
	{
		if ((set & (UINT64CONST(1) << foreach_current_index(lc))) == 0)
			continue;
		keys = lappend(keys, lfirst(lc));
		if (foreach_current_index(lc) >= list_length(analysis->keys))
			most = Max(analysis->groups * COMPUTED_SHARE, 1);
	}
	return keys == NIL ?
		1 :
		Min(estimate_num_groups(root, keys, analysis->request.rel->rows, NULL, NULL), most);
}

/* Those that are made here; returns how many. */
static int
collect_sets(PlannerInfo *root, const TbAggAnalysis *analysis, EstimatedSet *sets)
{
	int count = 0;

	for (int i = 0; i < analysis->nsets; i++)
		if (!is_whole(analysis, analysis->sets[i]))
		{
			sets[count].keys = analysis->sets[i];
			sets[count++].groups = groups_of(root, analysis, analysis->sets[i]);
		}
	qsort(sets, count, sizeof(EstimatedSet), by_key_set);
	return count;
}

static void
choose_sources(EstimatedSet *sets, int count)
{
	for (int i = 0; i < count; i++)
	{
		sets[i].source = NONE;
		sets[i].last_use = i;
		for (int j = 0; j < i; j++)
			if ((sets[i].keys & ~sets[j].keys) == 0 &&
				(sets[i].source == NONE || sets[j].groups < sets[sets[i].source].groups))
				sets[i].source = j;
		if (sets[i].source != NONE)
			sets[sets[i].source].last_use = i;
	}
}

/* The most groups that are there at a time: while set after set is made and returned. */
static double
most_groups(const EstimatedSet *sets, int count)
{
	double most = 0;

	for (int now = 0; now < count; now++)
	{
		double there = 0;

		for (int i = 0; i < count; i++)
			if (i <= now ? sets[i].last_use >= now : sets[i].source == NONE)
				there += sets[i].groups;
		most = Max(most, there);
	}
	return most;
}

void
tb_estimate_folding(PlannerInfo *root, TbAggAnalysis *analysis)
{
	EstimatedSet *sets = palloc0(sizeof(EstimatedSet) * Max(analysis->nsets, 1));
	int			  count = collect_sets(root, analysis, sets);

	choose_sources(sets, count);
	/* Groups of all keys are rows of a set that has them all. */
	analysis->folded = analysis->groups * (analysis->nsets - count);
	for (int i = 0; i < count; i++)
		analysis->folded += sets[i].source == NONE ? analysis->groups :
													 sets[sets[i].source].groups;
	analysis->folded_bytes = most_groups(sets, count) *
		tb_set_fold_group_bytes(list_length(analysis->scan_tlist));
	pfree(sets);
}
