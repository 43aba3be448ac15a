/*
 * Blocks: named by ids that stay good when the bytes move. A block is pinned while its address is
 * in use; all others may slide together when a request finds the free bytes apart.
 */
#include <cuarena.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((uint64_t)1 << 20)
#define BLOCKS 8

static void must(cuarena_status_t status)
{
    if (status == CUARENA_OK)
        return;
    fprintf(stderr, "%s: %s\n", cuarena_status_name(status), cuarena_last_error());
    exit(EXIT_FAILURE);
}

/* Told of the moves after they were made. */
static int32_t moved(void *user, const cuarena_relocation_t *list, size_t count)
{
    (void)user;
    for (size_t i = 0; i < count; i++)
        printf("  %" PRIu64 " KiB slid down by %td KiB\n", list[i].bytes / 1024,
               ((char *)list[i].from - (char *)list[i].to) / 1024);
    return 0; /* go on */
}

/* Pins the block for as long as its bytes are touched. */
static void fill(cuarena_t *arena, cuarena_block_t block, int letter)
{
    void *bytes;
    must(cuarena_block_pin(arena, block, &bytes));
    memset(bytes, letter, MIB);
    must(cuarena_block_unpin(arena, block));
}

static int first_byte(cuarena_t *arena, cuarena_block_t block)
{
    void *bytes;
    must(cuarena_block_pin(arena, block, &bytes));
    int letter = *(char *)bytes;
    must(cuarena_block_unpin(arena, block));
    return letter;
}

int main(void)
{
    cuarena_t *arena;
    must(cuarena_open("pool=8MiB", &arena));

    cuarena_block_t blocks[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) {
        must(cuarena_block_alloc(arena, MIB, &blocks[i]));
        fill(arena, blocks[i], 'a' + i);
    }
    for (int i = 0; i < BLOCKS; i += 2)
        must(cuarena_block_free(arena, blocks[i]));

    cuarena_block_t large;
    printf("4 MiB of 4 MiB free: %s\n",
           cuarena_status_name(cuarena_block_alloc(arena, 4 * MIB, &large)));
    must(cuarena_compact(arena, NULL, moved, NULL, NULL));
    must(cuarena_block_alloc(arena, 4 * MIB, &large));
    printf("4 MiB after compaction: CUARENA_OK\n");

    for (int i = 1; i < BLOCKS; i += 2)
        printf("block %d still begins with '%c'\n", i, first_byte(arena, blocks[i]));
    must(cuarena_destroy_forced(&arena)); /* ends what still lives */
    return EXIT_SUCCESS;
}
