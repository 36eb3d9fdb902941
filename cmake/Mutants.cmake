# Mutants: programs that are wrong on purpose (include/turbine/mutant.h). `cmake --build . --target mutants` makes them
# in build/mutants/programs. TURBINE_MUTANT chooses the defect when they run, so each source is compiled once for all.

# add_mutant_objects(<library>): <library>_mutants, objects of the library's sources that have a switch, and of all that
# are compiled together with them. A program links them before the library, whose own objects then stay out.
function(add_mutant_objects library)
  get_target_property(sources ${library} SOURCES)
  foreach(source ${sources})
    file(STRINGS ${source} switches REGEX "TB_MUTANT\\(" LIMIT_COUNT 1)
    if(switches)
      list(APPEND chosen ${source})
      get_source_file_property(group ${source} UNITY_GROUP)
      list(APPEND groups ${group})
    endif()
  endforeach()
  foreach(source ${sources})
    get_source_file_property(group ${source} UNITY_GROUP)
    if(group AND group IN_LIST groups)
      list(APPEND chosen ${source})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES chosen)
  add_library(${library}_mutants OBJECT EXCLUDE_FROM_ALL ${chosen})
  target_compile_definitions(${library}_mutants PRIVATE TB_MUTANTS $<TARGET_PROPERTY:${library},COMPILE_DEFINITIONS>)
  target_compile_options(${library}_mutants PRIVATE $<TARGET_PROPERTY:${library},COMPILE_OPTIONS> -O1)
  target_include_directories(${library}_mutants SYSTEM PRIVATE $<TARGET_PROPERTY:${library},INCLUDE_DIRECTORIES>)
  compile_in_groups(${library}_mutants)
endfunction()

# add_mutant_program(<program> <library>): the program with <library>_mutants.
function(add_mutant_program program library)
  add_executable(${program}_mutants EXCLUDE_FROM_ALL
    $<TARGET_OBJECTS:${program}> $<TARGET_OBJECTS:${library}_mutants>)
  target_link_libraries(${program}_mutants PRIVATE $<TARGET_PROPERTY:${program},LINK_LIBRARIES>)
  target_link_options(${program}_mutants PRIVATE $<TARGET_PROPERTY:${program},LINK_OPTIONS>)
  set_target_properties(${program}_mutants PROPERTIES OUTPUT_NAME ${program} LINKER_LANGUAGE CXX
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/mutants/programs)
endfunction()
