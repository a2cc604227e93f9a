/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the stack that follows a message: the walk follows frame pointers, and ends at a value that is none. */
#include <cstring>
#include <string>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "../../support/capture.h"
#include "../../support/internals.h"
#include "../../support/variant.h"

namespace
{

/* The addresses in the printed lines, innermost call first. */
std::vector<uintptr_t> addresses_in(const std::string &text)
{
    const std::string before = "from the program 0x";
    std::vector<uintptr_t> all;
    for (size_t at = 0; (at = text.find(before, at)) != std::string::npos; at += before.size())
        all.push_back(strtoul(text.c_str() + at + before.size(), nullptr, 16));
    return all;
}

/* The address of @function, in the form that addresses_in() returns. */
uintptr_t address_of(void (*function)())
{
    char text[256];
    (void)plat_code(reinterpret_cast<uintptr_t>(function), text, sizeof(text));
    return strtoul(strstr(text, "0x"), nullptr, 16);
}

/* The use of the frame's address makes the compiler keep a frame pointer. */
__attribute__((noinline)) void inner()
{
    static void *volatile frame;
    frame = __builtin_frame_address(0);
    plat_print_stack();
    (void)frame;
}

__attribute__((noinline)) void outer()
{
    static void *volatile frame;
    frame = __builtin_frame_address(0);
    inner();
    (void)frame;
}

TEST(Stack, StackListsTheCallersInnermostFirst)
{
    if (!TEST_LISTS_CALLERS)
        GTEST_SKIP() << "messages have no stack on this processor";
    test::CapturedErrors errors;
    outer();
    std::vector<uintptr_t> found = addresses_in(errors.text());
    ASSERT_GE(found.size(), 2u) << errors.text();
    EXPECT_LT(found[0] - address_of(inner), 128u) << errors.text();
    EXPECT_LT(found[1] - address_of(outer), 128u) << errors.text();
}

#if defined(__x86_64__)

/* Call plat_print_stack() with the given frame pointer, and leave room for a red zone below. */
void print_with(uintptr_t frame_pointer)
{
    uintptr_t stack;
    __asm__ volatile("movq %%rsp, %[stack]\n\tmovq %[value], %%rax\n\tsubq $128, %%rsp\n\tandq $-16, %%rsp\n\t"
                     "pushq %[stack]\n\tpushq %%rbp\n\tmovq %%rax, %%rbp\n\tcall plat_print_stack\n\tpopq %%rbp\n\t"
                     "popq %%rsp"
                     : [stack] "=&r"(stack)
                     : [value] "r"(frame_pointer)
                     : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory", "cc");
}

/* Expects that only the call itself is printed: @frame_pointer is not followed. */
void expect_one_line(uintptr_t frame_pointer)
{
    test::CapturedErrors errors;
    print_with(frame_pointer);
    EXPECT_EQ(addresses_in(errors.text()).size(), 1u) << std::hex << frame_pointer << "\n" << errors.text();
}

TEST(Stack, InvalidFramePointerEndsTheWalk)
{
    if (TEST_ASAN)
        GTEST_SKIP() << "the sanitizer's frames are larger than this test's";
    alignas(16) uintptr_t words[4] = {0, 0, 0, 0};
    uintptr_t own = reinterpret_cast<uintptr_t>(words);
    for (uintptr_t value :
         {uintptr_t{0}, uintptr_t{16}, own + 8, own + 1, own - (1 << 16), own + (1 << 20), ~uintptr_t{15}})
        expect_one_line(value);
}

TEST(Stack, AddressWithoutAPrecedingCallEndsTheWalk)
{
    if (TEST_ASAN)
        GTEST_SKIP() << "the sanitizer's frames are larger than this test's";
    alignas(16) uintptr_t words[4] = {0, reinterpret_cast<uintptr_t>(&plat_print_stack), 0, 0};
    expect_one_line(reinterpret_cast<uintptr_t>(words));
    words[1] = 0x1000; /* not mapped */
    expect_one_line(reinterpret_cast<uintptr_t>(words));
}

ucontext_t before, inside;
uintptr_t beyond;

void print_beyond()
{
    expect_one_line(beyond);
}

/* The frame pointer points to the unreadable page at the end of a stack that the program has made. */
TEST(Stack, UnreadablePageEndsTheWalk)
{
    if (TEST_ASAN)
        GTEST_SKIP() << "the sanitizer does not know the other stack";
    const size_t bytes = size_t{1} << 16, page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    char *stack =
        static_cast<char *>(mmap(nullptr, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(stack, MAP_FAILED);
    ASSERT_EQ(mprotect(stack + bytes, page, PROT_NONE), 0);
    beyond = reinterpret_cast<uintptr_t>(stack + bytes);
    ASSERT_EQ(getcontext(&inside), 0);
    inside.uc_stack.ss_sp = stack;
    inside.uc_stack.ss_size = bytes;
    inside.uc_link = &before;
    makecontext(&inside, print_beyond, 0);
    ASSERT_EQ(swapcontext(&before, &inside), 0);
    munmap(stack, bytes + page);
}

#endif

} // namespace
