/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Tests of the reader word: every transition from every state, compared with the tables of reader/word.h. */
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "../../support/internals.h"
#include "../../support/transitions.h"

namespace
{

enum Flag { FAST, SPECIAL, UNREGISTERED };
constexpr Flag flags[] = {FAST, SPECIAL, UNREGISTERED};
constexpr uint32_t insides[] = {0, 1, 2, RTRCU_QSBR_ONLINE, RTRCU_QSBR_ONLINE + 1, RTRCU_QSBR_ONLINE + 2};

std::string flag_state()
{
    reader_word word = reader_self_word();
    if (reader_word_is_fast(word))
        return "FAST";
    return reader_word_is_special(word) ? "SPECIAL" : "UNREGISTERED";
}

std::string inside_state()
{
    reader_word word = reader_self_word();
    bool section = reader_word_nesting(word) != 0, online = reader_word_is_online(word);
    EXPECT_EQ(reader_word_inside(word) != 0, section || online);
    return section ? online ? "BOTH" : "SECTION" : online ? "ONLINE" : "OUTSIDE";
}

/* Set the calling thread's word; with a flag other than UNREGISTERED the thread has a made-up record. */
void become(Flag flag, uint32_t inside)
{
    static reader_record record;
    rtrcu_word_unregister(&rtrcu_self);
    rtrcu_self.record = flag == UNREGISTERED ? nullptr : &record;
    if (flag != UNREGISTERED)
        rtrcu_word_register(&rtrcu_self);
    if (flag == FAST)
        rtrcu_word_disarm(&rtrcu_self);
    rtrcu_word_add(&rtrcu_self, inside);
}

/* Run @body in an unregistered thread. */
template <typename F> void run_apart(F body)
{
    std::thread([&] {
        body();
        become(UNREGISTERED, 0);
    }).join();
}

TEST(ReaderWord, FlagFollowsTheTable)
{
    run_apart([] {
        test::Transitions table("src/reader/word.h", "before");
        auto saw = [&](Flag flag, const char *transition, auto change) {
            for (uint32_t inside : insides) {
                become(flag, inside);
                std::string before = flag_state();
                change();
                table.saw(before, transition, flag_state());
                if (std::string(transition) != "reader_word_unregister()") {
                    EXPECT_EQ(reader_word_inside(reader_self_word()), inside) << transition;
                }
            }
        };
        saw(UNREGISTERED, "reader_word_register()", [] { reader_word_register(&rtrcu_self); });
        for (Flag flag : {FAST, SPECIAL}) {
            saw(flag, "reader_word_arm()", [] { reader_word_arm(&rtrcu_self); });
            saw(flag, "reader_word_disarm()", [] { reader_word_disarm(); });
        }
        for (Flag flag : flags)
            saw(flag, "reader_word_unregister()", [] { reader_word_unregister(&rtrcu_self); });
        table.all_seen();
    });
}

TEST(ReaderWord, InsideStateFollowsTheTable)
{
    run_apart([] {
        test::Transitions table("src/reader/word.h", "inside");
        auto saw = [&](Flag flag, uint32_t inside, const char *transition, auto change) {
            become(flag, inside);
            std::string before = inside_state(), flag_before = flag_state();
            change();
            table.saw(before, transition, inside_state());
            return flag_before == flag_state();
        };
        for (Flag flag : flags) {
            for (uint32_t inside : insides) {
                uint32_t nesting = inside & RTRCU_NESTING_MASK;
                if (!(inside & RTRCU_QSBR_ONLINE)) {
                    EXPECT_TRUE(saw(flag, inside, "reader_word_online()", reader_word_online));
                } else if (nesting == 0) {
                    EXPECT_TRUE(saw(flag, inside, "reader_word_offline()", reader_word_offline));
                }
                EXPECT_TRUE(saw(flag, inside, "reader_word_add_nesting()", [] { reader_word_add_nesting(2); }));
                for (uint32_t share = 1; share <= nesting; share++)
                    EXPECT_TRUE(
                        saw(flag, inside, "reader_word_remove_nesting()", [=] { reader_word_remove_nesting(share); }));
                for (uint32_t repaired : insides) {
                    saw(flag, inside, "reader_word_repair()",
                        [=] { reader_word_repair(flag != UNREGISTERED, repaired); });
                    EXPECT_EQ(flag_state() == "UNREGISTERED", flag == UNREGISTERED);
                }
                saw(flag, inside, "reader_word_unregister()", [] { reader_word_unregister(&rtrcu_self); });
            }
        }
        table.all_seen();
    });
}

TEST(ReaderWord, MisuseEndsDebugBuildsWithTheInvariantsId)
{
    if (!CHECK_DEBUG)
        GTEST_SKIP() << "only debug builds check";
    testing::FLAGS_gtest_death_test_style = "threadsafe";
    auto changed = [](Flag flag, uint32_t inside, void (*change)()) {
        become(flag, inside);
        change();
    };
    EXPECT_DEATH(changed(UNREGISTERED, 0, [] { reader_word_arm(&rtrcu_self); }), "INV-RD5");
    EXPECT_DEATH(changed(UNREGISTERED, 0, reader_word_disarm), "INV-RD5");
    EXPECT_DEATH(changed(FAST, RTRCU_QSBR_ONLINE, reader_word_online), "INV-RD6");
    EXPECT_DEATH(changed(FAST, 0, reader_word_offline), "INV-RD6");
    EXPECT_DEATH(changed(FAST, RTRCU_QSBR_ONLINE + 1, reader_word_offline), "INV-RD6");
    EXPECT_DEATH(changed(FAST, 1, [] { reader_word_remove_nesting(2); }), "INV-RD7");
}

} // namespace
