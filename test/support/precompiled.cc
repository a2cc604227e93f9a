/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Precompiled headers of all tests; see cmake/Testing.cmake. */
