/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Drivers: the only room that sleeps, wakes and makes threads.
 *
 * Knows: everything below.  Must not know: the public entry points.
 *
 * A driver turns the crank for callbacks and polled cookies; a caller of synchronize_rcu() turns it itself.  Whoever
 * waits takes one step at a time, and goes on where another has stopped.  Daemons krcud/N invoke what owners do not.
 *
 *  sleeping  whom it says that of    who wakes it
 *  AWAKE     everybody at first      nobody needs to
 *  PACING    the driver              who is in a hurry
 *  TICKING   the driver              whoever brings something new, but deadline threads that are online
 *  IDLE      the driver              whoever brings something new; a deadline thread that comes online
 *  IDLE      a daemon                whoever gives it a queue
 *
 * INV-DR1: a record is on at most one daemon's list (its `listed` word is the claim).
 */
#ifndef RTRCU_DRIVE_DRIVE_H
#define RTRCU_DRIVE_DRIVE_H

#include "watch/watch.h"

/* In the order in which they sleep deeper. */
enum drive_sleep { DRIVE_AWAKE, DRIVE_PACING, DRIVE_TICKING, DRIVE_IDLE };
enum drive_state { DRIVE_NONE, DRIVE_STARTING = 1, DRIVE_RUNNING = 2, DRIVE_ASKED = 4 };

/* A thread of the library: whether it is there, how deep it sleeps, and by what it is woken.
 *
 *  before     transition                    after
 *  NONE       drive_thread_claim()          STARTING                   the caller makes it
 *  STARTING   drive_thread_claim()          ASKED                      somebody else needs it meanwhile
 *  ASKED      drive_thread_claim()          ASKED
 *  RUNNING    drive_thread_claim()          RUNNING
 *  NONE       drive_thread_hold()           STARTING                   to change what will be made
 *  STARTING   drive_thread_hold()           STARTING
 *  ASKED      drive_thread_hold()           ASKED
 *  RUNNING    drive_thread_hold()           RUNNING
 *  STARTING   drive_thread_make()           RUNNING NONE               made; refused: who needs it asks again
 *  ASKED      drive_thread_make()           RUNNING NONE
 *  STARTING   drive_thread_let()            NONE                       changed
 *  ASKED      drive_thread_let()            NONE                       changed, and its holder makes it now
 *  RUNNING    drive_thread_ended()          NONE                       the program's code has ended it
 *  STARTING   drive_thread_ended()          NONE                       before its maker had said that it runs
 *
 * And by itself alone:
 *
 *  sleeping   transition                    after
 *  AWAKE      drive_thread_lies_down()      PACING IDLE                a full fence: then it looks once more
 *  IDLE       drive_thread_ticks()          TICKING
 *  PACING     drive_thread_gets_up()        AWAKE
 *  TICKING    drive_thread_gets_up()        AWAKE
 *  IDLE       drive_thread_gets_up()        AWAKE
 *
 * A fork's child begins anew: see drive_thread_after_fork().
 *
 * INV-DR2: a thread is made, let or ended only while it is STARTING, or runs.
 * INV-DR3: a thread lies down awake, and ticks idle.
 */
struct drive_thread {
    uint32_t state;    /* atomic: enum drive_state */
    uint32_t event;    /* atomic: futex: counts what wakes it */
    uint32_t sleeping; /* atomic: enum drive_sleep; written by itself */
    struct plat_thread plat;
    const struct plat_home *home; /* where it begins; by who makes it, NULL = where all do now */
};

/* Value: what a thread is made of. */
struct drive_thread_spec {
    const char *name;
    void *(*body)(void *); /* NULL: there is nothing to make */
    void *argument;
    int priority;                 /* as plat_thread.priority */
    const struct plat_home *home; /* NULL = where all begin now */
};

/* Never freed: who makes a thread may still look at it.  So there is one of each list of CPUs. */
struct drive_home {
    struct drive_home *older;
    struct plat_home home;
};

struct krcud {
    struct lock lock;
    struct reader_record *first, *last; /* queues to serve; under the lock */
    uint32_t serving;                   /* invokers at work; under the lock */
    bool owed;                          /* a fork has held it off, and it has had no turn since; under the lock */
    struct drive_thread thread;
    uint32_t cpu;
    struct reader_record *served;        /* of its thread: the queue that has its turn, NULL = none */
    uint32_t generation;                 /* of its thread: in which that turn began */
    bool lifted;                         /* of its thread */
    const struct rtrcu_config *settings; /* that its thread was made by */
    struct drive *drive;
};

/* What this room keeps of one thread. */
struct drive_slot {
    struct reader_record *next_ready; /* a daemon's list of queues; under that daemon's lock */
    uint32_t listed;                  /* atomic: on a daemon's list or being served */
    uint32_t lender;                  /* atomic: thread id of the one thread that lends to it now, 0 = nobody */
    uint64_t lent_gp;                 /* of the lender: grace period that lent_ns belongs to */
    int64_t lent_ns;                  /* of the lender: time lent in it */
    int64_t looked_cpu_ns; /* CPU time that the thread had used at the last first look; under the leaf lock */
};

struct drive_leaf {
    struct drive_slot slot[READER_FANOUT];
};

void drive_leaf_init(struct drive_leaf *part, struct reader_leaf *leaf);

static inline struct drive_slot *drive_slot(const struct reader_record *record)
{
    struct drive_leaf *part = (struct drive_leaf *)reader_part(reader_leaf_of(record), READER_DRIVE);
    return &part->slot[reader_slot(record)];
}

struct drive_driver;

/* drive.threads: one change more; the low half is the number. */
#define DRIVE_THREADS_CHANGE (UINT64_C(1) << 32)

/* A thread for one task.  Four are real-time threads: one turns the expedited crank, one lends its priority to readers,
 * one ends the spinning of who lends, one says reports.  An ordinary one tells of parked tasks. */
enum {
    DRIVE_WORKER_EXPEDITED,
    DRIVE_WORKER_BOOST,
    DRIVE_WORKER_NUDGE,
    DRIVE_WORKER_REPORT,
    DRIVE_WORKER_TELL,
    DRIVE_WORKERS
};

/* What a worker is for: a row by the file that has its body. */
struct drive_job {
    const char *name;
    void *(*body)(void *worker);
    /* At which it begins, NULL = SCHED_OTHER: as an ordinary thread a worker might not come to run for long. */
    int (*priority)(const struct rtrcu_config *config);
};
extern const struct drive_job drive_job_expedited, drive_job_boost, drive_job_nudge, drive_job_report, drive_job_tell;

struct drive_worker {
    struct drive *drive;
    const struct drive_job *job; /* constant */
    struct drive_thread thread;
    uint32_t wanted;    /* atomic: boost: bit a kind, lend to readers of that grace period */
    uint32_t thread_id; /* atomic: 0 = not yet running */
    struct lock lock;   /* the priority: held over the look at who waits and the change */
    int32_t priority;   /* atomic: in force, 0 = SCHED_OTHER; written under the lock */
    int32_t refused;    /* under the lock: the priority that was refused last, and when */
    int64_t refused_ns;
};

/* Who lends a priority now: one thread at a time, which the nudger looks after.  Under the nudger's lock. */
struct drive_lending {
    uint32_t lender;        /* thread id, 0 = nobody */
    int32_t priority;       /* atomic: the highest that has been lent since the nudger awoke */
    int64_t nap_ns;         /* the nudger looks again after so long, 0 = it has to be woken */
    uint32_t cpu;           /* atomic: where the lender began to wait, if the kernel does not tell where it runs */
    const uint32_t *cpu_at; /* where its CPU number is to be read, NULL = nobody lends */
};

/* Of one kind of grace period: who waits for its end, and turns it meanwhile. */
struct drive_turning {
    uint32_t event;            /* atomic: futex: counts wake-ups and releases of the crank */
    uint32_t sleeping;         /* atomic: how many sleep on it or are about to */
    uint64_t slept, by_caller; /* atomic counters */
    /* What the next step needs to know; under the crank. */
    bool unscanned;      /* begun, and no fence was to be had yet */
    bool fenced;         /* its scan came behind a heavy fence */
    bool asked;          /* those in the way have been asked to report */
    uint32_t watcher;    /* thread id of who looks once a tick, 0 = nobody has had to wait */
    int64_t report_ns;   /* age at which it is reported next */
    uint32_t tasks_told; /* arrivals of tasks that the handler was told of */
};

/* Who waits for which expedited grace period, by the number of its end modulo 4; numbers.c. */
struct drive_numbers {
    uint32_t ended[4];    /* atomic: futex: counts ends */
    uint32_t waiters[4];  /* atomic */
    uint32_t priority[4]; /* atomic: the highest that waits */
    uint64_t told;        /* atomic: the worker was woken for the numbers up to this; see expedited.c */
};

struct drive {
    const struct config *config;
    struct reader_registry *registry;
    struct gp *gp;
    struct callback *cb;
    struct watch *watch;
    struct lock barrier_lock;          /* one rcu_barrier() at a time; held while it waits */
    const struct drive_driver *driver; /* atomic: written by drive_change(), with its thread held */
    const struct plat_home *home;      /* atomic: where threads run that are made from now on; an old one stays */
    struct drive_home *homes;          /* others than the process's, newest first; under the configuration lock */
    struct plat_home process;          /* as it began */
    struct drive_thread thread;        /* the driver's */
    struct drive_thread end;           /* of the one that ends the process */
    int64_t refused_ns;                /* atomic: when a thread was refused last, 0 = never */
    uint64_t threads_refused;          /* atomic counter */
    uint64_t threads;                  /* atomic: those of ours now, and above 32 bits how often that has changed */
    uint32_t main_ended;               /* atomic: the process's main thread has called pthread_exit() */
    int64_t online_ns;                 /* of the driver: when a deadline thread was online last, 0 = long ago */
    uint32_t urgent;                   /* atomic: the next grace period begins at once */
    uint32_t turns;                    /* atomic: futex: counts releases of the normal crank while some wait for it */
    uint32_t turn_waiters;             /* atomic: who leave it to the driver */
    uint32_t progress;                 /* atomic: futex: counts batches invoked while somebody waits for them */
    uint32_t progress_waiters;         /* atomic */
    struct drive_turning turning[GP_KINDS];
    struct drive_numbers numbers;
    struct drive_worker worker[DRIVE_WORKERS];
    struct drive_lending lending;
    void (*blocking_handler)(void); /* atomic: told whenever tasks come that a grace period waits for */
    int64_t flooded_ns;             /* atomic: when a backlog was last seen at qmax */
    uint64_t boosts, boost_ns, boost_ns_max, boost_refused, boost_given_up; /* atomic counters */
    uint64_t wakeups, passes, rt_refused, fence_refused, krcud_given;       /* atomic counters */
    uint32_t forking;       /* atomic: threads between prepare and parent handler: nobody begins a callback */
    uint32_t forker;        /* atomic: thread id of the one that forks, of those that may wait for it; 0 = nobody */
    int64_t forked_ns;      /* atomic: when the last fork was through */
    uint32_t fork_event;    /* atomic: futex: an invoker has stopped or had its turn meanwhile, or a fork is through */
    uint32_t fork_given_up; /* atomic counter */
    uint32_t generation;    /* forks since the first ancestor; written in a child before it has a second thread */
    uint32_t survivor;      /* thread id of the thread that forked this process, 0 = none did; likewise */
    sigset_t survivor_blocks; /* signals that it blocked then; likewise */
    struct krcud aside;       /* of invocations outside daemons; has neither list nor thread */
    struct krcud krcud[PLAT_CPU_MAX];
};

/* ---- the beginning, and counters: init.c ---- */

void drive_init(struct drive *drive, const struct config *config, struct gp *gp, struct callback *cb,
                struct watch *watch);

/* Another driver and home, from now on; the driver's thread is held. */
void drive_change(struct drive *drive, const struct drive_driver *driver, const struct plat_home *home);
/* Fill in what this room counts. */
void drive_stats(const struct drive *drive, struct rtrcu_stats *stats);

/* ---- threads: thread.c ---- */

/* A home on the CPUs of that list, "" = those of the process; NULL: no memory. */
const struct plat_home *drive_home_on(struct drive *drive, const char *cpus);

static inline bool drive_thread_runs(const struct drive_thread *thread)
{
    return rtrcu_load_acquire(&thread->state) == DRIVE_RUNNING;
}
/* 1: the caller makes it.  0: it is there, or somebody is at it.  -EAGAIN: refused less than a tick ago. */
int drive_thread_claim(struct drive *drive, struct drive_thread *thread);
/* By who has claimed it: 0; or -errno: there is no room for a thread now. */
int drive_thread_make(struct drive *drive, struct drive_thread *thread, const struct drive_thread_spec *start);
/* Both: 0: it is there, or somebody is at it; or -errno. */
int drive_thread_start(struct drive *drive, struct drive_thread *thread, const struct drive_thread_spec *start);
/* Is it the calling thread? */
bool drive_thread_is_me(const struct drive_thread *thread);
/* By the thread: it ends, and may be made again. */
void drive_thread_ended(struct drive *drive, struct drive_thread *thread);
/* Keep others from making it; false: it runs, or somebody is at it. */
bool drive_thread_hold(struct drive_thread *thread);
/* True if it was asked for meanwhile: the caller must have it made. */
bool drive_thread_let(struct drive_thread *thread);
/* What it has been woken for by now; read before it looks what there is to do, and given to its sleep. */
static inline uint32_t drive_thread_event(const struct drive_thread *thread)
{
    return rtrcu_load_acquire(&thread->event);
}
/* The count makes a wake-up that comes before the sleep end it. */
void drive_thread_wake(struct drive_thread *thread);
void drive_thread_sleep(struct drive *drive, struct drive_thread *thread, uint32_t event, int64_t timeout_ns);
/* Does it sleep, or is it about to, and how deep?  Behind a full fence. */
static inline enum drive_sleep drive_thread_sleeps(const struct drive_thread *thread)
{
    return (enum drive_sleep)rtrcu_load_relaxed(&thread->sleeping);
}
/* By the thread: it is about to sleep so, and looks once more before it does. */
void drive_thread_lies_down(struct drive_thread *thread, enum drive_sleep how);
void drive_thread_ticks(struct drive_thread *thread);
void drive_thread_gets_up(struct drive_thread *thread);
/* In the child: true if the forking thread is this one. */
bool drive_thread_after_fork(struct drive_thread *thread, uint32_t old_thread_id);

/* The main thread ends by pthread_exit(): from now on the process ends with the last thread that is not ours. */
void drive_main_ends(struct drive *drive);
/* Is an invoker of ours inside a callback? */
bool drive_anybody_at_work(struct drive *drive);
/* Has a fork held an invoker off that has had no turn since?  @forgive: from now on it has not. */
bool drive_anybody_owed(struct drive *drive, bool forgive);

/* ---- one grace period: turn.c ---- */

/* Wait until the grace period of @cookie has passed; take every step of it that nobody else takes. */
void drive_synchronize(struct drive *drive, enum gp_kind kind, uint64_t cookie);
/* How a grace period waits for its readers. */
struct drive_manner {
    bool never_spins;  /* looks once a tick */
    bool never_sleeps; /* asks at once and polls */
    bool by_caller;    /* counted */
};
/* The grace period of @cookie, at once, where nobody reads and nobody turns the crank.  False: it has to be turned. */
bool drive_pass_alone(struct drive *drive, enum gp_kind kind, uint64_t cookie);
/* Under the crank: begin and watch for a moment, or look again at what is under way.  True if it has ended. */
bool drive_turn_first(struct drive *drive, enum gp_kind kind);
/* See what is needed to its end, at most one grace period that is not under way yet. */
void drive_turn_if_needed(struct drive *drive, enum gp_kind kind, const struct drive_manner *manner);
/* Whoever has taken a crank and does not go on with it gives it back by this: others may sleep until then. */
void drive_release_crank(struct drive *drive, enum gp_kind kind);
/* One step, if the crank is free: begin a grace period that is needed, or look at the one under way.  Waits for nobody.
 * True if one ended. */
bool drive_step(struct drive *drive, enum gp_kind kind);

/* In a fork's child nobody waits, and what was under way begins again. */
void drive_turning_after_fork_child(struct drive_turning *turning);

/* ---- the heavy fence: fence.c ---- */

/* A heavy fence, by whatever still works; false: none does, try again later. */
bool drive_fence(struct drive *drive);

/* ---- sleeping: sleep.c ---- */

/* Sleep while *word == @expected, at most @timeout_ns: away, so that a switch to full fences does not wait for us. */
void drive_sleep(struct drive *drive, uint32_t *word, uint32_t expected, int64_t timeout_ns);
/* Take a lock whose holder may keep it for whole grace periods (barrier_lock, config_lock) or for a step (a crank);
 * lends the holder our priority.  Away meanwhile. */
void drive_take_long(struct drive *drive, struct lock *lock);
void drive_take_crank(struct drive *drive, enum gp_kind kind);

/* ---- waking: wake.c ---- */

/* Do what a call of a lower room returned.  A deadline thread wakes nobody. */
void drive_perform(struct drive *drive, unsigned int actions);
/* The driver has something new to do; @urgent: without waiting for the tick. */
void drive_wake(struct drive *drive, bool urgent);
/* Wake it in any case, from a deadline thread too: one that registers, so that the driver ticks from now on, or one
 * that waits. */
void drive_rouse(struct drive *drive);
/* The calling thread is online again: if it is a deadline thread, which wakes nobody from now on, and the driver sleeps
 * without a timeout, it is woken.  Without a thread of the driver, it may have to be at what is left. */
void drive_online(struct drive *drive);
/* As drive_wake() from a thread that may not make a system call: the driver finds it at its next tick. */
void drive_note(struct drive *drive, bool urgent);

/* ---- expedited grace periods: expedited.c ---- */

/* Wait for the expedited grace period of @cookie: the caller turns its first step, a worker the rest. */
void drive_synchronize_expedited(struct drive *drive, uint64_t cookie);
/* Have it happen; does not wait. */
void drive_start_expedited(struct drive *drive, uint64_t cookie);
/* Is one asked for that nobody turns: there is no worker, or it was not told? */
bool drive_expedited_is_left(struct drive *drive);
/* If so: make the worker and tell it, or turn it here. */
void drive_expedited_serve(struct drive *drive);

/* ---- who waits for them: numbers.c ---- */

/* One has ended: wake who waits for its number. */
void drive_expedited_done(struct drive *drive);
/* Wait until the one of @cookie has ended, whoever turns it.  False: a handler has forked since @generation, and in
 * this child nobody was told. */
bool drive_expedited_wait(struct drive *drive, uint64_t cookie, uint32_t generation);
/* A thread of @priority waits for the number of @cookie. */
void drive_expedited_raise(struct drive *drive, uint64_t cookie, uint32_t priority);
/* In a fork's child nobody waits but who forked, and its handler's thread looks again. */
void drive_numbers_after_fork_child(struct drive *drive);
/* The priority at which expedited grace periods are turned now: the worker's own, or of who waits; 0 = ordinary. */
int drive_expedited_priority(struct drive *drive);

/* ---- workers: worker.c ---- */

/* At the start: there is none yet. */
void drive_worker_init(struct drive *drive, int index, const struct drive_job *job);
/* In a fork's child: true if the forking thread is this one. */
bool drive_worker_after_fork_child(struct drive_worker *worker, uint32_t old_thread_id);
/* Make worker @index if it is not there.  0 or -errno. */
int drive_worker_start(struct drive *drive, int index);
void drive_worker_wake(struct drive *drive, int index);
/* Before the worker sleeps: what it waits for has been looked at since @event was read. */
void drive_worker_sleep(struct drive_worker *worker, uint32_t event);
/* The calling worker runs at the priority that @wanted says from now on; a refusal is counted and said once. */
void drive_worker_settle(struct drive_worker *worker, int (*wanted)(struct drive *));
/* Another thread raises it to @priority, if it is lower. */
void drive_worker_lift(struct drive *drive, int index, int priority);
/* The handler from now on, NULL = none. */
void drive_set_blocking_handler(struct drive *drive, void (*handler)(void));
/* Have the handler told of parked tasks, by a thread that holds nothing.  False: none can be had now. */
bool drive_tell_handler(struct drive *drive);

/* ---- callers: caller.c ---- */

/* Is the calling thread one that ordinary threads of the process keep from the CPU: SCHED_IDLE, or nicer than the
 * process was when it began and than its main thread is now?  Never the driver.  Asks the kernel once in some calls. */
bool drive_caller_is_weak(const struct drive *drive);

/* ---- reports: report.c ---- */

/* Have the reports that watch/ has gathered said, by a thread that holds nothing.  Under the crank; never waits. */
void drive_report(struct drive *drive);

/* ---- lending: boost.c ---- */

/* Should readers of this grace period be lent a priority by now? */
bool drive_boost_is_due(struct drive *drive, enum gp_kind kind);
/* Have the boost worker lend to the readers in the way that stand still, for about a tick.  Does not wait. */
void drive_boost(struct drive *drive, enum gp_kind kind);
/* The calling thread, if it is a real-time thread no lower than the worker, lends its own priority to them, each for a
 * slice at most.  False: it may not, another lends, or a slice ran out: the worker is needed. */
bool drive_boost_here(struct drive *drive, enum gp_kind kind);

/* Value: what a thread may run of callbacks that are a daemon's, where no daemon may be or can be had. */
struct drive_share {
    int64_t ns;       /* for so long; 0 = nothing, PLAT_FOREVER = a whole turn of each queue */
    int64_t spent_ns; /* it took so long; not counted where there is no limit */
    bool left;        /* there is more */
};

/* ---- drivers: a file each, and the table in init.c ---- */

/* A driver is a row: adding one changes nothing outside this room. */
struct drive_driver {
    const char *name;
    void *(*body)(void *drive);         /* of its thread, NULL = it has none */
    void (*bring)(struct drive *drive); /* without a thread: something new is there, in the calling thread */
    /* Likewise: the calling thread has come online, and nobody may be at what is left. */
    void (*come)(struct drive *drive);
    void (*leave)(struct drive *drive); /* without a thread: the calling thread goes; somebody must go on */
};
extern const struct drive_driver drive_driver_kthread, drive_driver_ltimer, drive_driver_sched, drive_driver_poll;
/* NULL if there is none of that number. */
const struct drive_driver *drive_driver_of(int32_t driver);
/* The row in force; perhaps the one before a change, so it is read once for each decision. */
static inline const struct drive_driver *drive_row(const struct drive *drive)
{
    return rtrcu_load_acquire(&drive->driver);
}

/* ---- the driver's thread: driver.c ---- */

/* A backlog is at qmax now. */
void drive_note_flood(struct drive *drive);
/* Was one so within the last DRIVE_FLOOD_NS? */
#define DRIVE_FLOOD_NS 10000000
static inline bool drive_is_flooded(const struct drive *drive, int64_t now)
{
    return now - rtrcu_load_relaxed(&drive->flooded_ns) < DRIVE_FLOOD_NS;
}
/* Has the driver a thread that runs? */
static inline bool drive_runs(const struct drive *drive)
{
    return drive_thread_runs(&drive->thread);
}
/* Make the driver's thread, if it needs one and has none.  0: it is there or somebody is at it; or -errno. */
int drive_start(struct drive *drive);
/* The same for call_rcu(), which a handler may have called: in a fork's child its first thread makes the driver here, a
 * deadline thread too, but not with more signals blocked than it had at the fork. */
void drive_start_in_call(struct drive *drive);
/* Keep others from making the driver's thread; false: it runs, or somebody is at it. */
bool drive_hold(struct drive *drive);
/* Behind drive_hold() and perhaps a change of the row: whoever needed a driver meanwhile gets one. */
void drive_changed(struct drive *drive);
/* The calling thread goes, or is not to go on: whatever is left needs somebody else. */
void drive_leave(struct drive *drive);
/* As drive_start(), and wait for who is at it: 0 = it is there. */
int drive_start_surely(struct drive *drive);

/* ---- what every driver does: pass.c ---- */

/* One look at everything: what was queued, a grace period that is needed, ready callbacks.  True if some wait for their
 * owner. */
bool drive_pass(struct drive *drive, const struct drive_manner *manner);
/* Is there anything that the driver has not looked at? */
bool drive_anything_new(struct drive *drive);
/* Sleep until somebody brings something; no longer than a tick where @ready callbacks wait for their owner, or a
 * deadline thread may bring something.  @event: the driver's futex before it last looked. */
void drive_sleep_idle(struct drive *drive, uint32_t event, bool ready);
/* The same, but only who is in a hurry wakes us. */
void drive_sleep_pacing(struct drive *drive, uint32_t event, int64_t timeout_ns);

/* ---- ready callbacks: dispatch.c ---- */

/* Hand ready callbacks to daemons, or run them here where no daemon may be.  True if some wait for their owner. */
bool drive_dispatch(struct drive *drive);
/* The same, and no more is run here than @share allows. */
bool drive_dispatch_within(struct drive *drive, struct drive_share *share);
/* The CPU whose daemon serves @record: where its owner runs, if the library's threads may run there.  Under the leaf
 * lock, or by the owner. */
uint32_t drive_cpu_of(const struct drive *drive, const struct reader_record *record);

/* ---- a driver without a thread: sched.c ---- */

/* One step in a call of the program's: the calling thread is outside sections and may take short locks.  Does nothing
 * where a thread of ours turns the crank, unless @asked. */
void drive_step_here(struct drive *drive, struct drive_share *share, bool asked);

/* ---- daemons: krcud.c ---- */

/* The thread of @record is gone: its slot is let go, once nothing of it is queued or served. */
void drive_let_go(struct reader_record *record);
/* One turn of @record's queue in the calling thread. */
void drive_krcud_serve_here(struct drive *drive, struct reader_record *record, struct drive_share *share);
/* Put @record on the list of @cpu's daemon, in front if @urgent; makes the daemon, or takes another that runs.  False:
 * there is none, and none can be made now. */
bool drive_krcud_give(struct drive *drive, struct reader_record *record, uint32_t cpu, bool urgent);
/* Make the daemons of all CPUs where the library's threads may run.  0 or -errno. */
int drive_krcud_start_all(struct drive *drive, const struct rtrcu_config *settings, const struct plat_home *home);

/* ---- waiting for callbacks: barrier.c ---- */

void drive_barrier(struct drive *drive);
/* backpressure=block: wait until @record's backlog is below qmax, or has not moved for 100 ms.  Runs no callback.
 * False: it is not below. */
bool drive_wait_below_qmax(struct drive *drive, struct reader_record *record);

/* ---- batches that have been invoked: progress.c ---- */

/* Tell whoever waits. */
void drive_progress(struct drive *drive);
/* Wait for a batch, unless @reached; at most a tick. */
void drive_progress_wait(struct drive *drive, bool (*reached)(struct drive *, void *), void *argument);

/* ---- fork: fork.c ---- */

/* Before fork: nobody else is inside a short lock afterwards, and no invoker of ours inside a callback, as far as it
 * returns within fork_wait_us. */
void drive_before_fork(struct drive *drive);
void drive_after_fork_parent(struct drive *drive);
void drive_after_fork_child(struct drive *drive, uint32_t old_thread_id);

static inline int64_t drive_tick_ns(const struct drive *drive)
{
    return config_now(drive->config)->tick_us * 1000;
}

#endif
