/*
 * output_column.c - see output_column.h. Called by the nodes' planning.
 *
 * Says how PostgreSQL's value comes out of a program's column, or why it can not; the
 * column's number is the caller's.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"

#include "pg/planner/program/output_column.h"

bool
tb_output_padding(Expr *expr, const TbValue *value, int32 *padding, const char **reason)
{
	int32 typmod = exprTypmod((Node *) expr);

	*padding = 0;
	if (value->info.type != TB_TYPE_BPCHAR)
		return true;
	if (!IsA(expr, Var) || typmod <= (int32) VARHDRSZ)
	{
		*reason = "a character value of unknown length is returned";
		return false;
	}
	*padding = typmod - VARHDRSZ;
	return true;
}

bool
tb_output_column(TbOutput *output, Expr *expr, const TbValue *value, const char **reason)
{
	memset(output, 0, sizeof(*output));
	output->kind = TB_OUT_KEY;
	output->type = value->info.type;
	output->scale = value->info.scale;
	output->display = TB_NONE;
	return tb_output_padding(expr, value, &output->padding, reason);
}
