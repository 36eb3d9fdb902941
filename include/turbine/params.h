/*
 * params.h - the values of a program's parameters, for one execution.
 *
 * The block starts with the header, then TbParam[count], then the bytes of texts, arrays
 * and time zones (zone.h). A backend writes it (src/pg/convert/param_block.c), and the
 * engine checks it (check_params). Generated code reads it in place, on any device, and
 * checks nothing.
 */
#ifndef TURBINE_PARAMS_H
#define TURBINE_PARAMS_H

#include "types.h"

#define TB_PARAMS_MAGIC 0x4d505442u /* "BTPM" */

/*
 * One value. 32 bytes, 16-aligned in the block.
 *
 * OFFSET SIZE  FIELD
 *      0    1  is_null
 *      1    3  reserved, zero
 *      4    4  length    text: bytes; array: elements; else 0
 *      8    8  offset    text, array: bytes from the start of the block; else 0
 *     16   16  value     scalars but text: the value, low bytes first
 *                        (numerics sign-extended to 128 bits)
 *
 * An array value at `offset` (16-aligned) is `length` elements of
 * tb_type_width bytes each (text: TbTextView whose offset counts from the
 * start of the block), followed by `length` bytes: 1 where the element is NULL.
 */
typedef struct TbParam
{
	uint8_t	 is_null;
	uint8_t	 reserved[3];
	uint32_t length;
	uint64_t offset;
	uint64_t value[2];
} TbParam;

/*
 * OFFSET SIZE  FIELD
 *      0    4  magic
 *      4    4  count
 *      8    8  total_size
 *     16   16  reserved, zero
 *     32    -  TbParam[count]
 */
typedef struct TbParamBlock
{
	uint32_t magic;
	uint32_t count;
	uint64_t total_size;
	int64_t	 reserved[2];
} TbParamBlock;

static inline const TbParam *
tb_param(const TbParamBlock *block, uint32_t index)
{
	return (const TbParam *) (block + 1) + index;
}

#ifdef __cplusplus
static_assert(sizeof(TbParam) == 32, "TbParam layout");
static_assert(sizeof(TbParamBlock) == 32, "TbParamBlock layout");
#endif

#endif
