/*
 * param_block.c - lays out parameter values as turbine/params.h says.
 *
 * Two parts: an array of TbParam, and behind it the bytes of texts and arrays,
 * collected in a StringInfo whose offsets become the block's. Called by the
 * nodes when they start or rescan.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "lib/stringinfo.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"

#include "pg/compat/pg16.h"
#include "pg/convert/numeric_format.h"
#include "pg/convert/param_block.h"
#include "pg/convert/zone_transitions.h"

#define AREA_ALIGNMENT 16

typedef struct ParamWriter
{
	TbParam		  *params;
	StringInfoData area;	   /* what follows the params */
	uint64		   area_start; /* its offset in the block */
} ParamWriter;

static void
align_area(StringInfo area)
{
	while (area->len % AREA_ALIGNMENT != 0)
		appendStringInfoChar(area, 0);
}

text *
tb_param_text(Datum datum, uint8 type, uint32 *length)
{
	text *value = DatumGetTextPP(datum);

	*length = VARSIZE_ANY_EXHDR(value);
	if (type == TB_TYPE_BPCHAR)
		*length = bpchartruelen(VARDATA_ANY(value), *length);
	return value;
}

bool
tb_param_scalar(Datum datum, const TbParamShape *shape, uint64 value[2])
{
	tb_int128 wide;

	value[0] = value[1] = 0;
	switch (shape->type)
	{
		case TB_TYPE_BOOL:
			value[0] = DatumGetBool(datum) ? 1 : 0;
			return true;
		case TB_TYPE_INT2:
			value[0] = (uint16) DatumGetInt16(datum);
			return true;
		case TB_TYPE_INT4:
		case TB_TYPE_DATE:
			value[0] = (uint32) DatumGetInt32(datum);
			return true;
		case TB_TYPE_INT8:
		case TB_TYPE_TIMESTAMP:
		case TB_TYPE_TIMESTAMPTZ:
			value[0] = (uint64) DatumGetInt64(datum);
			return true;
		case TB_TYPE_FLOAT4:
		{
			float4 number = DatumGetFloat4(datum);

			memcpy(value, &number, sizeof(number));
			return true;
		}
		case TB_TYPE_FLOAT8:
		{
			float8 number = DatumGetFloat8(datum);

			memcpy(value, &number, sizeof(number));
			return true;
		}
		case TB_TYPE_NUM64:
		case TB_TYPE_NUM128:
			if (!tb_numeric_fits(DatumGetNumeric(datum), shape->type, shape->scale) ||
				!tb_numeric_to_int128(DatumGetNumeric(datum), shape->scale, &wide))
				return false;
			memcpy(value, &wide, sizeof(wide));
			return true;
		default:
			return false;
	}
}

static bool
write_scalar(ParamWriter *writer, TbParam *param, Datum datum, const TbParamShape *shape)
{
	if (tb_type_is_text(shape->type))
	{
		text *value = tb_param_text(datum, shape->type, &param->length);

		param->offset = writer->area_start + writer->area.len;
		appendBinaryStringInfo(&writer->area, VARDATA_ANY(value), param->length);
		return true;
	}
	return tb_param_scalar(datum, shape, param->value);
}

/* Element i of an array whose values begin at `values` of the area; a text's
 * bytes are appended behind everything written so far. */
static bool
write_element(ParamWriter *writer, uint32 values, int i, Datum datum,
			  const TbParamShape *shape)
{
	uint32	   width = tb_type_width(shape->type);
	uint64	   value[2];
	TbTextView view = {0};

	if (!tb_type_is_text(shape->type))
	{
		if (!tb_param_scalar(datum, shape, value))
			return false;
		memcpy(writer->area.data + values + i * width, value, width);
		return true;
	}
	else
	{
		text *bytes = tb_param_text(datum, shape->type, &view.length);

		/* Bytes go behind all values. */
		view.offset = writer->area_start + writer->area.len;
		memcpy(&view.prefix, VARDATA_ANY(bytes), Min(view.length, 4));
		appendBinaryStringInfo(&writer->area, VARDATA_ANY(bytes), view.length);
		memcpy(writer->area.data + values + i * width, &view, sizeof(view));
		return true;
	}
}

static int64
integer_at(const char *values, int i, uint32 width)
{
	int16 narrow;
	int32 middle;
	int64 wide;

	if (width == sizeof(wide))
	{
		memcpy(&wide, values + i * width, width);
		return wide;
	}
	if (width == sizeof(middle))
	{
		memcpy(&middle, values + i * width, width);
		return middle;
	}
	memcpy(&narrow, values + i * width, sizeof(narrow));
	return narrow;
}

static int
compare_integers(const void *a, const void *b)
{
	int64 left = *(const int64 *) a;
	int64 right = *(const int64 *) b;

	return left < right ? -1 : left > right;
}

/* Sorts the array's integers, each once, NULL as the last one; which of its equal elements
 * is found, and after which others, makes no difference to ANY and ALL. */
static void
sort_array(ParamWriter *writer, TbParam *param, uint32 values, uint32 width)
{
	char  *area = writer->area.data + values;
	int	   count = param->length;
	char  *nulls = area + count * width;
	int64 *sorted = palloc(sizeof(int64) * Max(count, 1));
	int	   nsorted = 0;
	int	   nunique = 0;

	for (int i = 0; i < count; i++)
		if (!nulls[i])
			sorted[nsorted++] = integer_at(area, i, width);
	qsort(sorted, nsorted, sizeof(int64), compare_integers);
	for (int i = 0; i < nsorted; i++)
		if (i == 0 || sorted[i] != sorted[i - 1])
			/* Little-endian: the value's low bytes come first. */
			memcpy(area + nunique++ * width, &sorted[i], width);
	param->length = nunique + (nsorted < count);
	memset(area + nunique * width, 0, count * (width + 1) - nunique * width);
	if (nsorted < count)
		area[param->length * width + nunique] = 1;
	pfree(sorted);
}

static bool
write_array(ParamWriter *writer, TbParam *param, Datum datum, const TbParamShape *shape)
{
	ArrayType *array = DatumGetArrayTypeP(datum);
	Oid		   type = ARR_ELEMTYPE(array);
	uint32	   width = tb_type_width(shape->type);
	uint32	   values;
	int16	   length;
	bool	   byval;
	char	   align;
	Datum	  *elements;
	bool	  *nulls;
	int		   count;

	get_typlenbyvalalign(type, &length, &byval, &align);
	deconstruct_array(array, type, length, byval, align, &elements, &nulls, &count);
	align_area(&writer->area);
	values = writer->area.len;
	param->length = count;
	param->offset = writer->area_start + values;

	/* Room for values and null flags first: texts go behind them. */
	enlargeStringInfo(&writer->area, count * (width + 1));
	memset(writer->area.data + values, 0, count * (width + 1));
	writer->area.len += count * (width + 1);
	for (int i = 0; i < count; i++)
	{
		if (nulls[i])
			writer->area.data[values + count * width + i] = 1;
		else if (!write_element(writer, values, i, elements[i], shape))
			return false;
	}
	/* Devices look for elements of such a type in order. */
	if (tb_type_is_integer(shape->type))
		sort_array(writer, param, values, width);
	return true;
}

/* The table of a time zone; NULL: the session's. */
static void
write_zone(ParamWriter *writer, TbParam *param, Datum datum, bool isnull)
{
	bytea *table = tb_zone_transitions(isnull ? NULL : DatumGetTextPP(datum));

	param->length = VARSIZE(table) - VARHDRSZ;
	param->offset = writer->area_start + writer->area.len;
	appendBinaryStringInfo(&writer->area, VARDATA(table), param->length);
}

static TbParamBlock *
assemble(const ParamWriter *writer, uint32 count)
{
	uint64		  total = writer->area_start + writer->area.len;
	TbParamBlock *block = palloc(total);

	memset(block, 0, sizeof(*block));
	block->magic = TB_PARAMS_MAGIC;
	block->count = count;
	block->total_size = total;
	memcpy(block + 1, writer->params, count * sizeof(TbParam));
	memcpy((char *) block + writer->area_start, writer->area.data, writer->area.len);
	return block;
}

TbParamBlock *
tb_param_block_make(const TbProgram *program, List *states, ExprContext *econtext)
{
	const TbParamShape *shapes = (const TbParamShape *) ((const char *) program +
														 program->params.offset);
	uint32				count = program->params.count;
	ParamWriter			writer;
	ListCell		   *lc;
	uint32				i = 0;

	Assert(list_length(states) == (int) count);
	/* Make room */
	writer.params = palloc0(Max(count, 1) * sizeof(TbParam));
	writer.area_start = sizeof(TbParamBlock) + count * sizeof(TbParam);
	initStringInfo(&writer.area);
	/* Evaluate and write each value */
	foreach(lc, states)
	{
		TbParam *param = &writer.params[i];
		bool	 isnull;
		Datum	 datum = ExecEvalExprSwitchContext(lfirst(lc), econtext, &isnull);

		if (shapes[i].flags & TB_PARAM_ZONE)
			write_zone(&writer, param, datum, isnull);
		else if (isnull)
		{
			if (!(shapes[i].flags & TB_PARAM_NULLABLE))
				return NULL;
			param->is_null = 1;
		}
		else if (shapes[i].flags & TB_PARAM_ARRAY)
		{
			if (!write_array(&writer, param, datum, &shapes[i]))
				return NULL;
		}
		else if (!write_scalar(&writer, param, datum, &shapes[i]))
			return NULL;
		i++;
	}
	return assemble(&writer, count);
}
