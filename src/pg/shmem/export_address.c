/*
 * export_address.c - see export_address.h.
 *
 * Called by the supervisor, which starts turbined with the path, and by the functions that
 * make tokens. Unlike turbined's own socket it must lie where every user may look: the data
 * directory is closed to others, the directory of PostgreSQL's socket is not.
 */
#include "postgres.h"

#include <sys/un.h>

#include "miscadmin.h"
#include "postmaster/postmaster.h"
#include "utils/memutils.h"
#include "utils/varlena.h"

#include "pg/settings/service_settings.h"
#include "pg/shmem/export_address.h"

/* Room for what a file has while it is made. */
#define SUFFIX_BYTES 8

const char *
tb_export_socket_path(void)
{
	static char path[sizeof(((struct sockaddr_un *) NULL)->sun_path)];
	static bool known = false;
	const char *setting = tb_export_socket_setting;
	char	   *directories;
	List	   *list = NIL;
	int			length;

	if (known)
		return path[0] != '\0' ? path : NULL;
	known = true;
	if (setting != NULL && strcmp(setting, "none") == 0)
		return NULL;
	if (setting != NULL && setting[0] != '\0')
		length = snprintf(path, sizeof(path), "%s", setting);
	else
	{
		directories = pstrdup(Unix_socket_directories != NULL ? Unix_socket_directories :
																"");
		if (!SplitDirectoriesString(directories, ',', &list) || list == NIL)
			return NULL;
		length = snprintf(path, sizeof(path), "%s/.s.PGTURBINE.%d", (char *) linitial(list),
						  PostPortNumber);
	}
	/* Too long to be a socket's, relative or, as '@' says, of the abstract name space. */
	if (length >= (int) sizeof(path) - SUFFIX_BYTES || path[0] != '/')
		path[0] = '\0';
	return path[0] != '\0' ? path : NULL;
}
