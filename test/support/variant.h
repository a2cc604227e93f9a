/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What kind of build a test is part of: some of what it does is beyond a sanitizer.
 */
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
#ifdef RTRCU_TEST_EMULATOR /* a program of another architecture */
#define TEST_EMULATED 1
#else
#define TEST_EMULATED 0
#endif

#endif
