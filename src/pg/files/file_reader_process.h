/*
 * file_reader_process.h - this backend's turbine-file-reader processes.
 *
 * A reader serves one scan, or one description, at a time and belongs to the resource owner
 * that started it; an aborted owner ends the process. One that has answered everything is
 * kept for the next.
 */
#ifndef TURBINE_PG_FILES_FILE_READER_PROCESS_H
#define TURBINE_PG_FILES_FILE_READER_PROCESS_H

#include "postgres.h"

#include "lib/stringinfo.h"

#include "turbine/file_reader.h"

typedef struct TbFileReader TbFileReader;

typedef struct TbReaderAnswer
{
	TbReaderFrameKind kind; /* ROWS, DESCRIPTION or DONE */
	const char		 *data; /* until the next call */
	uint32			  length;
} TbReaderAnswer;

extern TbFileReader *tb_file_reader_start(void);

/* A request's beginning, and texts in it. */
extern void tb_reader_request_begin(StringInfo request, TbReaderRequest kind,
									const char *name);
extern void tb_reader_request_number(StringInfo request, uint32 number);
extern void tb_reader_request_text(StringInfo request, const char *text);

/* Sends a request and the file it is about; the descriptor stays the caller's. */
extern void tb_file_reader_send(TbFileReader *reader, const StringInfo request, int fd);

/* Waits for the next frame. Raises what the reader reports, and an error if the process has
 * ended. */
extern TbReaderAnswer tb_file_reader_receive(TbFileReader *reader);

/* Ends the use of it, and the process if requests are not answered yet. */
extern void tb_file_reader_release(TbFileReader *reader);

#endif
