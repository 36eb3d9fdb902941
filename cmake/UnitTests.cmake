# Unit tests are compiled for a developer who waits: without most optimisations, and what would be instantiated in each
# file once a group.

option(TURBINE_PRECOMPILED_HEADERS "Where unit tests are compiled one by one, read their libraries' headers once" ON)
if(TURBINE_SANITIZE)
  set(TURBINE_PRECOMPILED_HEADERS OFF)
endif()

# compile_as_test(<target> [groups of folders...]): groups as unity_groups() takes them; without any, all files at once.
# Files compiled alone have a precompiled header instead, but in the sanitizers' build, where a file that leaned on it
# fails.
function(compile_as_test target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wno-missing-field-initializers)
  if(NOT TURBINE_SANITIZE)
    target_compile_options(${target} PRIVATE -O1 -g1)
  endif()
  if(ARGN)
    unity_groups(${target} ${ARGN})
  else()
    unity_groups(${target} .)
  endif()
  if(TURBINE_PRECOMPILED_HEADERS AND NOT TURBINE_UNITY)
    target_precompile_headers(${target} PRIVATE <gtest/gtest.h> <algorithm> <functional> <map> <memory> <mutex> <random>
                              <string> <thread> <vector>)
  endif()
endfunction()
