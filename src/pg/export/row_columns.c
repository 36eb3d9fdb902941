/*
 * row_columns.c - see row_columns.h.
 *
 * Called by file_writer.c and by the columns that other processes open. Values that a batch
 * has as the column wants them are copied as a whole.
 */
#include "postgres.h"

#include "access/tupmacs.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"
#include "utils/uuid.h"

#include "turbine/file_writer.h"

#include "pg/convert/numeric_format.h"
#include "pg/convert/type_map.h"
#include "pg/export/row_columns.h"

/* Types whose binary form is taken; all fixed object ids. */
static bool
is_sent_in_binary(Oid type, TbRowTarget target)
{
	switch (type)
	{
		case BOOLOID:
		case BYTEAOID:
		case NAMEOID:
		case INT8OID:
		case INT2OID:
		case INT4OID:
		case TEXTOID:
		case OIDOID:
		case JSONOID:
		case FLOAT4OID:
		case FLOAT8OID:
		case BPCHAROID:
		case VARCHAROID:
		case DATEOID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case UUIDOID:
			return true;
		case NUMERICOID: /* in memory those with a scale: init looks at it */
		case JSONBOID:
			return target != TB_ROWS_MEMORY;
		case INTERVALOID: /* libparquet writes none */
			return target != TB_ROWS_PARQUET_FILE && target != TB_ROWS_MEMORY;
		default:
			return false;
	}
}

static bool
is_text(Oid type)
{
	return type == TEXTOID || type == VARCHAROID || type == BPCHAROID || type == NAMEOID ||
		type == JSONOID;
}

/* 0: its values have several. */
static int
width_of(Oid type)
{
	switch (type)
	{
		case BOOLOID:
			return 1;
		case INT2OID:
			return 2;
		case INT4OID:
		case OIDOID:
		case FLOAT4OID:
		case DATEOID:
			return 4;
		case INT8OID:
		case FLOAT8OID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return 8;
		case UUIDOID:
			return UUID_LEN;
		default:
			return 0;
	}
}

/* Whether it is sent as an integer in units of its modifier's scale. */
static bool
is_decimal(Oid type, int32 modifier, int *precision, int *scale)
{
	return type == NUMERICOID && tb_numeric_typmod(modifier, precision, scale) &&
		*precision <= TB_NUM128_DIGITS && *scale >= 0 && *scale <= *precision;
}

/* Whether its bytes as they are stored are what is sent. */
static bool
is_sent_as_stored(Oid type)
{
	if (type == BYTEAOID)
		return true;
	return is_text(type) && type != NAMEOID && GetDatabaseEncoding() == PG_UTF8;
}

void
tb_row_column_init(TbRowColumn *column, Form_pg_attribute att, TbRowTarget target,
				   int most_rows)
{
	int32 modifier = att->atttypmod;
	Oid	  type = getBaseTypeAndTypmod(att->atttypid, &modifier);
	Oid	  element = get_element_type(type);
	Oid	  function;
	bool  is_varlena;

	memset(column, 0, sizeof(*column));
	column->width = width_of(type);
	column->is_decimal = target != TB_ROWS_ADDITION &&
		is_decimal(type, modifier, &column->precision, &column->scale);
	if (column->is_decimal)
		column->width = sizeof(tb_int128);
	column->is_varlena = is_sent_as_stored(type);
	/* Texts inside arrays would be in the server's encoding. */
	if (OidIsValid(element) &&
		(target == TB_ROWS_MEMORY || !is_sent_in_binary(element, target) ||
		 (is_text(element) && GetDatabaseEncoding() != PG_UTF8)))
		element = type = InvalidOid;
	else if (!OidIsValid(element) && !column->is_decimal &&
			 !is_sent_in_binary(type, target))
		type = InvalidOid;
	/* Texts are sent as they are, in UTF-8, which send functions do not promise. */
	if (OidIsValid(type) && !OidIsValid(element) && is_text(type))
		type = InvalidOid;
	column->type = type;
	column->modifier = OidIsValid(type) ? modifier : -1;
	column->element = element;
	if (OidIsValid(type))
		getTypeBinaryOutputInfo(att->atttypid, &function, &is_varlena);
	else
		getTypeOutputInfo(att->atttypid, &function, &is_varlena);
	fmgr_info(function, &column->function);
	if (column->width > 0)
		column->valid = palloc(most_rows);
	else
		column->lengths = palloc(sizeof(int32) * most_rows);
	initStringInfo(&column->values);
	if (column->width > 0)
		enlargeStringInfo(&column->values, column->width * most_rows);
}

static void
add_null(TbRowColumn *column)
{
	column->nnulls++;
	if (column->width == 0)
		column->lengths[column->nrows++] = -1;
	else
	{
		memset(column->values.data + column->values.len, 0, column->width);
		column->valid[column->nrows++] = 0;
		column->values.len += column->width;
	}
}

static void
store_decimal(char *place, Numeric numeric, int scale)
{
	tb_int128 value = 0;

	if (!tb_numeric_to_int128(numeric, scale, &value))
		value = (tb_int128) (numeric_is_nan(numeric) ? TB_WRITER_NAN :
													   TB_WRITER_NO_DECIMAL) *
			((tb_int128) 1 << 64);
	memcpy(place, &value, sizeof(value));
}

/* There is room for all rows of a block. */
static inline Size
add_fixed(TbRowColumn *column, Datum value)
{
	char *place = column->values.data + column->values.len;

	column->valid[column->nrows++] = 1;
	column->values.len += column->width;
	if (column->is_decimal)
		store_decimal(place, DatumGetNumeric(value), column->scale);
	else if (column->width == UUID_LEN)
		memcpy(place, DatumGetUUIDP(value)->data, UUID_LEN);
	else
		store_att_byval(place, value, column->width);
	return column->width;
}

static Size
add_bytes(TbRowColumn *column, const char *bytes, Size length)
{
	StringInfo values = &column->values;

	if (values->len + length >= (Size) values->maxlen)
		enlargeStringInfo(values, length);
	memcpy(values->data + values->len, bytes, length);
	values->len += length;
	column->lengths[column->nrows++] = length;
	return length + sizeof(int32);
}

static Size
add_varying(TbRowColumn *column, Datum value)
{
	if (column->is_varlena)
	{
		struct varlena *packed = PG_DETOAST_DATUM_PACKED(value);

		return add_bytes(column, VARDATA_ANY(packed), VARSIZE_ANY_EXHDR(packed));
	}
	if (OidIsValid(column->type))
	{
		bytea *sent = SendFunctionCall(&column->function, value);

		return add_bytes(column, VARDATA(sent), VARSIZE(sent) - VARHDRSZ);
	}
	else
	{
		char *text = OutputFunctionCall(&column->function, value);
		char *utf8 = pg_server_to_any(text, strlen(text), PG_UTF8);

		return add_bytes(column, utf8, strlen(utf8));
	}
}

static inline Size
add_value(TbRowColumn *column, Datum value, bool isnull)
{
	if (unlikely(isnull))
	{
		add_null(column);
		return column->width + sizeof(int32);
	}
	return column->width > 0 ? add_fixed(column, value) : add_varying(column, value);
}

Size
tb_row_columns_add(TbRowColumn *columns, int ncolumns, const Datum *values,
				   const bool *nulls)
{
	Size bytes = 0;

	for (int i = 0; i < ncolumns; i++)
		bytes += add_value(&columns[i], values[columns[i].attribute],
						   nulls[columns[i].attribute]);
	return bytes;
}

/* Which values there are; those that are not become 0. */
static void
add_validity(TbRowColumn *column, const uint8 *valid, uint32 nrows, Size width)
{
	uint8 *to = column->valid + column->nrows;
	char  *values = column->values.data + column->values.len;

	if (valid == NULL)
	{
		memset(to, 1, nrows);
		return;
	}
	for (uint32 i = 0; i < nrows; i++)
	{
		to[i] = valid[i] != 0;
		if (to[i])
			continue;
		memset(values + i * width, 0, width);
		column->nnulls++;
	}
}

/* Values that lie in the batch as the file's column has them. */
static Size
add_stored(TbRowColumn *column, const char *values, const uint8 *valid, uint32 nrows)
{
	Size bytes = (Size) nrows * column->width;

	memcpy(column->values.data + column->values.len, values, bytes);
	add_validity(column, valid, nrows, column->width);
	column->values.len += bytes;
	column->nrows += nrows;
	return bytes;
}

/* Numerics of 64 bits as 128. */
static Size
add_widened(TbRowColumn *column, const char *values, const uint8 *valid, uint32 nrows)
{
	char *to = column->values.data + column->values.len;

	for (uint32 i = 0; i < nrows; i++)
	{
		int64	  narrow;
		tb_int128 wide;

		memcpy(&narrow, values + (Size) i * sizeof(narrow), sizeof(narrow));
		wide = narrow;
		memcpy(to + (Size) i * sizeof(wide), &wide, sizeof(wide));
	}
	add_validity(column, valid, nrows, sizeof(tb_int128));
	column->values.len += nrows * sizeof(tb_int128);
	column->nrows += nrows;
	return nrows * sizeof(tb_int128);
}

static Size
add_texts(TbRowColumn *column, const TbTextView *views, const uint8 *valid, uint32 nrows,
		  const char *bytes)
{
	Size added = 0;

	for (uint32 i = 0; i < nrows; i++)
	{
		if (valid != NULL && valid[i] == 0)
		{
			add_null(column);
			added += sizeof(int32);
		}
		else
			added += add_bytes(column, bytes + views[i].offset, views[i].length);
	}
	return added;
}

Size
tb_row_column_add_batch(TbRowColumn *column, const TbOutput *output,
						const TbResultBatch *batch, uint32 first, uint32 nrows)
{
	const char	*base = (const char *) batch;
	const char	*values;
	const uint8 *valid = NULL;
	bool		 is_key = output->kind == TB_OUT_KEY && output->display == TB_NONE;
	Size		 bytes = 0;

	if (is_key || tb_final_is_column(output))
	{
		values = base + batch->columns[output->first].values +
			(Size) first * tb_type_width(output->type);
		if (batch->columns[output->first].valid != 0)
			valid = (const uint8 *) base + batch->columns[output->first].valid + first;
		/* Can whole columns be copied? */
		if (tb_final_is_column(output) && !column->is_decimal &&
			column->width == tb_type_width(output->type))
			return add_stored(column, values, valid, nrows);
		if (column->is_decimal && output->scale == column->scale)
		{
			if (output->type == TB_TYPE_NUM128)
				return add_stored(column, values, valid, nrows);
			if (output->type == TB_TYPE_NUM64)
				return add_widened(column, values, valid, nrows);
		}
		if (tb_type_is_character(output->type) && output->padding == 0 && column->is_varlena)
			return add_texts(column, (const TbTextView *) values, valid, nrows,
							 base + batch->bytes_offset);
	}
	/* Otherwise value by value. */
	for (uint32 row = first; row < first + nrows; row++)
	{
		bool  isnull;
		Datum value = tb_final_value(output, batch, row, &isnull);

		bytes += add_value(column, value, isnull);
	}
	return bytes;
}

bool
tb_row_column_is_output(const TbRowColumn *column, const TbOutput *output)
{
	if (tb_final_is_column(output))
		return !column->is_decimal && column->width == tb_type_width(output->type);
	if (output->kind != TB_OUT_KEY || output->display != TB_NONE)
		return false;
	if (tb_type_is_numeric(output->type))
		return column->is_decimal && output->scale == column->scale;
	return tb_type_is_character(output->type) && output->padding == 0 && column->is_varlena;
}

void
tb_row_column_reset(TbRowColumn *column)
{
	column->nrows = column->nnulls = 0;
	resetStringInfo(&column->values);
}
