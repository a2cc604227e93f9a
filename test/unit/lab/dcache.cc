// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of the dentry cache, compared with a set of paths, and of the dbench replay on it.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "measure/callback_meter.h"
#include "peer/peer.h"
#include "workload/dbench.h"
#include "workload/dcache.h"
#include "workload/tree.h"

using namespace lab;

// Only the test reads, so the back-end `none` frees the retired entries at the end.
class DcacheTest : public testing::Test
{
  protected:
    ~DcacheTest() override
    {
        none_peer.between_rounds();
    }
    bool exists(const std::string &path) const
    {
        return dcache.walk(dcache.root(), path) != nullptr;
    }
    bool create(const std::string &path, bool directory = false)
    {
        return dcache.create(dcache.root(), path, directory);
    }

    Reclaimer reclaimer{none_peer};
    Dcache dcache{1000, reclaimer};
};

TEST_F(DcacheTest, WalkFindsEachComponentOfACreatedPath)
{
    EXPECT_TRUE(create("usr", true));
    EXPECT_TRUE(create("usr/lib", true));
    EXPECT_TRUE(create("usr/lib/libc.so"));
    EXPECT_TRUE(exists("usr/lib/libc.so"));
    EXPECT_FALSE(exists("usr/lib/libc"));
    EXPECT_FALSE(exists("lib/libc.so"));
    EXPECT_EQ(dcache.walk(dcache.root(), ""), dcache.root());
    EXPECT_EQ(dcache.size(), 3u);
}

TEST_F(DcacheTest, RefusesTheOperationsThatAFileSystemRefuses)
{
    EXPECT_FALSE(create("missing/file"));
    EXPECT_TRUE(create("d", true));
    EXPECT_FALSE(create("d", true));
    EXPECT_TRUE(create("d/f"));
    EXPECT_FALSE(create("d/f/under-a-file"));
    EXPECT_FALSE(dcache.remove(dcache.root(), "d"));
    EXPECT_FALSE(dcache.remove(dcache.root(), "d/other"));
    EXPECT_TRUE(dcache.remove(dcache.root(), "d/f"));
    EXPECT_TRUE(dcache.remove(dcache.root(), "d"));
    EXPECT_EQ(dcache.size(), 0u);
    EXPECT_EQ(reclaimer.queued(), 2u);
}

TEST_F(DcacheTest, RenameReplacesAndKeepsChildren)
{
    create("a", true);
    create("a/x", true);
    create("a/x/deep");
    create("b", true);
    create("b/y");
    EXPECT_TRUE(dcache.rename(dcache.root(), "a/x", "b/z"));
    EXPECT_TRUE(exists("b/z/deep"));
    EXPECT_FALSE(exists("a/x"));
    EXPECT_TRUE(dcache.rename(dcache.root(), "b/z/deep", "b/y"));
    EXPECT_TRUE(exists("b/y"));
    EXPECT_FALSE(exists("b/z/deep"));
    EXPECT_FALSE(dcache.rename(dcache.root(), "b", "b/z/loop"));
    EXPECT_FALSE(dcache.rename(dcache.root(), "b/y", "missing/y"));
    EXPECT_TRUE(dcache.remove(dcache.root(), "a"));
    EXPECT_EQ(reclaimer.queued(), 4u); // retired: the renamed x and deep, the replaced y, and the removed a
}

TEST_F(DcacheTest, RemoveTreeRemovesTheWholeSubtree)
{
    create("t", true);
    for (int i = 0; i < 10; i++) {
        std::string directory = "t/d" + std::to_string(i);
        create(directory, true);
        for (int j = 0; j < 5; j++)
            create(directory + "/f" + std::to_string(j));
    }
    create("stays");
    EXPECT_EQ(dcache.remove_tree(dcache.root(), "t"), 61u);
    EXPECT_EQ(dcache.size(), 1u);
    EXPECT_EQ(reclaimer.queued(), 61u);
    EXPECT_EQ(dcache.remove_tree(dcache.root(), "t"), 0u);
}

TEST_F(DcacheTest, DumpReadsEveryEntryUntilItIsStopped)
{
    create("ab", true);
    create("ab/cde");
    std::atomic<bool> stop{false};
    EXPECT_EQ(dcache.dump(stop), 5u);
    stop = true;
    EXPECT_EQ(dcache.dump(stop), 0u);
}

TEST_F(DcacheTest, ListCountsUpToALimit)
{
    create("d", true);
    for (int i = 0; i < 5; i++)
        create("d/" + std::to_string(i));
    const Dentry *directory = dcache.walk(dcache.root(), "d");
    EXPECT_EQ(dcache.list(directory, 64), 5u);
    EXPECT_EQ(dcache.list(directory, 3), 3u);
}

TEST_F(DcacheTest, AgreesWithAModelOverRandomOperations)
{
    const auto seed = std::random_device{}();
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    std::set<std::string> files;
    for (int d = 0; d < 4; d++)
        create("d" + std::to_string(d), true);
    auto some = [&] { return "d" + std::to_string(random() % 4) + "/f" + std::to_string(random() % 12); };
    uint64_t retired = 0;
    for (int i = 0; i < 20'000; i++) {
        std::string path = some(), other = some();
        switch (random() % 3) {
        case 0:
            ASSERT_EQ(create(path), files.insert(path).second) << path;
            break;
        case 1: {
            bool there = files.erase(path) != 0;
            ASSERT_EQ(dcache.remove(dcache.root(), path), there) << path;
            retired += there;
            break;
        }
        default: {
            bool there = files.count(path) != 0;
            ASSERT_EQ(dcache.rename(dcache.root(), path, other), there) << path << " to " << other;
            if (there && path != other) {
                retired += 1 + files.count(other);
                files.erase(path);
                files.insert(other);
            }
        }
        }
        ASSERT_EQ(exists(other), files.count(other) != 0) << other;
    }
    EXPECT_EQ(dcache.size(), files.size() + 4);
    EXPECT_EQ(reclaimer.queued(), retired);
}

TEST_F(DcacheTest, RetiredEntriesAreFreedThroughTheCallback)
{
    uint64_t before = callback_meter.invoked();
    create("f");
    dcache.remove(dcache.root(), "f");
    EXPECT_EQ(callback_meter.invoked(), before);
    none_peer.between_rounds();
    EXPECT_EQ(callback_meter.invoked(), before + 1);
}

TEST(Dbench, EachClientHasItsOwnDirectory)
{
    Loadfile loadfile;
    std::string error;
    ASSERT_TRUE(parse_loadfile("NTCreateX \"\\clients\\client1\\d\" 0x1 0x2 1 NT_STATUS_OK\n"
                               "NTCreateX \"\\clients\\client1\\d\\f\" 0x40 0x2 2 NT_STATUS_OK\n"
                               "Rename \"\\clients\\client1\\d\\f\" \"\\clients\\client1\\d\\g\" NT_STATUS_OK\n"
                               "FIND_FIRST \"\\clients\\client1\\d\\*\" 260 1366 0 NT_STATUS_OK\n"
                               "Unlink \"\\clients\\client1\\d\\g\" 0x6 NT_STATUS_OK\n"
                               "Deltree \"\\clients\\client1\" NT_STATUS_OK\n",
                               loadfile, error));
    Reclaimer reclaimer(none_peer);
    Dcache dcache(100, reclaimer);
    // Two clients: the second begins in the middle of the stream, with the files that would exist there.
    DbenchDriver driver(dcache, loadfile, none_peer.section(ThreadRole::deadline_loop), 2, 1);
    EXPECT_EQ(dcache.walk(dcache.root(), "clients/client1/d"), nullptr);
    EXPECT_NE(dcache.walk(dcache.root(), "clients/client2/d/g"), nullptr);
    for (std::size_t i = 0; i < 5; i++)
        EXPECT_TRUE(driver.apply(0, loadfile.operations[i])) << i;
    EXPECT_NE(dcache.walk(dcache.root(), "clients/client2/d/g"), nullptr);
    EXPECT_TRUE(driver.apply(0, loadfile.operations[5]));
    EXPECT_EQ(dcache.walk(dcache.root(), "clients/client1"), nullptr);
    EXPECT_FALSE(driver.apply(0, loadfile.operations[1])) << "a removed directory accepts no new entries";
    none_peer.between_rounds();
}

TEST(Tree, GeneratedTreeIsLabelledAndComplete)
{
    Tree tree = generate_tree(500, 3);
    EXPECT_TRUE(tree.synthetic);
    EXPECT_NE(tree.label.find("generated"), std::string::npos);
    ASSERT_EQ(tree.entries.size(), 500u);
    for (std::size_t i = 1; i < tree.entries.size(); i++) {
        ASSERT_LT(tree.entries[i].parent, i);
        ASSERT_TRUE(tree.entries[tree.entries[i].parent].directory);
    }
    EXPECT_EQ(tree.path(1), std::string(tree.name(1)));
}

TEST(Tree, UnreadableRootIsReportedWithARemedy)
{
    Tree tree;
    std::string error;
    EXPECT_FALSE(read_tree("/nonexistent", 100, 1'000'000'000, tree, error));
    EXPECT_NE(error.find("/nonexistent"), std::string::npos);
    EXPECT_NE(error.find("--tree"), std::string::npos);
    EXPECT_TRUE(read_tree("/etc", 50, 1'000'000'000, tree, error)) << error;
    EXPECT_LE(tree.entries.size(), 50u);
}
