/*
 * foreign_syntax.h - the statements of foreign tables, for pinned tables.
 */
#ifndef TURBINE_PG_GSTORE_FOREIGN_SYNTAX_H
#define TURBINE_PG_GSTORE_FOREIGN_SYNTAX_H

/* Installs ProcessUtility_hook; called by _PG_init. */
extern void tb_foreign_syntax_init(void);

#endif
