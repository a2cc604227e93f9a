// SPDX-License-Identifier: MIT OR Apache-2.0
// Makes a name from another process or a file printable: it may contain any bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace lab::inspect
{

// Returns the number of bytes of the character at `at`; 0 if it is a control character or not UTF-8.
inline std::size_t printable_bytes(std::string_view text, std::size_t at)
{
    struct Form {
        unsigned char mask, lead;
        char32_t first; // the smallest code point that needs this many bytes
    };
    constexpr Form forms[] = {{0x80, 0, 0x20}, {0xe0, 0xc0, 0xa0}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    const unsigned char lead = static_cast<unsigned char>(text[at]);
    for (std::size_t bytes = 1; bytes <= 4; bytes++) {
        const Form &form = forms[bytes - 1];
        if ((lead & form.mask) != form.lead)
            continue;
        char32_t number = lead & static_cast<unsigned char>(~form.mask);
        for (std::size_t i = 1; i < bytes; i++) {
            const unsigned char next = at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0;
            if ((next & 0xc0) != 0x80)
                return 0;
            number = number << 6 | (next & 0x3f);
        }
        const bool is_surrogate = number >= 0xd800 && number <= 0xdfff;
        return number < form.first || number == 0x7f || is_surrogate || number > 0x10ffff ? 0 : bytes;
    }
    return 0;
}

// Returns the text as one line of valid UTF-8.  Control characters, and bytes that are not UTF-8, are replaced by their
// hexadecimal codes, such as \x0a.
inline std::string printable(std::string_view text)
{
    constexpr char digits[] = "0123456789abcdef";
    std::string shown;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t bytes = printable_bytes(text, at);
        const unsigned char byte = static_cast<unsigned char>(text[at]);
        if (bytes != 0)
            shown.append(text, at, bytes);
        else
            shown.append({'\\', 'x', digits[byte >> 4], digits[byte & 15]});
        at += bytes != 0 ? bytes : 1;
    }
    return shown;
}

} // namespace lab::inspect
