/*
 * value_types.c - see value_types.h.
 *
 * Bytes of results come from a process in which user code runs, so they are checked before
 * they become a Datum: lengths, headers of arrays and texts, encodings. What has no check
 * here travels as text, and its input function checks it. Called by language.c.
 */
#include "postgres.h"

#include "access/tupmacs.h"
#include "catalog/pg_type.h"
#include "common/int.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "pg/compat/pg16.h"
#include "pg/plcuda/value_types.h"

extern PGDLLEXPORT Datum turbine_reggstore_in(PG_FUNCTION_ARGS);

/* The C type of values that are passed by value; NULL: it has none. */
static const char *
scalar_name(Oid type)
{
	switch (type)
	{
		case BOOLOID:
			return "cl_bool";
		case CHAROID:
			return "cl_char";
		case INT2OID:
			return "cl_short";
		case INT4OID:
		case DATEOID:
			return "cl_int";
		case OIDOID:
		case REGCLASSOID:
			return "cl_uint";
		case INT8OID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case CASHOID:
			return "cl_long";
		case FLOAT4OID:
			return "cl_float";
		case FLOAT8OID:
			return "cl_double";
		default:
			return NULL;
	}
}

static bool
is_text(Oid type)
{
	return type == TEXTOID || type == VARCHAROID || type == BPCHAROID || type == BYTEAOID;
}

static bool
is_store(Oid type)
{
	Oid		 input;
	Oid		 ioparam;
	FmgrInfo info;

	if (get_typtype(type) != TYPTYPE_BASE || get_typlen(type) != sizeof(Oid))
		return false;
	getTypeInputInfo(type, &input, &ioparam);
	fmgr_info(input, &info);
	return info.fn_addr == turbine_reggstore_in;
}

void
tb_plcuda_type_init(TbPlcudaType *type, Oid oid, int32 modifier, bool is_argument)
{
	Oid	 function;
	bool is_varlena;

	memset(type, 0, sizeof(*type));
	type->context = CurrentMemoryContext;
	type->declared = oid;
	type->modifier = modifier;
	type->type = getBaseTypeAndTypmod(oid, &type->modifier);
	if (get_typtype(type->type) == TYPTYPE_PSEUDO)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("functions of LANGUAGE plcuda cannot %s type %s",
						is_argument ? "take arguments of" : "return",
						format_type_be(oid))));
	get_typlenbyval(type->type, &type->length, &type->byval);
	type->c_type = scalar_name(type->type);
	type->element = get_element_type(type->type);
	/* By value */
	if (type->c_type != NULL)
	{
		type->kind = TB_PLCUDA_VALUE;
		return;
	}
	/* Columns of a table */
	if (is_argument && is_store(type->type))
	{
		type->kind = TB_PLCUDA_STORE;
		type->c_type = "GstoreIpcMapping *";
		return;
	}
	/* Texts, and arrays of numbers or texts, as they are in memory */
	if ((is_text(type->type) && (is_argument || type->modifier < 0)) ||
		(OidIsValid(type->element) &&
		 (scalar_name(type->element) != NULL || is_text(type->element))))
	{
		type->kind = TB_PLCUDA_VARLENA;
		type->c_type = "varlena *";
		if (OidIsValid(type->element))
			get_typlenbyvalalign(type->element, &type->element_length, &type->element_byval,
								 &type->element_align);
		return;
	}
	/* All others as text */
	type->kind = TB_PLCUDA_STRING;
	type->c_type = "const char *";
	getTypeInputInfo(type->type, &function, &type->ioparam);
	fmgr_info(function, &type->input);
	getTypeOutputInfo(type->type, &function, &is_varlena);
	fmgr_info(function, &type->output);
}

void
tb_plcuda_encode(StringInfo to, const TbPlcudaType *type, Datum value)
{
	char bytes[sizeof(Datum)] = {0};

	switch (type->kind)
	{
		case TB_PLCUDA_VALUE:
			store_att_byval(bytes, value, type->length);
			appendBinaryStringInfo(to, bytes, sizeof(bytes));
			break;
		case TB_PLCUDA_VARLENA:
		{
			struct varlena *varlena = PG_DETOAST_DATUM(value);

			appendBinaryStringInfo(to, (char *) varlena, VARSIZE(varlena));
			/* So that texts are C's strings, too. */
			appendStringInfoChar(to, '\0');
			if ((Pointer) varlena != DatumGetPointer(value))
				pfree(varlena);
			break;
		}
		default:
		{
			char *text = OutputFunctionCall(unconstify(FmgrInfo *, &type->output), value);

			appendBinaryStringInfo(to, text, strlen(text) + 1);
			pfree(text);
		}
	}
}

static _Noreturn void
raise_malformed(const TbPlcudaType *type, const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
			 errmsg("the function has returned no valid %s",
					format_type_be(type->declared)),
			 errdetail("%s", what)));
}

/* Elements of an array of texts: each is a text with a header of 4 bytes. */
static void
check_elements(const TbPlcudaType *type, const char *place, const char *end, int64 count)
{
	for (int64 i = 0; i < count; i++)
	{
		Size size;

		place = (const char *) att_align_nominal(place, TYPALIGN_INT);
		if (end - place < VARHDRSZ || !VARATT_IS_4B_U(place))
			raise_malformed(type, "An element of the array is no text.");
		size = VARSIZE(place);
		if (size < VARHDRSZ || size > (Size) (end - place))
			raise_malformed(type, "An element of the array reaches beyond its end.");
		if (type->element != BYTEAOID)
			(void) pg_verifymbstr(VARDATA(unconstify(char *, place)), size - VARHDRSZ,
								  false);
		place += size;
	}
}

static void
check_array(const TbPlcudaType *type, const char *bytes, Size length)
{
	const ArrayType *array = (const ArrayType *) bytes;
	int64			 count = 1;
	int64			 present;
	Size			 head;

	if (length < sizeof(ArrayType))
		raise_malformed(type, "It is too short for an array.");
	if (array->ndim < 0 || array->ndim > MAXDIM)
		raise_malformed(type, "The array's number of dimensions is out of range.");
	if (array->elemtype != type->element)
		raise_malformed(type,
						psprintf("The array's elements are of type %u instead of %u.",
								 array->elemtype, type->element));
	if (length < ARR_OVERHEAD_NONULLS(array->ndim))
		raise_malformed(type, "It is too short for an array.");
	/* How many elements? */
	if (array->ndim == 0)
		count = 0;
	for (int i = 0; i < array->ndim; i++)
	{
		int32 dim = ARR_DIMS(array)[i];
		int32 last;

		if (dim <= 0 || (count *= dim) > (int64) MaxArraySize ||
			pg_add_s32_overflow(ARR_LBOUND(array)[i], dim, &last))
			raise_malformed(type, "The array's size is out of range.");
	}
	/* Where do they begin? */
	head = ARR_OVERHEAD_NONULLS(array->ndim);
	present = count;
	if (array->dataoffset != 0)
	{
		head = ARR_OVERHEAD_WITHNULLS(array->ndim, count);
		if ((Size) array->dataoffset != head || length < head)
			raise_malformed(type, "The array's data are at a wrong place.");
		present = 0;
		for (int64 i = 0; i < count; i++)
			present += (ARR_NULLBITMAP(array)[i / 8] >> (i % 8)) & 1;
	}
	if (type->element_length < 0)
		check_elements(type, bytes + head, bytes + length, present);
	else if (length < head + present * type->element_length)
		raise_malformed(type, "The array is shorter than its elements.");
}

static Datum
decode_varlena(const TbPlcudaType *type, const char *bytes, int32 length)
{
	/* Aligned, and this backend's own, before anything is believed. */
	char *copy = palloc(length + 1);

	memcpy(copy, bytes, length);
	copy[length] = '\0';
	if (length < VARHDRSZ || !VARATT_IS_4B_U(copy) || VARSIZE(copy) != (Size) length)
		raise_malformed(type, "Its header does not have its length.");
	if (OidIsValid(type->element))
		check_array(type, copy, length);
	else if (type->type != BYTEAOID)
		(void) pg_verifymbstr(VARDATA(copy), length - VARHDRSZ, false);
	return PointerGetDatum(copy);
}

static Datum
decode_scalar(const TbPlcudaType *type, const char *bytes, int32 length)
{
	union
	{
		char   bytes[sizeof(Datum)];
		uint64 whole;
	} value = {.whole = 0};

	if (length != type->length)
		raise_malformed(type, psprintf("It has %d bytes.", length));
	memcpy(value.bytes, bytes, length);
	if (type->type == BOOLOID)
		return BoolGetDatum(value.bytes[0] != 0);
	return fetch_att(value.bytes, true, length);
}

static Datum
decode_string(TbPlcudaType *type, const char *bytes, int32 length)
{
	char *text = pnstrdup(bytes, length);
	Datum value;

	if (strlen(text) != (Size) length)
		raise_malformed(type, "Its text has a zero byte.");
	(void) pg_verifymbstr(text, length, false);
	value = InputFunctionCall(&type->input, text, type->ioparam, type->modifier);
	pfree(text);
	return value;
}

Datum
tb_plcuda_decode(TbPlcudaType *type, const char *bytes, int32 length, bool *isnull)
{
	Datum value = (Datum) 0;

	*isnull = length < 0;
	if (!*isnull && type->kind == TB_PLCUDA_VALUE)
		value = decode_scalar(type, bytes, length);
	else if (!*isnull && type->kind == TB_PLCUDA_VARLENA)
		value = decode_varlena(type, bytes, length);
	else if (!*isnull)
		value = decode_string(type, bytes, length);
	if (type->declared != type->type)
		domain_check(value, *isnull, type->declared, &type->domain, type->context);
	return value;
}
