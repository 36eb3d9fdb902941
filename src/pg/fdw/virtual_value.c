/*
 * virtual_value.c - virtual columns: see virtual_value.h.
 *
 * A condition on virtual columns alone is decided once for a file, before it is opened.
 * Only comparisons of the type's own B-tree operators with values that are known count:
 * PostgreSQL might never evaluate anything else, and it might raise an error.
 */
#include "postgres.h"

#include "access/sysattr.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/typcache.h"

#include "pg/fdw/virtual_value.h"

Datum
tb_virtual_value(const TbTableFile *file, TupleDesc attributes, int attribute, bool *isnull)
{
	Form_pg_attribute form = TupleDescAttr(attributes, attribute);
	char			 *text = file->virtual_values[attribute];
	Oid				  function, parameter;

	if (text != NULL)
		pg_verifymbstr(text, strlen(text), false);
	*isnull = text == NULL;
	getTypeInputInfo(form->atttypid, &function, &parameter);
	return OidInputFunctionCall(function, text, parameter, form->atttypmod);
}

static Node *
without_relabels(Node *node)
{
	while (IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	return node;
}

static bool
is_virtual_column(Node *node, Index relid, const TbFileTable *table)
{
	Var *var = (Var *) without_relabels(node);

	return IsA(var, Var) && var->varno == relid && var->varlevelsup == 0 &&
		var->varattno > 0 && var->varattno <= table->ncolumns &&
		table->columns[var->varattno - 1].is_virtual;
}

static bool
is_fixed_value(Node *node)
{
	node = without_relabels(node);
	return IsA(node, Const) ||
		(IsA(node, Param) && ((Param *) node)->paramkind == PARAM_EXTERN);
}

/* Whether it is a comparison of its type's own B-tree operators. */
static bool
is_comparison(Oid operator)
{
	Oid				left, right;
	TypeCacheEntry *type;

	op_input_types(operator, & left, &right);
	if (!OidIsValid(left))
		return false;
	type = lookup_type_cache(left, TYPECACHE_BTREE_OPFAMILY);
	return OidIsValid(type->btree_opf) &&
		get_op_opfamily_strategy(operator, type->btree_opf) != 0;
}

static bool
is_file_filter(Node *clause, Index relid, const TbFileTable *table)
{
	List *arguments;
	Oid	  operator;

	/* Is it a comparison? */
	if (IsA(clause, OpExpr))
	{
		arguments = ((OpExpr *) clause)->args;
		operator=((OpExpr *) clause)->opno;
	}
	else if (IsA(clause, ScalarArrayOpExpr))
	{
		arguments = ((ScalarArrayOpExpr *) clause)->args;
		operator=((ScalarArrayOpExpr *) clause)->opno;
	}
	else
		return false;
	if (list_length(arguments) != 2 || !is_comparison(operator))
		return false;
	/* The column may stand on either side. */
	return (is_virtual_column(linitial(arguments), relid, table) &&
			is_fixed_value(lsecond(arguments))) ||
		(is_virtual_column(lsecond(arguments), relid, table) &&
		 is_fixed_value(linitial(arguments)));
}

List *
tb_file_filters(List *clauses, Index relid, const TbFileTable *table)
{
	List	 *filters = NIL;
	ListCell *cell;

	foreach(cell, clauses)
	{
		if (is_file_filter(lfirst(cell), relid, table))
			filters = lappend(filters, lfirst(cell));
	}
	return filters;
}

/* The scan tuple of a file, with the columns that filters refer to. */
static void
store_virtual_tuple(const TbTableFile *file, const Bitmapset *attributes,
					TupleTableSlot *slot)
{
	int attribute = -1;

	ExecClearTuple(slot);
	memset(slot->tts_isnull, true, sizeof(bool) * slot->tts_tupleDescriptor->natts);
	while ((attribute = bms_next_member(attributes, attribute)) >= 0)
		slot->tts_values[attribute] = tb_virtual_value(file, slot->tts_tupleDescriptor,
													   attribute,
													   &slot->tts_isnull[attribute]);
	ExecStoreVirtualTuple(slot);
}

bool *
tb_wanted_files(const TbFileTable *table, List *filters, ExprState *state, ScanState *node)
{
	ExprContext	   *econtext = node->ps.ps_ExprContext;
	TupleTableSlot *slot = node->ss_ScanTupleSlot;
	bool		   *wanted = palloc(sizeof(bool) * Max(table->nfiles, 1));
	Bitmapset	   *offset = NULL, *attributes = NULL;
	int				member = -1;

	/* Columns that the filters read. */
	pull_varattnos((Node *) filters, ((Scan *) node->ps.plan)->scanrelid, &offset);
	while ((member = bms_next_member(offset, member)) >= 0)
		attributes = bms_add_member(attributes,
									member + FirstLowInvalidHeapAttributeNumber - 1);
	/* One row stands for each file. */
	for (int i = 0; i < table->nfiles; i++)
	{
		MemoryContext saved = MemoryContextSwitchTo(econtext->ecxt_per_tuple_memory);

		store_virtual_tuple(&table->files[i], attributes, slot);
		MemoryContextSwitchTo(saved);
		econtext->ecxt_scantuple = slot;
		wanted[i] = ExecQual(state, econtext);
	}
	ExecClearTuple(slot);
	bms_free(offset);
	bms_free(attributes);
	return wanted;
}
