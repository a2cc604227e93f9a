# SPDX-License-Identifier: MIT OR Apache-2.0
"""A sample of one rule."""


def work():
    print() # times 60
