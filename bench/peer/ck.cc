// SPDX-License-Identifier: MIT OR Apache-2.0
// Concurrency Kit's epochs.  Its readers fence, and only the updater runs its callbacks, so only the costs of a section
// and of a grace period are compared.
extern "C" {
#include <ck_epoch.h>
}

#include "work/works.h"

namespace bench
{
namespace
{

ck_epoch_t &epoch()
{
    static ck_epoch_t *one = [] {
        static ck_epoch_t storage;
        ck_epoch_init(&storage);
        return &storage;
    }();
    return *one;
}

// The library never frees records, but reuses them.
thread_local ck_epoch_record_t *record;

struct Ck {
    static const char *version()
    {
        return BENCH_CK_VERSION;
    }
    static constexpr auto configure = no_settings;
    static void begin()
    {
        record = ck_epoch_recycle(&epoch(), nullptr);
        if (record == nullptr) {
            record = new ck_epoch_record_t;
            ck_epoch_register(&epoch(), record, nullptr);
        }
    }
    static void end()
    {
        ck_epoch_unregister(record);
    }
    static void lock()
    {
        ck_epoch_begin(record, nullptr);
    }
    static void unlock()
    {
        ck_epoch_end(record, nullptr);
    }
    static void synchronize()
    {
        ck_epoch_synchronize(record);
    }
};

} // namespace

const Peer ck_peer = peer_row<Ck>("ck", "Concurrency Kit's epochs");

} // namespace bench
