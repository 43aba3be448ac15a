/* For whom a request waits that could wait for one of several, where there is plenty: for what is
 * done first. */
#include "support/configs.h"
#include "support/expect.h"
#include "support/fixture_streams.h"

#define POOL KIB(64)
#define PIECES 8
#define PIECE (POOL / PIECES)

/* On which stream each of the pieces is, in the order of their allocation. */
static const char *const places[] = {"CAABBCAB", "CBBAACBA", "AAACCBBB",
                                     "BBBCCAAA", "ABABABCC", "CCBABABA"};

typedef struct pieces {
    fixture_t *f;
    const char *of;
    void *at[PIECES];
} pieces_t;

static cuarena_stream_t stream_of(char letter)
{
    return sim_handle((uint32_t)(letter - 'A') + 1);
}

static pieces_t alloc_all(const char *of)
{
    pieces_t pieces = {.f = new_fixture(fixture_close_forced), .of = of};
    fixture_prepare(pieces.f, SIMULATED, POOL);
    pieces.f->config.preset = CUARENA_PRESET_POOL;
    fixture_create(pieces.f);
    for (int i = 0; i < PIECES; i++)
        pieces.at[i] = alloc_on(pieces.f, PIECE, stream_of(of[i]));
    return pieces;
}

/* Frees all pieces of a stream behind work of its. */
static void use_and_free(const pieces_t *pieces, char letter)
{
    for (int i = 0; i < PIECES; i++)
        if (pieces->of[i] == letter) {
            sim_write(&pieces->f->sim, stream_of(letter), pieces->at[i], PIECE, 1);
            free_on(pieces->f, pieces->at[i], stream_of(letter));
        }
}

/* An event behind all that the stream freed. */
static void mark(const pieces_t *pieces, char letter)
{
    cuarena_mark_t mark;
    expect_ok(cuarena_stream_mark(pieces->f->arena, stream_of(letter), &mark));
}

/* What C asks for comes from one of the stream's pieces, for so many waits. */
static void expect_from(const pieces_t *pieces, char letter, uint64_t waits)
{
    sim_calls(&pieces->f->sim);
    const void *p = alloc_on(pieces->f, PIECE, C);
    bool found = false;
    for (int i = 0; i < PIECES; i++)
        found = found || (pieces->of[i] == letter && pieces->at[i] == p);
    ck_assert_msg(found, "%p is not one of %c's pieces", p, letter);
    expect_u64(pieces->f->sim.counts[SIM_WAIT], waits);
    expect_valid_arena(pieces->f->arena);
}

/* Wherever the pieces lie, as in the next tests. */
START_TEST(the_older_of_two_events_is_waited_for)
{
    pieces_t pieces = alloc_all(places[_i]);
    use_and_free(&pieces, 'A');
    mark(&pieces, 'A');
    use_and_free(&pieces, 'B');
    mark(&pieces, 'B');
    expect_from(&pieces, 'A', 1);
    expect_from(&pieces, 'A', 0);
}
END_TEST

START_TEST(an_event_is_waited_for_before_one_that_is_to_come)
{
    pieces_t pieces = alloc_all(places[_i]);
    use_and_free(&pieces, 'B');
    use_and_free(&pieces, 'A');
    mark(&pieces, 'A');
    expect_from(&pieces, 'A', 1);
    expect_from(&pieces, 'A', 0);
}
END_TEST

START_TEST(the_later_one_comes_next)
{
    static const char *const one_of_a[] = {"CABBBCBB", "BBBCABCB", "BBCBBCBA"};
    pieces_t pieces = alloc_all(one_of_a[_i]);
    use_and_free(&pieces, 'B');
    use_and_free(&pieces, 'A');
    mark(&pieces, 'A');
    expect_from(&pieces, 'A', 1);
    expect_from(&pieces, 'B', 1);
}
END_TEST

/* Pieces of both touch, and make up what neither has. */
START_TEST(where_one_does_not_suffice_both_are_waited_for)
{
    pieces_t pieces = alloc_all("AAABBBCC");
    use_and_free(&pieces, 'A');
    mark(&pieces, 'A');
    use_and_free(&pieces, 'B');
    sim_calls(&pieces.f->sim);
    alloc_on(pieces.f, 4 * PIECE, C);
    expect_u64(pieces.f->sim.counts[SIM_WAIT], 2);
    expect_valid_arena(pieces.f->arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stealing_order");
    size_t rows = sizeof places / sizeof *places;
    suite_add_rows(suite, "oldest", the_older_of_two_events_is_waited_for, rows);
    suite_add_rows(suite, "marked", an_event_is_waited_for_before_one_that_is_to_come, rows);
    suite_add_rows(suite, "next", the_later_one_comes_next, 3);
    suite_add_list(suite, "both", TEST_LIST(where_one_does_not_suffice_both_are_waited_for));
    return suite_main(suite);
}
