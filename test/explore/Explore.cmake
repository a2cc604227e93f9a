# SPDX-License-Identifier: MIT OR Apache-2.0
# How the explored source is compiled, and how programs with a change in it (mutants) are made.
set(SIM ${PROJECT_SOURCE_DIR}/test/sim)
set(EXPLORE_APPLY ${CMAKE_CURRENT_LIST_DIR}/mutants/apply.py)

add_library(explore_flags INTERFACE)
target_include_directories(explore_flags BEFORE INTERFACE ${SIM} ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src
                           ${CMAKE_CURRENT_LIST_DIR})
target_compile_definitions(explore_flags INTERFACE _GNU_SOURCE RTRCU_DEBUG=1 PLAT_CPU_MAX=64
                           memset=sim_memset memcpy=sim_memcpy) # plain accesses, which no compiler instruments
target_compile_options(explore_flags INTERFACE -O1 -g1 -fsanitize=thread --param=tsan-instrument-func-entry-exit=0
                       -fexceptions -Wall -Wextra -Wno-ignored-qualifiers -Wno-unused-value -Wno-tsan)

add_custom_target(explore-programs)

# explore_edit(<out: path of the copy> <spec> <folder>): the changed copies of a spec's sources, made at build time.
function(explore_edit out spec folder)
    file(STRINGS ${spec} names REGEX "^file: ") # of src/, or ../include/...
    list(REMOVE_DUPLICATES names)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${spec})
    set(copies)
    set(sources)
    foreach(name ${names})
        string(REGEX REPLACE "^file: *" "src/" name ${name})
        cmake_path(NORMAL_PATH name)
        list(APPEND copies ${folder}/${name})
        list(APPEND sources ${PROJECT_SOURCE_DIR}/${name})
    endforeach()
    add_custom_command(OUTPUT ${copies} DEPENDS ${spec} ${sources} ${EXPLORE_APPLY}
                       COMMAND ${Python3_EXECUTABLE} ${EXPLORE_APPLY} ${spec} ${PROJECT_SOURCE_DIR} ${folder}
                       COMMENT "applying ${spec}")
    set(${out} ${copies} PARENT_SCOPE)
endfunction()

# The explored source and the scenarios are compiled once for both layouts of the reader word; the machine has one.
file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*/*.c ${PROJECT_SOURCE_DIR}/src/*/*/*.c)
list(FILTER sources EXCLUDE REGEX "/src/plat/|/src/api/begin\\.c$") # the machine has threads of its own
file(GLOB scenarios CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/scenarios/*.cc)
add_library(explore_library OBJECT EXCLUDE_FROM_ALL ${sources})
add_library(explore_scenarios OBJECT EXCLUDE_FROM_ALL ${scenarios})
target_link_libraries(explore_library PRIVATE explore_flags)
target_link_libraries(explore_scenarios PRIVATE explore_flags)

# explore_plat(<layout> [definition...]): explore_<layout>_plat, the part of the machine with the layout.  The machine
# itself is not instrumented.
function(explore_plat layout)
    add_library(explore_${layout}_plat OBJECT EXCLUDE_FROM_ALL ${SIM}/plat/plat.cc)
    target_include_directories(explore_${layout}_plat PRIVATE ${SIM} ${PROJECT_SOURCE_DIR}/include
                               ${PROJECT_SOURCE_DIR}/src)
    target_compile_definitions(explore_${layout}_plat PRIVATE _GNU_SOURCE PLAT_CPU_MAX=64 ${ARGN})
endfunction()

# explore_changed_library(<out: objects> <name> <mutant.mutant>): library and scenarios with a mutant's fault.
# Changed sources replace their objects; a changed header makes everything anew, the scenarios too, which hold inline
# functions.
function(explore_changed_library out name mutant)
    set(folder ${CMAKE_BINARY_DIR}/explore/${name})
    set(library $<TARGET_OBJECTS:explore_library>)
    set(scenarios $<TARGET_OBJECTS:explore_scenarios>)
    explore_edit(changed ${mutant} ${folder})
    set(sources ${changed})
    list(FILTER sources INCLUDE REGEX "\\.c$")
    foreach(copy ${sources})
        string(REGEX REPLACE ".*/(src/.*)" "\\1" source ${copy})
        string(REGEX REPLACE "\\." "[.]" pattern ${source})
        set(library "$<FILTER:${library},EXCLUDE,${pattern}[.]o$>")
    endforeach()
    if(NOT "${sources}" STREQUAL "${changed}")
        get_target_property(whole explore_library SOURCES)
        foreach(copy ${sources})
            string(REGEX REPLACE "${folder}/" "/" source ${copy})
            list(FILTER whole EXCLUDE REGEX "${source}$")
        endforeach()
        get_target_property(inlined explore_scenarios SOURCES)
        list(APPEND changed ${whole} ${inlined})
        set(library)
        set(scenarios)
    endif()
    add_library(${name}_changed OBJECT EXCLUDE_FROM_ALL ${changed})
    target_include_directories(${name}_changed PRIVATE ${SIM} ${folder}/include ${folder}/src)
    target_link_libraries(${name}_changed PRIVATE explore_flags)
    set(${out} ${library} ${scenarios} $<TARGET_OBJECTS:${name}_changed> PARENT_SCOPE)
endfunction()

# explore_program(<name> <layout> [mutant.mutant]): the explorer, or one over a library with a fault.
function(explore_program name layout)
    set(library $<TARGET_OBJECTS:explore_library> $<TARGET_OBJECTS:explore_scenarios>)
    if(ARGC GREATER 2)
        explore_changed_library(library ${name} ${ARGV2})
    endif()
    add_executable(${name} EXCLUDE_FROM_ALL $<TARGET_OBJECTS:explore_engine> $<TARGET_OBJECTS:explore_machine>
                   $<TARGET_OBJECTS:explore_strategies> ${library} $<TARGET_OBJECTS:explore_${layout}_plat>)
    target_link_options(${name} PRIVATE -Wl,--wrap=malloc -Wl,--wrap=free)
    target_link_libraries(${name} PRIVATE fmt::fmt Boost::context)
    add_dependencies(explore-programs ${name})
endfunction()

# explore_mutant_test(<program> <layout> "found: SCENARIO MEMORY STRATEGY SCHEDULES"): the scenario fails
# with the mutant within that number of schedules, and holds without it in as many schedules.  `missed: ...`: the
# scenario holds with the mutant too.  The limit is never a time, since a busy machine must not explore less.
function(explore_mutant_test program layout line)
    if(NOT line MATCHES "^(found|missed): ([^ ]+) ([^ ]+) ([^ ]+) ([0-9]+)$")
        message(FATAL_ERROR "${program}: \"${line}\" is not `found: SCENARIO MEMORY STRATEGY SCHEDULES`")
    endif()
    set(expected ${CMAKE_MATCH_1})
    set(arguments --scenario ${CMAKE_MATCH_2} --memory ${CMAKE_MATCH_3} --strategy ${CMAKE_MATCH_4}
        --schedules ${CMAKE_MATCH_5})
    set(test ${program}_${CMAKE_MATCH_2}_${CMAKE_MATCH_3}_${CMAKE_MATCH_4})
    if(expected STREQUAL found)
        set(without rtrcu-explore)
        if(layout STREQUAL two_words)
            set(without rtrcu-explore-two-words)
        endif()
        list(APPEND arguments --expect-failure --control $<TARGET_FILE:${without}>)
    endif()
    add_test(NAME ${test} COMMAND ${program} ${arguments})
    set_tests_properties(${test} PROPERTIES FIXTURES_REQUIRED explore_programs TIMEOUT 900)
    rtrcu_long_tests(${test})
endfunction()
