# SPDX-License-Identifier: MIT OR Apache-2.0
"""Mutation testing: faults seeded into the library's source, and the tests that must notice them."""
