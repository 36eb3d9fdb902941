/*
 * types.h - the value types that the engine computes on.
 *
 * Plain C; included by backends, daemon, compiler and the device library.
 * The table of types is catalog/types.def; this header gives it an enum and
 * the memory layout of one value ("plain" physical form).
 */
#ifndef TURBINE_TYPES_H
#define TURBINE_TYPES_H

#include <stdint.h>

/* Heap page geometry; checked against PostgreSQL's own macros in src/pg. */
#define TB_PAGE_SIZE 8192u
#define TB_MAX_TUPLES_PER_PAGE 291u

typedef enum TbType
{
	TB_TYPE_INVALID = 0,
#define TB_TYPE(id, number, sql_name, width, pg_typid) TB_TYPE_##id = number,
#include "../../catalog/types.def"
#undef TB_TYPE
	TB_TYPE_COUNT
} TbType;

/*
 * A value of a text type in column memory: a view that borrows the bytes of its chunk.
 *
 * OFFSET SIZE  FIELD
 *      0    4  length   bytes, without any header or padding
 *      4    4  prefix   the first min(4, length) bytes, rest zero; where id is not 0 the
 *                       text's hash instead (short_text_hash)
 *      8    4  id       of an entry of a dictionary, as no other entry of the service
 *                       has it: texts of one id are equal, those of two may be; 0: none
 *     12    4  offset   from the chunk's byte area
 */
typedef struct TbTextView
{
	uint32_t length;
	uint32_t prefix;
	uint32_t id;
	uint32_t offset;
} TbTextView;

/* Bytes of one value of the type in a column ("plain" form); 0 if invalid. */
static inline uint32_t
tb_type_width(uint32_t type)
{
	switch (type)
	{
#define TB_TYPE(id, number, sql_name, width, pg_typid) \
	case number: \
		return width;
#include "../../catalog/types.def"
#undef TB_TYPE
		default:
			return 0;
	}
}

/* The type's SQL name, for messages; "?" if invalid. */
static inline const char *
tb_type_name(uint32_t type)
{
	switch (type)
	{
#define TB_TYPE(id, number, sql_name, width, pg_typid) \
	case number: \
		return sql_name;
#include "../../catalog/types.def"
#undef TB_TYPE
		default:
			return "?";
	}
}

/* Text and bpchar: characters, which have a collation. */
static inline int
tb_type_is_character(uint32_t type)
{
	return type == TB_TYPE_TEXT || type == TB_TYPE_BPCHAR;
}

/* Whether values are views of bytes: text, bpchar, and geometry, which is kept alike. */
static inline int
tb_type_is_text(uint32_t type)
{
	return tb_type_is_character(type) || type == TB_TYPE_GEOMETRY;
}

/* Signed integers of 2, 4 or 8 bytes, in their order; NUM64 in units of its scale. */
static inline int
tb_type_is_integer(uint32_t type)
{
	switch (type)
	{
		case TB_TYPE_INT2:
		case TB_TYPE_INT4:
		case TB_TYPE_INT8:
		case TB_TYPE_DATE:
		case TB_TYPE_TIMESTAMP:
		case TB_TYPE_TIMESTAMPTZ:
		case TB_TYPE_NUM64:
			return 1;
		default:
			return 0;
	}
}

static inline int
tb_type_is_numeric(uint32_t type)
{
	return type == TB_TYPE_NUM64 || type == TB_TYPE_NUM128;
}

#endif
