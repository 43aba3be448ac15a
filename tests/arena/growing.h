/* Arenas that grow beside streams, and work that makes streams lag. */
#ifndef CUARENA_TEST_GROWING_H
#define CUARENA_TEST_GROWING_H

#include "support/expect.h"
#include "support/fixture_streams.h"

#define POOL KIB(64)
#define PAGE KIB(4)

/* The fixture of a test, of four pools at most, in which A, B and C have freed. */
fixture_t *opened_growing(int32_t steal);
/* A block with work on its stream, freed there. */
void free_use(fixture_t *f, uint64_t bytes, cuarena_stream_t stream);
/* Requests on two streams that are many looks, with work that is done or not done by the next. */
void work_on(fixture_t *f, cuarena_stream_t one, cuarena_stream_t other, bool done);

#endif
