/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The kind of build of a test: some tests cannot run with a sanitizer or an emulator. */
#ifndef RTRCU_TEST_SUPPORT_VARIANT_H
#define RTRCU_TEST_SUPPORT_VARIANT_H

#if defined(__SANITIZE_THREAD__)
#define TEST_TSAN 1
#else
#define TEST_TSAN 0
#endif
#if defined(__SANITIZE_ADDRESS__)
#define TEST_ASAN 1
#else
#define TEST_ASAN 0
#endif
#ifdef RTRCU_TEST_EMULATOR /* a program for another architecture */
#define TEST_EMULATED 1
#else
#define TEST_EMULATED 0
#endif
#if defined(__x86_64__) || defined(__aarch64__) /* the processors whose stack frames messages can follow */
#define TEST_LISTS_CALLERS 1
#else
#define TEST_LISTS_CALLERS 0
#endif

#endif
