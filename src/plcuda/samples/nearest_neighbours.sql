-- nearest_neighbours(table, id, coordinates, point, k): the k rows of a pinned table that are nearest to a point. `id` is
-- the number of a bigint column, `coordinates` are numbers of real columns. Kernels compute distances; the host picks.
--   SELECT * FROM nearest_neighbours('places', attnum_of('places', 'id'), attnums_of('places', '{x,y}'), '{3.5,7}', 10);
CREATE OR REPLACE FUNCTION nearest_neighbours(places reggstore, id smallint, coordinates smallint[], point real[], k integer)
RETURNS TABLE (neighbour bigint, distance real) LANGUAGE plcuda STRICT AS $$
#plcuda_decl
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>
#define MOST_COORDINATES 64

struct Columns
{
	const cl_float		*values[MOST_COORDINATES];
	const unsigned char *valid[MOST_COORDINATES]; /* nullptr: no NULLs */
	float				 point[MOST_COORDINATES];
	int					 count;
};

KERNEL_FUNCTION(void)
distances_of_rows(float *distances, Columns columns, size_t nrows)
{
	for (size_t i = get_global_id(); i < nrows; i += get_global_size())
	{
		float sum = 0;

		for (int j = 0; j < columns.count; j++)
		{
			const float by = columns.values[j][i] - columns.point[j];

			sum += by * by;
			/* A row without a place is nowhere near. */
			if (columns.valid[j] != nullptr && (columns.valid[j][i / 8] >> (i % 8) & 1) == 0)
				sum = INFINITY;
		}
		distances[i] = sqrtf(sum);
	}
}
#plcuda_begin
	const char			  *base = (const char *)arg1->map;
	const VectorTypeShort *numbers = (const VectorTypeShort *)arg3;
	const VectorTypeFloat *point = (const VectorTypeFloat *)arg4;
	std::vector<char>	   head(KDS_LEAST_LENGTH);
	kern_data_store		  *kds = (kern_data_store *)head.data();
	Columns				   columns;
	float				  *distances;
	cudaError_t			   rc;

	/* The header says where columns are. */
	rc = cudaMemcpy(kds, base, head.size(), cudaMemcpyDefault);
	if (rc != cudaSuccess)
		CUEXIT(rc, "the table's header cannot be read");
	if (KERN_DATA_STORE_HEAD_LENGTH(kds) > head.size())
		EEXIT("the table has more columns than this function knows");
	if (!VALIDATE_ARRAY_VECTOR_TYPE_STRICT(arg3, PG_INT2OID) ||
		!VALIDATE_ARRAY_VECTOR_TYPE_STRICT(arg4, PG_FLOAT4OID) ||
		numbers->height != point->height || numbers->height > MOST_COORDINATES)
		EEXIT("coordinates and point do not fit together");
	if (arg2 < 1 || arg2 > kds->ncols || kds->colmeta[arg2 - 1].atttypid != PG_INT8OID)
		EEXIT("the id is no bigint column");
	if (arg5 < 1)
		EEXIT("the number of neighbours must be positive");
	columns.count = numbers->height;
	for (int j = 0; j < columns.count; j++)
	{
		const int number = numbers->values[j];

		if (number < 1 || number > kds->ncols ||
			kds->colmeta[number - 1].atttypid != PG_FLOAT4OID)
			EEXIT("coordinate %d is no real column", j + 1);
		const kern_colmeta &meta = kds->colmeta[number - 1];
		columns.values[j] = (const cl_float *)(base + __kds_unpack(meta.va_offset));
		columns.valid[j] = meta.nullmap_offset == 0 ?
			nullptr :
			(const unsigned char *)(base + __kds_unpack(meta.nullmap_offset));
		columns.point[j] = point->values[j];
	}
	if (kds->nitems == 0)
		return;
	rc = cudaMallocManaged(&distances, sizeof(float) * kds->nitems);
	if (rc != cudaSuccess)
		CUEXIT(rc, "there is no memory for the distances");
	distances_of_rows<<<1024, 256>>>(distances, columns, kds->nitems);
	rc = cudaDeviceSynchronize();
	if (rc != cudaSuccess)
		CUEXIT(rc, "the distances were not computed");
	/* Pick the nearest. */
	std::vector<cl_uint> order(kds->nitems);
	const size_t		 most = Min((size_t)arg5, order.size());
	std::iota(order.begin(), order.end(), 0);
	std::partial_sort(order.begin(), order.begin() + most, order.end(),
					  [&](cl_uint a, cl_uint b) {
						  return distances[a] != distances[b] ? distances[a] < distances[b] : a < b;
					  });
	for (size_t i = 0; i < most && std::isfinite(distances[order[i]]); i++)
	{
		plcuda_row row;

		rc = cudaMemcpy(&row.c1,
						base + __kds_unpack(kds->colmeta[arg2 - 1].va_offset) + 8 * (size_t)order[i],
						sizeof row.c1, cudaMemcpyDefault);
		if (rc != cudaSuccess)
			CUEXIT(rc, "an id cannot be read");
		row.c2 = distances[order[i]];
		plcuda_emit(row);
	}
#plcuda_end
$$;
