/*
 * file_reader.h - what a backend and its turbine-file-reader say to each other.
 *
 * The backend starts the program with a unix stream socket as standard input and a pipe as
 * standard output. A request goes down the socket: its length (uint32, of what follows),
 * its kind (uint32), and its fields; the descriptor of the file it is about travels with
 * its first byte. Frames come up the pipe, each a TbReaderFrame and its payload. Requests
 * are answered one after the other, each by any number of frames, of which TB_FRAME_DONE
 * or TB_FRAME_ERROR is the last. Both are on one machine, so numbers have its byte order,
 * except in rows; nothing is aligned. A text is a uint32 length and its bytes.
 *
 * DESCRIBE  text name (for messages)
 *           answered by TB_FRAME_DESCRIPTION: uint32 format, uint32 ncolumns; per column:
 *           text name, text Arrow type, text SQL type (empty: none), text geometry
 *           (its type modifier, "geometry" before it; empty: it is none), text why it
 *           cannot be read as the geometry that the file calls it (empty: it can), uint8
 *           nullable, uint8 has bounds, int64 bytes; uint32 nbatches; per batch: int64
 * rows, int64 bytes SCAN      text name, uint32 ncolumns; per column: text name, target;
 * uint32 nbounds; per bound: uint32 column (of these), uint32 TbReaderCompare, uint32
 * nvalues, texts answered by TB_FRAME_ROWS, then DONE: uint32 batches read, uint32 skipped
 *
 * A target is what PostgreSQL expects: uint32 TbReaderTarget; of an ARRAY the element's
 * target follows, of a COMPOSITE uint32 nfields and per field text name, target.
 *
 * ROWS      uint32 nrows, and per row and column an int32 length in network order, -1 for
 *           NULL, and the bytes that the type's receive function takes, except: TEXT, JSON
 *           the text in UTF-8; GEOMETRY well-known binary, which begins with a byte 0 or 1,
 *           or the text that its input function takes; ARRAY uint32 ndim, int32 lengths of
 * dimensions (network order), then elements as columns; COMPOSITE its fields as columns
 * ERROR     char[5] SQLSTATE, text message, text detail, text hint
 */
#ifndef TURBINE_FILE_READER_H
#define TURBINE_FILE_READER_H

#include <stdint.h>

typedef enum TbReaderRequest
{
	TB_READER_DESCRIBE = 1,
	TB_READER_SCAN = 2
} TbReaderRequest;

typedef enum TbReaderTarget
{
	TB_TARGET_BOOL = 1,
	TB_TARGET_INT2 = 2,
	TB_TARGET_INT4 = 3,
	TB_TARGET_INT8 = 4,
	TB_TARGET_FLOAT4 = 5,
	TB_TARGET_FLOAT8 = 6,
	TB_TARGET_NUMERIC = 7,
	TB_TARGET_TEXT = 8, /* and what else has an input function and no target of its own */
	TB_TARGET_BYTEA = 9,
	TB_TARGET_UUID = 10,
	TB_TARGET_DATE = 11,
	TB_TARGET_TIME = 12,
	TB_TARGET_TIMESTAMP = 13,
	TB_TARGET_TIMESTAMPTZ = 14,
	TB_TARGET_INTERVAL = 15,
	TB_TARGET_JSON = 16, /* and jsonb */
	TB_TARGET_ARRAY = 17,
	TB_TARGET_COMPOSITE = 18,
	TB_TARGET_GEOMETRY = 19 /* PostGIS's */
} TbReaderTarget;

/* How a bound's column compares with its values; EQUAL: with any of them. A batch without
 * a row that may satisfy all bounds is skipped. Values are decimal numbers: integers, days
 * or microseconds since 2000-01-01 for the targets that have them, or any number for
 * FLOAT8 and NUMERIC; of TEXT the text, compared byte by byte. */
typedef enum TbReaderCompare
{
	TB_COMPARE_LESS = 1,
	TB_COMPARE_LESS_EQUAL = 2,
	TB_COMPARE_EQUAL = 3,
	TB_COMPARE_GREATER_EQUAL = 4,
	TB_COMPARE_GREATER = 5
} TbReaderCompare;

typedef enum TbReaderFrameKind
{
	TB_FRAME_ROWS = 1,
	TB_FRAME_DESCRIPTION = 2,
	TB_FRAME_DONE = 3,
	TB_FRAME_ERROR = 4
} TbReaderFrameKind;

/*
 *  OFFSET  SIZE  DESCRIPTION
 *       0     4  TbReaderFrameKind
 *       4     4  bytes of the payload that follows
 */
typedef struct TbReaderFrame
{
	uint32_t kind;
	uint32_t length;
} TbReaderFrame;

/* A row, and so a frame, is smaller than what PostgreSQL can allocate. */
#define TB_READER_MAX_FRAME 0x3fffff00u

/* Rows are sent when a frame has reached this size, in bytes. */
#define TB_READER_FRAME_BYTES (256 * 1024)

#endif
