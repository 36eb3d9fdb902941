/*
 * value_bytes.c - see value_bytes.h. Called by file_writer.c for every value of a file.
 *
 * Owns nothing. Must never tell a value in another form than the type's send function.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "port/pg_bswap.h"
#include "utils/uuid.h"

#include "pg/export/value_bytes.h"

TbValueForm
tb_value_form(Oid type)
{
	switch (type)
	{
		case BOOLOID:
			return TB_VALUE_1;
		case INT2OID:
			return TB_VALUE_2;
		case INT4OID:
		case OIDOID:
		case FLOAT4OID:
		case DATEOID:
			return TB_VALUE_4;
		case INT8OID:
		case FLOAT8OID:
		case TIMEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return TB_VALUE_8;
		case UUIDOID:
			return TB_VALUE_16;
		case TEXTOID:
		case VARCHAROID:
		case BPCHAROID:
		case JSONOID:
		case BYTEAOID:
			return TB_VALUE_VARLENA;
		default:
			return TB_VALUE_CALLED;
	}
}

/* Room for the length and so many bytes, of which the length is written. */
static char *
make_room(StringInfo to, uint32 length)
{
	uint32 length_there = pg_hton32(length);
	char  *place;

	if (to->len + (Size) length + sizeof(length) >= (Size) to->maxlen)
		enlargeStringInfo(to, length + sizeof(length));
	place = to->data + to->len;
	memcpy(place, &length_there, sizeof(length));
	to->len += sizeof(length) + length;
	return place + sizeof(length);
}

void
tb_value_append(StringInfo to, TbValueForm form, Datum value)
{
	switch (form)
	{
		case TB_VALUE_1:
			*make_room(to, 1) = DatumGetBool(value) ? 1 : 0;
			break;
		case TB_VALUE_2:
		{
			uint16 bytes = pg_hton16(DatumGetUInt16(value));

			memcpy(make_room(to, sizeof(bytes)), &bytes, sizeof(bytes));
			break;
		}
		case TB_VALUE_4:
		{
			uint32 bytes = pg_hton32(DatumGetUInt32(value));

			memcpy(make_room(to, sizeof(bytes)), &bytes, sizeof(bytes));
			break;
		}
		case TB_VALUE_8:
		{
			uint64 bytes = pg_hton64((uint64) DatumGetInt64(value));

			memcpy(make_room(to, sizeof(bytes)), &bytes, sizeof(bytes));
			break;
		}
		case TB_VALUE_16:
			memcpy(make_room(to, UUID_LEN), DatumGetUUIDP(value)->data, UUID_LEN);
			break;
		default:
		{
			struct varlena *packed = PG_DETOAST_DATUM_PACKED(value);
			Size			length = VARSIZE_ANY_EXHDR(packed);

			memcpy(make_room(to, length), VARDATA_ANY(packed), length);
			break;
		}
	}
}
