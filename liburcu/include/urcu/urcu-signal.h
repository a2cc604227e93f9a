/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The flavour signal: liburcu dropped it in 0.15, and this library never had it. */
#error "rtrcu has no urcu-signal: choose memb, which needs no signal either where the kernel has membarrier()"
