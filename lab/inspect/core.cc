// SPDX-License-Identifier: MIT OR Apache-2.0
// Core files: their memory, and the contents of the files that the process had mapped.
#include "inspect/memory.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <map>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inspect/printable.h"

namespace lab::inspect
{
namespace
{

// A file, mapped read-only.
class Mapped
{
  public:
    explicit Mapped(const std::string &name)
    {
        const int file = open(name.c_str(), O_RDONLY | O_CLOEXEC);
        struct stat info {
        };
        error = file < 0 || fstat(file, &info) != 0 ? errno : 0;
        if (error == 0 && info.st_size > 0) {
            void *at = mmap(nullptr, static_cast<std::size_t>(info.st_size), PROT_READ, MAP_PRIVATE, file, 0);
            error = at == MAP_FAILED ? errno : 0;
            if (error == 0) {
                bytes = static_cast<const char *>(at);
                size = static_cast<std::size_t>(info.st_size);
            }
        }
        if (file >= 0)
            close(file);
    }
    ~Mapped()
    {
        if (bytes != nullptr)
            munmap(const_cast<char *>(bytes), size);
    }
    Mapped(const Mapped &) = delete;
    Mapped &operator=(const Mapped &) = delete;
    bool holds(uint64_t at, uint64_t count) const
    {
        return at <= size && count <= size - at;
    }
    const char *bytes = nullptr;
    std::size_t size = 0;
    int error = 0;
};

struct Segment {
    uint64_t begin, end, offset;
};

} // namespace

struct CoreMemory::Parts {
    explicit Parts(const std::string &name) : file(name)
    {
    }
    Mapped file;
    std::vector<Segment> segments;
    std::vector<Mapping> mappings;
    mutable std::map<std::string, std::unique_ptr<Mapped>> mapped;
    int pid = 0;
    std::string program;

    bool read_here(const Piece &piece) const
    {
        for (const Segment &segment : segments)
            if (piece.address >= segment.begin && piece.address + piece.bytes <= segment.end) {
                std::memcpy(piece.into, file.bytes + segment.offset + (piece.address - segment.begin), piece.bytes);
                return true;
            }
        return false;
    }
    bool read_there(const Piece &piece) const
    {
        for (const Mapping &mapping : mappings) {
            if (piece.address < mapping.begin || piece.address + piece.bytes > mapping.end)
                continue;
            auto &source = mapped[mapping.file];
            if (!source)
                source = std::make_unique<Mapped>(mapping.file);
            const uint64_t at = mapping.offset + (piece.address - mapping.begin);
            if (source->error != 0 || !source->holds(at, piece.bytes))
                return false;
            std::memcpy(piece.into, source->bytes + at, piece.bytes);
            return true;
        }
        return false;
    }
    // Reads an NT_FILE note: the number of files and the page size, then begin, end and page offset of each file, then
    // the names of all files.
    void read_files(const char *at, std::size_t bytes)
    {
        std::vector<uint64_t> words(bytes / 8);
        std::memcpy(words.data(), at, words.size() * 8);
        if (words.size() < 2 || words[0] > (words.size() - 2) / 3)
            return;
        const char *name = at + (2 + words[0] * 3) * 8, *end = at + bytes;
        for (uint64_t i = 0; i < words[0] && name < end; i++) {
            const std::size_t length = strnlen(name, static_cast<std::size_t>(end - name));
            const uint64_t *one = &words[2 + i * 3];
            mappings.push_back({one[0], one[1], one[2] * words[1], std::string(name, length)});
            name += length + 1;
        }
    }
    void read_note(const Elf64_Nhdr &note, const char *contents)
    {
        if (note.n_type == NT_FILE)
            read_files(contents, note.n_descsz);
        if (note.n_type == NT_PRPSINFO && note.n_descsz >= sizeof(elf_prpsinfo)) {
            elf_prpsinfo info;
            std::memcpy(&info, contents, sizeof(info));
            pid = info.pr_pid;
            program = printable({info.pr_fname, strnlen(info.pr_fname, sizeof(info.pr_fname))});
        }
    }
    void read_notes(uint64_t at, uint64_t bytes)
    {
        for (const uint64_t end = at + bytes; at + sizeof(Elf64_Nhdr) <= end;) {
            Elf64_Nhdr note;
            std::memcpy(&note, file.bytes + at, sizeof(note));
            const uint64_t contents = at + sizeof(note) + ((note.n_namesz + 3) & ~3u);
            if (contents > end || note.n_descsz > end - contents)
                return;
            read_note(note, file.bytes + contents);
            at = contents + ((note.n_descsz + 3) & ~3u);
        }
    }
};

CoreMemory::CoreMemory(const std::string &name) : parts_(std::make_unique<Parts>(name))
{
    Parts &parts = *parts_;
    const Mapped &file = parts.file;
    Elf64_Ehdr elf{};
    if (file.error != 0)
        throw Refused(file.error, name + " cannot be read: " + std::strerror(file.error));
    if (file.holds(0, sizeof(elf)))
        std::memcpy(&elf, file.bytes, sizeof(elf));
    if (std::memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0 || elf.e_type != ET_CORE || elf.e_ident[EI_CLASS] != ELFCLASS64)
        throw Refused(EINVAL, name + " is neither the id of a process nor a core file");
    for (unsigned i = 0; i < elf.e_phnum && file.holds(elf.e_phoff, (i + 1) * sizeof(Elf64_Phdr)); i++) {
        Elf64_Phdr segment;
        std::memcpy(&segment, file.bytes + elf.e_phoff + i * sizeof(segment), sizeof(segment));
        if (!file.holds(segment.p_offset, segment.p_filesz))
            throw Refused(EINVAL, name + " has been cut short: raise the limit of core files (ulimit -c)");
        if (segment.p_type == PT_LOAD)
            parts.segments.push_back({segment.p_vaddr, segment.p_vaddr + segment.p_filesz, segment.p_offset});
        if (segment.p_type == PT_NOTE)
            parts.read_notes(segment.p_offset, segment.p_filesz);
    }
}

CoreMemory::~CoreMemory() = default;

void CoreMemory::read(std::vector<Piece> &pieces) const
{
    for (Piece &piece : pieces)
        piece.done = parts_->read_here(piece) || parts_->read_there(piece);
}

const std::vector<Mapping> &CoreMemory::mappings() const
{
    return parts_->mappings;
}

int CoreMemory::pid() const
{
    return parts_->pid;
}

const std::string &CoreMemory::program() const
{
    return parts_->program;
}

} // namespace lab::inspect
