/*
 * kernel.h - the interface between generated code, the device library (src/rt) and the
 * engine.
 *
 * One header serves host objects, host bitcode and NVPTX bitcode. So it has only
 * fixed-width fields and pointers of the device's own address space.
 *
 * A compiled program has these entry points. Each takes ONE pointer to its argument
 * struct and returns nothing: outcomes are in the struct. On the GPU that pointer is the
 * kernel's only parameter, and points to device memory.
 *
 *   host shared object
 *     tb_decode (TbDecodeArgs *)      source HEAP
 *     tb_pipeline (TbPipelineArgs *)  every program
 *   PTX kernels
 *     tb_decode                       source HEAP
 *     tb_probe                        joins, sinks PROJECT, BUILD
 *     tb_rows                         sink ROWS
 *     tb_reserve, tb_apply            grouped AGGREGATE
 *     tb_reduce                       ungrouped AGGREGATE; texts: tb_reserve first
 *     tb_project                      sinks PROJECT, BUILD
 *
 * tb_decode turns heap pages into columns. The pipeline consumes columns, whatever filled
 * them. On the host it may read some columns as codes (TbColumnCodes): those that no loop
 * over all rows reads. The symbol tb_late_columns (uint64_t[TB_MAX_COLUMNS / 64]) has
 * their set. Of the rows that BUILD keeps, the engine makes one block of memory without
 * addresses, which any device may copy and probe.
 *
 * On the GPU a program with joins, or with sink PROJECT or BUILD, runs tb_probe first.
 * tb_probe filters and probes rows, and writes tuples: a row and its match in each join.
 * The sink's kernels then run over tuples instead of rows, and evaluate no filter again.
 * Kernels read columns by their places (TbColumnPlace), so segments of the column cache
 * need not be decoded.
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
#define TB_ERR_OVERFLOW 0x01u /* integer or float out of range */
#define TB_ERR_DIVISION_BY_ZERO 0x02u
#define TB_ERR_DOMAIN 0x04u	  /* sqrt(-1), log(0), bad cast, ... */
/* a value that the device format cannot hold: NaN numeric, > 128 bits, ...; or one that
 * only PostgreSQL can compute: shapes that PostGIS gives to GEOS */
#define TB_ERR_UNREPRESENTABLE 0x08u
#define TB_ERR_STATE_OVERFLOW 0x10u /* an aggregate state overflowed */
#define TB_ERR_CORRUPT 0x20u		/* a page or view out of bounds */
#define TB_ERR_STEPS 0x40u			/* loops of a function ran too often */

/* One column of a chunk. valid[i] is 1 for a value, 0 for NULL. Columns that the
 * program calls nullable always have it, the others never. */
typedef struct TbColumnData
{
	void		  *values;
	uint8_t		  *valid;
	const uint8_t *bytes; /* what a source column's text views count from; null: what the
						   * arguments say */
} TbColumnData;

/*
 * A column as codes: value i is base + (element i & mask), of the type's width and
 * without a sign, where elements of the type's width begin every 1 << shift bytes
 * of `values`, and may be read to the end of the last one. Whether it is NULL says
 * valid[i & valid_mask].
 *
 * Of text, elements are 4 bytes wide, and value i is
 * views[base + (element i & mask) + (i & row_mask)]: a code counts entries of a dictionary;
 * or there is none, the mask is 0, and views are those of the rows.
 */
typedef struct TbColumnCodes
{
	int64_t			  base;
	uint64_t		  mask;
	uint32_t		  shift;
	uint32_t		  valid_mask; /* 0: there are no NULLs, and one byte says so */
	const TbTextView *views;	  /* null: `values` */
	uint64_t		  row_mask;
} TbColumnCodes;

/*
 * GPU: where a column has the rows of one stretch, and how its elements become values.
 * A stretch is a segment of the column cache, or TB_STRETCH_ROWS rows of a chunk's arrays.
 *
 * Elements are read by aligned words of 8 bytes: values begin at a multiple of 8, and may
 * be read to the next multiple after the last. Values of 16 bytes are plain. Of text,
 * views[] is always used, and with a mask of 0 there is something to read in `values`.
 * Where a segment has no NULLs of a nullable column, `valid` is one byte that is not 0.
 */
typedef struct TbColumnPlace
{
	TbColumnData  data;
	TbColumnCodes codes;
} TbColumnPlace;

#ifdef __cplusplus
static_assert(sizeof(TbColumnPlace) == 64, "TbColumnPlace layout");
#endif

/*
 * Results of expressions over one text column, by entry of the column's dictionary: what
 * engine/program/entry_results.h lays out. `results` has a record for NULL, then one for
 * each entry; all bytes are 0 until some row has met the entry. Whoever meets it computes
 * and notes the result; threads that do so at once note the same.
 *
 * Columns whose codes name other views have no results here: their rows read `none`, and
 * note nothing.
 */
#define TB_MAX_ENTRY_RECORD 64u /* bytes */
typedef struct TbEntryResults
{
	const TbTextView *views; /* of the dictionary; null: none */
	uint8_t			 *results;
	/* Host, if all group keys are functions of this column: 1 + the number of the group in
	 * the thread's own table, for NULL, then for each entry; 0: no row has met it. */
	uint32_t		 *groups;
	uint8_t			  none[TB_MAX_ENTRY_RECORD]; /* 0 */
} TbEntryResults;

#ifdef __cplusplus
static_assert(sizeof(TbEntryResults) == 88, "TbEntryResults layout");
#endif

/* GPU: a row's number is its stretch and its place in there. A chunk's own arrays count
 * rows from 0 without gaps. */
#define TB_STRETCH_SHIFT 15
#define TB_STRETCH_ROWS (1u << TB_STRETCH_SHIFT)

/* GPU: rows [first, first + count) of a stretch are rows [to, to + count) of the task. */
typedef struct TbRowRun
{
	uint32_t stretch, first, count, to;
} TbRowRun;

/* Threads of a kernel's blocks, and so many blocks find registers on one multiprocessor: a
 * thread waits for memory most of its time, so some values that do not fit into registers
 * cost less than fewer threads. tb_reduce of many aggregates computes most of its time, and
 * has fewer blocks. */
#define TB_BLOCK_THREADS 256u
#define TB_BLOCKS_PER_MULTIPROCESSOR 4u

/* GPU: shared memory of a value that a block's threads fold: the state that it is added to,
 * then two words for each warp. */
#define TB_BLOCK_SLOT_WORDS (1u + 2u * (TB_BLOCK_THREADS / 32u))

/* Rows that a block of threads takes at a time: those of a run are no more. */
#define TB_RUN_ROWS 2048u
#define TB_RUN_ROWS_OF_ARRAYS 1024u /* chunks of pages are small: more blocks find work */

/* Row id of a heap row: index of its page in the chunk, and line pointer. Of a row that
 * passed a filter, the mark says that PostgreSQL must decide whether it does. */
#define TB_ROWID(page, offnum) (((uint32_t) (page) << 16) | (uint32_t) (offnum))
#define TB_ROWID_UNDECIDED_SHIFT 15
#define TB_ROWID_UNDECIDED (1u << TB_ROWID_UNDECIDED_SHIFT)
#define TB_ROWID_PAGE(rowid) ((rowid) >> 16)
#define TB_ROWID_OFFNUM(rowid) ((rowid) & (TB_ROWID_UNDECIDED - 1))

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
	const uint8_t	   *pages;	   /* npages * TB_PAGE_SIZE */
	uint32_t			npages;
	uint32_t			capacity;  /* rows that the column arrays hold; at least
									* npages * TB_MAX_TUPLES_PER_PAGE */
	TbColumnData	   *columns;   /* one a program column; `valid` is non-null
									* for nullable columns only */
	uint32_t		   *rowids;	   /* one a row; null if the sink is not ROWS */
	uint32_t		   *deferred;  /* row ids; capacity as above */
	const TbParamBlock *params;
	uint32_t		   *page_ends; /* host: number of rows at the end of each page; or
									* null */
	const uint32_t	   *blocks;	   /* block of each page; null if no column is a TID */
	/* out */
	uint32_t			nrows;
	uint32_t			ndeferred;
	uint32_t			errors; /* TB_ERR_* */
	uint32_t			reserved;
} TbDecodeArgs;

/*
 * Hash table of groups, open addressing with linear probing over group
 * numbers. The rows hold hash, keys and states in the layout that
 * engine/program/group_layout.h computes from the program.
 *
 * Ungrouped aggregation uses the one row 0 of `rows` and no buckets.
 */
typedef struct TbGroupTable
{
	uint32_t *buckets;		  /* 0 empty, else group number + 1; on the GPU
							   * also TB_BUCKET_BUSY while being filled */
	uint64_t  bucket_mask;	  /* number of buckets - 1 (a power of two) */
	uint8_t	 *rows;			  /* group_capacity * row_size */
	uint64_t  group_capacity; /* at most half of the buckets */
	uint64_t  ngroups;		  /* filled rows; atomic on the GPU */
	uint8_t	 *arena;		  /* bytes of text keys and text min/max */
	uint64_t  arena_capacity;
	uint64_t  arena_used;	  /* atomic on the GPU */
	uint32_t  row_size;
	uint32_t  full;			  /* set where rows or arena had no space */
	uint64_t  reserved;
} TbGroupTable;

#define TB_BUCKET_BUSY 0xffffffffu

/* Text inside a group row: bytes in the arena. 16 bytes. */
typedef struct TbGroupText
{
	uint64_t offset;   /* in the arena */
	uint32_t length;
	uint32_t capacity; /* min/max: bytes reserved there, so that a new value that fits
						* replaces the old one in place. Keys: id of the view that it
						* came from */
} TbGroupText;

/* Host tiles: rows or tuples a pass of the tile loops. Scratch arrays have this
 * size. */
#define TB_TILE_ROWS 2048u

/*
 * Rows that a sink keeps as columns: PROJECT its outputs; BUILD its keys, then
 * its outputs. Text views count from `arena`. Keys are canonical: equal ones
 * (NaN and NaN, -0 and 0) have equal bytes, and `hashes` of all keys together.
 */
typedef struct TbRowStore
{
	TbColumnData *columns; /* `valid` where the expression may be NULL; keys
							* have none */
	uint64_t	 *hashes;  /* BUILD with keys */
	uint64_t	  nrows;   /* atomic on the GPU */
	uint64_t	  capacity;
	uint8_t		 *arena;
	uint64_t	  arena_used; /* atomic on the GPU; at most 4 GiB */
	uint64_t	  arena_capacity;
	uint32_t	  full;		  /* GPU: there was no room; nothing counts */
	uint32_t	  reserved;
} TbRowStore;

/*
 * A join table: the header of one block of memory, which holds no address, so
 * that it can be copied as it is. Offsets count from the block's start. 64-aligned.
 *
 * A look-up yields a row number or TB_NONE:
 *   HASH    buckets: uint64 a bucket, 0 empty, else (hash >> 32) << 32 | row + 1, linear
 *           probing from (hash & bucket_mask); equal keys have one bucket, for the
 *           first row of their chain
 *   DIRECT  one integer key: buckets: uint32[key_span] by key - key_min, 0 none, else
 *           row + 1
 *   DENSE   one integer key, unique: rows are in the order of their keys; buckets: a
 *           TbRankWord for every 32 keys from key_min on
 *   ALL     no keys: every row, from 0 on
 * Further rows of equal keys follow by `next`.
 */
typedef enum TbTableKind
{
	TB_TABLE_HASH = 1,
	TB_TABLE_DIRECT,
	TB_TABLE_DENSE,
	TB_TABLE_ALL
} TbTableKind;

/* DENSE: which of 32 keys there are, and how many rows come before them. The row
 * of key i of the word: before + the number of bits below bit i. */
typedef struct TbRankWord
{
	uint32_t bits;
	uint32_t before;
} TbRankWord;

typedef struct TbJoinTable
{
	uint32_t kind;	   /* TbTableKind */
	uint32_t ncolumns; /* keys, then outputs */
	uint64_t nrows;	   /* < 2^32 - 1 */
	uint64_t total_size;
	int64_t	 key_min;
	uint64_t key_span; /* key - key_min < key_span, unsigned */
	uint64_t bucket_mask;
	uint64_t buckets;  /* offset; 0: none, where nrows is 0 */
	uint64_t next;	   /* offset of uint32[nrows]: row + 1, 0 at the
						* end; 0: no chain is longer than one row */
	uint64_t bytes;	   /* offset of the bytes that text views count from */
	uint64_t bytes_size;
	uint64_t reserved[2];
	struct
	{
		uint64_t values; /* offset; 0: not kept (DIRECT's, DENSE's key) */
		uint64_t valid;	 /* offset; 0: no NULLs */
	} columns[];
} TbJoinTable;

#ifdef __cplusplus
static_assert(sizeof(TbJoinTable) == 96, "TbJoinTable layout");
#endif

/* GPU: a kernel begins to look whether its query is over after so many cycles of its
 * multiprocessor's clock, some 10 ms: the flag is in the host's memory, which shorter
 * kernels never read. So setting it waits for no queue of the GPU. */
#define TB_STOP_PATIENCE (1u << 24)

typedef enum TbPipelineStatus
{
	TB_PIPELINE_DONE = 0,
	TB_PIPELINE_STOPPED = 1 /* host: make_room said no, or `stop` is set */
} TbPipelineStatus;

/*
 * Arguments of the pipeline entry points: rows [first_row, nrows) of a chunk or task.
 * Text views in columns point into the column's `bytes`, or into these.
 */
typedef struct TbPipelineArgs
{
	const TbColumnData		 *columns; /* host: the source's columns */
	const uint8_t			 *bytes;
	const uint32_t			 *rowids;  /* ROWS: id of each row */
	const TbParamBlock		 *params;
	const TbJoinTable *const *tables;  /* by TbJoin's index */
	uint32_t				  first_row;
	uint32_t				  nrows;
	/* ROWS */
	uint32_t				 *out_rowids; /* capacity nrows; in row order on the host */
	uint32_t				  nout;		  /* out; starts as 0 */
	uint32_t				  status;	  /* out: TbPipelineStatus */
	/* AGGREGATE */
	TbGroupTable			 *groups;
	uint32_t   *group_of_row; /* GPU: one a row or tuple, written by tb_reserve:
							   * group number, TB_NONE for filtered rows */
	/* PROJECT, BUILD */
	TbRowStore *store;
	/*
	 * Host: room for `rows` more groups or rows of the store, and `bytes` more of
	 * text, before a tile is reserved. Moves what they point to; their structs
	 * stay where they are. 0: there is none, return at once with STOPPED.
	 */
	uint32_t	(*make_room)(struct TbPipelineArgs *args, uint64_t rows, uint64_t bytes);
	uint8_t	   *scratch; /* host: scratch_size bytes, 64-aligned */
	uint64_t	scratch_size;
	/*
	 * GPU: tuples, as 1 + njoins arrays of tuple_capacity entries: the row's number, then
	 * the match in each join's table (TB_NONE: none). tb_probe counts in `ntuples` all that
	 * it found and writes those that have room: if they are more than the capacity, it is
	 * run again on fewer rows.
	 */
	uint32_t   *tuples;
	uint64_t	tuple_capacity;
	uint64_t	ntuples; /* starts as 0 */
	/* out */
	uint64_t	rows_passed;				/* rows that passed the filters before the first
											 * join; += */
	uint64_t	join_rows[TB_MAX_JOINS];	/* tuples after each join and its filters; += */
	uint64_t join_candidates[TB_MAX_JOINS]; /* pairs whose residual was asked, of joins that
											 * have one and are not UNIQUE; += */
	uint32_t errors;						/* TB_ERR_*; |= */
	uint32_t reserved;
	/*
	 * Null, or set by another thread when nobody wants the result any more. Joins of
	 * one tile may make any number of tuples, or look at any number of candidates, so
	 * they look here now and then. The host's code returns with STOPPED. A GPU's kernels
	 * read the host's memory for it, from 10 ms on, and end within some milliseconds with
	 * results that mean nothing.
	 */
	const uint32_t		 *stop;
	/*
	 * FULL joins. `matched` by TbJoin's index: a byte a row of the table, set once the
	 * row is a match, and one more at the end, which is set from the start.
	 *
	 * When all rows of the source are through, those of the tables follow that were no
	 * match, join by join: `full_join` is 1 + the join's index, 0 for the source. The
	 * chunk's rows are then such rows, its columns all NULL. They begin behind that
	 * join: earlier ones find nothing, whatever their kind, and no filter before it is
	 * asked. Host: `unmatched` has the number of each row. GPU: row i is row
	 * first_unmatched + i of the table, and passed over if its byte is set.
	 */
	uint8_t *const		 *matched;
	const uint32_t		 *unmatched;
	uint64_t			  first_unmatched;
	uint32_t			  full_join;
	uint32_t			  reserved2;
	/* Host: by column of the source, read for those of tb_late_columns; null: they are
	 * no codes. */
	const TbColumnCodes	 *codes;
	/*
	 * GPU: places of the source's columns, stretch by stretch. Of segments the rows that
	 * are taken come in runs; without, rows are those of arrays, without gaps.
	 */
	const TbColumnPlace	 *places;
	const TbRowRun		 *runs;
	uint64_t			  nruns;
	/* By column of the source. Host: null if there are none. GPU: never null if the
	 * program has such expressions. */
	const TbEntryResults *entry_results;
} TbPipelineArgs;

/* Scratch that tb_pipeline may use at most: mask, selections, matches, group
 * numbers. */
#define TB_SCRATCH_SIZE (4u << 20)

#endif
