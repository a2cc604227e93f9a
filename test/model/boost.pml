/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Model of boosting: the PI word that is locked on a reader's behalf, its way back, exit, late boosters.
 *
 * The names are those of the source; README.md says which function stands for which, and what is assumed.
 * A fault is chosen by spin -a -DFAULT=5, or by FAULT in the environment of pan; sizes by -DSECTIONS=2 and the like.
 */
#ifndef BOOSTERS
#define BOOSTERS 2 /* the worker and a caller, for a grace period each */
#endif
#ifndef OWNERS
#define OWNERS 2 /* threads that have the slot one after the other */
#endif
#ifndef SECTIONS
#define SECTIONS 2 /* of each owner */
#endif
#ifndef GPS
#define GPS 1 /* of each booster */
#endif
#ifndef HANDLERS
#define HANDLERS 1 /* signals that interrupt an owner's slow path and read */
#endif
#ifndef TIMEOUTS
#define TIMEOUTS 1 /* 0: a booster sleeps until it is given the word */
#endif
#ifndef SAME_ID
#define SAME_ID 0 /* 1: the second owner has the id of the first, which is gone */
#endif

#define F_NONE 0
#define F_PLAIN_RELEASE 1        /* the owner stores 0 into the word instead of exchanging it */
#define F_WAITERS_NOT_WOKEN 2    /* it leaves a word with the waiters bit as it is: the priority is never dropped */
#define F_NEVER_RELEASED 3       /* the slow path does not look at the word */
#define F_NOT_CONFIRMED 4        /* the booster sleeps without looking for its flag again */
#define F_NO_FENCE 5             /* it looks again without the fence */
#define F_CONFIRMED_OUTSIDE 6    /* it looks for the flag, not for whether the owner is still inside */
#define F_TWO_BOOSTERS 7          /* no claim on the record */
#define F_EXIT_KEEPS 8           /* a thread goes without releasing its word */
#define F_BOOSTER_KEEPS 9         /* the booster that was given the word keeps it */
#define F_NOT_WITHDRAWN 10       /* it gives up, and leaves the owner's id in the word */
#define F_STALE_BIT_RESPECTED 11 /* it gives up, and withdraws only a word without the waiters bit */
#define F_FLAG_BEFORE_WORD 12    /* the flag, then the word */
#define F_PLAIN_BOOST 13          /* the booster stores the id instead of exchanging it */
#define F_OTHER_THREAD 14        /* it does not compare the thread ids when it looks again */
#define F_ARMED_BY_ANOTHER 15    /* it takes a flag that the other crank has set meanwhile for its own, fenced one */
#ifndef FAULT
#define FAULT F_NONE
#endif
local byte fault = FAULT; /* the environment's FAULT takes its place */

#define ID(n) ((n) == 1 && SAME_ID -> 1 : (n) + 1)
#define BOOSTER_ID(l) (10 + (l))

/* The record and its owner's word. */
bool registered, flag;
byte nesting, thread_id;
bool under_way; /* an increment or decrement of the word: it writes back the flag that it read */
bool slot_taken, leaf_lock;
bool owes[2];
byte claim; /* record.booster */
bool armed_since[2]; /* record.armed has changed since this booster looked */

/* record.boost, and what the kernel knows of it. */
byte word;
bool waiters;
bool sleeps[2];
byte boosted[2]; /* whose priority the sleeping booster raises */
bool handed[2];

/* Ghost: the id is of a thread that is in a section, or in the slow path behind one. */
bool busy[4];
bool alive[4];

#define BOOSTED(id) ((sleeps[0] && boosted[0] == (id)) || (sleeps[1] && boosted[1] == (id)))

/* reader_arm(), under the leaf lock */
inline arm()
{
    d_step {
        armed_since[0] = armed_since[0] || !flag;
        armed_since[1] = armed_since[1] || !flag;
        flag = true
    }
}

/* ---- kernel ---- */

inline hand_over()
{
    if
    :: sleeps[0] -> word = BOOSTER_ID(0); waiters = true; sleeps[0] = false; handed[0] = true; boosted[0] = 0;
        boosted[1] = (sleeps[1] -> word : 0)
    :: !sleeps[0] && sleeps[1] -> word = BOOSTER_ID(1); waiters = true; sleeps[1] = false; handed[1] = true; boosted[1] = 0
    :: else -> word = 0; waiters = false
    fi
}

/* FUTEX_UNLOCK_PI: refused if the word is not the caller's. */
inline unlock_pi(me)
{
    d_step {
        if
        :: word == me -> hand_over()
        :: else
        fi
    }
}

/* ---- the owner ---- */

/* reader_boost_release() and what turn_perform() does behind it */
inline boost_release(me)
{
    if
    :: atomic { word != me || fault == F_NEVER_RELEASED -> skip }
    :: atomic { word == me && fault != F_NEVER_RELEASED -> skip }
        if
        :: atomic { fault == F_PLAIN_RELEASE -> word = 0; waiters = false }
        :: atomic { fault != F_PLAIN_RELEASE && word == me && !waiters -> word = 0 }
        :: atomic { fault != F_PLAIN_RELEASE && (word != me || waiters) -> must_unlock = true }
        fi
    fi
}

/* One instruction that reads the word and writes it back. */
inline update(amount)
{
    atomic { seen_flag = flag; under_way = true }
    atomic { nesting = nesting + amount; flag = seen_flag; under_way = false }
}

/* section_unlock_slow(), section_report(), without what handlers do meanwhile */
inline unlock_slow(me)
{
    flag = false;
    owes[0] = false;
    owes[1] = false;
    must_unlock = false;
    boost_release(me);
    if
    :: must_unlock && fault != F_WAITERS_NOT_WOKEN -> unlock_pi(me)
    :: else
    fi;
    must_unlock = false
}

/* A signal handler that reads. */
inline handler(me)
{
    if
    :: atomic { handlers > 0 -> handlers--; kept = must_unlock }
        update(1);
        update(-1);
        if
        :: seen_flag -> unlock_slow(me)
        :: else
        fi;
        must_unlock = kept
    :: true
    fi
}

/* The same with a handler at each place where it matters. */
inline unlock_slow_interrupted(me)
{
    flag = false;
    handler(me);
    owes[0] = false;
    owes[1] = false;
    must_unlock = false;
    boost_release(me);
    handler(me);
    if
    :: must_unlock && fault != F_WAITERS_NOT_WOKEN -> unlock_pi(me)
    :: else
    fi;
    must_unlock = false
}

/* section_leave(); a thread may go from inside a section, which closes it */
inline leave(me)
{
    atomic { !leaf_lock -> leaf_lock = true }
    d_step { registered = false; nesting = 0; flag = false }
    owes[0] = false;
    owes[1] = false;
    must_unlock = false;
    if
    :: fault != F_EXIT_KEEPS -> boost_release(me)
    :: else
    fi;
    atomic { leaf_lock = false; slot_taken = false }
    if
    :: must_unlock && fault != F_WAITERS_NOT_WOKEN -> unlock_pi(me)
    :: else
    fi
}

proctype owner(byte me; byte number)
{
    byte sections = SECTIONS, handlers = HANDLERS;
    bool seen_flag, must_unlock, kept;
    atomic { !slot_taken && !alive[me] -> slot_taken = true; alive[me] = true }
    d_step { thread_id = me; registered = true } /* reader_publish() */
    do
    :: sections == 0 -> break
    :: atomic { sections > 0 -> sections--; busy[me] = true }
        update(1);
        if
        :: true -> update(-1)
        :: number < OWNERS - 1 -> break /* goes from inside */
        fi;
        if
        :: seen_flag -> unlock_slow_interrupted(me)
        :: else
        fi;
        atomic { assert(!BOOSTED(me)); busy[me] = false; seen_flag = false } /* a boost ends with the section */
    od;
    leave(me);
    atomic {
        assert(!BOOSTED(me) && word != me); /* and an id that is free again stands in no word */
        busy[me] = false;
        alive[me] = false
    }
}

/* ---- the booster ---- */

/* let_go(), reader_boost_withdraw() */
inline let_go(id)
{
    atomic {
        if
        :: fault != F_NOT_WITHDRAWN && word == id && !(fault == F_STALE_BIT_RESPECTED && waiters) ->
            word = 0;
            waiters = false
        :: else
        fi
    }
    claim = 0
}

/* choose(), may_boost(), reader_boost() */
inline choose(l)
{
    atomic { !leaf_lock -> leaf_lock = true }
    if
    :: atomic {
        owes[l] && registered && nesting > 0 && (claim == 0 || fault == F_TWO_BOOSTERS) ->
            claim = l + 1;
            id = thread_id
       }
        if
        :: fault == F_FLAG_BEFORE_WORD -> arm()
        :: else
        fi;
        if
        :: atomic { word == 0 && !waiters && fault != F_PLAIN_BOOST -> word = id; chosen = true }
        :: atomic { word == 0 && fault == F_PLAIN_BOOST -> chosen = true }
            atomic { word = id; waiters = false }
        :: atomic { word != 0 || waiters -> claim = 0; id = 0 }
        fi;
        if
        :: chosen && fault != F_FLAG_BEFORE_WORD -> arm()
        :: else
        fi;
        armed_since[l] = false
    :: else
    fi;
    leaf_lock = false
}

/* turn_fence(), confirm(): again until the flag is seen behind a fence */
inline confirm(l)
{
    do
    :: chosen && fault != F_NOT_CONFIRMED ->
        if
        :: !under_way || fault == F_NO_FENCE
        fi;
        atomic { !leaf_lock -> leaf_lock = true }
        if
        :: atomic {
            !(owes[l] && registered && (thread_id == id || fault == F_OTHER_THREAD)) ||
            (nesting == 0 && fault != F_CONFIRMED_OUTSIDE) -> chosen = false
           }
            let_go(id);
            leaf_lock = false;
            break
        :: atomic {
            owes[l] && registered && (thread_id == id || fault == F_OTHER_THREAD) &&
            (nesting > 0 || fault == F_CONFIRMED_OUTSIDE) -> skip
           }
            if
            :: atomic {
                flag && (!armed_since[l] || fault == F_ARMED_BY_ANOTHER) -> armed_since[l] = false; leaf_lock = false
               }
                break
            :: atomic {
                !flag || (armed_since[l] && fault != F_ARMED_BY_ANOTHER) -> arm();
                armed_since[l] = false;
                leaf_lock = false
               }
            fi
        fi
    :: else -> break
    od
}

/* FUTEX_LOCK_PI: takes a free word; else the owner runs at our priority until it unlocks, or the time is over */
inline lock_pi(l)
{
    d_step {
        handed[l] = false;
        if
        :: word == 0 && !sleeps[1 - l] -> word = BOOSTER_ID(l); handed[l] = true
        :: word != 0 && word < 10 && alive[word] ->
            waiters = true;
            sleeps[l] = true;
            boosted[l] = word;
            assert(busy[word]) /* nobody is boosted outside a section */
        :: word >= 10 && word != BOOSTER_ID(l) -> waiters = true; sleeps[l] = true; boosted[l] = word
        :: else
        fi
    }
    if
    :: !sleeps[l]
    :: atomic { TIMEOUTS && sleeps[l] -> sleeps[l] = false; boosted[l] = 0 }
    fi
}

/* boost_one() */
inline boost_one(l)
{
    lock_pi(l);
    if
    :: handed[l] && fault != F_BOOSTER_KEEPS ->
        if
        :: atomic { word == BOOSTER_ID(l) && !waiters -> word = 0 }
        :: word != BOOSTER_ID(l) || waiters -> unlock_pi(BOOSTER_ID(l))
        fi
    :: else
    fi;
    handed[l] = false;
    let_go(id)
}

inline boost(l)
{
    choose(l);
    confirm(l);
    if
    :: chosen && owes[l] -> boost_one(l)
    :: chosen && !owes[l] -> let_go(id)
    :: !chosen
    fi;
    d_step { chosen = false; id = 0 }
}

inline poll(l)
{
    atomic { !leaf_lock -> leaf_lock = true }
    if
    :: atomic { owes[l] && registered && nesting == 0 -> owes[0] = false }
        owes[1] = false
    :: atomic { owes[l] && registered && nesting > 0 -> arm() }
    :: !owes[l] || !registered
    fi;
    leaf_lock = false
}

proctype booster(byte l)
{
    byte gps = GPS, id;
    bool chosen;
    do
    :: gps == 0 -> break
    :: else ->
        /* gp_begin(), gp_scan() */
        atomic { !leaf_lock && !under_way; owes[l] = registered && nesting > 0; gps-- }
        do
        :: !owes[l] -> break
        :: owes[l] -> boost(l); poll(l)
        od
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
        for (n : 0 .. OWNERS - 1) {
            run owner(ID(n), n)
        }
        for (n : 0 .. BOOSTERS - 1) {
            run booster(n)
        }
    }
    /* Every run comes here: a booster that sleeps for ever is a state from which nothing moves. */
    atomic {
        _nr_pr == 1;
        assert(word == 0 && !waiters && claim == 0)
    }
}

#ifdef LIVENESS
ltl boosters_wake { [] (sleeps[0] -> <> !sleeps[0]) }
ltl grace_periods_end { [] (owes[0] -> <> !owes[0]) }
#endif
