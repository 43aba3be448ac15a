/*
 * Tags and limits: a tag names what blocks are for, so statistics and leak reports can tell them
 * apart; a limit bounds what may live, and can be moved while the program runs.
 */
#include <cuarena.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MIB ((uint64_t)1 << 20)

static void must(cuarena_status_t status)
{
    if (status == CUARENA_OK)
        return;
    fprintf(stderr, "%s: %s\n", cuarena_status_name(status), cuarena_last_error());
    exit(EXIT_FAILURE);
}

static void *alloc_tagged(cuarena_t *arena, uint64_t bytes, cuarena_tag_t tag)
{
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.tag = tag;
    void *pointer;
    must(cuarena_alloc_with(arena, bytes, &request, &pointer));
    return pointer;
}

static void print_tag(cuarena_t *arena, cuarena_tag_t tag)
{
    const char *name;
    cuarena_stats_t stats;
    cuarena_stats_init(&stats);
    must(cuarena_tag_name(arena, tag, &name));
    must(cuarena_tag_stats(arena, tag, &stats));
    printf("%-12s %" PRIu64 " blocks, %" PRIu64 " MiB, at most %" PRIu64 " MiB\n", name,
           stats.live_blocks, stats.live_bytes / MIB, stats.peak_live_bytes / MIB);
}

static void print_refusal(cuarena_status_t status)
{
    cuarena_error_info_t info;
    cuarena_error_info_init(&info);
    must(cuarena_last_error_info(&info));
    printf("%s: %s\n", cuarena_status_name(status), info.message);
}

int main(void)
{
    cuarena_t *arena;
    must(cuarena_open("pool=32MiB, name=model", &arena));
    cuarena_tag_t weights;
    cuarena_tag_t scratch;
    must(cuarena_tag(arena, "weights", &weights));
    must(cuarena_tag(arena, "scratch", &scratch));

    void *layer = alloc_tagged(arena, 6 * MIB, weights);
    must(cuarena_free(arena, alloc_tagged(arena, 8 * MIB, scratch)));
    print_tag(arena, weights);
    print_tag(arena, scratch);

    cuarena_amount_t limit = {CUARENA_AMOUNT_BYTES, 0, 10 * MIB};
    must(cuarena_set_limit(arena, CUARENA_LIMIT_LIVE, limit, NULL));
    void *pointer;
    print_refusal(cuarena_alloc(arena, 8 * MIB, &pointer));

    print_refusal(cuarena_destroy(&arena)); /* names what leaks, by tag */
    must(cuarena_free(arena, layer));
    must(cuarena_destroy(&arena));
    return EXIT_SUCCESS;
}
