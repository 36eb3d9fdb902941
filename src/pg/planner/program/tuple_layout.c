/*
 * tuple_layout.c - see tuple_layout.h. Called by whoever serializes a program.
 *
 * It describes dropped attributes too, since they still lie in tuples.
 */
#include "postgres.h"

#include "catalog/pg_type.h"

#include "pg/compat/pg18.h"
#include "pg/planner/program/tuple_layout.h"

static TbAttribute
describe_attribute(TupleDesc desc, int number)
{
	Form_pg_attribute att = TupleDescAttr(desc, number);
	TbAttribute		  out = {0};

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
	else if (tb_attribute_is_never_null(desc, number))
		out.flags |= TB_ATT_NOTNULL;
	return out;
}

void
tb_describe_tuple(TupleDesc desc, TbAttribute *attributes)
{
	for (int i = 0; i < desc->natts; i++)
		attributes[i] = describe_attribute(desc, i);
}
