# SPDX-License-Identifier: MIT OR Apache-2.0
# The public headers: what compiles, and what must not.

# Compile each public header alone, included twice in one file, in every language that programs use it from.  A header
# that does not compile fails the build.
file(GLOB headers CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/include/rtrcu/*.h
     ${PROJECT_SOURCE_DIR}/include/rtrcu/detail/*.h)
list(TRANSFORM headers PREPEND ${PROJECT_SOURCE_DIR}/include/ OUTPUT_VARIABLE header_files)
set(strict -Wall -Wextra -Wshadow -Wundef -Wpointer-arith -Wconversion -Werror)
set(checked)
function(rtrcu_add_header_test name extension compiler)
    set(files)
    foreach(header ${headers})
        string(REGEX REPLACE "[/.]" "_" stem ${header})
        set(file ${CMAKE_CURRENT_BINARY_DIR}/headers/${name}/${stem}.${extension})
        file(GENERATE OUTPUT ${file}
             CONTENT "#include <${header}>\n#include <${header}>\ntypedef int not_empty;\n")
        list(APPEND files ${file})
    endforeach()
    set(done ${CMAKE_CURRENT_BINARY_DIR}/headers/${name}/checked)
    add_custom_command(OUTPUT ${done} DEPENDS ${header_files} ${files}
                       COMMAND ${compiler} ${ARGN} ${strict} -I${PROJECT_SOURCE_DIR}/include -fsyntax-only ${files}
                       COMMAND ${CMAKE_COMMAND} -E touch ${done} COMMENT "checking headers in ${name}" VERBATIM)
    set(checked ${checked} ${done} PARENT_SCOPE)
endfunction()
set(casts)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    set(casts -Wuseless-cast)
endif()
rtrcu_add_header_test(c11 c ${CMAKE_C_COMPILER} -std=c11 -pedantic)
rtrcu_add_header_test(gnu89 c ${CMAKE_C_COMPILER} -std=gnu89)
rtrcu_add_header_test(gnu11 c ${CMAKE_C_COMPILER} -std=gnu11)
rtrcu_add_header_test(cxx17 cc ${CMAKE_CXX_COMPILER} -std=c++17)
rtrcu_add_header_test(cxx20 cc ${CMAKE_CXX_COMPILER} -std=gnu++20 ${casts})
add_custom_target(headers ALL DEPENDS ${checked})

# Compile uses of the macros with strict warnings: the compiler attributes casts in a macro to the program's line.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    add_library(headers_macros OBJECT macros.cc)
    target_include_directories(headers_macros PRIVATE ${PROJECT_SOURCE_DIR}/include)
    target_compile_options(headers_macros PRIVATE ${strict} -Wold-style-cast -Wuseless-cast
                                                  -Wzero-as-null-pointer-constant)
endif()

# With every installed compiler: programs that must not compile, and programs that must compile with the other dialect
# of the assembler.
find_program(RTRCU_CLANG NAMES clang clang-19 clang-14)
set(c_compilers ${CMAKE_C_COMPILER} ${RTRCU_CLANG})
list(FILTER c_compilers EXCLUDE REGEX NOTFOUND)
list(REMOVE_DUPLICATES c_compilers)
foreach(compiler ${c_compilers})
    get_filename_component(name ${compiler} NAME)
    add_test(NAME api_refused_c_${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/refused.sh ${PROJECT_SOURCE_DIR}/include
                                                ${compiler} -xc -std=gnu11)
    add_test(NAME api_refused_cxx_${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/refused.sh ${PROJECT_SOURCE_DIR}/include
                                                  ${compiler} -xc++ -std=gnu++17)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64")
        add_test(NAME api_dialect_${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/dialect.sh ${PROJECT_SOURCE_DIR}/include
                                                  ${compiler})
    endif()
endforeach()
