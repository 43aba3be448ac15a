/*
 * Growth by chunks and by what is lacking, byte by byte: ONNX Runtime's figures where the memory's
 * granularity is the granule, whole pages where it is coarser.
 *
 * A fact is a row: options, what is asked for, and the chunks that must be taken from a memory that
 * keeps a ledger. It runs on four: of granularity 256 B and 2 MiB, of segments that keep their
 * length and that lengthen.
 *
 * What is asked for, words with blanks between:
 *   aSIZE     allocate so much; SIZE as options have it: 256, 5M
 *   nSIZE     allocate so much again and again until a chunk more was taken
 *   rSIZE     a dedicated block, which takes no chunk
 *   LSIZE     is refused by the limit, and the memory is not asked; the error
 *             says how much was asked for and is held
 *   xSIZE     is refused by the memory
 *   f, fN     free all that lives; the Nth
 *   t, tSIZE  trim, and keep so much
 *   bSIZE     the memory has so much from now on
 *   =SIZE     so much is held
 *   uSIZE     allocate 1, 2, ... up to so much
 *   ?KEY=SIZE so much is ONNX Runtime's figure of that key
 * Behind most: *TIMES.
 */
#include "support/fixture.h"

#include <cuarena/stats.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FINE 256
#define COARSE MIB(2)

#define LEDGER_MAX 512
#define LIVE_MAX 65536
/* ---- A memory that keeps a ledger --------------------------------------- */

typedef struct ledger {
    uint64_t next_address;
    uint64_t budget;
    uint64_t held;
    bool apart; /* what is taken now is no chunk */
    uint64_t chunks[LEDGER_MAX];
    size_t chunk_count;
    uint64_t asked[LEDGER_MAX]; /* the refused too */
    size_t asked_count;
    cuarena_memory_ops_t ops;
} ledger_t;

static bool has(ledger_t *ledger, uint64_t bytes)
{
    bool enough = bytes <= ledger->budget - ledger->held;
    ck_assert_uint_lt(ledger->asked_count, LEDGER_MAX);
    ledger->asked[ledger->asked_count++] = bytes;
    if (!enough)
        return false;
    ledger->held += bytes;
    if (!ledger->apart)
        ledger->chunks[ledger->chunk_count++] = bytes;
    return true;
}

static cuarena_status_t ledger_get(void *user, uint64_t bytes, uint64_t reserve,
                                   cuarena_memory_segment_t *segment)
{
    ledger_t *ledger = user;
    if (!has(ledger, bytes))
        return CUARENA_OUT_OF_MEMORY;
    uint64_t reserved = ledger->ops.grow != NULL ? reserve : bytes;
    segment->address = ledger->next_address;
    segment->bytes = bytes;
    segment->address_bytes = reserved;
    ledger->next_address += (reserved + 2 * COARSE - 1) / COARSE * COARSE;
    return CUARENA_OK;
}

static void ledger_give_back(void *user, cuarena_memory_segment_t *segment)
{
    ((ledger_t *)user)->held -= segment->bytes;
}

static cuarena_status_t ledger_grow(void *user, cuarena_memory_segment_t *segment, uint64_t bytes)
{
    if (!has(user, bytes - segment->bytes))
        return CUARENA_OUT_OF_MEMORY;
    segment->bytes = bytes;
    return CUARENA_OK;
}

static void ledger_shrink(void *user, cuarena_memory_segment_t *segment, uint64_t bytes)
{
    ((ledger_t *)user)->held -= segment->bytes - bytes;
    segment->bytes = bytes;
}

static void ledger_init(ledger_t *ledger, uint64_t granularity, bool in_place)
{
    memset(ledger, 0, sizeof *ledger);
    ledger->next_address = UINT64_C(1) << 40;
    ledger->budget = UINT64_C(1) << 50;
    cuarena_memory_ops_init(&ledger->ops);
    ledger->ops.name = "ledger";
    ledger->ops.granularity = granularity;
    ledger->ops.least_bytes = FINE;
    ledger->ops.get = ledger_get;
    ledger->ops.give_back = ledger_give_back;
    if (!in_place)
        return;
    ledger->ops.grow = ledger_grow;
    ledger->ops.shrink = ledger_shrink;
}

/* ---- An arena that grows -------------------------------------------- */

typedef struct growth {
    ledger_t ledger;
    cuarena_t *arena;
    void *live[LIVE_MAX];
    size_t count;
} growth_t;

static void growth_open(growth_t *g, uint64_t granularity, bool in_place, const char *options)
{
    cuarena_config_t config;
    cuarena_config_init(&config);
    ledger_init(&g->ledger, granularity, in_place);
    g->count = 0;
    config.preset = CUARENA_PRESET_BFC;
    config.memory = CUARENA_MEMORY_CUSTOM;
    config.ops = &g->ledger.ops;
    config.ops_user = &g->ledger;
    config.address_bytes = UINT64_C(1) << 44;
    expect_ok(cuarena_config_parse(&config, options));
    expect_ok(cuarena_create(&config, &g->arena));
}

static void growth_close(growth_t *g)
{
    expect_valid_arena(g->arena);
    expect_ok(cuarena_destroy_forced(&g->arena));
    expect_u64(g->ledger.held, 0);
}

static void growth_alloc(growth_t *g, uint64_t bytes)
{
    ck_assert_uint_lt(g->count, LIVE_MAX);
    expect_ok(cuarena_alloc(g->arena, bytes, &g->live[g->count++]));
}

static void growth_alloc_until_chunk(growth_t *g, uint64_t bytes)
{
    size_t before = g->ledger.chunk_count;
    while (g->ledger.chunk_count == before)
        growth_alloc(g, bytes);
}

static cuarena_status_t dedicate(growth_t *g, uint64_t bytes, void **pointer)
{
    cuarena_request_t request;
    cuarena_request_init(&request);
    request.dedicated = 1;
    return cuarena_alloc_with(g->arena, bytes, &request, pointer);
}

static void growth_dedicate(growth_t *g, uint64_t bytes)
{
    g->ledger.apart = true;
    expect_ok(dedicate(g, bytes, &g->live[g->count++]));
    g->ledger.apart = false;
}

#define expect_in_message(format, number)                                                          \
    do {                                                                                           \
        char text_[64];                                                                            \
        snprintf(text_, sizeof text_, format, number);                                             \
        ck_assert_msg(strstr(last_error().message, text_) != NULL, "'%s' is not in '%s'", text_,   \
                      last_error().message);                                                       \
    } while (0)

static void growth_refuse(growth_t *g, uint64_t bytes, cuarena_status_t want)
{
    void *pointer = NULL;
    size_t asked = g->ledger.asked_count;
    expect_status(cuarena_alloc(g->arena, bytes, &pointer), want);
    if (want != CUARENA_LIMIT)
        return;
    expect_u64(g->ledger.asked_count, asked);
    expect_in_message("no room for %" PRIu64 " bytes", (bytes + 255) / 256 * 256);
    expect_in_message(" %" PRIu64 " reserved;", held_by(g->arena));
}

static void growth_free(growth_t *g, size_t at)
{
    expect_ok(cuarena_free(g->arena, g->live[at]));
    g->live[at] = NULL;
}

static void growth_free_some(growth_t *g, const char *which)
{
    if (*which != '\0') {
        growth_free(g, strtoul(which, NULL, 10));
        return;
    }
    for (size_t i = 0; i < g->count; i++)
        growth_free(g, i);
    g->count = 0;
}

typedef struct sought {
    const char *key;
    size_t length; /* of the key */
    uint64_t value;
    bool found;
} sought_t;

static void compare_key(void *user, const char *key, const char *value)
{
    sought_t *sought = user;
    if (strlen(key) != sought->length || strncmp(key, sought->key, sought->length) != 0)
        return;
    sought->found = true;
    sought->value = strtoull(value, NULL, 10);
}

/* ---- Scripts ------------------------------------------------------------- */

static uint64_t size_in(const char *text)
{
    cuarena_amount_t amount = {CUARENA_AMOUNT_BYTES, 0, 0};
    if (*text != '\0')
        expect_ok(cuarena_amount_parse(text, &amount));
    return amount.value;
}

/* KEY=SIZE */
static void expect_figure(growth_t *g, const char *text)
{
    size_t length = strcspn(text, "=");
    sought_t sought = {text, length, 0, false};
    uint64_t want = size_in(text + length + 1);
    expect_ok(cuarena_stats_pairs(g->arena, CUARENA_TEXT_ORT, compare_key, &sought));
    ck_assert_msg(sought.found && sought.value == want, "%s: got %" PRIu64 "%s", text, sought.value,
                  sought.found ? "" : ", no such key");
}

static void play_word(growth_t *g, const char *word)
{
    const char *rest = word + 1;
    switch (word[0]) {
    case 'a':
        growth_alloc(g, size_in(rest));
        break;
    case 'n':
        growth_alloc_until_chunk(g, size_in(rest));
        break;
    case 'r':
        growth_dedicate(g, size_in(rest));
        break;
    case 'L':
        growth_refuse(g, size_in(rest), CUARENA_LIMIT);
        break;
    case 'x':
        growth_refuse(g, size_in(rest), CUARENA_OUT_OF_MEMORY);
        break;
    case 'f':
        growth_free_some(g, rest);
        break;
    case 't':
        expect_ok(cuarena_trim(g->arena, size_in(rest), NULL));
        break;
    case 'b':
        g->ledger.budget = size_in(rest);
        break;
    case 'u':
        for (uint64_t i = 1; i <= size_in(rest); i++)
            growth_alloc(g, i);
        break;
    case '?':
        expect_figure(g, rest);
        break;
    case '=':
        expect_u64(held_by(g->arena), size_in(rest));
        expect_u64(g->ledger.held, size_in(rest));
        break;
    default:
        ck_abort_msg("no such word: %s", word);
    }
}

static void play(growth_t *g, const char *script)
{
    char text[256];
    snprintf(text, sizeof text, "%s", script);
    for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " ")) {
        char *star = strchr(word, '*');
        unsigned long times = 1;
        if (star != NULL) {
            times = strtoul(star + 1, NULL, 10);
            *star = '\0';
        }
        while (times-- != 0)
            play_word(g, word);
    }
}

static void expect_chunks(const growth_t *g, const char *fact, const char *list)
{
    char text[256];
    size_t count = 0;
    snprintf(text, sizeof text, "%s", list);
    for (char *word = strtok(text, " "); word != NULL; word = strtok(NULL, " "), count++) {
        ck_assert_msg(count < g->ledger.chunk_count, "%s: chunk %zu is missing, expected %s", fact,
                      count, word);
        ck_assert_msg(g->ledger.chunks[count] == size_in(word),
                      "%s: chunk %zu has %llu bytes, expected %s", fact, count,
                      (unsigned long long)g->ledger.chunks[count], word);
    }
    ck_assert_msg(count == g->ledger.chunk_count, "%s: %zu chunks were taken, expected %zu", fact,
                  g->ledger.chunk_count, count);
}

/* ---- The facts ----------------------------------------------------------- */

typedef struct fact {
    const char *name;
    const char *options;
    const char *script;
    /* The chunks; NULL: as above, or not so there. */
    const char *fine;
    const char *coarse;
    const char *fine_in_place;
    const char *coarse_in_place;
} fact_t;

#define NOT_THERE "-"
#define DOUBLED "4M 8M 16M 32M 64M 128M 256M 512M 1G 1G 1G"
#define CAPPED "4M 8M 16M 32M 32M 32M"

static const fact_t facts[] = {
    {.name = "nothing is taken before the first allocation",
     .options = "",
     .script = "=0",
     .fine = "",
     .coarse = ""},
    {.name = "unless it is asked for",
     .options = "take_first=1",
     .script = "n1M",
     .fine = "1M 2M",
     .coarse = "2M 2M"},
    {.name = "taken first: no more than the limit",
     .options = "take_first=1,initial_chunk=10M,limit=7000000",
     .script = "a1M",
     .fine = "6999808",
     .coarse = "6M"},
    {.name = "taken first where growth is exact",
     .options = "take_first=1,grow=exact,initial_chunk=3M",
     .script = "a3M a4M",
     .fine = "3M 4M",
     .coarse = "4M 4M"},
    {.name = "1 MiB requests double to 1 GiB, and no further",
     .options = "",
     .script = "n1M*13",
     .fine = "1M 2M " DOUBLED,
     .coarse = "2M 2M " DOUBLED},
    {.name = "the cap is reached, and kept",
     .options = "arena.max_power_of_two_extend_bytes=33554432",
     .script = "n1M*8",
     .fine = "1M 2M " CAPPED,
     .coarse = "2M 2M " CAPPED},
    {.name = "a request above the first chunk doubles it, and it stays",
     .options = "",
     .script = "a5M n1M*2",
     .fine = "8M 8M 16M",
     .coarse = "8M 8M 16M"},
    {.name = "a request may be above the cap; then the chunk falls to it",
     .options = "",
     .script = "a4G n1M*2",
     .fine = "4G 4G 1G",
     .coarse = "4G 4G 1G"},
    {.name = "a request of twice the cap",
     .options = "max_doubling=32M",
     .script = "a64M n1M*3",
     .fine = "64M 64M 32M 32M",
     .coarse = "64M 64M 32M 32M"},
    {.name = "chunks double from any beginning",
     .options = "initial_chunk_size_bytes=25600",
     .script = "n256*4",
     .fine = "25600 51200 102400 204800",
     .coarse = "2M 2M 2M 2M"},
    {.name = "and a request too",
     .options = "initial_chunk_size_bytes=25600",
     .script = "a100000 n256",
     .fine = "102400 102400",
     .coarse = "2M 2M"},
    {.name = "the first chunk is rounded to the granule",
     .options = "initial_chunk=1000,max_doubling=5000",
     .script = "n256*4",
     .fine = "1024 2048 4096 5120",
     .coarse = "2M 2M 2M 2M"},
    {.name = "a cap below the first chunk is where it falls to",
     .options = "initial_chunk=8M,max_doubling=2M",
     .script = "n1M*3",
     .fine = "8M 2M 2M",
     .coarse = "8M 2M 2M"},
    {.name = "no more than the limit",
     .options = "limit=65536,initial_chunk=65536",
     .script = "=0 a65536 =65536 L256",
     .fine = "65536"},
    {.name = "the first chunk is not above the limit",
     .options = "limit=4M,initial_chunk=64M",
     .script = "a1M =4M a1M",
     .fine = "4M",
     .coarse = "4M"},
    {.name = "a chunk is cut to what the limit leaves, in granules",
     .options = "limit=5000000",
     .script = "n1M*2 a1M n1000000 L1M =4999936",
     .fine = "1M 2M 1854208"},
    {.name = "... in pages",
     .options = "limit=5000000",
     .script = "n1M*2 a1M L1M =4M",
     .coarse = "2M 2M"},
    {.name = "a raised chunk stays raised, and is cut likewise",
     .options = "limit=15M",
     .script = "a5M a6M L6M",
     .fine = "8M 7M",
     .coarse = "8M 6M"},
    {.name = "a request above what the limit leaves is not asked for",
     .options = "limit=10M",
     .script = "L11M =0 a1M L10M",
     .fine = "1M",
     .coarse = "2M"},
    {.name = "what is dedicated counts toward the limit, and is no chunk",
     .options = "limit=3M",
     .script = "r1M =1M a256 n1M L1M f0 a1M =3M",
     .fine = "1M 1M 1M"},
    {.name = "what is dedicated is exact, and goes back when it is freed",
     .options = "",
     .script = "r1M =1M f0 =0 r1000 =1024 f1 =0",
     .fine = "",
     .coarse = ""},
    {.name = "dedicated bytes beside a chunk",
     .options = "",
     .script = "a4096 r1M =2M f1 =1M n1M",
     .fine = "1M 2M"},
    {.name = "exact: what is asked for",
     .options = "arena.extend_strategy=1",
     .script = "a1M a3M a256",
     .fine = "1M 3M 256",
     .coarse = "2M 4M",
     .coarse_in_place = "2M 2M 2M"},
    {.name = "exact: as the limit says",
     .options = "grow=exact,limit=1M",
     .script = "a512K L513K a512K L256 =1M",
     .fine = "512K 512K"},
    {.name = "a trim sets the next chunk",
     .options = "",
     .script = "n1M*4 f t =0 n1M*2",
     .fine = "1M 2M 4M 8M 2M 4M",
     .coarse = "2M 2M 4M 8M 2M 4M"},
    {.name = "... to any size",
     .options = "initial_growth_chunk_size_bytes=3000000",
     .script = "n1M*2 f t n1M*2",
     .fine = "1M 2M 3000064 6000128",
     .coarse = "2M 2M 4M 6M"},
    {.name = "... also where it gave nothing back",
     .options = "growth_after_trim=1M",
     .script = "n1M*3 a1M*3 t n1M*2",
     .fine = "1M 2M 4M 1M 2M",
     .coarse = "2M 2M 4M 2M 2M"},
    {.name = "a trim gives unused segments back, and no other",
     .options = "grow=exact",
     .script = "a1K a10M =10486784 f0 t =10M",
     .fine = "1K 10M",
     .fine_in_place = NOT_THERE},
    {.name = "... to a number of bytes",
     .options = "grow=exact",
     .script = "a2M a4M a8M f t10M =6M t6M =6M t5M =2M t =0",
     .fine = "2M 4M 8M",
     .coarse = "2M 4M 8M",
     .fine_in_place = NOT_THERE,
     .coarse_in_place = NOT_THERE},
    {.name = "... exactly, at the end of what lengthens",
     .options = "grow=exact",
     .script = "a2M a4M a8M f t10M =10M t5000000 =4999936 t =0",
     .fine_in_place = "2M 4M 8M"},
    {.name = "... in pages",
     .options = "grow=exact",
     .script = "a2M a4M a8M f t10M =10M t5M =4M t =0",
     .coarse_in_place = "2M 4M 8M"},
    {.name = "a chunk that the memory has not: a tenth less",
     .options = "",
     .script = "b900000 a256 =849664 b1T n256",
     .fine = "849664 2M"},
    {.name = "... as long as the request fits",
     .options = "",
     .script = "b900000 a849664 x849920 =849664",
     .fine = "849664"},
    {.name = "... and not below it",
     .options = "",
     .script = "b840000 x840000 =0 b8703 x256 =0 b8704 a256",
     .fine = "8704"},
    {.name = "... in whole pages",
     .options = "initial_chunk=64M",
     .script = "b20M a256 =20M",
     .coarse = "20M"},
    {.name = "... down to the one page that the request needs",
     .options = "initial_chunk=4M",
     .script = "b3670016 a1000 =2M x2M",
     .coarse = "2M"},
    {.name = "... and no page less than the request needs",
     .options = "initial_chunk=16M",
     .script = "b3M x2500000 =0 b4M a2500000 =4M",
     .coarse = "4M"},
    {.name = "exact: no less than is asked for",
     .options = "grow=exact",
     .script = "b900000 x900000 a512K",
     .fine = "512K"},
    {.name = "what a failed request raised does not stay",
     .options = "",
     .script = "b4M x5M b1T n1M*2",
     .fine = "1M 2M",
     .coarse = "2M 2M"},
    {.name = "the largest chunks do not overflow",
     .options = "initial_chunk=200T,max_doubling=never",
     .script = "b0 x256 x255T",
     .fine = "",
     .coarse = ""},
    {.name = "a chunk of another size, and what is told of it",
     .options = "initial_chunk_size_bytes=25600",
     .script = "a16 ?TotalAllocated=25600 ?NumArenaExtensions=1 ?NumAllocs=1",
     .fine = "25600"},
    {.name = "1 to 1023 bytes, once each",
     .options = "",
     .script = "u1023 ?InUse=654336 ?MaxAllocSize=1024",
     .fine = "1M",
     .coarse = "2M"},
    {.name = "4 bytes take 256",
     .options = "",
     .script = "a4 ?RequestedInUse=4 ?InUse=256",
     .fine = "1M",
     .coarse = "2M"},
    {.name = "what was dedicated leaves the chunk",
     .options = "",
     .script = "a4K r2M ?ReservedBytes=2M ?NumReserves=1 ?TotalAllocated=3M f1 "
               "?ReservedBytes=0 ?TotalAllocated=1048576",
     .fine = "1M"},
    {.name = "a trim is told of by segments",
     .options = "arena.extend_strategy=1",
     .script = "a1K a10M f0 t ?NumArenaExtensions=1 ?NumArenaShrinkages=1 "
               "?TotalAllocated=10M",
     .fine = "1K 10M",
     .coarse = "2M 10M",
     .fine_in_place = NOT_THERE,
     .coarse_in_place = NOT_THERE},
    {.name = "no segment is kept for having been first, or in its place",
     .options = "",
     .script = "a1M a2M f0 t =2M a3M f2 t =2M f t =0 ?NumArenaShrinkages=3 "
               "?NumArenaExtensions=0",
     .fine = "1M 2M 4M",
     .fine_in_place = NOT_THERE},
};

#define FACT_COUNT ((int)COUNT_OF(facts))

static const char *chunks_of(const fact_t *fact, bool coarse, bool in_place)
{
    const char *list = coarse ? fact->coarse : fact->fine;
    const char *other = coarse ? fact->coarse_in_place : fact->fine_in_place;
    if (in_place && other != NULL)
        list = other;
    return list == NULL || strcmp(list, NOT_THERE) == 0 ? NULL : list;
}

static void check_fact(const fact_t *fact, bool coarse, bool in_place)
{
    static growth_t g;
    const char *list = chunks_of(fact, coarse, in_place);
    if (list == NULL)
        return;
    growth_open(&g, coarse ? COARSE : FINE, in_place, fact->options);
    play(&g, fact->script);
    expect_chunks(&g, fact->name, list);
    growth_close(&g);
}

START_TEST(fact_by_bytes)
{
    check_fact(&facts[_i], false, false);
}
END_TEST

START_TEST(fact_by_pages)
{
    check_fact(&facts[_i], true, false);
}
END_TEST

START_TEST(fact_in_place_by_bytes)
{
    check_fact(&facts[_i], false, true);
}
END_TEST

START_TEST(fact_in_place_by_pages)
{
    check_fact(&facts[_i], true, true);
}
END_TEST

/* ---- Backing off --------------------------------------------------------- */

/* From 1 MiB 47 tries more, each a tenth smaller in single precision and rounded up to the granule;
 * 7936 would be the next. The ledger has every call of the memory, of one that sets addresses aside
 * too. */
START_TEST(back_off_asks_once_for_each_size)
{
    static growth_t g;
    static const uint64_t first[] = {MIB(1), 943872, 849664, 764928};
    bool in_place = _i != 0;
    growth_open(&g, FINE, in_place, "");
    play(&g, "b0 x1");
    const ledger_t *ledger = &g.ledger;
    for (size_t i = 0; i < COUNT_OF(first); i++)
        expect_u64(ledger->asked[i], first[i]);
    expect_u64(ledger->asked_count, 1 + 47);
    for (size_t i = 1; i < ledger->asked_count; i++) {
        expect_between(ledger->asked[i], 8192, ledger->asked[i - 1] - 256);
        expect_u64(ledger->asked[i] % 256, 0);
    }
    growth_close(&g);
}
END_TEST

/* Each number of pages from 8 to 1. */
START_TEST(back_off_asks_once_for_each_number_of_pages)
{
    static growth_t g;
    growth_open(&g, COARSE, _i != 0, "initial_chunk=16M");
    play(&g, "b0 x1");
    expect_u64(g.ledger.asked_count, 8);
    for (size_t i = 0; i < g.ledger.asked_count; i++)
        expect_u64(g.ledger.asked[i], (8 - i) * COARSE);
    growth_close(&g);
}
END_TEST

START_TEST(exact_growth_asks_once)
{
    static growth_t g;
    growth_open(&g, FINE, _i != 0, "grow=exact");
    play(&g, "b0 x1M");
    expect_u64(g.ledger.asked[0], MIB(1));
    expect_u64(g.ledger.asked_count, 1);
    growth_close(&g);
}
END_TEST

/* ---- Splitting ----------------------------------------------------------- */

/* A range is split if it is twice the request, or the rest has the
 * threshold. */
START_TEST(split_rule_at_its_edges)
{
    static const struct {
        const char *options;
        uint64_t asked;
        uint64_t taken;
    } rows[] = {
        {"", 512 << 10, 512 << 10},     /* a MiB is twice that */
        {"", (512 << 10) + 1, 1 << 20}, /* and not twice this */
        {"", 1, 256},                   /* rounded first */
        {"max_dead_bytes_per_chunk=256", (1 << 20) - 256, (1 << 20) - 256},
        {"max_dead_bytes_per_chunk=257", (1 << 20) - 256, 1 << 20},
        {"split_threshold=1K", (1 << 20) - 1024, (1 << 20) - 1024},
        {"split_threshold=1K", (1 << 20) - 768, 1 << 20},
        {"split_threshold=never", 1, 1 << 20},
        {"split_threshold=0", (1 << 20) - 256, (1 << 20) - 256},
        {"preset=grow,grow=doubling", (1 << 20) - 256, (1 << 20) - 256},
    };
    static growth_t g;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        uint64_t requested = 0, allocated = 0;
        growth_open(&g, FINE, false, rows[i].options);
        growth_alloc(&g, rows[i].asked);
        expect_ok(cuarena_size_of(g.arena, g.live[0], &requested, &allocated));
        expect_u64(requested, rows[i].asked);
        ck_assert_msg(allocated == rows[i].taken, "row %zu: %llu bytes were taken, expected %llu",
                      i, (unsigned long long)allocated, (unsigned long long)rows[i].taken);
        growth_close(&g);
    }
}
END_TEST

/* ---- The options --------------------------------------------------------- */

START_TEST(a_pool_has_no_first_chunk)
{
    cuarena_config_t config = config_of("memory=none,take_first=1");
    cuarena_t *arena = NULL;
    expect_status(cuarena_create(&config, &arena), CUARENA_BAD_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(last_error().message, "take_first"));
    config.preset = CUARENA_PRESET_BFC;
    expect_ok(cuarena_create(&config, &arena));
    expect_ok(cuarena_destroy(&arena));
}
END_TEST

START_TEST(first_chunk_beside_a_stable_region)
{
    fixture_t *f = opened_text("preset=bfc,memory=none,take_first=1,stable=3M");
    expect_u64(reserved_bytes(f), MIB(4));
    expect_u64(region_stats_of(f, CUARENA_REGION_DYNAMIC).free_bytes, MIB(1));
}
END_TEST

/* A memory of addresses may have any handles. */
START_TEST(granularity_of_addresses)
{
    fixture_t *f = opened_text("preset=grow,memory=none,handle=2M");
    free_ok(f, alloc_ok(f, 1));
    expect_u64(reserved_bytes(f), MIB(2));
}
END_TEST

/* In a struct that nobody filled further. */
START_TEST(a_strategy_left_open_doubles)
{
    cuarena_config_t config = config_fresh();
    cuarena_t *arena = NULL;
    void *pointer = NULL;
    ck_assert_int_eq(config.grow, -1);
    config.preset = CUARENA_PRESET_BFC;
    config.memory = CUARENA_MEMORY_NONE;
    expect_ok(cuarena_create(&config, &arena));
    for (uint64_t held = 1; held <= 15; held = held * 2 + 1) {
        do {
            expect_ok(cuarena_alloc(arena, MIB(1), &pointer));
        } while (arena_stats(arena).free_bytes != 0);
        expect_u64(held_by(arena), MIB(held));
    }
    expect_ok(cuarena_destroy_forced(&arena));
}
END_TEST

static void add_facts(Suite *suite, const char *name, const TTest *test)
{
    tcase_add_loop_test(new_case(suite, name), test, 0, FACT_COUNT);
}

int main(void)
{
    Suite *suite = suite_create("growth");
    add_facts(suite, "by bytes", fact_by_bytes);
    add_facts(suite, "by pages", fact_by_pages);
    add_facts(suite, "in place by bytes", fact_in_place_by_bytes);
    add_facts(suite, "in place by pages", fact_in_place_by_pages);
    TCase *back_off = new_case(suite, "backing off");
    tcase_add_loop_test(back_off, back_off_asks_once_for_each_size, 0, 2);
    tcase_add_loop_test(back_off, back_off_asks_once_for_each_number_of_pages, 0, 2);
    tcase_add_loop_test(back_off, exact_growth_asks_once, 0, 2);
    suite_add_list(suite, "splitting", TEST_LIST(split_rule_at_its_edges));
    suite_add_list(suite, "options",
                   TEST_LIST(a_strategy_left_open_doubles, a_pool_has_no_first_chunk,
                             first_chunk_beside_a_stable_region, granularity_of_addresses));
    return suite_main(suite);
}
