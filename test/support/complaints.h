/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the library says while an object of this class lives, as if no mistake had been made before in this process: of
 * those that are repeated only the first are said.
 */
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
