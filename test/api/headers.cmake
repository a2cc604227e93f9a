# SPDX-License-Identifier: MIT OR Apache-2.0
# The public headers: what compiles, and what must not.

# Every public header alone, twice in one file, in every language that programs use it from; what does not compile
# fails the build.
file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/include/rtrcu/*.h
     ${CMAKE_SOURCE_DIR}/include/rtrcu/detail/*.h)
set(strict -Wall -Wextra -Wshadow -Wundef -Wpointer-arith -Wconversion -Werror)
function(rtrcu_add_header_test name extension)
    set(files)
    foreach(header ${headers})
        string(REGEX REPLACE "[/.]" "_" stem ${header})
        set(file ${CMAKE_CURRENT_BINARY_DIR}/headers/${name}/${stem}.${extension})
        file(GENERATE OUTPUT ${file}
             CONTENT "#include <${header}>\n#include <${header}>\ntypedef int not_empty;\n")
        list(APPEND files ${file})
    endforeach()
    add_library(headers_${name} OBJECT ${files})
    target_include_directories(headers_${name} PRIVATE ${CMAKE_SOURCE_DIR}/include)
    set_target_properties(headers_${name} PROPERTIES ${ARGN})
    target_compile_options(headers_${name} PRIVATE ${strict})
endfunction()
rtrcu_add_header_test(c11 c C_STANDARD 11 C_EXTENSIONS OFF)
target_compile_options(headers_c11 PRIVATE -pedantic)
rtrcu_add_header_test(gnu11 c C_STANDARD 11 C_EXTENSIONS ON)
rtrcu_add_header_test(cxx17 cc CXX_STANDARD 17 CXX_EXTENSIONS OFF)
rtrcu_add_header_test(cxx20 cc CXX_STANDARD 20 CXX_EXTENSIONS ON)
target_compile_options(headers_cxx20 PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wuseless-cast>)

# Macros in a program's own line, where their casts would be the program's.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_library(headers_macros OBJECT macros.cc)
    target_include_directories(headers_macros PRIVATE ${CMAKE_SOURCE_DIR}/include)
    target_compile_options(headers_macros PRIVATE ${strict} -Wold-style-cast -Wuseless-cast
                                                  -Wzero-as-null-pointer-constant)
endif()

# What must not compile, and what an assembler of the other dialect must take; by every compiler that is here.
find_program(RTRCU_CLANG NAMES clang clang-19 clang-14)
set(c_compilers ${CMAKE_C_COMPILER} ${RTRCU_CLANG})
list(FILTER c_compilers EXCLUDE REGEX NOTFOUND)
list(REMOVE_DUPLICATES c_compilers)
foreach(compiler ${c_compilers})
    get_filename_component(name ${compiler} NAME)
    add_test(NAME api_refused_c_${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/refused.sh ${CMAKE_SOURCE_DIR}/include
                                                ${compiler} -xc -std=gnu11)
    add_test(NAME api_refused_cxx_${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/refused.sh ${CMAKE_SOURCE_DIR}/include
                                                  ${compiler} -xc++ -std=gnu++17)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64")
        add_test(NAME api_dialect_${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/dialect.sh ${CMAKE_SOURCE_DIR}/include
                                                  ${compiler})
    endif()
endforeach()
