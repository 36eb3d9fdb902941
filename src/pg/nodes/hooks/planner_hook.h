/*
 * planner_hook.h - the hooks around planning as a whole.
 */
#ifndef TURBINE_PG_NODES_HOOKS_PLANNER_HOOK_H
#define TURBINE_PG_NODES_HOOKS_PLANNER_HOOK_H

/* Installs planner_hook and ProcessUtility_hook; called by _PG_init. */
extern void tb_planner_hook_init(void);

#endif
