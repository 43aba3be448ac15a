/*
 * A memory for tests: it counts, records, checks the contract and fails on demand.
 */
#ifndef CUARENA_TESTS_ARENA_MEMORY_H
#define CUARENA_TESTS_ARENA_MEMORY_H

#include "support/expect.h"

#include <cuarena.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/* The functions of a memory, as its record names them. */
typedef enum memory_op {
    OP_AVAILABLE,
    OP_TOTAL,
    OP_GET,
    OP_GIVE_BACK,
    OP_GROW,
    OP_SHRINK,
    OP_PUNCH,
    OP_FILL,
    OP_RELOCATE,
    OP_ZERO,
    OP_SET,
    OP_READ,
    OP_END,
    OP_COUNT
} memory_op_t;

/* One call of the memory as it was made. */
typedef struct memory_call {
    memory_op_t op;
    uint64_t address; /* of the segment; of the first source of a list */
    uint64_t offset;  /* in the segment; of a list its count */
    uint64_t bytes;
    cuarena_status_t status;
} memory_call_t;

#define MEMORY_CALLS_MAX 4096
#define MEMORY_SEGMENTS_MAX 256

/* What a test memory knows of a segment it gave. */
typedef struct memory_record {
    uint64_t address; /* 0: the slot is free */
    uint64_t bytes;
    uint64_t address_bytes;
    int32_t busy; /* calls inside for this segment; never above 1 */
} memory_record_t;

/*
 * A memory of mapped host pages. What is not usable (reserved, punched, given back) is unmapped or
 * protected, so that a stray access ends the test; fresh bytes are filled with 0xa5 unless `quiet`
 * says that they are too many.
 */
typedef struct test_memory {
    cuarena_memory_ops_t ops;
    uint64_t available_bytes; /* what `available` answers */
    uint64_t total_bytes;     /* what `total` answers */
    uint64_t budget_bytes;    /* most bytes that it gives */
    int32_t quiet;            /* 1: fresh bytes are not written */
    int32_t wants_zeros;      /* 1: what goes back must read as 0 */
    int32_t reserves_none;    /* 1: it sets no further addresses aside */
    int32_t fail_in;          /* the call that fails counted from now, from 1;
                               * 0: none */
    int32_t fail_again;       /* how many after it fail too */
    int32_t fail_op;          /* only calls of this kind count; -1: all */
    cuarena_status_t fail_with;
    size_t fail_done; /* entries that a failing relocate has done */
    /* Called before the function does anything, without the memory's lock. */
    void (*hook)(struct test_memory *memory, memory_op_t op, const cuarena_relocation_t *list,
                 size_t count);
    void *hook_user;

    uint64_t reserved_bytes;
    uint64_t counts[OP_COUNT];
    uint64_t faults; /* broken rules of the contract; see test_memory_fault */
    const char *fault;
    memory_record_t segments[MEMORY_SEGMENTS_MAX];
    memory_call_t calls[MEMORY_CALLS_MAX];
    size_t call_count; /* calls past the last slot are counted, not kept */
    pthread_mutex_t lock;
} test_memory_t;

/* A memory that can do all there is but events. */
void test_memory_init(test_memory_t *memory);
/* Takes the optional functions away: no growth, holes, moves or zeroing. */
void test_memory_make_plain(test_memory_t *memory);
/* How many segments are out. */
size_t test_memory_segments(const test_memory_t *memory);
/* Forgets the record; held bytes and segments stay. */
void test_memory_forget_calls(test_memory_t *memory);
/* "get shrink give_back" in the order of the calls, `available` and `total` left out. */
const char *test_memory_sequence(const test_memory_t *memory);
/* No rule of the contract was broken, and everything came back. */
void expect_memory_clean(test_memory_t *memory);

#endif
