// SPDX-License-Identifier: MIT OR Apache-2.0
// liburcu-memb's way to wait for a grace period, apart from everything that knows our own header.
#define rcu_head urcu_rcu_head
#include <urcu/urcu-memb.h>
#undef rcu_head

namespace lab::expedited
{

void liburcu_synchronize();

void liburcu_synchronize()
{
    urcu_memb_synchronize_rcu();
}

} // namespace lab::expedited
