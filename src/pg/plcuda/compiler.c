/*
 * compiler.c - see compiler.h.
 *
 * A library's name is a hash of all that it is made of: source, headers, command line,
 * compiler. So nothing has to be invalidated: a changed function, extension, toolkit or GPU
 * has another name. Each compiler has a folder of its own for its files, and moves the
 * library into its place when it is done; two sessions that compile the same do no harm.
 * What the cache keeps is library_cache.c's to decide. Called by language.c.
 */
#include "postgres.h"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cryptohash.h"
#include "common/sha2.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "pg/plcuda/compiler.h"
#include "pg/plcuda/library_cache.h"
#include "pg/plcuda/limited_process.h"
#include "pg/settings/plcuda_settings.h"
#include "pg/shmem/device_list.h"

#define COMPILE_SECONDS 300
#define MOST_OUTPUT 8192
#define POLL_MS 100
#define MOST_COMPILE_ARGUMENTS 80
#define DEVICES_WAIT_MS 3000 /* for a service that is starting to tell its GPUs */

static bool
has_nvcc(const char *home)
{
	char path[MAXPGPATH];

	snprintf(path, sizeof(path), "%s/bin/nvcc", home);
	return access(path, X_OK) == 0;
}

/* The toolkit of the first nvcc in PATH; NULL: there is none. */
static char *
home_in_path(void)
{
	const char *path = getenv("PATH");

	while (path != NULL && *path != '\0')
	{
		Size  length = strcspn(path, ":");
		char *nvcc = psprintf("%.*s/nvcc", (int) length, path);

		if (length > 0 && access(nvcc, X_OK) == 0)
		{
			char *real = realpath(nvcc, NULL);

			if (real != NULL)
			{
				char *home = pstrdup(real);

				free(real);
				get_parent_directory(home); /* the program's folder */
				get_parent_directory(home);
				return home;
			}
		}
		path += length + (path[length] == ':' ? 1 : 0);
	}
	return NULL;
}

/* NULL: there is no compiler. */
static char *
find_cuda(void)
{
	char *home;

	if (tb_cuda_home != NULL && tb_cuda_home[0] != '\0')
		return has_nvcc(tb_cuda_home) ? pstrdup(tb_cuda_home) : NULL;
	home = home_in_path();
	if (home != NULL && has_nvcc(home))
		return home;
	if (has_nvcc("/usr/local/cuda"))
		return pstrdup("/usr/local/cuda");
	home = psprintf("%s/pg_turbine/cuda", pkglib_path);
	return has_nvcc(home) ? home : NULL;
}

bool
tb_plcuda_has_compiler(void)
{
	return find_cuda() != NULL;
}

char *
tb_plcuda_compiler_hint(void)
{
	if (tb_cuda_home != NULL && tb_cuda_home[0] != '\0')
		return psprintf("pg_turbine.cuda_home is \"%s\", which has no bin/nvcc.",
						tb_cuda_home);
	return psprintf(
		"Run \"%s/pg_turbine/install_cuda_compiler.sh\", which downloads NVIDIA's "
		"compiler, or install the CUDA toolkit and set pg_turbine.cuda_home.",
		pkglib_path);
}

char **
tb_plcuda_environment(const char *folder)
{
	const char *path = getenv("PATH");
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	char	  **environment = palloc0(sizeof(char *) * 8);
	int			n = 0;

	environment[n++] = psprintf("PATH=%s", path != NULL ? path : "/usr/bin:/bin");
	environment[n++] = psprintf("TMPDIR=%s", folder);
	environment[n++] = psprintf("HOME=%s", folder);
	environment[n++] = "LC_ALL=C";
	/* There is machine code: nothing is compiled once more, nor kept in a folder for that.
	 */
	environment[n++] = "CUDA_CACHE_DISABLE=1";
	if (visible != NULL)
		environment[n++] = psprintf("CUDA_VISIBLE_DEVICES=%s", visible);
	return environment;
}

/* The devices as the service told them last. A session that knows none waits for a service
 * that is starting, once. */
static int
list_devices(TbDeviceInfo *devices)
{
	static TbDeviceInfo known[TB_MAX_DEVICES];
	static int			nknown = 0;
	static bool			has_waited = false;
	int					count = tb_devices_snapshot(devices, TB_MAX_DEVICES);

	for (int waited = 0;
		 count == 0 && nknown == 0 && !has_waited && waited < DEVICES_WAIT_MS;
		 waited += POLL_MS)
	{
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, POLL_MS,
						 PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
		count = tb_devices_snapshot(devices, TB_MAX_DEVICES);
	}
	has_waited = true;
	if (count > 0)
	{
		nknown = count;
		memcpy(known, devices, sizeof(TbDeviceInfo) * count);
	}
	else
		memcpy(devices, known, sizeof(TbDeviceInfo) * nknown);
	return nknown;
}

/* Adds -gencode for each kind of GPU that there is; without a GPU for the H200's. It asks
 * for machine code alone: another GPU has the function compiled anew. */
static int
add_targets(char **arguments, int n)
{
	TbDeviceInfo devices[TB_MAX_DEVICES];
	int			 count = list_devices(devices);
	int			 first = n;

	for (int i = 1; i < count; i++)
	{
		const char *target = devices[i].target;
		int			number;
		char	   *argument;
		bool		is_new = true;

		if (sscanf(target, "sm_%d", &number) != 1)
			continue;
		argument = psprintf("-gencode=arch=compute_%d,code=sm_%d", number, number);
		for (int j = first; j < n; j++)
			is_new = is_new && strcmp(arguments[j], argument) != 0;
		if (is_new)
			arguments[n++] = argument;
	}
	if (n == first)
		arguments[n++] = "-gencode=arch=compute_90,code=sm_90";
	return n;
}

/* How the linker is asked for a library: by its name if the toolkit has lib<name>.so or .a,
 * or if it is none of the toolkit's; else by the file, whose name has a number behind.
 * *is_there: whether the toolkit has it. */
static char *
library_option(const char *home, const char *name, bool *is_there)
{
	char		  *folder = psprintf("%s/lib64", home);
	char		  *plain = psprintf("lib%s.so", name);
	DIR			  *dir = AllocateDir(folder);
	struct dirent *entry;
	char		  *numbered = NULL;

	*is_there = false;
	while (dir != NULL && (entry = ReadDirExtended(dir, folder, LOG)) != NULL)
	{
		Size length = strlen(plain);

		if (strcmp(entry->d_name, plain) == 0 ||
			strcmp(entry->d_name, psprintf("lib%s.a", name)) == 0)
			*is_there = true;
		else if (strncmp(entry->d_name, plain, length) == 0 &&
				 entry->d_name[length] == '.' && numbered == NULL)
			numbered = pstrdup(entry->d_name);
	}
	if (dir != NULL)
		FreeDir(dir);
	if (*is_there || numbered == NULL)
		return psprintf("-l%s", name);
	*is_there = true;
	return psprintf("-l:%s", numbered);
}

/* nvcc's command line but for the files, from `arguments[n]` on; returns the end. */
static int
add_options(char **arguments, int n, const char *home, const TbPlcudaShape *shape)
{
	ListCell *lc;

	arguments[n++] = "-O2";
	arguments[n++] = "-std=c++17";
	arguments[n++] = "-shared";
	/* A library that stands for itself; its start-up code must not be shared. */
	arguments[n++] = "-cudart=static";
	arguments[n++] = "-Xcompiler=-fPIC,-fno-gnu-unique,-fvisibility=hidden";
	arguments[n++] = "-Xlinker=--wrap=__cudaPushCallConfiguration";
	arguments[n++] = psprintf("-Xlinker=-rpath,%s/lib64", home);
	/* No "return": undefined in C++, an error here. */
	arguments[n++] = "--diag-error=940";
	n = add_targets(arguments, n);
	arguments[n++] = psprintf("-I%s/pg_turbine/include", pkglib_path);
	arguments[n++] = psprintf("-L%s/lib64", home);
	foreach(lc, shape->body->libraries)
	{
		bool is_there;

		if (n > MOST_COMPILE_ARGUMENTS - 8)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("function %s names too many libraries", shape->name)));
		arguments[n++] = library_option(home, lfirst(lc), &is_there);
	}
	return n;
}

static void
hash_file(pg_cryptohash_ctx *hash, const char *path, bool whole)
{
	struct stat found;
	uint64		facts[2];

	if (stat(path, &found) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not stat file \"%s\": %m", path)));
	facts[0] = found.st_size;
	facts[1] = found.st_mtime;
	(void) pg_cryptohash_update(hash, (uint8 *) facts, sizeof(facts));
	if (whole)
	{
		char *buffer = palloc(found.st_size + 1);
		FILE *file = AllocateFile(path, "r");
		Size  size;

		if (file == NULL)
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not open file \"%s\": %m", path)));
		size = fread(buffer, 1, found.st_size, file);
		FreeFile(file);
		(void) pg_cryptohash_update(hash, (uint8 *) buffer, size);
		pfree(buffer);
	}
}

/* The name of what is made of all this, 64 digits. */
static char *
hash_of(const char *source, char *const *arguments, const char *home)
{
	static const char *const headers[] = {"plcuda.h", "plcuda_call.h", "turbine/plcuda.h"};
	pg_cryptohash_ctx		*hash = pg_cryptohash_create(PG_SHA256);
	uint8					 digest[PG_SHA256_DIGEST_LENGTH];
	char					*name = palloc(PG_SHA256_DIGEST_LENGTH * 2 + 1);

	if (hash == NULL || pg_cryptohash_init(hash) != 0)
		elog(ERROR, "could not begin a hash");
	(void) pg_cryptohash_update(hash, (const uint8 *) source, strlen(source) + 1);
	for (; *arguments != NULL; arguments++)
		(void) pg_cryptohash_update(hash, (const uint8 *) *arguments,
									strlen(*arguments) + 1);
	hash_file(hash, psprintf("%s/bin/nvcc", home), false);
	for (int i = 0; i < (int) lengthof(headers); i++)
		hash_file(hash, psprintf("%s/pg_turbine/include/%s", pkglib_path, headers[i]),
				  true);
	if (pg_cryptohash_final(hash, digest, sizeof(digest)) != 0)
		elog(ERROR, "could not end a hash");
	pg_cryptohash_free(hash);
	for (int i = 0; i < PG_SHA256_DIGEST_LENGTH; i++)
		sprintf(name + 2 * i, "%02x", digest[i]);
	return name;
}

static void
make_folder(const char *path)
{
	if (MakePGDirectory(path) != 0 && errno != EEXIST)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not create directory \"%s\": %m", path)));
}

static void
write_source(const char *path, const char *source)
{
	FILE *file = AllocateFile(path, "w");

	if (file == NULL || fputs(source, file) == EOF || FreeFile(file) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not write file \"%s\": %m", path)));
}

/* Waits for the process's end, and collects what it prints. Its status. */
static int
wait_for_compiler(TbLimitedProcess *process, StringInfo output, const TbPlcudaShape *shape)
{
	TimestampTz deadline = GetCurrentTimestamp() + COMPILE_SECONDS * USECS_PER_SEC;
	int			status = 0;
	bool		prints = true;

	for (;;)
	{
		int happened;

		CHECK_FOR_INTERRUPTS();
		prints = prints && tb_limited_process_read(process, output, MOST_OUTPUT);
		if (tb_limited_process_has_ended(process, &status))
		{
			(void) tb_limited_process_read(process, output, MOST_OUTPUT);
			return status;
		}
		if (GetCurrentTimestamp() > deadline)
			ereport(ERROR,
					(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
					 errmsg("compiling function %s has taken longer than %d s", shape->name,
							COMPILE_SECONDS)));
		happened = WaitLatchOrSocket(MyLatch,
									 WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | WL_TIMEOUT |
										 (prints ? WL_SOCKET_READABLE : 0),
									 prints ? process->output : PGINVALID_SOCKET,
									 prints ? POLL_MS : 5, PG_WAIT_EXTENSION);
		if (happened & WL_LATCH_SET)
			ResetLatch(MyLatch);
	}
}

/* What may be missing: a library of NVIDIA's that the toolkit has not. */
static char *
hint_of_error(const TbPlcudaShape *shape, const char *home)
{
	ListCell *lc;

	foreach(lc, shape->body->libraries)
	{
		const char *name = lfirst(lc);
		bool		is_there;

		if (strncmp(name, "cu", 2) != 0 && strncmp(name, "np", 2) != 0 &&
			strncmp(name, "nv", 2) != 0)
			continue;
		(void) library_option(home, name, &is_there);
		if (!is_there)
			return psprintf("Library \"%s\" is not in \"%s/lib64\". Run "
							"\"%s/pg_turbine/install_cuda_compiler.sh %s nvidia-%s\".",
							name, home, pkglib_path, home, name);
	}
	return "Numbers of lines are those of the function's body.";
}

static _Noreturn void
raise_compiler_error(const TbPlcudaShape *shape, const char *home, int status, char *output)
{
	/* The compiler quotes the source, maybe cut in the middle of a character. */
	output[pg_mbcliplen(output, strlen(output), MOST_OUTPUT - MAX_MULTIBYTE_CHAR_LEN)] =
		'\0';
	for (char *c = output; *c != '\0'; c++)
		if (!pg_verify_mbstr(GetDatabaseEncoding(), output, strlen(output), true) &&
			IS_HIGHBIT_SET(*c))
			*c = '?';
	if (WIFSIGNALED(status))
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("the compiler of function %s was ended by signal %d", shape->name,
						WTERMSIG(status)),
				 errdetail("It may use pg_turbine.plcuda_memory and %d s.",
						   COMPILE_SECONDS)));
	ereport(ERROR,
			(errcode(ERRCODE_SYNTAX_ERROR),
			 errmsg("function %s cannot be compiled", shape->name),
			 output[0] != '\0' ? errdetail("%s", output) : 0,
			 errhint("%s", hint_of_error(shape, home))));
}

/* nvcc, with limits, in a folder of its own; the library is in its place afterwards. */
static void
compile(const TbPlcudaShape *shape, const char *home, const char *source,
		char *const *options, const char *library)
{
	char *folder = psprintf("%s/%s/" TB_COMPILER_FOLDER "%d", DataDir, TB_PLCUDA_FOLDER,
							MyProcPid);
	char *from = psprintf("%s/function.cu", folder);
	char *made = psprintf("%s/function.so", folder);
	char *arguments[MOST_COMPILE_ARGUMENTS + 10];
	TbLimitedProcess process = {.output = -1, .socket = -1};
	StringInfoData	 output;
	int				 n = 0;

	make_folder(psprintf("%s/pg_turbine", DataDir));
	make_folder(psprintf("%s/%s", DataDir, TB_PLCUDA_FOLDER));
	/* What a process of the same number has left behind. */
	if (access(folder, F_OK) == 0)
		(void) rmtree(folder, true);
	make_folder(folder);
	initStringInfo(&output);
	arguments[n++] = "turbine-plcuda";
	arguments[n++] = "limit";
	arguments[n++] = psprintf("%d", tb_plcuda_memory_mb);
	arguments[n++] = psprintf("%d", COMPILE_SECONDS);
	arguments[n++] = psprintf("%s/bin/nvcc", home);
	while (*options != NULL)
		arguments[n++] = *options++;
	arguments[n++] = "-o";
	arguments[n++] = made;
	arguments[n++] = from;
	arguments[n] = NULL;
	PG_TRY();
	{
		int status;

		write_source(from, source);
		tb_limited_process_start(&process, arguments, tb_plcuda_environment(folder), false);
		status = wait_for_compiler(&process, &output, shape);
		if (status != 0)
			raise_compiler_error(shape, home, status, output.data);
		if (rename(made, library) != 0)
			ereport(ERROR,
					(errcode_for_file_access(),
					 errmsg("could not rename file \"%s\" to \"%s\": %m", made, library)));
		tb_plcuda_trim_cache(library);
	}
	PG_FINALLY();
	{
		tb_limited_process_end(&process);
		(void) rmtree(folder, true);
	}
	PG_END_TRY();
}

char *
tb_plcuda_library_of(const TbPlcudaShape *shape)
{
	char *options[MOST_COMPILE_ARGUMENTS + 1] = {NULL};
	char *home = find_cuda();
	char *source;
	char *library;

	if (home == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("there is no CUDA compiler for function %s", shape->name),
				 errhint("%s", tb_plcuda_compiler_hint())));
	source = tb_plcuda_source_of(shape);
	add_options(options, 0, home, shape);
	library = psprintf("%s/%s/%s.so", DataDir, TB_PLCUDA_FOLDER,
					   hash_of(source, options, home));
	if (!tb_plcuda_use_library(library))
		compile(shape, home, source, options, library);
	return library;
}
