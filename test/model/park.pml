/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Model of parked tasks against grace periods: park, resume, last unlock, promotion, boundaries, reports, exit.
 *
 * The names are those of the source; README.md says which function stands for which, and what is assumed.
 * A fault is chosen by spin -a -DFAULT=5, or by FAULT in the environment of pan; sizes by -DTHREADS=2 and the like.
 */
#ifndef THREADS
#define THREADS 2
#endif
#ifndef TASKS
#define TASKS 2
#endif
#ifndef NORMAL_GPS
#define NORMAL_GPS 1
#endif
#ifndef EXPEDITED_GPS
#define EXPEDITED_GPS 1
#endif
#ifndef SECTIONS
#define SECTIONS 1 /* of each task */
#endif
#ifndef PARKS
#define PARKS 1 /* of each task */
#endif
#ifndef EXITS
#define EXITS 1 /* threads that may leave early */
#endif
#ifndef OWN_LIST
#define OWN_LIST 1 /* 1: blocked_lists=percpu, 0: node */
#endif

#define F_NONE 0
#define F_NO_PROMOTION_AT_BEGIN 1     /* a normal grace period's scan promotes nothing */
#define F_NO_PROMOTION_AT_SELECT 2    /* an expedited one's does not */
#define F_PROMOTION_BEFORE_WORDS 3    /* the scan promotes, then reads the words */
#define F_NO_PROMOTION_IN_REPORT 4    /* the reader's slow path clears its bit alone */
#define F_REPORT_BEFORE_PROMOTION 5   /* and in the wrong order */
#define F_NO_PROMOTION_IN_POLL 6      /* the poll clears the bit of who is outside, alone */
#define F_PARK_AMID_PROMOTION 7       /* the poll promotes, then reads the word, then clears */
#define F_NO_PROMOTION_AT_EXIT 8      /* tasks stay on the list of a record without a thread */
#define F_TASK_OFF_AT_RESUME 9        /* off its list when it is resumed */
#define F_WORD_BEFORE_LIST 10         /* park: nesting 0, then the list */
#define F_ALWAYS_AT_HEAD 11           /* no table: every task goes to the head */
#define F_GP_ROW_AT_HEAD 12           /* one row of it, GT|GW, is wrong */
#define F_BOUNDARY_DROPPED 13         /* the boundary's task leaves: nothing is waited for, though tasks stand behind */
#define F_NO_ARM_AT_RESUME 14         /* the last unlock takes the fast path */
#define F_NO_LOOK_UNDER_LOCK 15       /* taken off its thread's list without a second look */
#define F_NO_BLOCKED_FLAG 16          /* the boundary is set, the leaf's word does not say so */
#define F_PLACED_BY_HINT 17           /* the place follows what was read before the leaf lock */
#define F_POLL_WITHOUT_LOCK 18        /* the poll reads, promotes and clears without the leaf lock */
#define F_COUNT_BEFORE_FLAGS 19       /* promotion: the record says "none parked" before the leaf's word says "blocked" */
#ifndef FAULT
#define FAULT F_NONE
#endif
local byte fault = FAULT; /* the environment's FAULT takes its place, so that one pan serves for all faults of a size */

#define NORMAL 0
#define EXPEDITED 1
#define NOBODY 255
#define ALL_TASKS ((1 << TASKS) - 1)

mtype = { NOWHERE, ON_THREAD, ON_LEAF };

/* Threads: the reader word (nesting, flag), the record. */
bool nesting[THREADS], flag[THREADS], registered[THREADS];
byte self_task[THREADS];
byte own[THREADS];    /* tasks on the record's list, as bits */
byte parked[THREADS]; /* their number, as the record says */
bool tasks_lock[THREADS];
byte threads_left = THREADS;
byte threads_seen, tasks_seen; /* the first to move has the lowest number: all others are mirror images */

/* The leaf. */
bool leaf_lock;
byte list[TASKS], listed; /* in order */
byte boundary[2];         /* task, or NOBODY */
byte mask[2];             /* the leaf's word: who owes a report */
bool blocked[2];          /* and its flag */
bool running[2];

/* Tasks. */
mtype where[TASKS];
byte record[TASKS]; /* whose list, or NOBODY */
bool saved[TASKS], mounted[TASKS], finished[TASKS];
byte sections[TASKS], parks[TASKS];

/* Ghosts: who is inside, and since before which grace period. */
byte inside;
byte owed[2];
byte unfinished = TASKS;

/* ---- lists ---- */

/* The place is an expression of i: it is read once. */
inline insert_at(k, place)
{
    at = place;
    i = listed;
    do
    :: i > at -> list[i] = list[i - 1]; i--
    :: else -> break
    od;
    list[at] = k;
    listed++;
    at = 0
}

/* Where task k stands, in i. */
inline find(k)
{
    i = 0;
    do
    :: i < listed && list[i] != k -> i++
    :: else -> break
    od
}

#define GT (boundary[NORMAL] != NOBODY)
#define ET (boundary[EXPEDITED] != NOBODY)
#define GW (waits & 1)
#define EW (waits & 2)

/* parked_place() and put() */
inline put(k)
{
    if
    :: fault == F_ALWAYS_AT_HEAD -> insert_at(k, 0)
    :: fault == F_GP_ROW_AT_HEAD && GT && !ET && GW && !EW -> insert_at(k, 0)
    :: else ->
        if
        :: !GW && !EW -> insert_at(k, 0)
        :: !GT && ET && GW && !EW -> insert_at(k, 0)
        :: (!GT && !ET && (GW || EW)) || (GT && !ET && EW) || (GT && ET && GW && EW) -> insert_at(k, listed)
        :: (!GT && ET && EW) || (GT && ET && !GW && EW) -> find(boundary[EXPEDITED]); insert_at(k, i + 1)
        :: GT && GW && !EW -> find(boundary[NORMAL]); insert_at(k, i + 1)
        fi
    fi
}

/* parked_add_to_leaf(): adds to `fresh` */
inline add_to_leaf(k)
{
    find(k);
    assert(i == listed); /* not on the list twice */
    put(k);
    where[k] = ON_LEAF;
    if
    :: !GT && GW -> boundary[NORMAL] = k; fresh = fresh | 1
    :: else
    fi;
    if
    :: !ET && EW -> boundary[EXPEDITED] = k; fresh = fresh | 2
    :: else
    fi;
    i = 0
}

/* gp_waits_for_thread() */
inline waits_for(t) { d_step { waits = ((mask[NORMAL] >> t) & 1) | (((mask[EXPEDITED] >> t) & 1) << 1) } }

/* set_flags() of gp/tasks.c */
inline set_flags()
{
    d_step {
        if
        :: (fresh & 1) && fault != F_NO_BLOCKED_FLAG -> blocked[NORMAL] = true
        :: else
        fi;
        if
        :: (fresh & 2) && fault != F_NO_BLOCKED_FLAG -> blocked[EXPEDITED] = true
        :: else
        fi;
        fresh = 0;
        waits = 0
    }
}

/* gp_promote(), parked_promote() */
inline promote(t)
{
    waits_for(t);
    if
    :: atomic { parked[t] == 0 -> waits = 0 }
    :: atomic { parked[t] != 0 && !tasks_lock[t] -> tasks_lock[t] = true }
        do
        :: own[t] == 0 -> break
        :: d_step {
            own[t] != 0 ->
                k2 = ((own[t] & 1) -> 0 : ((own[t] & 2) -> 1 : 2));
                own[t] = own[t] & ~(1 << k2);
                record[k2] = NOBODY;
                add_to_leaf(k2);
                parked[t] = parked[t] - (fault == F_COUNT_BEFORE_FLAGS -> 1 : 0);
                moved++;
                k2 = 0
            }
        od;
        tasks_lock[t] = false;
        set_flags();
        if
        :: fault == F_COUNT_BEFORE_FLAGS -> moved = 0
        :: else -> atomic { !tasks_lock[t] -> parked[t] = parked[t] - moved; moved = 0 } /* parked_promoted() */
        fi
    fi
}

/* gp_report(): with one leaf there is no carry, and who owes does so in this grace period */
inline report(t)
{
    if
    :: !((mask[NORMAL] | mask[EXPEDITED]) & (1 << t)) /* nobody sets it while the thread is outside */
    :: else ->
        mask[NORMAL] = mask[NORMAL] & ~(1 << t);
        mask[EXPEDITED] = mask[EXPEDITED] & ~(1 << t)
    fi
}

/* section_report() */
inline section_report(t)
{
    if
    :: fault == F_REPORT_BEFORE_PROMOTION -> flag[t] = false; report(t)
    :: else
    fi;
    if
    :: atomic { parked[t] == 0 || fault == F_NO_PROMOTION_IN_REPORT -> flag[t] = false }
    :: atomic { parked[t] != 0 && fault != F_NO_PROMOTION_IN_REPORT -> flag[t] = false }
        atomic { !leaf_lock -> leaf_lock = true }
        promote(t);
        leaf_lock = false
    fi;
    report(t)
}

/* gp_unpark(), parked_remove_from_leaf() */
inline unblock(k)
{
    d_step {
        i = 0;
        find(k);
        assert(i < listed);
        if
        :: i + 1 < listed && fault != F_BOUNDARY_DROPPED -> k2 = list[i + 1]
        :: else -> k2 = NOBODY
        fi;
        do
        :: i + 1 < listed -> list[i] = list[i + 1]; i++
        :: else -> break
        od;
        listed--;
        list[listed] = 0;
        i = 0;
        fresh = 0;
        if
        :: boundary[NORMAL] == k -> boundary[NORMAL] = k2; fresh = fresh | (k2 == NOBODY -> 1 : 0)
        :: else
        fi;
        if
        :: boundary[EXPEDITED] == k -> boundary[EXPEDITED] = k2; fresh = fresh | (k2 == NOBODY -> 2 : 0)
        :: else
        fi;
        where[k] = NOWHERE;
        k2 = 0
    }
    if
    :: fresh == 0
    :: else ->
        blocked[NORMAL] = blocked[NORMAL] && !(fresh & 1);
        blocked[EXPEDITED] = blocked[EXPEDITED] && !(fresh & 2)
    fi;
    fresh = 0
}

/* take_off(), parked_remove_from_thread() */
inline take_off(k)
{
    do
    :: where[k] == NOWHERE -> break
    :: where[k] != NOWHERE ->
        r = record[k];
        there = false;
        if
        :: where[k] == ON_THREAD && r != NOBODY ->
            atomic {
                !tasks_lock[r];
                there = fault == F_NO_LOOK_UNDER_LOCK || (where[k] == ON_THREAD && record[k] == r);
                if
                :: there ->
                    assert(own[r] & (1 << k)); /* on the list that we take it off */
                    own[r] = own[r] & ~(1 << k);
                    record[k] = NOBODY;
                    parked[r]--;
                    where[k] = NOWHERE
                :: else
                fi
            }
        :: else
        fi;
        if
        :: there -> break
        :: atomic { !there && where[k] == ON_LEAF && !leaf_lock -> leaf_lock = true }
            unblock(k);
            leaf_lock = false;
            break
        :: !there && where[k] != ON_LEAF
        fi
    od;
    there = false;
    r = 0
}

/* ---- a thread, and the tasks that it runs ---- */

inline enter(t, k) { nesting[t] = true; inside = inside | (1 << k); sections[k]++ }

/* The last decrement of rcu_read_unlock(): here the section ends. */
inline leave(t, k)
{
    nesting[t] = false;
    inside = inside & ~(1 << k);
    owed[NORMAL] = owed[NORMAL] & ~(1 << k);
    owed[EXPEDITED] = owed[EXPEDITED] & ~(1 << k)
}

/* section_unlock_slow() */
inline unlock_slow(t, k)
{
    if
    :: self_task[t] != NOBODY -> take_off(k); self_task[t] = NOBODY
    :: else
    fi;
    section_report(t)
}

inline to_own_list(t, k)
{
    atomic { /* under tasks_lock; who looks without it looks at `parked` alone */
        !tasks_lock[t];
        assert(!(own[t] & (1 << k)) && where[k] == NOWHERE);
        own[t] = own[t] | (1 << k);
        record[k] = t;
        where[k] = ON_THREAD;
        parked[t]++
    }
}

inline to_a_list(t, k)
{
    waits_for(t);
    if
    :: OWN_LIST && waits == 0 -> to_own_list(t, k)
    :: else ->
        atomic { !leaf_lock -> leaf_lock = true }
        if
        :: fault != F_PLACED_BY_HINT -> waits_for(t)
        :: else
        fi;
        d_step { add_to_leaf(k) }
        set_flags();
        leaf_lock = false
    fi;
    waits = 0
}

/* section_task_park(), inside a section */
inline park(t, k)
{
    if
    :: fault == F_WORD_BEFORE_LIST -> nesting[t] = false
    :: else
    fi;
    if
    :: where[k] == NOWHERE -> to_a_list(t, k)
    :: where[k] != NOWHERE
    fi;
    if
    :: atomic { !flag[t] -> nesting[t] = false }
    :: atomic { flag[t] -> nesting[t] = false }
        section_report(t)
    fi
}

/* section_task_resume() */
inline resume(t, k)
{
    if
    :: saved[k] ->
        nesting[t] = true;
        saved[k] = false;
        flag[t] = fault != F_NO_ARM_AT_RESUME;
        self_task[t] = k
    :: else
    fi
}

/* section_leave() */
inline exit(t)
{
    atomic { !leaf_lock -> leaf_lock = true }
    if
    :: fault != F_NO_PROMOTION_AT_EXIT -> promote(t)
    :: else
    fi;
    registered[t] = false;
    report(t);
    leaf_lock = false
}

#define MAY_MOUNT(n) (!mounted[n] && !finished[n] && n <= tasks_seen && t <= threads_seen)

inline mount(n)
{
    mounted[n] = true;
    k = n;
    tasks_seen = (n == tasks_seen -> n + 1 : tasks_seen);
    threads_seen = (t == threads_seen -> t + 1 : threads_seen);
    resume(t, k)
}

proctype thread(byte t)
{
    byte k, i, at, k2, r, waits, fresh, moved;
    bool there;
idle:
    if
    :: unfinished == 0 -> goto done
    :: atomic {
        threads_left > THREADS - EXITS && unfinished > 0 && t < threads_seen -> threads_left--;
        goto gone
       }
    :: atomic { MAY_MOUNT(0) -> mount(0) }
#if TASKS > 1
    :: atomic { MAY_MOUNT(1) -> mount(1) }
#endif
#if TASKS > 2
    :: atomic { MAY_MOUNT(2) -> mount(2) }
#endif
    fi;
    if
    :: fault == F_TASK_OFF_AT_RESUME && nesting[t] -> take_off(k); self_task[t] = NOBODY
    :: else
    fi;
    do
    :: atomic { !nesting[t] && sections[k] < SECTIONS -> enter(t, k) }
    :: atomic { nesting[t] && !flag[t] -> leave(t, k) }
    :: atomic { nesting[t] && flag[t] -> leave(t, k) }
        unlock_slow(t, k)
    :: atomic { parks[k] < PARKS && nesting[t] -> self_task[t] = NOBODY; saved[k] = true; parks[k]++ }
        park(t, k);
        atomic { mounted[k] = false; k = 0 }
        goto idle
    :: atomic { !nesting[t] && sections[k] == SECTIONS ->
        mounted[k] = false; finished[k] = true; parks[k] = 0; unfinished--; k = 0 }
        goto idle
    od;
gone:
    exit(t);
done:
    skip
}

/* ---- a grace period, turned by its crank ---- */

/* promote_leaf() */
inline promote_all()
{
    do
    :: t < THREADS ->
        if
        :: registered[t] -> promote(t)
        :: !registered[t]
        fi;
        t++
    :: else -> break
    od;
    t = 0
}

/* gp_begin() with its heavy fence, gp_scan() */
inline scan(kind)
{
    d_step { running[kind] = true; owed[kind] = inside }
    atomic { !leaf_lock -> leaf_lock = true }
    if
    :: fault == F_PROMOTION_BEFORE_WORDS -> promote_all()
    :: else
    fi;
    do
    :: t < THREADS ->
        atomic {
            seen = seen | ((registered[t] && nesting[t]) -> (1 << t) : 0);
            t++
        }
    :: else -> break
    od;
    t = 0;
    if
    :: fault == F_PROMOTION_BEFORE_WORDS
    :: fault == F_NO_PROMOTION_AT_BEGIN && kind == NORMAL
    :: fault == F_NO_PROMOTION_AT_SELECT && kind == EXPEDITED
    :: else -> promote_all()
    fi;
    d_step {
        assert(boundary[kind] == NOBODY); /* INV-BL1 */
        if
        :: listed > 0 -> boundary[kind] = list[0]
        :: else
        fi;
        mask[kind] = seen;
        blocked[kind] = listed > 0;
        seen = 0;
        leaf_lock = false
    }
}

/* poll_leaf() for one reader: report for who is outside, ask who is inside */
inline poll_reader(kind)
{
    if
    :: fault == F_PARK_AMID_PROMOTION -> promote(t)
    :: else
    fi;
    if
    :: !nesting[t] ->
        if
        :: fault != F_NO_PROMOTION_IN_POLL && fault != F_PARK_AMID_PROMOTION -> promote(t)
        :: else
        fi;
        report(t)
    :: nesting[t] -> flag[t] = true
    fi
}

/* Is there anything for a poll to do? In all other states it changes nothing and is left out: a loop that takes the
 * lock again and again would starve others under weak fairness, which locks that queue do not. */
#define TO_DO(t) ((mask[kind] & (1 << t)) && (!nesting[t] || !flag[t]))
#if THREADS > 2
#define POLL_HELPS (TO_DO(0) || TO_DO(1) || TO_DO(2))
#else
#define POLL_HELPS (TO_DO(0) || TO_DO(1))
#endif

#define OWES ((mask[kind] & (1 << t)) && registered[t])

proctype crank(byte kind; byte turns)
{
    byte t, i, at, k2, waits, fresh, moved, seen;
    do
    :: turns == 0 -> break
    :: else ->
        scan(kind);
        do
        :: mask[kind] == 0 && !blocked[kind] -> break /* gp_is_clear() */
        :: atomic { POLL_HELPS && (!leaf_lock || fault == F_POLL_WITHOUT_LOCK) -> leaf_lock = fault != F_POLL_WITHOUT_LOCK }
            do
            :: t < THREADS && OWES -> poll_reader(kind); t++
            :: t < THREADS && !OWES -> t++
            :: t >= THREADS -> break
            od;
            t = 0;
            if
            :: fault != F_POLL_WITHOUT_LOCK -> leaf_lock = false
            :: else
            fi
        od;
        assert(owed[kind] == 0); /* the promise: whoever was inside at the begin has left */
        d_step { running[kind] = false; turns-- }
    od
}

init
{
    byte n;
    atomic {
        c_code {
            if (getenv("FAULT"))
                now.fault = atoi(getenv("FAULT"));
        };
        for (n : 0 .. THREADS - 1) {
            registered[n] = true;
            self_task[n] = NOBODY
        }
        for (n : 0 .. TASKS - 1) {
            where[n] = NOWHERE;
            record[n] = NOBODY
        }
        boundary[0] = NOBODY;
        boundary[1] = NOBODY;
        for (n : 0 .. THREADS - 1) {
            run thread(n)
        }
        run crank(NORMAL, NORMAL_GPS);
        run crank(EXPEDITED, EXPEDITED_GPS)
    }
    /* Every run comes here: a state from which nothing moves is an error of its own. */
    atomic {
        _nr_pr == 1;
        assert(listed == 0 && own[0] == 0 && own[1] == 0 && inside == 0);
        assert(boundary[0] == NOBODY && boundary[1] == NOBODY && !blocked[0] && !blocked[1])
    }
}

#ifdef LIVENESS
ltl normal_ends { [] (running[NORMAL] -> <> !running[NORMAL]) }
ltl expedited_ends { [] (running[EXPEDITED] -> <> !running[EXPEDITED]) }
#endif
