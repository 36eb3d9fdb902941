/*
 * mutant.h - defects that tests must notice.
 *
 * A switch TB_MUTANT(name) stands where the code can be wrong on purpose. In programs that
 * people run it is false and leaves nothing behind. Programs compiled with TB_MUTANTS have
 * all defects in them, and the environment variable TURBINE_MUTANT chooses one:
 * test/mutants.py gives each to the suite that must report it.
 */
#ifndef TURBINE_MUTANT_H
#define TURBINE_MUTANT_H

#ifdef TB_MUTANTS
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline bool
tb_is_mutant(const char *name)
{
	const char *chosen = getenv("TURBINE_MUTANT");

	return chosen != 0 && strcmp(chosen, name) == 0;
}

#define TB_MUTANT(name) tb_is_mutant(#name)
#else
#define TB_MUTANT(name) 0
#endif

#endif
