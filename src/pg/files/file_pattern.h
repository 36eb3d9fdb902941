/*
 * file_pattern.h - patterns of paths: `*`, `?` and `${name}`, none of which matches a
 * slash.
 */
#ifndef TURBINE_PG_FILES_FILE_PATTERN_H
#define TURBINE_PG_FILES_FILE_PATTERN_H

#include "postgres.h"

/* A part of a path that a name was given to. */
typedef struct TbFileKey
{
	char *name;
	char *value; /* NULL: none, as Hive writes it */
} TbFileKey;

/* More names than a table can have columns make no sense. */
#define TB_MAX_FILE_KEYS 64

typedef struct TbFileKeys
{
	int		  nkeys;
	TbFileKey keys[TB_MAX_FILE_KEYS];
} TbFileKeys;

/* Raises an error if the pattern is malformed. */
extern void tb_file_pattern_check(const char *pattern);

/* Whether this part of a pattern, between slashes, has more than its own text. */
extern bool tb_file_pattern_is_open(const char *part);

/*
 * Whether a name matches a part of a pattern. Each `${name}` takes as little as it can, and
 * at least a character; what it took is appended to keys. A name that begins with a dot
 * matches only a part that does.
 */
extern bool tb_file_pattern_match(const char *part, const char *name, TbFileKeys *keys);

#endif
