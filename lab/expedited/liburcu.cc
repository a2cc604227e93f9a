// SPDX-License-Identifier: MIT OR Apache-2.0
// liburcu-memb's synchronize_rcu(), in a file that does not include this library's own header.
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
