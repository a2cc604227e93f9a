# SPDX-License-Identifier: MIT OR Apache-2.0
"""Does one thing for this sample."""
