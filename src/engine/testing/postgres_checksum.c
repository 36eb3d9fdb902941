/*
 * postgres_checksum.c - PostgreSQL's own checksum code, which it offers to
 * programs as a header, for comparison with ours.
 */
#include "postgres.h"

#include "storage/checksum.h"
#include "storage/checksum_impl.h"
