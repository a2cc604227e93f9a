/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Sections of code built with RTRCU_DEBUG: where each began, for reports, and misuse that ends the program.
 *
 * tested by: test/api/srcu.cc
 */
#include "srcu/srcu.h"

/* Take a free note.  NULL: more sections are open than there are notes. */
static struct srcu_note *take(struct srcu *all, struct srcu_struct *domain)
{
    for (uint32_t i = 0; i < SRCU_NOTES; i++) {
        struct srcu_struct *none = NULL;
        if (rtrcu_load_relaxed(&all->notes[i].domain) || !rtrcu_compare_exchange(&all->notes[i].domain, &none, domain))
            continue;
        uint32_t noted = rtrcu_load_relaxed(&all->noted);
        while (noted <= i && !rtrcu_compare_exchange(&all->noted, &noted, i + 1))
            ; /* each failure means that another thread has raised `noted` */
        return &all->notes[i];
    }
    return NULL;
}

/* Find a note of @domain with @index and @thread; a negative @index and a @thread of 0 match every note. */
static struct srcu_note *find(struct srcu *all, const struct srcu_struct *domain, int index, uint32_t thread)
{
    for (struct srcu_note *note = all->notes; note < all->notes + rtrcu_load_acquire(&all->noted); note++) {
        if (rtrcu_load_acquire(&note->domain) == domain && (index < 0 || rtrcu_load_relaxed(&note->index) == index) &&
            (thread == 0 || rtrcu_load_relaxed(&note->thread) == thread))
            return note;
    }
    return NULL;
}

void srcu_note_lock(struct srcu *all, struct srcu_struct *domain, int index, uintptr_t place, bool stays)
{
    struct srcu_note *note = take(all, domain);
    if (!note)
        return;
    rtrcu_store_relaxed(&note->index, index);
    rtrcu_store_relaxed(&note->place, place);
    rtrcu_store_relaxed(&note->thread, stays ? lock_thread_number() : 0);
}

/* Ends the program if no section with @index can be open: while one is open, the sums differ. */
void srcu_note_unlock(struct srcu *all, struct srcu_struct *domain, int index, uintptr_t place)
{
    char code[160];
    uint32_t current = rtrcu_load_relaxed(&domain->current);
    bool is_old = index >= 0 && index >> 1 < (int)(current >> 1);
    if (!is_old && ((index ^ (int)current) > 1 || srcu_looks_drained(domain, 1u << (index & 1)))) {
        (void)plat_code(place, code, sizeof(code));
        plat_die("rtrcu: thread %u: srcu_read_unlock(%s, %d) at %s ends no section: unlocked twice, or a wrong index\n",
                 lock_thread_number(), domain->name, index, code);
    }

    struct srcu_note *note = find(all, domain, index, lock_thread_number());
    if (!note)
        note = find(all, domain, index, 0);
    if (note)
        rtrcu_store_release(&note->domain, NULL);
}

void srcu_note_wait(struct srcu *all, const struct srcu_struct *domain, const char *call)
{
    char code[160];
    const struct srcu_note *note = CHECK_DEBUG ? find(all, domain, -1, lock_thread_number()) : NULL;
    if (!note || srcu_inside(domain) == 0)
        return;
    (void)plat_code(rtrcu_load_relaxed(&note->place), code, sizeof(code));
    plat_die("rtrcu: thread %u: %s(%s) waits for itself: its section began at %s; a section that another thread ends"
             " begins with srcu_down_read()\n",
             lock_thread_number(), call, domain->name, code);
}

static const char *name_of(struct plat_tid thread, char name[PLAT_THREAD_NAME])
{
    if (plat_tid_is_nobody(thread))
        return "may end on any";
    plat_thread_name(thread, name, PLAT_THREAD_NAME);
    return name[0] ? name : "has exited";
}

void srcu_note_report(struct srcu *all, const struct srcu_struct *domain)
{
    char code[160], name[PLAT_THREAD_NAME];
    for (struct srcu_note *note = all->notes; note < all->notes + rtrcu_load_acquire(&all->noted); note++) {
        struct plat_tid thread = {rtrcu_load_relaxed(&note->thread)};
        if (rtrcu_load_acquire(&note->domain) != domain)
            continue;
        (void)plat_code(rtrcu_load_relaxed(&note->place), code, sizeof(code));
        plat_print("rtrcu:   a section of thread %u (%s) began at %s\n", thread.number, name_of(thread, name), code);
    }
}
