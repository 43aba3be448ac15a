/*
 * What ONNX Runtime's allocations cost, by whose memory a session computes in.
 *
 *   onnxruntime_rows LIBONNXRUNTIME MODEL [ROUNDS [RUNS]]
 *
 * A row for each allocator: nanoseconds of Alloc and Free of 4 KiB and of 1 MiB by its table,
 * microseconds of a run of MODEL, whose image has another size each time, and, where they end,
 * MiB that the allocator had, and the most that were in use. Allocators take turns; each figure is
 * the median of ROUNDS, of a run the median of the medians. bench/onnxruntime builds and runs it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "session.h"

#define PAIRS 20000
#define MOST_ROUNDS 99
#define MOST_RUNS 1000
#define LEAST_SIDE 24
#define MOST_SIDE 280

static const struct contender {
    const char *name;
    const char *options; /* of an arena of ours; NULL: it is not */
    enum memory memory;
} contenders[] = {
    {"ONNX Runtime's arena", NULL, OF_SESSION},     {"malloc", NULL, OF_MALLOC},
    {"preset=bfc", "preset=bfc", OF_ENVIRONMENT},   {"preset=grow", "preset=grow", OF_ENVIRONMENT},
    {"pool=256MiB", "pool=256MiB", OF_ENVIRONMENT},
};
#define CONTENDERS (sizeof contenders / sizeof *contenders)

enum {
    SMALL_PAIR,
    LARGE_PAIR,
    RUN,
    HELD,
    IN_USE,
    FIGURES
};

static double now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int in_order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, in_order);
    return values[count / 2];
}

static double pair_ns(ort_allocator_t *allocator, size_t bytes)
{
    double began = now_ns();
    for (int i = 0; i < PAIRS; i++) {
        void *pointer = allocator->alloc(allocator, bytes);
        *(volatile char *)pointer = 1;
        allocator->free(allocator, pointer);
    }
    return (now_ns() - began) / PAIRS;
}

/* The sizes of images are the same for all, and in all rounds. */
static double run_us(ort_session_t *session, size_t runs)
{
    static double took[MOST_RUNS];
    unsigned random = 11;
    answer_t answer;
    for (size_t i = 0; i < runs; i++) {
        random = random * 1103515245u + 12345u;
        int64_t side = LEAST_SIDE + (int64_t)(random >> 16) % (MOST_SIDE - LEAST_SIDE);
        double began = now_ns();
        must(run(session, side, NULL, &answer), "run");
        took[i] = (now_ns() - began) / 1e3;
    }
    return median(took, runs);
}

static double mib(long bytes)
{
    return (double)bytes / (1 << 20);
}

static void measure(const struct contender *who, size_t runs, double figures[FIGURES])
{
    registered_t it = {NULL, NULL};
    ort_session_t *session = NULL;
    ort_allocator_t *allocator = NULL;
    if (who->options != NULL)
        it = opened(who->options);
    must(open_session(who->memory, NULL, &session), who->name);
    must(ORT(api, create_allocator)(session, cpu, &allocator), "its allocator");
    figures[RUN] = run_us(session, runs);
    figures[HELD] = mib(figure(allocator, "TotalAllocated"));
    figures[IN_USE] = mib(figure(allocator, "MaxInUse"));
    figures[SMALL_PAIR] = pair_ns(allocator, 4 << 10);
    figures[LARGE_PAIR] = pair_ns(allocator, 1 << 20);
    ORT(api, release_allocator)(allocator);
    ORT(api, release_session)(session);
    if (who->options != NULL)
        closed(&it);
}

static void tell(const char *name, double figures[FIGURES][MOST_ROUNDS], size_t rounds)
{
    printf("%-22s", name);
    for (int i = 0; i < FIGURES; i++) {
        double value = median(figures[i], rounds);
        if (value > 0)
            printf(" %9.1f", value);
        else
            printf(" %9s", "-"); /* it counts nothing */
    }
    printf("\n");
}

/* ARGUMENT as a number of 1 to MOST. */
static size_t number(const char *argument, size_t most)
{
    char *end = NULL;
    unsigned long value = strtoul(argument, &end, 10);
    if (*argument >= '0' && *argument <= '9' && *end == '\0' && value >= 1 && value <= most)
        return value;
    fprintf(stderr, "onnxruntime: '%s' is no number of 1 to %zu\n", argument, most);
    exit(2);
}

int main(int argc, char **argv)
{
    static double figures[CONTENDERS][FIGURES][MOST_ROUNDS];
    if (argc < 3 || argc > 5) {
        fprintf(stderr, "usage: onnxruntime LIBONNXRUNTIME MODEL [ROUNDS [RUNS]]\n");
        return 2;
    }
    size_t rounds = argc > 3 ? number(argv[3], MOST_ROUNDS) : 5;
    size_t runs = argc > 4 ? number(argv[4], MOST_RUNS) : 200;
    model = argv[2];
    open_env(argv[1]);
    for (size_t round = 0; round < rounds; round++)
        for (size_t i = 0; i < CONTENDERS; i++) {
            double found[FIGURES];
            measure(&contenders[i], runs, found);
            for (int which = 0; which < FIGURES; which++)
                figures[i][which][round] = found[which];
        }
    printf("%-22s %9s %9s %9s %9s %9s\n", "memory", "4 KiB ns", "1 MiB ns", "run us",
           "MiB reserved", "in use");
    for (size_t i = 0; i < CONTENDERS; i++)
        tell(contenders[i].name, figures[i], rounds);
    ORT(api, release_memory_info)(cpu);
    ORT(api, release_env)(env);
    return 0;
}
