/* Watched blocks: the table, and where guards lie. */
#include "arena/watch.h"
#include "arena/arena.h"
#include "base/system.h"

#define FEWEST_BUCKETS 64

/* ---- Life -------------------------------------------------------------- */

cuarena_status_t cuai_watch_begin(cuarena_t *arena)
{
    cuai_lock_assert_not_held(&arena->lock);
    const cuarena_config_t *config = &arena->config;
    if (config->guard_bytes == 0 && config->fill == CUARENA_FILL_NEVER &&
        config->quarantine_bytes == 0 && config->stacks == 0)
        return CUARENA_OK;
    arena->watch = cuai_host_alloc(sizeof *arena->watch);
    if (arena->watch == NULL)
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory to watch blocks");
    arena->watch->last = &arena->watch->first;
    arena->watch->host_bytes = sizeof *arena->watch;
    cuai_slow_set(arena, CUAI_SLOW_WATCH, true);
    return CUARENA_OK;
}

uint64_t cuai_watch_host_bytes(const cuarena_t *arena)
{
    return arena->watch == NULL ? 0 : arena->watch->host_bytes;
}

static uint64_t bytes_of(const cuai_watched_t *one)
{
    return sizeof *one + one->frame_count * sizeof *one->frames;
}

/* Forgets a block that is in no bucket any more. */
static void forget(cuai_watch_t *watch, cuai_watched_t *one)
{
    watch->count--;
    watch->host_bytes -= bytes_of(one);
    cuai_host_free(one);
}

void cuai_watch_clear(cuarena_t *arena)
{
    cuai_watch_t *watch = arena->watch;
    for (size_t i = 0; i < watch->bucket_count; i++)
        while (watch->buckets[i] != NULL) {
            cuai_watched_t *one = watch->buckets[i];
            watch->buckets[i] = one->chain;
            forget(watch, one);
        }
    CUAI_ASSERT(watch->count == 0);
    watch->first = NULL;
    watch->last = &watch->first;
    watch->quarantined_bytes = 0;
}

void cuai_watch_end(cuarena_t *arena)
{
    cuai_lock_assert_not_held(&arena->lock);
    if (arena->watch == NULL)
        return;
    cuai_watch_clear(arena);
    cuai_host_free(arena->watch->buckets);
    cuai_host_free(arena->watch);
    arena->watch = NULL;
}

/* ---- The table --------------------------------------------------------- */

static cuai_watched_t **bucket_of(const cuai_watch_t *watch, cuarena_block_t block)
{
    CUAI_ASSERT(watch->bucket_count != 0);
    size_t hash = (size_t)(block * UINT64_C(0x9e3779b97f4a7c15) >> 32);
    return &watch->buckets[hash & (watch->bucket_count - 1)];
}

static void insert(const cuai_watch_t *watch, cuai_watched_t *one)
{
    cuai_watched_t **bucket = bucket_of(watch, one->block);
    one->chain = *bucket;
    *bucket = one;
}

static bool grow_table(cuai_watch_t *watch)
{
    if (watch->count < watch->bucket_count)
        return true;
    size_t count = watch->bucket_count;
    cuai_watched_t **old = watch->buckets;
    size_t more = count == 0 ? FEWEST_BUCKETS : count * 2;
    cuai_watched_t **buckets = cuai_host_alloc(more * sizeof(*buckets));
    if (buckets == NULL)
        return false;
    watch->buckets = buckets;
    watch->bucket_count = more;
    watch->host_bytes += (more - count) * sizeof(*buckets);
    for (size_t i = 0; i < count; i++)
        for (cuai_watched_t *one = old[i], *next; one != NULL; one = next) {
            next = one->chain;
            insert(watch, one);
        }
    cuai_host_free(old);
    return true;
}

/* Makes a record with the stack of its caller; NULL: the host has no memory. Called without the
 * lock, since finding the stack takes long. */
static cuai_watched_t *new_watched(uint32_t most_frames)
{
    void *frames[CUAI_MOST_FRAMES];
    uint32_t count = most_frames == 0 ? 0 : cuai_stack_take(frames, most_frames);
    cuai_watched_t *one = cuai_host_alloc(sizeof *one + count * sizeof *frames);
    if (one == NULL)
        return NULL;
    one->born_ms = cuai_system_ms();
    one->frame_count = count;
    memcpy(one->frames, frames, count * sizeof *frames);
    return one;
}

cuarena_status_t cuai_watch_add(cuarena_t *arena, cuai_block_ref_t ref)
{
    cuai_assert_locked(arena);
    CUAI_ASSERT(cuai_block_record(ref)->moving);
    cuai_watch_t *watch = arena->watch;
    uint64_t number = ++watch->allocations;
    cuai_unlock(&arena->lock);
    cuai_watched_t *one = new_watched((uint32_t)arena->config.stacks);
    cuai_arena_lock(arena);
    if (one == NULL || !grow_table(watch)) {
        cuai_host_free(one);
        return cuai_fail(CUARENA_OUT_OF_MEMORY, "no host memory to watch a block");
    }
    one->block = cuai_id(ref.heap, ref.slot);
    one->number = number;
    insert(watch, one);
    watch->count++;
    watch->host_bytes += bytes_of(one);
    return CUARENA_OK;
}

cuai_watched_t *cuai_watch_find(const cuarena_t *arena, cuarena_block_t block)
{
    cuai_assert_locked(arena);
    const cuai_watch_t *watch = arena->watch;
    cuai_watched_t *one = watch->bucket_count == 0 ? NULL : *bucket_of(watch, block);
    while (one != NULL && one->block != block)
        one = one->chain;
    return one;
}

void cuai_watch_drop(cuarena_t *arena, cuarena_block_t block)
{
    cuai_assert_locked(arena);
    cuai_watched_t *one = cuai_watch_find(arena, block);
    if (one == NULL)
        return;
    cuai_watched_t **link = bucket_of(arena->watch, block);
    while (*link != one)
        link = &(*link)->chain;
    *link = one->chain;
    forget(arena->watch, one);
}

/* ---- Where guards lie -------------------------------------------------- */

uint64_t cuai_front_bytes(const cuarena_t *arena, uint64_t alignment)
{
    return cuai_align_up(arena->config.guard_bytes, cuai_max(alignment, cuai_granule(arena)));
}

uint64_t cuai_front_of(const cuarena_t *arena, const cuai_record_t *r)
{
    if (CUAI_LIKELY(arena->config.guard_bytes == 0) || r->size == 0 ||
        (r->flags & CUAI_BLOCK_ADOPTED))
        return 0;
    return cuai_front_bytes(arena, UINT64_C(1) << r->align_log2);
}

uint64_t cuai_user_address(const cuarena_t *arena, const cuai_record_t *r)
{
    return r->offset + cuai_front_of(arena, r);
}

uint64_t cuai_user_bytes(const cuarena_t *arena, const cuai_record_t *r)
{
    if (cuai_front_of(arena, r) == 0)
        return r->size;
    return cuai_align_up(cuai_requested(r), cuai_granule(arena));
}
