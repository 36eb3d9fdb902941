/*
 * probed_join_tables.h - the join tables that a program probes, found and checked.
 */
#pragma once

#include "engine/execution/connection_join_tables.h"
#include "engine/program/program.h"

namespace turbine {

/* By the index of the join. Throws ProtocolError where a table is not there or
 * is not what the program describes, since generated code reads tables without
 * a check; DeviceError where its rows belie the plan. */
JoinTables probed_join_tables(const Program& program, const ConnectionJoinTables& tables);

}  // namespace turbine
