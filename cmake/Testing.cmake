# SPDX-License-Identifier: MIT OR Apache-2.0
# What every test directory shares: GoogleTest, and how a test is added.

if(NOT CMAKE_CROSSCOMPILING)
    find_package(GTest REQUIRED)
else()
    # Debian has GoogleTest for other architectures as source only; it names its own targets GTest::*.
    add_subdirectory(/usr/src/googletest ${CMAKE_BINARY_DIR}/googletest EXCLUDE_FROM_ALL)
endif()

# How programs of another architecture are run here, for tests that start their own: words, separated by spaces.
if(CMAKE_CROSSCOMPILING_EMULATOR)
    list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)
    add_compile_definitions("RTRCU_TEST_EMULATOR=\"${emulator}\"")
endif()

# rtrcu_label(LABEL test...): they have it beside those that they have.
function(rtrcu_label label)
    foreach(test ${ARGN})
        get_property(labels TEST ${test} PROPERTY LABELS)
        list(APPEND labels ${RTRCU_VARIANT} ${label})
        list(REMOVE_DUPLICATES labels)
        set_property(TEST ${test} PROPERTY LABELS ${labels})
    endforeach()
endfunction()

# rtrcu_long_tests(test...): `make test` leaves them to `make test-long`: they compile much, try whole programs, or test
# the tests.
function(rtrcu_long_tests)
    rtrcu_label(long ${ARGN})
endfunction()

# rtrcu_core_tests(TARGET test...): the target and its tests take part in `tools/test --core`.
add_custom_target(core)
function(rtrcu_core_tests target)
    add_dependencies(core ${target})
    rtrcu_label(core ${ARGN})
endfunction()

# Most of a test's compile time goes into headers of GoogleTest and of the C++ library: they are compiled once, and
# their debug information is left out.
add_executable(rtrcu_test_base EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/test/support/precompiled.cc)
target_link_libraries(rtrcu_test_base PRIVATE GTest::gtest_main)
target_compile_options(rtrcu_test_base PRIVATE -g1)
target_precompile_headers(rtrcu_test_base PRIVATE <gtest/gtest.h> <atomic> <chrono> <cstdint> <cstdio> <cstdlib> <deque>
                          <functional> <memory> <random> <string> <thread> <vector>)

# rtrcu_compile_together(TARGET): up to eight of the target's files at a time, which halves the work of the compiler.
# So what stands in their anonymous namespaces has a name of its own.  Files named steps.cc, which step through every
# instruction, are compiled alone.
add_library(rtrcu_together INTERFACE)
target_compile_options(rtrcu_together INTERFACE -Wno-shadow) # a local variable may be named as what another file has
function(rtrcu_compile_together target)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
    target_link_libraries(${target} PRIVATE rtrcu_together)
    get_target_property(files ${target} SOURCES)
    list(FILTER files INCLUDE REGEX "/steps\\.cc$")
    set_source_files_properties(${files} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# rtrcu_add_gtest(NAME file...): a GoogleTest program over the library's internals, one entry of ctest.  It links the
# form in which all names are visible, and includes from src/.
function(rtrcu_add_gtest name)
    add_executable(${name} ${ARGN})
    target_link_libraries(${name} PRIVATE rtrcu_options rtrcu_internals GTest::gtest_main)
    target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src)
    target_compile_options(${name} PRIVATE -g1)
    target_precompile_headers(${name} REUSE_FROM rtrcu_test_base)
    rtrcu_compile_together(${name})
    add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT RTRCU_TEST_ROOT=${CMAKE_SOURCE_DIR})
endfunction()
