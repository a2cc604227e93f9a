/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The block through which other processes inspect this one: constant tables of field names and offsets.
 *
 * An ELF note of the object that contains the library holds the address of the block. The block points to one table for
 * each room, and an entry of a table has the name of a field and its offset in its struct. The block is constant, so it
 * costs the program nothing; an inspecting process needs no cooperation and does not stop the program.
 * docs/inspect.md has the format and the names.
 */
#ifndef RTRCU_BASE_INSPECT_H
#define RTRCU_BASE_INSPECT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* Incremented when the meaning of an entry changes; new names alone do not change it. */
#define INSPECT_VERSION 1
#define INSPECT_MAGIC "rtrcu-in"
#define INSPECT_NAME 32

/* Value: a field and its name. */
struct inspect_field {
    char name[INSPECT_NAME]; /* struct and field, "leaf.used"; ends with a zero byte */
    uint32_t offset;         /* bytes from the beginning of the field's struct */
    uint32_t bytes;          /* size of one element */
    uint32_t stride;         /* bytes from one element to the next */
    uint32_t count;          /* number of elements; 1: not an array, 0: a pointer to an array */
};

/* Value: the fields that one room shows. */
struct inspect_table {
    const struct inspect_field *field;
    uint64_t count;
};

static_assert(sizeof(struct inspect_field) == 48 && sizeof(struct inspect_table) == 16, "docs/inspect.md: an entry");
static_assert(offsetof(struct inspect_field, offset) == INSPECT_NAME, "docs/inspect.md: an entry");

#define INSPECT_BYTES(type, field) ((uint32_t)sizeof(((type *)0)->field))
#define INSPECT_ENTRY(called, type, field, wide, apart, number)                                                        \
    {                                                                                                                  \
        .name = called, .offset = (uint32_t)offsetof(type, field), .bytes = wide, .stride = apart, .count = number     \
    }
/* The entry of a field that is a word or a struct. */
#define INSPECT_FIELD(name, type, field)                                                                               \
    INSPECT_ENTRY(name, type, field, INSPECT_BYTES(type, field), INSPECT_BYTES(type, field), 1)
/* The entry of a field that is an array. */
#define INSPECT_ARRAY(name, type, field)                                                                               \
    INSPECT_ENTRY(name, type, field, INSPECT_BYTES(type, field[0]), INSPECT_BYTES(type, field[0]),                     \
                  INSPECT_BYTES(type, field) / INSPECT_BYTES(type, field[0]))
/* The entry of a field that points to an array; the entry does not contain the array's length. */
#define INSPECT_FAR_ARRAY(name, type, field)                                                                           \
    INSPECT_ENTRY(name, type, field, INSPECT_BYTES(type, field), (uint32_t)sizeof(*((type *)0)->field), 0)
#define INSPECT_TABLE(fields)                                                                                          \
    {                                                                                                                  \
        .field = fields, .count = sizeof(fields) / sizeof(fields[0])                                                   \
    }

#endif
