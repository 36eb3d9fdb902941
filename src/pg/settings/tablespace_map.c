/*
 * tablespace_map.c - see tablespace_map.h.
 *
 * The text is a list: `fast = gpu0:gpu1, "my space" = gpu2, /data/logs = gpu1`. What begins
 * with a slash is a folder, anything else a tablespace. A name in double quotes may have
 * any character. Numbers of GPUs that the machine lacks are allowed, since a setting is
 * read before there are GPUs.
 *
 * Owns the parsed list, in memory that the settings machinery frees. Called by module.c's
 * init and by topology/.
 */
#include "postgres.h"

#include "utils/guc.h"

#include "turbine/wire.h"

#include "pg/compat/pg16.h"
#include "pg/settings/tablespace_map.h"

#define MAP_DETAIL \
	"It is a list such as fast=gpu0:gpu1, /data/logs=gpu1: names of tablespaces or " \
	"absolute paths of folders, each with GPUs that have colons between."

typedef struct MapEntry
{
	uint32 gpus;
	uint32 name; /* offset of the text, terminated, from the map's beginning */
} MapEntry;

/* One piece of memory, as `extra` of a setting has to be. */
typedef struct TablespaceMap
{
	int		 count;
	MapEntry entries[FLEXIBLE_ARRAY_MEMBER];
} TablespaceMap;

static char			 *map_setting = NULL;
static TablespaceMap *map = NULL;

static const char *
after_space(const char *text)
{
	return text + strspn(text, " \t\n\r");
}

/* A name up to `=`; writes it, terminated, and returns what follows; NULL: there is none.
 */
static const char *
read_name(const char *text, char *name)
{
	char *end = name;

	if (*text == '"')
	{
		for (text++; *text != '"' || text[1] == '"'; text++)
		{
			if (*text == '\0')
				return NULL;
			text += *text == '"';
			*end++ = *text;
		}
		text++;
	}
	else
	{
		while (*text != '\0' && *text != '=' && *text != ',')
			*end++ = *text++;
		while (end > name && strchr(" \t\n\r", end[-1]) != NULL)
			end--;
	}
	*end = '\0';
	/* data/ and data are the same folder */
	if (name[0] == '/')
		while (end > name + 1 && end[-1] == '/')
			*--end = '\0';
	return end > name ? text : NULL;
}

/* "gpu0:gpu2". */
static const char *
read_gpus(const char *text, uint32 *gpus)
{
	*gpus = 0;
	for (;;)
	{
		Size digits;
		int	 number;

		text = after_space(text);
		if (pg_strncasecmp(text, "gpu", 3) != 0)
			return NULL;
		digits = strspn(text + 3, "0123456789");
		if (digits < 1 || digits > 2)
			return NULL;
		number = atoi(text + 3);
		if (number >= TB_MAX_DEVICES - 1)
			return NULL;
		*gpus |= UINT32_C(1) << number;
		text = after_space(text + 3 + digits);
		if (*text != ':')
			return text;
		text++;
	}
}

/* Entries are counted first, since they come before the names in memory. */
static bool
read_map(const char *text, TablespaceMap *into, int room, char *names)
{
	into->count = 0;
	text = after_space(text);
	while (*text != '\0')
	{
		MapEntry *entry = &into->entries[into->count++];

		Assert(into->count <= room);
		entry->name = (uint32) (names - (char *) into);
		text = read_name(text, names);
		if (text == NULL)
			return false;
		names += strlen(names) + 1;
		text = after_space(text);
		if (*text != '=')
			return false;
		text = read_gpus(text + 1, &entry->gpus);
		if (text == NULL)
			return false;
		if (*text == '\0')
			return true;
		if (*text != ',')
			return false;
		text = after_space(text + 1);
		if (*text == '\0')
			return false;
	}
	return true;
}

static bool
check_map(char **newval, void **extra, GucSource source)
{
	int			   room = 1;
	Size		   size;
	TablespaceMap *parsed;

	(void) source;
	for (const char *c = *newval; *c != '\0'; c++)
		room += *c == ',';
	size = offsetof(TablespaceMap, entries) + room * sizeof(MapEntry);
	parsed = tb_guc_malloc(size + strlen(*newval) + room + 1);
	if (parsed == NULL)
		return false;
	if (!read_map(*newval, parsed, room, (char *) parsed + size))
	{
		tb_guc_free(parsed);
		GUC_check_errdetail(MAP_DETAIL);
		return false;
	}
	*extra = parsed;
	return true;
}

static void
assign_map(const char *newval, void *extra)
{
	(void) newval;
	map = extra;
}

static const char *
name_of(const MapEntry *entry)
{
	return (const char *) map + entry->name;
}

bool
tb_tablespace_map_is_empty(void)
{
	return map == NULL || map->count == 0;
}

uint32
tb_tablespace_map_of_name(const char *tablespace)
{
	for (int i = 0; map != NULL && i < map->count; i++)
		if (strcmp(name_of(&map->entries[i]), tablespace) == 0)
			return map->entries[i].gpus;
	return 0;
}

uint32
tb_tablespace_map_of_path(const char *path)
{
	uint32 gpus = 0;
	Size   longest = 0;

	for (int i = 0; map != NULL && i < map->count; i++)
	{
		const char *folder = name_of(&map->entries[i]);
		Size		length = strlen(folder);

		if (folder[0] != '/' || length <= longest || strncmp(path, folder, length) != 0)
			continue;
		if (length > 1 && path[length] != '/' && path[length] != '\0')
			continue;
		gpus = map->entries[i].gpus;
		longest = length;
	}
	return gpus;
}

void
tb_tablespace_map_init(void)
{
	DefineCustomStringVariable(
		"pg_turbine.gpu_tablespace_map",
		"Sets the GPUs for tables of tablespaces and for files below folders.",
		"A list such as fast=gpu0:gpu1, /data/logs=gpu1. It is needed where the distance "
		"between drives and GPUs is not known: volumes of the device mapper, drives behind "
		"a network, expansion boxes. Empty means the distances decide.",
		&map_setting, "", PGC_SUSET, 0, check_map, assign_map, NULL);
}
