/* Guards and patterns: writing bytes, reading them back, and what is wrong with them. */
#include "arena/guard.h"
#include "arena/arena.h"
#include "arena/stream_order.h"
#include "arena/streams.h"
#include "arena/unlocked.h"
#include "base/log.h"

/* So many bytes are read at once. */
#define CHUNK (16 * CUAI_KIB)

cuarena_status_t cuai_guard_supported(const cuarena_t *arena)
{
    const cuarena_config_t *config = &arena->config;
    const char *key = config->guard_bytes != 0             ? "guard"
                      : config->fill != CUARENA_FILL_NEVER ? "fill"
                                                           : "quarantine";
    bool sets = config->guard_bytes != 0 || config->fill != CUARENA_FILL_NEVER ||
                config->quarantine_bytes != 0;
    if (!sets || arena->memory.ops.set_bytes != NULL)
        return CUARENA_OK;
    return cuai_fail(CUARENA_UNSUPPORTED,
                     "%s: memory '%s' has no set_bytes and read_bytes; accepted: the default", key,
                     arena->memory.ops.name);
}

/* ---- Writing ----------------------------------------------------------- */

/* Sets bytes to a value; 0 bytes need no call of the memory. Called without the lock. */
static cuarena_status_t set(const cuarena_t *arena, uint64_t address, int32_t value, uint64_t bytes,
                            cuarena_stream_t stream)
{
    if (bytes == 0)
        return CUARENA_OK;
    return cuai_mem_set(arena, address, value, bytes, stream);
}

/* What is written around and into a block. */
typedef struct layout {
    uint64_t begin; /* the user's bytes */
    uint64_t end;
    uint64_t guard;   /* bytes on either side */
    uint64_t pattern; /* from here to the end */
} layout_t;

static layout_t layout_of(const cuarena_t *arena, const cuai_record_t *r, uint64_t kept)
{
    uint64_t begin = cuai_user_address(arena, r);
    uint64_t end = begin + cuai_requested(r);
    bool fills = arena->config.fill & CUARENA_FILL_ALLOC;
    return (layout_t){begin, end, cuai_front_of(arena, r) == 0 ? 0 : arena->config.guard_bytes,
                      fills ? cuai_min(begin + kept, end) : end};
}

/* Writes both guards and the pattern of a layout. Called without the lock. */
static cuarena_status_t write(const cuarena_t *arena, const layout_t *layout,
                              cuarena_stream_t stream)
{
    uint64_t guard = layout->guard;
    cuarena_status_t status = set(arena, layout->begin - guard, CUAI_GUARD_VALUE, guard, stream);
    if (status == CUARENA_OK)
        status = set(arena, layout->pattern, CUAI_NEW_VALUE, layout->end - layout->pattern, stream);
    return status == CUARENA_OK ? set(arena, layout->end, CUAI_GUARD_VALUE, guard, stream) : status;
}

/* Tells the log of a block that debugging leaves alone. Drops the lock. */
static cuarena_status_t answer(cuarena_t *arena, cuarena_block_t block, cuarena_status_t status)
{
    if (status == CUARENA_OK || status == CUARENA_LOST)
        return status;
    cuai_kept_error_t words = cuai_error_kept();
    cuai_unlock(&arena->lock);
    cuai_log(CUARENA_LOG_WARN, "%s: block %#llx has no guards or pattern: %s", arena->label,
             (unsigned long long)block, words.error.message);
    cuai_arena_lock(arena);
    return CUARENA_OK;
}

cuarena_status_t cuai_guard_write(cuarena_t *arena, cuai_block_ref_t ref, uint64_t kept,
                                  uint32_t number)
{
    cuai_assert_locked(arena);
    const cuai_record_t *r = cuai_block_record(ref);
    cuai_watched_t *one = cuai_watch_find(arena, cuai_id(ref.heap, ref.slot));
    CUAI_ASSERT(r->moving && one != NULL);
    layout_t layout = layout_of(arena, r, kept);
    cuarena_stream_t stream;
    cuai_kept_error_t before = cuai_error_kept();
    one->guarded = false;
    if (r->fixed || cuai_is_captured(arena, number))
        return CUARENA_OK;
    cuarena_status_t status = cuai_stream_touch_for_work(arena, number, &stream);
    if (status == CUARENA_OK) {
        cuai_unlock(&arena->lock);
        status = write(arena, &layout, stream);
        cuai_arena_lock(arena);
    }
    cuai_stream_untouch(arena, number);
    one->guarded = status == CUARENA_OK && layout.guard != 0;
    one->stream = number;
    status = answer(arena, one->block, cuai_note_loss(arena, status));
    if (status == CUARENA_OK)
        cuai_error_restore(&before);
    return status;
}

/* Whether bytes of blocks are written or looked at; else only their stacks are kept. */
static bool touches_bytes(const cuarena_config_t *config)
{
    return config->guard_bytes != 0 || config->fill != 0 || config->quarantine_bytes != 0;
}

cuarena_status_t cuai_guard_await(cuarena_t *arena, cuai_block_ref_t ref, uint32_t number)
{
    cuai_assert_locked(arena);
    if (!touches_bytes(&arena->config))
        return CUARENA_OK;
    const cuai_watched_t *one = cuai_watch_find(arena, cuai_id(ref.heap, ref.slot));
    cuai_stream_set_t set = {{0, 0}};
    cuai_set_add_block(arena, &set, ref.heap, ref.slot);
    if (number != 0)
        cuai_set_add(&set, number);
    if (one != NULL && one->stream != 0)
        cuai_set_add(&set, one->stream);
    return cuai_order_before(arena, &set, 0);
}

/* ---- Reading ----------------------------------------------------------- */

/* Notes bytes of a chunk that do not have the value; `offset` is that of the chunk. */
static void note(cuai_damage_t *damage, const unsigned char *chunk, uint64_t bytes, int value,
                 uint64_t offset)
{
    for (uint64_t i = 0; i < bytes; i++) {
        if (damage->count != 0 && offset + i - damage->first < CUAI_FOUND_BYTES)
            damage->bytes[damage->count++] = chunk[i];
        if (chunk[i] == value)
            continue;
        if (damage->count == 0) {
            damage->first = offset + i;
            damage->bytes[damage->count++] = chunk[i];
        }
        damage->last = offset + i;
    }
}

/* Looks whether all bytes have a value. Called without the lock. */
static cuarena_status_t look(const cuarena_t *arena, uint64_t address, uint64_t bytes, int value,
                             cuai_damage_t *damage)
{
    unsigned char chunk[CHUNK];
    cuarena_status_t status = CUARENA_OK;
    *damage = (cuai_damage_t){0};
    for (uint64_t done = 0; done < bytes && status == CUARENA_OK; done += CHUNK) {
        uint64_t now = cuai_min(CHUNK, bytes - done);
        status = cuai_mem_read(arena, chunk, address + done, now);
        if (status == CUARENA_OK)
            note(damage, chunk, now, value, done);
    }
    return status;
}

/* Looks at the guard that begins at an address, and makes it whole. No lock. */
static cuarena_status_t look_at_guard(const cuarena_t *arena, uint64_t address,
                                      cuai_damage_t *damage)
{
    cuarena_status_t status =
        look(arena, address, arena->config.guard_bytes, CUAI_GUARD_VALUE, damage);
    if (status != CUARENA_OK || damage->count == 0)
        return status;
    return set(arena, address + damage->first, CUAI_GUARD_VALUE, damage->last - damage->first + 1,
               CUARENA_NO_STREAM);
}

static void add(const cuarena_t *arena, cuai_block_ref_t ref, int where, uint64_t address,
                const cuai_damage_t *damage, cuai_findings_t *findings)
{
    if (damage->count != 0)
        cuai_finding_make(arena, ref, where, address, damage, &findings->list[findings->count++]);
}

cuarena_status_t cuai_guard_check(cuarena_t *arena, cuai_block_ref_t ref,
                                  cuai_findings_t *findings_out)
{
    cuai_assert_locked(arena);
    const cuai_record_t *r = cuai_block_record(ref);
    const cuai_watched_t *one = cuai_watch_find(arena, cuai_id(ref.heap, ref.slot));
    CUAI_ASSERT(r->moving);
    findings_out->count = 0;
    if (one == NULL || !one->guarded)
        return CUARENA_OK;
    uint64_t before = cuai_user_address(arena, r) - arena->config.guard_bytes;
    uint64_t behind = cuai_user_address(arena, r) + cuai_requested(r);
    cuai_damage_t damages[2] = {{0}, {0}};
    cuai_unlock(&arena->lock);
    cuarena_status_t status = look_at_guard(arena, before, &damages[0]);
    if (status == CUARENA_OK)
        status = look_at_guard(arena, behind, &damages[1]);
    cuai_arena_lock(arena);
    add(arena, ref, CUAI_FOUND_BEFORE, before, &damages[0], findings_out);
    add(arena, ref, CUAI_FOUND_BEHIND, behind, &damages[1], findings_out);
    return cuai_note_loss(arena, status);
}

/* ---- Freed blocks ------------------------------------------------------ */

cuarena_status_t cuai_freed_fill(cuarena_t *arena, cuai_block_ref_t ref)
{
    cuai_assert_locked(arena);
    const cuai_record_t *r = cuai_block_record(ref);
    CUAI_ASSERT(r->moving && r->size != 0);
    uint64_t address = r->offset;
    uint64_t bytes = r->size;
    cuai_unlock(&arena->lock);
    cuarena_status_t status = set(arena, address, CUAI_FREED_VALUE, bytes, CUARENA_NO_STREAM);
    cuai_arena_lock(arena);
    return cuai_note_loss(arena, status);
}

cuarena_status_t cuai_freed_check(cuarena_t *arena, cuai_block_ref_t ref,
                                  cuai_findings_t *findings_out)
{
    cuai_assert_locked(arena);
    const cuai_record_t *r = cuai_block_record(ref);
    CUAI_ASSERT(r->moving && r->size != 0);
    uint64_t address = r->offset;
    uint64_t bytes = r->size;
    cuai_damage_t damage;
    findings_out->count = 0;
    cuai_unlock(&arena->lock);
    cuarena_status_t status = look(arena, address, bytes, CUAI_FREED_VALUE, &damage);
    cuai_arena_lock(arena);
    add(arena, ref, CUAI_FOUND_FREED, address, &damage, findings_out);
    return cuai_note_loss(arena, status);
}

void cuai_findings_tell(cuarena_t *arena, const cuai_findings_t *findings)
{
    cuai_assert_locked(arena);
    for (uint32_t i = 0; i < findings->count; i++)
        cuai_finding_tell(arena, &findings->list[i]);
}
