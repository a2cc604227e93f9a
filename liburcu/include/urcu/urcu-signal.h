/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* liburcu has had no such flavour since 0.15, and this library never had.
 */
#error "rtrcu has no urcu-signal: choose memb, which needs no signal either where the kernel has membarrier()"
