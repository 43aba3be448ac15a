/* Contents of blocks, and of what no block has: see fixture.h. */
#include "support/fixture_streams.h"
#include "support/pattern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Contents ---------------------------------------------------------- */

void paint_bytes(void *address, uint64_t bytes, uint64_t seed)
{
    char *at = address;
    for (uint64_t done = 0; done < bytes; done += sizeof(uint64_t)) {
        uint64_t word = pattern_word(seed, done);
        uint64_t rest = bytes - done;
        memcpy(at + done, &word, rest < sizeof word ? rest : sizeof word);
    }
}

uint64_t painted_until(const void *address, uint64_t bytes, uint64_t seed)
{
    const char *at = address;
    for (uint64_t done = 0; done < bytes; done += sizeof(uint64_t)) {
        uint64_t word = pattern_word(seed, done);
        uint64_t got = word;
        uint64_t rest = bytes - done;
        memcpy(&got, at + done, rest < sizeof got ? rest : sizeof got);
        if (got != word)
            return done;
    }
    return bytes;
}

/* Where the CPU can look at contents: at the contents themselves, or at a copy in memory of the
 * test's own, which is not filled yet. */
static void *room_for(const fixture_t *f, const void *address, uint64_t bytes)
{
    if (!(f->kind->traits & KIND_DEVICE))
        return (void *)(uintptr_t)address;
    void *copy = malloc(bytes + 1);
    ck_assert_ptr_nonnull(copy);
    return copy;
}

static void *look(const fixture_t *f, const void *address, uint64_t bytes)
{
    void *copy = room_for(f, address, bytes);
    if (f->kind->traits & KIND_DEVICE)
        arena_reach->read(copy, address, bytes);
    return copy;
}

static void look_away(const fixture_t *f, void *copy)
{
    if (f->kind->traits & KIND_DEVICE)
        free(copy);
}

/* Writes what room_for gave room for. */
static void write_back(const fixture_t *f, void *address, void *copy, uint64_t bytes)
{
    if (f->kind->traits & KIND_DEVICE)
        arena_reach->write(address, copy, bytes);
    look_away(f, copy);
}

void paint(const fixture_t *f, void *address, uint64_t bytes, uint64_t seed)
{
    if (!(f->kind->traits & KIND_READABLE))
        return;
    if (f->work != NULL) {
        fill_on_stream(f, address, bytes, seed);
        return;
    }
    void *copy = room_for(f, address, bytes);
    paint_bytes(copy, bytes, seed);
    write_back(f, address, copy, bytes);
}

void expect_painted(const fixture_t *f, const void *address, uint64_t bytes, uint64_t seed)
{
    if (!(f->kind->traits & KIND_READABLE))
        return;
    if (f->work != NULL) {
        check_on_stream(f, address, bytes, seed);
        return;
    }
    void *copy = look(f, address, bytes);
    uint64_t until = painted_until(copy, bytes, seed);
    ck_assert_msg(until == bytes, "%s: contents differ from byte %llu of %llu on", f->kind->name,
                  (unsigned long long)until, (unsigned long long)bytes);
    look_away(f, copy);
}

void expect_zero(const fixture_t *f, const void *address, uint64_t bytes)
{
    if (!(f->kind->traits & KIND_READABLE))
        return;
    finish_work(f);
    unsigned char *at = look(f, address, bytes);
    for (uint64_t i = 0; i < bytes; i++)
        if (at[i] != 0)
            ck_abort_msg("%s: byte %llu is 0x%02x, expected 0", f->kind->name,
                         (unsigned long long)i, at[i]);
    look_away(f, at);
}

void fill_with(const fixture_t *f, void *address, uint64_t bytes, int value)
{
    void *copy = room_for(f, address, bytes);
    memset(copy, value, bytes);
    write_back(f, address, copy, bytes);
}

/* ---- Zeros -------------------------------------------------------------- */

/* Whether bytes that nobody had yet read as 0. */
static bool begins_as_zero(const fixture_t *f)
{
    int32_t memory = f->kind->memory;
    return memory == CUARENA_MEMORY_PAGEABLE || memory == CUARENA_MEMORY_CUSTOM ||
           (memory == CUARENA_MEMORY_BYTES && f->kind->bytes_kind == CUARENA_BYTES_HOST);
}

void fixture_zero_free(fixture_t *f)
{
    f->config.zero = CUARENA_ZERO_FREE;
    fixture_tells_nothing(f); /* of bytes that no block has */
    f->memory.quiet = 1;
    f->memory.wants_zeros = 1;
    if (f->bytes != NULL && begins_as_zero(f))
        memset(f->bytes, 0, f->bytes_size);
}

#define PAGE KIB(4)
#define PIECE KIB(256)     /* that is copied from a driver's memory at once */
#define PIPE_PIECE KIB(64) /* that a pipe has room for */

/* Copies bytes that may be out of reach, a pipe's piece at most; returns how many are not. */
static size_t copy_of_cpu(const void *from, size_t bytes, unsigned char *to)
{
    static int ends[2];
    if (ends[1] == 0)
        ck_assert_int_eq(pipe(ends), 0);
    ssize_t written = write(ends[1], from, bytes);
    if (written < 0)
        ck_assert_int_eq(errno, EFAULT);
    size_t there = written < 0 ? 0 : (size_t)written;
    if (there != 0)
        ck_assert_int_eq(read(ends[0], to, there), written);
    return there;
}

/* The same for memory that a driver gave, a piece at most: all or nothing. */
static size_t copy_of_driver(const void *from, size_t bytes, unsigned char *to)
{
    if (!arena_reach->mapped(from) || !arena_reach->mapped((const char *)from + bytes - 1))
        return 0;
    arena_reach->read(to, from, bytes);
    return bytes;
}

static void expect_copy_is_zero(const fixture_t *f, uint64_t begin, const unsigned char *copy,
                                size_t bytes)
{
    static const unsigned char zeros[PIECE];
    if (memcmp(copy, zeros, bytes) == 0)
        return;
    size_t i = 0;
    while (copy[i] == 0)
        i++;
    ck_abort_msg("%s: 0x%02x at %#llx, which no block has; expected 0", f->kind->name, copy[i],
                 (unsigned long long)begin + i);
}

static void expect_gap_is_zero(const fixture_t *f, uint64_t begin, uint64_t end)
{
    static unsigned char copy[PIECE];
    bool cpu = begins_as_zero(f);
    uint64_t piece = cpu ? PIPE_PIECE : PIECE;
    uint64_t page = cpu ? PAGE : PIECE; /* is passed over where it is out of reach */
    while (begin < end) {
        const void *from = (const void *)(uintptr_t)begin;
        uint64_t stop = (begin / piece + 1) * piece;
        size_t bytes = (size_t)((stop < end ? stop : end) - begin);
        size_t there = cpu ? copy_of_cpu(from, bytes, copy) : copy_of_driver(from, bytes, copy);
        expect_copy_is_zero(f, begin, copy, there);
        begin = there != 0 ? begin + there : (begin / page + 1) * page;
    }
}

static int by_address(const void *a, const void *b)
{
    uintptr_t one = (uintptr_t)((const cuarena_block_info_t *)a)->address;
    uintptr_t other = (uintptr_t)((const cuarena_block_info_t *)b)->address;
    return one < other ? -1 : one > other;
}

#define BLOCKS_MOST 1024

typedef struct blocks {
    cuarena_block_info_t infos[BLOCKS_MOST];
    size_t count;
} blocks_t;

static void find_blocks(const fixture_t *f, blocks_t *blocks)
{
    uint64_t cursor = 0;
    expect_ok(cuarena_blocks(f->arena, &cursor, blocks->infos, BLOCKS_MOST, &blocks->count));
    ck_assert_uint_lt(blocks->count, BLOCKS_MOST);
    qsort(blocks->infos, blocks->count, sizeof *blocks->infos, by_address);
}

static void expect_span_is_zero(const fixture_t *f, const blocks_t *now, uint64_t begin,
                                uint64_t bytes)
{
    uint64_t at = begin, end = begin + bytes;
    for (size_t i = 0; i < now->count; i++) {
        uint64_t low = (uint64_t)(uintptr_t)now->infos[i].address;
        uint64_t high = low + now->infos[i].allocated;
        if (high <= at || low >= end)
            continue;
        expect_gap_is_zero(f, at, low);
        at = high;
    }
    expect_gap_is_zero(f, at, end);
}

static void expect_segments_are_zero(const fixture_t *f, const blocks_t *now)
{
    void *base = NULL;
    uint64_t bytes = 0;
    if (f->kind->memory != CUARENA_MEMORY_CUSTOM &&
        cuarena_base(f->arena, &base, &bytes) == CUARENA_OK)
        expect_span_is_zero(f, now, (uint64_t)(uintptr_t)base, bytes);
    for (size_t i = 0; i < MEMORY_SEGMENTS_MAX; i++)
        if (f->memory.segments[i].address != 0)
            expect_span_is_zero(f, now, f->memory.segments[i].address, f->memory.segments[i].bytes);
}

/* What blocks had at the last look and have no longer, as far as it is still there. */
static void expect_what_left_is_zero(fixture_t *f, const blocks_t *now)
{
    static blocks_t last;
    for (size_t i = 0; f->looked && i < last.count; i++)
        expect_span_is_zero(f, now, (uint64_t)(uintptr_t)last.infos[i].address,
                            last.infos[i].allocated);
    last = *now;
    f->looked = true;
}

void expect_free_is_zero(fixture_t *f)
{
    static blocks_t now;
    if (f->config.zero != CUARENA_ZERO_FREE || !(f->kind->traits & KIND_READABLE))
        return;
    find_blocks(f, &now);
    if (begins_as_zero(f))
        expect_segments_are_zero(f, &now);
    else
        expect_what_left_is_zero(f, &now);
}
