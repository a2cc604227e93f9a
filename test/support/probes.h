/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The trace points of the running program, as listed in its file's notes. */
#ifndef RTRCU_TEST_SUPPORT_PROBES_H
#define RTRCU_TEST_SUPPORT_PROBES_H

#include <fstream>
#include <initializer_list>
#include <iterator>
#include <string>
#include <vector>

namespace test
{

/* The provider and the name are followed by the arguments, each as `4@%eax`. */
inline bool has_probe(const std::string &file, const char *name)
{
    using namespace std::string_literals;
    std::string note = "rtrcu\0"s + name + '\0';
    for (size_t at = file.find(note); at != std::string::npos; at = file.find(note, at + 1)) {
        std::string arguments = file.substr(at + note.size(), 4);
        if (arguments.find('@') != std::string::npos)
            return true;
    }
    return false;
}

/* Returns the names in @names that the program has no probe for. */
inline std::vector<std::string> missing_probes(std::initializer_list<const char *> names)
{
    std::ifstream stream("/proc/self/exe", std::ios::binary);
    std::string file{std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
    std::vector<std::string> missing;
#if !defined(__x86_64__) && !defined(__aarch64__)
    return missing; // there are no probes on other processors
#endif
    for (const char *name : names) {
        if (!has_probe(file, name))
            missing.emplace_back(name);
    }
    return missing;
}

} // namespace test

#endif
