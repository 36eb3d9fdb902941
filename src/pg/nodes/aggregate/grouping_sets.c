/*
 * grouping_sets.c - see grouping_sets.h.
 *
 * Owns the order of a list in custom_private, which PostgreSQL copies with the plan; must
 * keep nothing there that is no node. Called by the node's plan.c and exec.c.
 */
#include "postgres.h"

#include "pg/nodes/aggregate/grouping_sets.h"
#include "pg/stage/plan_private.h"

/* The list of grouping sets. */
typedef enum TbPrivateSets
{
	TB_SETS_SETS,	   /* Const, bytea: uint64[] */
	TB_SETS_FUNCTIONS, /* Const, bytea: int32[] */
	TB_SETS_OPERATORS, /* OID list, one a key, computed ones included */
	TB_SETS_DISTINCTS, /* Const, bytea: TbDistinct[] */
	TB_SETS_COMPUTED,  /* int list: how many keys are computed */
	TB_SETS_STATES	   /* Const, bytea: TbComputedState[] */
} TbPrivateSets;

List *
tb_grouping_sets_pack(List *private, const TbGroupingSets *sets)
{
	List *operators = NIL;

	for (int i = 0; i < sets->nkeys + sets->ncomputed; i++)
		operators = lappend_oid(operators, sets->operators[i]);
	lfirst(list_nth_cell(private, TB_PRIVATE_SETS)) =
		list_make5(tb_bytes_node(sets->sets, sizeof(uint64) * sets->nsets),
				   tb_bytes_node(sets->functions,
								 sizeof(int32) * sets->nfunctions * sets->nsets),
				   operators,
				   tb_bytes_node(sets->distincts, sizeof(TbDistinct) * sets->ndistincts),
				   list_make1_int(sets->ncomputed));
	lfirst(list_nth_cell(private, TB_PRIVATE_SETS)) =
		lappend(list_nth(private, TB_PRIVATE_SETS),
				tb_bytes_node(sets->computed_states,
							  sizeof(TbComputedState) * sets->ncomputed_states));
	return private;
}

TbGroupingSets *
tb_grouping_sets_unpack(const CustomScan *plan)
{
	List		   *packed = list_nth(plan->custom_private, TB_PRIVATE_SETS);
	TbGroupingSets *result;
	List		   *operators;
	Oid			   *copy;
	Size			size;

	if (packed == NIL)
		return NULL;
	operators = list_nth(packed, TB_SETS_OPERATORS);
	result = palloc0(sizeof(TbGroupingSets));
	result->ncomputed = linitial_int(list_nth(packed, TB_SETS_COMPUTED));
	result->nkeys = list_length(operators) - result->ncomputed;
	result->sets = tb_node_bytes(packed, TB_SETS_SETS, &size);
	result->nsets = size / sizeof(uint64);
	result->functions = tb_node_bytes(packed, TB_SETS_FUNCTIONS, &size);
	result->nfunctions = size / sizeof(int32) / Max(result->nsets, 1);
	result->distincts = tb_node_bytes(packed, TB_SETS_DISTINCTS, &size);
	result->ndistincts = size / sizeof(TbDistinct);
	result->computed_states = tb_node_bytes(packed, TB_SETS_STATES, &size);
	result->ncomputed_states = size / sizeof(TbComputedState);
	copy = palloc(sizeof(Oid) * Max(list_length(operators), 1));
	for (int i = 0; i < list_length(operators); i++)
		copy[i] = list_nth_oid(operators, i);
	result->operators = copy;
	return result;
}
