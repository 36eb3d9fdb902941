-- similar_fingerprints(table, id, fingerprint, wanted, threshold): rows of a pinned table whose fingerprint, a bytea of
-- bits, is similar to the wanted one: bits that both have, divided by bits that either has. `id` is the number of a bigint
-- column, `fingerprint` that of a bytea column. Fingerprints of another length than the wanted one are left out.
--   SELECT * FROM similar_fingerprints('molecules', attnum_of('molecules', 'id'), attnum_of('molecules', 'bits'),
--                                      (SELECT bits FROM molecules WHERE id = 7), 0.8);
CREATE OR REPLACE FUNCTION similar_fingerprints(molecules reggstore, id smallint, fingerprint smallint, wanted bytea,
	threshold real)
RETURNS TABLE (molecule bigint, similarity real) LANGUAGE plcuda STRICT AS $$
#plcuda_decl
#include <vector>

KERNEL_FUNCTION(void)
similarities_of_rows(float *similarities, const cl_long *offsets, const unsigned char *bytes,
					 const unsigned char *valid, const unsigned char *wanted, size_t length,
					 size_t nrows)
{
	for (size_t i = get_global_id(); i < nrows; i += get_global_size())
	{
		const bool			 there = valid == nullptr || (valid[i / 8] >> (i % 8) & 1) != 0;
		const unsigned char *found = bytes + offsets[i];
		unsigned			 both = 0;
		unsigned			 either = 0;

		if (!there || (size_t)(offsets[i + 1] - offsets[i]) != length)
		{
			similarities[i] = -1;
			continue;
		}
		for (size_t j = 0; j < length; j++)
		{
			both += __popc(found[j] & wanted[j]);
			either += __popc(found[j] | wanted[j]);
		}
		similarities[i] = either == 0 ? 1 : (float)both / either;
	}
}
#plcuda_begin
	const char		 *base = (const char *)arg1->map;
	std::vector<char> head(KDS_LEAST_LENGTH);
	kern_data_store	 *kds = (kern_data_store *)head.data();
	float			 *similarities;
	cudaError_t		  rc;

	rc = cudaMemcpy(kds, base, head.size(), cudaMemcpyDefault);
	if (rc != cudaSuccess)
		CUEXIT(rc, "the table's header cannot be read");
	if (arg2 < 1 || arg2 > kds->ncols || kds->colmeta[arg2 - 1].atttypid != PG_INT8OID)
		EEXIT("the id is no bigint column");
	if (arg3 < 1 || arg3 > kds->ncols || kds->colmeta[arg3 - 1].atttypid != PG_BYTEAOID)
		EEXIT("the fingerprint is no bytea column");
	if (kds->nitems == 0)
		return;
	const kern_colmeta &meta = kds->colmeta[arg3 - 1];
	const size_t		nrows = kds->nitems;
	rc = cudaMallocManaged(&similarities, sizeof(float) * nrows);
	if (rc != cudaSuccess)
		CUEXIT(rc, "there is no memory for the similarities");
	similarities_of_rows<<<1024, 256>>>(
		similarities, (const cl_long *)(base + __kds_unpack(meta.va_offset)),
		(const unsigned char *)base + __kds_unpack(meta.extra_offset),
		meta.nullmap_offset == 0 ?
			nullptr :
			(const unsigned char *)base + __kds_unpack(meta.nullmap_offset),
		(const unsigned char *)VARDATA_ANY(arg4), VARSIZE_ANY_EXHDR(arg4), nrows);
	rc = cudaDeviceSynchronize();
	if (rc != cudaSuccess)
		CUEXIT(rc, "the similarities were not computed");
	std::vector<cl_long> ids(nrows);
	rc = cudaMemcpy(ids.data(), base + __kds_unpack(kds->colmeta[arg2 - 1].va_offset),
					sizeof(cl_long) * nrows, cudaMemcpyDefault);
	if (rc != cudaSuccess)
		CUEXIT(rc, "the ids cannot be read");
	for (size_t i = 0; i < nrows; i++)
		if (similarities[i] >= arg5)
		{
			plcuda_row row;

			row.c1 = ids[i];
			row.c2 = similarities[i];
			plcuda_emit(row);
		}
#plcuda_end
$$;
