// SPDX-License-Identifier: MIT OR Apache-2.0
// Sampling by the kernel's software CPU clock: one event and one ring for each CPU, inherited by all threads created
// later.
#include "overhead/profile.h"

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "overhead/profile_signal.h"

namespace lab::overhead
{
namespace
{

constexpr std::size_t ring_pages = 64; // 256 KiB: 5,000 samples of 48 bytes, 0.6 s at 8 kHz; collect() empties the ring
constexpr uint64_t sample_fields = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_REGS_USER;
#if defined(__x86_64__)
constexpr uint64_t program_counter = 1u << 8; // PERF_REG_X86_IP
#else
constexpr uint64_t program_counter = uint64_t{1} << 32; // PERF_REG_ARM64_PC
#endif

class Ring
{
  public:
    Ring(int cpu, int64_t period_ns)
    {
        perf_event_attr attributes{};
        attributes.size = sizeof(attributes);
        attributes.type = PERF_TYPE_SOFTWARE;
        attributes.config = PERF_COUNT_SW_CPU_CLOCK;
        attributes.sample_period = static_cast<uint64_t>(period_ns);
        attributes.sample_type = sample_fields;
        attributes.sample_regs_user = program_counter;
        attributes.inherit = 1;
        attributes.disabled = 1;
        event_ = open(attributes, cpu);
        if (event_ < 0) { // an ordinary user may sample user space only
            attributes.exclude_kernel = 1;
            event_ = open(attributes, cpu);
        }
        if (event_ < 0)
            return;
        void *memory = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, event_, 0);
        if (memory != MAP_FAILED)
            page_ = static_cast<perf_event_mmap_page *>(memory);
    }
    ~Ring()
    {
        if (page_ != nullptr)
            munmap(page_, bytes());
        if (event_ >= 0)
            close(event_);
    }
    Ring(const Ring &) = delete;
    Ring &operator=(const Ring &) = delete;

    bool usable() const
    {
        return page_ != nullptr;
    }
    void enable(bool on)
    {
        ioctl(event_, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
    }
    // Appends the ring's samples to `samples`, adds lost samples to `lost`, and empties the ring.
    void read(std::vector<Sample> &samples, uint64_t &lost)
    {
        const auto *data = reinterpret_cast<const char *>(page_) + page_->data_offset;
        const uint64_t size = page_->data_size;
        const uint64_t head = std::atomic_ref<__u64>(page_->data_head).load(std::memory_order_acquire);
        uint64_t tail = page_->data_tail;
        while (tail < head) {
            perf_event_header header;
            copy(data, size, tail, &header, sizeof(header));
            std::vector<char> record(header.size);
            copy(data, size, tail, record.data(), record.size());
            Sample sample;
            if (parse_sample(record, sample, lost))
                samples.push_back(sample);
            tail += header.size;
        }
        std::atomic_ref<__u64>(page_->data_tail).store(tail, std::memory_order_release);
    }

  private:
    static std::size_t bytes()
    {
        return (ring_pages + 1) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    }
    static int open(perf_event_attr &attributes, int cpu)
    {
        return static_cast<int>(syscall(SYS_perf_event_open, &attributes, 0, cpu, -1, PERF_FLAG_FD_CLOEXEC));
    }
    // A record may wrap around the end of the ring.
    static void copy(const char *data, uint64_t size, uint64_t at, void *to, std::size_t count)
    {
        for (std::size_t i = 0; i < count; i++)
            static_cast<char *>(to)[i] = data[(at + i) % size];
    }

    int event_ = -1;
    perf_event_mmap_page *page_ = nullptr;
};

class PerfProfile : public Profile
{
  public:
    PerfProfile(const std::vector<int> &cpus, int64_t period_ns) : period_ns_(period_ns)
    {
        for (int cpu : cpus)
            rings_.push_back(std::make_unique<Ring>(cpu, period_ns));
    }
    bool usable() const
    {
        for (const auto &ring : rings_)
            if (!ring->usable())
                return false;
        return !rings_.empty();
    }
    void begin() override
    {
        for (const auto &ring : rings_)
            ring->enable(true);
    }
    void end() override
    {
        for (const auto &ring : rings_)
            ring->enable(false);
    }
    void collect() override
    {
        for (const auto &ring : rings_)
            ring->read(samples_, lost_);
    }
    std::vector<Sample> samples() override
    {
        collect();
        return samples_;
    }
    uint64_t lost() const override
    {
        return lost_;
    }
    int64_t period_ns() const override
    {
        return period_ns_;
    }
    const char *source() const override
    {
        return "perf";
    }

  private:
    const int64_t period_ns_;
    uint64_t lost_ = 0;
    std::vector<Sample> samples_;
    std::vector<std::unique_ptr<Ring>> rings_;
};

template <class T> bool take(const std::vector<char> &record, std::size_t &at, T &value)
{
    if (record.size() - at < sizeof(T))
        return false;
    std::memcpy(&value, record.data() + at, sizeof(T));
    at += sizeof(T);
    return true;
}

} // namespace

bool parse_sample(const std::vector<char> &record, Sample &sample, uint64_t &lost)
{
    perf_event_header header{};
    std::size_t at = 0;
    if (!take(record, at, header))
        return false;
    if (header.type == PERF_RECORD_LOST) {
        uint64_t id = 0, count = 0;
        if (take(record, at, id) && take(record, at, count))
            lost += count;
        return false;
    }
    // Fields in the order of the kernel's ABI: address, process and thread, kind of registers, the one register
    // requested.
    uint64_t address = 0, kind = 0, counter = 0;
    uint32_t process_id = 0, thread_id = 0;
    if (header.type != PERF_RECORD_SAMPLE || !take(record, at, address) || !take(record, at, process_id) ||
        !take(record, at, thread_id))
        return false;
    const bool registers = take(record, at, kind) && kind != PERF_SAMPLE_REGS_ABI_NONE && take(record, at, counter);
    sample = {registers ? counter : address, thread_id};
    return true;
}

std::unique_ptr<Profile> open_profile(const std::vector<int> &cpus, int64_t period_ns, bool allow_perf)
{
    if (allow_perf) {
        auto profile = std::make_unique<PerfProfile>(cpus, period_ns);
        if (profile->usable())
            return profile;
    }
    return open_signal_profile(period_ns);
}

} // namespace lab::overhead
