// SPDX-License-Identifier: MIT OR Apache-2.0
// Finds the notes in a process's objects, then the block and its tables from a note.
#include "inspect/block.h"

#include <algorithm>
#include <cstring>
#include <elf.h>

#include "inspect/printable.h"

namespace lab::inspect
{
namespace
{

constexpr uint32_t note_inside = 0x7269, note_public = 0x7274;
constexpr uint32_t version_known = 1, note_version_known = 1;
constexpr std::size_t note_bytes = 16;
constexpr char note_name[] = "rtrcu", magic[] = "rtrcu-in";
constexpr std::size_t most_fields = 4096, most_notes = 1 << 20;

struct Header {
    char magic[8];
    uint32_t version, bytes, field_bytes, tables;
    uint64_t table[8], domain, seq_first, seq_step;
    char library[16];
};

struct Table {
    uint64_t field, count;
};

struct Entry {
    char name[32];
    uint32_t offset, bytes, stride, count;
};

std::size_t padded(std::size_t bytes)
{
    return (bytes + 3) & ~std::size_t(3);
}

[[noreturn]] void refuse(const std::string &why)
{
    throw Refused(ENOTSUP, why);
}

std::string other_version(const Copy &copy, const char *what, uint32_t version, uint32_t known)
{
    return copy.object + " has " + what + " of version " + std::to_string(version) + ", this program reads version " +
           std::to_string(known) + "; use the rtrcu of that library's release";
}

std::string cut_short(const Copy &copy, const char *what, std::size_t bytes, std::size_t least)
{
    return copy.object + " has " + what + " of " + std::to_string(bytes) + " bytes, fewer than the minimum of " +
           std::to_string(least) + ": the file is damaged, or was not made by this library";
}

// Stores in `copy` the address of the block to which a note points, or the reason why the note is not usable.
void follow_note(const char *contents, std::size_t bytes, uint64_t address, Copy &copy)
{
    uint32_t version = 0;
    int64_t offset = 0;
    if (bytes >= note_bytes) {
        std::memcpy(&version, contents, sizeof(version));
        std::memcpy(&offset, contents + 8, sizeof(offset));
    }
    if (bytes < note_bytes)
        copy.problem = cut_short(copy, "a note", bytes, note_bytes);
    else if (version != note_version_known)
        copy.problem = other_version(copy, "a note", version, note_version_known);
    else
        copy.block = address + 8 + static_cast<uint64_t>(offset);
}

// Reads the notes of one segment, which begins at `address` in the process.  Sets `is_public` if one of them marks a
// public copy of the library.
void read_notes(const std::vector<char> &notes, uint64_t address, Copy &copy, bool &is_public)
{
    for (std::size_t at = 0; at + sizeof(Elf64_Nhdr) <= notes.size();) {
        Elf64_Nhdr note;
        std::memcpy(&note, &notes[at], sizeof(note));
        const std::size_t name = at + sizeof(note), contents = name + padded(note.n_namesz);
        const std::size_t next = contents + padded(note.n_descsz);
        if (next > notes.size() || next < at)
            return;
        if (note.n_namesz == sizeof(note_name) && std::memcmp(&notes[name], note_name, sizeof(note_name)) == 0) {
            is_public |= note.n_type == note_public;
            if (note.n_type == note_inside)
                follow_note(notes.data() + contents, note.n_descsz, address + contents, copy);
        }
        at = next;
    }
}

// Reads the notes of an object whose first page is mapped at `base`.  Stores in `copy` the block to which they lead, or
// the reason why they are not usable, and whether the copy is private.
void look_at_object(const Memory &memory, uint64_t base, const Elf64_Ehdr &elf, Copy &copy)
{
    std::vector<Elf64_Phdr> segments(std::min<std::size_t>(elf.e_phnum, 128));
    bool is_public = false;
    if (elf.e_phentsize != sizeof(Elf64_Phdr) ||
        !memory.read(base + elf.e_phoff, segments.data(), segments.size() * sizeof(Elf64_Phdr)))
        return;
    uint64_t linked_at = 0; // the first page's virtual address in the object file
    for (const Elf64_Phdr &segment : segments)
        if (segment.p_type == PT_LOAD && segment.p_offset < 4096) {
            linked_at = (segment.p_vaddr - segment.p_offset) & ~uint64_t(4095);
            break;
        }
    for (const Elf64_Phdr &segment : segments) {
        if (segment.p_type != PT_NOTE || segment.p_memsz > most_notes)
            continue;
        std::vector<char> notes(segment.p_memsz);
        const uint64_t address = base - linked_at + segment.p_vaddr;
        if (!notes.empty() && memory.read(address, notes.data(), notes.size()))
            read_notes(notes, address, copy, is_public);
    }
    copy.is_private = !is_public;
}

} // namespace

std::vector<Copy> find_copies(const Memory &memory, const std::vector<Mapping> &mappings)
{
    std::vector<const Mapping *> objects;
    for (const Mapping &mapping : mappings)
        if (mapping.offset == 0 && mapping.end - mapping.begin >= sizeof(Elf64_Ehdr) && !mapping.file.empty() &&
            mapping.file[0] == '/')
            objects.push_back(&mapping);
    std::vector<Elf64_Ehdr> headers(objects.size());
    std::vector<Piece> pieces;
    for (std::size_t i = 0; i < objects.size(); i++)
        pieces.push_back({objects[i]->begin, &headers[i], sizeof(headers[i])});
    memory.read(pieces);
    std::vector<Copy> copies;
    for (std::size_t i = 0; i < objects.size(); i++) {
        if (!pieces[i].done || std::memcmp(headers[i].e_ident, ELFMAG, SELFMAG) != 0 ||
            headers[i].e_ident[EI_CLASS] != ELFCLASS64)
            continue;
        Copy copy;
        copy.object = printable(objects[i]->file);
        look_at_object(memory, objects[i]->begin, headers[i], copy);
        // An object may be mapped twice, for example by a program that reads it as a file.
        auto same = [&](const Copy &other) { return other.block == copy.block && other.problem == copy.problem; };
        if ((copy.block != 0 || !copy.problem.empty()) && std::none_of(copies.begin(), copies.end(), same))
            copies.push_back(copy);
    }
    return copies;
}

std::optional<Block> Block::read(const Memory &memory, const Copy &copy)
{
    Header header{};
    if (!copy.problem.empty())
        refuse(copy.problem);
    if (!memory.read(copy.block, &header, offsetof(Header, table)) ||
        std::memcmp(header.magic, magic, sizeof(header.magic)) != 0)
        return std::nullopt;
    if (header.version != version_known)
        refuse(other_version(copy, "a block", header.version, version_known));
    if (header.bytes < sizeof(header))
        refuse(cut_short(copy, "a block", header.bytes, sizeof(header)));
    if (header.field_bytes < sizeof(Entry))
        refuse(cut_short(copy, "a table with entries", header.field_bytes, sizeof(Entry)));
    if (!memory.read(copy.block, &header, sizeof(header)))
        return std::nullopt;
    Block block;
    block.first_domain = header.domain;
    block.seq_first = header.seq_first;
    block.seq_step = std::max<uint64_t>(header.seq_step, 1);
    block.library = printable({header.library, strnlen(header.library, sizeof(header.library))});
    for (std::size_t i = 0; i < std::min<std::size_t>(header.tables, std::size(header.table)); i++) {
        const auto table = memory.value<Table>(header.table[i]);
        if (!table || table->count > most_fields)
            return std::nullopt; // the dynamic loader has not relocated the block yet
        std::vector<char> bytes(table->count * header.field_bytes);
        if (!memory.read(table->field, bytes.data(), bytes.size()))
            return std::nullopt;
        for (std::size_t at = 0; at + sizeof(Entry) <= bytes.size(); at += header.field_bytes) {
            Entry entry;
            std::memcpy(&entry, &bytes[at], sizeof(entry));
            block.fields_[std::string(entry.name, strnlen(entry.name, sizeof(entry.name)))] = {
                entry.offset, entry.bytes, entry.stride, entry.count};
        }
    }
    return block;
}

const Field *Block::find(const std::string &name) const
{
    const auto found = fields_.find(name);
    return found == fields_.end() ? nullptr : &found->second;
}

uint64_t Block::at(uint64_t base, const std::string &name, uint64_t index) const
{
    const Field *field = find(name);
    return base != 0 && field != nullptr ? base + field->offset + index * field->stride : 0;
}

} // namespace lab::inspect
