/*
 * type_map.h - PostgreSQL types as types of the engine.
 */
#ifndef TURBINE_PG_CONVERT_TYPE_MAP_H
#define TURBINE_PG_CONVERT_TYPE_MAP_H

#include "postgres.h"

#include "turbine/types.h"

/* Most digits that each numeric form holds for every value. */
#define TB_NUM64_DIGITS 18
#define TB_NUM128_DIGITS 38

/* A type of the engine; scale and precision are of numerics, else 0. */
typedef struct TbTypeInfo
{
	uint8 type;		 /* TbType */
	int16 scale;	 /* decimal digits after the point */
	int16 precision; /* bound of the decimal digits in all */
} TbTypeInfo;

/* A type without scale. */
static inline TbTypeInfo
tb_simple_type(uint8 type)
{
	TbTypeInfo info = {0};

	info.type = type;
	return info;
}

/*
 * The engine's type of a PostgreSQL type; domains are looked through. A
 * numeric needs a typmod. False if there is none.
 */
extern bool tb_type_of(Oid typid, int32 typmod, TbTypeInfo *info);

/* As above for types whose values need no typmod: false for numeric. */
static inline bool
tb_plain_type_of(Oid typid, TbTypeInfo *info)
{
	return tb_type_of(typid, -1, info);
}

/* NUM64 if the digits fit there, else NUM128. */
static inline uint8
tb_numeric_type(int precision)
{
	return precision <= TB_NUM64_DIGITS ? TB_TYPE_NUM64 : TB_TYPE_NUM128;
}

/* A numeric of that precision and scale; precision is cut to what exists. */
extern TbTypeInfo tb_numeric_info(int precision, int scale);

/* Splits numeric's typmod; false if it is unconstrained. */
extern bool tb_numeric_typmod(int32 typmod, int *precision, int *scale);

/* Whether texts are equal only if their bytes are. */
extern bool tb_collation_is_deterministic(Oid collation);

/* Whether the database's encoding lets bytes be searched for bytes. */
extern bool tb_encoding_is_searchable(void);

#endif
