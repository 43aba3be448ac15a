/*
 * Bad input to arenas on devices: every wrong ordinal, size, choice, flag and pointer is an error
 * that names it, and costs nothing: what lived before
 * lives on, with its contents, and the caller's context is what it was.
 *
 * The same rows on the stand-in and on a real driver, but for those that need
 * a driver of a certain kind.
 */
#include "support/base_support.h"
#include "support/cuda_kinds.h"
#include "support/cuda_test.h"

#include <cuarena.h>
#include <stdlib.h>
#include <string.h>

static void set(const char *name, const char *value)
{
    ck_assert_int_eq(setenv(name, value, 1), 0);
}

/* ---- Options ----------------------------------------------------------- */

#define WORDS 4

/* What a text of options comes to. */
typedef struct bad_options {
    const char *options;
    cuarena_status_t status;
    const char *words[WORDS]; /* that the message has */
    const char *lack;         /* of the stand-in; NULL: any driver */
} bad_options_t;

#define BAD CUARENA_BAD_ARGUMENT
#define CANNOT CUARENA_UNSUPPORTED
#define DEVICE "memory=device,pool=64MiB,"

static const bad_options_t bad_options[] = {
    /* Ordinals. */
    {"memory=device,device=-1", BAD, {"device", "'-1'", "0 to"}, NULL},
    {"memory=device,device=1024", BAD, {"device", "'1024'", "0 to"}, NULL},
    {"memory=device,device=x", BAD, {"device", "'x'", "0 to"}, NULL},
    {DEVICE "device=999", BAD, {"device: 999", "0 to"}, NULL},
    {"memory=managed,pool=64MiB,device=999", BAD, {"device: 999"}, NULL},
    {"memory=pinned,pool=64MiB,device=999", BAD, {"device: 999"}, NULL},
    {"memory=pageable,pool=64MiB,device=1", BAD, {"device: '1'"}, NULL},
    /* Backings and the size of handles. */
    {DEVICE "backing=slab", BAD, {"backing", "'slab'", "vmm"}, NULL},
    {"memory=managed,pool=64MiB,backing=vmm", BAD, {"backing: 'vmm'", "memory=managed"}, NULL},
    {"memory=pageable,backing=malloc", BAD, {"'malloc'", "pageable"}, NULL},
    {DEVICE "handle=3MiB", BAD, {"handle", "'3MiB'", "power of two"}, NULL},
    {DEVICE "handle=-1", BAD, {"handle", "'-1'"}, NULL},
    {DEVICE "handle=128GiB", BAD, {"handle", "'128GiB'", "64GiB"}, NULL},
    {DEVICE "backing=vmm,handle=4KiB", BAD, {"handle: 4096", "from"}, NULL},
    {DEVICE "backing=malloc,handle=2MiB",
     BAD,
     {"handle: 2097152", "backing=malloc", "backing=vmm"},
     NULL},
    /* Properties. */
    {DEVICE "fd=yes", BAD, {"fd", "'yes'", "require"}, NULL},
    {DEVICE "rdma=2", BAD, {"rdma", "'2'", "require"}, NULL},
    {DEVICE "fabric=", BAD, {"fabric", "''", "require"}, NULL},
    {DEVICE "peers=all", BAD, {"peers", "'all'", "require"}, NULL},
    {DEVICE "backing=malloc,fd=require", CANNOT, {"fd", "malloc"}, NULL},
    {DEVICE "backing=async,fd=require", CANNOT, {"fd", "async"}, NULL},
    {DEVICE "backing=async,rdma=require", CANNOT, {"rdma", "async"}, NULL},
    {DEVICE "backing=malloc,fabric=require", CANNOT, {"fabric", "malloc"}, NULL},
    {DEVICE "backing=malloc,peers=require", CANNOT, {"peers", "malloc"}, NULL},
    {"memory=managed,pool=64MiB,fd=require", CANNOT, {"fd", "managed"}, NULL},
    {"memory=pageable,fd=require", CANNOT, {"fd", "pageable"}, NULL},
    /* Flags. */
    {"memory=pinned,mapped=2", BAD, {"mapped", "'2'"}, NULL},
    {"memory=pinned,portable=yes", BAD, {"portable", "'yes'"}, NULL},
    {"memory=pinned,write_combined=-1", BAD, {"write_combined", "'-1'"}, NULL},
    {"memory=pinned,device_only=maybe", BAD, {"device_only", "'maybe'"}, NULL},
    {DEVICE "mapped=0", BAD, {"mapped: '0'", "memory=pinned"}, NULL},
    {DEVICE "write_combined=1", BAD, {"write_combined: '1'", "pinned"}, NULL},
    {DEVICE "portable=0", BAD, {"portable: '0'", "memory=pinned"}, NULL},
    {DEVICE "device_only=1", BAD, {"device_only: '1'", "device"}, NULL},
    {DEVICE "events=soon", BAD, {"events", "'soon'", "eager"}, NULL},
    /* Sizes. */
    {"memory=device,pool=0", BAD, {"pool", "'0'"}, NULL},
    {"memory=device,pool=101%", BAD, {"pool", "'101%'"}, NULL},
    {"memory=device,pool=-1GiB", BAD, {"pool", "'-1GiB'"}, NULL},
    {"memory=device,pool=99999T", BAD, {"pool", "'99999T'"}, NULL},
    {DEVICE "limit=32MiB", CUARENA_LIMIT, {"67108864", "33554432"}, NULL},
    {DEVICE "stable=65MiB", BAD, {"stable", "68157440", "67108864"}, NULL},
    {DEVICE "alignment=3", BAD, {"alignment", "'3'"}, NULL},
    {DEVICE "alignment=4GiB", BAD, {"alignment", "'4GiB'"}, NULL},
    {"memory=device,backing=vmm,pool=200T",
     CUARENA_OUT_OF_MEMORY,
     {"219902325555200", "cuMem"},
     NULL},
    {"memory=device,backing=malloc,pool=200T",
     CUARENA_OUT_OF_MEMORY,
     {"219902325555200", "device 0", "cuMemAlloc"},
     NULL},
    {"memory=managed,pool=200T",
     CUARENA_OUT_OF_MEMORY,
     {"219902325555200", "device 0", "free"},
     NULL},
    /* Devices and drivers that cannot. */
    {DEVICE "backing=vmm", CANNOT, {"vmm", "device 0"}, "vmm"},
    {DEVICE "fd=require", CANNOT, {"fd", "device 0"}, "vmm"},
    {DEVICE "fd=require", CANNOT, {"fd: 'require'", "device 0"}, "fd"},
    {DEVICE "backing=async", CANNOT, {"device 0", "stream-ordered"}, "pools"},
    {"memory=managed,pool=64MiB", CANNOT, {"device 0", "managed"}, "managed"},
};

static cuarena_status_t made(const char *options)
{
    cuarena_config_t config;
    cuarena_t *arena = NULL;
    cuarena_config_init(&config);
    cuarena_status_t status = cuarena_config_parse(&config, options);
    if (status == CUARENA_OK)
        status = cuarena_create(&config, &arena);
    if (status == CUARENA_OK)
        expect_ok(cuarena_destroy(&arena));
    ck_assert_ptr_null(arena);
    return status;
}

static void expect_words(const char *const *words, const char *of)
{
    const char *message = last_error_message();
    for (int i = 0; i < WORDS && words[i] != NULL; i++)
        ck_assert_msg(strstr(message, words[i]) != NULL, "%s: '%s' is not in: %s", of, words[i],
                      message);
}

/* Nothing of the driver's is left, and it had nothing to report. */
static void expect_nothing_left(void)
{
    static const char *const kinds[] = {"allocation", "reservation", "handle", "mapping",
                                        "event",      "stream",      "module"};
    const standin_control_t *control = driver_standin();
    if (control == NULL)
        return;
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        ck_assert_msg(control->standin_live(kinds[i]) == 0, "%zu are left: %s",
                      control->standin_live(kinds[i]), kinds[i]);
    ck_assert_msg(control->standin_report_count(0) == 0, "the stand-in: %s",
                  control->standin_report_text(0));
}

START_TEST(each_bad_option)
{
    const bad_options_t *row = &bad_options[_i];
    if (row->lack != NULL)
        set("CUARENA_STANDIN_LACK", row->lack);
    cuarena_status_t status = made(row->options);
    ck_assert_msg(status == row->status, "%s: expected %s, got %s (%s)", row->options,
                  cuarena_status_name(row->status), cuarena_status_name(status),
                  last_error_message());
    expect_words(row->words, row->options);
    expect_nothing_left();
}
END_TEST

/* ---- Members ----------------------------------------------------------- */

/* Values that no text sets. */
typedef struct bad_member {
    const char *name;
    size_t offset;
    int32_t value;
    int32_t memory;
    const char *words[WORDS];
} bad_member_t;

#define MEMBER(member, value, memory, ...)                                                         \
    {                                                                                              \
#member, offsetof(cuarena_config_t, member), value, memory,                                \
        {                                                                                          \
            __VA_ARGS__                                                                            \
        }                                                                                          \
    }

static const bad_member_t bad_members[] = {
    MEMBER(memory, 99, CUARENA_MEMORY_DEVICE, "memory", "99"),
    MEMBER(memory, -1, CUARENA_MEMORY_DEVICE, "memory", "-1"),
    MEMBER(device, -1, CUARENA_MEMORY_DEVICE, "device", "-1"),
    MEMBER(device, INT32_MIN, CUARENA_MEMORY_DEVICE, "device", "-2147483648"),
    MEMBER(device, INT32_MAX, CUARENA_MEMORY_MANAGED, "device", "2147483647"),
    MEMBER(backing, 4, CUARENA_MEMORY_DEVICE, "backing", "4"),
    MEMBER(backing, -1, CUARENA_MEMORY_DEVICE, "backing", "-1"),
    MEMBER(fd, 3, CUARENA_MEMORY_DEVICE, "fd", "3"),
    MEMBER(rdma, -1, CUARENA_MEMORY_DEVICE, "rdma", "-1"),
    MEMBER(fabric, 7, CUARENA_MEMORY_DEVICE, "fabric", "7"),
    MEMBER(peers, 3, CUARENA_MEMORY_DEVICE, "peers", "3"),
    MEMBER(mapped, 2, CUARENA_MEMORY_PINNED, "mapped", "2"),
    MEMBER(write_combined, -1, CUARENA_MEMORY_PINNED, "write_combined", "-1"),
    MEMBER(portable, 5, CUARENA_MEMORY_PINNED, "portable", "5"),
    MEMBER(device_only, 2, CUARENA_MEMORY_MANAGED, "device_only", "2"),
    MEMBER(events, 2, CUARENA_MEMORY_DEVICE, "events", "2"),
    MEMBER(bytes_kind, 4, CUARENA_MEMORY_BYTES, "bytes_kind", "4"),
    MEMBER(bytes_kind, -1, CUARENA_MEMORY_BYTES, "bytes_kind", "-1"),
};

START_TEST(each_bad_member)
{
    static char bytes[4096];
    const bad_member_t *row = &bad_members[_i];
    cuarena_config_t config;
    cuarena_t *arena = NULL;
    cuarena_config_init(&config);
    config.memory = row->memory;
    config.pool = amount_of_bytes(1 << 26);
    if (row->memory == CUARENA_MEMORY_BYTES) {
        config.bytes = bytes;
        config.bytes_size = sizeof(bytes);
        config.pool = amount_of_bytes(1024);
    }
    memcpy((char *)&config + row->offset, &row->value, sizeof(row->value));
    expect_status(cuarena_create(&config, &arena), CUARENA_BAD_ARGUMENT);
    expect_words(row->words, row->name);
    ck_assert_ptr_null(arena);
    expect_nothing_left();
}
END_TEST

START_TEST(context_of_another_device)
{
    cuarena_config_t config;
    cuarena_t *arena = NULL;
    cuarena_config_init(&config);
    set("CUARENA_STANDIN_DEVICES", "2");
    config.memory = CUARENA_MEMORY_DEVICE;
    config.pool = amount_of_bytes(1 << 26);
    config.context = cuda_test_use_device(0);
    config.device = 1;
    expect_status(cuarena_create(&config, &arena), CUARENA_BAD_ARGUMENT);
    expect_message("device: 1", "context", "accepted: 0");
    ck_assert_ptr_null(arena);
    ck_assert_ptr_eq(cuda_test_current(), config.context);
}
END_TEST

START_TEST(context_without_a_use)
{
    cuarena_config_t config;
    cuarena_t *arena = NULL;
    cuarena_config_init(&config);
    config.context = cuda_test_use_device(0);
    expect_status(cuarena_create(&config, &arena), CUARENA_BAD_ARGUMENT);
    expect_message("context", "memory=pageable");
    ck_assert_ptr_null(arena);
}
END_TEST

/* ---- Two arenas, and what may not be done to them ---------------------- */

#define POOL_BYTES ((uint64_t)64 << 20)
#define BLOCK_BYTES ((uint64_t)100000)

typedef struct pair {
    fixture_t mine;
    fixture_t other;
    void *pointer;         /* of mine, painted with 1 */
    cuarena_block_t block; /* of mine, painted with 2 */
    void *foreign;         /* of other, painted with 3 */
    cuarena_block_t foreign_block;
    uint64_t live;
    cuai_cu_context_t current;
} pair_t;

static void open_pair(pair_t *pair, int kind)
{
    memset(pair, 0, sizeof(*pair));
    fixture_open(&pair->mine, &cuda_kinds[kind], POOL_BYTES);
    fixture_open(&pair->other, &cuda_kinds[kind], POOL_BYTES);
    pair->pointer = alloc_ok(&pair->mine, BLOCK_BYTES);
    pair->block = alloc_block(&pair->mine, BLOCK_BYTES);
    pair->foreign = alloc_ok(&pair->other, BLOCK_BYTES);
    pair->foreign_block = alloc_block(&pair->other, BLOCK_BYTES);
    paint(&pair->mine, pair->pointer, BLOCK_BYTES, 1);
    paint(&pair->mine, address_of(&pair->mine, pair->block), BLOCK_BYTES, 2);
    paint(&pair->other, pair->foreign, BLOCK_BYTES, 3);
    pair->live = live_bytes(&pair->mine);
    pair->current = cuda_test_current();
}

/* What every test ends with: nothing happened. */
static void close_pair(pair_t *pair)
{
    ck_assert_ptr_eq(cuda_test_current(), pair->current);
    expect_u64(live_bytes(&pair->mine), pair->live);
    expect_u64(live_blocks(&pair->other), 2);
    expect_sound(&pair->mine);
    expect_sound(&pair->other);
    expect_painted(&pair->mine, pair->pointer, BLOCK_BYTES, 1);
    expect_painted(&pair->mine, address_of(&pair->mine, pair->block), BLOCK_BYTES, 2);
    expect_painted(&pair->other, pair->foreign, BLOCK_BYTES, 3);
    free_ok(&pair->mine, pair->pointer);
    free_block(&pair->mine, pair->block);
    free_ok(&pair->other, pair->foreign);
    free_block(&pair->other, pair->foreign_block);
    fixture_close(&pair->mine);
    fixture_close(&pair->other);
    expect_nothing_left();
}

static pair_t pair_of_test;

static void end_pair(void)
{
    close_pair(&pair_of_test);
}

static pair_t *opened_pair(int kind)
{
    open_pair(&pair_of_test, kind);
    after_test(end_pair);
    return &pair_of_test;
}

static void expect_stale_pointer(pair_t *pair, void *pointer)
{
    cuarena_t *arena = pair->mine.arena;
    cuarena_block_t block;
    uint64_t bytes;
    void *moved = NULL;
    expect_status(cuarena_free(arena, pointer), CUARENA_STALE);
    expect_status(cuarena_resize(arena, pointer, 2 * BLOCK_BYTES, &moved), CUARENA_STALE);
    expect_status(cuarena_size_of(arena, pointer, &bytes, NULL), CUARENA_STALE);
    expect_status(cuarena_unpin(arena, pointer), CUARENA_STALE);
    expect_status(cuarena_block_of(arena, pointer, &block), CUARENA_STALE);
    ck_assert_ptr_null(moved);
}

START_TEST(pointer_of_another_arena)
{
    pair_t *pair = opened_pair(_i);
    expect_stale_pointer(pair, pair->foreign);
}
END_TEST

START_TEST(pointer_into_a_block)
{
    pair_t *pair = opened_pair(_i);
    expect_stale_pointer(pair, (char *)pair->pointer + 1);
    expect_stale_pointer(pair, (char *)pair->pointer + 256);
    expect_stale_pointer(pair, (char *)pair->pointer + BLOCK_BYTES);
}
END_TEST

START_TEST(pointer_of_the_host)
{
    static char bytes[1024];
    pair_t *pair = opened_pair(_i);
    expect_stale_pointer(pair, bytes);
    expect_stale_pointer(pair, (void *)(uintptr_t)256);
    expect_stale_pointer(pair, (void *)(uintptr_t)(UINT64_MAX - 255));
}
END_TEST

START_TEST(pointer_freed_before)
{
    pair_t *pair = opened_pair(_i);
    void *freed = alloc_ok(&pair->mine, BLOCK_BYTES);
    free_ok(&pair->mine, freed);
    expect_stale_pointer(pair, freed);
}
END_TEST

static void expect_stale_block(pair_t *pair, cuarena_block_t block)
{
    cuarena_t *arena = pair->mine.arena;
    cuarena_block_info_t info;
    void *pointer = NULL;
    expect_status(cuarena_block_free(arena, block), CUARENA_STALE);
    expect_status(cuarena_block_pin(arena, block, &pointer), CUARENA_STALE);
    expect_status(cuarena_block_unpin(arena, block), CUARENA_STALE);
    expect_status(cuarena_block_resize(arena, block, 1), CUARENA_STALE);
    expect_status(cuarena_block_info(arena, block, &info), CUARENA_STALE);
    ck_assert_ptr_null(pointer);
}

START_TEST(block_of_another_arena)
{
    pair_t *pair = opened_pair(_i);
    cuarena_block_t freed = alloc_block(&pair->mine, BLOCK_BYTES);
    free_block(&pair->mine, freed);
    expect_stale_block(pair, pair->foreign_block);
    expect_stale_block(pair, freed);
    expect_stale_block(pair, UINT64_MAX);
}
END_TEST

/* ---- Requests ---------------------------------------------------------- */

START_TEST(sizes_that_cannot_be)
{
    static const uint64_t sizes[] = {POOL_BYTES + 1, UINT64_C(1) << 40, UINT64_C(1) << 63,
                                     UINT64_MAX - 4096, UINT64_MAX};
    void *pointer = NULL;
    pair_t *pair = opened_pair(_i);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        cuarena_status_t status = cuarena_alloc(pair->mine.arena, sizes[i], &pointer);
        ck_assert_msg(status == CUARENA_OUT_OF_MEMORY || status == CUARENA_LIMIT || status == BAD,
                      "%llu bytes: got %s", (unsigned long long)sizes[i],
                      cuarena_status_name(status));
        if (status != BAD)
            expect_u64(last_error().asked_bytes, sizes[i]);
        ck_assert_ptr_null(pointer);
        expect_sound(&pair->mine);
    }
    expect_status(
        cuarena_alloc_array(pair->mine.arena, UINT64_C(1) << 33, UINT64_C(1) << 33, NULL, &pointer),
        CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_resize(pair->mine.arena, pair->pointer, UINT64_MAX / 2, &pointer),
                  CUARENA_OUT_OF_MEMORY);
    expect_message("9223372036854775807");
    ck_assert_ptr_null(pointer);
}
END_TEST

START_TEST(requests_that_cannot_be)
{
    void *pointer = NULL;
    cuarena_request_t request;
    pair_t *pair = opened_pair(_i);
#define expect_bad_request(member, value)                                                          \
    do {                                                                                           \
        cuarena_request_init(&request);                                                            \
        request.member = value;                                                                    \
        expect_status(cuarena_alloc_with(pair->mine.arena, 256, &request, &pointer),               \
                      CUARENA_BAD_ARGUMENT);                                                       \
        expect_message(#member);                                                                   \
    } while (0)
    expect_bad_request(region, 7);
    expect_bad_request(region, -1);
    expect_bad_request(zeroed, 2);
    expect_bad_request(dedicated, -1);
    expect_bad_request(alignment, 3);
    expect_bad_request(alignment, UINT64_C(1) << 63 | 1);
    expect_bad_request(tag, 77);
    ck_assert_ptr_null(pointer);
}
END_TEST

START_TEST(adopting_bytes_of_the_arena)
{
    cuarena_block_t block;
    pair_t *pair = opened_pair(_i);
    expect_status(cuarena_adopt(pair->mine.arena, pair->pointer, 4096, 0, &block),
                  CUARENA_BAD_ARGUMENT);
}
END_TEST

/* ---- The end of an arena ----------------------------------------------- */

START_TEST(destroy_with_blocks)
{
    pair_t *pair = opened_pair(_i);
    cuarena_t *before = pair->mine.arena;
    expect_status(cuarena_destroy(&pair->mine.arena), CUARENA_BUSY);
    expect_message("2 blocks");
    ck_assert_ptr_eq(pair->mine.arena, before);
}
END_TEST

START_TEST(destroyed_arena)
{
    fixture_t f;
    void *pointer = NULL;
    fixture_open(&f, &cuda_kinds[_i], POOL_BYTES);
    (void)alloc_ok(&f, BLOCK_BYTES);
    expect_ok(cuarena_destroy_forced(&f.arena));
    ck_assert_ptr_null(f.arena);
    expect_ok(cuarena_destroy(&f.arena));
    expect_ok(cuarena_destroy_forced(&f.arena));
    expect_status(cuarena_alloc(f.arena, 1, &pointer), CUARENA_BAD_ARGUMENT);
    expect_message("arena", "NULL");
    expect_status(cuarena_trim(f.arena, 0, NULL), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_compact(f.arena, NULL, NULL, NULL, NULL), CUARENA_BAD_ARGUMENT);
    fixture_release(&f);
    expect_nothing_left();
}
END_TEST

/* Work of the caller's that is under way, on bytes that the arena takes back: the call waits, or
 * the driver does; nothing is lost and nothing crashes. */
START_TEST(destroy_while_work_is_queued)
{
    fixture_t f;
    cuarena_stream_t stream = NULL;
    const cuda_test_t *cuda = cuda_test();
    (void)cuda_test_use_device(0);
    fixture_open(&f, &cuda_kinds[_i], POOL_BYTES);
    void *pointer = alloc_ok(&f, BLOCK_BYTES);
    expect_cu(cuda->cuStreamCreate(&stream, CUAI_CU_STREAM_NON_BLOCKING));
    expect_cu(cuda->cuMemsetD8Async((cuai_cu_pointer_t)(uintptr_t)pointer, 7, BLOCK_BYTES, stream));
    expect_status(cuarena_destroy(&f.arena), CUARENA_BUSY);
    expect_cu(cuda->cuStreamSynchronize(stream));
    expect_sound(&f);
    free_ok(&f, pointer);
    fixture_close(&f);
    expect_cu(cuda->cuStreamDestroy(stream));
    expect_nothing_left();
}
END_TEST

/* ---- Information and export -------------------------------------------- */

START_TEST(properties_of_nothing)
{
    cuarena_properties_t properties = {0};
    pair_t *pair = opened_pair(_i);
    expect_status(cuarena_properties(pair->mine.arena, NULL), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_properties(pair->mine.arena, &properties), CUARENA_BAD_ARGUMENT);
    cuarena_properties_init(&properties);
    expect_status(cuarena_properties(NULL, &properties), CUARENA_BAD_ARGUMENT);
    expect_u64(properties.granularity, 0);
}
END_TEST

START_TEST(export_without_descriptors)
{
    cuarena_export_t *exported = NULL;
    cuarena_export_piece_t piece;
    size_t count = 77;
    pair_t *pair = opened_pair(_i);
    expect_status(cuarena_export(pair->mine.arena, pair->block, NULL, &piece, 1, &count, &exported),
                  CUARENA_UNSUPPORTED);
    expect_message("fd");
    expect_u64(count, 77);
    ck_assert_ptr_null(exported);
}
END_TEST

#define COUNT(array) ((int)COUNT_OF(array))

static void add_options(Suite *suite)
{
    TCase *tcase = new_case(suite, "options");
    bool on_standin = driver_is_standin_for("options that a driver lacks something for");
    for (int i = 0; i < COUNT(bad_options); i++)
        if (bad_options[i].lack == NULL || on_standin)
            tcase_add_loop_test(tcase, each_bad_option, i, i + 1);
    tcase_add_loop_test(tcase, each_bad_member, 0, COUNT(bad_members));
    tcase_add_test(tcase, context_without_a_use);
    if (driver_has_two_devices_for("context_of_another_device"))
        tcase_add_test(tcase, context_of_another_device);
}

static void add_per_kind(Suite *suite)
{
    const TTest *const *test = TEST_LIST(
        pointer_of_another_arena, pointer_into_a_block, pointer_of_the_host, pointer_freed_before,
        block_of_another_arena, sizes_that_cannot_be, requests_that_cannot_be,
        adopting_bytes_of_the_arena, destroy_with_blocks, destroyed_arena,
        destroy_while_work_is_queued, properties_of_nothing, export_without_descriptors);
    TCase *tcase = new_case(suite, "calls");
    for (; *test != NULL; test++)
        tcase_add_loop_test(tcase, *test, 0, CUDA_KIND_COUNT);
}

int main(void)
{
    driver_kind_t kind = driver_kind();
    Suite *suite = suite_create("bad input, CUDA");
    cuda_kinds_ready();
    if (kind == DRIVER_NONE)
        return driver_result(kind, EXIT_SUCCESS);
    add_options(suite);
    add_per_kind(suite);
    return driver_result(kind, suite_main(suite));
}
