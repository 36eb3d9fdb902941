/*
 * join_program.c - see join_program.h.
 *
 * A side is a tree with its program under construction. It reads the columns of its probe
 * side itself. A column of another table is a payload column of one of its joins: an
 * output is added to the program of that join's inner side, which may in turn get it from
 * one of its own joins. Equalities between the sides become keys. Everything else is the
 * join's residual condition. At the end the programs of all sides become stages, those
 * that are probed before those that probe them, each with what it reads and what work that
 * is.
 *
 * Owns the programs until tb_join_program_end. It must name a pruning key only if leaving
 * out a leaf can change neither a row nor an error. Called by the nodes' planning.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "turbine/mutant.h"
#include "turbine/wire.h"

#include "pg/errors/may_raise.h"
#include "pg/planner/expression/geometry_clause.h"
#include "pg/planner/join/join_grid.h"
#include "pg/planner/join/join_keys.h"
#include "pg/planner/join/join_program.h"
#include "pg/planner/join/serial_paths.h"
#include "pg/planner/join/stage_order.h"
#include "pg/planner/partitions.h"
#include "pg/planner/program/layout_program.h"
#include "pg/planner/relation_check.h"
#include "pg/shmem/cache_advice.h"

/* ---- Filters that the caller applies late ---- */

/* Filters that are estimated to let less pass say that nothing is known. */
#define LEAST_PASSING 1e-6

/* Whether the filter must not be evaluated before one of these: their security level is
 * lower, and it is not leakproof. */
static bool
must_follow_late_filters(const RestrictInfo *rinfo, const List *late_filters)
{
	ListCell *lc;

	foreach(lc, late_filters)
		if (rinfo->security_level > lfirst_node(RestrictInfo, lc)->security_level &&
			!rinfo->leakproof)
			return true;
	return false;
}

double
tb_late_filters_factor(PlannerInfo *root, List *late_filters)
{
	double passing = clauselist_selectivity(root, late_filters, 0, JOIN_INNER, NULL);

	return 1 / Max(passing, LEAST_PASSING);
}

/* ---- Keys by which partitions are left out ---- */

/*
 * What the row loses at an INNER or SEMI join never comes out. A FULL join before it
 * would have seen the row, which may have been the only match of an inner row there;
 * one behind it never does. What LEFT and ANTI joins before it do with the row is for
 * nobody else.
 */
static bool
join_prunes(const TbJoinTree *tree, const TbTreeJoin *join)
{
	ListCell *lc;

	foreach(lc, tree->joins)
	{
		const TbTreeJoin *each = lfirst(lc);

		if (each == join)
			return join->kind == TB_JOIN_INNER || join->kind == TB_JOIN_SEMI ||
				TB_MUTANT(unmatched_pruned);
		if (each->kind == TB_JOIN_FULL)
			return false;
	}
	return false;
}

/* Types whose values are integers in a table of the engine, in the same order. */
static bool
is_stored_as_integer(Oid type)
{
	switch (type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return true;
		default:
			return false;
	}
}

/*
 * Not of a table that is a partition itself: to know its leaves' constraints its
 * ancestors would have to be locked, which the query has not done, and parents are
 * locked before their partitions.
 */
static bool
is_pruning_key(PlannerInfo *root, const TbJoinTree *tree, const Expr *outer,
			   const Expr *inner)
{
	const Var *var = (const Var *) outer;

	if (!enable_partition_pruning || tree->partitions == NULL || !IsA(outer, Var))
		return false;
	return var->varno == tree->probe_side->relid && var->varlevelsup == 0 &&
		var->varattno > 0 && is_stored_as_integer(var->vartype) &&
		exprType((const Node *) inner) == var->vartype &&
		!get_rel_relispartition(planner_rt_fetch(tree->probe_side->relid, root)->relid) &&
		tb_is_partitioned_by(root, tree->probe_side, var->varattno);
}

/* ---- Programs ---- */

typedef struct JoinSide JoinSide;

/* A join of a side. */
typedef struct SideJoin
{
	TbTreeJoin	*join;
	JoinSide	*inner;
	uint32		 index;	   /* in the side's program */
	bool		 matching; /* its conditions are being translated */
	TbStageJoin *shown;
	List		*stored;   /* StoredKey: the keys of its join table */
	TbGrid		*grid;	   /* one of its cells is the only key; NULL: it is not */
} SideJoin;

typedef struct StoredKey
{
	Expr	  *expr;
	TbTypeInfo info;
} StoredKey;

struct JoinSide
{
	TbTranslator t;
	TbJoinTree	*tree;
	Path		*source;	   /* of the rows of another plan; NULL: a table is read */
	Relation	 relation;	   /* NULL: rows of another plan */
	List		*joins;		   /* SideJoin */
	List		*filters;	   /* RestrictInfo: of the tree's, those in the program */
	List		*pruning_keys; /* TbPruningKey */
	double		 entries;	   /* estimate: of a row that is built; 1 without a grid */
	int			 last_full;	   /* index of the last FULL join; -1: none */
	uint32		 join_table;   /* number, of inner sides */
	bool		 needed;	   /* its rows; of FULL joins the probe side's are not */
	bool		 is_main;
};

struct TbJoinProgram
{
	PlannerInfo *root;
	JoinSide	*main;
	uint32		 ntables;
	List		*built;		   /* SideJoin: those whose join tables are described */
	List	   **late_filters; /* of the main side; NULL: there must be none */
	TbUndecided *undecided;	   /* of the main side; NULL: there must be none */
	const char	*reason;
};

/* Notes why; returns false. */
static bool
refuse_program(TbJoinProgram *program, const char *reason)
{
	program->reason = reason;
	return false;
}

/* What the inner side computes as node `expr`, as a node of the side. */
static TbValue
add_payload(JoinSide *side, const SideJoin *join, uint32 expr, TbTypeInfo info,
			bool nullable)
{
	uint32 number = tb_builder_add_output(join->inner->t.builder, expr);

	return tb_builder_payload(side->t.builder, join->index, number, info, nullable);
}

/* A column of an inner side: an output of its program. What a numeric prints with,
 * if that varies, is another. */
static bool
resolve_payload(JoinSide *side, SideJoin *join, Var *var, TbValue *value)
{
	TbTranslator *inner = &join->inner->t;
	TbTypeInfo	  integer = {TB_TYPE_INT4, 0, 0};
	TbValue		  output;

	/* What a row without a match has instead. */
	if (join->join->kind == TB_JOIN_ANTI && !join->matching)
		return tb_translate(&side->t,
							(Expr *) makeNullConst(var->vartype, var->vartypmod,
												   var->varcollid),
							value);
	if (join->join->kind == TB_JOIN_SEMI && !join->matching)
		return tb_refuse(&side->t, "a column of the inner side of a semijoin is returned");
	if (!tb_translate(inner, (Expr *) var, &output))
		return tb_refuse(&side->t, "%s", inner->reason);
	*value = add_payload(side, join, output.expr, output.info, output.nullable);
	if (output.display_scale == TB_NONE)
		return true;
	/* Of a column; so both are NULL for the same rows. */
	value->display_scale =
		add_payload(side, join, output.display_scale, integer, output.nullable).expr;
	value->display_max = output.display_max;
	return true;
}

static bool
resolve_column(TbTranslator *t, Var *var, TbValue *value)
{
	JoinSide *side = t->resolver;
	ListCell *lc;

	foreach(lc, side->joins)
	{
		SideJoin *join = lfirst(lc);

		if (bms_is_member(var->varno, join->join->inner->relids))
			return resolve_payload(side, join, var, value);
	}
	return tb_refuse(t, "a column of another table");
}

/* A FULL join is a barrier: filters below it must be there before. */
static bool
may_be_late(const TbJoinProgram *program, const JoinSide *side)
{
	return side->is_main && program->late_filters != NULL && side->last_full < 0;
}

/* Whether it is one of the side's table, and not of joined rows. */
static bool
is_own_filter(const JoinSide *side, const RestrictInfo *rinfo)
{
	return list_member_ptr(side->tree->probe_side->baserestrictinfo, rinfo);
}

static bool
add_filters(TbJoinProgram *program, JoinSide *side)
{
	List	 *late = NIL;
	ListCell *lc;

	foreach(lc, side->tree->filters)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		TbValue		  value;

		/* Those are the plan's. */
		if (side->source != NULL && is_own_filter(side, rinfo))
			continue;
		if (!must_follow_late_filters(rinfo, late) &&
			tb_translate(&side->t, rinfo->clause, &value))
		{
			tb_builder_add_filter(side->t.builder, &value);
			side->filters = lappend(side->filters, rinfo);
		}
		else if (may_be_late(program, side))
			late = lappend(late, rinfo);
		else
			return refuse_program(program, side->t.reason);
	}
	if (side->is_main && program->late_filters != NULL)
		*program->late_filters = late;
	return true;
}

/* The sides of an equality that can be a key; false: it is none. */
static bool
split_equality(const RestrictInfo *rinfo, const SideJoin *join, Relids outer,
			   Expr **outer_expr, Expr **inner_expr)
{
	Relids inner = join->join->inner->relids;

	if (!tb_join_key_clause(rinfo))
		return false;
	*outer_expr = (Expr *) get_leftop(rinfo->clause);
	*inner_expr = (Expr *) get_rightop(rinfo->clause);
	if (bms_is_subset(rinfo->left_relids, outer) &&
		bms_is_subset(rinfo->right_relids, inner))
		return true;
	*outer_expr = (Expr *) get_rightop(rinfo->clause);
	*inner_expr = (Expr *) get_leftop(rinfo->clause);
	return bms_is_subset(rinfo->right_relids, outer) &&
		bms_is_subset(rinfo->left_relids, inner);
}

/* Where leaves of the side's table may be left out by values of the key that is next. */
static void
note_pruning_key(TbJoinProgram *program, JoinSide *side, const SideJoin *join,
				 const Expr *outer_expr, const Expr *inner_expr)
{
	TbPruningKey *key;
	uint32		  number = list_length(join->shown->keys);

	if (number >= TB_MAX_KEY_BOUNDS || !join_prunes(side->tree, join->join) ||
		!is_pruning_key(program->root, side->tree, outer_expr, inner_expr))
		return;
	key = palloc0(sizeof(TbPruningKey));
	key->join_table = join->inner->join_table;
	key->key = number;
	key->attnum = ((const Var *) outer_expr)->varattno;
	side->pruning_keys = lappend(side->pruning_keys, key);
}

static void
note_stored_key(SideJoin *join, Expr *expr, TbTypeInfo info)
{
	StoredKey *key = palloc0(sizeof(StoredKey));

	key->expr = expr;
	key->info = info;
	join->stored = lappend(join->stored, key);
}

/* Adds the clause's two expressions as keys of both programs. False with
 * *failed if they can not be computed at all; else it has to be a residual. */
static bool
add_key(TbJoinProgram *program, JoinSide *side, SideJoin *join, const RestrictInfo *rinfo,
		Relids outer, bool *failed)
{
	Expr   *outer_expr;
	Expr   *inner_expr;
	TbValue probe;
	TbValue stored;

	*failed = false;
	if (!split_equality(rinfo, join, outer, &outer_expr, &inner_expr))
		return false;
	*failed = true;
	if (!tb_translate(&side->t, outer_expr, &probe))
		return refuse_program(program, side->t.reason);
	if (!tb_translate(&join->inner->t, inner_expr, &stored))
		return refuse_program(program, join->inner->t.reason);
	*failed = false;
	if (!tb_join_keys_unify(&side->t, &probe, &join->inner->t, &stored))
		return false;
	tb_builder_join_key(side->t.builder, join->index, &probe);
	tb_builder_add_key(join->inner->t.builder, &stored);
	note_stored_key(join, inner_expr, stored.info);
	note_pruning_key(program, side, join, outer_expr, inner_expr);
	join->shown->keys = lappend(join->shown->keys, rinfo->clause);
	return true;
}

/* Whether each row that comes out has one pair of the join, so that dropping a pair is
 * dropping its rows. */
static bool
has_row_for_pair(const JoinSide *side, const SideJoin *join)
{
	return side->is_main && side->last_full < 0 && join->join->kind == TB_JOIN_INNER;
}

/* A pair that the device can not decide goes on, and its rows say so. */
static void
leave_undecided(TbJoinProgram *program, JoinSide *side, SideJoin *join, List *clauses,
				TbValue *residual)
{
	TbUndecided *undecided = program->undecided;
	TbTypeInfo	 boolean = {TB_TYPE_BOOL, 0, 0};
	TbValue		 args[2] = {*residual};
	TbValue		*flag = palloc(sizeof(TbValue));
	int			 nargs = 1;

	if (join->grid != NULL && join->grid->by_edges)
	{
		/* Of reduced shapes PostGIS could not be told. */
		TbUndecidedShape *shape = palloc(sizeof(TbUndecidedShape));

		args[nargs++] = tb_grid_whole(join->grid, &side->t);
		shape->var = (Var *) join->grid->clause.shape;
		shape->value = join->grid->edges;
		undecided->shapes = lappend(undecided->shapes, shape);
	}
	*flag = tb_builder_expr(side->t.builder, TB_EXPR_UNDECIDED, boolean, 0, nargs, args,
							false);
	*residual = tb_builder_expr(side->t.builder, TB_EXPR_POSSIBLE, boolean, 0, nargs, args,
								false);
	undecided->share = Max(undecided->share,
						   join->grid != NULL ?
							   tb_grid_left_share(program->root, &join->grid->clause) :
							   tb_compares_boxes((Node *) clauses));
	undecided->flags = lappend(undecided->flags, flag);
	undecided->conditions = list_concat(undecided->conditions, clauses);
}

static bool
add_residual(TbJoinProgram *program, JoinSide *side, SideJoin *join, List *clauses,
			 TbValue *residual)
{
	List *shared = list_copy(side->t.shared);
	bool  ok;

	/* Of a semijoin's or antijoin's columns nothing may be used again elsewhere. */
	join->matching = true;
	side->t.leaves_undecided = program->undecided != NULL && has_row_for_pair(side, join);
	ok = join->grid != NULL ? tb_grid_residual(join->grid, clauses, &side->t, join->index,
											   &join->inner->t, residual) :
							  tb_translate(&side->t, make_ands_explicit(clauses), residual);
	join->matching = false;
	side->t.shared = shared;
	join->shown->others = clauses;
	if (ok && side->t.leaves_undecided && tb_builder_may_raise(side->t.builder, residual) &&
		tb_calls_postgis((Node *) clauses))
		leave_undecided(program, side, join, clauses, residual);
	side->t.leaves_undecided = false;
	return ok || refuse_program(program, side->t.reason);
}

static int
last_full_join(const TbJoinTree *tree)
{
	int		  last = -1;
	ListCell *lc;

	foreach(lc, tree->joins)
		if (((TbTreeJoin *) lfirst(lc))->kind == TB_JOIN_FULL)
			last = foreach_current_index(lc);
	return last;
}

/* Does nothing come of the side without a row of the join's table? */
static bool
needs_inner(const JoinSide *side, const TbTreeJoin *join, int index)
{
	return side->needed && index > side->last_full &&
		(join->kind == TB_JOIN_INNER || join->kind == TB_JOIN_SEMI);
}

/* A grid whose cells are the key, if no equality can be one; not of a FULL join, whose
 * table keeps rows without a cell. Where both sides have shapes, the side's rows are
 * multiplied first. */
static bool
begin_grid(TbJoinProgram *program, JoinSide *side, SideJoin *join, Relids outer)
{
	const TbTreeJoin *of = join->join;
	TbGridClause	  clause;

	if (of->kind == TB_JOIN_FULL ||
		tb_grid_find(program->root, of->conditions, outer, of->inner->relids,
					 has_row_for_pair(side, join), &clause) == NULL)
		return true;
	/* PostgreSQL can do what comes next over the join's rows. */
	if (program->undecided == NULL && has_row_for_pair(side, join) &&
		tb_grid_left_share(program->root, &clause) > 0)
		return refuse_program(program,
							  "devices leave pairs with some of the shapes to PostGIS");
	join->grid = tb_grid_choose(program->root, &clause, side->tree->probe_side->rows,
								of->inner->rows);
	join->inner->entries = join->grid->entries;
	return tb_grid_multiply(join->grid, &side->t) ||
		refuse_program(program, side->t.reason);
}

/* Keys, then what is left as the residual. */
static bool
add_conditions(TbJoinProgram *program, JoinSide *side, SideJoin *join, Relids outer)
{
	List	 *others = NIL;
	bool	  unique = join->join->unique;
	TbValue	  residual;
	ListCell *lc;

	foreach(lc, join->join->conditions)
	{
		RestrictInfo *rinfo = lfirst_node(RestrictInfo, lc);
		bool		  failed;

		if (add_key(program, side, join, rinfo, outer, &failed))
			continue;
		if (failed)
			return false;
		others = lappend(others, rinfo->clause);
		/* The proof may rest on it. */
		if (rinfo->can_join && rinfo->mergeopfamilies != NIL)
			unique = false;
	}
	if ((join->grid != NULL &&
		 !tb_grid_add_keys(join->grid, &side->t, join->index, &join->inner->t,
						   &program->reason)) ||
		(others != NIL && !add_residual(program, side, join, others, &residual)))
		return false;
	if (join->shown->keys == NIL)
		unique = false;
	tb_builder_join_condition(side->t.builder, join->index,
							  others != NIL ? &residual : NULL, unique);
	return true;
}

/* The join whose table the shared one probes. */
static const SideJoin *
join_that_builds(const TbJoinProgram *program, const TbTreeJoin *shared)
{
	ListCell *lc;

	foreach(lc, program->built)
	{
		const SideJoin *join = lfirst(lc);

		if (join->join->inner == shared->inner)
			return join;
	}
	return NULL;
}

/* The side's values of all keys of a table: TbValue, and the clauses' outer expressions.
 * False if some can not be compared with what is stored. */
static bool
fit_keys(JoinSide *side, const TbTreeJoin *shared, const SideJoin *builds, TbValue *values,
		 List **exprs)
{
	int number = 0;

	if (list_length(builds->stored) != list_length(shared->conditions))
		return false;
	for (; number < list_length(builds->stored); number++)
	{
		const StoredKey	   *key = list_nth(builds->stored, number);
		const RestrictInfo *rinfo = list_nth(shared->conditions, number);
		Expr			   *left = (Expr *) get_leftop(rinfo->clause);
		Expr			   *right = (Expr *) get_rightop(rinfo->clause);
		bool				key_left = equal(left, key->expr);
		Expr			   *expr = key_left ? right : left;

		if ((!key_left && !equal(right, key->expr)) ||
			!tb_translate(&side->t, expr, &values[number]) ||
			!tb_join_key_fit(&side->t, &values[number], key->info))
			return false;
		*exprs = lappend(*exprs, expr);
	}
	return true;
}

/* A SEMI join with a table that has been built for another join. It only saves work, so it
 * is left out if the keys cannot be compared. */
static void
add_shared_join(TbJoinProgram *program, JoinSide *side, TbTreeJoin *shared)
{
	const SideJoin *builds = join_that_builds(program, shared);
	TbValue			values[TB_MAX_KEYS];
	List		   *exprs = NIL;
	SideJoin	   *join;

	if (builds == NULL || list_length(shared->conditions) > TB_MAX_KEYS ||
		!fit_keys(side, shared, builds, values, &exprs))
		return;
	join = palloc0(sizeof(SideJoin));
	join->join = shared;
	join->inner = builds->inner;
	join->shown = palloc0(sizeof(TbStageJoin));
	join->index = tb_builder_add_join(side->t.builder, TB_JOIN_SEMI,
									  builds->inner->join_table);
	for (int i = 0; i < list_length(exprs); i++)
	{
		const StoredKey *key = list_nth(builds->stored, i);

		tb_builder_join_key(side->t.builder, join->index, &values[i]);
		note_pruning_key(program, side, join, list_nth(exprs, i), key->expr);
		join->shown
			->keys = lappend(join->shown->keys,
							 list_nth_node(RestrictInfo, shared->conditions, i)->clause);
	}
	tb_builder_join_condition(side->t.builder, join->index, NULL, false);
	side->joins = lappend(side->joins, join);
}

static JoinSide *make_side(TbJoinProgram *program, TbJoinTree *tree, bool needed,
						   bool is_main);
static void		 end_side(JoinSide *side);

static bool
add_joins(TbJoinProgram *program, JoinSide *side)
{
	Relids	  outer = bms_copy(side->tree->probe_side->relids);
	ListCell *lc;

	foreach(lc, side->tree->joins)
	{
		SideJoin *join;

		if (((TbTreeJoin *) lfirst(lc))->shared)
		{
			add_shared_join(program, side, lfirst(lc));
			continue;
		}
		/* Make the inner side first. */
		join = palloc0(sizeof(SideJoin));
		join->join = lfirst(lc);
		join->shown = palloc0(sizeof(TbStageJoin));
		join->inner = make_side(program, join->join->inner,
								needs_inner(side, join->join, foreach_current_index(lc)),
								false);
		if (join->inner == NULL)
			return false;
		/* Number its table, add the join. */
		join->inner->join_table = program->ntables++;
		if (!begin_grid(program, side, join, outer))
		{
			end_side(join->inner);
			return false;
		}
		join->index = tb_builder_add_join(side->t.builder, join->join->kind,
										  join->inner->join_table);
		side->joins = lappend(side->joins, join);
		/* A barrier for filters. */
		if (join->join->kind == TB_JOIN_FULL)
		{
			tb_builder_full_join(side->t.builder, join->index, join->join->nfilters);
			tb_builder_keep_null_keys(join->inner->t.builder);
		}
		/* Keys and residual. */
		if (!add_conditions(program, side, join, outer))
			return false;
		program->built = lappend(program->built, join);
		outer = tb_tree_join_add_relids(outer, join->join);
	}
	return true;
}

static void
end_side(JoinSide *side)
{
	ListCell *lc;

	foreach(lc, side->joins)
		if (!((SideJoin *) lfirst(lc))->join->shared)
			end_side(((SideJoin *) lfirst(lc))->inner);
	if (side->relation != NULL)
		table_close(side->relation, NoLock);
}

/* Starts the translation of what reads a table, or rows of another plan. */
static void
begin_translation(TbJoinProgram *program, JoinSide *side)
{
	const TbJoinTree *tree = side->tree;

	tb_translator_init(&side->t, program->root, tree->probe_side->relid,
					   side->relation ? RelationGetDescr(side->relation) : NULL);
	if (side->last_full >= 0)
		tb_builder_expect_full_join(side->t.builder, side->last_full);
	if (tree->partitions != NULL && side->relation != NULL)
		tb_builder_set_partitions(side->t.builder, tree->partitions);
	if (side->relation != NULL && side->tree->probe_side->fdwroutine != NULL)
		tb_builder_read_files(side->t.builder);
	side->t.resolve = resolve_column;
	side->t.resolver = side;
}

/* Whether the engine has all filters of the table itself. */
static bool
has_own_filters(JoinSide *side)
{
	ListCell *lc;

	foreach(lc, side->tree->filters)
	{
		TbValue value;

		if (is_own_filter(side, lfirst(lc)) &&
			!tb_translate(&side->t, lfirst_node(RestrictInfo, lc)->clause, &value))
			return false;
	}
	return true;
}

/* A table with filters that the engine lacks: PostgreSQL's plan of it, which applies all of
 * them, and whose rows are sent. */
static bool
read_by_plan(TbJoinProgram *program, JoinSide *side)
{
	RelOptInfo	  *rel = side->tree->probe_side;
	RangeTblEntry *rte = planner_rt_fetch(rel->relid, program->root);
	const char	  *refused = side->t.reason;
	const char	  *reason;

	/* A FULL join's rows without a match become rows of the table that streams. */
	if (side->last_full < 0 && tb_rows_qualify(program->root, rel, rte, &reason))
		side->source = tb_serial_path_of_input(program->root, rel);
	if (side->source == NULL)
		return refuse_program(program, refused);
	table_close(side->relation, NoLock);
	side->relation = NULL;
	begin_translation(program, side);
	return true;
}

static JoinSide *
make_side(TbJoinProgram *program, TbJoinTree *tree, bool needed, bool is_main)
{
	JoinSide	  *side = palloc0(sizeof(JoinSide));
	RangeTblEntry *rte = planner_rt_fetch(tree->probe_side->relid, program->root);

	side->tree = tree;
	side->needed = needed;
	side->is_main = is_main;
	side->last_full = last_full_join(tree);
	side->entries = 1;
	side->source = tree->source;
	/* Locked since the query was parsed; the descriptor is the relcache's. */
	if (side->source == NULL)
		side->relation = table_open(rte->relid, NoLock);
	begin_translation(program, side);
	if ((side->source != NULL || may_be_late(program, side) || has_own_filters(side) ||
		 read_by_plan(program, side)) &&
		add_joins(program, side) && add_filters(program, side))
		return side;
	end_side(side);
	return NULL;
}

TbJoinProgram *
tb_join_program_begin(PlannerInfo *root, TbJoinTree *tree, List **late_filters,
					  TbUndecided *undecided, const char **reason)
{
	TbJoinProgram *program = palloc0(sizeof(TbJoinProgram));

	program->root = root;
	program->late_filters = late_filters;
	program->undecided = undecided;
	program->main = make_side(program, tree, true, true);
	if (program->main != NULL)
		return program;
	*reason = program->reason;
	return NULL;
}

TbTranslator *
tb_join_program_translator(TbJoinProgram *program)
{
	return &program->main->t;
}

void
tb_join_program_end(TbJoinProgram *program)
{
	end_side(program->main);
}

/* ---- Stages ---- */

/* Any column will do: it tells which table it is after the planner has
 * renumbered them. */
static Var *
reference_to(const JoinSide *side)
{
	return makeVar(side->tree->probe_side->relid, TableOidAttributeNumber, OIDOID, -1,
				   InvalidOid, 0);
}

static void
describe_joins(TbStage *stage, const JoinSide *side, double rows)
{
	ListCell *lc;

	foreach(lc, side->joins)
	{
		const SideJoin *join = lfirst(lc);

		stage->joins = lappend(stage->joins, join->shown);
		stage->info.work.probes += rows * (join->grid != NULL ? join->grid->lookups : 1);
		if (join->grid != NULL)
			stage->info.work.candidates += Max(rows, join->join->rows) * TB_GRID_CANDIDATES;
		else if (join->shown->keys == NIL)
			stage->info.work.candidates += rows * join->join->inner->rows;
		stage->info.work.matches += join->join->rows;
		rows = join->join->rows;
	}
}

/* Where the plan below returns what the program reads. */
static bool
find_source_columns(TbJoinProgram *program, const JoinSide *side, TbStage *stage)
{
	ListCell *attnum;

	foreach(attnum, tb_builder_row_columns(side->t.builder))
	{
		int		  found = -1;
		ListCell *lc;

		foreach(lc, stage->source->pathtarget->exprs)
		{
			Var *var = lfirst(lc);

			if (IsA(var, Var) && var->varattno == lfirst_int(attnum))
				found = foreach_current_index(lc);
		}
		if (found < 0)
			return refuse_program(program,
								  "a column that PostgreSQL's plan does not return");
		stage->source_columns = lappend_int(stage->source_columns, found);
	}
	stage->info.nsource_columns = list_length(stage->source_columns);
	return true;
}

/* Of all leaves. */
static double
cached_share(const TbPartitions *partitions, const TbProgramCost *program)
{
	double	  pages = 0;
	ListCell *lc;

	foreach(lc, partitions->leaves)
	{
		const TbLeaf *leaf = lfirst(lc);

		pages += leaf->rel->pages * tb_cost_cached(leaf->relid, program);
	}
	return pages / Max(partitions->pages, 1);
}

static bool
all_stay(const TbPartitions *partitions, const TbProgramCost *program)
{
	ListCell *lc;

	foreach(lc, partitions->leaves)
		if (!tb_advice_stays(((const TbLeaf *) lfirst(lc))->relid, program->attributes))
			return false;
	return true;
}

/* What reading the partitions takes instead of the table. */
static bool
describe_partitions(TbJoinProgram *program, const JoinSide *side, TbStage *stage)
{
	const TbPartitions *partitions = side->tree->partitions;
	TbWork			   *work = &stage->info.work;

	if (partitions == NULL || side->source != NULL)
		return true;
	if (!tb_layout_programs(stage->program, partitions, &stage->layouts,
							&stage->leaf_layouts, &program->reason))
		return false;
	stage->partitions = partitions;
	stage->pruner = tb_partitions_pruner(program->root, side->tree->probe_side, partitions);
	/* PostgreSQL's plan would meet rows that raise. */
	if (!tb_program_raises_before_output(stage->program))
		stage->pruning_keys = side->pruning_keys;
	stage->info.nleaves = list_length(partitions->leaves);
	stage->info.pruned = partitions->pruned;
	work->partitions = stage->info.nleaves;
	work->pages = partitions->pages;
	work->all_visible = partitions->all_visible;
	work->cacheable = Max(work->cacheable, partitions->all_visible);
	work->rows = partitions->tuples;
	work->passing = Min(side->tree->probe_side->rows, partitions->tuples);
	work->cached = cached_share(partitions, &work->program);
	work->stays_cached = all_stay(partitions, &work->program);
	return true;
}

/* What indexes of the partitions leave of them. */
static void
choose_leaf_indexes(PlannerInfo *root, TbStage *stage)
{
	TbWork	 *work = &stage->info.work;
	double	  pages = 0;
	double	  rows = 0;
	bool	  found = false;
	ListCell *lc;

	foreach(lc, stage->partitions->leaves)
	{
		RelOptInfo *leaf = ((TbLeaf *) lfirst(lc))->rel;
		TbWork leaf_work = tb_cost_work(((TbLeaf *) lfirst(lc))->relid, leaf, leaf->rows,
										&work->program);
		TbBlockIndex *index = tb_block_index_choose(root, leaf, &leaf_work);

		stage->leaf_indexes = lappend(stage->leaf_indexes, index);
		found = found || index != NULL;
		pages += leaf_work.pages;
		rows += leaf_work.rows;
	}
	if (!found)
	{
		stage->leaf_indexes = NIL;
		return;
	}
	work->pages = pages;
	work->rows = rows;
	work->passing = Min(work->passing, rows);
}

static bool
finish_side(TbJoinProgram *program, JoinSide *side, TbSink sink, List **stages)
{
	TbStage		 *stage = palloc0(sizeof(TbStage));
	RelOptInfo	 *rel = side->tree->probe_side;
	TbProgramCost cost;
	List  *late = side->is_main && program->late_filters != NULL ? *program->late_filters :
																   NIL;
	double factor = tb_late_filters_factor(program->root, late);
	ListCell *lc;

	/* First, for it says which outputs the tables must have. */
	stage->program = tb_builder_finish(side->t.builder, sink, &stage->params, &cost);
	if (stage->program == NULL)
		return refuse_program(program, "joins, keys or expressions are too many");
	stage->info.relid = side->relation ? RelationGetRelid(side->relation) : InvalidOid;
	stage->info.join_table = side->join_table;
	stage->info.source_plan = -1;
	stage->info.index_plan = -1;
	stage->info.needed = side->needed && side->last_full < 0;
	stage->info.pruner = -1;
	stage->info.late_filters = late != NIL;
	stage->info.work = tb_cost_work(stage->info.relid, rel, rel->rows * factor, &cost);
	stage->info.work.may_be_fed = side->source == NULL && rel->fdwroutine == NULL;
	if (side->source != NULL)
	{
		stage->info.work.pages = 0;
		stage->info.work.rows = side->source->rows;
		stage->info.work.passing = side->source->rows;
	}
	if (!describe_partitions(program, side, stage))
		return false;
	if (stage->partitions != NULL)
		choose_leaf_indexes(program->root, stage);
	else if (side->source == NULL)
		stage->block_index = tb_block_index_choose(program->root, rel, &stage->info.work);
	stage->info.work.reaching = side->joins != NIL ? side->tree->rows * factor :
													 stage->info.work.passing;
	if (sink == TB_SINK_BUILD)
		stage->info.work.built = side->tree->rows * side->entries;
	if (sink == TB_SINK_PROJECT)
		stage->info.work.projected = side->tree->rows;
	stage->source = side->source;
	if (stage->source != NULL && !find_source_columns(program, side, stage))
		return false;
	stage->reference = reference_to(side);
	stage->filters = get_actual_clauses(side->filters);
	describe_joins(stage, side, rel->rows * factor);
	foreach(lc, side->joins)
	{
		SideJoin *join = lfirst(lc);

		if (join->join->shared)
			continue;
		tb_builder_keep_outputs(join->inner->t.builder,
								tb_builder_used_outputs(side->t.builder, join->index));
		if (!finish_side(program, join->inner, TB_SINK_BUILD, stages))
			return false;
	}
	*stages = lappend(*stages, stage);
	return true;
}

List *
tb_join_program_finish(TbJoinProgram *program, TbSink sink, const char **reason)
{
	List *stages = NIL;

	if (program->ntables > TB_MAX_JOIN_TABLES)
		program->reason = "joins are too many";
	else if (finish_side(program, program->main, sink, &stages))
	{
		stages = tb_order_stages(stages);
		tb_number_sources(stages);
		return stages;
	}
	*reason = program->reason;
	return NIL;
}
