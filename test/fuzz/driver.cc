// SPDX-License-Identifier: MIT OR Apache-2.0
// Runs a fuzz target without libFuzzer: seeded mutations of a corpus. usage: fuzz SEED FIRST COUNT FOLDER...
// The first inputs are the files of the folders; every other one depends only on the seed and its own number.  The
// inputs run in a child.  If one aborts, crashes or hangs, the parent names it and saves it beside the program as
// <program>.stopped; `fuzz SEED NUMBER 1 FOLDER...` replays it.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

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
constexpr unsigned patience_s = 20; // time limit of one input

void replace_number(std::string &text, size_t at, std::mt19937_64 &random)
{
    static constexpr const char *edges[] = {"0",
                                            "1",
                                            "-1",
                                            "65",
                                            "1.5",
                                            "2147483648",
                                            "4294967295",
                                            "9223372036854775807",
                                            "18446744073709551615",
                                            "99999999999999999999"};
    constexpr const char *digits = "0123456789";
    const size_t begin = std::min(text.find_first_of(digits, at), text.size());
    const size_t end = std::min(text.find_first_not_of(digits, begin), text.size());
    text.replace(begin, end - begin, edges[random() % std::size(edges)]);
}

void mutate(std::string &text, const std::vector<std::string> &corpus, std::mt19937_64 &random)
{
    const size_t at = text.empty() ? 0 : random() % text.size();
    switch (random() % 7) {
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
    case 5:
        replace_number(text, at, random);
        return;
    default:
        const std::string &other = corpus[random() % corpus.size()];
        text = text.substr(0, at) + other.substr(random() % (other.size() + 1));
    }
}

std::vector<std::string> read_corpus(char **folders, int count)
{
    std::vector<std::filesystem::path> files;
    for (int i = 0; i < count; i++)
        for (const auto &entry : std::filesystem::directory_iterator(folders[i]))
            if (entry.is_regular_file())
                files.push_back(entry.path());
    std::sort(files.begin(), files.end()); // sorted, so that the order is the same on every machine
    std::vector<std::string> corpus;
    for (const auto &path : files) {
        std::ifstream file(path, std::ios::binary);
        corpus.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    return corpus;
}

std::string make_input(const std::vector<std::string> &corpus, uint64_t seed, uint64_t number)
{
    if (number < corpus.size())
        return corpus[number];
    std::seed_seq both{seed, number};
    std::mt19937_64 random(both);
    std::string text = corpus[random() % corpus.size()];
    for (uint64_t left = 1 + random() % 8; left > 0; left--)
        mutate(text, corpus, random);
    text.resize(std::min(text.size(), longest));
    return text;
}

} // namespace

int main(int argc, char **argv)
{
    if (argc < 5) {
        std::fprintf(stderr, "usage: %s SEED FIRST COUNT FOLDER...\n", argv[0]);
        return 2;
    }
    const uint64_t seed = std::strtoull(argv[1], nullptr, 10), first = std::strtoull(argv[2], nullptr, 10);
    const uint64_t end = first + std::strtoull(argv[3], nullptr, 10);
    const std::vector<std::string> corpus = read_corpus(argv + 4, argc - 4);
    void *shared = mmap(nullptr, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (corpus.empty() || shared == MAP_FAILED) {
        std::fprintf(stderr, "%s: no file in the folders, or no memory\n", argv[0]);
        return 2;
    }
    auto &number = *static_cast<uint64_t *>(shared);
    const pid_t child = fork();
    if (child == 0) {
        for (number = first; number < end; number++) {
            const std::string text = make_input(corpus, seed, number);
            alarm(patience_s);
            LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t *>(text.data()), text.size());
        }
        return 0;
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return 2;
    std::printf("seed %s, inputs %s to %llu, %zu files\n", argv[1], argv[2], static_cast<unsigned long long>(end - 1),
                corpus.size());
    if (status == 0 && number == end)
        return 0;
    const std::string saved = std::string(argv[0]) + ".stopped";
    std::ofstream(saved, std::ios::binary) << make_input(corpus, seed, number);
    std::printf("seed %s, input %llu stops the target; it is saved as %s\n", argv[1],
                static_cast<unsigned long long>(number), saved.c_str());
    return 1;
}
