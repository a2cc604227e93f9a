// SPDX-License-Identifier: MIT OR Apache-2.0
// Tests of quantiles, which are exact, and absent if there are too few samples, and of the histogram.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "measure/histogram.h"
#include "measure/quantile.h"

using namespace lab;

static Samples counting(uint64_t n)
{
    std::vector<uint64_t> values;
    for (uint64_t i = n; i >= 1; i--)
        values.push_back(i);
    return Samples(std::move(values));
}

TEST(Quantile, QuantileIsTheNearestRank)
{
    Samples thousand = counting(1000);
    EXPECT_EQ(thousand.quantile(0.5), 500u);
    EXPECT_EQ(thousand.quantile(0.99), 990u);
    EXPECT_EQ(thousand.max(), 1000u);
    EXPECT_EQ(counting(10'000).quantile(0.999), 9990u);
    EXPECT_EQ(counting(100'000).quantile(0.9999), 99'990u);
    EXPECT_DOUBLE_EQ(thousand.mean(), 500.5);
}

TEST(Quantile, QuantileNeedsTenSamplesAboveIt)
{
    EXPECT_EQ(samples_needed(0.5), 20u);
    EXPECT_EQ(samples_needed(0.99), 1'000u);
    EXPECT_EQ(samples_needed(0.999), 10'000u);
    EXPECT_EQ(samples_needed(0.9999), 100'000u);
    EXPECT_FALSE(counting(9'999).quantile(0.999).has_value());
    EXPECT_TRUE(counting(10'000).quantile(0.999).has_value());
    EXPECT_FALSE(counting(99'999).quantile(0.9999).has_value());
    EXPECT_EQ(counting(3).quantile_of_few(0.95), 3u);
    EXPECT_FALSE(Samples().quantile_of_few(0.5).has_value());
    EXPECT_FALSE(Samples().max().has_value());
}

TEST(Quantile, QuantileAgreesWithItsDefinition)
{
    const auto seed = std::random_device{}();
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937_64 random(seed);
    std::vector<uint64_t> values(20'000);
    for (uint64_t &value : values)
        value = random() % 1000; // many equal values
    Samples samples(values);
    for (double q : {0.5, 0.9, 0.99, 0.999}) {
        uint64_t result = samples.quantile(q).value();
        auto at_most = std::count_if(values.begin(), values.end(), [&](uint64_t v) { return v <= result; });
        auto below = std::count_if(values.begin(), values.end(), [&](uint64_t v) { return v < result; });
        EXPECT_GE(static_cast<double>(at_most), q * 20'000 - 1e-6);
        EXPECT_LT(static_cast<double>(below), q * 20'000);
    }
}

TEST(Quantile, CdfKeepsEachOfTheLargestSamples)
{
    Samples samples = counting(50'000);
    auto curve = samples.cdf(200);
    ASSERT_GT(curve.size(), 50u);
    EXPECT_LE(curve.size(), 200u);
    EXPECT_EQ(curve.back().first, 50'000u);
    EXPECT_DOUBLE_EQ(curve.back().second, 1);
    EXPECT_EQ(curve[curve.size() - 2].first, 49'999u);
    EXPECT_TRUE(std::is_sorted(curve.begin(), curve.end()));
}

TEST(Histogram, HistogramCountsEverySampleOnce)
{
    std::vector<uint64_t> values = {0, 1, 5, 50, 500, 5000, 1'000'000};
    auto bins = log_histogram(values, 10, 1000, 2);
    ASSERT_EQ(bins.size(), 2u);
    EXPECT_DOUBLE_EQ(bins[0], 4); // 0, 1 and 5, which are below the first bin, and 50
    EXPECT_DOUBLE_EQ(bins[1], 3);
}
