/*
 * type_map.c - PostgreSQL types as types of the engine.
 *
 * Answers from the type's OID and typmod alone; PostGIS's type is postgis.c's. Called by
 * the translator. It must never read a catalog for a built-in type.
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "utils/lsyscache.h"

#include "pg/convert/postgis.h"
#include "pg/convert/type_map.h"

/* The rows of types.def; numeric, which has two, is told by its typmod. */
static const struct
{
	uint8 type;
	Oid	  typid;
} types[] = {
#define TB_TYPE(id, number, sql_name, width, pg_typid) {number, pg_typid},
#include "../../../catalog/types.def"
#undef TB_TYPE
};

TbTypeInfo
tb_numeric_info(int precision, int scale)
{
	TbTypeInfo info;

	info.precision = Min(precision, TB_NUM128_DIGITS);
	info.scale = scale;
	info.type = tb_numeric_type(info.precision);
	return info;
}

bool
tb_numeric_typmod(int32 typmod, int *precision, int *scale)
{
	int32 packed = typmod - VARHDRSZ;

	if (packed < 0)
		return false;
	*precision = (packed >> 16) & 0xffff;
	*scale = ((packed & 0x7ff) ^ 1024) - 1024; /* 11 bits with sign */
	return true;
}

/* numeric(p,s): a negative scale rounds digits before the point away, the
 * values are integers of p - s digits. */
static bool
constrained_numeric(int32 typmod, TbTypeInfo *info)
{
	int precision;
	int scale;

	if (!tb_numeric_typmod(typmod, &precision, &scale))
		return false;
	if (scale < 0)
	{
		precision -= scale;
		scale = 0;
	}
	if (precision > TB_NUM128_DIGITS || scale > TB_NUM128_DIGITS)
		return false;
	*info = tb_numeric_info(precision, scale);
	return true;
}

/* What a domain is made of. Built-in types are no domains: no catalog is read for them. */
static Oid
base_type(Oid typid, int32 *typmod)
{
	return typid < FirstGenbkiObjectId ? typid : getBaseTypeAndTypmod(typid, typmod);
}

bool
tb_type_of(Oid typid, int32 typmod, TbTypeInfo *info)
{
	Oid base = base_type(typid, &typmod);

	info->scale = 0;
	info->precision = 0;
	if (base == NUMERICOID)
		return constrained_numeric(typmod, info);
	if (base == VARCHAROID)
		base = TEXTOID;
	if (base >= FirstNormalObjectId)
	{
		info->type = TB_TYPE_GEOMETRY;
		return tb_postgis_is_geometry(base) || tb_postgis_is_geography(base);
	}
	for (int i = 0; i < (int) lengthof(types); i++)
	{
		if (types[i].typid == base)
		{
			info->type = types[i].type;
			return true;
		}
	}
	return false;
}

bool
tb_collation_is_deterministic(Oid collation)
{
	return !OidIsValid(collation) || get_collation_isdeterministic(collation);
}

/* In UTF-8 no character's bytes occur inside another's; in other multibyte
 * encodings a match of bytes may start in the middle of a character. */
bool
tb_encoding_is_searchable(void)
{
	return GetDatabaseEncoding() == PG_UTF8 || pg_database_encoding_max_length() == 1;
}
