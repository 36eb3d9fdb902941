/*
 * export_kernels.c - rows that a query has left on a GPU become columns for other
 * processes.
 *
 * Compiled to PTX with the engine (embedded_kernels.cc), and for the host by
 * testing/exports_on_host.cc. Ranges of rows come in any order and side by side: kernels
 * write words that two ranges share by atomic steps.
 */
#include "engine/device/cuda/exports/export_kernels.h"

#include "engine/device/cuda/gpu_threads.h"

#define WARP 32u

/* PostgreSQL counts from 2000, others from 1970. */
#define EPOCH_DAYS 10957
#define EPOCH_US (INT64_C(10957) * 86400 * 1000000)

TB_KERNEL
tb_export_order(const TbExportOrder *args)
{
	TbPipelineArgs *pipeline = args->pipeline;

	for (uint32_t job = tb_block(); job < args->nruns; job += tb_blocks())
	{
		const TbRowRun run = args->runs[job];

		for (uint32_t i = tb_thread(); i < run.count; i += TB_EXPORT_THREADS)
			pipeline->tuples[run.to + i] = run.stretch << TB_STRETCH_SHIFT |
				(run.first + i);
	}
	if (tb_block() == 0 && tb_thread() == 0)
	{
		pipeline->ntuples = args->nrows;
		pipeline->rows_passed += args->nrows;
	}
}

static inline void
copy_value(uint8_t *to, const uint8_t *from, uint64_t row, uint32_t width, int valid)
{
	switch (width)
	{
		case 1:
			to[row] = valid ? from[row] : 0;
			break;
		case 2:
			((uint16_t *) to)[row] = valid ? ((const uint16_t *) from)[row] : 0;
			break;
		case 4:
			((uint32_t *) to)[row] = valid ? ((const uint32_t *) from)[row] : 0;
			break;
		case 8:
			((uint64_t *) to)[row] = valid ? ((const uint64_t *) from)[row] : 0;
			break;
		default:
			((__int128 *) to)[row] = valid ? ((const __int128 *) from)[row] : 0;
	}
}

/* Returns whether the value has a form outside of PostgreSQL. */
static inline int
convert_value(const TbExportValues *args, uint64_t row)
{
	switch (args->step)
	{
		case TB_EXPORT_WIDEN:
			((__int128 *) args->to)[row] = ((const int64_t *) args->from)[row];
			return 1;
		case TB_EXPORT_DATE:
		{
			const int32_t days = ((const int32_t *) args->from)[row];

			if (days == INT32_MIN || days == INT32_MAX)
				return 0;
			((int32_t *) args->to)[row] = days + EPOCH_DAYS;
			return 1;
		}
		default:
		{
			const int64_t time = ((const int64_t *) args->from)[row];

			if (time == INT64_MIN || time > INT64_MAX - EPOCH_US)
				return 0;
			((int64_t *) args->to)[row] = time + EPOCH_US;
			return 1;
		}
	}
}

TB_KERNEL
tb_export_values(TbExportValues *args)
{
	const uint64_t		 step = (uint64_t) tb_blocks() * TB_EXPORT_THREADS;
	const uint64_t		 first = (uint64_t) tb_block() * TB_EXPORT_THREADS + tb_thread();
	const TbExportValues range = *args;
	const uint32_t		 to_width = range.step == TB_EXPORT_WIDEN ? 16 : range.width;
	int					 failed = 0;

	for (uint64_t row = first; row < range.nrows; row += step)
	{
		const int valid = range.valid == 0 || range.valid[row] != 0;

		if (range.step == TB_EXPORT_COPY || !valid)
			copy_value(range.to, range.from, row, to_width, valid);
		else if (!convert_value(&range, row))
			failed = 1;
	}
	if (failed)
		tb_atomic_or(&args->error, 1);
}

/* A warp takes 32 rows at a time; their bits lie in one word or two. */
TB_KERNEL
tb_export_bits(TbExportBits *args)
{
	const TbExportBits range = *args;
	const uint32_t	   lane = tb_thread() % WARP;
	const uint64_t	   warps = (uint64_t) tb_blocks() * (TB_EXPORT_THREADS / WARP);
	const uint64_t	   groups = (range.nrows + WARP - 1) / WARP;
	uint64_t		   zeros = 0;

	for (uint64_t group =
			 (uint64_t) tb_block() * (TB_EXPORT_THREADS / WARP) + tb_thread() / WARP;
		 group < groups; group += warps)
	{
		const uint64_t row = group * WARP + lane;
		const uint32_t set = tb_ballot(row < range.nrows && range.flags[row] != 0);

		if (lane == 0)
		{
			const uint64_t at = range.first + group * WARP;
			const uint32_t shift = (uint32_t) (at % WARP);
			const uint64_t rows = range.nrows - group * WARP < WARP ?
				range.nrows - group * WARP :
				WARP;

			if (set << shift)
				tb_atomic_or(&range.bits[at / WARP], set << shift);
			if (shift > 0 && set >> (WARP - shift))
				tb_atomic_or(&range.bits[at / WARP + 1], set >> (WARP - shift));
			zeros += rows - (uint64_t) __builtin_popcount(set);
		}
	}
	if (zeros > 0)
		__atomic_fetch_add(&args->zeros, zeros, __ATOMIC_RELAXED);
}
