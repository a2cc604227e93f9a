# SPDX-License-Identifier: MIT OR Apache-2.0
"""Mutation testing: faults in the library's source, and the tests that must detect them."""
