/*
 * file_list.c - expands options to files: see file_list.h.
 *
 * `dir` takes the files of a folder and of folders below it that are called key=value, as
 * Hive writes them; names that begin with a dot or an underscore are left out. `pattern` is
 * followed part by part. Neither takes a file for more than its name: what kind it is and
 * whether a link leads to it is checked by whoever opens it.
 */
#include "postgres.h"

#include <sys/stat.h>

#include "miscadmin.h"
#include "storage/fd.h"

#include "pg/files/file_list.h"

#define MAX_FOLDER_DEPTH 64
#define HIVE_NULL "__HIVE_DEFAULT_PARTITION__"

typedef struct Listing
{
	const TbFileOptions *options;
	const char			*folder; /* that files must lie in */
	List				*files;
} Listing;

static void
add_file(Listing *listing, const char *path, const TbFileKeys *keys)
{
	TbListedFile *file = palloc0(sizeof(TbListedFile));

	file->path = pstrdup(path);
	file->folder = listing->folder;
	file->nkeys = keys->nkeys;
	file->keys = palloc(sizeof(TbFileKey) * Max(keys->nkeys, 1));
	memcpy(file->keys, keys->keys, sizeof(TbFileKey) * keys->nkeys);
	listing->files = lappend(listing->files, file);
}

static char *
path_in_folder(const char *folder, const char *name)
{
	return psprintf("%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/", name);
}

static bool
is_folder(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static bool
is_link(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
}

static int
hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = pg_tolower((unsigned char) c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A value as Hive writes it into a path: %XX stands for a character. */
static char *
hive_value(const char *text)
{
	char *value, *to;

	if (strcmp(text, HIVE_NULL) == 0)
		return NULL;
	value = to = palloc(strlen(text) + 1);
	for (const char *from = text; *from != '\0'; from++)
	{
		int high = *from == '%' ? hex_digit(from[1]) : -1;
		int low = high >= 0 ? hex_digit(from[2]) : -1;

		if (low >= 0 && high * 16 + low != 0)
		{
			*to++ = (char) (high * 16 + low);
			from += 2;
		}
		else
			*to++ = *from;
	}
	*to = '\0';
	return value;
}

/* Takes key=value in; false if the name is none. */
static bool
add_hive_key(const char *name, TbFileKeys *keys)
{
	const char *equals = strchr(name, '=');

	if (equals == NULL || equals == name || keys->nkeys >= TB_MAX_FILE_KEYS)
		return false;
	keys->keys[keys->nkeys].name = pnstrdup(name, equals - name);
	keys->keys[keys->nkeys].value = hive_value(equals + 1);
	keys->nkeys++;
	return true;
}

static bool
has_suffix(const char *name, const char *suffix)
{
	size_t length = strlen(name), wanted = strlen(suffix);

	return length >= wanted && strcmp(name + length - wanted, suffix) == 0;
}

static void
list_folder(Listing *listing, const char *folder, const TbFileKeys *keys, int depth)
{
	DIR			  *dir = AllocateDir(folder);
	struct dirent *entry;

	while ((entry = ReadDir(dir, folder)) != NULL)
	{
		char	  *path;
		TbFileKeys inner = *keys;

		CHECK_FOR_INTERRUPTS();
		if (entry->d_name[0] == '.' || entry->d_name[0] == '_')
			continue;
		path = path_in_folder(folder, entry->d_name);
		if (is_folder(path))
		{
			/* A link might lead round in a circle. */
			if (depth < MAX_FOLDER_DEPTH && !is_link(path) &&
				add_hive_key(entry->d_name, &inner))
				list_folder(listing, path, &inner, depth + 1);
		}
		else if (listing->options->suffix == NULL ||
				 has_suffix(entry->d_name, listing->options->suffix))
			add_file(listing, path, keys);
		pfree(path);
	}
	FreeDir(dir);
}

/* Follows the rest of a pattern, which begins behind a slash, below a folder. */
static void
list_pattern(Listing *listing, const char *folder, const char *pattern,
			 const TbFileKeys *keys)
{
	const char	  *slash = strchr(pattern, '/');
	char		  *part = slash ? pnstrdup(pattern, slash - pattern) : pstrdup(pattern);
	DIR			  *dir;
	struct dirent *entry;

	if (!tb_file_pattern_is_open(part))
	{
		char	   *path = path_in_folder(folder, part);
		struct stat status;

		if (slash != NULL)
			list_pattern(listing, path, slash + 1, keys);
		else if (lstat(path, &status) == 0)
			add_file(listing, path, keys);
		return;
	}
	/* Files and folders that go while we look are no error; the first folder is another
	 * matter. */
	if (listing->folder == NULL)
		listing->folder = pstrdup(folder);
	else if (!is_folder(folder))
		return;
	dir = AllocateDir(folder);
	while ((entry = ReadDir(dir, folder)) != NULL)
	{
		TbFileKeys inner = *keys;
		char	  *path;

		CHECK_FOR_INTERRUPTS();
		if (!tb_file_pattern_match(part, entry->d_name, &inner))
			continue;
		path = path_in_folder(folder, entry->d_name);
		if (slash == NULL)
		{
			if (!is_folder(path))
				add_file(listing, path, &inner);
		}
		else if (is_folder(path))
			list_pattern(listing, path, slash + 1, &inner);
	}
	FreeDir(dir);
}

static int
compare_paths(const ListCell *a, const ListCell *b)
{
	return strcmp(((TbListedFile *) lfirst(a))->path, ((TbListedFile *) lfirst(b))->path);
}

List *
tb_file_list(const TbFileOptions *options)
{
	Listing		listing = {options, NULL, NIL};
	TbFileKeys *keys = palloc0(sizeof(TbFileKeys));
	ListCell   *cell;

	if (options->paths != NIL)
	{
		foreach(cell, options->paths)
			add_file(&listing, lfirst(cell), keys);
		return listing.files;
	}
	if (options->dir != NULL)
	{
		listing.folder = options->dir;
		list_folder(&listing, options->dir, keys, 0);
	}
	else
		list_pattern(&listing, "/", options->pattern + 1, keys);
	list_sort(listing.files, compare_paths);
	return listing.files;
}
