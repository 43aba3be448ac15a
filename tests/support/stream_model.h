/*
 * Random programs on several simulated streams and an arena. Their kernels write and check patterns
 * in live blocks; a program orders its own streams where it must, and the arena all the rest.
 *
 * A program is right if the simulation saw no fault, every call came to what
 * it may, and the validator agreed: then model->wrong stays empty.
 */
#ifndef CUARENA_TEST_STREAM_MODEL_H
#define CUARENA_TEST_STREAM_MODEL_H

#include "choice.h"
#include "sim_streams.h"

#define MODEL_LIVE 24
#define MODEL_STREAMS 4

typedef struct model_block {
    void *pointer; /* of a pointer */
    cuarena_block_t block;
    uint64_t bytes;
    uint64_t seed; /* its contents; 0: not known */
    uint32_t last; /* index of the stream that used it last */
    uint32_t used; /* streams that may be using it: bits */
} model_block_t;

typedef struct stream_model {
    sim_t sim;
    cuarena_t *arena;
    choice_t choice;
    model_block_t live[MODEL_LIVE];
    cuarena_stream_t streams[MODEL_STREAMS];
    uint32_t made; /* handles so far */
    uint64_t seeds;
    uint64_t filled; /* bytes that are not for use, of this block */
    void *filler;
    uint64_t served;
    uint64_t checked;  /* how often free bytes were looked at, where zero=free */
    bool may_fail;     /* calls of the memory fail now and then */
    bool captures;     /* streams are captured, outside of sessions */
    uint32_t captured; /* those that are: bits */
    bool apart;        /* a block is used on its own stream only, and nothing else
                        * is done: all waits are the arena's */
    bool caches;       /* keep=cache */
    bool zeroes;       /* zero=free */
    bool guards;       /* the arena is debugged */
    bool stop;         /* a fault was seen, or the arena is lost */
    char wrong[200];
} stream_model_t;

/* What a program may do. */
typedef enum model_ways {
    MODEL_ORDERS,      /* orders its streams, and nothing fails */
    MODEL_MAY_FAIL,    /* ... and calls of the memory fail */
    MODEL_APART,       /* see stream_model_t */
    MODEL_CAPTURES,    /* as MODEL_MAY_FAIL, and streams are captured outside of
                        * sessions */
    MODEL_GUARDS,      /* as MODEL_ORDERS, in an arena with guards, patterns, a quarantine:
                        * nothing is found */
    MODEL_GUARDS_FAIL, /* as MODEL_CAPTURES, likewise */
    MODEL_CACHES,      /* orders its streams; what is freed is cached */
    MODEL_CACHES_APART,
    MODEL_CACHES_FAIL
} model_ways_t;

/* An arena of any kind. `choice` says what, and all that follows. */
void stream_model_open(stream_model_t *model, const choice_t *choice, model_ways_t ways);
void stream_model_step(stream_model_t *model);
/* The validator; what is wrong goes to model->wrong. */
void stream_model_check(stream_model_t *model);
/* Frees what lives, and looks for leaks. */
void stream_model_close(stream_model_t *model);

#endif
