/*
 * result.h - the result plan: what is done with the rows of an AGGREGATE or PROJECT
 * before they are returned. It has window functions, conditions on them, an order and a
 * limit.
 *
 * A backend writes it behind a QUERY's parameters, and the engine reads it. It is no part
 * of the program, since no code is generated for it: queries that differ only in their
 * result plans share their code. All padding and reserved fields are zero.
 *
 * Columns are numbered as results carry them: first keys and states of an AGGREGATE, or
 * outputs of a PROJECT; then one for each window function, in their order.
 *
 * The steps, in this order:
 *   1  for each window pass, rows are sorted by its keys, and its functions are computed
 *   2  rows for which a condition is not true are dropped
 *   3  rows are sorted by the plan's keys
 *   4  of rows that agree in the first `ndistinct` of these keys, the first stays
 *   5  the first `limit` rows stay
 * Rows with equal keys have no order among themselves. A plan may have estimates instead
 * of passes and conditions (TbEstimateOp). They drop rows, and leave exact values to
 * PostgreSQL.
 */
#ifndef TURBINE_RESULT_H
#define TURBINE_RESULT_H

#include "program.h"

#define TB_RESULT_MAGIC 0x52505442u /* "BTPR" */
#define TB_RESULT_VERSION 4

#define TB_MAX_SORT_KEYS 64 /* of all passes together */
#define TB_MAX_WINDOW_PASSES 16
#define TB_MAX_WINDOW_FUNCTIONS 64
#define TB_MAX_RESULT_CONDITIONS 64
#define TB_MAX_ESTIMATES 16
#define TB_MAX_ESTIMATE_STEPS 256
#define TB_MAX_ESTIMATE_DEPTH 8 /* intervals on the stack */
#define TB_MAX_ESTIMATED_KEYS 3
#define TB_MAX_ESTIMATE_SCALE 64
#define TB_NO_LIMIT UINT64_MAX

/* PostgreSQL's btree order: NaN above all numbers, equal to itself; false before
 * true; text by bytes. 8 bytes. */
#define TB_SORT_DESCENDING 0x01u
#define TB_SORT_NULLS_FIRST 0x02u
typedef struct TbSortKey
{
	uint32_t column;
	uint32_t flags;
} TbSortKey;

typedef enum TbFrameMode
{
	TB_FRAME_ROWS = 1,
	TB_FRAME_RANGE,
	TB_FRAME_GROUPS
} TbFrameMode;

typedef enum TbFrameBound
{
	TB_BOUND_UNBOUNDED_PRECEDING = 1,
	TB_BOUND_PRECEDING, /* by the offset */
	TB_BOUND_CURRENT_ROW,
	TB_BOUND_FOLLOWING,
	TB_BOUND_UNBOUNDED_FOLLOWING
} TbFrameBound;

/* What a frame leaves out. */
typedef enum TbFrameExclusion
{
	TB_EXCLUDE_NONE = 0,
	TB_EXCLUDE_CURRENT_ROW,
	TB_EXCLUDE_GROUP, /* the current row and its peers */
	TB_EXCLUDE_TIES	  /* its peers, and not itself */
} TbFrameExclusion;

/*
 * One sort, and what is computed in its order. Rows that agree in the first
 * `npartition` keys are a partition, those that agree in all are peers. 64 bytes.
 *
 * An offset counts rows (ROWS) or groups of peers (GROUPS); its upper half is zero
 * then. Of RANGE there is exactly one key behind those of the partition, and an offset
 * is a distance between its values, never negative, as PostgreSQL's in_range functions
 * count it: of integers and numerics a signed 128-bit integer in units of the key's
 * scale, of dates and timestamps microseconds in the lower half, of floats the bits of
 * a double there, which is no NaN. Where rows differ in how far it takes them (months,
 * and days of a time zone), a column has what each row's key becomes by it, and the
 * offset is zero: TIMESTAMPTZ of such a key, TIMESTAMP of a DATE or TIMESTAMP.
 */
typedef struct TbWindowPass
{
	uint32_t first_key; /* keys[first_key .. +nkeys) */
	uint32_t nkeys;
	uint32_t npartition;
	uint32_t first_function;	/* functions[first_function .. +nfunctions): passes
								 * follow one another without a gap */
	uint32_t nfunctions;
	uint8_t	 frame_mode;		/* TbFrameMode */
	uint8_t	 start_bound;		/* TbFrameBound */
	uint8_t	 end_bound;
	uint8_t	 exclusion;			/* TbFrameExclusion */
	uint64_t start_offset;
	uint64_t start_offset_high; /* its upper half */
	uint64_t end_offset;
	uint64_t end_offset_high;
	uint32_t start_limit; /* that column; TB_NONE: the offset is a distance */
	uint32_t end_limit;
} TbWindowPass;

typedef enum TbWindowKind
{
	TB_WINDOW_ROW_NUMBER = 1, /* INT8 */
	TB_WINDOW_RANK,			  /* INT8 */
	TB_WINDOW_DENSE_RANK,	  /* INT8 */
	TB_WINDOW_PERCENT_RANK,	  /* FLOAT8 */
	TB_WINDOW_CUME_DIST,	  /* FLOAT8 */
	TB_WINDOW_NTILE,		  /* INT4; n: buckets, > 0 */
	TB_WINDOW_LAG,			  /* the argument's; n: rows back, may be negative.
							   * No such row: the value of column `other`, or
							   * NULL if that is TB_NONE */
	TB_WINDOW_LEAD,
	TB_WINDOW_FIRST_VALUE,	  /* of the frame; the argument's type */
	TB_WINDOW_LAST_VALUE,
	TB_WINDOW_NTH_VALUE,	  /* n: from 1 */
	TB_WINDOW_COUNT,		  /* INT8, no NULLs; arg TB_NONE: rows of the frame */
	TB_WINDOW_SUM,			  /* of the frame; NULL if it has no value. Of INT2,
							   * INT4: INT8; INT8, NUM64, NUM128: NUM128; FLOAT4,
							   * FLOAT8: FLOAT8, added up in the frame's order,
							   * for frames that start UNBOUNDED_PRECEDING and
							   * exclude nothing. n = 1: of INT8 as INT8 */
	TB_WINDOW_MIN,			  /* the argument's type */
	TB_WINDOW_MAX
} TbWindowKind;

/* 32 bytes. `filter`: a boolean column; rows where it is not true do not count
 * (COUNT, SUM, MIN, MAX). */
typedef struct TbWindowFunction
{
	uint32_t kind;	 /* TbWindowKind */
	uint32_t arg;	 /* column, or TB_NONE */
	uint32_t other;	 /* column, or TB_NONE */
	uint32_t filter; /* column, or TB_NONE */
	int64_t	 n;
	uint64_t reserved;
} TbWindowFunction;

/* A bound on an INT8 or INT4 column of a window function: value <= bound, or with
 * STRICT <; rows without a value do not pass. 16 bytes. */
#define TB_CONDITION_STRICT 0x01u
#define TB_CONDITION_AT_LEAST 0x02u /* >= or >, not <= or < */
#define TB_CONDITION_EQUAL 0x04u	/* =, alone */
typedef struct TbResultCondition
{
	uint32_t column;
	uint32_t flags;
	int64_t	 bound;
} TbResultCondition;

/*
 * What PostgreSQL will compute of a row (an average, an expression over aggregates), as an
 * interval of doubles that holds the value for certain. Rows whose intervals tell that
 * they do not pass HAVING, or are not among the first `limit` of the order, are dropped;
 * PostgreSQL computes and sorts those that stay. A row of which an estimate cannot tell
 * whether PostgreSQL would raise an error stays as well.
 *
 * Steps work on a stack. Operators take their arguments from it, the last one on top.
 */
typedef enum TbEstimateOp
{
	TB_ESTIMATE_COLUMN = 1, /* of integers, numerics in their scale, floats, times, bool */
	TB_ESTIMATE_CONSTANT,	/* between low and high, the same if it is a double */
	TB_ESTIMATE_NULL,
	TB_ESTIMATE_ADD,
	TB_ESTIMATE_SUBTRACT,
	TB_ESTIMATE_MULTIPLY,
	TB_ESTIMATE_DIVIDE,
	TB_ESTIMATE_NEGATE,
	TB_ESTIMATE_ABSOLUTE,
	TB_ESTIMATE_CONVERT, /* to the domain, from any */
	TB_ESTIMATE_ROUND,	 /* to something at most `high` away */
	TB_ESTIMATE_COALESCE,
	TB_ESTIMATE_NULLIF,
	TB_ESTIMATE_LESS, /* true is 1, false 0 */
	TB_ESTIMATE_LESS_EQUAL,
	TB_ESTIMATE_EQUAL,
	TB_ESTIMATE_NOT_EQUAL
} TbEstimateOp;

/* How PostgreSQL computes a step's value. */
typedef enum TbEstimateDomain
{
	TB_DOMAIN_NUMERIC = 0, /* exactly; quotients are rounded to 16 digits or more */
	TB_DOMAIN_INTEGER,	   /* raises outside [low, high]; quotients are truncated */
	TB_DOMAIN_FLOAT8	   /* each operation is rounded; raises beyond a double's range */
} TbEstimateDomain;

/* 24 bytes. */
typedef struct TbEstimateStep
{
	uint8_t	 op;	 /* TbEstimateOp */
	uint8_t	 domain; /* TbEstimateDomain */
	int16_t	 scale;	 /* of a numeric COLUMN; else 0 */
	uint32_t column; /* of the sink's results; else TB_NONE */
	double	 low;
	double	 high;
} TbEstimateStep;

typedef enum TbEstimateRole
{
	TB_ESTIMATE_OF_CONDITION = 1, /* rows for which it is not true are dropped */
	TB_ESTIMATE_OF_KEY,			  /* of the order; the first estimated key is its first */
	TB_ESTIMATE_OF_ERRORS		  /* only whether it raises matters */
} TbEstimateRole;

/* Conditions come first, then keys. 16 bytes. */
typedef struct TbEstimate
{
	uint32_t first_step; /* steps[first_step .. +nsteps): estimates follow one another
						  * without a gap */
	uint32_t nsteps;
	uint32_t role;		 /* TbEstimateRole */
	uint32_t flags;		 /* of a key: TB_SORT_* */
} TbEstimate;

/*
 * The header; the arrays follow at 8-aligned offsets. 88 bytes. With estimates there are no
 * passes and conditions, and `limit` is about their keys; where none of them is a key there
 * may be an order without a limit.
 */
/* rows that are peers of the last within the limit stay too */
#define TB_RESULT_WITH_TIES 0x01u
typedef struct TbResultPlan
{
	uint32_t  magic;
	uint16_t  version;
	uint16_t  flags;
	uint32_t  total_size; /* bytes of the blob */
	uint32_t  first_key;  /* the final order: keys[first_key .. +nkeys) */
	uint32_t  nkeys;
	uint32_t  ndistinct;  /* <= nkeys; 0: all rows stay */
	uint64_t  limit;	  /* rows, or TB_NO_LIMIT */
	uint32_t  ncolumns;	  /* of the sink's results: for the check */
	uint32_t  reserved;
	TbSection keys;		  /* TbSortKey: of all passes and the final order */
	TbSection passes;	  /* TbWindowPass */
	TbSection functions;  /* TbWindowFunction */
	TbSection conditions; /* TbResultCondition */
	TbSection steps;	  /* TbEstimateStep */
	TbSection estimates;  /* TbEstimate */
} TbResultPlan;

static inline int
tb_bound_is_offset(uint8_t bound)
{
	return bound == TB_BOUND_PRECEDING || bound == TB_BOUND_FOLLOWING;
}

/* Whether the pass compares values of its order key. */
static inline int
tb_pass_has_range_offset(const TbWindowPass *pass)
{
	return pass->frame_mode == TB_FRAME_RANGE &&
		(tb_bound_is_offset(pass->start_bound) || tb_bound_is_offset(pass->end_bound));
}

/* The type of a function's values; `arg`: of its argument. */
static inline uint32_t
tb_window_type(uint32_t kind, uint32_t arg)
{
	switch (kind)
	{
		case TB_WINDOW_ROW_NUMBER:
		case TB_WINDOW_RANK:
		case TB_WINDOW_DENSE_RANK:
		case TB_WINDOW_COUNT:
			return TB_TYPE_INT8;
		case TB_WINDOW_NTILE:
			return TB_TYPE_INT4;
		case TB_WINDOW_PERCENT_RANK:
		case TB_WINDOW_CUME_DIST:
			return TB_TYPE_FLOAT8;
		case TB_WINDOW_SUM:
			if (arg == TB_TYPE_INT2 || arg == TB_TYPE_INT4)
				return TB_TYPE_INT8;
			return arg == TB_TYPE_FLOAT4 || arg == TB_TYPE_FLOAT8 ? TB_TYPE_FLOAT8 :
																	TB_TYPE_NUM128;
		default:
			return arg;
	}
}

/*
 * Can a GPU compute the function in such a pass? `arg`: TbType of its argument, or
 * TB_TYPE_INVALID. Sums of floats are added up in their order, and texts and sums of 128
 * bits have no place there; of MIN and MAX the best so far is known from a partition's
 * first row on.
 */
static inline int
tb_window_on_gpu(const TbWindowPass *pass, uint32_t kind, uint32_t arg)
{
	if (pass->exclusion != TB_EXCLUDE_NONE || tb_pass_has_range_offset(pass))
		return 0;
	switch (kind)
	{
		case TB_WINDOW_LAG:
		case TB_WINDOW_LEAD:
		case TB_WINDOW_FIRST_VALUE:
		case TB_WINDOW_LAST_VALUE:
		case TB_WINDOW_NTH_VALUE:
			return !tb_type_is_text(arg);
		case TB_WINDOW_SUM:
			return tb_type_is_integer(arg);
		case TB_WINDOW_MIN:
		case TB_WINDOW_MAX:
			return tb_type_is_integer(arg) &&
				pass->start_bound == TB_BOUND_UNBOUNDED_PRECEDING;
		default:
			return 1;
	}
}

/* What one pass may have there. */
#define TB_GPU_WINDOW_KEYS 8
#define TB_GPU_WINDOW_FUNCTIONS 8
#define TB_GPU_WINDOW_CONDITIONS 8

#ifdef __cplusplus
static_assert(sizeof(TbSortKey) == 8, "TbSortKey layout");
static_assert(sizeof(TbWindowPass) == 64, "TbWindowPass layout");
static_assert(sizeof(TbWindowFunction) == 32, "TbWindowFunction layout");
static_assert(sizeof(TbResultCondition) == 16, "TbResultCondition layout");
static_assert(sizeof(TbEstimateStep) == 24, "TbEstimateStep layout");
static_assert(sizeof(TbEstimate) == 16, "TbEstimate layout");
static_assert(sizeof(TbResultPlan) == 88, "TbResultPlan layout");
#endif

#endif
