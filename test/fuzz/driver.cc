// SPDX-License-Identifier: MIT OR Apache-2.0
// Drives a fuzz target without libFuzzer: seeded mutations of a corpus.  usage: fuzz CORPUS [COUNT [SEED]]
//
// It stops where the target aborts; the line before says the seed and the count, and the same arguments replay it.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

namespace
{

constexpr size_t longest = 4096;

void mutate(std::string &text, const std::vector<std::string> &corpus, std::mt19937_64 &random)
{
    const size_t at = text.empty() ? 0 : random() % text.size();
    switch (random() % 6) {
    case 0:
        text.insert(at, 1, static_cast<char>(random()));
        return;
    case 1:
        if (!text.empty())
            text[at] = static_cast<char>(random());
        return;
    case 2:
        text.erase(at, random() % 8);
        return;
    case 3:
        text.insert(at, text.substr(random() % (text.size() + 1), random() % 16));
        return;
    case 4:
        text.insert(at, 1, "0123456789-+=,{}[]\"\n"[random() % 20]);
        return;
    default:
        const std::string &other = corpus[random() % corpus.size()];
        text = text.substr(0, at) + other.substr(random() % (other.size() + 1));
    }
}

} // namespace

int main(int argc, char **argv)
{
    const uint64_t count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 20000;
    const uint64_t seed = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 1;
    std::vector<std::string> corpus;
    std::vector<std::filesystem::path> files;
    for (const auto &entry : std::filesystem::directory_iterator(argc > 1 ? argv[1] : "."))
        if (entry.is_regular_file())
            files.push_back(entry.path());
    std::sort(files.begin(), files.end()); // the same order everywhere: the seed decides alone
    for (const auto &path : files) {
        std::ifstream file(path, std::ios::binary);
        corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    if (corpus.empty())
        corpus.emplace_back();
    std::printf("seed %llu, %llu inputs from %zu files\n", static_cast<unsigned long long>(seed),
                static_cast<unsigned long long>(count), corpus.size());
    std::fflush(stdout);
    std::mt19937_64 random(seed);
    for (uint64_t i = 0; i < count; i++) {
        std::string text = corpus[random() % corpus.size()];
        for (uint64_t left = i < corpus.size() ? 0 : 1 + random() % 8; left > 0; left--)
            mutate(text, corpus, random);
        text.resize(std::min(text.size(), longest));
        LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(text.data()), text.size());
    }
    return 0;
}
