-- logistic_regression(table, outcome, features, iterations, tolerance): weights of a model that tells how likely `outcome`
-- is, the constant first. `outcome` is the number of a boolean column of a pinned table, `features` are numbers of real
-- columns, none with NULLs. Newton's method: kernels sum up gradient and curvature, the host solves for the step.
--   SELECT logistic_regression('patients', attnum_of('patients', 'ill'), attnums_of('patients', '{age,weight}'));
-- logistic_probability(weights, features) applies it.
CREATE OR REPLACE FUNCTION logistic_regression(samples reggstore, outcome smallint, features smallint[],
	iterations integer DEFAULT 25, tolerance real DEFAULT 1e-6)
RETURNS real[] LANGUAGE plcuda STRICT AS $$
#plcuda_decl
#include <algorithm>
#include <cmath>
#include <vector>
#define MOST_WEIGHTS 33

struct Samples
{
	const cl_bool  *outcome;
	const cl_float *features[MOST_WEIGHTS]; /* from 1 on: 0 is the constant */
	double			weights[MOST_WEIGHTS];
	int				width;
	size_t			nrows;
};

/* sums: width of the gradient, then width * width of the curvature. A block sums up one of
 * them over all rows. */
KERNEL_FUNCTION_MAXTHREADS(void)
sum_up(double *sums, Samples samples)
{
	__shared__ double parts[256];
	const int		  width = samples.width;
	const int		  which = get_group_id();
	const int		  a = which < width ? which : (which - width) / width;
	const int		  b = which < width ? -1 : (which - width) % width;
	double			  sum = 0;

	for (size_t i = get_local_id(); i < samples.nrows; i += get_local_size())
	{
		double logit = samples.weights[0];

		for (int j = 1; j < width; j++)
			logit += samples.weights[j] * samples.features[j][i];
		const double likely = 1 / (1 + exp(-logit));
		const double left = a == 0 ? 1 : samples.features[a][i];

		if (b < 0)
			sum += left * (likely - (samples.outcome[i] ? 1 : 0));
		else
			sum += left * likely * (1 - likely) * (b == 0 ? 1 : samples.features[b][i]);
	}
	parts[get_local_id()] = sum;
	sum = pgstromTotalSum(parts, 256);
	if (get_local_id() == 0)
		sums[which] = sum;
}

/* Gauss: replaces `right` by the solution. False: there is none. */
static bool
solve(std::vector<double> matrix, std::vector<double> &right)
{
	const int n = right.size();

	for (int i = 0; i < n; i++)
	{
		int pivot = i;

		for (int j = i + 1; j < n; j++)
			if (fabs(matrix[j * n + i]) > fabs(matrix[pivot * n + i]))
				pivot = j;
		if (fabs(matrix[pivot * n + i]) < 1e-12)
			return false;
		for (int k = 0; k < n; k++)
			std::swap(matrix[i * n + k], matrix[pivot * n + k]);
		std::swap(right[i], right[pivot]);
		for (int j = 0; j < n; j++)
		{
			const double factor = j == i ? 0 : matrix[j * n + i] / matrix[i * n + i];

			for (int k = i; k < n; k++)
				matrix[j * n + k] -= factor * matrix[i * n + k];
			right[j] -= factor * right[i];
		}
	}
	for (int i = 0; i < n; i++)
		right[i] /= matrix[i * n + i];
	return true;
}
#plcuda_begin
	const char			  *base = (const char *)arg1->map;
	const VectorTypeShort *features = (const VectorTypeShort *)arg3;
	std::vector<char>	   head(KDS_LEAST_LENGTH);
	kern_data_store		  *kds = (kern_data_store *)head.data();
	Samples				   samples = {};
	double				  *sums;
	VectorTypeFloat		  *result;
	cudaError_t			   rc;

	rc = cudaMemcpy(kds, base, head.size(), cudaMemcpyDefault);
	if (rc != cudaSuccess)
		CUEXIT(rc, "the table's header cannot be read");
	if (!VALIDATE_ARRAY_VECTOR_TYPE_STRICT(arg3, PG_INT2OID) ||
		features->height >= MOST_WEIGHTS)
		EEXIT("the features are no array of up to %d numbers", MOST_WEIGHTS - 1);
	if (arg2 < 1 || arg2 > kds->ncols || kds->colmeta[arg2 - 1].atttypid != PG_BOOLOID)
		EEXIT("the outcome is no boolean column");
	samples.outcome =
		(const cl_bool *)(base + __kds_unpack(kds->colmeta[arg2 - 1].va_offset));
	samples.width = features->height + 1;
	samples.nrows = kds->nitems;
	for (int j = 1; j < samples.width; j++)
	{
		const int number = features->values[j - 1];

		if (number < 1 || number > kds->ncols ||
			kds->colmeta[number - 1].atttypid != PG_FLOAT4OID ||
			kds->colmeta[number - 1].nullmap_offset != 0)
			EEXIT("feature %d is no real column without NULLs", j);
		samples.features[j] =
			(const cl_float *)(base + __kds_unpack(kds->colmeta[number - 1].va_offset));
	}
	const int width = samples.width;
	rc = cudaMallocManaged(&sums, sizeof(double) * width * (width + 1));
	if (rc != cudaSuccess)
		CUEXIT(rc, "there is no memory for the sums");
	for (int round = 0; round < arg4; round++)
	{
		double moved = 0;

		sum_up<<<width * (width + 1), 256>>>(sums, samples);
		rc = cudaDeviceSynchronize();
		if (rc != cudaSuccess)
			CUEXIT(rc, "the sums were not computed");
		std::vector<double> step(sums, sums + width);
		if (!solve(std::vector<double>(sums + width, sums + width * (width + 1)), step))
			EEXIT("the features determine no model: one may follow from others");
		for (int j = 0; j < width; j++)
		{
			samples.weights[j] -= step[j];
			moved = std::max(moved, fabs(step[j]));
		}
		if (moved < arg5)
			break;
	}
	rc = cudaMallocManaged(&result, ARRAY_VECTOR_RAWSIZE(sizeof(float), width));
	if (rc != cudaSuccess)
		CUEXIT(rc, "there is no memory for the weights");
	INIT_ARRAY_VECTOR(result, PG_FLOAT4OID, sizeof(float), width);
	for (int j = 0; j < width; j++)
		result->values[j] = samples.weights[j];
	return (varlena *)result;
#plcuda_end
$$;

CREATE OR REPLACE FUNCTION logistic_probability(weights real[], features real[])
RETURNS double precision LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN 1 / (1 + exp(-(weights[1] + (SELECT coalesce(sum(w * f), 0) FROM unnest(weights[2:], features) AS t (w, f)))));
