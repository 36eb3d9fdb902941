/*
 * key_kernels.c - sort keys of rows in a GPU's memory: what their values have in common,
 * and the keys packed without it; and columns in the order that sorting has found.
 *
 * Compiled to PTX with the engine (embedded_kernels.cc), and for the host by
 * testing/window_on_host.cc. Must never give two rows an order that their keys do not have.
 */
#include "engine/device/cuda/window/key_kernels.h"

#include "engine/device/cuda/gpu_threads.h"

typedef struct KeyShared
{
	TbKeyRange ranges[TB_KEY_THREADS];
} KeyShared;

TB_BLOCK_MEMORY(KeyShared);

typedef unsigned __int128 Code;

static inline Code
integer_code(int64_t value)
{
	return (uint64_t) value ^ (uint64_t) 1 << 63;
}

/* Of floats the magnitude orders positive ones, and its complement negative ones; -0 + 0 is
 * 0. */
static inline Code
float_code(float value)
{
	const union
	{
		float	 value;
		uint32_t bits;
	} sum = {value + 0.0f};

	if (value != value)
		return ~(uint32_t) 0;
	return sum.bits >> 31 ? ~sum.bits : sum.bits | (uint32_t) 1 << 31;
}

static inline Code
double_code(double value)
{
	const union
	{
		double	 value;
		uint64_t bits;
	} sum = {value + 0.0};

	if (value != value)
		return ~(uint64_t) 0;
	return sum.bits >> 63 ? ~sum.bits : sum.bits | (uint64_t) 1 << 63;
}

static inline Code
code_of(const TbKeyColumn *column, uint32_t row)
{
	switch (column->type)
	{
		case TB_TYPE_BOOL:
			return column->values[row];
		case TB_TYPE_INT2:
			return integer_code(((const int16_t *) column->values)[row]);
		case TB_TYPE_INT4:
		case TB_TYPE_DATE:
			return integer_code(((const int32_t *) column->values)[row]);
		case TB_TYPE_FLOAT4:
			return float_code(((const float *) column->values)[row]);
		case TB_TYPE_FLOAT8:
			return double_code(((const double *) column->values)[row]);
		case TB_TYPE_NUM128:
			return (Code) ((const __int128 *) column->values)[row] ^ (Code) 1 << 127;
		default:
			return integer_code(((const int64_t *) column->values)[row]);
	}
}

static inline int
is_null(const TbKeyColumn *column, uint32_t row)
{
	return column->valid != 0 && column->valid[row] == 0;
}

static inline TbKeyRange
merge(TbKeyRange range, TbKeyRange other)
{
	range.nulls |= other.nulls;
	range.values |= other.values;
	if (other.least < range.least)
		range.least = other.least;
	if (other.greatest > range.greatest)
		range.greatest = other.greatest;
	return range;
}

/* Grid: any, each of whose blocks leaves ranges of its own. */
TB_KERNEL
tb_key_ranges(TbKeyRanges *args)
{
	const uint32_t thread = tb_thread();

	for (uint32_t k = 0; k < args->nkeys; k++)
	{
		TbKeyRange mine = {~(Code) 0, 0, 0, 0, 0};

		for (uint64_t row = (uint64_t) tb_block() * TB_KEY_THREADS + thread;
			 row < args->nrows; row += (uint64_t) tb_blocks() * TB_KEY_THREADS)
		{
			if (is_null(&args->keys[k], (uint32_t) row))
				mine.nulls = 1;
			else
			{
				const Code code = code_of(&args->keys[k], (uint32_t) row);

				mine.values = 1;
				mine.least = code < mine.least ? code : mine.least;
				mine.greatest = code > mine.greatest ? code : mine.greatest;
			}
		}
		block_memory.ranges[thread] = mine;
		tb_block_barrier();
		for (uint32_t half = TB_KEY_THREADS / 2; half > 0; half /= 2)
		{
			if (thread < half)
				block_memory.ranges[thread] = merge(block_memory.ranges[thread],
													block_memory.ranges[thread + half]);
			tb_block_barrier();
		}
		if (thread == 0)
			args->ranges[tb_block() * args->nkeys + k] = block_memory.ranges[0];
		tb_block_barrier();
	}
}

static inline Code
field_of(const TbKeyField *field, uint32_t row)
{
	const int null = is_null(&field->column, row);

	if (field->part == TB_KEY_NOT_NULL)
		return (uint32_t) null != field->nulls_first;
	/* A NULL's value is any; equal ones need the same. */
	if (null)
		return 0;

	const Code code = code_of(&field->column, row);
	const Code distance = field->descending ? field->greatest - code : code - field->least;

	return field->part == TB_KEY_HIGH ? distance >> 64 : (uint64_t) distance;
}

/* Grid: any. */
TB_KERNEL
tb_key_pack(TbKeyPack *args)
{
	for (uint64_t row = (uint64_t) tb_block() * TB_KEY_THREADS + tb_thread();
		 row < args->nrows; row += (uint64_t) tb_blocks() * TB_KEY_THREADS)
	{
		Code key = 0;

		for (uint32_t f = 0; f < args->nfields; f++)
			key |= field_of(&args->fields[f], (uint32_t) row) << args->fields[f].shift;
		for (uint32_t w = 0; w < args->nwords; w++)
			args->words[w][row] = (uint32_t) (key >> (96 - 32 * w));
	}
}

/* Grid: any. */
TB_KERNEL
tb_gather(TbGather *args)
{
	for (uint64_t place = (uint64_t) tb_block() * TB_KEY_THREADS + tb_thread();
		 place < args->nrows; place += (uint64_t) tb_blocks() * TB_KEY_THREADS)
	{
		const uint32_t row = args->rows[place];

		switch (args->width)
		{
			case 1:
				args->to_values[place] = args->values[row];
				break;
			case 2:
				((uint16_t *) args->to_values)[place] = ((const uint16_t *)
															 args->values)[row];
				break;
			case 4:
				((uint32_t *) args->to_values)[place] = ((const uint32_t *)
															 args->values)[row];
				break;
			case 8:
				((uint64_t *) args->to_values)[place] = ((const uint64_t *)
															 args->values)[row];
				break;
			default:
				((Code *) args->to_values)[place] = ((const Code *) args->values)[row];
		}
		if (args->to_valid != 0)
			args->to_valid[place] = args->valid[row];
	}
}
