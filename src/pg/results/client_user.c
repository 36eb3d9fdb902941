/*
 * client_user.c - see client_user.h.
 *
 * PostgreSQL's header of a client's connection wants headers of Kerberos and OpenSSL for
 * types of two members. Without these types it has pointers in their place, so that the
 * layout is the same.
 */
#include "postgres.h"

#undef ENABLE_GSS
#undef USE_OPENSSL
#include "libpq/libpq-be.h"
#include "miscadmin.h"

#include "pg/results/client_user.h"

bool
tb_client_user(uid_t *uid)
{
	gid_t gid;

	return MyProcPort != NULL && MyProcPort->raddr.addr.ss_family == AF_UNIX &&
		getpeereid(MyProcPort->sock, uid, &gid) == 0;
}
