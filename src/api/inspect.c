/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The block that other processes read; the note that leads to it is in domain.c.  docs/inspect.md has the format.
 *
 * tested by: test/inspect/look.cc
 */
#include "api/api.h"

/* The block that other processes read.  Its layout is frozen, and grows only at the end; `bytes` is its size. */
struct inspect_block {
    char magic[8];
    uint32_t version;
    uint32_t bytes;
    uint32_t field_bytes; /* size of an entry of a table */
    uint32_t tables;
    const struct inspect_table *table[8]; /* the first `tables` entries are used */
    const struct domain *const *domain;   /* address of the pointer to the first domain */
    uint64_t seq_first, seq_step;         /* of grace-period sequences */
    char library[16];                     /* version of the library */
};

#define BLOCK_FIELD(field, at) static_assert(offsetof(struct inspect_block, field) == (at), "docs/inspect.md: " #field)
BLOCK_FIELD(version, 8);
BLOCK_FIELD(field_bytes, 16);
BLOCK_FIELD(table, 24);
BLOCK_FIELD(domain, 88);
BLOCK_FIELD(seq_first, 96);
BLOCK_FIELD(library, 112);
static_assert(sizeof(struct inspect_block) == 128, "docs/inspect.md: bytes of the block");

static const struct inspect_field fields[] = {
    INSPECT_FIELD("domain.initialized", struct domain, initialized),
    INSPECT_FIELD("domain.registry", struct domain, registry),
    INSPECT_FIELD("domain.gp", struct domain, gp),
    INSPECT_FIELD("domain.callbacks", struct domain, cb),
    INSPECT_FIELD("domain.watch", struct domain, watch),
    INSPECT_FIELD("domain.drive", struct domain, drive),
    INSPECT_FIELD("domain.adopt", struct domain, urcu),
    SRCU_INSPECT(struct domain, srcu),
    /* The counters of rtrcu_thread_stats(). */
    INSPECT_FIELD("thread.system_calls", struct rtrcu_thread, system_calls),
    INSPECT_FIELD("thread.lock_waits", struct rtrcu_thread, lock_waits),
    INSPECT_FIELD("thread.slow_paths", struct rtrcu_thread, slow_paths),
    INSPECT_FIELD("thread.callback_ns", struct rtrcu_thread, callback_ns),
    INSPECT_FIELD("thread.batch_ns_max", struct rtrcu_thread, batch_ns_max),
};

static const struct inspect_table domain_inspect_table = INSPECT_TABLE(fields);
static const struct domain *const first_domain = &rtrcu_domain;

#define TEXT_OF(number) #number
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

extern const struct inspect_block rtrcu_inspect;
__attribute__((visibility("hidden"), used)) const struct inspect_block rtrcu_inspect = {
    .magic = INSPECT_MAGIC,
    .version = INSPECT_VERSION,
    .bytes = sizeof(struct inspect_block),
    .field_bytes = sizeof(struct inspect_field),
    .tables = 8,
    .table = {&domain_inspect_table, &reader_inspect_table, &parked_inspect_table, &gp_inspect_table,
              &callback_inspect_table, &watch_inspect_table, &api_drive_table, &urcu_inspect_table},
    .domain = &first_domain,
    .seq_first = SEQ_FIRST,
    .seq_step = SEQ_STEP,
    .library = VERSION_TEXT(RTRCU_VERSION_MAJOR, RTRCU_VERSION_MINOR, RTRCU_VERSION_PATCH),
};
