-- moving_median(values, width): for each value the median of it and its neighbours, `width` values in all (odd, 255 at
-- most; fewer at both ends). A thread sorts one window.
--   SELECT moving_median(array_agg(price ORDER BY at), 9) FROM trades;
CREATE OR REPLACE FUNCTION moving_median(series real[], width integer)
RETURNS real[] LANGUAGE plcuda STRICT AS $$
#plcuda_decl
#define MOST_WIDTH 255

KERNEL_FUNCTION(void)
median_of_windows(cl_float *medians, const VectorTypeFloat *series, int width)
{
	float window[MOST_WIDTH];

	for (size_t i = get_global_id(); i < series->height; i += get_global_size())
	{
		const long first = Max((long)i - width / 2, 0L);
		const long last = Min((long)i + width / 2, (long)series->height - 1);
		int		   n = 0;

		/* Insertion sort: windows are small. */
		for (long j = first; j <= last; j++)
		{
			const float value = series->values[j];
			int			k = n++;

			while (k > 0 && window[k - 1] > value)
			{
				window[k] = window[k - 1];
				k--;
			}
			window[k] = value;
		}
		medians[i] = n % 2 == 1 ? window[n / 2] : (window[n / 2 - 1] + window[n / 2]) / 2;
	}
}
#plcuda_begin
	const VectorTypeFloat *series = (const VectorTypeFloat *)arg1;
	VectorTypeFloat		  *result;
	cudaError_t			   rc;

	if (!VALIDATE_ARRAY_VECTOR_TYPE_STRICT(arg1, PG_FLOAT4OID))
		EEXIT("the series is no array of one dimension without NULLs");
	if (arg2 < 1 || arg2 > MOST_WIDTH || arg2 % 2 == 0)
		EEXIT("the width must be an odd number up to %d", MOST_WIDTH);
	rc = cudaMallocManaged(&result, ARRAY_VECTOR_RAWSIZE(sizeof(float), series->height));
	if (rc != cudaSuccess)
		CUEXIT(rc, "there is no memory for the medians");
	INIT_ARRAY_VECTOR(result, PG_FLOAT4OID, sizeof(float), series->height);
	median_of_windows<<<(series->height + 127) / 128, 128>>>(result->values, series, arg2);
	return (varlena *)result;
#plcuda_end
$$;
