/*
 * zygote.h - the warmed process that forks a child for each program.
 */
#pragma once

namespace turbine {

/* Serves requests from `socket` (SOCK_SEQPACKET) until its peer is gone.
 * Returns the process's exit status; in a child it does not return. */
int run_zygote(int socket);

}  // namespace turbine
