// SPDX-License-Identifier: MIT OR Apache-2.0
// The JSON document of an experiment, the page drawn from it, and progress on standard error.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "machine/machine.h"
#include "report/row.h"
#include "report/verdict.h"

namespace lab
{

// {"experiment","version","machine","args","rows":[],"verdicts":[]}: rows are flat objects; experiments have
// verdicts.
class Document
{
  public:
    Document(const std::string &experiment, const Machine &machine);
    ~Document();
    Document(const Document &) = delete;
    Document &operator=(const Document &) = delete;

    void argument(const char *key, const std::string &value);
    void argument(const char *key, const std::vector<std::string> &value);
    void argument(const char *key, const std::vector<uint64_t> &value);
    void argument(const char *key, const std::map<std::string, std::string> &value);
    void argument(const char *key, double value);
    void argument(const char *key, bool value);
    template <class Integer, class = std::enable_if_t<std::is_integral_v<Integer>>>
    void argument(const char *key, Integer value)
    {
        whole_argument(key, static_cast<int64_t>(value));
    }
    void row(const Fields &row);
    template <class Rows> void rows(const Rows &all)
    {
        for (const auto &one : all)
            row(one);
    }
    void verdicts(const Verdicts &verdicts);
    // Adds a curve, which only the page shows.
    void curve(const Fields &curve);
    Json &json()
    {
        return *json_;
    }

    // Writes the document as text.  Returns false with a message that names the file if it fails.
    bool write(const std::string &file_name, std::string &error) const;
    // Writes DIRECTORY/EXPERIMENT.json, and runs EXPERIMENT_html.py, which makes DIRECTORY/EXPERIMENT.html from it.
    // Returns a sentence for the user: the file that was written, or the reason why it was not, and advice. A command
    // without a page does not fail.
    std::string write_page(const std::string &directory) const;

  private:
    void whole_argument(const char *key, int64_t value);
    const std::unique_ptr<Json> json_, curves_;
};

// Shows the progress of a run: one line that is overwritten on a terminal, otherwise a line every few seconds.
class Progress
{
  public:
    Progress(std::string what, double total);
    ~Progress();
    void at(double done, const std::string &detail);

  private:
    std::string what_;
    double total_;
    bool terminal_;
    int64_t last_ns_ = 0;
    bool dirty_ = false;
};

} // namespace lab
