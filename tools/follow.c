#include "follow.h"

#include <inttypes.h>
#include <stdlib.h>

#define NO_SLOT UINT32_MAX

/* One move of the list, by what the slot of its block holds. */
typedef struct mark {
    uint64_t key;
    size_t move; /* of the list */
} mark_t;

static uint64_t key_of_move(const player_t *player, const cuarena_relocation_t *move)
{
    return player->setup.blocks ? move->block : (uint64_t)(uintptr_t)move->from;
}

static uint64_t key_of_slot(const player_t *player, const player_slot_t *slot)
{
    return player->setup.blocks ? slot->block : (uint64_t)(uintptr_t)slot->pointer;
}

static int by_key(const void *left, const void *right)
{
    const mark_t *a = left, *b = right;
    return (a->key > b->key) - (a->key < b->key);
}

static mark_t *sorted_marks(const player_t *player, const cuarena_relocation_t *list, size_t count)
{
    mark_t *marks = must_have(NULL, count, sizeof *marks);
    for (size_t i = 0; i < count; i++)
        marks[i] = (mark_t){key_of_move(player, &list[i]), i};
    qsort(marks, count, sizeof *marks, by_key);
    return marks;
}

/* For each move of the list the slot that holds its block, or NO_SLOT. */
static uint32_t *find_slots(const player_t *player, const cuarena_relocation_t *list, size_t count)
{
    mark_t *marks = sorted_marks(player, list, count);
    uint32_t *slots = must_have(NULL, count, sizeof *slots);
    for (size_t i = 0; i < count; i++)
        slots[i] = NO_SLOT;
    for (uint32_t slot = 0; slot < player->trace->slot_count; slot++) {
        mark_t sought = {key_of_slot(player, &player->slots[slot]), 0};
        const mark_t *mark = bsearch(&sought, marks, count, sizeof *marks, by_key);
        if (mark != NULL)
            slots[mark->move] = slot;
    }
    free(marks);
    return slots;
}

static bool unknown(player_t *player, const cuarena_relocation_t *move)
{
    if (player->refused++ == 0)
        (void)fault_set(&player->first_refusal,
                        "%s: a block of %" PRIu64 " bytes moved from %p to "
                        "%p, but no live block is there",
                        player->trace->path, move->bytes, move->from, move->to);
    return false;
}

static bool follow_move(player_t *player, uint32_t slot, const cuarena_relocation_t *move)
{
    const player_watch_t *watch = player->watch;
    if (slot == NO_SLOT)
        return unknown(player, move);
    if (!player->setup.blocks)
        player->slots[slot].pointer = move->to;
    if (watch != NULL && !watch->moved(watch->user, slot, move))
        player->watch_ended = true;
    return !player->watch_ended;
}

int32_t follow(void *user, const cuarena_relocation_t *list, size_t count)
{
    player_t *player = user;
    uint32_t *slots = find_slots(player, list, count);
    bool good = true;
    for (size_t i = 0; i < count && good; i++)
        good = follow_move(player, slots[i], &list[i]);
    free(slots);
    const player_watch_t *watch = player->watch;
    if (good && watch != NULL && !watch->moved_all(watch->user)) {
        player->watch_ended = true;
        good = false;
    }
    return !good;
}
