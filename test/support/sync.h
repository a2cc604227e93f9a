/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Synchronisation of a test's threads: steps that one thread reaches and another waits for, and polled conditions.
 * Tests do not sleep to synchronise.  A condition that does not become true in time fails the test. */
#ifndef RTRCU_TEST_SUPPORT_SYNC_H
#define RTRCU_TEST_SUPPORT_SYNC_H

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sched.h>
#include <string>
#include <thread>

#include <sys/types.h>

namespace test
{

/* A counter that only rises: one thread reaches a step, another waits for it. */
class Steps
{
    std::atomic<int> at_{0};

  public:
    void reach(int step)
    {
        for (int now = at_.load(); now < step && !at_.compare_exchange_weak(now, step);)
            ;
        at_.notify_all();
    }
    /* Raise the counter by one, for one of several threads. */
    void arrive()
    {
        at_.fetch_add(1);
        at_.notify_all();
    }
    void wait(int step)
    {
        for (int now = at_.load(); now < step; now = at_.load())
            at_.wait(now);
    }
    int at() const
    {
        return at_.load();
    }
};

/* Far longer than a correct run needs, and below the time limit of ctest. */
constexpr std::chrono::seconds patience{60};

/* Poll until @condition holds, and return true; false after a minute.  Between polls a real-time thread sleeps, so that
 * other threads can use its CPU. */
template <typename Condition> bool eventually(Condition condition)
{
    auto until = std::chrono::steady_clock::now() + patience;
    bool real_time = sched_getscheduler(0) != SCHED_OTHER;
    while (!condition()) {
        if (std::chrono::steady_clock::now() > until)
            return false;
        if (real_time)
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        std::this_thread::yield();
    }
    return true;
}

/* Returns whether the kernel reports a thread of this process as sleeping. */
inline bool is_asleep(pid_t thread)
{
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string text;
    std::getline(file, text);
    return text.find(") S ") != std::string::npos;
}

/* Returns whether a thread of that name sleeps. A thread of the library sets its name before it begins its work, so a
 * sleep in its work is found under that name. */
inline bool a_thread_sleeps(const std::string &name)
{
    for (const auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
        std::ifstream file(task.path() / "comm");
        std::string text;
        if (std::getline(file, text) && text == name && is_asleep(std::stoi(task.path().filename())))
            return true;
    }
    return false;
}

/* Another thread that runs the test's tasks one after the other; run() returns when the task is done. */
class Worker
{
    std::function<void()> task_;
    std::atomic<int> asked_{0}, done_{0};
    std::thread thread_;

    void loop()
    {
        for (int next = 1;; next++) {
            for (int now = asked_.load(); now < next; now = asked_.load())
                asked_.wait(now);
            if (!task_)
                return;
            task_();
            done_ = next;
            done_.notify_all();
        }
    }

  public:
    Worker() : thread_([this] { loop(); })
    {
    }
    ~Worker()
    {
        finish();
    }
    Worker(const Worker &) = delete;
    Worker &operator=(const Worker &) = delete;

    /* Begin @task; wait() waits for its end. */
    void start(std::function<void()> task)
    {
        task_ = std::move(task);
        asked_++;
        asked_.notify_all();
    }
    bool is_done() const
    {
        return done_.load() == asked_.load();
    }
    void wait()
    {
        for (int now = done_.load(); now < asked_.load(); now = done_.load())
            done_.wait(now);
    }
    void run(std::function<void()> task)
    {
        start(std::move(task));
        wait();
    }
    /* End the thread; on return it has exited. */
    void finish()
    {
        if (!thread_.joinable())
            return;
        start(nullptr);
        thread_.join();
    }
};

} // namespace test

#endif
