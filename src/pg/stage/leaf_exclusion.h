/*
 * leaf_exclusion.h - whether a leaf partition's constraint rules out every value that
 * the key of a join has in its join table.
 */
#ifndef TURBINE_PG_STAGE_LEAF_EXCLUSION_H
#define TURBINE_PG_STAGE_LEAF_EXCLUSION_H

#include "postgres.h"

#include "nodes/pg_list.h"
#include "utils/rel.h"

#include "turbine/wire.h"

/*
 * What holds of every row of the leaf, as a list of conditions, in the current
 * context; NIL if nothing is known. The leaf and the partitioned tables above it are
 * locked.
 */
extern List *tb_leaf_constraint(Relation leaf);

/* The bounds as conditions on a column of the leaf; NIL if they are none of its
 * type's. */
extern List *tb_leaf_bounds(Relation leaf, AttrNumber attnum, const TbKeyBounds *bounds);

/* Whether no row satisfies both: proved, not guessed. */
extern bool tb_leaf_is_excluded(List *constraint, List *bounds);

#endif
