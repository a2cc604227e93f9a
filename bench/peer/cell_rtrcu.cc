// SPDX-License-Identifier: MIT OR Apache-2.0
// rtrcu::cell: callbacks run by daemons, or by the updater itself in its turns.
#include <rtrcu/cell.hpp>
#include <rtrcu/rcu.h>

#include "peer/rtrcu_settings.h"
#include "work/works.h"

namespace bench
{
namespace
{

struct Cell {
    static inline rtrcu::cell<CellValue> cell{std::in_place};
    static constexpr auto version = rtrcu_version;
    static constexpr auto configure = rtrcu_set_up;
    static void begin()
    {
        rcu_read_lock(); // registers the thread
        rcu_read_unlock();
    }
    static void end()
    {
        rcu_unregister_thread();
    }
    [[gnu::always_inline]] static uint64_t read()
    {
        auto now = cell.read();
        return now->words[0];
    }
    static void update()
    {
        cell.update([](CellValue &copy) { copy.change(); });
    }
    static void settle()
    {
        rcu_barrier();
    }
};

// An event loop with deadlines that frees the values it replaced: a quiescent state every 64 updates. Its readers are
// ordinary threads: a quiescent-state thread that reads and never reports would delay every grace period for ever.
struct CellLoop : Cell {
    using Readers = Cell;
    static inline thread_local unsigned updates = 0;
    static void begin()
    {
        rtrcu_register_thread(RTRCU_QSBR | RTRCU_DEADLINE);
    }
    static void update()
    {
        Cell::update();
        if (++updates % 64 == 0)
            rcu_quiescent_state();
    }
};

} // namespace

const Peer cell_rtrcu_peer = peer_row<Cell>("rtrcu-cell", "rtrcu::cell, callbacks by daemons");
const Peer cell_rtrcu_loop_peer =
    peer_row<CellLoop>("rtrcu-cell-loop", "rtrcu::cell, an event loop that reclaims in its turns");

} // namespace bench
