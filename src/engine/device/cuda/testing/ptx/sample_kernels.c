/*
 * sample_kernels.c - what an element's function does: arithmetic of all widths,
 * conversions, a switch, calls that are not inlined, a function that calls itself, an array
 * on the stack, a table of constants.
 *
 * Compiled for the host, and to PTX (sample_kernels.ptx).
 */
#include "engine/device/cuda/testing/ptx/sample_kernels.h"

#ifdef __NVPTX__
#define DEVICE static __attribute__((noinline))
#else
#define DEVICE static __attribute__((noinline, unused))
#endif

static const uint32_t kTable[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};

typedef struct Pair
{
	int64_t first;
	int32_t second;
	uint8_t third;
} Pair;

DEVICE Pair
make_pair(int64_t a, uint8_t b)
{
	const Pair pair = {a * 3, (int32_t) (a >> 7), (uint8_t) (b + 200)};
	return pair;
}

/* Goes down to 0. */
DEVICE uint64_t
steps_of(uint64_t value)
{
	if (value <= 1)
		return value;
	return 1 + steps_of(value % 3 == 0 ? value / 3 : value / 2);
}

/* Calls itself twice. */
DEVICE uint64_t
paths_of(uint32_t steps)
{
	return steps < 2 ? 1 : paths_of(steps - 1) + paths_of(steps - 2);
}

DEVICE int64_t
chosen(uint32_t choice, int64_t a, int64_t b)
{
	switch (choice % 9)
	{
		case 0:
			return a + b;
		case 1:
			return a ^ b;
		case 2:
			return b == 0 ? -1 : (int64_t) ((uint64_t) a / (uint64_t) b);
		case 3:
			return b == 0 || b == -1 ? -2 : a % b;
		case 4:
			return (int32_t) a * (int64_t) (int32_t) b;
		case 5:
			return (int16_t) a;
		case 6:
			return a < b ? a : b;
		case 7:
			return (int64_t) ((unsigned __int128) (uint64_t) a * (uint64_t) b >> 64);
		default:
			return (int8_t) (a - b);
	}
}

static void
integers_of(const SampleInput *in, SampleOutput *out)
{
	const int64_t  a = in->a, b = in->b;
	const uint64_t ua = (uint64_t) a, ub = (uint64_t) b;
	const Pair	   pair = make_pair(a & 0xffffffff, (uint8_t) b);
	int64_t		   sums[8] = {0};

	for (uint32_t i = 0; i < 64; i++)
		sums[(ua >> (i % 61)) & 7] += (int64_t) (i * (uint32_t) ub);
	out->integers[0] = chosen(in->choice, a, b);
	out->integers[1] = pair.first + pair.second;
	out->integers[2] = pair.third;
	out->integers[3] = (int64_t) steps_of(ua);
	out->integers[4] = sums[in->choice & 7] + (int64_t) paths_of(in->choice % 7);
	out->integers[5] = (int32_t) ((uint32_t) a * 17u + (uint32_t) b) >> (in->choice & 31);
	out->integers[6] = a >> (in->choice & 63);
	out->integers[7] = (int16_t) ((uint16_t) a * 3u) - (int8_t) b;
	out->integers[8] = kTable[ua & 15] + kTable[ub >> 60];
	out->integers[9] = (int64_t) ((__int128) a * b >> 37);
	out->integers[10] = (int64_t) (((__int128) a + (__int128) b * 3) >> 5);
	out->integers[11] = a > b ? a - b > 5 : (uint32_t) a < (uint32_t) b;
	out->bits[0] = (uint64_t) __builtin_popcountll(ua) +
		(uint64_t) __builtin_popcount((uint32_t) ub);
	out->bits[1] = ua == 0 ? 64 : (uint64_t) __builtin_clzll(ua);
	out->bits[2] = (uint32_t) ub == 0 ? 32 : (uint64_t) __builtin_ctz((uint32_t) ub);
	out->bits[3] = __builtin_bswap64(ua) ^ __builtin_bswap32((uint32_t) ub);
	out->bits[4] = ua << (in->choice & 63) | ua >> (-in->choice & 63);
	out->bits[5] = (ua >> 11 & 0x3ff) | (ub << 20 & ~0xffffull);
	out->bits[6] = (uint16_t) (ua / (ub | 1)) + (uint8_t) (ua % (ub | 1));
	out->bits[7] = (uint32_t) ua / ((uint32_t) ub | 1) +
		(uint32_t) ua % ((uint32_t) ub | 1);
}

static void
floats_of(const SampleInput *in, SampleOutput *out)
{
	const double x = in->x, y = in->y;
	const float	 f = (float) x, g = (float) y;

	out->floats[0] = x + y * 2.5;
	out->floats[1] = x / y;
	out->floats[2] = x < y ? x - y : x * y;
	out->floats[3] = (double) in->a - (double) (uint32_t) in->b;
	out->floats[4] = __builtin_sqrt(x < 0 ? -x : x) + __builtin_floor(y);
	out->floats[5] = (double) ((int64_t) (x / 3) + (int32_t) (y / 1e6));
	out->singles[0] = f * g - 1.5f;
	out->singles[1] = f / g;
	out->singles[2] = (float) in->a;
	out->singles[3] = f == f && f > g ? -f : g;
}

void sample_element(const SampleInput *in, SampleOutput *out);
#ifdef __NVPTX__
__attribute__((always_inline))
#endif
void
sample_element(const SampleInput *in, SampleOutput *out)
{
	integers_of(in, out);
	floats_of(in, out);
}

#ifdef __NVPTX__
__attribute__((nvptx_kernel)) void
sample_kernel(const SampleArguments *arguments)
{
	const uint64_t threads = (uint64_t) __nvvm_read_ptx_sreg_nctaid_x() *
		__nvvm_read_ptx_sreg_ntid_x();

	for (uint64_t i =
			 (uint64_t) __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() +
			 __nvvm_read_ptx_sreg_tid_x();
		 i < arguments->count; i += threads)
		sample_element(&arguments->input[i], &arguments->output[i]);
}
#endif
