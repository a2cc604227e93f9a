// SPDX-License-Identifier: MIT OR Apache-2.0
// The dbench loadfile parser: operations, paths, and refused lines.
#include <gtest/gtest.h>

#include "workload/loadfile.h"

using namespace lab;

static Loadfile parsed(const std::string &text)
{
    Loadfile loadfile;
    std::string error;
    EXPECT_TRUE(parse_loadfile(text, loadfile, error)) << error;
    return loadfile;
}

static std::string refused(const std::string &text)
{
    Loadfile loadfile;
    std::string error;
    EXPECT_FALSE(parse_loadfile(text, loadfile, error));
    return error;
}

TEST(Loadfile, DistinguishesCreationFromOpeningByDispositionAndStatus)
{
    Loadfile loadfile = parsed("NTCreateX \"\\clients\\client1\\A\" 0x40 0x2 1 NT_STATUS_OK\n"
                               "NTCreateX \"\\clients\\client1\\A\" 0x40 0x1 2 NT_STATUS_OK\n"
                               "NTCreateX \"\\clients\\client1\\B\" 0x40 0x2 3 NT_STATUS_ACCESS_DENIED\n"
                               "NTCreateX \"\\clients\\client1\\C\" 0x1 0x2 4 NT_STATUS_OK\n"
                               "NTCreateX \"\\clients\\client1\\D\" 0x40 0x5 5 NT_STATUS_OK\n");
    ASSERT_EQ(loadfile.operations.size(), 5u);
    EXPECT_EQ(loadfile.operations[0].op, FileOp::create);
    EXPECT_FALSE(loadfile.operations[0].directory);
    EXPECT_EQ(loadfile.operations[1].op, FileOp::lookup);
    EXPECT_EQ(loadfile.operations[2].op, FileOp::lookup);
    EXPECT_EQ(loadfile.operations[3].op, FileOp::create);
    EXPECT_TRUE(loadfile.operations[3].directory);
    EXPECT_EQ(loadfile.operations[4].op, FileOp::create);
}

TEST(Loadfile, FoldsPathsAndKeepsEachOnce)
{
    Loadfile loadfile =
        parsed("Unlink \"\\clients\\client1\\~DMTMP\\Word\\HANDOUT.DOC\" 0x6 NT_STATUS_OK\n"
               "QUERY_PATH_INFORMATION \"\\clients\\client1\\~dmtmp\\WORD\\handout.doc\" 1004 NT_STATUS_OK\n");
    ASSERT_EQ(loadfile.paths.size(), 1u);
    EXPECT_EQ(loadfile.paths[0], "~dmtmp/word/handout.doc");
    EXPECT_EQ(loadfile.operations[0].op, FileOp::remove);
    EXPECT_EQ(loadfile.operations[1].op, FileOp::lookup);
    EXPECT_EQ(loadfile.operations[0].path, loadfile.operations[1].path);
}

TEST(Loadfile, ReadsEveryKindOfOperation)
{
    Loadfile loadfile = parsed("# a comment\n\n"
                               "Mkdir \"\\clients\" NT_STATUS_OK\n"
                               "Mkdir \"\\clients\\client1\\d\" NT_STATUS_OK\n"
                               "Rename \"\\clients\\client1\\d\\a\" \"\\clients\\client1\\d\\b\" NT_STATUS_OK\n"
                               "FIND_FIRST \"\\clients\\client1\\d\\*\" 260 1366 0 NT_STATUS_OK\n"
                               "WriteX 9938 0 65536 65536 NT_STATUS_OK\n"
                               "Deltree \"\\clients\\client1\" NT_STATUS_OK\r\n");
    ASSERT_EQ(loadfile.operations.size(), 4u);
    EXPECT_EQ(loadfile.operations[0].op, FileOp::make_directory);
    EXPECT_EQ(loadfile.operations[1].op, FileOp::rename);
    EXPECT_EQ(loadfile.paths[loadfile.operations[1].second_path], "d/b");
    EXPECT_EQ(loadfile.operations[2].op, FileOp::list);
    EXPECT_EQ(loadfile.operations[3].op, FileOp::remove_tree);
    EXPECT_EQ(loadfile.paths[loadfile.operations[3].path], "");
    EXPECT_EQ(loadfile.handle_operations, 1u);
    EXPECT_EQ(loadfile.outside_clients, 1u);
    EXPECT_EQ(loadfile.lines, 8u);
}

TEST(Loadfile, PathWithASimilarClientNameIsOutside)
{
    Loadfile loadfile = parsed("Unlink \"\\clients\\client10\\a\" 0x6 NT_STATUS_OK\n"
                               "Unlink \"\\clients\\client1\\a\" 0x6 NT_STATUS_OK\n");
    EXPECT_EQ(loadfile.operations.size(), 1u);
    EXPECT_EQ(loadfile.outside_clients, 1u);
}

TEST(Loadfile, RefusalsNameTheLine)
{
    EXPECT_EQ(refused("Close 1 NT_STATUS_OK\nFrobnicate 1\n"), "line 2: unknown operation 'Frobnicate'");
    EXPECT_EQ(refused("Unlink clients 0x6 NT_STATUS_OK\n"), "line 1: Unlink needs a quoted path");
    EXPECT_EQ(refused("Unlink \"\\clients\\client1\\a NT_STATUS_OK\n"), "line 1: Unlink needs a quoted path");
    EXPECT_EQ(refused("Rename \"\\clients\\client1\\a\" NT_STATUS_OK\n"),
              "line 1: Rename needs two quoted paths of one client");
    EXPECT_NE(refused("NTCreateX \"\\clients\\client1\\a\" 0x40\n").find("line 1: NTCreateX needs"), std::string::npos);
    EXPECT_EQ(refused("Close 1 NT_STATUS_OK\n"), "the file has no operation on a path");
}

TEST(Loadfile, MissingFileIsReportedWithARemedy)
{
    Loadfile loadfile;
    std::string error;
    EXPECT_FALSE(read_loadfile("/nonexistent/client.txt", loadfile, error));
    EXPECT_NE(error.find("--loadfile"), std::string::npos);
}

TEST(Loadfile, SameSeedGeneratesTheSameLoadfile)
{
    Loadfile a = generate_loadfile(7), b = generate_loadfile(7), c = generate_loadfile(8);
    ASSERT_EQ(a.operations.size(), b.operations.size());
    auto same = [](const Loadfile &x, const Loadfile &y) {
        for (std::size_t i = 0; i < x.operations.size(); i++)
            if (x.operations[i].op != y.operations[i].op || x.operations[i].path != y.operations[i].path)
                return false;
        return true;
    };
    EXPECT_TRUE(same(a, b));
    EXPECT_FALSE(same(a, c));
    for (const FileOperation &operation : a.operations)
        ASSERT_LT(operation.path, a.paths.size());
}
