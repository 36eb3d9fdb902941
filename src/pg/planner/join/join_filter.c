/*
 * join_filter.c - see join_filter.h. Called by join_shape.c, on the shape that was chosen.
 *
 * The probe side looks up rows of two join tables by columns of one equivalence class. A
 * row of the second table whose key is not in the first has no match among the rows that
 * come out of both joins. So rows of the second build side are looked up in the first table
 * before they are built. The first join must be INNER or SEMI, with no LEFT or FULL join
 * before it. The second may be of any kind but FULL, which returns rows of its table
 * without a match: for INNER and SEMI joins the searched shape often does better
 * (join_shape.c), but it leaves the build sides of LEFT and ANTI joins as they are.
 *
 * Must only drop rows that can have no match: it adds joins, and leaves all others as they
 * are.
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
#include "utils/lsyscache.h"

#include "pg/compat/pg16.h"
#include "pg/settings/guc.h"
#include "pg/planner/cost.h"
#include "pg/planner/join/join_filter.h"
#include "pg/planner/join/join_keys.h"

/* What a filter saves must be more than this share of what reading the table takes: the
 * join table of a side without joins may be kept from an earlier query, one with a filter
 * is built anew. */
#define WORTH_IT 0.25

/* A join table that is finished, and what finds its rows. */
typedef struct BuiltTable
{
	TbTreeJoin *join;
	List	   *keys; /* TableKey, in the table's order */
} BuiltTable;

typedef struct TableKey
{
	Expr			 *expr; /* that the table stores */
	Oid				  type; /* as the class compares it */
	EquivalenceClass *ec;
} TableKey;

/* An equality between the sides of a join, whichever way it is written. */
typedef struct SideEquality
{
	Expr *outer;
	Expr *inner;
	Oid	  inner_type; /* as the operator compares it */
} SideEquality;

/* False: it is none by which rows of the inner side can be found. */
static bool
split_side_equality(const RestrictInfo *rinfo, Relids inner, SideEquality *equality)
{
	Oid left_type;
	Oid right_type;

	if (!tb_join_key_clause(rinfo))
		return false;
	op_input_types(castNode(OpExpr, rinfo->clause)->opno, &left_type, &right_type);
	if (bms_is_subset(rinfo->right_relids, inner) &&
		!bms_overlap(rinfo->left_relids, inner))
	{
		*equality = (SideEquality) {(Expr *) get_leftop(rinfo->clause),
									(Expr *) get_rightop(rinfo->clause), right_type};
		return true;
	}
	*equality = (SideEquality) {(Expr *) get_rightop(rinfo->clause),
								(Expr *) get_leftop(rinfo->clause), left_type};
	return bms_is_subset(rinfo->left_relids, inner) &&
		!bms_overlap(rinfo->right_relids, inner);
}

/* The class that the clause's sides are of, if that holds of all rows that come out; NULL:
 * there is none. */
static EquivalenceClass *
class_of(const RestrictInfo *rinfo)
{
	EquivalenceClass *ec = rinfo->parent_ec;

	/* Sides of a clause that is in no class may each be of one. */
	if (ec == NULL && rinfo->left_ec == rinfo->right_ec)
		ec = rinfo->left_ec;
	while (ec != NULL && ec->ec_merged != NULL)
		ec = ec->ec_merged;
	return ec != NULL && !ec->ec_broken && !TB_EC_BELOW_OUTER_JOIN(ec) ? ec : NULL;
}

/* NULL: the table has no key, or one that is of no class. */
static BuiltTable *
describe_table(TbTreeJoin *join)
{
	BuiltTable *table = palloc0(sizeof(BuiltTable));
	ListCell   *lc;

	table->join = join;
	foreach(lc, join->conditions)
	{
		const RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		SideEquality		equality;
		TableKey		   *key;

		if (!split_side_equality(rinfo, join->inner->relids, &equality))
			continue; /* no key */
		key = palloc(sizeof(TableKey));
		*key = (TableKey) {equality.inner, equality.inner_type, class_of(rinfo)};
		if (key->ec == NULL)
			return NULL;
		table->keys = lappend(table->keys, key);
	}
	return table->keys != NIL ? table : NULL;
}

static bool
is_of_class(const EquivalenceClass *ec, const Expr *expr)
{
	ListCell *lc;

	foreach(lc, ec->ec_members)
	{
		const EquivalenceMember *em = lfirst(lc);

		if (!em->em_is_child && equal(em->em_expr, expr))
			return true;
	}
	return false;
}

/* The equality of the table's key and what the condition of another join looks up; NULL:
 * that is nothing of the other's probe side, or not found by a column of the key's class.
 */
static RestrictInfo *
equate(PlannerInfo *root, const TbTreeJoin *other, const RestrictInfo *condition,
	   const TableKey *key)
{
	SideEquality  equality;
	RestrictInfo *result;
	Oid			  equals = InvalidOid;
	ListCell	 *lc;

	if (!split_side_equality(condition, other->inner->probe_side->relids, &equality) ||
		!equal(condition->mergeopfamilies, key->ec->ec_opfamilies) ||
		castNode(OpExpr, condition->clause)->inputcollid != key->ec->ec_collation ||
		!is_of_class(key->ec, equality.outer))
		return NULL;
	foreach(lc, key->ec->ec_opfamilies)
		if (!OidIsValid(equals))
			equals = get_opfamily_member(lfirst_oid(lc), equality.inner_type, key->type,
										 BTEqualStrategyNumber);
	if (!OidIsValid(equals))
		return NULL;
	result = TB_PLAIN_RESTRICTINFO(root,
								   make_opclause(equals, BOOLOID, false, equality.inner,
												 key->expr, InvalidOid,
												 key->ec->ec_collation));
	set_opfuncid(castNode(OpExpr, result->clause));
	return tb_join_key_clause(result) ? result : NULL;
}

/* Equalities of all keys of the table; NIL: rows of the other join's build side lack some.
 */
static List *
find_conditions(PlannerInfo *root, const TbTreeJoin *other, const BuiltTable *table)
{
	List	 *conditions = NIL;
	ListCell *key;
	ListCell *condition;

	foreach(key, table->keys)
	{
		RestrictInfo *found = NULL;

		foreach(condition, other->conditions)
			if (found == NULL)
				found = equate(root, other, lfirst(condition), lfirst(key));
		if (found == NULL)
			return NIL;
		conditions = lappend(conditions, found);
	}
	return conditions;
}

/* The share of the tree's rows that are in the table; 1 if nothing is known. */
static double
passing_share(PlannerInfo *root, const TbJoinTree *tree, const BuiltTable *table,
			  List *conditions)
{
	Relids			inner = table->join->inner->relids;
	SpecialJoinInfo sides = {.type = T_SpecialJoinInfo,
							 .min_lefthand = tree->probe_side->relids,
							 .min_righthand = inner,
							 .syn_lefthand = tree->probe_side->relids,
							 .syn_righthand = inner,
							 .jointype = JOIN_SEMI};

	if (bms_membership(inner) == BMS_MULTIPLE && find_join_rel(root, inner) == NULL)
		return 1;
	return clauselist_selectivity(root, conditions, 0, JOIN_SEMI, &sides);
}

static bool
pays(const TbJoinTree *tree, int nkeys, double share)
{
	double rows = tree->probe_side->rows;
	double saved = tb_cost_build_ns(rows * (1 - share)) -
		tb_cost_probe_ns(rows, nkeys, 0, rows * share);

	if (tb_guc_debug_join_shape == TB_SHAPE_FILTERED)
		return true;
	return saved > tb_cost_scan_ns(tb_join_tree_input_rows(tree)) * WORTH_IT;
}

static void
scale_rows(TbJoinTree *tree, double share)
{
	ListCell *lc;

	foreach(lc, tree->joins)
	{
		TbTreeJoin *join = lfirst(lc);

		join->rows = clamp_row_est(join->rows * share);
	}
	tree->rows = clamp_row_est(tree->rows * share);
}

static void
filter_by(TbJoinTree *tree, const BuiltTable *table, List *conditions, double share)
{
	TbTreeJoin *filter = palloc0(sizeof(TbTreeJoin));

	scale_rows(tree, share);
	filter->kind = TB_JOIN_SEMI;
	filter->shared = true;
	filter->conditions = conditions;
	filter->inner = table->join->inner;
	filter->fraction = share;
	filter->rows = clamp_row_est(tree->probe_side->rows * share);
	tree->joins = lcons(filter, tree->joins);
}

/* Whether rows may be dropped before the tree's joins: the engine reads them, and no FULL
 * join would take their matches for rows without one. */
static bool
may_be_filtered(const TbJoinTree *tree)
{
	ListCell *lc;

	foreach(lc, tree->joins)
		if (((TbTreeJoin *) lfirst(lc))->kind == TB_JOIN_FULL)
			return false;
	return tree->source == NULL;
}

/* Filters the build side of a join by the table that drops most rows. What a second one of
 * the same class would drop besides is not known. */
static void
filter_build_side(PlannerInfo *root, TbTreeJoin *join, List *built)
{
	const BuiltTable *best = NULL;
	List			 *best_conditions = NIL;
	double			  least = 1;
	ListCell		 *lc;

	if (!may_be_filtered(join->inner))
		return;
	foreach(lc, built)
	{
		const BuiltTable *table = lfirst(lc);
		List			 *conditions = find_conditions(root, join, table);
		double			  share;

		if (conditions == NIL)
			continue;
		share = passing_share(root, join->inner, table, conditions);
		if (best != NULL && share >= least)
			continue;
		least = share;
		best = table;
		best_conditions = conditions;
	}
	if (best != NULL && pays(join->inner, list_length(best_conditions), least))
		filter_by(join->inner, best, best_conditions, least);
}

/* `built`: BuiltTables that are finished before anything of the tree is read, and in which
 * every row of the tree that comes out at last has a match. */
static void
add_join_filters(PlannerInfo *root, TbJoinTree *tree, List *built)
{
	List	 *finished = list_copy(built);
	int		  region = tb_join_tree_region(tree);
	ListCell *lc;

	check_stack_depth();
	foreach(lc, tree->joins)
	{
		TbTreeJoin *join = lfirst(lc);
		BuiltTable *table;
		bool		must_match = join->kind == TB_JOIN_INNER || join->kind == TB_JOIN_SEMI;

		/* Of LEFT and ANTI joins what is inside knows of no match outside. */
		add_join_filters(root, join->inner, must_match ? finished : NIL);
		if (join->kind == TB_JOIN_FULL)
			finished = NIL;
		filter_build_side(root, join, finished);
		table = must_match && foreach_current_index(lc) < region ? describe_table(join) :
																   NULL;
		if (table != NULL)
			finished = lappend(finished, table);
	}
}

void
tb_join_tree_add_filters(PlannerInfo *root, TbJoinTree *tree)
{
	add_join_filters(root, tree, NIL);
}
