# SPDX-License-Identifier: MIT OR Apache-2.0
# RTRCU_SANITIZE: build everything with the compiler's sanitizers, for example "address,undefined" or "thread".
set(RTRCU_SANITIZE "" CACHE STRING "sanitizers for everything that is built, as -fsanitize= takes them")

if(RTRCU_SANITIZE)
    # Undefined behaviour ends the program with a failure, as reports of the other sanitizers do.
    set(RTRCU_SANITIZE_FLAGS -fsanitize=${RTRCU_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    # gcc warns at each fence that ThreadSanitizer does not model it; annotations in the library replace the fences.
    if(RTRCU_SANITIZE MATCHES thread AND CMAKE_C_COMPILER_ID STREQUAL GNU)
        list(APPEND RTRCU_SANITIZE_FLAGS -Wno-tsan)
    endif()
    # The tests use these macros, which gcc defines; clang has __has_feature() instead.
    if(CMAKE_C_COMPILER_ID STREQUAL Clang)
        foreach(sanitizer address thread)
            if(RTRCU_SANITIZE MATCHES ${sanitizer})
                string(TOUPPER ${sanitizer} name)
                add_compile_definitions(__SANITIZE_${name}__=1)
            endif()
        endforeach()
    endif()
    add_compile_options(${RTRCU_SANITIZE_FLAGS})
    add_link_options(${RTRCU_SANITIZE_FLAGS})
endif()
