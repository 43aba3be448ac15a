/* Large requests: for the bytes that their stream got by stealing, and freed last, and which
 * requests are large. */
#include "support/expect.h"
#include "support/fixture_streams.h"

#define POOL KIB(64)

/* A block with work on its stream, freed there. */
static void use_and_free(fixture_t *f, void *p, cuarena_stream_t stream)
{
    sim_write(&f->sim, stream, p, allocated_bytes(f, p), 1);
    free_on(f, p, stream);
}

static fixture_t *opened_with(int32_t preset, uint64_t bytes)
{
    fixture_t *f = prepared(SIMULATED, bytes);
    f->config.preset = preset;
    if (preset == CUARENA_PRESET_GROW)
        f->config.limit = (cuarena_amount_t){.value = 4 * bytes};
    fixture_create(f);
    return f;
}

/* In address order, whichever end of the pool they come from. */
static void alloc_quarters(fixture_t *f, void **quarters)
{
    for (int i = 0; i < 4; i++) {
        void *p = alloc_on(f, POOL / 4, A);
        int at = i;
        for (; at > 0 && quarters[at - 1] > p; at--)
            quarters[at] = quarters[at - 1];
        quarters[at] = p;
    }
}

/* What a stream stole, freed and asks for again it has in order, whatever its size: no look at
 * other streams, and no call. */
START_TEST(the_same_bytes_again_are_no_stealing)
{
    fixture_t *f = opened_with(CUARENA_PRESET_POOL, POOL);
    use_and_free(f, alloc_on(f, POOL, A), A);
    void *p = alloc_on(f, POOL / 4, B);
    use_and_free(f, p, B);
    sim_calls(&f->sim);
    for (int i = 0; i < 100; i++) {
        ck_assert_ptr_eq(alloc_on(f, POOL / 4, B), p);
        use_and_free(f, p, B);
    }
    expect_no_calls(f);
}
END_TEST

/* Once something else changes there may be a better place, as for any large request. */
START_TEST(a_change_between_makes_a_large_request_look_again)
{
    fixture_t *f = opened_with(CUARENA_PRESET_POOL, POOL);
    void *q[4];
    alloc_quarters(f, q);
    use_and_free(f, q[1], A);
    void *p = alloc_on(f, POOL / 4, B);
    ck_assert_ptr_eq(p, q[1]);
    use_and_free(f, p, B);
    ck_assert_ptr_eq(alloc_on(f, POOL / 4, B), q[1]);
    free_ok(f, q[3]);
    use_and_free(f, p, B);
    p = alloc_on(f, POOL / 4, B);
    ck_assert_ptr_eq(p, q[3]);
    free_on(f, p, B);
    free_on(f, q[0], A);
    free_on(f, q[2], A);
}
END_TEST

#define WIDE KIB(512) /* so that a 1024th of it is two granules */

/* Whether a request on B that two ranges fit goes to the idle one, which placement prefers, lower
 * or higher; else it goes to the one in B's own free list. */
static bool goes_to_idle(int32_t preset, bool lower, uint64_t bytes)
{
    fixture_t *f = opened_with(preset, WIDE);
    void *q[16];
    for (int i = 0; i < 16; i++)
        q[i] = alloc_on(f, WIDE / 16, i == 15 ? A : B);
    expect_u64(capacity_bytes(f), WIDE);
    int idle = (q[2] < q[8]) == lower ? 2 : 8;
    int own = 10 - idle;
    free_ok(f, q[idle]);
    use_and_free(f, q[own], B);
    char *p = alloc_on(f, bytes, B);
    bool from_idle = p >= (char *)q[idle] && p < (char *)q[idle] + WIDE / 16;
    bool from_own = p >= (char *)q[own] && p < (char *)q[own] + WIDE / 16;
    ck_assert_msg(from_idle || from_own, "%llu bytes are at %p, neither at %p nor at %p",
                  (unsigned long long)bytes, (void *)p, q[idle], q[own]);
    free_on(f, p, B);
    for (int i = 0; i < 16; i++)
        if (i != idle && i != own)
            free_on(f, q[i], i == 15 ? A : B);
    return from_idle;
}

START_TEST(what_grows_first_has_no_large_requests)
{
    ck_assert_msg(!goes_to_idle(CUARENA_PRESET_GROW, true, WIDE / 16), "it went to idle bytes");
}
END_TEST

START_TEST(a_1024th_of_a_pool_is_large)
{
    ck_assert_msg(goes_to_idle(CUARENA_PRESET_POOL, false, WIDE / 1024),
                  "it went to the stream's own bytes");
}
END_TEST

START_TEST(less_than_a_1024th_of_a_pool_is_small)
{
    ck_assert_msg(!goes_to_idle(CUARENA_PRESET_POOL, false, WIDE / 1024 - SIM_GRANULE),
                  "it went to idle bytes");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("stealing_again");
    suite_add_list(suite, "again",
                   TEST_LIST(the_same_bytes_again_are_no_stealing,
                             a_change_between_makes_a_large_request_look_again,
                             what_grows_first_has_no_large_requests, a_1024th_of_a_pool_is_large,
                             less_than_a_1024th_of_a_pool_is_small));
    return suite_main(suite);
}
