/*
 * gpu_kernels.c - the kernels of fake_kernels.h for a real GPU; for tests only.
 *
 * Compiled by hand, so that the CUDA device can be tried without the compiler:
 *   clang-19 --target=nvptx64-nvidia-cuda -march=sm_70 -O2 -ffreestanding -nostdinc \
 *     -isystem $(clang-19 -print-resource-dir)/include -I include -I src -S -o
 * gpu_kernels.ptx gpu_kernels.c gpu_test.cc loads the result. With joins (fake_joins.h) the
 * sinks take tuples and p instead of rows and v. Row layout of the grouped program: hash at
 * 0, count at 8, key at 16, its valid byte at 20; ungrouped: count at 8, sum at 16, valid
 * at 24.
 */
#include "engine/device/cuda/testing/row_places.h"

#define KERNEL __attribute__((nvptx_kernel)) void
#define DEFERRED INT32_MIN
#define UNREPRESENTABLE (INT32_MIN + 1)
#define OVERFLOW_IN_SINK (INT32_MIN + 2)
#define FAULT_IN_SINK (INT32_MIN + 3)

typedef struct FakePage
{
	uint32_t nrows;
	int32_t	 values[TB_MAX_TUPLES_PER_PAGE];
	uint8_t	 unused[TB_PAGE_SIZE - 4 - 4 * TB_MAX_TUPLES_PER_PAGE];
} FakePage;

static inline uint32_t
thread_index(void)
{
	return __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() +
		__nvvm_read_ptx_sreg_tid_x();
}

static inline uint32_t
thread_count(void)
{
	return __nvvm_read_ptx_sreg_nctaid_x() * __nvvm_read_ptx_sreg_ntid_x();
}

static inline uint32_t
add32(uint32_t *counter, uint32_t n)
{
	return __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

static inline uint64_t
add64(uint64_t *counter, uint64_t n)
{
	return __atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

/* A thread a page: these kernels need not be fast. */
KERNEL
tb_decode(TbDecodeArgs *args)
{
	const FakePage *pages = (const FakePage *) args->pages;
	int32_t		   *values = (int32_t *) args->columns[0].values;

	for (uint32_t page = thread_index(); page < args->npages; page += thread_count())
	{
		uint32_t ndeferred = 0;

		for (uint32_t i = 0; i < pages[page].nrows; i++)
			ndeferred += pages[page].values[i] == DEFERRED;

		uint32_t row = add32(&args->nrows, pages[page].nrows - ndeferred);

		for (uint32_t i = 0; i < pages[page].nrows; i++)
		{
			int32_t value = pages[page].values[i];

			if (value == DEFERRED)
			{
				args->deferred[add32(&args->ndeferred, 1)] = TB_ROWID(page, i + 1);
				continue;
			}
			if (value == UNREPRESENTABLE)
				__atomic_fetch_or(&args->errors, TB_ERR_UNREPRESENTABLE, __ATOMIC_RELAXED);
			if (args->rowids)
				args->rowids[row] = TB_ROWID(page, i + 1);
			values[row++] = value;
		}
	}
}

static inline int32_t
column_value(TbPipelineArgs *args, uint32_t number)
{
	int32_t value = tb_test_int4(args, number);

	if (value == OVERFLOW_IN_SINK)
		__atomic_fetch_or(&args->errors, TB_ERR_OVERFLOW, __ATOMIC_RELAXED);
	if (value == FAULT_IN_SINK)
		*(volatile uint32_t *) 16 = 0;
	return value;
}

#define IN_TABLE(type, table, offset) \
	((const type *) ((const uint8_t *) (table) + (offset)))

static inline uint64_t
items(const TbPipelineArgs *args)
{
	return args->tuples ? args->ntuples : args->nrows;
}

/* v of a row, p of a tuple. */
static inline int32_t
value_of(TbPipelineArgs *args, uint64_t item)
{
	const TbJoinTable *inner;

	if (!args->tuples)
		return column_value(args, tb_test_row_number(args, (uint32_t) item));
	inner = args->tables[0];
	return IN_TABLE(int32_t, inner,
					inner->columns[1].values)[args->tuples[args->tuple_capacity + item]];
}

/* The first row with the key, + 1. */
static inline uint32_t
first_match(const TbJoinTable *table, int32_t key)
{
	if ((uint64_t) (int64_t) key >= table->key_span)
		return 0;
	return IN_TABLE(uint32_t, table, table->buckets)[key];
}

KERNEL
tb_probe(TbPipelineArgs *args)
{
	const TbJoinTable *inner = args->tables[0];
	uint64_t		   room = args->tuple_capacity;

	for (uint64_t row = args->first_row + thread_index(); row < args->nrows;
		 row += thread_count())
	{
		uint32_t number = tb_test_row_number(args, (uint32_t) row);
		int32_t	 value = column_value(args, number);
		uint32_t other;

		if (value < 0)
			continue;
		add64(&args->rows_passed, 1);
		other = first_match(args->tables[1], value) - 1; /* 0: TB_NONE */
		for (uint32_t match = first_match(inner, value); match != 0;
			 match = inner->next ? IN_TABLE(uint32_t, inner, inner->next)[match - 1] : 0)
		{
			uint64_t at = add64(&args->ntuples, 1);

			add64(&args->join_rows[0], 1);
			add64(&args->join_rows[1], 1);
			if (at >= room)
				continue;
			args->tuples[at] = number;
			args->tuples[room + at] = match - 1;
			args->tuples[2 * room + at] = other;
		}
	}
}

KERNEL
tb_project(TbPipelineArgs *args)
{
	const TbJoinTable *inner = args->tables[0], *outer = args->tables[1];
	TbRowStore		  *store = args->store;
	uint64_t		   room = args->tuple_capacity;
	uint64_t		   ntuples = args->ntuples < room ? args->ntuples : room;

	for (uint64_t i = thread_index(); i < ntuples; i += thread_count())
	{
		uint32_t row = args->tuples[i], match = args->tuples[room + i],
				 other = args->tuples[2 * room + i];
		uint64_t   at = add64(&store->nrows, 1);
		TbTextView view = IN_TABLE(TbTextView, inner, inner->columns[2].values)[match];
		uint8_t	   valid = IN_TABLE(uint8_t, inner, inner->columns[2].valid)[match];

		if (at >= store->capacity)
		{
			*(volatile uint32_t *) &store->full = 1;
			continue;
		}
		((int32_t *) store->columns[0].values)[at] = column_value(args, row);
		((int32_t *) store->columns[1]
			 .values)[at] = IN_TABLE(int32_t, inner, inner->columns[1].values)[match];
		if (valid)
		{
			uint64_t	   to = add64(&store->arena_used, view.length);
			const uint8_t *from = IN_TABLE(uint8_t, inner, inner->bytes) + view.offset;

			if (to + view.length > store->arena_capacity)
			{
				*(volatile uint32_t *) &store->full = 1;
				continue;
			}
			for (uint32_t k = 0; k < view.length; k++)
				store->arena[to + k] = from[k];
			view.offset = (uint32_t) to;
		}
		else
			view.length = view.prefix = view.id = view.offset = 0;
		((TbTextView *) store->columns[2].values)[at] = view;
		store->columns[2].valid[at] = valid;
		if (other != TB_NONE)
			((int32_t *) store->columns[3]
				 .values)[at] = IN_TABLE(int32_t, outer, outer->columns[1].values)[other];
		store->columns[3].valid[at] = other != TB_NONE;
	}
}

KERNEL
tb_rows(TbPipelineArgs *args)
{
	for (uint32_t row = thread_index(); row < args->nrows; row += thread_count())
	{
		if (column_value(args, row) % 3 != 0)
			continue;
		args->out_rowids[add32(&args->nout, 1)] = args->rowids[row];
		add64(&args->rows_passed, 1);
	}
}

static inline uint64_t
hash_of(int32_t value)
{
	uint64_t hash = (uint64_t) (uint32_t) value + 0x9e3779b97f4a7c15u;

	hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
	return hash ^ (hash >> 31);
}

static inline uint32_t
find_or_insert(TbGroupTable *table, int32_t value)
{
	uint64_t hash = hash_of(value);
	uint64_t bucket = hash & table->bucket_mask;

	for (;;)
	{
		uint32_t entry = *(volatile uint32_t *) &table->buckets[bucket];

		if (*(volatile uint32_t *) &table->full)
			return TB_NONE;
		if (entry == 0)
		{
			uint32_t expected = 0;

			if (!__atomic_compare_exchange_n(&table->buckets[bucket], &expected,
											 TB_BUCKET_BUSY, 0, __ATOMIC_RELAXED,
											 __ATOMIC_RELAXED))
				continue;

			uint64_t group = add64(&table->ngroups, 1);

			if (group >= table->group_capacity)
			{
				*(volatile uint32_t *) &table->full = 1;
				return TB_NONE;
			}

			uint8_t *row = table->rows + group * table->row_size;

			*(volatile uint64_t *) row = hash;
			*(volatile int32_t *) (row + 16) = value;
			*(volatile uint8_t *) (row + 20) = 1;
			__nvvm_membar_gl();
			*(volatile uint32_t *) &table->buckets[bucket] = (uint32_t) group + 1;
			return (uint32_t) group;
		}
		if (entry == TB_BUCKET_BUSY)
			continue;
		__nvvm_membar_gl();
		if (*(volatile int32_t *) (table->rows + (entry - 1) * (uint64_t) table->row_size +
								   16) == value)
			return entry - 1;
		bucket = (bucket + 1) & table->bucket_mask;
	}
}

KERNEL
tb_reserve(TbPipelineArgs *args)
{
	for (uint64_t row = thread_index(); row < items(args); row += thread_count())
	{
		int32_t value = value_of(args, row);

		args->group_of_row[row] = value < 0 ? TB_NONE : find_or_insert(args->groups, value);
	}
}

KERNEL
tb_apply(TbPipelineArgs *args)
{
	for (uint64_t row = thread_index(); row < items(args); row += thread_count())
	{
		uint32_t group = args->group_of_row[row];

		if (group == TB_NONE)
			continue;
		add64((uint64_t *) (args->groups->rows + group * (uint64_t) args->groups->row_size +
							8),
			  1);
		if (!args->tuples)
			add64(&args->rows_passed, 1);
	}
}

KERNEL
tb_reduce(TbPipelineArgs *args)
{
	uint8_t *state = args->groups->rows;
	uint64_t count = 0;
	uint64_t sum = 0;

	for (uint64_t row = thread_index(); row < items(args); row += thread_count())
	{
		sum += (uint64_t) (int64_t) value_of(args, row);
		count++;
	}
	if (count == 0)
		return;
	add64((uint64_t *) (state + 8), count);
	add64((uint64_t *) (state + 16), sum);
	if (!args->tuples)
		add64(&args->rows_passed, count);
	*(volatile uint8_t *) (state + 24) = 1;
}
