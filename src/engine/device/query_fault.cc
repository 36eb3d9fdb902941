/*
 * query_fault.cc - the fault that is armed on each thread.
 *
 * Owns one number per thread. execution/ sets it, devices read it in start();
 * it must decide nothing except the result of driver calls.
 */
#include "engine/device/query_fault.h"

namespace turbine {
namespace {

thread_local uint64_t armed_fault = 0;

}  // namespace

QueryFaultScope::QueryFaultScope(uint64_t debug_fault) { armed_fault = debug_fault; }
QueryFaultScope::~QueryFaultScope() { armed_fault = 0; }
uint64_t QueryFaultScope::armed() { return armed_fault; }

}  // namespace turbine
