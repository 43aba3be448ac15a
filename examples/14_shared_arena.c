/*
 * An arena that the parts of a process share, with ONNX Runtime's rules and keys: the first to come
 * decides, the second is told what it cannot have.
 */
#include <cuarena.h>
#include <stdio.h>
#include <stdlib.h>

#define KEY_COUNT(keys) (sizeof(keys) / sizeof((keys)[0]))

static void must(cuarena_status_t status)
{
    if (status == CUARENA_OK)
        return;
    fprintf(stderr, "%s: %s\n", cuarena_status_name(status), cuarena_last_error());
    exit(EXIT_FAILURE);
}

/* What a host found among all its keys for one execution provider. */
static cuarena_t *acquire(const char *who, int32_t scope, const char *const *keys,
                          const char *const *values, size_t count)
{
    cuarena_config_t config;
    cuarena_shared_report_t report;
    cuarena_t *arena;
    size_t taken;
    cuarena_config_init(&config);
    cuarena_shared_report_init(&report);
    must(cuarena_config_parse(&config, "preset=bfc"));
    must(cuarena_config_from_scope(&config, scope, "Demo", keys, values, count, &taken));
    must(cuarena_shared_acquire(&config, &arena, &report));
    printf("%s: %zu keys were its own; %s the arena, now held by %llu\n", who, taken,
           report.created ? "made" : "found", (unsigned long long)report.holders);
    if (report.differs != 0)
        printf("%s: cannot have %s\n", who, report.text);
    return arena;
}

static void print_stats(cuarena_t *arena)
{
    cuarena_ort_stats_t stats;
    cuarena_ort_stats_init(&stats);
    must(cuarena_ort_stats(arena, &stats));
    printf("InUse %lld, TotalAllocated %lld, NumArenaExtensions %lld\n",
           (long long)stats.bytes_in_use, (long long)stats.total_allocated_bytes,
           (long long)stats.num_arena_extensions);
}

int main(void)
{
    const char *environment[] = {
        "ep_factory.Demo.arena.initial_chunk_size_bytes",
        "ep_factory.Demo.arena.max_mem",
        "ep_factory.Other.arena.max_mem",
    };
    const char *sizes[] = {"65536", "1048576", "1"};
    const char *session[] = {"ep.demo.arena.max_mem"};
    const char *more[] = {"8388608"};

    cuarena_t *first = acquire("environment", CUARENA_SCOPE_ENVIRONMENT, environment, sizes,
                               KEY_COUNT(environment));
    cuarena_t *second =
        acquire("session", CUARENA_SCOPE_SESSION, session, more, KEY_COUNT(session));

    /* 64 KiB are taken for the first, 128 KiB for the second. */
    void *blocks[2];
    must(cuarena_alloc(first, 65536, &blocks[0]));
    print_stats(first);
    must(cuarena_alloc(second, 1000, &blocks[1]));
    print_stats(second);

    must(cuarena_free(second, blocks[1]));
    must(cuarena_free(first, blocks[0]));
    must(cuarena_shared_release(&second));
    must(cuarena_shared_release(&first));
    return EXIT_SUCCESS;
}
