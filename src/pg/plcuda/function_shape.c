/*
 * function_shape.c - see function_shape.h: reads pg_proc and writes the source that is
 * compiled.
 *
 * The source is: our headers; the declarations; plcuda_main, whose body is the host code;
 * and plcuda_run, which calls it with the arguments and writes its result. #line directives
 * before each part of the user's make the compiler speak of the function's own lines.
 * Called by language.c.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "pg/plcuda/function_shape.h"

static void
read_result(TbPlcudaShape *shape, Form_pg_proc form)
{
	Oid			  type;
	TupleDesc	  desc;
	TypeFuncClass result_class = get_func_result_type(shape->function, &type, &desc);

	shape->returns_set = form->proretset;
	switch (result_class)
	{
		case TYPEFUNC_COMPOSITE:
		case TYPEFUNC_COMPOSITE_DOMAIN:
			shape->row = CreateTupleDescCopy(desc);
			shape->columns = palloc0(sizeof(TbPlcudaType) * Max(desc->natts, 1));
			shape->attributes = palloc(sizeof(int) * Max(desc->natts, 1));
			for (int i = 0; i < desc->natts; i++)
			{
				Form_pg_attribute att = TupleDescAttr(desc, i);

				if (att->attisdropped)
					continue;
				shape->attributes[shape->ncolumns] = i;
				tb_plcuda_type_init(&shape->columns[shape->ncolumns++], att->atttypid,
									att->atttypmod, false);
			}
			break;
		case TYPEFUNC_SCALAR:
			if (type == VOIDOID && !form->proretset)
			{
				shape->returns_void = true;
				break;
			}
			shape->ncolumns = 1;
			shape->columns = palloc0(sizeof(TbPlcudaType));
			tb_plcuda_type_init(shape->columns, type, -1, false);
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("functions of LANGUAGE plcuda cannot return type %s",
							format_type_be(form->prorettype)),
					 errhint("Name the columns of a record: OUT parameters, or RETURNS "
							 "TABLE.")));
	}
}

TbPlcudaShape *
tb_plcuda_shape_of(Oid function)
{
	TbPlcudaShape *shape = palloc0(sizeof(*shape));
	HeapTuple	   tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Form_pg_proc   form;
	Datum		   source;
	bool		   isnull;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	form = (Form_pg_proc) GETSTRUCT(tuple);
	shape->function = function;
	shape->name = psprintf("%s.%s", get_namespace_name(form->pronamespace),
						   NameStr(form->proname));
	if (form->prokind != PROKIND_FUNCTION)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("LANGUAGE plcuda has functions only")));
	shape->nargs = form->pronargs;
	shape->args = palloc0(sizeof(TbPlcudaType) * Max(shape->nargs, 1));
	for (int i = 0; i < shape->nargs; i++)
		tb_plcuda_type_init(&shape->args[i], form->proargtypes.values[i], -1, true);
	read_result(shape, form);
	source = SysCacheGetAttr(PROCOID, tuple, Anum_pg_proc_prosrc, &isnull);
	if (isnull)
		elog(ERROR, "function %u has no body", function);
	shape->body = tb_plcuda_parse_body(TextDatumGetCString(source));
	ReleaseSysCache(tuple);
	if (shape->body->error != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_SYNTAX_ERROR),
				 errmsg("line %d of function %s: %s", shape->body->error_line, shape->name,
						shape->body->error)));
	return shape;
}

/* A name within a string of C's. */
static void
append_line(StringInfo to, const TbPlcudaShape *shape, int line)
{
	appendStringInfo(to, "#line %d \"", line);
	for (const char *c = shape->name; *c != '\0'; c++)
	{
		if (*c == '"' || *c == '\\')
			appendStringInfoChar(to, '\\');
		if (*c != '\n')
			appendStringInfoChar(to, *c);
	}
	appendStringInfoString(to, "\"\n");
}

/* A row's struct, and what the function hands rows over by. */
static void
append_row_type(StringInfo to, const TbPlcudaShape *shape)
{
	if (shape->row != NULL)
	{
		appendStringInfoString(to, "struct plcuda_row\n{\n");
		for (int i = 0; i < shape->ncolumns; i++)
			appendStringInfo(to, "\t%s c%d = 0;\n", shape->columns[i].c_type, i + 1);
		appendStringInfo(to, "\tbool isnull[%d] = {};\n};\n", Max(shape->ncolumns, 1));
		appendStringInfoString(to, "static void\nplcuda_put(const plcuda_row &row)\n{\n");
		for (int i = 0; i < shape->ncolumns; i++)
			appendStringInfo(to,
							 "\tif (row.isnull[%d])\n\t\tplcuda::put_null();\n\telse\n"
							 "\t\tplcuda::put_value(row.c%d);\n",
							 i, i + 1);
		appendStringInfoString(to, "\tplcuda::end_row();\n}\n");
	}
	else if (shape->ncolumns > 0)
		appendStringInfo(to,
						 "static void\nplcuda_put(%s value)\n{\n"
						 "\tplcuda::put_value(value);\n\tplcuda::end_row();\n}\n",
						 shape->columns[0].c_type);
	if (shape->returns_set)
		appendStringInfo(to,
						 "static void\nplcuda_emit(%s value)\n{\n\tplcuda_put(value);\n}\n",
						 shape->row != NULL ? "const plcuda_row &" :
											  shape->columns[0].c_type);
	if (shape->returns_set && shape->row == NULL)
		appendStringInfoString(to,
							   "static void\nplcuda_emit_null()\n{\n"
							   "\tplcuda::put_null();\n\tplcuda::end_row();\n}\n");
}

static void
append_main(StringInfo to, const TbPlcudaShape *shape)
{
	const char *result = "void";

	if (!shape->returns_set && shape->row != NULL)
		result = "plcuda_row";
	else if (!shape->returns_set && !shape->returns_void)
		result = shape->columns[0].c_type;
	appendStringInfo(to, "static %s\nplcuda_main(", result);
	for (int i = 0; i < shape->nargs; i++)
		appendStringInfo(to, "%s%s arg%d, bool arg%d_isnull", i > 0 ? ",\n\t" : "",
						 shape->args[i].c_type, i + 1, i + 1);
	appendStringInfoString(to, ")\n{\n");
	append_line(to, shape, shape->body->host.first_line);
	appendStringInfo(to, "%s}\n", shape->body->host.text);
}

/* The call, and its result. A NULL in place of a row is a row without values. */
static void
append_run(StringInfo to, const TbPlcudaShape *shape)
{
	bool has_value = !shape->returns_set && !shape->returns_void;

	appendStringInfoString(to, "#line 1 \"plcuda_run\"\nstatic void\nplcuda_run()\n{\n\t");
	appendStringInfo(to, "%splcuda_main(", has_value ? "const auto value = " : "");
	for (int i = 0; i < shape->nargs; i++)
	{
		const TbPlcudaType *type = &shape->args[i];
		const char		   *read = type->kind == TB_PLCUDA_VALUE ?
					psprintf("value<%s>", type->c_type) :
					type->kind == TB_PLCUDA_VARLENA ? "bytes" :
					type->kind == TB_PLCUDA_STORE	? "store" :
													  "string";

		appendStringInfo(to, "%splcuda::%s(%d), plcuda::isnull(%d)", i > 0 ? ", " : "",
						 read, i, i);
	}
	appendStringInfoString(to, ");\n\tplcuda::wait_for_device();\n");
	if (has_value)
		appendStringInfo(
			to,
			"\tif (plcuda::is_null)\n\t{\n%s\t\tplcuda::end_row();\n\t\treturn;"
			"\n\t}\n\tplcuda_put(value);\n",
			shape->row != NULL ? "" : "\t\tplcuda::put_null();\n");
	appendStringInfoString(to, "}\n");
}

char *
tb_plcuda_source_of(const TbPlcudaShape *shape)
{
	StringInfoData source;
	ListCell	  *lc;

	initStringInfo(&source);
	appendStringInfoString(&source, "#include \"plcuda.h\"\n#include \"plcuda_call.h\"\n");
	append_row_type(&source, shape);
	foreach(lc, shape->body->declarations)
	{
		const TbPlcudaBlock *block = lfirst(lc);

		append_line(&source, shape, block->first_line);
		appendStringInfoString(&source, block->text);
	}
	append_main(&source, shape);
	append_run(&source, shape);
	return source.data;
}
