/*
 * value_reader.h - values of one type from the bytes that turbine-file-reader sends.
 */
#ifndef TURBINE_PG_FDW_VALUE_READER_H
#define TURBINE_PG_FDW_VALUE_READER_H

#include "postgres.h"

#include "lib/stringinfo.h"

#include "turbine/file_reader.h"

typedef struct TbValueReader TbValueReader;

/* Bytes of a frame that are not read yet. */
typedef struct TbReaderBytes
{
	const char *at;
	const char *end;
} TbReaderBytes;

/* For values of a column of this type, in the current memory context. */
extern TbValueReader *tb_value_reader(Oid type, int32 typmod);

/* What the type is to turbine-file-reader, without parts. */
extern TbReaderTarget tb_value_reader_target(const TbValueReader *reader);

/* Appends the type to a request. */
extern void tb_value_reader_describe(const TbValueReader *reader, StringInfo request);

/* The next value, in the current memory context. Raises an error if the bytes are not what
 * turbine/file_reader.h says, or the type does not take the value. */
extern Datum tb_value_read(TbValueReader *reader, TbReaderBytes *bytes, bool *isnull);

#endif
