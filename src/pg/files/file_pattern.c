/*
 * file_pattern.c - matches names of files and folders: see file_pattern.h. Pure functions
 * of texts: file_list.c looks at folders.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "pg/files/file_pattern.h"

/* The name in "${name}" at the pattern's beginning, and what follows it; 0: there is none.
 */
static size_t
key_length(const char *pattern, const char **name, const char **rest)
{
	const char *end;

	if (pattern[0] != '$' || pattern[1] != '{')
		return 0;
	end = strchr(pattern, '}');
	if (end == NULL || end == pattern + 2)
		return 0;
	*name = pattern + 2;
	*rest = end + 1;
	return end - *name;
}

bool
tb_file_pattern_is_open(const char *part)
{
	return strpbrk(part, "*?") != NULL || strstr(part, "${") != NULL;
}

static void
check_no_second(const char *pattern, const char *name, size_t length)
{
	const char *place;
	char	   *written = psprintf("${%.*s}", (int) length, name);

	place = strstr(pattern, written);
	if (place != NULL && strstr(place + 1, written) != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
				 errmsg("pattern \"%s\" has %s twice", pattern, written)));
	pfree(written);
}

void
tb_file_pattern_check(const char *pattern)
{
	int nkeys = 0;

	/* Are all keys well formed? */
	for (const char *at = pattern; *at != '\0';)
	{
		const char *name, *rest;
		size_t		length = key_length(at, &name, &rest);

		if (at[0] != '$' || at[1] != '{')
		{
			at++;
			continue;
		}
		if (length == 0 || memchr(name, '/', length) != NULL || ++nkeys > TB_MAX_FILE_KEYS)
			ereport(ERROR,
					(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
					 errmsg("pattern \"%s\" is malformed", pattern),
					 errhint("Write ${name}, at most %d times.", TB_MAX_FILE_KEYS)));
		check_no_second(pattern, name, length);
		at = rest;
	}
	/* No way out of the folder. */
	for (const char *at = pattern; at != NULL; at = strchr(at + 1, '/'))
	{
		if (strncmp(at, "/..", 3) == 0 && (at[3] == '/' || at[3] == '\0'))
			ereport(ERROR,
					(errcode(ERRCODE_FDW_INVALID_ATTRIBUTE_VALUE),
					 errmsg("pattern \"%s\" has the part \"..\"", pattern)));
	}
}

static bool
match_from(const char *part, const char *name, TbFileKeys *keys)
{
	const char *key, *rest;
	size_t		length;

	CHECK_FOR_INTERRUPTS();
	length = key_length(part, &key, &rest);
	/* A key takes one character or more. */
	if (length > 0)
	{
		int before = keys->nkeys;

		for (size_t taken = 1; taken <= strlen(name); taken++)
		{
			if (keys->nkeys >= TB_MAX_FILE_KEYS)
				return false;
			keys->keys[keys->nkeys].name = pnstrdup(key, length);
			keys->keys[keys->nkeys].value = pnstrdup(name, taken);
			keys->nkeys++;
			if (match_from(rest, name + taken, keys))
				return true;
			keys->nkeys = before;
		}
		return false;
	}
	if (*part == '\0')
		return *name == '\0';
	/* A star takes any number. */
	if (*part == '*')
	{
		for (const char *from = name;; from++)
		{
			if (match_from(part + 1, from, keys))
				return true;
			if (*from == '\0')
				return false;
		}
	}
	/* One character each. */
	if (*name == '\0' || (*part != '?' && *part != *name))
		return false;
	return match_from(part + 1, name + 1, keys);
}

bool
tb_file_pattern_match(const char *part, const char *name, TbFileKeys *keys)
{
	int before = keys->nkeys;

	if (name[0] == '.' && part[0] != '.')
		return false;
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return false;
	if (match_from(part, name, keys))
		return true;
	keys->nkeys = before;
	return false;
}
