/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Capture of the library's messages while an object lives, with the counts of limited messages reset. */
#ifndef RTRCU_TEST_SUPPORT_COMPLAINTS_H
#define RTRCU_TEST_SUPPORT_COMPLAINTS_H

#include "capture.h"
#include "internals.h"

namespace test
{

class CapturedComplaints : public CapturedErrors
{
  public:
    CapturedComplaints()
    {
        for (complaint &kind : rtrcu_domain.registry.misuse)
            rtrcu_store_relaxed(&kind.count, uint64_t{0});
    }
};

} // namespace test

#endif
