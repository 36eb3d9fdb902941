/*
 * driver_functions.h - finds the CUDA driver at run time.
 *
 * Owns: the handle of libcuda.so.1, opened once and kept for the process's
 * life (the driver starts threads that outlive a dlclose). Called by find_gpus.cc.
 */
#pragma once

#include <string>

#include "engine/device/cuda/driver/driver_api.h"

namespace turbine::cuda {

/* The driver's functions, or null with the reason: no libcuda.so.1 here, or one
 * that lacks a function. Never throws; the table lives as long as the process. */
const DriverFunctions* load_driver(std::string* why_none);

}  // namespace turbine::cuda
