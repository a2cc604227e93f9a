/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The one global domain and the public entry points: the only room with a mutable variable of file scope.
 *
 * Knows: everything below.  Performs the actions that lower rooms return.
 */
#ifndef RTRCU_API_API_H
#define RTRCU_API_API_H

#include "drive/drive.h"

struct domain {
    uint32_t initialized;
    int32_t message_error;    /* not 0: there is no key for it, and refusals are explained on standard error alone */
    unsigned int message_key; /* of each thread's last api_message */
    struct complaint refused; /* configurations */
    int32_t fence_error;      /* why full fences are in use, 0 = they are not or by choice */
    struct rtrcu_config first_config; /* what the environment said; later ones lie in pages of their own */
    struct reader_registry registry;
    struct gp gp;
    struct callback cb;
    struct watch watch;
    struct drive drive;
};

extern struct domain rtrcu_domain;

/* Why a configuration was refused. */
struct api_message {
    char text[256];
};

/* Idempotent; runs before main, or earlier if a constructor of the program reads first. */
void api_init(void);

/* Does @config make sense?  0, or -EINVAL with the reason in @why. */
int api_config_check(const struct rtrcu_config *config, struct api_message *why);
/* Defaults, then the environment, unless the program runs with more rights than whoever started it.  A bad value in the
 * environment is reported on standard error and left out. */
void api_config_from_environment(struct rtrcu_config *config);
/* What rtrcu_config_error() says from now on in this thread: @why, NULL = nothing. */
void api_message_keep(const struct api_message *why);
/* Say "inside a section" for a call that would never return.  Debug builds abort. */
void api_refuse_inside_section(const char *call);

/* A call that waits: quiescent-state threads are offline meanwhile.  Returns whether to come back online. */
bool api_wait_begin(const char *call);
void api_wait_end(bool was_online);

#endif
