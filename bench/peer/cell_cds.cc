// SPDX-License-Identifier: MIT OR Apache-2.0
// libcds' general-buffered RCU, around an atomic pointer.
#include <cds/init.h>
#include <cds/threading/model.h>
#include <cds/urcu/general_buffered.h>
#include <cds/version.h>

#include "work/works.h"

namespace bench
{
namespace
{

using Rcu = cds::urcu::gc<cds::urcu::general_buffered<>>;

struct Cds {
    static inline std::atomic<CellValue *> cell{new CellValue};
    struct Delete {
        void operator()(CellValue *value) const
        {
            delete value;
        }
    };
    // Initialises the library until the process ends; the library's own thread is the first reader of the process.
    struct Library {
        Library()
        {
            cds::Initialize();
            static Rcu rcu; // a buffer of its default capacity
            cds::threading::Manager::attachThread();
        }
    };
    static const char *version()
    {
        return CDS_VERSION_STRING;
    }
    static bool configure(const Settings &settings, std::string &error)
    {
        static Library library;
        return no_settings(settings, error);
    }
    static void begin()
    {
        cds::threading::Manager::attachThread();
    }
    static void end()
    {
        cds::threading::Manager::detachThread();
    }
    static uint64_t read()
    {
        Rcu::access_lock();
        uint64_t word = cell.load(std::memory_order_acquire)->words[0];
        Rcu::access_unlock();
        return word;
    }
    static void update()
    {
        CellValue *old, *next = new CellValue;
        Rcu::access_lock();
        old = cell.load(std::memory_order_acquire);
        do {
            *next = *old;
            next->change();
        } while (!cell.compare_exchange_strong(old, next, std::memory_order_acq_rel, std::memory_order_acquire));
        Rcu::access_unlock();
        Rcu::retire_ptr<Delete>(old);
    }
    static void settle()
    {
        Rcu::synchronize(); // a grace period empties the buffer
    }
};

} // namespace

const Peer cell_cds_peer = peer_row<Cds>("cds-gpb", "libcds, general-buffered RCU");

} // namespace bench
