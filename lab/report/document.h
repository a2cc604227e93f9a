// SPDX-License-Identifier: MIT OR Apache-2.0
// The JSON document of an experiment, and progress on standard error.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "machine/machine.h"
#include "measure/figure.h"

namespace lab
{

using Json = nlohmann::ordered_json;

Json or_null(const Figure &figure);

// {"experiment","version","machine","args","rows":[]}; rows are flat objects.
Json make_document(const std::string &experiment, const Machine &machine, const Json &arguments);

// Write as text; false with a message that names the file.
bool write_json(const std::string &file_name, const Json &document, std::string &error);

// Shows how far a run is: one line that is written over on a terminal, a line every few seconds elsewhere.
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
