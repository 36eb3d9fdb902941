/*
 * client_user.h - the operating system's user behind this session's client.
 */
#ifndef TURBINE_PG_RESULTS_CLIENT_USER_H
#define TURBINE_PG_RESULTS_CLIENT_USER_H

#include "postgres.h"

/* False where it is not known: the client came by TCP, or there is none. */
extern bool tb_client_user(uid_t *uid);

#endif
