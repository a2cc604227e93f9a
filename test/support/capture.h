/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Capture of the library's output to standard error, while an object lives. */
#ifndef RTRCU_TEST_SUPPORT_CAPTURE_H
#define RTRCU_TEST_SUPPORT_CAPTURE_H

#include <string>

#include <sys/mman.h>
#include <unistd.h>

namespace test
{

class CapturedErrors
{
    int file_, saved_;

  public:
    CapturedErrors() : file_(memfd_create("stderr", MFD_CLOEXEC)), saved_(dup(2))
    {
        dup2(file_, 2);
    }
    ~CapturedErrors()
    {
        dup2(saved_, 2);
        close(saved_);
        close(file_);
    }
    CapturedErrors(const CapturedErrors &) = delete;
    CapturedErrors &operator=(const CapturedErrors &) = delete;

    std::string text() const
    {
        std::string all;
        char part[4096];
        for (ssize_t got; (got = pread(file_, part, sizeof(part), static_cast<off_t>(all.size()))) > 0;)
            all.append(part, static_cast<size_t>(got));
        return all;
    }
    bool contains(const std::string &what) const
    {
        return text().find(what) != std::string::npos;
    }
};

} // namespace test

#endif
