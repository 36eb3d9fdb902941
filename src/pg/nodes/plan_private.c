/*
 * plan_private.c - packs and unpacks custom_private.
 *
 * Bytes travel as bytea constants, which PostgreSQL copies and prints like any
 * other.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"

#include "pg/nodes/plan_private.h"

static Const *
bytes_node(const void *bytes, Size size)
{
	bytea	   *value = palloc(VARHDRSZ + size);

	SET_VARSIZE(value, VARHDRSZ + size);
	if (size > 0)
		memcpy(VARDATA(value), bytes, size);
	return makeConst(BYTEAOID, -1, InvalidOid, -1, PointerGetDatum(value),
					 false, false);
}

static void *
node_bytes(const CustomScan *plan, TbPrivateIndex index, Size *size)
{
	Const	   *node = list_nth_node(Const, plan->custom_private, index);
	bytea	   *value = DatumGetByteaPP(node->constvalue);
	void	   *copy;

	*size = VARSIZE_ANY_EXHDR(value);
	copy = palloc(Max(*size, 1));
	memcpy(copy, VARDATA_ANY(value), *size);
	return copy;
}

List *
tb_private_make(Oid relid, const TbProgram *program, const TbWork *work,
				double groups, const void *outputs, Size outputs_size)
{
	List	   *result = NIL;

	result = lappend(result, makeConst(OIDOID, -1, InvalidOid, sizeof(Oid),
									   ObjectIdGetDatum(relid), false, true));
	result = lappend(result, bytes_node(program, program->total_size));
	result = lappend(result, bytes_node(work, sizeof(*work)));
	result = lappend(result, bytes_node(&groups, sizeof(groups)));
	result = lappend(result, bytes_node(outputs, outputs_size));
	return result;
}

Oid
tb_private_relid(const CustomScan *plan)
{
	if (list_length(plan->custom_private) != TB_PRIVATE_COUNT ||
		!IsA(linitial(plan->custom_private), Const))
		return InvalidOid;
	return DatumGetObjectId(((Const *) linitial(plan->custom_private))->constvalue);
}

TbProgram *
tb_private_program(const CustomScan *plan)
{
	Size		size;

	return node_bytes(plan, TB_PRIVATE_PROGRAM, &size);
}

TbWork
tb_private_work(const CustomScan *plan)
{
	Size		size;

	return *(TbWork *) node_bytes(plan, TB_PRIVATE_WORK, &size);
}

double
tb_private_groups(const CustomScan *plan)
{
	Size		size;

	return *(double *) node_bytes(plan, TB_PRIVATE_GROUPS, &size);
}

void *
tb_private_outputs(const CustomScan *plan, Size *size)
{
	return node_bytes(plan, TB_PRIVATE_OUTPUTS, size);
}
