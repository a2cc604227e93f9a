// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of tables, numbers, charts, verdicts and documents of a report.
#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/chart.h"
#include "report/document.h"
#include "report/table.h"
#include "report/verdict.h"

using namespace lab;

TEST(Number, NumberHasThreeDigitsOrThousandsSeparators)
{
    EXPECT_EQ(number(std::nullopt), "-");
    EXPECT_EQ(number(0), "0");
    EXPECT_EQ(number(0.424), "0.42");
    EXPECT_EQ(number(17.26), "17.3");
    EXPECT_EQ(number(99.97), "100");
    EXPECT_EQ(number(711), "711");
    EXPECT_EQ(number(1660), "1,660");
    EXPECT_EQ(number(1234567), "1,234,567");
}

TEST(Table, AlignsColumnsByVisibleWidth)
{
    Table table;
    table.column("name", Table::Align::left);
    table.column("µs");
    table.row({"a", "1,660"});
    table.row({"longer", "7"});
    EXPECT_EQ(table.text(), "name       µs\n"
                            "─────────────\n"
                            "a       1,660\n"
                            "longer      7\n");
}

TEST(Table, WrapsCellsWiderThanTheTable)
{
    Table table;
    table.column("name", Table::Align::left);
    table.column("note", Table::Align::left);
    table.row({"one", "µs of a long note"});
    table.row({"two", "short"});
    EXPECT_EQ(table.text(16), "name  note\n"
                              "────────────────\n"
                              "one   µs of a\n"
                              "      long note\n"
                              "two   short\n");
    EXPECT_EQ(table.text(0), "name  note\n"
                             "───────────────────────\n"
                             "one   µs of a long note\n"
                             "two   short\n");
}

TEST(Table, EscapesControlSequences)
{
    Table table;
    table.column("name", Table::Align::left);
    table.row({"a\x1b[2J\nb\xc3"});
    EXPECT_EQ(table.text(), "name\n"
                            "─────────────────\n"
                            "a\\x1b[2J\\x0ab\\xc3\n");
}

TEST(Chart, ChartShowsASingleSampleAndTheAxis)
{
    std::vector<uint64_t> values(10'000, 20'000);
    values.push_back(5'000'000);
    std::string chart = density_chart("title", {{"one", values}}, 40);
    EXPECT_EQ(chart.rfind("title\none", 0), 0u);
    EXPECT_NE(chart.find("█"), std::string::npos);
    EXPECT_NE(chart.find("·"), std::string::npos) << "one sample of ten thousand is still drawn";
    EXPECT_NE(chart.find("10 µs"), std::string::npos);
    EXPECT_NE(chart.find("10 ms"), std::string::npos);
    EXPECT_EQ(density_chart("nothing", {{"none", {}}}, 40), "");
}

TEST(Verdict, OnlyFailedOutcomeIsAFailure)
{
    std::vector<Verdict> verdicts = {
        {Outcome::held, "a", "1"}, {Outcome::not_reproduced, "b", "2"}, {Outcome::not_judged, "c", "3"}};
    EXPECT_FALSE(any_failed(verdicts));
    verdicts.push_back({Outcome::failed, "d", "4"});
    EXPECT_TRUE(any_failed(verdicts));
    EXPECT_NE(verdict_text(verdicts).find("FAILED"), std::string::npos);
}

TEST(Document, DocumentContainsTheVerdicts)
{
    Document document("made up", Machine{});
    document.verdicts({{Outcome::held, "a claim", "1 against 2"}, {Outcome::failed, "another", "3"}});
    const Json &verdicts = document.json()["verdicts"];
    ASSERT_EQ(verdicts.size(), 2u);
    EXPECT_EQ(verdicts[0], (Json{{"outcome", "held"}, {"claim", "a claim"}, {"figures", "1 against 2"}}));
    EXPECT_EQ(verdicts[1]["outcome"], "FAILED");
}

TEST(Document, InvalidUtf8AndControlCharactersAreEscaped)
{
    const std::string file = testing::TempDir() + "rtrcu_document_names.json";
    Machine machine;
    machine.cpu_model = "half \xc3";
    Document document("made up", machine);
    document.argument("target", std::string("two\nlines \xff"));
    std::string error;
    ASSERT_TRUE(document.write(file, error)) << error;
    std::ifstream written(file);
    const Json json = Json::parse(written);
    EXPECT_EQ(json["machine"]["cpu_model"], "half \\xc3");
    EXPECT_EQ(json["args"]["target"], "two\\x0alines \\xff");
    std::remove(file.c_str());
}
