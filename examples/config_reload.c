/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A hot-reloaded configuration: worker threads read it at every request, and a reload replaces it meanwhile.
 *
 * Each version is an immutable object, to which one pointer refers. A worker that has begun a request keeps the version
 * that it found until its section ends; an old version is freed when the last such section has ended. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rtrcu/rcu.h>

#define WORKERS 2
#define VERSIONS 300

struct settings {
    int version;
    int timeout_ms; /* always 10 * version, which the workers check */
    char upstream[32];
    struct rcu_head rcu;
};

static struct settings *current; /* published with rcu_assign_pointer(), read with rcu_dereference() */
static int freed;                /* number of versions freed; the callbacks that count them run one at a time */

/* A worker thread, and the counts that it reports when it ends. */
struct tally {
    pthread_t thread;
    long requests, mistakes;
};

/* Creates a version; a real program would read a file. All fields are filled in and checked before a reader can see
 * them. */
static struct settings *load(int version)
{
    struct settings *fresh = malloc(sizeof(*fresh));
    if (!fresh)
        exit(1);
    fresh->version = version;
    fresh->timeout_ms = 10 * version;
    snprintf(fresh->upstream, sizeof(fresh->upstream), "server-%d.example", version);
    return fresh;
}

static void settings_free(struct rcu_head *head)
{
    struct settings *old = (struct settings *)((char *)head - offsetof(struct settings, rcu));
    old->version = old->timeout_ms = -1; /* a worker that still read the version would count a mistake */
    free(old);
    freed++;
}

/* Only one thread reloads, so it may read the old version without a section. */
static void reload(int version)
{
    struct settings *old = rcu_dereference_protected(current, true);
    rcu_assign_pointer(current, load(version));
    if (old)
        call_rcu(&old->rcu, settings_free);
}

/* Serve one request: all values come from the same version, even if a reload replaces it meanwhile. Returns the
 * version, or 0 for a mistake. */
static int serve(void)
{
    char expected[32];
    rcu_read_lock();
    const struct settings *now = rcu_dereference(current);
    int version = now->version;
    snprintf(expected, sizeof(expected), "server-%d.example", version);
    bool right = now->timeout_ms == 10 * version && strcmp(now->upstream, expected) == 0;
    rcu_read_unlock();
    return right ? version : 0;
}

/* Serve until the last version is published. */
static void *worker(void *argument)
{
    struct tally *tally = argument;
    int version, last = 0;
    do {
        version = serve();
        tally->requests++;
        tally->mistakes +=
            version < last; /* the settings were torn, freed, or older than those of the previous request */
        last = version;
    } while (version < VERSIONS);
    return NULL;
}

int main(void)
{
    struct tally tally[WORKERS] = {0};
    long requests = 0, mistakes = 0;
    reload(1);
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&tally[i].thread, NULL, worker, &tally[i]);
    for (int version = 2; version <= VERSIONS; version++) {
        usleep(500); /* spaces the reloads; no result depends on this pause */
        reload(version);
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(tally[i].thread, NULL);
        requests += tally[i].requests;
        mistakes += tally[i].mistakes;
    }
    rcu_barrier(); /* wait until every settings_free() queued above has returned */
    printf("%d versions, %ld requests, %ld mistakes, %d old versions freed\n", VERSIONS, requests, mistakes, freed);
    free(current);
    return mistakes == 0 && freed == VERSIONS - 1 ? 0 : 1;
}
