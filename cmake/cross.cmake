# SPDX-License-Identifier: MIT OR Apache-2.0
# Toolchain file: build for another processor with Debian's cross compiler, run the results under qemu's user mode.
# RTRCU_PROCESSOR names it as qemu does: aarch64, riscv64, ppc64le, s390x.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RTRCU_PROCESSOR)
string(REPLACE ppc64 powerpc64 triplet ${RTRCU_PROCESSOR}-linux-gnu)
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${RTRCU_PROCESSOR})
set(CMAKE_C_COMPILER ${triplet}-gcc)
set(CMAKE_CXX_COMPILER ${triplet}-g++)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${RTRCU_PROCESSOR};-L;/usr/${triplet})

# Search for programs on the build machine, and for libraries and headers only in the other processor's tree.
set(CMAKE_FIND_ROOT_PATH /usr/${triplet})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
