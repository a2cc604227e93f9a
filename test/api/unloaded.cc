/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of a plugin that is unloaded while a callback is queued: debug builds name the callback. */
#include <dlfcn.h>
#include <sys/mman.h>

#include <cstring>
#include <string>

#include "child.h"

extern "C" int gone_runs;
int gone_runs;

namespace
{

rcu_head static_head;

class Plugin
{
    void *handle_ = dlopen(GONE_PLUGIN, RTLD_NOW);

    template <typename Function> Function find(const char *name)
    {
        void *found = handle_ ? dlsym(handle_, name) : nullptr;
        REQUIRE(found);
        return reinterpret_cast<Function>(found);
    }

  public:
    void call()
    {
        find<void (*)(rcu_head *)>("gone_call")(&static_head);
    }
    void retire()
    {
        find<void (*)(void *)>("gone_retire")(&static_head);
    }
    void close()
    {
        REQUIRE(dlclose(handle_) == 0);
        REQUIRE(dlopen(GONE_PLUGIN, RTLD_NOW | RTLD_NOLOAD) == nullptr);
    }
};

/* The section keeps the callback from running before the plugin is unloaded. */
void close_with_one_queued(void (Plugin::*queue)())
{
    Plugin plugin;
    rcu_read_lock();
    (plugin.*queue)();
    plugin.close();
    rcu_read_unlock();
    rcu_barrier();
}

CHILD(unloads_with_a_callback_queued)
{
    close_with_one_queued(&Plugin::call);
}

CHILD(unloads_with_a_retired_object)
{
    close_with_one_queued(&Plugin::retire);
}

TEST(Unloaded, CallbackWhoseCodeWasUnloadedIsNamed)
{
    if (!TEST_DEBUG)
        GTEST_SKIP() << "release builds do not check";
    for (const char *child : {"unloads_with_a_callback_queued", "unloads_with_a_retired_object"}) {
        test::ChildResult result = test::run_child(child);
        EXPECT_TRUE(aborted(result, "the code of a callback of thread ")) << child;
        EXPECT_TRUE(result.contains("is no longer in memory: " GONE_PLUGIN " 0x")) << result.output;
    }
}

CHILD(unloads_in_order)
{
    Plugin plugin;
    plugin.call();
    plugin.retire();
    rcu_barrier();
    plugin.close();
    REQUIRE(gone_runs == 2);
}

TEST(Unloaded, CodeMayBeUnloadedAfterABarrier)
{
    EXPECT_TRUE(exited_well(test::run_child("unloads_in_order")));
}

/* Code that belongs to no object, as a run-time compiler generates it. */
CHILD(code_made_at_run_time)
{
#if defined(__x86_64__)
    const unsigned char code[] = {0xc3};
#elif defined(__aarch64__)
    const unsigned char code[] = {0xc0, 0x03, 0x5f, 0xd6};
#elif defined(__riscv)
    const unsigned char code[] = {0x67, 0x80, 0x00, 0x00};
#elif defined(__powerpc64__)
    const unsigned char code[] = {0x20, 0x00, 0x80, 0x4e};
#else
    const unsigned char code[] = {0x07, 0xfe}; /* s390x */
#endif
    void *page = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    REQUIRE(page != MAP_FAILED);
    memcpy(page, code, sizeof(code));
    __builtin___clear_cache(static_cast<char *>(page), static_cast<char *>(page) + sizeof(code));
    REQUIRE(mprotect(page, 4096, PROT_READ | PROT_EXEC) == 0);
    call_rcu(&static_head, reinterpret_cast<rcu_callback_t>(page));
    rcu_barrier();
    REQUIRE(test::stats().callbacks_invoked == 1);
}

TEST(Unloaded, CallbackInGeneratedCodeIsAccepted)
{
    EXPECT_TRUE(exited_well(test::run_child("code_made_at_run_time")));
}

} // namespace
