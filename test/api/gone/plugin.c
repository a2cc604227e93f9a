/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* A plugin that queues callbacks of its own.
 */
#include <rtrcu/rcu.h>

extern int gone_runs; /* defined by the program */

void gone_call(struct rcu_head *head);
void gone_retire(void *object);

static void run(struct rcu_head *head)
{
    (void)head;
    gone_runs++;
}

static void run_retired(void *object)
{
    (void)object;
    gone_runs++;
}

void gone_call(struct rcu_head *head)
{
    call_rcu(head, run);
}

void gone_retire(void *object)
{
    (void)!rcu_retire(object, run_retired);
}
