/*
 * file_writer.h - what a backend says to its turbine-file-writer, and the answer.
 *
 * The backend starts the program with pipes as standard input and output. For tables of
 * arrow_fdw it also passes a folder, as descriptor TB_WRITER_FOLDER. Requests go down,
 * one after the other, until the pipe ends between two of them. A pipe that ends
 * elsewhere means that the backend gave up: no file is made. For each request one
 * TbWriterAnswer and the text of its message come up, at the end or as soon as something
 * is wrong. After an error the program ends.
 *
 * Numbers have the machine's byte order. A text is a uint32 length and its bytes: names
 * of files as the file system has them, all others in UTF-8.
 *
 *   request  uint32 TB_WRITER_MAGIC, uint32 flags (TB_WRITER_*), uint32 stop (for tests:
 *            the number of the write before which the program stops itself; 0: none),
 *            text path, text compression ("none", "lz4", "zstd", "snappy"); for an
 *            ADDITION text like; for a MERGE text old, uint32 additions, and for each
 *            text name. A MERGE ends here
 *   columns  uint32 count; for each: text name, uint32 object id of its type (0: texts),
 *            int32 type modifier, uint32 object id of an array's element type (else 0),
 *            uint32 width of its values (1, 2, 4, 8, 16; 0: each has its own)
 *   rows     blocks, of which one without rows is the end. A block is a TbWriterBlock,
 *            then for each column a TbWriterPart and its pieces, each filled up to a
 *            multiple of TB_WRITER_ALIGNMENT. With a width: if any value is NULL, a byte
 *            for each row, 0 for a NULL; then the values, 0 for a NULL. Without: int32
 *            lengths, -1 for a NULL; then the bytes of the values
 *   values   with a width the machine's numbers; uuids, and values without a width, as
 *            the type's send function makes them. Numerics whose modifier gives a scale
 *            have width 16, except in an ADDITION: signed integers in units of that
 *            scale, or TB_WRITER_NO_DECIMAL or TB_WRITER_NAN as the upper half
 *
 * In an ADDITION and a MERGE all names of files are names in the folder. The path is a
 * new file's, which the program neither renames nor removes. An ADDITION is an Arrow file
 * of the rows. It has the columns of the file `like` (empty: those of the rows), but no
 * dictionaries. A MERGE is the file `old` (empty: none) with the rows of the additions
 * behind it. It is on disk when the answer comes.
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
