# SPDX-License-Identifier: MIT OR Apache-2.0
# Functions for all test directories: GoogleTest, labels, and how a test is added.

if(NOT CMAKE_CROSSCOMPILING)
    find_package(GTest REQUIRED)
else()
    # For other architectures Debian has GoogleTest only as source.  Its build defines the targets GTest::* itself.
    add_subdirectory(/usr/src/googletest ${CMAKE_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
endif()

# RTRCU_TEST_EMULATOR: the emulator's command line, as words separated by spaces.  Tests use it to start programs of
# another architecture.
if(CMAKE_CROSSCOMPILING_EMULATOR)
    list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)
    add_compile_definitions("RTRCU_TEST_EMULATOR=\"${emulator}\"")
endif()

# rtrcu_label(LABEL test...): adds a label to the tests.
function(rtrcu_label label)
    foreach(test ${ARGN})
        get_property(labels TEST ${test} PROPERTY LABELS)
        list(APPEND labels ${RTRCU_VARIANT} ${label})
        list(REMOVE_DUPLICATES labels)
        set_property(TEST ${test} PROPERTY LABELS ${labels})
    endforeach()
endfunction()

# rtrcu_long_tests(test...): marks tests that only `make test-long` runs, because they compile much, run whole programs,
# or test the tests.
function(rtrcu_long_tests)
    rtrcu_label(long ${ARGN})
endfunction()

# rtrcu_core_tests(TARGET test...): adds the target and its tests to `tools/test --core`.
add_custom_target(core)
function(rtrcu_core_tests target)
    add_dependencies(core ${target})
    rtrcu_label(core ${ARGN})
endfunction()

# Headers of GoogleTest and of the C++ library take most of a test's compile time: they are precompiled, without debug
# information.
add_executable(rtrcu_test_base EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/test/support/precompiled.cc)
target_link_libraries(rtrcu_test_base PRIVATE GTest::gtest_main)
target_compile_options(rtrcu_test_base PRIVATE -g1)
target_precompile_headers(rtrcu_test_base PRIVATE <gtest/gtest.h> <atomic> <chrono> <cstdint> <cstdio> <cstdlib> <deque>
                          <functional> <memory> <random> <string> <thread> <vector>)

# rtrcu_compile_together(TARGET): compiles up to eight of the target's files as one, which halves the compile time.  So
# names in their anonymous namespaces must differ.  Files named steps.cc, which step through every
# instruction, are compiled alone.
add_library(rtrcu_together INTERFACE)
target_compile_options(rtrcu_together INTERFACE -Wno-shadow) # a local variable may share a name with another file
function(rtrcu_compile_together target)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    target_link_libraries(${target} PRIVATE rtrcu_together)
    get_target_property(files ${target} SOURCES)
    list(FILTER files INCLUDE REGEX "/steps\\.cc$")
    set_source_files_properties(${files} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# rtrcu_add_gtest(NAME file...): a GoogleTest program over the library's internals, one entry of ctest.  It links the
# library in which all names are visible, and includes from src/.
function(rtrcu_add_gtest name)
    add_executable(${name} ${ARGN})
    target_link_libraries(${name} PRIVATE rtrcu_options rtrcu_internals GTest::gtest_main)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_compile_options(${name} PRIVATE -g1)
    target_precompile_headers(${name} REUSE_FROM rtrcu_test_base)
    rtrcu_compile_together(${name})
    add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT RTRCU_TEST_ROOT=${PROJECT_SOURCE_DIR})
endfunction()
