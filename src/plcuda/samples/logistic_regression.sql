-- logistic_regression(table, outcome, features, iterations, tolerance): weights of a model that tells how likely `outcome`
-- is, the constant first. `outcome` is the number of a boolean column of a pinned table, `features` are numbers of real
-- columns, at most 32, none with NULLs. Newton's method: a kernel sums up gradient and curvature in one pass over the
-- columns, cuBLAS inverts the curvature.
--   SELECT logistic_regression('patients', attnum_of('patients', 'ill'), attnums_of('patients', '{age,weight}'));
-- If a plane separates the outcomes, weights grow without end; their ratios, which settle, are those of the plane.
-- logistic_probability(weights, features) applies the model.
CREATE OR REPLACE FUNCTION logistic_regression(samples reggstore, outcome smallint, features smallint[],
	iterations integer DEFAULT 25, tolerance real DEFAULT 1e-6)
RETURNS real[] LANGUAGE plcuda STRICT AS $$
#plcuda_library cublas
#plcuda_include <cublas_v2.h>
#plcuda_decl
#include <algorithm>
#include <cmath>
#include <vector>
#define MOST_WEIGHTS 33
#define BLOCK_ROWS 256 /* threads, one row each at a time */
#define ROWS_AHEAD 4   /* of a thread: loaded before the first is needed */
#define MOST_TILE 8
#define MOST_CONDITION 1e13

struct Samples
{
	const cl_bool  *outcome;
	const cl_float *features[MOST_WEIGHTS]; /* from 1 on: 0 is the constant */
	double			weights[MOST_WEIGHTS];
	int				width;
	size_t			nrows;
};

/* What a round leaves behind, in memory of the GPU and then of the host. */
struct Sums
{
	double	gradient[MOST_WEIGHTS];
	double	curvature[MOST_WEIGHTS * MOST_WEIGHTS]; /* width * width, symmetric */
	double	factors[MOST_WEIGHTS * MOST_WEIGHTS];	/* a copy, of which LU factors are made */
	double	inverse[MOST_WEIGHTS * MOST_WEIGHTS];
	double *matrices[2]; /* factors, inverse */
	int		pivots[MOST_WEIGHTS];
	int		info[2];
};

/* A part of the curvature: rows a .. a + size - 1, columns b .. b + size - 1. If a is b, its
 * upper half, and the gradient's part before it. */
struct Tile
{
	int a;
	int b;
};

template <int SIZE, bool DIAGONAL>
static __host__ __device__ constexpr int
sums_of_tile()
{
	return DIAGONAL ? SIZE + SIZE * (SIZE + 1) / 2 : SIZE * SIZE;
}

static __device__ inline float
feature_of(const Samples &samples, int j, size_t row)
{
	if (j == 0)
		return 1;
	return j < samples.width ? __ldg(&samples.features[j][row]) : 0;
}

/* A block's sums over its rows go to parts[block * sums_of_tile()]. */
template <int SIZE, bool DIAGONAL>
static __global__ void
__launch_bounds__(BLOCK_ROWS)
sum_up(double *parts, const Samples samples, const Tile tile)
{
	constexpr int	  count = sums_of_tile<SIZE, DIAGONAL>();
	__shared__ double of_warps[BLOCK_ROWS / 32][count];
	const size_t	  step = (size_t)get_num_groups() * BLOCK_ROWS;
	double			  sums[count] = {};

	for (size_t first = get_global_id(); first < samples.nrows; first += step * ROWS_AHEAD)
	{
		float x[ROWS_AHEAD][SIZE];
		bool  happened[ROWS_AHEAD];

		/* Load */
#pragma unroll
		for (int r = 0; r < ROWS_AHEAD; r++)
		{
			const size_t row = Min(first + r * step, samples.nrows - 1);

			happened[r] = samples.outcome[row] != 0;
#pragma unroll
			for (int j = 0; j < SIZE; j++)
				x[r][j] = feature_of(samples, tile.a + j, row);
		}
		/* Sum up */
#pragma unroll
		for (int r = 0; r < ROWS_AHEAD; r++)
		{
			const size_t row = first + r * step;
			double		 logit = 0;

			if (row >= samples.nrows)
				break;
			/* A tile that has all features needs no further loads. */
			if (samples.width <= SIZE)
			{
#pragma unroll
				for (int j = 0; j < SIZE; j++)
					logit += samples.weights[j] * x[r][j];
			}
			else
				for (int j = 0; j < samples.width; j++)
					logit += samples.weights[j] * feature_of(samples, j, row);
			/* How wrong the model is: exact in both tails, where 1 - p is not. */
			const float away = (float)(happened[r] ? logit : -logit);
			const float odds = expf(Min(away, 80.0f));
			const float wrong = 1 / (1 + odds);
			const double error = happened[r] ? -wrong : wrong;
			const double weight = wrong * wrong * odds;
			int			 k = 0;

			if (DIAGONAL)
			{
#pragma unroll
				for (int a = 0; a < SIZE; a++)
					sums[k++] += error * x[r][a];
			}
#pragma unroll
			for (int a = 0; a < SIZE; a++)
			{
				const double left = weight * x[r][a];

#pragma unroll
				for (int b = DIAGONAL ? a : 0; b < SIZE; b++)
					sums[k++] += left * (DIAGONAL ? x[r][b] : feature_of(samples, tile.b + b, row));
			}
		}
	}
	/* Threads of a warp, then warps */
#pragma unroll
	for (int k = 0; k < count; k++)
	{
		double sum = sums[k];

		for (int lanes = 16; lanes > 0; lanes /= 2)
			sum += __shfl_down_sync(0xffffffff, sum, lanes);
		if (get_local_id() % 32 == 0)
			of_warps[get_local_id() / 32][k] = sum;
	}
	__syncthreads();
	for (int k = get_local_id(); k < count; k += BLOCK_ROWS)
	{
		double sum = 0;

		for (int warp = 0; warp < BLOCK_ROWS / 32; warp++)
			sum += of_warps[warp][k];
		parts[(size_t)get_group_id() * count + k] = sum;
	}
}

/* A block of one warp adds up one sum of all blocks, always in the same order, and puts it
 * where it belongs. */
KERNEL_FUNCTION(void)
add_up(Sums *sums, const double *parts, int nparts, int count, int size, int width, Tile tile)
{
	const bool diagonal = tile.a == tile.b;
	int		   k = get_group_id();
	int		   a = 0;
	int		   b = 0;
	double	   sum = 0;

	for (int i = get_local_id(); i < nparts; i += 32)
		sum += parts[(size_t)i * count + k];
	for (int lanes = 16; lanes > 0; lanes /= 2)
		sum += __shfl_down_sync(0xffffffff, sum, lanes);
	if (get_local_id() != 0)
		return;
	if (diagonal && k < size)
	{
		if (tile.a + k < width)
			sums->gradient[tile.a + k] = sum;
		return;
	}
	if (diagonal)
	{
		for (k -= size; k >= size - a; a++)
			k -= size - a;
		b = a + k;
	}
	else
	{
		a = k / size;
		b = k % size;
	}
	a += tile.a;
	b += tile.b;
	if (a >= width || b >= width)
		return;
	sums->curvature[a * width + b] = sums->curvature[b * width + a] = sum;
	sums->factors[a * width + b] = sums->factors[b * width + a] = sum;
}

template <int SIZE, bool DIAGONAL>
static void
sum_up_tile(Sums *sums, double *parts, int nblocks, const Samples &samples, Tile tile)
{
	constexpr int count = sums_of_tile<SIZE, DIAGONAL>();

	sum_up<SIZE, DIAGONAL><<<nblocks, BLOCK_ROWS>>>(parts, samples, tile);
	add_up<<<count, 32>>>(sums, parts, nblocks, count, SIZE, samples.width, tile);
}

/* Gradient and curvature at samples.weights: one pass over the columns if there are few. */
static void
sum_up_all(Sums *sums, double *parts, int nblocks, const Samples &samples)
{
	switch (samples.width)
	{
		case 2:
			return sum_up_tile<2, true>(sums, parts, nblocks, samples, {0, 0});
		case 3:
			return sum_up_tile<3, true>(sums, parts, nblocks, samples, {0, 0});
		case 4:
			return sum_up_tile<4, true>(sums, parts, nblocks, samples, {0, 0});
		case 5:
			return sum_up_tile<5, true>(sums, parts, nblocks, samples, {0, 0});
		case 6:
			return sum_up_tile<6, true>(sums, parts, nblocks, samples, {0, 0});
		case 7:
			return sum_up_tile<7, true>(sums, parts, nblocks, samples, {0, 0});
	}
	for (int a = 0; a < samples.width; a += MOST_TILE)
	{
		sum_up_tile<MOST_TILE, true>(sums, parts, nblocks, samples, {a, a});
		for (int b = a + MOST_TILE; b < samples.width; b += MOST_TILE)
			sum_up_tile<MOST_TILE, false>(sums, parts, nblocks, samples, {a, b});
	}
}

static double
largest_row_sum(const double *matrix, int width)
{
	double largest = 0;

	for (int i = 0; i < width; i++)
	{
		double sum = 0;

		for (int j = 0; j < width; j++)
			sum += fabs(matrix[i * width + j]);
		largest = std::max(largest, sum);
	}
	return largest;
}

static void
check(cudaError_t rc, const char *what)
{
	if (rc != cudaSuccess)
		CUEXIT(rc, "%s", what);
}

static void
check(cublasStatus_t status, const char *what)
{
	/* Without a GPU, or its memory, CUDA says more than cuBLAS. */
	if (status != CUBLAS_STATUS_SUCCESS)
		check(cudaFree(0), what);
	if (status != CUBLAS_STATUS_SUCCESS)
		EEXIT("%s: %s", what, cublasGetStatusString(status));
}
#plcuda_begin
	/* It takes a while to make, and serves all calls of a session. */
	static cublasHandle_t  blas = nullptr;
	const char			  *base = (const char *)arg1->map;
	const VectorTypeShort *features = (const VectorTypeShort *)arg3;
	std::vector<char>	   head(KDS_LEAST_LENGTH);
	kern_data_store		  *kds = (kern_data_store *)head.data();
	Samples				   samples = {};
	Sums				   found = {};
	Sums				  *sums;
	double				  *parts;
	int					   nprocessors;

	if (blas == nullptr)
		check(cublasCreate(&blas), "cuBLAS cannot be used");
	check(cudaMemcpy(kds, base, head.size(), cudaMemcpyDefault), "the table's header cannot be read");
	if (!VALIDATE_ARRAY_VECTOR_TYPE_STRICT(arg3, PG_INT2OID) || features->height >= MOST_WEIGHTS)
		EEXIT("the features are no array of up to %d numbers", MOST_WEIGHTS - 1);
	if (KERN_DATA_STORE_HEAD_LENGTH(kds) > head.size())
		EEXIT("the table has more columns than this function knows");
	if (arg2 < 1 || arg2 > kds->ncols || kds->colmeta[arg2 - 1].atttypid != PG_BOOLOID ||
		kds->colmeta[arg2 - 1].nullmap_offset != 0)
		EEXIT("the outcome is no boolean column without NULLs");
	samples.outcome = (const cl_bool *)(base + __kds_unpack(kds->colmeta[arg2 - 1].va_offset));
	samples.width = features->height + 1;
	samples.nrows = kds->nitems;
	if (samples.nrows == 0)
		EEXIT("the table is empty");
	for (int j = 1; j < samples.width; j++)
	{
		const int number = features->values[j - 1];

		if (number < 1 || number > kds->ncols || kds->colmeta[number - 1].atttypid != PG_FLOAT4OID ||
			kds->colmeta[number - 1].nullmap_offset != 0)
			EEXIT("feature %d is no real column without NULLs", j);
		samples.features[j] = (const cl_float *)(base + __kds_unpack(kds->colmeta[number - 1].va_offset));
	}
	const int width = samples.width;
	/* A few blocks for each processor of the GPU, and no more than there are rows for. */
	check(cudaDeviceGetAttribute(&nprocessors, cudaDevAttrMultiProcessorCount, Max(arg1->h.device_id, 0)),
		  "the GPU cannot be asked");
	const int nblocks = (int)Min((size_t)nprocessors * 4, (samples.nrows + BLOCK_ROWS - 1) / BLOCK_ROWS);
	check(cudaMalloc(&parts, sizeof(double) * nblocks * MOST_TILE * MOST_TILE), "there is no memory for the sums");
	check(cudaMalloc(&sums, sizeof(Sums)), "there is no memory for the sums");
	found.matrices[0] = sums->factors;
	found.matrices[1] = sums->inverse;
	check(cudaMemcpy(sums, &found, sizeof found, cudaMemcpyDefault), "the sums cannot be written");
	for (int round = 0; round < arg4; round++)
	{
		double moved = 0;

		sum_up_all(sums, parts, nblocks, samples);
		check(cublasDgetrfBatched(blas, width, &sums->matrices[0], width, sums->pivots, &sums->info[0], 1),
			  "the curvature cannot be factored");
		check(cublasDgetriBatched(blas, width, &sums->matrices[0], width, sums->pivots, &sums->matrices[1], width,
								  &sums->info[1], 1),
			  "the curvature cannot be inverted");
		check(cudaMemcpy(&found, sums, sizeof found, cudaMemcpyDefault), "the sums were not computed");
		if (found.info[0] != 0 || found.info[1] != 0 ||
			!(largest_row_sum(found.curvature, width) * largest_row_sum(found.inverse, width) < MOST_CONDITION))
		{
			if (round == 0)
				EEXIT("the features determine no model: one may follow from others");
			/* The model is sure of every row. */
			break;
		}
		for (int a = 0; a < width; a++)
		{
			double step = 0;

			for (int b = 0; b < width; b++)
				step += found.inverse[a * width + b] * found.gradient[b];
			samples.weights[a] -= step;
			moved = std::max(moved, fabs(step));
		}
		if (moved < arg5)
			break;
	}
	VectorTypeFloat *result =
		(VectorTypeFloat *)plcuda_text(std::string(ARRAY_VECTOR_RAWSIZE(sizeof(float), width), '\0'));
	INIT_ARRAY_VECTOR(result, PG_FLOAT4OID, sizeof(float), width);
	for (int j = 0; j < width; j++)
		result->values[j] = samples.weights[j];
	return (varlena *)result;
#plcuda_end
$$;

CREATE OR REPLACE FUNCTION logistic_probability(weights real[], features real[])
RETURNS double precision LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN 1 / (1 + exp(-(weights[1] + (SELECT coalesce(sum(w * f), 0) FROM unnest(weights[2:], features) AS t (w, f)))));
