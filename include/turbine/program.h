/*
 * program.h - the serialized query program.
 *
 * A backend builds it (src/pg/planner/program/program_builder.c). The daemon and the
 * compiler read it (src/engine/program). It describes the *shape* of one pipeline: how to
 * decode the table's tuples, which join tables to probe, which expressions to evaluate,
 * and the sink. A node that joins runs several programs: one BUILD per join table, then
 * one for what the node returns.
 *
 * It holds no literal and no address: constants are parameters (params.h). So equal
 * shapes are equal bytes, and the bytes are the key of the code cache. All padding and
 * reserved fields are zero.
 *
 * The blob is the header followed by the arrays, each at the 8-aligned offset that the
 * header gives, in native byte order.
 */
#ifndef TURBINE_PROGRAM_H
#define TURBINE_PROGRAM_H

#include "types.h"

#define TB_PROGRAM_MAGIC 0x47505442u /* "BTPG" */
#define TB_PROGRAM_VERSION 2

#define TB_NONE 0xffffffffu /* "no such index" */

/* Limits: a program beyond them is refused by builder and reader alike. */
#define TB_MAX_ATTRIBUTES 1600
#define TB_MAX_COLUMNS 256
#define TB_MAX_EXPRS 4096
#define TB_MAX_KEYS 64
#define TB_MAX_AGGS 256
#define TB_MAX_PARAMS 1024
/* of a DISPLAY_SCALE column; values that print with more digits are a verdict */
#define TB_MAX_DISPLAY_SCALE 63
#define TB_MAX_JOINS 16
#define TB_MAX_OUTPUTS 256
/* variables of loops */
#define TB_MAX_LOCALS 1024
/* How often loops may run their bodies in one call of a function of LANGUAGE turbine; more
 * is an error there. */
#define TB_MAX_STEPS 100000

typedef enum TbSourceKind
{
	TB_SOURCE_HEAP = 1, /* chunks of heap pages, and of columns for
						 * rows that the backend had to detoast */
	TB_SOURCE_ROWS = 2, /* chunks of columns only: rows of another plan
						 * of PostgreSQL. No attributes; column i has
						 * attnum i + 1; no tb_decode */
	TB_SOURCE_FILES = 3 /* parts that D reads (PART). Attributes as of a
						 * heap; no tb_decode; no missing values; sinks
						 * other than ROWS */
} TbSourceKind;

typedef enum TbSink
{
	TB_SINK_ROWS = 1,	   /* row ids of the rows that pass the filters; no
							* joins */
	TB_SINK_AGGREGATE = 2, /* groups: nkeys >= 0 keys, naggs >= 0 states */
	TB_SINK_PROJECT = 3,   /* outputs, a row a tuple; kept until the input
							* has ended */
	TB_SINK_BUILD = 4	   /* a join table: nkeys >= 0 keys to find rows
							* by, outputs as its payload. Rows with a NULL
							* key are left out, unless
							* TB_PROGRAM_KEEPS_NULL_KEYS */
} TbSink;

/* BUILD: rows with a NULL key stay, though no look-up finds them: for a FULL join */
#define TB_PROGRAM_KEEPS_NULL_KEYS 0x01

/*
 * Header.
 *
 * OFFSET SIZE  FIELD
 *      0    4  magic
 *      4    2  version
 *      6    2  sink           TbSink
 *      8    4  total_size     bytes of the blob
 *     12    1  source         TbSourceKind
 *     13    1  flags          TB_PROGRAM_*
 *     14    2  encoding       PostgreSQL's pg_enc number of the database
 *     16   80  ten sections {count, offset}: attributes, columns, exprs,
 *              args, filters, keys, aggs, params, outputs, joins
 */
typedef struct TbSection
{
	uint32_t count;	 /* elements */
	uint32_t offset; /* bytes from the start of the blob */
} TbSection;

typedef struct TbProgram
{
	uint32_t  magic;
	uint16_t  version;
	uint16_t  sink;
	uint32_t  total_size;
	uint8_t	  source;
	uint8_t	  flags;
	uint16_t  encoding;
	TbSection attributes; /* TbAttribute: every attribute of the tuple */
	TbSection columns;	  /* TbColumn: those that are referenced */
	TbSection exprs;	  /* TbExpr, operands before their users */
	TbSection args;		  /* uint32_t: pool of operand lists (expr indexes) */
	TbSection filters;	  /* uint32_t expr indexes: conjuncts, in PostgreSQL's
						   * order of evaluation */
	TbSection keys;		  /* uint32_t expr indexes: grouping keys, or the
						   * keys of a BUILD */
	TbSection aggs;		  /* TbAgg */
	TbSection params;	  /* TbParamShape */
	TbSection outputs;	  /* uint32_t expr indexes: PROJECT, BUILD */
	TbSection joins;	  /* TbJoin, in the order they are probed */
} TbProgram;

/* How one attribute lies in a heap tuple. 8 bytes. */
#define TB_ATT_BYVAL 0x01
/* declared NOT NULL and valid: no NULL check unless the tuple is short */
#define TB_ATT_NOTNULL 0x02
#define TB_ATT_DROPPED 0x04
typedef struct TbAttribute
{
	int16_t	 length; /* attlen: > 0 fixed, -1 varlena, -2 cstring */
	uint8_t	 align;	 /* bytes: 1, 2, 4 or 8 */
	uint8_t	 flags;
	uint32_t reserved;
} TbAttribute;

/* A referenced column: of the source, or of a joined table's payload. Those of
 * the source come first. 16 bytes. */
#define TB_COL_NULLABLE 0x01 /* some row may yield NULL */
/* INT4 of a numeric attribute: the digits after the point that PostgreSQL prints, not
 * the value */
#define TB_COL_DISPLAY_SCALE 0x04
/* payload: the table's column has `valid`. A column that is NULLABLE but not this is
 * NULL only where a LEFT or FULL join found nothing, or in tuples that a FULL join at or
 * behind its own brings in */
#define TB_COL_STORED_NULLABLE 0x02
/* INT8 of a heap, attnum 0, never NULL: the row's TB_PACKED_TID */
#define TB_COL_TID 0x08
/* FLOAT8 of an attribute of points: a coordinate; `digits` is its form (point_column.h) */
#define TB_COL_COORDINATE 0x10
typedef struct TbColumn
{
	uint16_t attnum;		/* source: 1-based index into attributes;
							 * payload: 1-based index into its outputs */
	uint8_t	 type;			/* TbType */
	uint8_t	 flags;
	int16_t	 scale;			/* numeric: decimal digits after the point */
	uint16_t join;			/* 0: source; else 1 + index of the join */
	uint32_t missing_param; /* value of tuples too short to have the
							 * attribute; TB_NONE: NULL */
	uint32_t digits;		/* NUM64: values of more decimal digits are a
							 * verdict; 0: the declared type excludes them.
							 * COORDINATE: the point's form */
} TbColumn;

/* PostgreSQL's tuple id as one integer, in the order of the table. Rows of a segment lie in
 * few blocks, so the column cache keeps these integers in 2 bytes each. */
#define TB_TID_LINE_BITS 9
#define TB_PACKED_TID(block, offnum) \
	((int64_t) (((uint64_t) (block) << TB_TID_LINE_BITS) | (uint32_t) (offnum)))
#define TB_TID_BLOCK(tid) ((uint32_t) ((uint64_t) (tid) >> TB_TID_LINE_BITS))
#define TB_TID_OFFNUM(tid) ((uint32_t) ((tid) & ((1 << TB_TID_LINE_BITS) - 1)))

typedef enum TbExprOp
{
	TB_EXPR_COLUMN = 1, /* index: column */
	TB_EXPR_PARAM,		/* index: parameter (a scalar) */
	TB_EXPR_CALL,		/* index: TbFunction (catalogue row) */
	TB_EXPR_AND,		/* nargs >= 2 */
	TB_EXPR_OR,			/* nargs >= 2 */
	TB_EXPR_NOT,
	TB_EXPR_IS_NULL,
	TB_EXPR_IS_NOT_NULL,
	TB_EXPR_IS_TRUE,
	TB_EXPR_IS_NOT_TRUE,
	TB_EXPR_IS_FALSE,
	TB_EXPR_IS_NOT_FALSE,
	TB_EXPR_CASE,		 /* args: cond, value, cond, value, ..., else */
	TB_EXPR_COALESCE,	 /* nargs >= 1 */
	TB_EXPR_IS_DISTINCT, /* index: equality function; two args */
	TB_EXPR_ANY,		 /* index: boolean function f(x, element); args:
						  * x, an array PARAM. x op ANY(array) */
	TB_EXPR_ALL,		 /* x op ALL(array) */
	TB_EXPR_RESCALE,	 /* numeric arg to this node's type and scale;
						  * rounds half away from zero going down, is
						  * an error where the value does not fit */
	TB_EXPR_GREATEST,	 /* index: f(a, b) is a < b; nargs >= 1, NULLs are
						  * skipped; of equal ones the first */
	TB_EXPR_LEAST,
	TB_EXPR_MODEL,		 /* index: TbModelKind (model.h); args: the model, an array
						  * PARAM of FLOAT8, then a FLOAT8 for each column */
	/*
	 * Bodies of functions. A SEQUENCE evaluates its operands in order, and its value is the
	 * last one's. A LOOP sets its locals to their initial values; while the condition is
	 * true, it evaluates `effect`, and sets all locals at once to their next values. It is
	 * evaluated as an operand of a SEQUENCE; of its locals, what follows in that SEQUENCE
	 * sees the last values. More than TB_MAX_STEPS runs in a closed SEQUENCE are a verdict.
	 */
	TB_EXPR_SEQUENCE, /* index 1: closed, nothing outside uses a local of it; else 0 */
	TB_EXPR_LOCAL,	  /* index: local. Always NULLABLE */
	TB_EXPR_LOOP,	  /* index: its first local; args: n initial values, condition,
					   * effect, n next values; BOOL, true */
	TB_EXPR_GRID,	  /* index: TbGridKind (grid.h), which names the args */
	TB_EXPR_POINT,	  /* GEOMETRY. index: the form of a point (point_column.h); args:
					   * its coordinates, FLOAT8. x and y NaN: empty */
	/* A condition, BOOL, that PostgreSQL decides where it raises: that is no error of the
	 * row. With a second operand, BOOL, only where that is true. Neither is NULL. */
	TB_EXPR_POSSIBLE, /* it is true, or PostgreSQL decides */
	TB_EXPR_UNDECIDED /* PostgreSQL decides */
} TbExprOp;

/* An expression node. 24 bytes. Operands: args[first_arg .. +nargs). */
#define TB_EX_NULLABLE 0x01 /* may yield NULL */
#define TB_EX_RAISES 0x02	/* it or an operand may raise */
typedef struct TbExpr
{
	uint8_t	 op;   /* TbExprOp */
	uint8_t	 type; /* TbType of the result */
	uint8_t	 flags;
	uint8_t	 reserved;
	int16_t	 scale; /* numeric results */
	uint16_t nargs;
	uint32_t index; /* see TbExprOp; else 0 */
	uint32_t first_arg;
	uint32_t cost;	/* of this node and below, in units of an
					 * integer comparison */
	uint32_t reserved2;
} TbExpr;

typedef enum TbAggKind
{
	TB_AGG_COUNT = 1, /* arg TB_NONE: rows; else non-NULL values.
					   * state: int64 */
	TB_AGG_SUM_INT,	  /* int2/int4, on the host int8 -> exact int64 sum
					   * (overflow of 64 bits is a verdict) */
	TB_AGG_SUM_WIDE,  /* int8, NUM64, NUM128 -> exact int128 sum */
	TB_AGG_SUM_FLOAT, /* float4/float8 -> float8 sum; a finite value of
					   * tb_float_sum_limit() or more is a verdict */
	TB_AGG_MIN,		  /* state: a value of the argument's type */
	TB_AGG_MAX
} TbAggKind;

/*
 * An aggregate state. 16 bytes. Every kind but COUNT also keeps whether it saw
 * a non-NULL value; if not, its result is NULL. MIN/MAX follow PostgreSQL's
 * btree order (NaN above all; text by bytes, so the backend offers it for the
 * C collation only).
 */
typedef struct TbAgg
{
	uint8_t	 kind;	 /* TbAggKind */
	uint8_t	 type;	 /* argument's TbType, or 0 */
	int16_t	 scale;	 /* numeric argument's scale */
	uint32_t arg;	 /* expr index, or TB_NONE */
	uint32_t filter; /* boolean expr index, or TB_NONE */
	uint32_t reserved;
} TbAgg;

typedef enum TbJoinKind
{
	TB_JOIN_INNER = 1, /* a tuple a match */
	TB_JOIN_LEFT,	   /* the same; a tuple with NULL payload where
						* there is none */
	TB_JOIN_SEMI,	   /* the row, if there is a match; no payload */
	TB_JOIN_ANTI,	   /* the row, if there is none; no payload */
	TB_JOIN_FULL,	   /* as LEFT; and a tuple for every row of the table
						* that never was a match, once all others have
						* come: columns of the source and of earlier joins
						* are NULL in it */
	TB_JOIN_SERIES	   /* a tuple for each number from 0 on, below the only
						* key, an INT4; none if that is NULL. There is no
						* table: join_table is TB_NONE. Payload column 1 is
						* the number, an INT4 */
} TbJoinKind;

/*
 * A probe of a join table. A match is a row of the table whose keys are equal
 * to the probe's (no NULL is), and for which `residual` is true. 32 bytes.
 *
 * Probe keys may use columns of the source and of earlier joins, and have the
 * types and scales of the table's keys. `residual` may also use this join's
 * own columns, of SEMI and ANTI joins too. Without keys every row of the table
 * is a candidate.
 *
 * Order of evaluation: each filter as soon as the columns it uses are there:
 * before the first join, or after the last join that one of its columns
 * belongs to. But FULL joins are barriers: the first `nfilters` filters of the
 * program are evaluated before such a join, the others after it. A program that has
 * one reads no column of the source, nor of joins up to the last one, that is not
 * NULLABLE; its table keeps rows with NULL keys.
 */
/* at most one row of the table has equal keys, as the planner has proved */
#define TB_JOIN_UNIQUE 0x01
typedef struct TbJoin
{
	uint8_t	 kind; /* TbJoinKind */
	uint8_t	 flags;
	uint16_t nkeys;
	uint32_t first_key;	 /* args[first_key .. +nkeys): expr indexes */
	uint32_t join_table; /* number that the table was built under */
	uint32_t residual;	 /* boolean expr index, or TB_NONE */
	uint32_t nfilters;	 /* FULL: filters before it; else 0 */
	uint32_t reserved[3];
} TbJoin;

/* A parameter's shape. 4 bytes. */
#define TB_PARAM_ARRAY \
	0x01 /* elements of the type; integers, dates, times sorted, a NULL last */
#define TB_PARAM_NULLABLE 0x02 /* may be NULL at run time */
#define TB_PARAM_ZONE 0x04	   /* TEXT: a time zone's table, see zone.h */
typedef struct TbParamShape
{
	uint8_t type;  /* TbType */
	uint8_t flags;
	int16_t scale; /* numeric */
} TbParamShape;

/*
 * Below this magnitude finite values cannot make any plan of PostgreSQL's raise "out of
 * range", in fewer than 2^48 rows. sum(float4) adds in float4, where rounding at most
 * doubles a sum: 2 * 2^48 * 2^78 < 2^128. avg(float8) also keeps a sum of squared
 * deviations, whose largest intermediate results are (N * x - Sx)^2 <=
 * (3 * 2^48 * 2^462)^2, and where states of two workers are combined,
 * N1 * N2 * (Sx1/N1 - Sx2/N2)^2 <= 2^94 * (4 * 2^462)^2, both < 2^1024. Whether larger
 * values raise depends on the order of rows in PostgreSQL's plan, which must add them.
 */
static inline double
tb_float_sum_limit(uint32_t type)
{
	return type == TB_TYPE_FLOAT4 ? 0x1p78 : 0x1p462;
}

/* The type of an aggregate's state, as result columns carry it. */
static inline uint32_t
tb_agg_state_type(const TbAgg *agg)
{
	switch (agg->kind)
	{
		case TB_AGG_COUNT:
		case TB_AGG_SUM_INT:
			return TB_TYPE_INT8;
		case TB_AGG_SUM_WIDE:
			return TB_TYPE_NUM128;
		case TB_AGG_SUM_FLOAT:
			return TB_TYPE_FLOAT8;
		case TB_AGG_MIN:
		case TB_AGG_MAX:
			return agg->type;
		default:
			return TB_TYPE_INVALID;
	}
}

/* Does a column have the tuple ids of the rows? */
static inline int
tb_program_has_tids(const TbProgram *program)
{
	const TbColumn *columns = (const TbColumn *) ((const char *) program +
												  program->columns.offset);

	for (uint32_t i = 0; i < program->columns.count; i++)
		if (columns[i].flags & TB_COL_TID)
			return 1;
	return 0;
}

#ifdef __cplusplus
static_assert(sizeof(TbProgram) == 96, "TbProgram layout");
static_assert(sizeof(TbAttribute) == 8, "TbAttribute layout");
static_assert(sizeof(TbColumn) == 16, "TbColumn layout");
static_assert(sizeof(TbExpr) == 24, "TbExpr layout");
static_assert(sizeof(TbAgg) == 16, "TbAgg layout");
static_assert(sizeof(TbJoin) == 32, "TbJoin layout");
static_assert(sizeof(TbParamShape) == 4, "TbParamShape layout");
static_assert(TB_MAX_TUPLES_PER_PAGE < 1 << TB_TID_LINE_BITS, "line pointers");
#endif

#endif
