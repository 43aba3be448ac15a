/*
 * Opening the driver: why there may be none, that nothing opens it unasked, forks and the end of
 * the process. Each test runs in a process of its own.
 *
 * Most of it needs the stand-in, whose environment says what driver it is.
 */
#include "support/base_support.h"
#include "support/configs.h"
#include "support/cuda_test.h"
#include "support/expect.h"

#include <cuarena.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define VARIABLE "CUARENA_CUDA_LIBRARY"

static void set(const char *name, const char *value)
{
    ck_assert_int_eq(setenv(name, value, 1), 0);
}

static cuarena_status_t open_driver(void)
{
    cuarena_driver_info_t info;
    cuarena_driver_info_init(&info);
    return cuarena_driver_info(&info);
}

/* There is no driver, and the message has these words. */
#define expect_no_device(...)                                                                      \
    do {                                                                                           \
        expect_status(open_driver(), CUARENA_NO_DEVICE);                                           \
        expect_message("no device", __VA_ARGS__);                                                  \
        expect_status(last_error().status, CUARENA_NO_DEVICE);                                     \
    } while (0)

/* Runs `body` in a fork; the status that it exits with. */
static int status_of_child(int (*body)(void))
{
    int status = 0;
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0)
        exit(body());
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status), "the child ended by signal %d",
                  WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    return WEXITSTATUS(status);
}

/* ---- No driver --------------------------------------------------------- */

START_TEST(file_that_is_not_there)
{
    set(VARIABLE, "/nowhere/libcuda.so.1");
    expect_no_device("/nowhere/libcuda.so.1");
}
END_TEST

START_TEST(file_that_is_no_library)
{
    file_tree_t tree;
    char path[128];
    file_tree_open(&tree);
    file_tree_write(&tree, "/libcuda.so.1", "not a library\n");
    (void)snprintf(path, sizeof(path), "%s/libcuda.so.1", tree.root);
    set(VARIABLE, path);
    expect_no_device(path);
    file_tree_close(&tree);
}
END_TEST

START_TEST(library_that_is_no_driver)
{
    set(VARIABLE, "libc.so.6");
    expect_no_device("libc.so.6", "cuDriverGetVersion");
}
END_TEST

START_TEST(no_driver_is_found_again)
{
    set(VARIABLE, "/nowhere/libcuda.so.1");
    expect_no_device("/nowhere/libcuda.so.1");
    ck_assert_int_eq(unsetenv(VARIABLE), 0);
    expect_no_device("/nowhere/libcuda.so.1");
}
END_TEST

START_TEST(calls_without_a_driver_say_why)
{
    cuarena_driver_info_t driver;
    cuarena_device_info_t device;
    cuarena_driver_info_init(&driver);
    cuarena_device_info_init(&device);
    set(VARIABLE, "/nowhere/libcuda.so.1");
    expect_status(cuarena_driver_info(&driver), CUARENA_NO_DEVICE);
    expect_message("/nowhere");
    expect_status(cuarena_device_info(0, &device), CUARENA_NO_DEVICE);
    expect_message("/nowhere");
    expect_u64((uint64_t)driver.version, 0);
    expect_u64(device.total_bytes, 0);
}
END_TEST

static const char *const device_memories[] = {"device", "managed", "pinned"};

START_TEST(arenas_without_a_driver_say_why)
{
    cuarena_config_t config;
    cuarena_t *arena = NULL;
    set(VARIABLE, "/nowhere/libcuda.so.1");
    cuarena_config_init(&config);
    expect_ok(cuarena_config_set(&config, "memory", device_memories[_i]));
    expect_status(cuarena_create(&config, &arena), CUARENA_NO_DEVICE);
    expect_message("/nowhere");
    ck_assert_ptr_null(arena);
}
END_TEST

static void use_host_arena(void)
{
    cuarena_config_t config;
    cuarena_t *arena = NULL;
    void *pointer = NULL;
    cuarena_config_init(&config);
    expect_ok(cuarena_config_parse(&config, "pool=16MiB,zero=alloc"));
    expect_ok(cuarena_create(&config, &arena));
    expect_ok(cuarena_alloc(arena, 4096, &pointer));
    expect_ok(cuarena_resize(arena, pointer, 8192, &pointer));
    expect_ok(cuarena_free(arena, pointer));
    expect_ok(cuarena_trim(arena, 0, NULL));
    expect_ok(cuarena_destroy(&arena));
}

START_TEST(stream_without_a_driver)
{
    void *pointer = UNTOUCHED;
    set(VARIABLE, "/nowhere/libcuda.so.1");
    cuarena_t *arena = arena_of("pool=1MiB");
    expect_status(cuarena_alloc_on(arena, 256, NULL, NULL, &pointer), CUARENA_NO_DEVICE);
    expect_message("/nowhere");
    ck_assert_ptr_eq(pointer, UNTOUCHED);
    expect_ok(cuarena_destroy(&arena));
    use_host_arena();
}
END_TEST

/* ---- Drivers that will not do ------------------------------------------ */

static const struct {
    const char *version;
    const char *words;
} old_drivers[] = {{"11080", "CUDA 11.8"}, {"11020", "CUDA 11.2"}, {"4000", "CUDA 4.0"}};

START_TEST(old_driver)
{
    set("CUARENA_STANDIN_VERSION", old_drivers[_i].version);
    expect_no_device(old_drivers[_i].words, "12.0 and later are accepted");
}
END_TEST

#define NAME_OF(name, since, parameters) #name,

static const char *const required[] = {CUAI_CUDA_REQUIRED(NAME_OF)};
static const char *const optional[] = {CUAI_CUDA_OPTIONAL(NAME_OF) CUAI_CUDA_OPTIONAL_12040(NAME_OF)
                                           CUAI_CUDA_OPTIONAL_12080(NAME_OF)};

#define COUNT(array) ((int)COUNT_OF(array))

/* Not cuDriverGetVersion, which is found by its name before. */
START_TEST(required_call_is_missing)
{
    set("CUARENA_STANDIN_LACK", required[_i]);
    expect_no_device(required[_i], "CUDA 13.0");
}
END_TEST

START_TEST(optional_call_is_missing)
{
    set("CUARENA_STANDIN_LACK", optional[_i]);
    expect_ok(open_driver());
}
END_TEST

START_TEST(start_fails)
{
    set("CUARENA_STANDIN_FAIL", "cuInit:1:803");
    expect_no_device("cuInit", "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH");
}
END_TEST

START_TEST(count_fails)
{
    set("CUARENA_STANDIN_FAIL", "cuDeviceGetCount:1:999");
    expect_no_device("cuDeviceGetCount", "CUDA_ERROR_UNKNOWN");
}
END_TEST

START_TEST(version_fails)
{
    set("CUARENA_STANDIN_FAIL", "cuDriverGetVersion:1:999");
    expect_no_device("cuDriverGetVersion", "CUDA_ERROR_UNKNOWN");
}
END_TEST

/* It has neither a name nor a text. */
START_TEST(start_fails_with_a_code_that_nobody_knows)
{
    set("CUARENA_STANDIN_FAIL", "cuInit:1:77777");
    expect_no_device("cuInit", "an unknown error", "no text");
}
END_TEST

/* By the driver, or else by nobody. */
START_TEST(codes_that_the_library_does_not_know_are_named)
{
    cuarena_t *arena = NULL;
    standin = driver_standin();
    expect_ok(open_driver());
    standin->standin_fail("cuMemAlloc", 1, 77777, 0);
    expect_status(cuarena_open("memory=device,backing=malloc,pool=1MiB", &arena), CUARENA_DRIVER);
    expect_message("cuMemAlloc", "an unknown error", "no text");
    ck_assert_int_eq(last_error().driver_code, 77777);
}
END_TEST

START_TEST(empty_name_of_a_file_is_no_name)
{
    set(VARIABLE, "");
    cuarena_driver_info_t info;
    cuarena_driver_info_init(&info);
    cuarena_status_t status = cuarena_driver_info(&info);
    if (status == CUARENA_OK)
        expect_text(info.library, "libcuda.so.1");
    else
        expect_message("libcuda.so.1");
}
END_TEST

START_TEST(driver_without_a_device)
{
    set("CUARENA_STANDIN_DEVICES", "0");
    expect_no_device("CUDA_ERROR_NO_DEVICE");
}
END_TEST

/* ---- A driver ---------------------------------------------------------- */

START_TEST(driver_is_described)
{
    cuarena_driver_info_t info;
    cuarena_driver_info_init(&info);
    set("CUARENA_STANDIN_VERSION", "12040");
    set("CUARENA_STANDIN_DEVICES", "2");
    expect_ok(cuarena_driver_info(&info));
    ck_assert_int_eq(info.version, 12040);
    ck_assert_int_eq(info.device_count, 2);
    ck_assert_ptr_nonnull(strstr(info.library, "libcuda.so.1"));
}
END_TEST

START_TEST(devices_are_described)
{
    for (int i = 0; i < cuda_test()->device_count; i++) {
        cuarena_device_info_t info;
        cuarena_device_info_init(&info);
        expect_ok(cuarena_device_info(i, &info));
        ck_assert_str_ne(info.name, "");
        ck_assert_int_ge(info.compute_major, 3);
        ck_assert_int_ge(info.multiprocessors, 1);
        expect_between(info.total_bytes, UINT64_C(1) << 20, UINT64_C(1) << 50);
        expect_between(info.free_bytes, 0, info.total_bytes);
    }
}
END_TEST

static const struct {
    const char *lack;
    size_t offset;
} facilities[] = {
    {"vmm", offsetof(cuarena_device_info_t, vmm)},
    {"fd", offsetof(cuarena_device_info_t, fd)},
    {"pools", offsetof(cuarena_device_info_t, pools)},
    {"managed", offsetof(cuarena_device_info_t, managed)},
};

enum {
    VMM,
    FD,
    POOLS,
    MANAGED
}; /* of `facilities` */

/* All calls that each is made of. */
static const struct {
    const char *call;
    int facility;
} facility_calls[] = {
    {"cuMemAddressReserve", VMM},
    {"cuMemAddressFree", VMM},
    {"cuMemCreate", VMM},
    {"cuMemRelease", VMM},
    {"cuMemMap", VMM},
    {"cuMemUnmap", VMM},
    {"cuMemSetAccess", VMM},
    {"cuMemGetAllocationGranularity", VMM},
    {"cuMemExportToShareableHandle", FD},
    {"cuDeviceGetDefaultMemPool", POOLS},
    {"cuDeviceGetMemPool", POOLS},
    {"cuDeviceSetMemPool", POOLS},
    {"cuMemPoolSetAccess", POOLS},
    {"cuMemFreeAsync", POOLS},
    {"cuMemAllocFromPoolAsync", POOLS},
    {"cuMemPoolCreate", POOLS},
    {"cuMemPoolDestroy", POOLS},
    {"cuMemPoolSetAttribute", POOLS},
    {"cuMemPoolGetAttribute", POOLS},
    {"cuMemPoolTrimTo", POOLS},
    {"cuMemAllocManaged", MANAGED},
};

static int32_t facility(int i)
{
    int32_t flag;
    cuarena_device_info_t info;
    cuarena_device_info_init(&info);
    expect_ok(cuarena_device_info(0, &info));
    memcpy(&flag, (char *)&info + facilities[i].offset, sizeof(flag));
    return flag;
}

START_TEST(facility_is_there)
{
    ck_assert_int_eq(facility(_i), 1);
}
END_TEST

START_TEST(facility_that_the_device_lacks)
{
    set("CUARENA_STANDIN_LACK", facilities[_i].lack);
    ck_assert_int_eq(facility(_i), 0);
}
END_TEST

START_TEST(facility_that_the_driver_lacks_a_call_of)
{
    set("CUARENA_STANDIN_LACK", facility_calls[_i].call);
    ck_assert_int_eq(facility(facility_calls[_i].facility), 0);
}
END_TEST

/* Every attribute, in turn. */
START_TEST(attribute_that_the_driver_does_not_know_is_0)
{
    cuarena_device_info_t info;
    standin = driver_standin();
    expect_ok(open_driver());
    standin->standin_fail("cuDeviceGetAttribute", 1, CUAI_CUDA_ERROR_INVALID_VALUE, 1);
    cuarena_device_info_init(&info);
    expect_ok(cuarena_device_info(0, &info));
    ck_assert_int_eq(info.vmm | info.fd | info.pools | info.managed, 0);
    ck_assert_int_eq(info.compute_major | info.multiprocessors, 0);
    ck_assert_str_ne(info.name, "");
    expect_u64(standin->standin_report_count(0), 0);
}
END_TEST

static const struct {
    int ordinal;
    const char *words;
} wrong_ordinals[] = {{-1, "device: -1"}, {2, "device: 2"}, {INT32_MAX, "device: 2147483647"}};

START_TEST(wrong_ordinal)
{
    cuarena_device_info_t info;
    cuarena_device_info_init(&info);
    set("CUARENA_STANDIN_DEVICES", "2");
    expect_status(cuarena_device_info(wrong_ordinals[_i].ordinal, &info), CUARENA_BAD_ARGUMENT);
    expect_message(wrong_ordinals[_i].words, "0 to 1 are accepted");
}
END_TEST

START_TEST(info_of_no_size)
{
    cuarena_driver_info_t driver = {0};
    cuarena_device_info_t device = {0};
    set(VARIABLE, "/nowhere/libcuda.so.1"); /* which is not looked for */
    expect_status(cuarena_driver_info(NULL), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_driver_info(&driver), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_device_info(0, NULL), CUARENA_BAD_ARGUMENT);
    expect_status(cuarena_device_info(0, &device), CUARENA_BAD_ARGUMENT);
}
END_TEST

static void *open_it(void *argument)
{
    (void)argument;
    return (void *)(uintptr_t)(open_driver() == CUARENA_OK);
}

START_TEST(threads_open_it_once)
{
    pthread_t threads[8];
    set("CUARENA_STANDIN_DELAY", "cuInit:20000");
    for (int i = 0; i < COUNT(threads); i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, open_it, NULL), 0);
    for (int i = 0; i < COUNT(threads); i++) {
        void *opened = NULL;
        ck_assert_int_eq(pthread_join(threads[i], &opened), 0);
        ck_assert_ptr_nonnull(opened);
    }
    expect_u64(driver_standin()->standin_calls("cuInit"), 1);
}
END_TEST

/* ---- Unasked ----------------------------------------------------------- */

static bool is_mapped(const char *name)
{
    char line[512];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    ck_assert_ptr_nonnull(maps);
    while (!found && fgets(line, sizeof(line), maps) != NULL)
        found = strstr(line, name) != NULL;
    (void)fclose(maps);
    return found;
}

START_TEST(host_memory_opens_nothing)
{
    use_host_arena();
    ck_assert(!is_mapped("libcuda"));
    expect_ok(open_driver());
    ck_assert(is_mapped("libcuda"));
}
END_TEST

/* ---- Forks ------------------------------------------------------------- */

static int child_of_an_open_driver(void)
{
    cuarena_device_info_t info;
    cuarena_device_info_init(&info);
    uint64_t calls = driver_standin() != NULL ? driver_standin()->standin_calls(NULL) : 0;
    if (open_driver() != CUARENA_NO_DEVICE)
        return 1;
    if (strstr(last_error().message, "forked after CUDA was used") == NULL)
        return 2;
    if (cuarena_device_info(0, &info) != CUARENA_NO_DEVICE)
        return 3;
    use_host_arena();
    return driver_standin() != NULL && driver_standin()->standin_calls(NULL) != calls ? 4 : 0;
}

START_TEST(fork_after_opening)
{
    expect_ok(open_driver());
    ck_assert_int_eq(status_of_child(child_of_an_open_driver), 0);
    expect_ok(open_driver());
}
END_TEST

static int child_of_no_driver(void)
{
    return open_driver() == CUARENA_OK ? 0 : 1;
}

START_TEST(fork_before_opening)
{
    use_host_arena();
    ck_assert_int_eq(status_of_child(child_of_no_driver), 0);
    expect_ok(open_driver());
}
END_TEST

/* The child has a lock that nobody holds, and half a driver. */
START_TEST(fork_while_another_thread_opens)
{
    pthread_t thread;
    standin = driver_standin();
    ck_assert_int_eq(standin->standin_hold("cuInit", 1), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, open_it, NULL), 0);
    while (standin->standin_held("cuInit") == 0)
        sched_yield();
    ck_assert_int_eq(status_of_child(child_of_no_driver), 1);
    ck_assert_int_eq(standin->standin_hold("cuInit", 0), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    expect_ok(open_driver());
}
END_TEST

static const char *const fork_options[] = {
    "memory=device,backing=vmm,pool=64MiB",
    "memory=device,backing=malloc,pool=64MiB",
    "memory=device,backing=async,pool=64MiB",
    "memory=device,preset=grow",
    "memory=managed,pool=64MiB",
    "memory=pinned,pool=64MiB",
};

static cuarena_t *arena;
static cuarena_block_t blocks[4];

static bool is_ok_or_no_device(cuarena_status_t status)
{
    return status == CUARENA_OK || status == CUARENA_NO_DEVICE || status == CUARENA_LOST;
}

/* Frees and destroy succeed, whatever else; and the driver is not called, nor memory touched that
 * the child does not have. */
static int child_with_an_arena(void)
{
    cuarena_config_t config;
    cuarena_t *another = NULL;
    void *pointer = NULL;
    uint64_t calls = driver_standin() != NULL ? driver_standin()->standin_calls(NULL) : 0;
    cuarena_config_init(&config);
    config.memory = CUARENA_MEMORY_DEVICE;
    if (cuarena_block_free(arena, blocks[0]) != CUARENA_OK)
        return 1;
    if (!is_ok_or_no_device(cuarena_compact(arena, NULL, NULL, NULL, NULL)))
        return 2;
    if (!is_ok_or_no_device(cuarena_alloc(arena, 4096, &pointer)))
        return 3;
    if (cuarena_alloc(arena, UINT64_C(1) << 30, &pointer) == CUARENA_OK)
        return 4;
    if (!is_ok_or_no_device(cuarena_trim(arena, 0, NULL)))
        return 5;
    if (cuarena_create(&config, &another) != CUARENA_NO_DEVICE)
        return 6;
    if (cuarena_destroy_forced(&arena) != CUARENA_OK || arena != NULL)
        return 7;
    return driver_standin() != NULL && driver_standin()->standin_calls(NULL) != calls ? 8 : 0;
}

/* The parent's arena is none the wiser. */
START_TEST(fork_with_an_arena)
{
    cuarena_config_t config;
    cuarena_config_init(&config);
    expect_ok(cuarena_config_parse(&config, fork_options[_i]));
    expect_ok(cuarena_create(&config, &arena));
    for (int i = 0; i < 4; i++)
        expect_ok(cuarena_block_alloc(arena, 100000, &blocks[i]));
    ck_assert_int_eq(status_of_child(child_with_an_arena), 0);
    for (int i = 0; i < 4; i += 2)
        expect_ok(cuarena_block_free(arena, blocks[i]));
    expect_ok(cuarena_compact(arena, NULL, NULL, NULL, NULL));
    expect_ok(cuarena_trim(arena, 0, NULL));
    for (int i = 1; i < 4; i += 2)
        expect_ok(cuarena_block_free(arena, blocks[i]));
    expect_ok(cuarena_destroy(&arena));
}
END_TEST

/* ---- The end ----------------------------------------------------------- */

static uint64_t calls_at_exit;

/* Registered before the driver was opened, so it runs after what the library would have registered
 * with it. */
static void look_at_exit(void)
{
    if (driver_standin()->standin_calls(NULL) != calls_at_exit)
        _exit(1);
}

static int child_that_ends(void)
{
    if (atexit(look_at_exit) != 0)
        return 2;
    if (cuarena_open("memory=device,pool=2MiB", &arena) != CUARENA_OK)
        return 3;
    calls_at_exit = driver_standin()->standin_calls(NULL);
    return calls_at_exit > 0 ? 0 : 4;
}

START_TEST(exit_calls_nothing)
{
    ck_assert_int_eq(status_of_child(child_that_ends), 0);
}
END_TEST

static void add_loop(TCase *tcase, const TTest *test, int from, int count)
{
    tcase_add_loop_test(tcase, test, from, count);
}

static void add_standin_tests(Suite *suite)
{
    TCase *refused = suite_add_list(suite, "refused",
                                    TEST_LIST(start_fails, count_fails, version_fails,
                                              start_fails_with_a_code_that_nobody_knows,
                                              driver_without_a_device));
    add_loop(refused, old_driver, 0, COUNT(old_drivers));
    for (int i = 0; i < COUNT(required); i++)
        if (strcmp(required[i], "cuDriverGetVersion") != 0)
            add_loop(refused, required_call_is_missing, i, i + 1);
    TCase *accepted = suite_add_list(suite, "accepted",
                                     TEST_LIST(driver_is_described, threads_open_it_once,
                                               codes_that_the_library_does_not_know_are_named,
                                               attribute_that_the_driver_does_not_know_is_0));
    add_loop(accepted, optional_call_is_missing, 0, COUNT(optional));
    add_loop(accepted, facility_is_there, 0, COUNT(facilities));
    add_loop(accepted, facility_that_the_device_lacks, 0, COUNT(facilities));
    add_loop(accepted, facility_that_the_driver_lacks_a_call_of, 0, COUNT(facility_calls));
    add_loop(accepted, wrong_ordinal, 0, COUNT(wrong_ordinals));
    (void)suite_add_list(suite, "processes",
                         TEST_LIST(fork_while_another_thread_opens, exit_calls_nothing));
}

int main(void)
{
    driver_kind_t kind = driver_kind();
    Suite *suite = suite_create("driver");
    TCase *none = suite_add_list(suite, "none",
                                 TEST_LIST(file_that_is_not_there, file_that_is_no_library,
                                           library_that_is_no_driver, no_driver_is_found_again,
                                           calls_without_a_driver_say_why, stream_without_a_driver,
                                           info_of_no_size, empty_name_of_a_file_is_no_name));
    add_loop(none, arenas_without_a_driver_say_why, 0, COUNT(device_memories));
    if (kind != DRIVER_NONE) {
        suite_add_list(suite, "any",
                       TEST_LIST(devices_are_described, fork_after_opening, fork_before_opening));
        TCase *process = suite_add_list(suite, "process", TEST_LIST(host_memory_opens_nothing));
        tcase_set_tags(process, "process");
        add_loop(process, fork_with_an_arena, 0, COUNT(fork_options));
    }
    if (driver_is_standin_for("what a driver may lack"))
        add_standin_tests(suite);
    return driver_result(kind, suite_main(suite));
}
