#include "pattern.h"

#include <string.h>

/* Bytes at each place. */
#define EDGE 16u
/* The first, the last, and those between. */
#define PLACES 10u

static uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    value = (value ^ value >> 27) * UINT64_C(0x94D049BB133111EB);
    return value ^ value >> 31;
}

/* Depends on the offset alone, so that places may overlap. */
static unsigned char byte_at(uint64_t seed, uint64_t offset)
{
    uint64_t word = mix(seed ^ mix(offset / 8 + 1));
    return (unsigned char)(word >> offset % 8 * 8);
}

static uint64_t place_at(uint64_t size, uint64_t seed, unsigned number)
{
    uint64_t last = size > EDGE ? size - EDGE : 0;
    if (number == 0)
        return 0;
    return number == 1 ? last : mix(seed + number) % (last + 1);
}

/* What stands at a place; returns how many bytes. */
static uint64_t make_edge(unsigned char *edge, uint64_t size, uint64_t seed, uint64_t place)
{
    uint64_t count = size - place < EDGE ? size - place : EDGE;
    for (uint64_t i = 0; i < count; i++)
        edge[i] = byte_at(seed, place + i);
    return count;
}

void pattern_write(void *bytes, uint64_t size, uint64_t seed)
{
    unsigned char edge[EDGE];
    for (unsigned number = 0; number < PLACES; number++) {
        uint64_t place = place_at(size, seed, number);
        uint64_t count = make_edge(edge, size, seed, place);
        memcpy((unsigned char *)bytes + place, edge, count);
    }
}

bool pattern_check(const void *bytes, uint64_t size, uint64_t seed, uint64_t *offset_out)
{
    unsigned char edge[EDGE];
    for (unsigned number = 0; number < PLACES; number++) {
        uint64_t place = place_at(size, seed, number);
        uint64_t count = make_edge(edge, size, seed, place);
        const unsigned char *found = (const unsigned char *)bytes + place;
        for (uint64_t i = 0; i < count; i++) {
            if (found[i] != edge[i]) {
                *offset_out = place + i;
                return false;
            }
        }
    }
    return true;
}
