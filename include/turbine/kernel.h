/*
 * kernel.h - the interface between generated code, the device library
 * (src/rt) and the engine. One header for host objects, host bitcode and
 * NVPTX bitcode: fixed-width fields and pointers of the device's own address
 * space only.
 *
 * A compiled program has these entry points; each takes ONE pointer to its
 * argument struct (on the GPU that pointer is the kernel's only parameter, to
 * device memory) and returns nothing: outcomes are in the struct.
 *
 *   host shared object                     PTX kernels
 *   tb_decode   (TbDecodeArgs *)           tb_decode
 *   tb_pipeline (TbPipelineArgs *)         tb_rows                 sink ROWS
 *                                          tb_reserve, tb_apply    grouped AGGREGATE
 *                                          tb_reduce               ungrouped AGGREGATE
 *
 * tb_decode turns heap pages into columns. The pipeline consumes columns,
 * whatever filled them.
 */
#ifndef TURBINE_KERNEL_H
#define TURBINE_KERNEL_H

#include "params.h"
#include "program.h"

/*
 * Verdict bits: why a chunk (or the query) can not be answered by the device
 * code. Any bit set means: PostgreSQL decides. Only live rows and non-NULL
 * operations set one.
 */
#define TB_ERR_OVERFLOW			0x01u	/* integer or float out of range */
#define TB_ERR_DIVISION_BY_ZERO	0x02u
#define TB_ERR_DOMAIN			0x04u	/* sqrt(-1), log(0), bad cast, ... */
#define TB_ERR_UNREPRESENTABLE	0x08u	/* a value that the device format cannot
										 * hold: NaN numeric, > 128 bits, ... */
#define TB_ERR_STATE_OVERFLOW	0x10u	/* an aggregate state overflowed */
#define TB_ERR_CORRUPT			0x20u	/* a page or view out of bounds */

/* One column of a chunk. valid[i] is 1 for a value, 0 for NULL. Columns that the
 * program calls nullable always have it, the others never. */
typedef struct TbColumnData
{
	void	   *values;
	uint8_t    *valid;
} TbColumnData;

/* Row id of a heap row: index of its page in the chunk, and line pointer. */
#define TB_ROWID(page, offnum) (((uint32_t) (page) << 16) | (uint32_t) (offnum))
#define TB_ROWID_PAGE(rowid) ((rowid) >> 16)
#define TB_ROWID_OFFNUM(rowid) ((rowid) & 0xffffu)

/*
 * Arguments of tb_decode: pages [0, npages) of `pages` to columns.
 *
 * Rows are the LP_NORMAL line pointers: invisible tuples have been blanked or
 * the page is all-visible. Every header field but t_infomask's HASNULL bit,
 * t_infomask2's attribute count, t_hoff and the line pointers is ignored (see
 * the visibility protocol). Rows keep page and line pointer order on the
 * host; on the GPU rows of one page are contiguous and in order, pages in any
 * order.
 *
 * A row with a compressed or external varlena in a referenced column yields no
 * row: its id is appended to `deferred`. A numeric that does not fit its
 * column sets TB_ERR_UNREPRESENTABLE, a tuple that leaves its page
 * TB_ERR_CORRUPT.
 *
 * Text views point into `pages`: offset counts from its start.
 * On the GPU a launch may use any grid; `nrows` and `ndeferred` start as 0.
 */
typedef struct TbDecodeArgs
{
	const uint8_t *pages;			/* npages * TB_PAGE_SIZE */
	uint32_t	npages;
	uint32_t	capacity;			/* rows that the column arrays hold; at least
									 * npages * TB_MAX_TUPLES_PER_PAGE */
	TbColumnData *columns;			/* one a program column; `valid` is non-null
									 * for nullable columns only */
	uint32_t   *rowids;				/* one a row; null if the sink is not ROWS */
	uint32_t   *deferred;			/* row ids; capacity as above */
	const TbParamBlock *params;
	/* out */
	uint32_t	nrows;
	uint32_t	ndeferred;
	uint32_t	errors;				/* TB_ERR_* */
	uint32_t	reserved;
} TbDecodeArgs;

/*
 * Hash table of groups, open addressing with linear probing over group
 * numbers. The rows hold hash, keys and states in the layout that
 * engine/program/group_layout.h computes from the program.
 *
 * Ungrouped aggregation uses the one row 0 of `rows` and no slots.
 */
typedef struct TbGroupTable
{
	uint32_t   *slots;				/* 0 empty, else group number + 1; on the GPU
									 * also TB_SLOT_BUSY while being filled */
	uint64_t	slot_mask;			/* number of slots - 1 (a power of two) */
	uint8_t    *rows;				/* group_capacity * row_size */
	uint64_t	group_capacity;		/* at most half of the slots */
	uint64_t	ngroups;			/* filled rows; atomic on the GPU */
	uint8_t    *arena;				/* bytes of text keys and text min/max */
	uint64_t	arena_capacity;
	uint64_t	arena_used;			/* atomic on the GPU */
	uint32_t	row_size;
	uint32_t	full;				/* set where rows or arena had no space */
	uint64_t	reserved;
} TbGroupTable;

#define TB_SLOT_BUSY 0xffffffffu

/* Text inside a group row: bytes in the arena. 16 bytes. */
typedef struct TbGroupText
{
	uint64_t	offset;				/* in the arena */
	uint32_t	length;
	uint32_t	capacity;			/* bytes reserved there (min/max replace in
									 * place where the new value fits) */
} TbGroupText;

typedef enum TbPipelineStatus
{
	TB_PIPELINE_DONE = 0,
	TB_PIPELINE_GROW = 1			/* rows from first_row on are not applied: the
									 * table (or its arena) must grow; call again.
									 * Host: needs room for one more tile, see
									 * arena_needed */
} TbPipelineStatus;

/* Host tiles: rows a pass of the tile loops. Scratch arrays have this size. */
#define TB_TILE_ROWS 2048u

/*
 * Arguments of the pipeline entry points: rows [first_row, nrows) of a chunk.
 * Text views in columns point into `bytes`.
 */
typedef struct TbPipelineArgs
{
	const TbColumnData *columns;
	const uint8_t *bytes;
	const uint32_t *rowids;			/* ROWS: id of each row */
	const TbParamBlock *params;
	uint32_t	first_row;			/* in; host: out, where to resume */
	uint32_t	nrows;
	/* ROWS */
	uint32_t   *out_rowids;			/* capacity nrows; in row order on the host */
	uint32_t	nout;				/* out; starts as 0 */
	/* AGGREGATE */
	uint32_t	status;				/* out: TbPipelineStatus */
	TbGroupTable *groups;
	uint32_t   *group_of_row;		/* GPU: one a row, written by tb_reserve:
									 * group number, TB_NONE for filtered rows */
	uint8_t    *scratch;			/* host: scratch_size bytes, 64-aligned */
	uint64_t	scratch_size;
	/* out */
	uint64_t	rows_passed;		/* rows that passed the filters; += */
	uint64_t	arena_needed;		/* with GROW: arena bytes that the tile needs */
	uint32_t	errors;				/* TB_ERR_*; |= */
	uint32_t	reserved;
} TbPipelineArgs;

/* Scratch that tb_pipeline may use at most: mask, selections, group numbers,
 * and one value array per expression kept across loops. */
#define TB_SCRATCH_SIZE (4u << 20)

#endif
