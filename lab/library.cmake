# SPDX-License-Identifier: MIT OR Apache-2.0
# lab_library(NAME source... LIBRARIES library...): makes a static library of rooms of the lab.
#
# Sources that only format text are compiled without optimization, which halves the build time.
# Headers of libraries, which take most of the compile time, are precompiled.
include_guard(GLOBAL)
include(${CMAKE_CURRENT_LIST_DIR}/torture/scenarios.cmake)
set(LAB_FOLDER ${CMAKE_CURRENT_LIST_DIR})

function(lab_library name)
    cmake_parse_arguments(PARSE_ARGV 1 LAB "" "" LIBRARIES)
    foreach(source IN LISTS LAB_UNPARSED_ARGUMENTS)
        file(RELATIVE_PATH in_lab ${CMAKE_CURRENT_FUNCTION_LIST_DIR} ${source})
        if(in_lab MATCHES
           "^(command|report|top|who)/|/(checks|exchange|experiment|findings|plan|rows|scenario|summary|tables)\\.cc$")
            list(APPEND text ${source})
        else()
            list(APPEND timed ${source})
        endif()
    endforeach()
    add_library(${name}_text OBJECT ${text})
    add_library(${name} STATIC ${timed} $<TARGET_OBJECTS:${name}_text>)
    foreach(target ${name} ${name}_text)
        target_include_directories(${target} PUBLIC ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
        # SYSTEM suppresses the compiler's warning about a function with the name of a struct, like stat().
        target_include_directories(${target} SYSTEM PUBLIC ${PROJECT_SOURCE_DIR}/include)
        target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
        target_link_libraries(${target} PUBLIC CLI11::CLI11 fmt::fmt nlohmann_json::nlohmann_json ${LAB_LIBRARIES}
                              PRIVATE rtrcu_options)
        target_precompile_headers(${target} PRIVATE <fmt/format.h> <algorithm> <atomic> <functional> <map> <memory>
                                  <optional> <random> <string> <thread> <vector>)
    endforeach()
    # Compile seven files as one, because headers of libraries take most of the compile time.
    set_target_properties(${name} ${name}_text PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 7)
    target_compile_options(${name}_text PRIVATE -O0)
    target_precompile_headers(${name}_text PRIVATE <nlohmann/json.hpp>)
endfunction()
