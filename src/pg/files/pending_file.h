/*
 * pending_file.h - files that this transaction has written to, and what they are in it.
 *
 * Nothing changes a file before its transaction commits. What statements have written lies
 * in additions, Arrow files beside it of rows alone, which never change either. In the
 * transaction the file is its old rows, unless a TRUNCATE has taken them, and the additions
 * behind them. A change belongs to a subtransaction and goes with it.
 *
 * The first change takes a lock on the file's folder and name, whichever table of whichever
 * database names it, which is held until the (sub)transaction ends.
 */
#ifndef TURBINE_PG_FILES_PENDING_FILE_H
#define TURBINE_PG_FILES_PENDING_FILE_H

#include "postgres.h"

#include <sys/stat.h>

#include "nodes/pg_list.h"

#include "pg/files/file_identity.h"

/* The file's place: its folder and its state. */
typedef struct TbWrittenFile
{
	char		 *path;	   /* absolute, its folder without links */
	const char	 *name;	   /* in path */
	int			  folder;  /* descriptor; -1: closed */
	uint64		  device;  /* of the folder */
	uint64		  inode;
	bool		  exists;  /* may be an empty file */
	bool		  is_empty;
	TbFileVersion version; /* if it exists */
	struct stat	  status;
} TbWrittenFile;

typedef struct TbPendingFile TbPendingFile;

/* What else has to happen when transactions end; set once. */
typedef struct TbPendingHooks
{
	/* Before the commit, with errors: every changed file gets its
	 * tb_pending_file_replace(). */
	void (*commit)(void);
	/* A subtransaction is aborted, or (InvalidSubTransactionId) all ends: whoever makes a
	 * addition ends. Without errors. */
	void (*stop)(SubTransactionId subid);
} TbPendingHooks;

extern void tb_pending_set_hooks(const TbPendingHooks *hooks);

/* The file that an option names, to be changed: waits for its lock and looks at its state
 * if this transaction has not changed it yet. Raises an error if it can not be written to.
 */
extern TbPendingFile *tb_pending_file_begin(const char *path);

/* NULL: this transaction has not changed the file. */
extern TbPendingFile *tb_pending_file_find(const char *path);

/* Whether there may be one. */
extern bool tb_pending_file_any(void);

/* All of this transaction. */
extern List *tb_pending_files(void);

extern const TbWrittenFile *tb_pending_file_place(const TbPendingFile *file);

/* A new name in its folder; a file of that name is removed when the subtransaction aborts,
 * and at the transaction's end. */
extern char *tb_pending_file_new_name(TbPendingFile *file);

/* An addition of that name is complete. */
extern void tb_pending_file_add(TbPendingFile *file, const char *name);

/* All rows go. */
extern void tb_pending_file_empty(TbPendingFile *file);

extern bool tb_pending_file_is_changed(const TbPendingFile *file);

/* Whether its old rows are there still, and the names of its additions. */
extern bool	 tb_pending_file_has_old(const TbPendingFile *file);
extern List *tb_pending_file_additions(const TbPendingFile *file);

/* A file whose columns it has, or will have: itself, or an addition; NULL: there is none
 * yet. */
extern const char *tb_pending_file_like(const TbPendingFile *file);

/* Puts the file of that name in its place, until the transaction aborts after all. */
extern void tb_pending_file_replace(TbPendingFile *file, const char *name);

#endif
