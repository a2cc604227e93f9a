/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* SipHash-1-3: a hash of bytes, whose collisions cannot be found without the table's seed.
 */
#include "table/table.h"

struct sip {
    uint64_t a, b, c, d;
};

static inline uint64_t rotate(uint64_t word, unsigned int bits)
{
    return word << bits | word >> (64 - bits);
}

static inline void mix(struct sip *sip)
{
    sip->a += sip->b;
    sip->b = rotate(sip->b, 13) ^ sip->a;
    sip->a = rotate(sip->a, 32);
    sip->c += sip->d;
    sip->d = rotate(sip->d, 16) ^ sip->c;
    sip->a += sip->d;
    sip->d = rotate(sip->d, 21) ^ sip->a;
    sip->c += sip->b;
    sip->b = rotate(sip->b, 17) ^ sip->c;
    sip->c = rotate(sip->c, 32);
}

static inline void absorb(struct sip *sip, uint64_t word)
{
    sip->d ^= word;
    mix(sip);
    sip->a ^= word;
}

uint64_t rtrcu_hash_bytes(const struct rtrcu_hash *shown, const void *data, size_t length)
{
    const uint64_t *seed = table_of_const(shown)->seed;
    struct sip sip = {seed[0] ^ UINT64_C(0x736f6d6570736575), seed[1] ^ UINT64_C(0x646f72616e646f6d),
                      seed[0] ^ UINT64_C(0x6c7967656e657261), seed[1] ^ UINT64_C(0x7465646279746573)};
    const unsigned char *bytes = data;
    size_t rest = length;

    for (; rest >= 8; rest -= 8, bytes += 8) {
        uint64_t word;
        __builtin_memcpy(&word, bytes, 8);
        absorb(&sip, word);
    }

    uint64_t last = (uint64_t)length << 56;
    for (size_t i = 0; i < rest; i++)
        last |= (uint64_t)bytes[i] << 8 * i;
    absorb(&sip, last);

    sip.c ^= UINT8_MAX;
    for (unsigned int round = 0; round < 3; round++)
        mix(&sip);
    return sip.a ^ sip.b ^ sip.c ^ sip.d;
}
