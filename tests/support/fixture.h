/*
 * What the tests of arenas share: a fixture that makes an arena of any kind,
 * a recount of what lives in it, and contents that tell a wrong byte.
 *
 *   kind     one row of a table (kinds.h): a preset on a memory
 *   fixture  an arena of some kind with the memory behind it
 */
#ifndef CUARENA_TEST_FIXTURE_H
#define CUARENA_TEST_FIXTURE_H

#include "arena_memory.h"
#include "checks.h"
#include "support/configs.h"
#include "support/expect.h"
#include "support/kinds.h"
#include "support/random.h"
#include "support/scale.h"
#include "support/sim_streams.h"

#include <cuarena.h>
#include <stdbool.h>
#include <stdint.h>

/* ---- Assertions, besides those of support/expect.h --------------------- */

#define expect_ptr(got, want) ck_assert_ptr_eq(got, want)

/* The validator agrees, and simulated streams have seen no fault; `f` is a fixture. */
#define expect_sound(f) expect_sound_at((f), __FILE__, __LINE__)

/* One step of a test: what it comes to, and that the arena is sound after. */
#define step(f, call, want)                                                                        \
    do {                                                                                           \
        expect_status(call, want);                                                                 \
        expect_sound(f);                                                                           \
    } while (0)
#define step_ok(f, call) step(f, call, CUARENA_OK)

/* ---- Fixtures ---------------------------------------------------------- */

/* How tests reach what the CPU cannot; set by programs with such kinds. */
typedef struct arena_reach {
    void (*write)(void *to, const void *from, uint64_t bytes);
    void (*read)(void *to, const void *from, uint64_t bytes);
    bool (*mapped)(const void *address);
    void *(*alloc_bytes)(int32_t bytes_kind, uint64_t bytes);
    void (*free_bytes)(int32_t bytes_kind, void *bytes);
} arena_reach_t;
extern const arena_reach_t *arena_reach;

/* Calls on streams: see support/fixture_streams.h. */
typedef struct stream_work stream_work_t;
#define FIXTURE_STREAMS 4

typedef struct fixture_owner {
    cuarena_block_t block; /* 0: free */
    uint32_t stream;
} fixture_owner_t;

typedef struct fixture {
    const arena_kind_t *kind;
    cuarena_t *arena;
    cuarena_config_t config;
    test_memory_t memory; /* used by kinds of a custom memory */
    sim_t sim;            /* ... whose streams are simulated */
    void *bytes;          /* of kinds of the caller's bytes */
    uint64_t bytes_size;
    bool looked;               /* expect_free_is_zero has a last look to compare with */
    const stream_work_t *work; /* NULL: calls without a stream */
    uint32_t stream_count;
    uint32_t turn;
    uint32_t frees;
    fixture_owner_t owners[64];
} fixture_t;

void expect_sound_at(const fixture_t *f, const char *file, int line);

/* Fills `config` for a pool of `bytes`, or a limit of so many; the fixture holds what the arena
 * needs. Follow it by fixture_create. */
void fixture_prepare(fixture_t *f, const arena_kind_t *kind, uint64_t bytes);
/* Of a fixture that is prepared, whose test uses bytes of a device that are no block's: no tool
 * finds them, for none is told of the blocks. */
void fixture_tells_nothing(fixture_t *f);
/* Makes the arena of f->config, which a test may have changed. */
void fixture_create(fixture_t *f);
/* Both. */
void fixture_open(fixture_t *f, const arena_kind_t *kind, uint64_t bytes);
/* The same for an arena of options alone, on any memory that the library brings. */
void fixture_prepare_text(fixture_t *f, const char *options);
void fixture_open_text(fixture_t *f, const char *options);
/* Ends an arena in which nothing lives and checks that nothing leaked. */
void fixture_close(fixture_t *f);
/* The same with blocks still living. */
void fixture_close_forced(fixture_t *f);
/* Frees what fixture_prepare took when there is no arena. */
void fixture_release(fixture_t *f);

/* The fixture of a test, which is closed after it; released, if there is no arena then. It is
 * opened, or prepared, or is still to be, and ends by `close`, such as fixture_close. */
fixture_t *opened(const arena_kind_t *kind, uint64_t bytes);
fixture_t *opened_text(const char *options);
fixture_t *prepared(const arena_kind_t *kind, uint64_t bytes);
fixture_t *new_fixture(void (*close)(fixture_t *f));

cuarena_amount_t amount_of_bytes(uint64_t bytes);

/* Allocations that must succeed, each followed by the validator. */
void *alloc_ok(fixture_t *f, uint64_t bytes);
void *alloc_in(fixture_t *f, uint64_t bytes, int32_t region);
void *alloc_tagged(fixture_t *f, uint64_t bytes, cuarena_tag_t tag);
void *alloc_zeroed(fixture_t *f, uint64_t bytes);
void *alloc_dedicated(fixture_t *f, uint64_t bytes);
cuarena_block_t alloc_dedicated_block(fixture_t *f, uint64_t bytes);
cuarena_block_t alloc_block(fixture_t *f, uint64_t bytes);
void free_ok(fixture_t *f, void *pointer);
void free_block(fixture_t *f, cuarena_block_t block);
/* The address of a block that is not pinned now; good until a move. */
void *address_of(fixture_t *f, cuarena_block_t block);
cuarena_block_info_t info_of(fixture_t *f, cuarena_block_t block);
/* One block, alive now and without a pin. */
cuarena_block_t unpinned_block_of(fixture_t *f, void *pointer);

/* `count` blocks of `bytes` side by side, in address order, the ith painted with i. What makes a
 * layout sure whatever the placement: they are the only ones in the one range that there is. */
void alloc_row(fixture_t *f, cuarena_block_t *blocks, size_t count, uint64_t bytes);
void alloc_pointer_row(fixture_t *f, void **pointers, size_t count, uint64_t bytes);
/* Those that are not 0 or NULL: contents as painted, then freed. */
void free_row(fixture_t *f, cuarena_block_t *blocks, size_t count, uint64_t bytes);
void free_pointer_row(fixture_t *f, void **pointers, size_t count, uint64_t bytes);

/* One block of `bytes` above a hole of `hole` bytes; together they must be as large as the only
 * range that there is. */
cuarena_block_t alloc_above_a_hole(fixture_t *f, uint64_t hole, uint64_t bytes);

/* What a request for more than there is comes to. */
cuarena_status_t exhausted(const fixture_t *f);

cuarena_stats_t stats_of(const fixture_t *f);
cuarena_stats_t region_stats_of(const fixture_t *f, int32_t region);
cuarena_stats_t tag_stats_of(const fixture_t *f, cuarena_tag_t tag);
cuarena_cache_stats_t cache_stats_of(const fixture_t *f);
void expect_cache(const fixture_t *f, uint64_t active, uint64_t cached);
cuarena_inspection_t inspection_of(const fixture_t *f, int32_t region);
uint64_t reserved_bytes(const fixture_t *f);
uint64_t capacity_bytes(const fixture_t *f);
uint64_t live_bytes(const fixture_t *f);
/* What a block takes, which may be more than was asked for. */
uint64_t allocated_bytes(const fixture_t *f, const void *pointer);
uint64_t live_blocks(const fixture_t *f);
uint64_t live_in(const fixture_t *f, int32_t region);
/* Bytes that requests could still be given, held or not. */
uint64_t room_in(const fixture_t *f, int32_t region);

/* So many bytes are reserved and all of them usable, as the test memory sees it too. */
void expect_reserved(const fixture_t *f, uint64_t bytes);
/* Trims to `keep` bytes; what went back, by which the reserved bytes became less. */
uint64_t trim_to(fixture_t *f, uint64_t keep);
/* How many blocks went. */
uint64_t clear_cache(fixture_t *f);
/* The limit that there was. */
uint64_t set_limit(fixture_t *f, int32_t kind, uint64_t bytes);

/* ---- Running out ------------------------------------------------------- */

void use_handler(fixture_t *f, cuarena_oom_fn handler, void *user);
/* A handler in which a call of the arena fails, which is not what the request tells then. */
int32_t blunder(void *user, cuarena_t *arena, uint64_t asked_bytes, int32_t attempt);

/* Adds up the enumeration and compares it with every statistic. */
void expect_recount(const fixture_t *f);

/* ---- Relocations ------------------------------------------------------- */

#define HEARD_MAX 512

/* What a relocation callback heard; `user` of hear_relocations. */
typedef struct heard {
    cuarena_relocation_t list[HEARD_MAX]; /* the first so many */
    size_t kept;
    size_t count; /* of all */
    size_t batches;
    size_t largest_batch;
    size_t stop_after; /* this many batches; 0: never */
} heard_t;

int32_t hear_relocations(void *user, const cuarena_relocation_t *list, size_t count);
/* What was heard of a block, or NULL. */
const cuarena_relocation_t *heard_of(const heard_t *heard, cuarena_block_t block);

/* ---- Contents; they do nothing on memories that nobody can read --------- */

void paint(const fixture_t *f, void *address, uint64_t bytes, uint64_t seed);
void expect_painted(const fixture_t *f, const void *address, uint64_t bytes, uint64_t seed);
void expect_zero(const fixture_t *f, const void *address, uint64_t bytes);
/* Config and memory of a fixture that is prepared: zero=free, and bytes that read as 0 before
 * anybody had them, unless a driver gives them. Then every byte of the arena that no block has, and
 * that can be read, is 0 at any time. Where a driver gives them expect_free_is_zero looks at those
 * that blocks had at its last call, and have no longer.
 */
void fixture_zero_free(fixture_t *f);
void expect_free_is_zero(fixture_t *f);
/* All bytes the same. */
void fill_with(const fixture_t *f, void *address, uint64_t bytes, int value);
/* The same for plain memory; the index of the first wrong byte, or `bytes`. */
void paint_bytes(void *address, uint64_t bytes, uint64_t seed);
uint64_t painted_until(const void *address, uint64_t bytes, uint64_t seed);

/* ---- Running ----------------------------------------------------------- */

/* A case with the timeout that long tests need, added to the suite. */
TCase *new_case(Suite *suite, const char *name);

/* Once per kind or per memory: the test's _i is the row of arena_kinds. */
#define add_test_per_kind(tcase, test) tcase_add_loop_test(tcase, test, 0, ARENA_KIND_COUNT)
#define add_test_per_memory(tcase, test) tcase_add_loop_test(tcase, test, 0, ARENA_MEMORY_COUNT)

#endif
