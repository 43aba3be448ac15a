/*
 * A caller's own memory: one static array that it hands out as often as it is asked to, and answers
 * that a test chooses. And how the tests of memories open one, as an arena does. There is no arena,
 * which would call it by itself as those of fixtures (fixture.h) do.
 */
#ifndef CUARENA_TEST_GUEST_MEMORY_H
#define CUARENA_TEST_GUEST_MEMORY_H

#include <stdbool.h>

#include "checks.h"
#include "memory/memory.h"

#define GUEST_SIZE (1 << 20)

typedef struct guest {
    cuarena_status_t status; /* what every function that has one answers */
    bool answers;            /* get gives `answer` */
    cuarena_memory_segment_t answer;
    int gets;
    int give_backs;
    int ends;
    char calls[128]; /* the other functions called, in order */
} guest_t;

extern unsigned char guest_bytes[GUEST_SIZE];

/* What configurations of tests name; reset before each test. */
extern guest_t guest;
extern cuarena_memory_ops_t guest_table;
void guest_reset(void);
/* As suite_add_list and suite_add_rows, with a reset before each test. */
void guest_add_list(Suite *suite, const char *name, const TTest *const *tests);
void guest_add_rows(Suite *suite, const char *name, const TTest *test, size_t rows);

/* The defaults but for the memory; bytes of GUEST_SIZE and more, and guest_table, for those that
 * want them. */
cuarena_config_t memory_config(int32_t kind);
cuai_memory_t memory_opened(int32_t kind);
/* The same, closed after the test. */
cuai_memory_t memory_kept(int32_t kind);
/* A segment, which must be had. */
cuarena_memory_segment_t memory_got(const cuai_memory_t *memory, uint64_t bytes, uint64_t reserve);
void memory_give_back(const cuai_memory_t *memory, cuarena_memory_segment_t *segment);
unsigned char *memory_at(const cuarena_memory_segment_t *segment, uint64_t offset);

#endif
