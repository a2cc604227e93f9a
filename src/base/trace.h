/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Trace points for a tracer of the running program: USDT probes of the provider `rtrcu`.
 *
 * Each is one no-op instruction, and a note in a section that is not loaded.  The note has the address of the
 * instruction, the name of the probe and the places of its arguments: SIZE@PLACE for each, SIZE in bytes, PLACE in
 * assembler syntax.  All are unsigned.  Private copies, C++ and other processors than x86-64 and aarch64
 * have none.  docs/probes.md describes each probe.
 */
#ifndef RTRCU_BASE_TRACE_H
#define RTRCU_BASE_TRACE_H

#if !defined(__cplusplus) && !defined(RTRCU_NOTE_TYPE) && (defined(__x86_64__) || defined(__aarch64__))

#if defined(__x86_64__)
#define TRACE_PLACE "nr"
#else
#define TRACE_PLACE "r"
#endif

/* The note has the form that tracers know: name "stapsdt", type 3; then the addresses of the instruction, of a byte
 * shared by all notes of a file, from which a tracer sees that the file was relocated, and 0 in place of the address of
 * a count of tracers; then three strings.
 */
#define TRACE_NOTE(name, arguments)                                                                                    \
    "771:\tnop\n"                                                                                                      \
    "\t.pushsection .note.stapsdt, \"\", @note\n"                                                                      \
    "\t.balign 4\n"                                                                                                    \
    "\t.4byte 8, 773f - 772f, 3\n"                                                                                     \
    "\t.asciz \"stapsdt\"\n"                                                                                           \
    "772:\t.8byte 771b, _.stapsdt.base, 0\n"                                                                           \
    "\t.asciz \"rtrcu\"\n"                                                                                             \
    "\t.asciz \"" #name "\"\n"                                                                                         \
    "\t.asciz \"" arguments "\"\n"                                                                                     \
    "773:\t.balign 4\n"                                                                                                \
    "\t.popsection\n"                                                                                                  \
    "\t.ifndef _.stapsdt.base\n"                                                                                       \
    "\t.pushsection .stapsdt.base, \"aG\", @progbits, .stapsdt.base, comdat\n"                                         \
    "\t.weak _.stapsdt.base\n"                                                                                         \
    "\t.hidden _.stapsdt.base\n"                                                                                       \
    "_.stapsdt.base:\n"                                                                                                \
    "\t.byte 0\n"                                                                                                      \
    "\t.popsection\n"                                                                                                  \
    "\t.endif\n"

#define TRACE_ARGUMENT(number) "%c[size" #number "]@%[argument" #number "]"
#define TRACE_OPERANDS(number, a) [size##number] "n"(sizeof(a)), [argument##number] TRACE_PLACE(a)

#define TRACE_PROBE(note, ...) __asm__ __volatile__(note : : __VA_ARGS__)

#define trace1(name, a) TRACE_PROBE(TRACE_NOTE(name, TRACE_ARGUMENT(1)), TRACE_OPERANDS(1, a))
#define trace2(name, a, b)                                                                                             \
    TRACE_PROBE(TRACE_NOTE(name, TRACE_ARGUMENT(1) " " TRACE_ARGUMENT(2)), TRACE_OPERANDS(1, a), TRACE_OPERANDS(2, b))
#define trace3(name, a, b, c)                                                                                          \
    TRACE_PROBE(TRACE_NOTE(name, TRACE_ARGUMENT(1) " " TRACE_ARGUMENT(2) " " TRACE_ARGUMENT(3)), TRACE_OPERANDS(1, a), \
                TRACE_OPERANDS(2, b), TRACE_OPERANDS(3, c))
#define trace4(name, a, b, c, d)                                                                                       \
    TRACE_PROBE(TRACE_NOTE(name, TRACE_ARGUMENT(1) " " TRACE_ARGUMENT(2) " " TRACE_ARGUMENT(3) " " TRACE_ARGUMENT(4)), \
                TRACE_OPERANDS(1, a), TRACE_OPERANDS(2, b), TRACE_OPERANDS(3, c), TRACE_OPERANDS(4, d))

#else
/* No probe.  The compiler still checks the arguments. */
#define trace1(name, a) ((void)sizeof(a))
#define trace2(name, a, b) ((void)sizeof(a), (void)sizeof(b))
#define trace3(name, a, b, c) ((void)sizeof(a), (void)sizeof(b), (void)sizeof(c))
#define trace4(name, a, b, c, d) ((void)sizeof(a), (void)sizeof(b), (void)sizeof(c), (void)sizeof(d))
#endif

#endif
