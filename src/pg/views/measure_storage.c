/*
 * measure_storage.c - turbine.storage_test(): how fast files of a tablespace can be read.
 *
 * Writes a file to the tablespace, has turbine-storage-test read it, and removes it. The
 * file is named as PostgreSQL's temporary files are, so one that a crash leaves behind goes
 * with these at the next start. Called by SQL; superusers only, since it fills drives and
 * the page cache.
 */
#include "postgres.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "commands/tablespace.h"
#include "common/pg_prng.h"
#include "fmgr.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/builtins.h"
#include "utils/wait_event.h"

#include "pg/compat/pg17.h"
#include "pg/files/child_program.h"

#define PROGRAM "turbine-storage-test"
/* Columns of a line of the program's; the first one is text, the second and the last too.
 */
#define TEST_COLUMNS 14
#define WRITE_BYTES (1024 * 1024)
#define MOST_MEGABYTES (1024 * 1024)
#define SECONDS_EACH "1"

extern PGDLLEXPORT Datum turbine_storage_test(PG_FUNCTION_ARGS);
PG_FUNCTION_INFO_V1(turbine_storage_test);

/* Bytes that drives cannot compress. */
static void
write_file(File file, int megabytes)
{
	uint64		 *block = palloc(WRITE_BYTES);
	pg_prng_state prng;

	pg_prng_seed(&prng, (uint64) MyProcPid);
	for (int i = 0; i < (int) (WRITE_BYTES / sizeof(uint64)); i++)
		block[i] = pg_prng_uint64(&prng);
	for (int i = 0; i < megabytes; i++)
	{
		CHECK_FOR_INTERRUPTS();
		block[0] = (uint64) i;
		if (FileWrite(file, (char *) block, WRITE_BYTES, (off_t) i * WRITE_BYTES,
					  PG_WAIT_EXTENSION) != WRITE_BYTES)
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not write a file of %d MB to the tablespace: %m",
							megabytes),
					 errhint("Free some room, or ask for fewer megabytes.")));
	}
	/* Otherwise the drive would write while it is measured. */
	if (FileSync(file, PG_WAIT_EXTENSION) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not flush file \"%s\": %m", FilePathName(file))));
	pfree(block);
}

/* All that the program writes; it has ended its output then. */
static void
read_output(int fd, StringInfo output)
{
	char part[4096];

	for (;;)
	{
		ssize_t n = read(fd, part, sizeof(part));

		if (n > 0)
			appendBinaryStringInfo(output, part, (int) n);
		else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			tb_wait_for_program(fd, WL_SOCKET_READABLE);
		else if (n == 0)
			return;
		else if (errno != EINTR)
			ereport(ERROR,
					(errcode(ERRCODE_IO_ERROR),
					 errmsg("could not read from " PROGRAM ": %m")));
	}
}

/* Runs the program on the file; its lines. */
static void
run_program(const char *path, StringInfo output)
{
	char *arguments[] =
		{PROGRAM, "--tabs", "--seconds", SECONDS_EACH, unconstify(char *, path), NULL};
	int	  ends[2];
	int	  files[2];
	int	  error, status = 0;
	pid_t pid = 0;

	if (pipe2(ends, O_CLOEXEC) != 0)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not make a pipe: %m")));
	files[0] = -1;
	files[1] = ends[1];
	error = tb_spawn_program(arguments, NULL, files, 2, &pid);
	close(ends[1]);
	if (error != 0)
		pid = 0;
	PG_TRY();
	{
		if (pid != 0)
		{
			(void) fcntl(ends[0], F_SETFL, O_NONBLOCK);
			read_output(ends[0], output);
		}
	}
	PG_FINALLY();
	{
		close(ends[0]);
		if (pid != 0)
		{
			/* Cancelled: it may be in the middle of a measurement. */
			(void) kill(-pid, SIGKILL);
			while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
				;
		}
	}
	PG_END_TRY();
	if (output->len == 0)
		ereport(ERROR,
				(errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
				 errmsg(PROGRAM " measured nothing"),
				 errdetail(
					 "It could not be started, or it has ended with an error that is in "
					 "the server's log."),
				 errhint("It, and the libraries it needs, are in \"%s/pg_turbine\".",
						 pkglib_path)));
}

/* One line of the program's as a row. */
static void
put_line(ReturnSetInfo *rsinfo, AttInMetadata *input, char *line)
{
	char *values[TEST_COLUMNS];

	for (int i = 0; i < TEST_COLUMNS; i++)
	{
		values[i] = line;
		line = strchr(line, '\t');
		if ((line == NULL) != (i == TEST_COLUMNS - 1))
			ereport(ERROR,
					(errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
					 errmsg(PROGRAM " is of another release")));
		if (line != NULL)
			*line++ = '\0';
	}
	/* No error is no text. */
	if (values[TEST_COLUMNS - 1][0] == '\0')
		values[TEST_COLUMNS - 1] = NULL;
	tuplestore_puttuple(rsinfo->setResult, BuildTupleFromCStrings(input, values));
}

static void
put_lines(ReturnSetInfo *rsinfo, StringInfo output)
{
	AttInMetadata *input = TupleDescGetAttInMetadata(rsinfo->setDesc);
	char		  *rest = NULL;

	for (char *line = strtok_r(output->data, "\n", &rest); line != NULL;
		 line = strtok_r(NULL, "\n", &rest))
		put_line(rsinfo, input, line);
}

Datum
turbine_storage_test(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	Oid			   tablespace = get_tablespace_oid(NameStr(*PG_GETARG_NAME(0)), false);
	int			   megabytes = PG_GETARG_INT32(1);
	char		   folder[MAXPGPATH], above[MAXPGPATH];
	char		  *path;
	File		   file;
	StringInfoData output;

	if (!superuser())
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("only superusers may test the storage of a tablespace")));
	if (megabytes < 1 || megabytes > MOST_MEGABYTES)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("the size of the file must be 1 to %d megabytes", MOST_MEGABYTES)));
	InitMaterializedSRF(fcinfo, 0);

	TempTablespacePath(folder, tablespace);
	strlcpy(above, folder, sizeof(above));
	get_parent_directory(above);
	(void) MakePGDirectory(above);
	(void) MakePGDirectory(folder);
	path = psprintf("%s/%s%d.storage_test", folder, PG_TEMP_FILE_PREFIX, MyProcPid);
	file = PathNameCreateTemporaryFile(path, true);
	initStringInfo(&output);
	PG_TRY();
	{
		write_file(file, megabytes);
		run_program(path, &output);
	}
	PG_FINALLY();
	{
		FileClose(file);
		PathNameDeleteTemporaryFile(path, false);
	}
	PG_END_TRY();
	put_lines(rsinfo, &output);
	return (Datum) 0;
}
