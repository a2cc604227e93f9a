/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Handshakes between threads of a test: steps that are reached and waited for, and conditions that become true.
 *
 * No test sleeps to synchronise: it waits for a step, or polls a condition that the other side must make true.  One
 * that does not come true within the limit is a failure of the test, never a reason to go on.
 */
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
    /* One more of several threads has come here. */
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

/* Far above what any correct run needs, below the time limit of the test driver. */
constexpr std::chrono::seconds patience{60};

/* Poll until @condition holds.  False if it does not in a minute.  A real-time thread leaves its CPU to others between
 * two looks: they may be what it waits for. */
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

/* Does a thread of this process sleep, as the kernel says? */
inline bool is_asleep(pid_t thread)
{
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string text;
    std::getline(file, text);
    return text.find(") S ") != std::string::npos;
}

/* Does a thread of that name sleep?  A new thread has its own name before it does its work. */
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

/* Another thread that does what the test says, one thing after the other: run() returns when it is done. */
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

    /* Begin @task; wait() for its end. */
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
    /* The thread ends, and is gone on return. */
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
