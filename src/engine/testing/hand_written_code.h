/*
 * hand_written_code.h - values with an effect in hand_written_code.c.
 */
#pragma once

#define DEFERRED_VALUE (-1)
#define RAISING_VALUE (-2147483647 - 1)
#define SLOW_VALUE 777777
