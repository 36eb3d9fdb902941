/*
 * relation_files.c - see relation_files.h.
 *
 * The backend opens the files, since it holds the relation's lock and knows
 * its path; the daemon never opens one by name and never keeps one, since DROP
 * and TRUNCATE rely on everyone letting go. Called at the start of a query.
 */
#include "postgres.h"

#include <fcntl.h>

#include "common/relpath.h"
#include "storage/fd.h"
#include "storage/smgr.h"
#include "utils/rel.h"

#include "pg/source/heap/relation_files.h"

/* Open at a time: a backend may have few descriptors to spare. */
#define FILES_A_MESSAGE 16

static int
open_file(Relation rel, uint32 number)
{
	char *base = relpath(RelationGetSmgr(rel)->smgr_rnode, MAIN_FORKNUM);
	char *path = number == 0 ? base : psprintf("%s.%u", base, number);
	int	  fd = OpenTransientFile(path, O_RDONLY | PG_BINARY);

	if (path != base)
		pfree(path);
	pfree(base);
	return fd;
}

static TbFilesSent
send_batch(TbServiceQuery *query, Relation rel, uint32 first, uint32 count)
{
	int			 fds[FILES_A_MESSAGE];
	TbFiles		 message = {.first_file = first, .count = count};
	struct iovec part = {.iov_base = &message, .iov_len = sizeof(message)};
	TbFilesSent	 result = TB_FILES_SENT;
	uint32		 nopen = 0;

	while (nopen < count)
	{
		fds[nopen] = open_file(rel, first + nopen);
		if (fds[nopen] < 0)
			break;
		nopen++;
	}
	if (nopen < count)
		result = TB_FILES_NONE;
	else if (!tb_service_query_send_parts(query, TB_MSG_FILES, &part, 1, fds, count))
		result = TB_FILES_LOST;
	for (uint32 i = 0; i < nopen; i++)
		CloseTransientFile(fds[i]);
	return result;
}

TbFilesSent
tb_relation_files_send(TbServiceQuery *query, Relation rel, BlockNumber nblocks)
{
	uint32 nfiles = (nblocks - 1) / RELSEG_SIZE + 1;

	for (uint32 first = 0; first < nfiles; first += FILES_A_MESSAGE)
	{
		TbFilesSent sent = send_batch(query, rel, first,
									  Min(FILES_A_MESSAGE, nfiles - first));

		if (sent != TB_FILES_SENT)
			return sent;
	}
	return TB_FILES_SENT;
}
