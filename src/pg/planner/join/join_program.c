/*
 * join_program.c - see join_program.h.
 *
 * A side is a tree with its program under construction. It reads the columns of its probe
 * side itself. A column of another table is a payload column of one of its joins: an
 * output is added to the program of that join's inner side, which may in turn get it from
 * one of its own joins. Equalities between the sides become keys. Everything else is the
 * join's residual condition.
 *
 * Called by the nodes' planning. join_stages.c makes stages of the sides.
 */
#include "postgres.h"

#include "access/table.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "optimizer/restrictinfo.h"
#include "parser/parsetree.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "turbine/wire.h"

#include "pg/planner/join/join_keys.h"
#include "pg/planner/join/join_program_internal.h"
#include "pg/planner/join/late_filters.h"
#include "pg/planner/join/serial_paths.h"
#include "pg/planner/relation_check.h"
#include "pg/planner/join/pruning_keys.h"

bool
tb_join_program_refuse(TbJoinProgram *program, const char *reason)
{
	program->reason = reason;
	return false;
}

/* What the inner side computes as node `expr`, as a node of the side. */
static TbValue
add_payload(TbJoinSide *side, const TbSideJoin *join, uint32 expr, TbTypeInfo info,
			bool nullable)
{
	uint32 number = tb_builder_add_output(join->inner->t.builder, expr);

	return tb_builder_payload(side->t.builder, join->index, number, info, nullable);
}

/* A column of an inner side: an output of its program. What a numeric prints with,
 * if that varies, is another. */
static bool
resolve_payload(TbJoinSide *side, TbSideJoin *join, Var *var, TbValue *value)
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
	TbJoinSide *side = t->resolver;
	ListCell   *lc;

	foreach(lc, side->joins)
	{
		TbSideJoin *join = lfirst(lc);

		if (bms_is_member(var->varno, join->join->inner->relids))
			return resolve_payload(side, join, var, value);
	}
	return tb_refuse(t, "a column of another table");
}

/* A FULL join is a barrier: filters below it must be there before. */
static bool
may_be_late(const TbJoinProgram *program, const TbJoinSide *side)
{
	return side->is_main && program->late_filters != NULL && side->last_full < 0;
}

/* Whether it is one of the side's table, and not of joined rows. */
static bool
is_own_filter(const TbJoinSide *side, const RestrictInfo *rinfo)
{
	return list_member_ptr(side->tree->probe_side->baserestrictinfo, rinfo);
}

static bool
add_filters(TbJoinProgram *program, TbJoinSide *side)
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
		if (!tb_must_follow_late_filters(rinfo, late) &&
			tb_translate(&side->t, rinfo->clause, &value))
		{
			tb_builder_add_filter(side->t.builder, &value);
			side->filters = lappend(side->filters, rinfo);
		}
		else if (may_be_late(program, side))
			late = lappend(late, rinfo);
		else
			return tb_join_program_refuse(program, side->t.reason);
	}
	if (side->is_main && program->late_filters != NULL)
		*program->late_filters = late;
	return true;
}

/* The sides of an equality that can be a key; false: it is none. */
static bool
split_equality(const RestrictInfo *rinfo, const TbSideJoin *join, Relids outer,
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
note_pruning_key(TbJoinProgram *program, TbJoinSide *side, const TbSideJoin *join,
				 const Expr *outer_expr, const Expr *inner_expr)
{
	TbPruningKey *key;
	uint32		  number = list_length(join->shown->keys);

	if (number >= TB_MAX_KEY_BOUNDS || !tb_join_prunes(side->tree, join->join) ||
		!tb_is_pruning_key(program->root, side->tree, outer_expr, inner_expr))
		return;
	key = palloc0(sizeof(TbPruningKey));
	key->join_table = join->inner->join_table;
	key->key = number;
	key->attnum = ((const Var *) outer_expr)->varattno;
	side->pruning_keys = lappend(side->pruning_keys, key);
}

static void
note_stored_key(TbSideJoin *join, Expr *expr, TbTypeInfo info)
{
	TbStoredKey *key = palloc0(sizeof(TbStoredKey));

	key->expr = expr;
	key->info = info;
	join->stored = lappend(join->stored, key);
}

/* Adds the clause's two expressions as keys of both programs. False with
 * *failed if they can not be computed at all; else it has to be a residual. */
static bool
add_key(TbJoinProgram *program, TbJoinSide *side, TbSideJoin *join,
		const RestrictInfo *rinfo, Relids outer, bool *failed)
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
		return tb_join_program_refuse(program, side->t.reason);
	if (!tb_translate(&join->inner->t, inner_expr, &stored))
		return tb_join_program_refuse(program, join->inner->t.reason);
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

static bool
add_residual(TbJoinProgram *program, TbJoinSide *side, TbSideJoin *join, List *clauses,
			 TbValue *residual)
{
	Expr *condition = make_ands_explicit(clauses);
	List *shared = list_copy(side->t.shared);
	bool  ok;

	/* Of a semijoin's or antijoin's columns nothing may be used again elsewhere. */
	join->matching = true;
	ok = tb_translate(&side->t, condition, residual);
	join->matching = false;
	side->t.shared = shared;
	join->shown->others = clauses;
	return ok || tb_join_program_refuse(program, side->t.reason);
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
needs_inner(const TbJoinSide *side, const TbTreeJoin *join, int index)
{
	return side->needed && index > side->last_full &&
		(join->kind == TB_JOIN_INNER || join->kind == TB_JOIN_SEMI);
}

/* Keys, then what is left as the residual. */
static bool
add_conditions(TbJoinProgram *program, TbJoinSide *side, TbSideJoin *join, Relids outer)
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
	if (others != NIL && !add_residual(program, side, join, others, &residual))
		return false;
	if (join->shown->keys == NIL)
		unique = false;
	tb_builder_join_condition(side->t.builder, join->index,
							  others != NIL ? &residual : NULL, unique);
	return true;
}

/* The join whose table the shared one probes. */
static const TbSideJoin *
join_that_builds(const TbJoinProgram *program, const TbTreeJoin *shared)
{
	ListCell *lc;

	foreach(lc, program->built)
	{
		const TbSideJoin *join = lfirst(lc);

		if (join->join->inner == shared->inner)
			return join;
	}
	return NULL;
}

/* The side's values of all keys of a table: TbValue, and the clauses' outer expressions.
 * False if some can not be compared with what is stored. */
static bool
fit_keys(TbJoinSide *side, const TbTreeJoin *shared, const TbSideJoin *builds,
		 TbValue *values, List **exprs)
{
	int number = 0;

	if (list_length(builds->stored) != list_length(shared->conditions))
		return false;
	for (; number < list_length(builds->stored); number++)
	{
		const TbStoredKey  *key = list_nth(builds->stored, number);
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
add_shared_join(TbJoinProgram *program, TbJoinSide *side, TbTreeJoin *shared)
{
	const TbSideJoin *builds = join_that_builds(program, shared);
	TbValue			  values[TB_MAX_KEYS];
	List			 *exprs = NIL;
	TbSideJoin		 *join;

	if (builds == NULL || list_length(shared->conditions) > TB_MAX_KEYS ||
		!fit_keys(side, shared, builds, values, &exprs))
		return;
	join = palloc0(sizeof(TbSideJoin));
	join->join = shared;
	join->inner = builds->inner;
	join->shown = palloc0(sizeof(TbStageJoin));
	join->index = tb_builder_add_join(side->t.builder, TB_JOIN_SEMI,
									  builds->inner->join_table);
	for (int i = 0; i < list_length(exprs); i++)
	{
		const TbStoredKey *key = list_nth(builds->stored, i);

		tb_builder_join_key(side->t.builder, join->index, &values[i]);
		note_pruning_key(program, side, join, list_nth(exprs, i), key->expr);
		join->shown
			->keys = lappend(join->shown->keys,
							 list_nth_node(RestrictInfo, shared->conditions, i)->clause);
	}
	tb_builder_join_condition(side->t.builder, join->index, NULL, false);
	side->joins = lappend(side->joins, join);
}

static TbJoinSide *make_side(TbJoinProgram *program, TbJoinTree *tree, bool needed,
							 bool is_main);

static bool
add_joins(TbJoinProgram *program, TbJoinSide *side)
{
	Relids	  outer = bms_copy(side->tree->probe_side->relids);
	ListCell *lc;

	foreach(lc, side->tree->joins)
	{
		TbSideJoin *join;

		if (((TbTreeJoin *) lfirst(lc))->shared)
		{
			add_shared_join(program, side, lfirst(lc));
			continue;
		}
		/* Make the inner side first. */
		join = palloc0(sizeof(TbSideJoin));
		join->join = lfirst(lc);
		join->shown = palloc0(sizeof(TbStageJoin));
		join->inner = make_side(program, join->join->inner,
								needs_inner(side, join->join, foreach_current_index(lc)),
								false);
		if (join->inner == NULL)
			return false;
		/* Number its table, add the join. */
		join->inner->join_table = program->ntables++;
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
		outer = bms_add_members(outer, join->join->inner->relids);
	}
	return true;
}

static void
end_side(TbJoinSide *side)
{
	ListCell *lc;

	foreach(lc, side->joins)
		if (!((TbSideJoin *) lfirst(lc))->join->shared)
			end_side(((TbSideJoin *) lfirst(lc))->inner);
	if (side->relation != NULL)
		table_close(side->relation, NoLock);
}

/* Starts the translation of what reads a table, or rows of another plan. */
static void
begin_translation(TbJoinProgram *program, TbJoinSide *side)
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
has_own_filters(TbJoinSide *side)
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
read_by_plan(TbJoinProgram *program, TbJoinSide *side)
{
	RelOptInfo	  *rel = side->tree->probe_side;
	RangeTblEntry *rte = planner_rt_fetch(rel->relid, program->root);
	const char	  *refused = side->t.reason;
	const char	  *reason;

	/* A FULL join's rows without a match become rows of the table that streams. */
	if (side->last_full < 0 && tb_rows_qualify(program->root, rel, rte, &reason))
		side->source = tb_serial_path_of_input(program->root, rel);
	if (side->source == NULL)
		return tb_join_program_refuse(program, refused);
	table_close(side->relation, NoLock);
	side->relation = NULL;
	begin_translation(program, side);
	return true;
}

static TbJoinSide *
make_side(TbJoinProgram *program, TbJoinTree *tree, bool needed, bool is_main)
{
	TbJoinSide	  *side = palloc0(sizeof(TbJoinSide));
	RangeTblEntry *rte = planner_rt_fetch(tree->probe_side->relid, program->root);

	side->tree = tree;
	side->needed = needed;
	side->is_main = is_main;
	side->last_full = last_full_join(tree);
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
					  const char **reason)
{
	TbJoinProgram *program = palloc0(sizeof(TbJoinProgram));

	program->root = root;
	program->late_filters = late_filters;
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
