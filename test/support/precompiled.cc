/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Carries the precompiled headers of all tests; see cmake/Testing.cmake.
 */
