/*
 * file_writer.h - what a backend says to its turbine-file-writer, and the answer.
 *
 * The backend starts the program with pipes as standard input and output, and for the
 * tables of arrow_fdw with a folder as descriptor TB_WRITER_FOLDER. Down go requests, one
 * after the other, until the pipe ends between two of them. A request has numbers in the
 * machine's byte order, a text as uint32 length and bytes in UTF-8: uint32 TB_WRITER_MAGIC,
 * uint32 flags (TB_WRITER_*), uint32 stop (0, or the number of the write before which the
 * program stops itself, for tests), text path, text compression
 * ("none", "lz4", "zstd", "snappy"); then of an ADDITION text like, of a MERGE text old,
 * uint32 additions, per addition text name; then, except of a MERGE, uint32 columns; per
 * column: text name, uint32 object id of its type, int32 type modifier, uint32 object id of
 * the element's type (of an array; else 0), uint32 width of its values (1, 2, 4, 8, 16; 0:
 * each has its own). Id 0: texts. Then rows in blocks: a TbWriterBlock, then for each
 * column a TbWriterPart; of a column with a width, if any value is NULL, a byte for each
 * row, 0 of a NULL; of one without, int32 lengths, -1 of a NULL; then the bytes of the
 * part. Those of a width are the machine's numbers, one for each row, a NULL too (0), but
 * of uuids and of other columns what the type's send function makes of it. Each of these
 * parts is filled up to a multiple of TB_WRITER_ALIGNMENT. Numerics with a width, which is
 * 16 then and not in an ADDITION, are signed integers of that size in units of their
 * modifier's scale, or one of TB_WRITER_NO_DECIMAL and TB_WRITER_NAN as the upper half. A
 * block of no rows is the end. A pipe that ends before means that the backend gave up: no
 * file is made. Up comes one TbWriterAnswer per request and the text of its message, at the
 * end or as soon as something is wrong; then the program ends.
 *
 * Of ADDITION and MERGE all names are those of files in the folder, and the path is a new
 * file's, which is neither renamed nor removed by the program. An ADDITION is an Arrow file
 * of the rows, with the columns of the file `like` (empty: those of the rows), but without
 * its dictionaries. A MERGE is the file `old` (empty: none) with the rows of the additions
 * behind it, on disk when the answer comes.
 */
#ifndef TURBINE_FILE_WRITER_H
#define TURBINE_FILE_WRITER_H

#include <stdint.h>

#define TB_WRITER_MAGIC 0x57465442u /* "BTFW" */

#define TB_WRITER_PARQUET 0x01u		/* else Arrow IPC */
#define TB_WRITER_STATISTICS \
	0x02u /* Arrow: least and greatest values of batches in the fields' metadata */
#define TB_WRITER_SQL_ASCII 0x04u /* texts may be anything */
#define TB_WRITER_ADDITION 0x08u
#define TB_WRITER_MERGE 0x10u
#define TB_WRITER_EMPTIED 0x20u /* of a MERGE: only the columns of `old`, not its rows */

#define TB_WRITER_FOLDER 3

/* Bytes; what is read of a block lies at multiples of it. */
#define TB_WRITER_ALIGNMENT 8

/* Upper halves of what is no decimal of 38 digits. */
#define TB_WRITER_NAN INT64_MIN
#define TB_WRITER_NO_DECIMAL (INT64_MIN + 1) /* the modifier does not take it */

typedef struct TbWriterBlock
{
	uint32_t length; /* of what follows, in bytes */
	uint32_t rows;
} TbWriterBlock;

typedef struct TbWriterPart
{
	uint32_t nulls;
	uint32_t bytes; /* of the values */
} TbWriterPart;

typedef enum TbWriterResult
{
	TB_WRITER_DONE = 0,
	TB_WRITER_BAD_VALUE, /* the file's type can not hold it */
	TB_WRITER_BAD_FILE,	 /* it could not be written */
	TB_WRITER_BAD_COLUMN /* the older file has columns that can not take such rows */
} TbWriterResult;

typedef struct TbWriterAnswer
{
	uint32_t result; /* TbWriterResult */
	uint32_t message_length;
	int64_t	 rows;
	int64_t	 bytes; /* of the file */
} TbWriterAnswer;

#endif
