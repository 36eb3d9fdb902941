/*
 * layout_program.c - see layout_program.h.
 *
 * Works on the table's finished program: its source columns, renumbered for the
 * partition. Everything but attributes, attnums and missing values is the table's.
 * Called when the stages of a node are planned; the partitions are locked.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "utils/datum.h"
#include "utils/rel.h"

#include "turbine/wire.h"

#include "pg/convert/numeric_format.h"
#include "pg/planner/program/layout_program.h"
#include "pg/planner/program/tuple_layout.h"

/* A layout under construction. */
typedef struct Maker
{
	TupleDesc	  desc; /* the partition's */
	TbColumn	 *columns;
	uint32		  ncolumns;
	TbParamShape *shapes;
	List		 *params; /* Const */
	const char	 *reason;
} Maker;

static bool
add_constant_param(Maker *m, TbColumn *column, Const *value)
{
	TbParamShape *shape = &m->shapes[list_length(m->params)];

	shape->type = column->type;
	shape->scale = column->scale;
	column->missing_param = list_length(m->params);
	m->params = lappend(m->params, value);
	return true;
}

static bool
refuse_value(Maker *m)
{
	m->reason = "a numeric column has a default in a partition that its form cannot hold";
	return false;
}

static bool
numeric_has_form(Numeric value, const TbColumn *column)
{
	tb_int128 scaled;

	return tb_numeric_fits(value, column->type, column->scale) &&
		tb_numeric_to_int128(value, column->scale, &scaled) &&
		(column->digits == 0 || tb_int128_digits(scaled) <= (int) column->digits);
}

/* What tuples too short to have the column have instead, if it is not NULL. */
static bool
add_missing_value(Maker *m, TbColumn *column)
{
	Form_pg_attribute att = TupleDescAttr(m->desc, column->attnum - 1);
	bool			  isnull = true;
	Datum			  value = 0;
	int				  scale;

	column->missing_param = TB_NONE;
	if (att->atthasmissing)
		value = getmissingattr(m->desc, column->attnum, &isnull);
	if (isnull)
		return true;
	if (column->flags & TB_COL_COORDINATE)
		return refuse_value(m);
	if (column->flags & TB_COL_DISPLAY_SCALE)
	{
		scale = tb_numeric_display_scale(DatumGetNumeric(value));
		if (scale < 0 || scale > TB_MAX_DISPLAY_SCALE)
			return refuse_value(m);
		return add_constant_param(m, column,
								  makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
											Int32GetDatum(scale), false, true));
	}
	if (tb_type_is_numeric(column->type) &&
		!numeric_has_form(DatumGetNumeric(value), column))
		return refuse_value(m);
	return add_constant_param(m, column,
							  makeConst(att->atttypid, att->atttypmod, att->attcollation,
										att->attlen,
										datumCopy(value, att->attbyval, att->attlen), false,
										att->attbyval));
}

static bool
translate_columns(Maker *m, const TbProgram *program, const TbLeaf *leaf)
{
	const TbColumn *from = (const TbColumn *) ((const char *) program +
											   program->columns.offset);

	m->columns = palloc(sizeof(TbColumn) * Max(program->columns.count, 1));
	m->shapes = palloc0(sizeof(TbParamShape) * Max(program->columns.count, 1));
	for (; m->ncolumns < program->columns.count && from[m->ncolumns].join == 0;
		 m->ncolumns++)
	{
		TbColumn *column = &m->columns[m->ncolumns];

		*column = from[m->ncolumns];
		column->attnum = leaf->attnums[column->attnum - 1];
		if (!add_missing_value(m, column))
			return false;
	}
	return true;
}

static TbSection
reserve_section(uint32 *total, uint32 count, Size element)
{
	TbSection section = {.count = count, .offset = *total};

	*total += TYPEALIGN(8, count * element);
	return section;
}

static TbProgram *
serialize(const Maker *m, const TbProgram *program)
{
	TbProgram header = {0};
	uint32	  total = sizeof(TbProgram);
	uint32	  nparams = list_length(m->params);
	char	 *blob;

	header.magic = TB_PROGRAM_MAGIC;
	header.version = TB_PROGRAM_VERSION;
	header.sink = TB_SINK_AGGREGATE;
	header.source = TB_SOURCE_HEAP;
	header.encoding = program->encoding;
	header.attributes = reserve_section(&total, m->desc->natts, sizeof(TbAttribute));
	header.columns = reserve_section(&total, m->ncolumns, sizeof(TbColumn));
	header.params = reserve_section(&total, nparams, sizeof(TbParamShape));
	header.exprs = header.args = header.filters = header.keys = reserve_section(&total, 0,
																				1);
	header.aggs = header.outputs = header.joins = header.exprs;
	header.total_size = total;
	blob = palloc0(total);
	memcpy(blob, &header, sizeof(header));
	tb_describe_tuple(m->desc, (TbAttribute *) (blob + header.attributes.offset));
	memcpy(blob + header.columns.offset, m->columns, m->ncolumns * sizeof(TbColumn));
	memcpy(blob + header.params.offset, m->shapes, nparams * sizeof(TbParamShape));
	return (TbProgram *) blob;
}

static bool
same_section(const TbProgram *a, TbSection in_a, const TbProgram *b, TbSection in_b,
			 uint32 count, Size element)
{
	return memcmp((const char *) a + in_a.offset, (const char *) b + in_b.offset,
				  count * element) == 0;
}

/* Whether the table's program decodes the partition's tuples as they are. */
static bool
is_own(const TbProgram *program, const TbLayoutProgram *layout)
{
	const TbProgram *other = layout->program;

	return layout->params == NIL && program->attributes.count == other->attributes.count &&
		same_section(program, program->attributes, other, other->attributes,
					 other->attributes.count, sizeof(TbAttribute)) &&
		same_section(program, program->columns, other, other->columns, other->columns.count,
					 sizeof(TbColumn));
}

static int
number_of(const TbProgram *program, const TbLayoutProgram *layout, List **layouts)
{
	int		  number = 0;
	ListCell *lc;

	if (is_own(program, layout))
		return 0;
	foreach(lc, *layouts)
	{
		const TbLayoutProgram *seen = lfirst(lc);

		number++;
		if (seen->program->total_size == layout->program->total_size &&
			memcmp(seen->program, layout->program, layout->program->total_size) == 0 &&
			equal(seen->params, layout->params))
			return number;
	}
	*layouts = lappend(*layouts, memcpy(palloc(sizeof(*layout)), layout, sizeof(*layout)));
	return number + 1;
}

static bool
make_layout(const TbProgram *program, const TbLeaf *leaf, TupleDesc desc,
			TbLayoutProgram *layout, const char **reason)
{
	Maker m = {.desc = desc};

	if (desc->natts > TB_MAX_ATTRIBUTES || !translate_columns(&m, program, leaf))
	{
		*reason = m.reason ? m.reason : "a partition has too many columns";
		return false;
	}
	layout->program = serialize(&m, program);
	layout->params = m.params;
	return true;
}

bool
tb_layout_programs(const TbProgram *program, const TbPartitions *partitions, List **layouts,
				   List **leaf_layouts, const char **reason)
{
	ListCell *lc;

	*layouts = *leaf_layouts = NIL;
	foreach(lc, partitions->leaves)
	{
		const TbLeaf   *leaf = lfirst(lc);
		Relation		relation = table_open(leaf->relid, NoLock);
		TbLayoutProgram layout;
		bool			is_foreign = relation->rd_rel->relkind == RELKIND_FOREIGN_TABLE;
		bool			made = is_foreign ||
			make_layout(program, leaf, RelationGetDescr(relation), &layout, reason);

		table_close(relation, NoLock);
		if (!made)
			return false;
		/* Files have no tuples. */
		*leaf_layouts = lappend_int(*leaf_layouts,
									is_foreign ? 0 : number_of(program, &layout, layouts));
		if (list_length(*layouts) >= TB_MAX_LAYOUTS)
		{
			*reason = "partitions are laid out in too many ways";
			return false;
		}
	}
	return true;
}
