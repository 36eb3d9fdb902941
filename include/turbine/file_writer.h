/*
 * file_writer.h - what a backend says to its turbine-file-writer, and the answer.
 *
 * The backend starts the program with pipes as standard input and output. Down goes a
 * request, numbers in the machine's byte order, a text as uint32 length and bytes in UTF-8:
 *   uint32 TB_WRITER_MAGIC, uint32 flags (TB_WRITER_*), text path, text compression
 * ("none", "lz4", "zstd", "snappy"), uint32 columns; per column: text name, uint32 object
 * id of its type, int32 type modifier, uint32 object id of the element's type (of an array;
 * else 0). Id 0: texts. then rows in blocks, each a uint32 length, not 0, and whole rows:
 * per column an int32 length in network order, -1 for NULL, and the bytes of the type's
 * send function; and a length of 0 at the end. A pipe that ends before means that the
 * backend gave up: no file is made. Up comes one TbWriterAnswer and the text of its
 * message, at the end or as soon as something is wrong.
 */
#ifndef TURBINE_FILE_WRITER_H
#define TURBINE_FILE_WRITER_H

#include <stdint.h>

#define TB_WRITER_MAGIC 0x57465442u /* "BTFW" */

#define TB_WRITER_PARQUET 0x01u		/* else Arrow IPC */
#define TB_WRITER_STATISTICS \
	0x02u /* Arrow: least and greatest values of batches in the fields' metadata */
#define TB_WRITER_SQL_ASCII 0x04u /* texts may be anything */

typedef enum TbWriterResult
{
	TB_WRITER_DONE = 0,
	TB_WRITER_BAD_VALUE, /* the file's type can not hold it */
	TB_WRITER_BAD_FILE	 /* it could not be written */
} TbWriterResult;

typedef struct TbWriterAnswer
{
	uint32_t result; /* TbWriterResult */
	uint32_t message_length;
	int64_t	 rows;
	int64_t	 bytes; /* of the file */
} TbWriterAnswer;

#endif
