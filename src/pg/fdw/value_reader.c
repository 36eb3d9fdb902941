/*
 * value_reader.c - forms datums: see value_reader.h.
 *
 * Types whose bytes are their value are read here; all else goes through the type's own
 * receive or input function, so that its checks and its typmod hold. Texts come in UTF-8
 * and are converted to the server's encoding.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/tupdesc.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"
#include "utils/uuid.h"

#include "pg/fdw/value_reader.h"

struct TbValueReader
{
	Oid			   type; /* without domains */
	int32		   typmod;
	TbReaderTarget target;

	/* The type's own function, where its bytes are not the value. */
	FmgrInfo function;
	Oid		 io_parameter;

	Oid	  domain; /* InvalidOid: none */
	void *domain_check_data;

	/* of an array */
	TbValueReader *element;
	int16		   element_length;
	bool		   element_by_value;
	char		   element_align;

	/* of a composite */
	TupleDesc		attributes;
	TbValueReader **fields; /* NULL for dropped attributes */

	MemoryContext context;	/* what the reader lives in */
};

static void pg_attribute_noreturn()
raise_malformed(void)
{
	ereport(ERROR,
			(errcode(ERRCODE_FDW_ERROR), errmsg("malformed answer of the file reader")));
}

static TbReaderTarget
target_of(Oid type)
{
	switch (type)
	{
		case BOOLOID:
			return TB_TARGET_BOOL;
		case INT2OID:
			return TB_TARGET_INT2;
		case INT4OID:
			return TB_TARGET_INT4;
		case INT8OID:
			return TB_TARGET_INT8;
		case FLOAT4OID:
			return TB_TARGET_FLOAT4;
		case FLOAT8OID:
			return TB_TARGET_FLOAT8;
		case NUMERICOID:
			return TB_TARGET_NUMERIC;
		case BYTEAOID:
			return TB_TARGET_BYTEA;
		case UUIDOID:
			return TB_TARGET_UUID;
		case DATEOID:
			return TB_TARGET_DATE;
		case TIMEOID:
			return TB_TARGET_TIME;
		case TIMESTAMPOID:
			return TB_TARGET_TIMESTAMP;
		case TIMESTAMPTZOID:
			return TB_TARGET_TIMESTAMPTZ;
		case INTERVALOID:
			return TB_TARGET_INTERVAL;
		case JSONOID:
		case JSONBOID:
			return TB_TARGET_JSON;
		default:
			break;
	}
	if (OidIsValid(get_element_type(type)))
		return TB_TARGET_ARRAY;
	if (get_typtype(type) == TYPTYPE_COMPOSITE)
		return TB_TARGET_COMPOSITE;
	return TB_TARGET_TEXT;
}

static void
set_element(TbValueReader *reader)
{
	Oid element = get_element_type(reader->type);

	reader->element = tb_value_reader(element, reader->typmod);
	get_typlenbyvalalign(element, &reader->element_length, &reader->element_by_value,
						 &reader->element_align);
}

static void
set_fields(TbValueReader *reader)
{
	reader->attributes = lookup_rowtype_tupdesc_copy(reader->type, -1);
	reader->fields = palloc0(sizeof(TbValueReader *) * Max(reader->attributes->natts, 1));
	for (int i = 0; i < reader->attributes->natts; i++)
	{
		Form_pg_attribute attribute = TupleDescAttr(reader->attributes, i);

		if (!attribute->attisdropped)
			reader->fields[i] = tb_value_reader(attribute->atttypid, attribute->atttypmod);
	}
}

TbValueReader *
tb_value_reader(Oid type, int32 typmod)
{
	TbValueReader *reader = palloc0(sizeof(TbValueReader));
	Oid			   function;

	check_stack_depth();
	reader->context = CurrentMemoryContext;
	reader->typmod = typmod;
	reader->type = getBaseTypeAndTypmod(type, &reader->typmod);
	if (reader->type != type)
		reader->domain = type;
	reader->target = target_of(reader->type);
	switch (reader->target)
	{
		case TB_TARGET_ARRAY:
			set_element(reader);
			break;
		case TB_TARGET_COMPOSITE:
			set_fields(reader);
			break;
		case TB_TARGET_TEXT:
		case TB_TARGET_JSON:
			getTypeInputInfo(reader->type, &function, &reader->io_parameter);
			fmgr_info(function, &reader->function);
			break;
		default:
			getTypeBinaryInputInfo(reader->type, &function, &reader->io_parameter);
			fmgr_info(function, &reader->function);
			break;
	}
	return reader;
}

TbReaderTarget
tb_value_reader_target(const TbValueReader *reader)
{
	return reader->target;
}

static void
append_number(StringInfo request, uint32 number)
{
	appendBinaryStringInfo(request, (const char *) &number, sizeof(number));
}

void
tb_value_reader_describe(const TbValueReader *reader, StringInfo request)
{
	int nfields = 0;

	append_number(request, reader->target);
	if (reader->target == TB_TARGET_ARRAY)
		tb_value_reader_describe(reader->element, request);
	if (reader->target != TB_TARGET_COMPOSITE)
		return;
	for (int i = 0; i < reader->attributes->natts; i++)
		nfields += reader->fields[i] != NULL;
	append_number(request, nfields);
	for (int i = 0; i < reader->attributes->natts; i++)
	{
		char *name = NameStr(TupleDescAttr(reader->attributes, i)->attname);

		if (reader->fields[i] == NULL)
			continue;
		name = pg_server_to_any(name, strlen(name), PG_UTF8);
		append_number(request, strlen(name));
		appendStringInfoString(request, name);
		tb_value_reader_describe(reader->fields[i], request);
	}
}

static uint32
take_number(TbReaderBytes *bytes)
{
	uint32 number;

	if (bytes->end - bytes->at < sizeof(number))
		raise_malformed();
	memcpy(&number, bytes->at, sizeof(number));
	bytes->at += sizeof(number);
	return pg_ntoh32(number);
}

static Datum
read_text(TbValueReader *reader, const char *data, int length)
{
	char *text = (char *) data;
	char *string;

	/* The file reader has checked that it is UTF-8 without NUL bytes. */
	if (GetDatabaseEncoding() != PG_UTF8)
	{
		text = pg_any_to_server(pnstrdup(data, length), length, PG_UTF8);
		length = strlen(text);
	}
	if (reader->target == TB_TARGET_TEXT &&
		(reader->type == TEXTOID || (reader->type == VARCHAROID && reader->typmod < 0)))
		return PointerGetDatum(cstring_to_text_with_len(text, length));
	string = pnstrdup(text, length);
	return InputFunctionCall(&reader->function, string, reader->io_parameter,
							 reader->typmod);
}

static Datum
receive_value(TbValueReader *reader, const char *data, int length)
{
	StringInfoData buffer = {(char *) data, length, length, 0};
	Datum value = ReceiveFunctionCall(&reader->function, &buffer, reader->io_parameter,
									  reader->typmod);

	if (buffer.cursor != length)
		raise_malformed();
	return value;
}

static Datum
read_array(TbValueReader *reader, const char *data, int length)
{
	TbReaderBytes bytes = {data, data + length};
	uint32		  ndim = take_number(&bytes);
	int			  lengths[MAXDIM], bounds[MAXDIM];
	int			  nitems;
	Datum		 *values;
	bool		 *nulls;

	if (ndim > MAXDIM)
		raise_malformed();
	if (ndim == 0)
		return PointerGetDatum(construct_empty_array(reader->element->type));
	for (uint32 i = 0; i < ndim; i++)
	{
		lengths[i] = (int) take_number(&bytes);
		bounds[i] = 1;
	}
	nitems = ArrayGetNItems(ndim, lengths);
	/* An item takes at least its length. */
	if (nitems > (bytes.end - bytes.at) / sizeof(int32))
		raise_malformed();
	values = palloc(sizeof(Datum) * Max(nitems, 1));
	nulls = palloc(sizeof(bool) * Max(nitems, 1));
	for (int i = 0; i < nitems; i++)
		values[i] = tb_value_read(reader->element, &bytes, &nulls[i]);
	return PointerGetDatum(
		construct_md_array(values, nulls, ndim, lengths, bounds,
						   get_element_type(reader->type), reader->element_length,
						   reader->element_by_value, reader->element_align));
}

static Datum
read_composite(TbValueReader *reader, const char *data, int length)
{
	TbReaderBytes bytes = {data, data + length};
	int			  natts = reader->attributes->natts;
	Datum		 *values = palloc0(sizeof(Datum) * Max(natts, 1));
	bool		 *nulls = palloc(sizeof(bool) * Max(natts, 1));

	for (int i = 0; i < natts; i++)
	{
		nulls[i] = true;
		if (reader->fields[i] != NULL)
			values[i] = tb_value_read(reader->fields[i], &bytes, &nulls[i]);
	}
	return HeapTupleGetDatum(heap_form_tuple(reader->attributes, values, nulls));
}

static uint64
fixed_value(const char *data, int length, int expected)
{
	uint64 value = 0;

	if (length != expected)
		raise_malformed();
	for (int i = 0; i < length; i++)
		value = value << 8 | (unsigned char) data[i];
	return value;
}

static Datum
read_bytes(const char *data, int length)
{
	bytea *value = palloc(length + VARHDRSZ);

	SET_VARSIZE(value, length + VARHDRSZ);
	memcpy(VARDATA(value), data, length);
	return PointerGetDatum(value);
}

static Datum
read_value(TbValueReader *reader, const char *data, int length)
{
	switch (reader->target)
	{
		case TB_TARGET_BOOL:
			return BoolGetDatum(fixed_value(data, length, 1) != 0);
		case TB_TARGET_INT2:
			return Int16GetDatum((int16) fixed_value(data, length, 2));
		case TB_TARGET_INT4:
		case TB_TARGET_DATE:
			return Int32GetDatum((int32) fixed_value(data, length, 4));
		case TB_TARGET_INT8:
			return Int64GetDatum((int64) fixed_value(data, length, 8));
		case TB_TARGET_TIME:
		case TB_TARGET_TIMESTAMP:
		case TB_TARGET_TIMESTAMPTZ:
			if (reader->typmod < 0)
				return Int64GetDatum((int64) fixed_value(data, length, 8));
			return receive_value(reader, data, length);
		case TB_TARGET_BYTEA:
			return read_bytes(data, length);
		case TB_TARGET_TEXT:
		case TB_TARGET_JSON:
			return read_text(reader, data, length);
		case TB_TARGET_ARRAY:
			return read_array(reader, data, length);
		case TB_TARGET_COMPOSITE:
			return read_composite(reader, data, length);
		default:
			return receive_value(reader, data, length);
	}
}

Datum
tb_value_read(TbValueReader *reader, TbReaderBytes *bytes, bool *isnull)
{
	int32 length = (int32) take_number(bytes);
	Datum value = (Datum) 0;

	*isnull = length == -1;
	if (!*isnull)
	{
		if (length < 0 || length > bytes->end - bytes->at)
			raise_malformed();
		value = read_value(reader, bytes->at, length);
		bytes->at += length;
	}
	if (OidIsValid(reader->domain))
		domain_check(value, *isnull, reader->domain, &reader->domain_check_data,
					 reader->context);
	return value;
}
