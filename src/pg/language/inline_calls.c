/*
 * inline_calls.c - see inline_calls.h.
 *
 * PostgreSQL inlines SQL functions while it plans, this does the same just before: a
 * function of one expression then costs what the expression costs, in PostgreSQL's plans
 * and on devices, and the planner sees its operators. The result may not differ from that
 * of the call:
 *   - an argument is evaluated once. So one that is more than a column, a constant or a
 * parameter must be used once, and not under a condition;
 *   - a strict function is NULL if an argument is. So its expression must be, too;
 *   - the user may execute the function, and it has no settings or rights of its own;
 *   - an index or a partition key that has the call is found by it. Such functions stay.
 * Functions with statements stay calls: devices still translate them.
 *
 * Called by the planner's hook, whether or not pg_turbine is enabled: bodies have one
 * meaning.
 */
#include "postgres.h"

#include "access/relation.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"
#include "utils/partcache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "pg/language/inline_calls.h"
#include "pg/language/routine.h"

typedef struct Expansion
{
	Oid	  function;
	Oid	  collation;
	Node *body;
} Expansion;

typedef struct Inliner
{
	List *indexed;	  /* OIDs of functions that stay */
	List *functions;  /* OIDs of those whose bodies are used */
	List *expansions; /* Expansion */
} Inliner;

/* ---- Which functions are there? ---- */

static bool
find_call(Node *node, void *context)
{
	if (node == NULL)
		return false;
	check_stack_depth();
	if (IsA(node, FuncExpr) && tb_is_routine(((FuncExpr *) node)->funcid))
		return true;
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, find_call, context, 0);
	return expression_tree_walker(node, find_call, context);
}

static bool
collect_calls(Node *node, List **functions)
{
	if (node == NULL)
		return false;
	if (IsA(node, FuncExpr) && tb_is_routine(((FuncExpr *) node)->funcid))
		*functions = list_append_unique_oid(*functions, ((FuncExpr *) node)->funcid);
	return expression_tree_walker(node, collect_calls, functions);
}

static void
collect_of_relation(Oid relid, List **functions)
{
	Relation	 rel = relation_open(relid, NoLock);
	List		*indexes = NIL;
	ListCell	*lc;
	PartitionKey key;

	if (rel->rd_rel->relhasindex)
		indexes = RelationGetIndexList(rel);
	foreach(lc, indexes)
	{
		Relation index = relation_open(lfirst_oid(lc), AccessShareLock);

		(void) collect_calls((Node *) RelationGetIndexExpressions(index), functions);
		(void) collect_calls((Node *) RelationGetIndexPredicate(index), functions);
		relation_close(index, NoLock);
	}
	key = rel->rd_rel->relkind == RELKIND_PARTITIONED_TABLE ? RelationGetPartitionKey(rel) :
															  NULL;
	if (key != NULL)
		(void) collect_calls((Node *) key->partexprs, functions);
	relation_close(rel, NoLock);
}

/* Of all tables of the query and its subqueries; the rewriter has locked them. */
static bool
collect_indexed(Node *node, List **functions)
{
	ListCell *lc;

	if (node == NULL)
		return false;
	if (!IsA(node, Query))
		return expression_tree_walker(node, collect_indexed, functions);
	foreach(lc, ((Query *) node)->rtable)
	{
		const RangeTblEntry *rte = lfirst(lc);

		if (rte->rtekind == RTE_RELATION &&
			(rte->relkind == RELKIND_RELATION || rte->relkind == RELKIND_MATVIEW ||
			 rte->relkind == RELKIND_PARTITIONED_TABLE))
			collect_of_relation(rte->relid, functions);
	}
	return query_tree_walker((Query *) node, collect_indexed, functions, 0);
}

/* ---- May the expression take the place of the call? ---- */

typedef struct Uses
{
	int *all;
	int *conditional; /* where PostgreSQL evaluates operands for some rows only */
	int	 conditions;  /* around the place that is looked at */
} Uses;

static bool count_uses(Node *node, Uses *uses);

/* Operands of which only the first is always evaluated. */
static bool
count_in_list(List *operands, Uses *uses)
{
	int		  outer = uses->conditions;
	ListCell *lc;

	foreach(lc, operands)
	{
		(void) count_uses(lfirst(lc), uses);
		uses->conditions = outer + 1;
	}
	uses->conditions = outer;
	return false;
}

static bool
count_uses(Node *node, Uses *uses)
{
	if (node == NULL)
		return false;
	check_stack_depth();
	switch (nodeTag(node))
	{
		case T_Var:
		{
			int reg = ((Var *) node)->varattno - 1;

			uses->all[reg]++;
			if (uses->conditions > 0)
				uses->conditional[reg]++;
			return false;
		}
		case T_BoolExpr:
			return count_in_list(((BoolExpr *) node)->args, uses);
		case T_CoalesceExpr:
			return count_in_list(((CoalesceExpr *) node)->args, uses);
		case T_CaseExpr:
		{
			const CaseExpr *choice = (CaseExpr *) node;
			List		   *operands = NIL;
			ListCell	   *lc;

			foreach(lc, choice->args)
			{
				operands = lappend(operands, lfirst_node(CaseWhen, lc)->expr);
				operands = lappend(operands, lfirst_node(CaseWhen, lc)->result);
			}
			return count_in_list(lappend(operands, choice->defresult), uses);
		}
		default:
			return expression_tree_walker(node, count_uses, uses);
	}
}

/* As good twice as once, and as good never. */
static bool
is_plain(Node *arg)
{
	while (IsA(arg, RelabelType))
		arg = (Node *) ((RelabelType *) arg)->arg;
	return IsA(arg, Var) || IsA(arg, Const) ||
		(IsA(arg, Param) && ((Param *) arg)->paramkind == PARAM_EXTERN);
}

static bool
may_take_its_place(const TbRoutine *routine, Node *body, const FuncExpr *call)
{
	Uses	  uses = {.all = palloc0(sizeof(int) * Max(routine->nargs, 1)),
					  .conditional = palloc0(sizeof(int) * Max(routine->nargs, 1))};
	int		  volatiles = 0;
	int		  i = 0;
	ListCell *lc;

	(void) count_uses(body, &uses);
	foreach(lc, call->args)
	{
		Node *arg = lfirst(lc);

		if (routine->strict && uses.all[i] == 0)
			return false;
		if (!is_plain(arg) && (uses.all[i] != 1 || uses.conditional[i] > 0))
			return false;
		/* Of two, the first argument's effects come first. */
		if (contain_volatile_functions(arg) && ++volatiles > 1)
			return false;
		i++;
	}
	return !routine->strict || !contain_nonstrict_functions(body);
}

/* ---- Replacement ---- */

static Node *
put_arguments(Node *node, void *context)
{
	if (node == NULL)
		return NULL;
	if (IsA(node, Var))
		return copyObject(list_nth((List *) context, ((Var *) node)->varattno - 1));
	return expression_tree_mutator(node, put_arguments, context);
}

static Node *inline_in(Node *node, void *context);

/* The function's expression, in which calls are replaced; arguments are still registers.
 * Made once for each query: depth and size are bounded (routine.c). */
static Node *
expand(const TbRoutine *routine, Oid collation, Inliner *inliner)
{
	Expansion *expansion;
	ListCell  *lc;

	foreach(lc, inliner->expansions)
	{
		expansion = lfirst(lc);
		if (expansion->function == routine->function && expansion->collation == collation)
			return expansion->body;
	}
	expansion = palloc(sizeof(Expansion));
	expansion->function = routine->function;
	expansion->collation = collation;
	expansion->body = inline_in(copyObject((Node *) routine->result), inliner);
	inliner->expansions = lappend(inliner->expansions, expansion);
	return expansion->body;
}

/* The call's expression; NULL: it stays. Its arguments have been looked at. */
static Node *
body_of_call(FuncExpr *call, Inliner *inliner)
{
	const TbRoutine *routine;
	Node			*result;

	if (list_member_oid(inliner->indexed, call->funcid))
		return NULL;
	tb_complete_arguments(call);
	routine = tb_routine_of(call->funcid, call->inputcollid, NULL);
	/* Steps of loops are counted over the whole call. */
	if (routine->steps != NIL || routine->has_loops || !tb_routine_may_be_inlined(routine))
		return NULL;
	result = expand(routine, call->inputcollid, inliner);
	if (!may_take_its_place(routine, result, call))
		return NULL;
	inliner->functions = list_concat_unique_oid(list_append_unique_oid(inliner->functions,
																	   routine->function),
												routine->callees);
	result = put_arguments(result, call->args);
	/* Seen from outside, it keeps the call's collation. */
	if (OidIsValid(call->funccollid) && exprCollation(result) != call->funccollid)
	{
		CollateExpr *collate = makeNode(CollateExpr);

		collate->arg = (Expr *) result;
		collate->collOid = call->funccollid;
		collate->location = call->location;
		result = (Node *) collate;
	}
	return result;
}

static Node *
inline_in(Node *node, void *context)
{
	Node *body;

	if (node == NULL)
		return NULL;
	check_stack_depth();
	if (IsA(node, Query))
		return (Node *) query_tree_mutator((Query *) node, inline_in, context, 0);
	/* A function in FROM stays one. */
	if (IsA(node, RangeTblFunction))
		return copyObject(node);
	node = expression_tree_mutator(node, inline_in, context);
	if (!IsA(node, FuncExpr) || !tb_is_routine(((FuncExpr *) node)->funcid))
		return node;
	body = body_of_call((FuncExpr *) node, context);
	return body != NULL ? body : node;
}

Query *
tb_inline_calls(Query *query, List **functions)
{
	Inliner inliner = {0};

	*functions = NIL;
	if (query->commandType == CMD_UTILITY || !query_tree_walker(query, find_call, NULL, 0))
		return query;
	(void) collect_indexed((Node *) query, &inliner.indexed);
	query = query_tree_mutator(query, inline_in, &inliner, 0);
	*functions = inliner.functions;
	return query;
}

void
tb_plan_depends_on(PlannedStmt *plan, const List *functions)
{
	ListCell *lc;

	foreach(lc, functions)
	{
		PlanInvalItem *item = makeNode(PlanInvalItem);

		item->cacheId = PROCOID;
		item->hashValue = GetSysCacheHashValue1(PROCOID, ObjectIdGetDatum(lfirst_oid(lc)));
		plan->invalItems = lappend(plan->invalItems, item);
	}
	if (functions != NIL)
		plan->dependsOnRole = true;
}
