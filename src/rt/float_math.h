/*
 * float_math.h - double precision exp, log, pow and friends.
 *
 * PostgreSQL's results are those of the host's libm, so host code calls that.
 * A GPU has no libm: device_math.cc gives it bodies of our own, good to about
 * one unit in the last place. They exist in every build, so that unit tests
 * can hold them against libm.
 */
#pragma once

#include "rt/rt.h"

RT_EXPORT double rt_device_exp(double x);
RT_EXPORT double rt_device_log(double x);
RT_EXPORT double rt_device_log10(double x);
RT_EXPORT double rt_device_pow(double x, double y);
RT_EXPORT double rt_device_sin(double x);
RT_EXPORT double rt_device_cos(double x);
RT_EXPORT double rt_device_tan(double x);
RT_EXPORT double rt_device_cbrt(double x);
