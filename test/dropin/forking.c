/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Forks three levels deep while readers and callbacks run: in each child the only thread continues to read, wait and
 * queue.  A handler forks while its thread waits: the wait ends in the child too. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include HEADER

#include "dropin.h"

static int done;
static unsigned int invoked;

static void count(struct rcu_head *head)
{
    free(head);
    rtrcu_fetch_add(&invoked, 1);
}

static void queue_one(void)
{
    struct rcu_head *head = malloc(sizeof(*head));
    EXPECT(head);
    call_rcu(head, count);
}

static void *reader(void *unused)
{
    (void)unused;
    rcu_register_thread();
    while (!rtrcu_load_relaxed(&done)) {
        rcu_read_lock();
        rcu_read_unlock();
        called.quiescent();
    }
    rcu_unregister_thread();
    return NULL;
}

static void descend(int level)
{
    pthread_t thread;
    done = 0;
    EXPECT(pthread_create(&thread, NULL, reader, NULL) == 0);
    for (int i = 0; i < 50; i++)
        queue_one();
    if (level % 2)
        call_rcu_before_fork();
    pid_t child = level < 3 ? fork() : -1;
    if (level % 2 && child == 0)
        call_rcu_after_fork_child();
    else if (level % 2)
        call_rcu_after_fork_parent();
    if (child == 0) {
        invoked = 0;
        synchronize_rcu();
        queue_one();
        rcu_barrier();
        EXPECT(invoked >= 1);
        descend(level + 1);
        _exit(0);
    }
    int status = 0;
#if QUIESCES
    rcu_thread_offline();
#endif
    EXPECT(child < 0 || (waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0));
    rtrcu_store_relaxed(&done, 1);
    pthread_join(thread, NULL);
#if QUIESCES
    rcu_thread_online();
#endif
    synchronize_rcu();
    rcu_barrier();
    EXPECT(level > 0 || invoked == 50);
}

/* ---- a handler forks; afterwards its thread's wait in the kernel is restarted, as with signal() ---- */

static pid_t parent, handlers_child, waiter_id;
static pthread_t waiter;
static int inside;

static void fork_in_handler(int number)
{
    (void)number;
    handlers_child = fork();
    if (handlers_child == 0)
        alarm(60);
}

static bool is_asleep(pid_t thread)
{
    char path[64], state = 0;
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)thread);
    FILE *file = fopen(path, "r");
    EXPECT(file && fscanf(file, "%*d %*s %c", &state) == 1);
    fclose(file);
    return state == 'S';
}

/* The section that holds up the grace period ends when the waiter, which sleeps because of it, has forked. */
static void *hold_up(void *unused)
{
    (void)unused;
    rcu_register_thread();
    rcu_read_lock();
    rtrcu_store_release(&inside, 1);
    while (!rtrcu_load_acquire(&waiter_id) || !is_asleep(waiter_id))
        sched_yield();
    EXPECT(pthread_kill(waiter, SIGUSR1) == 0);
    while (!rtrcu_load_acquire(&handlers_child))
        sched_yield();
    rcu_read_unlock();
    rcu_unregister_thread();
    return NULL;
}

static void wait_beside_a_handler(void (*wait_for_it)(void))
{
    pthread_t thread;
    inside = waiter_id = handlers_child = 0;
    waiter = pthread_self();
    parent = getpid();
    EXPECT(pthread_create(&thread, NULL, hold_up, NULL) == 0);
    while (!rtrcu_load_acquire(&inside))
        called.quiescent();
    invoked = 0;
    queue_one();
    rtrcu_store_release(&waiter_id, (pid_t)syscall(SYS_gettid));
    wait_for_it();
    EXPECT(invoked == 1);
    if (getpid() != parent)
        _exit(0); /* a child that must not continue has returned from the interrupted call */
    int status = 0;
    EXPECT(waitpid(handlers_child, &status, 0) == handlers_child && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    pthread_join(thread, NULL);
}

static void free_server(void)
{
    struct call_rcu_data *server = get_thread_call_rcu_data();
    set_thread_call_rcu_data(NULL);
    call_rcu_data_free(server);
    rcu_barrier();
}

/* A process that a callback starts has none of the signals blocked that the library's threads block.  A process that it
 * starts in turn inherits its own mask. */
static int child_of_callback;

static int blocks(int signal)
{
    sigset_t now;
    pthread_sigmask(SIG_BLOCK, NULL, &now);
    return sigismember(&now, signal);
}

static void fork_with_signals_blocked(void)
{
    sigset_t blocked;
    int status = 1;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    pid_t child = fork();
    if (child == 0)
        _exit(blocks(SIGTERM) || !blocks(SIGUSR2));
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
}

static void fork_in_callback(struct rcu_head *head)
{
    free(head);
    pid_t child = fork();
    if (child == 0) {
        if (blocks(SIGTERM))
            _exit(1);
        fork_with_signals_blocked();
        _exit(0);
    }
    rtrcu_store_release(&child_of_callback, child);
}

static void test_callbacks(void)
{
    int status = 1;
    struct rcu_head *head = malloc(sizeof(*head));
    EXPECT(head);
    call_rcu(head, fork_in_callback);
    rcu_barrier();
    EXPECT(waitpid(child_of_callback, &status, 0) == child_of_callback && status == 0);
}

/* A process that a destructor of a server's thread starts while the server is being freed has the same signal mask, and
 * runs its callbacks. */
static pthread_key_t at_its_end;

static void fork_at_its_end(void *unused)
{
    int status = 1;
    (void)unused;
    pid_t child = fork();
    if (child == 0) {
        if (blocks(SIGTERM))
            _exit(1);
        alarm(60);
        invoked = 0;
        queue_one();
        rcu_barrier();
        _exit(invoked != 1);
    }
    EXPECT(waitpid(child, &status, 0) == child && status == 0);
}

static void leave_something(struct rcu_head *head)
{
    free(head);
    EXPECT(pthread_setspecific(at_its_end, &at_its_end) == 0);
}

static void test_destructors(void)
{
    EXPECT(pthread_key_create(&at_its_end, fork_at_its_end) == 0);
    for (int i = 0; i < 50; i++) {
        struct rcu_head *head = malloc(sizeof(*head));
        EXPECT(head);
        set_thread_call_rcu_data(create_call_rcu_data(0, -1));
        call_rcu(head, leave_something);
        rcu_barrier();
        free_server();
    }
    pthread_key_delete(at_its_end);
}

static void test_handlers(void)
{
    struct sigaction action = {.sa_handler = fork_in_handler, .sa_flags = SA_RESTART};
    EXPECT(sigaction(SIGUSR1, &action, NULL) == 0);
    wait_beside_a_handler(rcu_barrier);
    set_thread_call_rcu_data(create_call_rcu_data(0, -1));
    wait_beside_a_handler(free_server);
}

int main(void)
{
    expect_ours();
    rcu_register_thread();
    test_callbacks();
    test_destructors();
    test_handlers();
    for (int i = 0; i < 20; i++) {
        invoked = 0;
        descend(0);
    }
    rcu_unregister_thread();
    return 0;
}
