/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Who waits for readers.
 * The reader is gone, and nobody looks.
 */
int behind; /* runs behind it */
const char *text = "this is said by the worker";
