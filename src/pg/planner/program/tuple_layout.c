/*
 * tuple_layout.c - see tuple_layout.h. Called by whoever serializes a program.
 *
 * It describes dropped attributes too, since they still lie in tuples.
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "pg/planner/program/tuple_layout.h"

static TbAttribute
describe_attribute(Form_pg_attribute att)
{
	TbAttribute out = {0};

	out.length = att->attlen;
	switch (att->attalign)
	{
		case TYPALIGN_CHAR:
			out.align = 1;
			break;
		case TYPALIGN_SHORT:
			out.align = 2;
			break;
		case TYPALIGN_INT:
			out.align = 4;
			break;
		default:
			out.align = 8;
	}
	if (att->attbyval)
		out.flags |= TB_ATT_BYVAL;
	if (att->attisdropped)
		out.flags |= TB_ATT_DROPPED;
	else if (att->attnotnull)
		out.flags |= TB_ATT_NOTNULL;
	return out;
}

void
tb_describe_tuple(TupleDesc desc, TbAttribute *attributes)
{
	for (int i = 0; i < desc->natts; i++)
		attributes[i] = describe_attribute(TupleDescAttr(desc, i));
}
