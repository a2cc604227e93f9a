/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The table of policies.
 *
 * tested by: test/unit/callback/policy.cc
 */
#include "callback/callback.h"

const struct callback_policy *callback_policy_of(int32_t policy)
{
    switch (policy) {
    case RTRCU_POLICY_DAEMON:
        return &callback_policy_daemon;
    case RTRCU_POLICY_INLINE:
        return &callback_policy_inline;
    case RTRCU_POLICY_UNBOUNDED:
        return &callback_policy_unbounded;
    case RTRCU_POLICY_KRCUD:
        return &callback_policy_krcud;
    case RTRCU_POLICY_THROTTLE:
        return &callback_policy_throttle;
    default:
        return NULL;
    }
}
