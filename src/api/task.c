/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Entry points of parked tasks.
 *
 * tested by: test/api/task.cc
 */
#include "api/api.h"

void rtrcu_task_init(struct rcu_task *task, const char *name)
{
    *task = (struct rcu_task){.name = name, .where = PARKED_NOWHERE};
}

void rtrcu_task_park(struct rcu_task *task)
{
    CALL_SCOPE();
    struct domain *domain = &rtrcu_domain;
    bool own_list = config_now(&domain->config)->blocked_lists == RTRCU_BLOCKED_LISTS_PERCPU;
    turn_perform(&domain->drive.turn, section_task_park(&domain->gp, task, own_list));
}

void rtrcu_task_resume(struct rcu_task *task)
{
    CALL_SCOPE();
    section_task_resume(&rtrcu_domain.gp, task);
}

void rtrcu_task_list(struct rcu_task *task)
{
    CALL_SCOPE();
    struct domain *domain = &rtrcu_domain;
    bool own_list = config_now(&domain->config)->blocked_lists == RTRCU_BLOCKED_LISTS_PERCPU;
    turn_perform(&domain->drive.turn, section_task_list(&domain->gp, task, own_list));
}

void rtrcu_task_unlist(struct rcu_task *task)
{
    CALL_SCOPE();
    turn_perform(&rtrcu_domain.drive.turn, section_task_unlist(&rtrcu_domain.gp, task));
}

void rtrcu_task_exit(struct rcu_task *task)
{
    CALL_SCOPE();
    turn_perform(&rtrcu_domain.drive.turn, section_task_exit(&rtrcu_domain.gp, task));
}

bool rtrcu_task_blocking(const struct rcu_task *task)
{
    return parked_is_waited_for(task);
}

void rtrcu_task_set_blocking_handler(void (*handler)(void))
{
    work_set_blocking_handler(&rtrcu_domain.drive.work, handler);
}
