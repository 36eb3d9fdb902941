/*
 * window_kernels.c - window functions over sorted rows on a GPU.
 *
 * tb_window_totals, tb_window_before and tb_window_scan make one scan: the total of each
 * tile, what comes before each tile, then the running total at each place. tb_window_emit
 * computes a pass's functions at each place from the results of scans, and checks the
 * conditions. tb_window_take moves the places that pass together.
 *
 * Compiled to PTX with the engine (embedded_kernels.cc), and for the host by
 * testing/window_on_host.cc. A sum has at most 2^30 values of 64 bits, so 128 bits never
 * overflow. Must never read outside of [0, nrows), whatever offsets a frame has.
 */
#include "engine/device/cuda/window/window_kernels.h"

#include "engine/device/cuda/gpu_threads.h"

typedef struct ScanShared
{
	TbWindowTotal totals[TB_SCAN_THREADS];
} ScanShared;

TB_BLOCK_MEMORY(ScanShared);

static inline uint32_t
row_at(const TbWindowOrder *order, uint32_t place)
{
	return order->rows ? order->rows[place] : place;
}

static inline uint32_t
agree_at(const TbWindowOrder *order, uint32_t place)
{
	return order->agree ? order->agree[place] : order->nkeys;
}

static inline int
begins_partition(const TbWindowOrder *order, uint32_t place)
{
	return place == 0 || agree_at(order, place) < order->npartition;
}

static inline int
begins_peers(const TbWindowOrder *order, uint32_t place)
{
	return place == 0 || agree_at(order, place) < order->nkeys;
}

static inline int
is_null(const TbWindowColumn *column, uint32_t row)
{
	return column->valid != 0 && column->valid[row] == 0;
}

static inline int64_t
integer_of(const TbWindowColumn *column, uint32_t row)
{
	switch (column->width)
	{
		case 2:
			return ((const int16_t *) column->values)[row];
		case 4:
			return ((const int32_t *) column->values)[row];
		default:
			return ((const int64_t *) column->values)[row];
	}
}

static inline void
copy_value(uint8_t *to, uint32_t at, const TbWindowColumn *from, uint32_t row)
{
	switch (from->width)
	{
		case 1:
			to[at] = from->values[row];
			break;
		case 2:
			((uint16_t *) to)[at] = ((const uint16_t *) from->values)[row];
			break;
		case 4:
			((uint32_t *) to)[at] = ((const uint32_t *) from->values)[row];
			break;
		case 8:
			((uint64_t *) to)[at] = ((const uint64_t *) from->values)[row];
			break;
		default:
			((__int128 *) to)[at] = ((const __int128 *) from->values)[row];
	}
}

/* Of a place alone. */
static inline TbWindowTotal
total_of(const TbWindowScan *args, uint32_t place)
{
	TbWindowTotal total = {0, 0, 0, 0};

	if (args->kind == TB_SCAN_BOUNDS)
		total.sum = (int64_t) ((uint64_t) begins_partition(&args->order, place) << 32 |
							   (uint64_t) begins_peers(&args->order, place));
	else if (args->kind == TB_SCAN_PASSING)
		total.count = args->passing[place];
	else
	{
		const uint32_t row = row_at(&args->order, place);

		total.begins = args->kind != TB_SCAN_SUM &&
			(uint32_t) begins_partition(&args->order, place);
		if (args->filter.values != 0 &&
			(is_null(&args->filter, row) || args->filter.values[row] == 0))
			return total;
		if (args->value.values != 0)
		{
			if (is_null(&args->value, row))
				return total;
			if (args->sums != 0 || args->best != 0)
				total.sum = integer_of(&args->value, row);
		}
		total.count = 1;
	}
	return total;
}

/* `behind` follows `total`. */
static inline TbWindowTotal
join(const TbWindowScan *args, TbWindowTotal total, TbWindowTotal behind)
{
	if (args->kind != TB_SCAN_LEAST && args->kind != TB_SCAN_GREATEST)
		behind.sum += total.sum;
	else if (behind.begins)
		return behind;
	else if (behind.count == 0 ||
			 (total.count != 0 &&
			  (args->kind == TB_SCAN_LEAST ? total.sum < behind.sum :
											 total.sum > behind.sum)))
		behind.sum = total.sum;
	behind.count += total.count;
	behind.begins |= total.begins;
	return behind;
}

static inline TbWindowTotal
nothing(void)
{
	const TbWindowTotal total = {0, 0, 0, 0};

	return total;
}

/* Of the threads before; and in *all of the block. */
static inline TbWindowTotal
join_of_threads_before(const TbWindowScan *args, TbWindowTotal mine, TbWindowTotal *all)
{
	const uint32_t thread = tb_thread();

	block_memory.totals[thread] = mine;
	tb_block_barrier();
	for (uint32_t by = 1; by < TB_SCAN_THREADS; by *= 2)
	{
		if (thread >= by)
			mine = join(args, block_memory.totals[thread - by], mine);
		tb_block_barrier();
		block_memory.totals[thread] = mine;
		tb_block_barrier();
	}
	*all = block_memory.totals[TB_SCAN_THREADS - 1];
	mine = thread > 0 ? block_memory.totals[thread - 1] : nothing();
	tb_block_barrier();
	return mine;
}

/* Grid: a block a tile. */
TB_KERNEL
tb_window_totals(TbWindowScan *args)
{
	const uint32_t first = tb_block() * TB_SCAN_TILE + tb_thread() * TB_SCAN_ITEMS;
	TbWindowTotal  mine = nothing(), all;

	for (uint32_t i = 0; i < TB_SCAN_ITEMS; i++)
		if (first + i < args->order.nrows)
			mine = join(args, mine, total_of(args, first + i));
	join_of_threads_before(args, mine, &all);
	if (tb_thread() == 0)
		args->tiles[tb_block()] = all;
}

/* Grid: one block. */
TB_KERNEL
tb_window_before(TbWindowScan *args)
{
	TbWindowTotal before = nothing();

	for (uint32_t first = 0; first < args->ntiles; first += TB_SCAN_THREADS)
	{
		const uint32_t		tile = first + tb_thread();
		TbWindowTotal		all;
		const TbWindowTotal mine = tile < args->ntiles ? args->tiles[tile] : nothing();
		const TbWindowTotal of_threads = join_of_threads_before(args, mine, &all);

		if (tile < args->ntiles)
			args->tiles[tile] = join(args, before, of_threads);
		before = join(args, before, all);
	}
}

static inline void
set_place(const TbWindowScan *args, uint32_t place, TbWindowTotal total)
{
	if (args->kind == TB_SCAN_BOUNDS)
	{
		/* From 0 on: the first place has begun both. */
		const uint64_t bounds = (uint64_t) total.sum - ((uint64_t) 1 << 32 | 1);

		args->bounds[place] = bounds;
		if (begins_partition(&args->order, place))
			args->partition_starts[bounds >> 32] = place;
		if (begins_peers(&args->order, place))
			args->peer_starts[(uint32_t) bounds] = place;
		if (place + 1 == args->order.nrows)
		{
			args->partition_starts[(bounds >> 32) + 1] = place + 1;
			args->peer_starts[(uint32_t) bounds + 1] = place + 1;
		}
		return;
	}
	if (args->sums != 0)
		args->sums[place] = total.sum;
	if (args->best != 0)
		args->best[place] = (int64_t) total.sum;
	if (args->counts != 0)
		args->counts[place] = total.count;
}

/* Grid: a block a tile. */
TB_KERNEL
tb_window_scan(TbWindowScan *args)
{
	const uint32_t first = tb_block() * TB_SCAN_TILE + tb_thread() * TB_SCAN_ITEMS;
	TbWindowTotal  items[TB_SCAN_ITEMS], mine = nothing(), all;

	TB_UNROLL
	for (uint32_t i = 0; i < TB_SCAN_ITEMS; i++)
	{
		items[i] = first + i < args->order.nrows ? total_of(args, first + i) : nothing();
		mine = join(args, mine, items[i]);
	}
	mine = join(args, args->tiles[tb_block()], join_of_threads_before(args, mine, &all));
	TB_UNROLL
	for (uint32_t i = 0; i < TB_SCAN_ITEMS; i++)
	{
		mine = join(args, mine, items[i]);
		if (first + i < args->order.nrows)
			set_place(args, first + i, mine);
	}
}

/* Where a row is: places [begin, end) of its partition, [peers, peers_end) of its peers,
 * which are number `group` of all, the partition's from first_group to last_group. */
typedef struct RowPlace
{
	uint32_t place;
	uint32_t begin, end;
	uint32_t peers, peers_end;
	uint32_t group, first_group, last_group;
} RowPlace;

static inline RowPlace
find_place(const TbWindowEmit *args, uint32_t place)
{
	const uint64_t bounds = args->bounds[place];
	RowPlace	   at;

	at.place = place;
	at.group = (uint32_t) bounds;
	at.begin = args->partition_starts[bounds >> 32];
	at.end = args->partition_starts[(bounds >> 32) + 1];
	at.peers = args->peer_starts[at.group];
	at.peers_end = args->peer_starts[at.group + 1];
	at.first_group = (uint32_t) args->bounds[at.begin];
	at.last_group = (uint32_t) args->bounds[at.end - 1];
	return at;
}

static inline uint32_t
frame_start(const TbWindowEmit *args, const RowPlace *at)
{
	const int	   rows = args->pass.frame_mode == TB_FRAME_ROWS;
	const uint64_t offset = args->pass.start_offset;

	switch (args->pass.start_bound)
	{
		case TB_BOUND_PRECEDING:
			if (rows)
				return at->place - at->begin > offset ? at->place - (uint32_t) offset :
														at->begin;
			return at->group - at->first_group > offset ?
				args->peer_starts[at->group - (uint32_t) offset] :
				at->begin;
		case TB_BOUND_CURRENT_ROW:
			return rows ? at->place : at->peers;
		case TB_BOUND_FOLLOWING:
			if (rows)
				return at->end - at->place > offset ? at->place + (uint32_t) offset :
													  at->end;
			return at->last_group - at->group >= offset ?
				args->peer_starts[at->group + (uint32_t) offset] :
				at->end;
		default:
			return at->begin;
	}
}

static inline uint32_t
frame_end(const TbWindowEmit *args, const RowPlace *at)
{
	const int	   rows = args->pass.frame_mode == TB_FRAME_ROWS;
	const uint64_t offset = args->pass.end_offset;

	switch (args->pass.end_bound)
	{
		case TB_BOUND_PRECEDING:
			if (rows)
				return at->place - at->begin >= offset ? at->place - (uint32_t) offset + 1 :
														 at->begin;
			return at->group - at->first_group >= offset ?
				args->peer_starts[at->group - (uint32_t) offset + 1] :
				at->begin;
		case TB_BOUND_CURRENT_ROW:
			return rows ? at->place + 1 : at->peers_end;
		case TB_BOUND_FOLLOWING:
			if (rows)
				return at->end - at->place - 1 > offset ?
					at->place + (uint32_t) offset + 1 :
					at->end;
			return at->last_group - at->group > offset ?
				args->peer_starts[at->group + (uint32_t) offset + 1] :
				at->end;
		default:
			return at->end;
	}
}

static inline int32_t
ntile_of(const RowPlace *at, uint64_t buckets)
{
	const uint64_t place = at->place - at->begin;
	const uint64_t rows = (at->end - at->begin) / buckets;
	const uint64_t larger = (at->end - at->begin) % buckets,
				   in_larger = larger * (rows + 1);

	return (int32_t) (place < in_larger ? place / (rows + 1) :
										  larger + (place - in_larger) / rows) +
		1;
}

static inline int
holds(const TbResultCondition *condition, int64_t value)
{
	const int strict = (condition->flags & TB_CONDITION_STRICT) != 0;

	if (condition->flags & TB_CONDITION_EQUAL)
		return value == condition->bound;
	if (condition->flags & TB_CONDITION_AT_LEAST)
		return strict ? value > condition->bound : value >= condition->bound;
	return strict ? value < condition->bound : value <= condition->bound;
}

/* The row of the partition that a LAG or LEAD asks for: 0 and *row, or 1 if there is none.
 */
static inline int
shifted(const TbWindowOrder *order, const RowPlace *at, int64_t by, uint32_t *row)
{
	if (by < 0 ? (uint64_t) -(by + 1) >= at->place - at->begin :
				 (uint64_t) by >= at->end - at->place)
		return 1;
	*row = row_at(order, (uint32_t) (at->place + by));
	return 0;
}

/* Integers, whose sums and counts are INT8, that conditions may ask for. */
typedef struct CallValue
{
	int64_t integer;
	int		some;
} CallValue;

static inline CallValue
set_integer(const TbWindowFunctionCall *call, uint32_t to, int64_t value)
{
	const CallValue result = {value, 1};

	switch (call->width)
	{
		case 2:
			((int16_t *) call->values)[to] = (int16_t) value;
			break;
		case 4:
			((int32_t *) call->values)[to] = (int32_t) value;
			break;
		default:
			((int64_t *) call->values)[to] = value;
	}
	return result;
}

static inline CallValue
set_copy(const TbWindowFunctionCall *call, uint32_t to, const TbWindowColumn *from,
		 uint32_t row)
{
	CallValue result = {0, !is_null(from, row)};

	if (result.some)
	{
		copy_value(call->values, to, from, row);
		if (from->width >= 2 && from->width <= 8)
			result.integer = integer_of(from, row);
	}
	return result;
}

static inline CallValue
set_ratio(const TbWindowFunctionCall *call, uint32_t to, uint32_t a, uint32_t b)
{
	const CallValue result = {0, 1};

	((double *) call->values)[to] = (double) a / (double) b;
	return result;
}

static inline CallValue
compute(TbWindowEmit *args, const TbWindowFunctionCall *call, const RowPlace *at,
		uint32_t row, uint32_t to)
{
	const CallValue none = {0, 0};
	const int64_t	n = call->function.n;
	uint32_t		other;

	switch (call->function.kind)
	{
		case TB_WINDOW_ROW_NUMBER:
			return set_integer(call, to, (int64_t) at->place - at->begin + 1);
		case TB_WINDOW_RANK:
			return set_integer(call, to, (int64_t) at->peers - at->begin + 1);
		case TB_WINDOW_DENSE_RANK:
			return set_integer(call, to, (int64_t) at->group - at->first_group + 1);
		case TB_WINDOW_PERCENT_RANK:
			return at->end - at->begin <= 1 ?
				set_ratio(call, to, 0, 1) :
				set_ratio(call, to, at->peers - at->begin, at->end - at->begin - 1);
		case TB_WINDOW_CUME_DIST:
			return set_ratio(call, to, at->peers_end - at->begin, at->end - at->begin);
		case TB_WINDOW_NTILE:
			return set_integer(call, to, ntile_of(at, (uint64_t) n));
		case TB_WINDOW_LAG:
		case TB_WINDOW_LEAD:
			/* The least n is its own negative: no partition has so many rows. */
			if ((call->function.kind == TB_WINDOW_LAG && n == INT64_MIN) ||
				shifted(&args->order, at, call->function.kind == TB_WINDOW_LAG ? -n : n,
						&other))
				return call->other.values != 0 ? set_copy(call, to, &call->other, row) :
												 none;
			return set_copy(call, to, &call->arg, other);
		default:
			break;
	}

	const uint32_t start = frame_start(args, at), last = frame_end(args, at);
	const uint32_t end = last > start ? last : start;
	uint32_t	   count = end - start;

	switch (call->function.kind)
	{
		case TB_WINDOW_FIRST_VALUE:
			return count == 0 ? none :
								set_copy(call, to, &call->arg, row_at(&args->order, start));
		case TB_WINDOW_LAST_VALUE:
			return count == 0 ?
				none :
				set_copy(call, to, &call->arg, row_at(&args->order, end - 1));
		case TB_WINDOW_NTH_VALUE:
			return (uint64_t) n > count ?
				none :
				set_copy(call, to, &call->arg,
						 row_at(&args->order, start + (uint32_t) n - 1));
		case TB_WINDOW_MIN:
		case TB_WINDOW_MAX:
			/* The frame begins with the partition, and so does what `best` knows. */
			return count == 0 || call->counts[end - 1] == 0 ?
				none :
				set_integer(call, to, call->best[end - 1]);
		default:
			break;
	}
	if (call->counts != 0 && count > 0)
		count = call->counts[end - 1] - (start > 0 ? call->counts[start - 1] : 0);
	if (call->function.kind == TB_WINDOW_COUNT)
		return set_integer(call, to, count);
	if (count == 0)
		return none;

	const __int128 sum = call->sums[end - 1] - (start > 0 ? call->sums[start - 1] : 0);

	if (call->width == 16)
	{
		const CallValue result = {0, 1};

		((__int128 *) call->values)[to] = sum;
		return result;
	}
	if ((__int128) (int64_t) sum != sum)
		tb_atomic_or(&args->overflow, 1);
	return set_integer(call, to, (int64_t) sum);
}

/* Grid: any. */
TB_KERNEL
tb_window_emit(TbWindowEmit *args)
{
	for (uint64_t place = (uint64_t) tb_block() * TB_SCAN_THREADS + tb_thread();
		 place < args->order.nrows; place += (uint64_t) tb_blocks() * TB_SCAN_THREADS)
	{
		const RowPlace at = find_place(args, (uint32_t) place);
		const uint32_t row = row_at(&args->order, (uint32_t) place);
		const uint32_t to = args->by_place ? (uint32_t) place : row;
		int			   passes = 1;

		for (uint32_t c = 0; c < args->ncalls; c++)
		{
			const CallValue value = compute(args, &args->calls[c], &at, row, to);

			if (args->calls[c].valid != 0)
				args->calls[c].valid[to] = (uint8_t) value.some;
			for (uint32_t i = 0; i < args->nconditions; i++)
				if (args->conditions[i].column == c)
					passes &= value.some && holds(&args->conditions[i], value.integer);
		}
		if (args->passing != 0)
			args->passing[place] = (uint8_t) passes;
	}
}

/* Grid: any. */
TB_KERNEL
tb_window_take(TbWindowTake *args)
{
	for (uint64_t place = (uint64_t) tb_block() * TB_SCAN_THREADS + tb_thread();
		 place < args->order.nrows; place += (uint64_t) tb_blocks() * TB_SCAN_THREADS)
	{
		if (args->passing[place] == 0)
			continue;

		const uint32_t to = args->counts[place] - 1;

		args->rows[to] = row_at(&args->order, (uint32_t) place);
		for (uint32_t c = 0; c < args->ncalls; c++)
		{
			copy_value(args->values[c], to, &args->from[c], (uint32_t) place);
			if (args->valid[c] != 0)
				args->valid[c][to] = args->from[c].valid[place];
		}
	}
}
