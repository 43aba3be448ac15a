/*
 * The stand-in driver: programs that do nothing wrong run as on a real one and are clean, whatever
 * the seed. The faults are in check_standin_faults.c.
 */
#include "support/expect.h"
#include "support/pattern.h"
#include "support/random.h"
#include "support/standin_fixture.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- Copies and fills -------------------------------------------------- */

START_TEST(copy_there_and_back)
{
    char text[] = "there and back";
    char back[sizeof(text)] = "";
    CUdeviceptr at = new_memory(sizeof(text));
    driver_ok(driver.cuMemcpyHtoD(at, text, sizeof(text)));
    driver_ok(driver.cuMemcpyDtoH(back, at, sizeof(text)));
    expect_text(back, text);
    driver_ok(driver.cuMemFree(at));
}
END_TEST

START_TEST(copy_from_pageable_takes_the_bytes_at_once)
{
    char text[8] = "before";
    char back[8] = "";
    CUstream stream = driver_new_stream(CU_STREAM_NON_BLOCKING);
    CUdeviceptr at = new_memory(sizeof(text));
    standin->standin_configure("PACE", "0");
    driver_ok(driver.cuMemcpyHtoDAsync(at, text, sizeof(text), stream));
    strcpy(text, "after");
    driver_ok(driver.cuMemcpyDtoHAsync(back, at, sizeof(back), stream));
    expect_text(back, "before");
    driver_ok(driver.cuStreamDestroy(stream));
    driver_ok(driver.cuMemFree(at));
}
END_TEST

START_TEST(fills_write_bytes_and_words)
{
    uint32_t back[4] = {0};
    CUdeviceptr at = new_memory(sizeof(back));
    driver_ok(driver.cuMemsetD32(at, 0x01020304, 4));
    driver_ok(driver.cuMemsetD8(at + 4, 0x55, 4));
    driver_ok(driver.cuMemcpyDtoH(back, at, sizeof(back)));
    expect_u64(back[0], 0x01020304);
    expect_u64(back[1], 0x55555555);
    expect_u64(back[3], 0x01020304);
    driver_ok(driver.cuMemFree(at));
}
END_TEST

/* ---- Late work --------------------------------------------------------- */

START_TEST(work_is_late_until_waited_for)
{
    unsigned *seen;
    driver_ok(driver.cuMemHostAlloc((void **)&seen, sizeof(*seen), 0));
    *seen = 0;
    CUstream stream = driver_new_stream(CU_STREAM_NON_BLOCKING);
    standin->standin_configure("PACE", "0");
    driver_ok(driver.cuMemsetD32Async((CUdeviceptr)(uintptr_t)seen, 7, 1, stream));
    expect_u64(*seen, 0);
    expect_u64(standin->standin_pending(), 1);
    driver_ok(driver.cuStreamSynchronize(stream));
    expect_u64(*seen, 7);
    driver_ok(driver.cuMemFreeHost(seen));
    driver_ok(driver.cuStreamDestroy(stream));
}
END_TEST

START_TEST(queries_get_there)
{
    CUdeviceptr at = new_memory(64);
    CUstream stream = driver_new_stream(CU_STREAM_NON_BLOCKING);
    CUevent event = driver_new_event();
    int not_ready = 0;
    standin->standin_configure("PACE", "0");
    driver_ok(driver.cuEventQuery(event)); /* never recorded */
    for (int i = 0; i < 20; i++)
        driver_ok(driver.cuMemsetD8Async(at, 1, 64, stream));
    driver_ok(driver.cuEventRecord(event, stream));
    while (driver.cuEventQuery(event) == CUDA_ERROR_NOT_READY)
        not_ready++;
    driver_ok(driver.cuEventQuery(event));
    expect_between((uint64_t)not_ready, 2, 1000);
    driver_ok(driver.cuEventDestroy(event));
    driver_ok(driver.cuStreamDestroy(stream));
    driver_ok(driver.cuMemFree(at));
}
END_TEST

/* Host functions in two streams write down when they ran. */
typedef struct diary {
    char text[16];
    size_t length;
} diary_t;

static diary_t diary;

static void write_a(void *user)
{
    diary_t *into = user;
    into->text[into->length++] = 'a';
}

static void write_b(void *user)
{
    diary_t *into = user;
    into->text[into->length++] = 'b';
}

static const char *run_two_streams(const char *seed, bool ordered)
{
    CUstream a = driver_new_stream(CU_STREAM_NON_BLOCKING);
    CUstream b = driver_new_stream(CU_STREAM_NON_BLOCKING);
    memset(&diary, 0, sizeof(diary));
    standin->standin_configure("SEED", seed);
    for (int i = 0; i < 3; i++)
        driver_ok(driver.cuLaunchHostFunc(a, write_a, &diary));
    if (ordered)
        driver_order(a, b);
    for (int i = 0; i < 3; i++)
        driver_ok(driver.cuLaunchHostFunc(b, write_b, &diary));
    driver_ok(driver.cuCtxSynchronize());
    driver_ok(driver.cuStreamDestroy(a));
    driver_ok(driver.cuStreamDestroy(b));
    return diary.text;
}

START_TEST(order_of_streams_is_any_and_the_seed_says_which)
{
    char seen[64][8];
    size_t count = 0;
    for (int i = 0; i < 200; i++) {
        char seed[16];
        char first[16];
        size_t j = 0;
        snprintf(seed, sizeof(seed), "%d", i);
        strcpy(first, run_two_streams(seed, false));
        expect_text(run_two_streams(seed, false), first);
        while (j < count && strcmp(seen[j], first) != 0)
            j++;
        if (j == count)
            strcpy(seen[count++], first);
    }
    /* Of three of each there are 20 orders. */
    expect_u64(count, 20);
}
END_TEST

START_TEST(order_of_streams_keeps_to_waits)
{
    for (int i = 0; i < 100; i++) {
        char seed[16];
        snprintf(seed, sizeof(seed), "%d", i);
        expect_text(run_two_streams(seed, true), "aaabbb");
    }
}
END_TEST

START_TEST(legacy_stream_waits_for_blocking_streams_and_they_for_it)
{
    CUstream a = driver_new_stream(CU_STREAM_DEFAULT);
    CUstream b = driver_new_stream(CU_STREAM_DEFAULT);
    for (int i = 0; i < 100; i++) {
        char seed[16];
        snprintf(seed, sizeof(seed), "%d", i);
        standin->standin_configure("SEED", seed);
        memset(&diary, 0, sizeof(diary));
        driver_ok(driver.cuLaunchHostFunc(a, write_a, &diary));
        driver_ok(driver.cuLaunchHostFunc(NULL, write_b, &diary));
        driver_ok(driver.cuLaunchHostFunc(b, write_a, &diary));
        driver_ok(driver.cuLaunchHostFunc(CU_STREAM_LEGACY, write_b, &diary));
        driver_ok(driver.cuStreamSynchronize(NULL));
        expect_text(diary.text, "abab");
    }
    driver_ok(driver.cuStreamDestroy(a));
    driver_ok(driver.cuStreamDestroy(b));
}
END_TEST

START_TEST(per_thread_versions_take_null_for_the_threads_own_stream)
{
    __typeof__(driver.cuStreamGetId) get_id = NULL;
    CUdriverProcAddressQueryResult found;
    unsigned long long own;
    unsigned long long legacy;
    unsigned long long by_null;
    driver_ok(driver.cuGetProcAddress("cuStreamGetId", (void **)&get_id, 12000, 2, &found));
    expect_u64(found, CU_GET_PROC_ADDRESS_SUCCESS);
    driver_ok(driver.cuStreamGetId(CU_STREAM_PER_THREAD, &own));
    driver_ok(driver.cuStreamGetId(NULL, &legacy));
    driver_ok(get_id(NULL, &by_null));
    expect_u64(by_null, own);
    ck_assert(legacy != own);
}
END_TEST

/* ---- Many seeds -------------------------------------------------------- */

#define STREAMS 4
#define BLOCKS 6
#define BLOCK_BYTES 256

/* A program that orders all it does, and a model of it in order. */
typedef struct program {
    random_state_t random;
    CUstream streams[STREAMS];
    CUdeviceptr blocks[BLOCKS];
    CUevent last[BLOCKS]; /* of what touched the block last */
    unsigned char model[BLOCKS][BLOCK_BYTES];
} program_t;

static void alloc_block(program_t *p, unsigned block, CUstream stream)
{
    driver_ok(driver.cuStreamWaitEvent(stream, p->last[block], 0));
}

static void done(program_t *p, unsigned block, CUstream stream)
{
    driver_ok(driver.cuEventRecord(p->last[block], stream));
}

static void program_step(program_t *p)
{
    CUstream stream = p->streams[random_below(&p->random, STREAMS)];
    unsigned to = (unsigned)random_below(&p->random, BLOCKS);
    unsigned from = (unsigned)random_below(&p->random, BLOCKS);
    unsigned char value = (unsigned char)random_next(&p->random);
    alloc_block(p, to, stream);
    alloc_block(p, from, stream);
    if (to == from) {
        driver_ok(driver.cuMemsetD8Async(p->blocks[to], value, 100, stream));
        memset(p->model[to], value, 100);
    } else {
        driver_ok(driver.cuMemcpyDtoDAsync(p->blocks[to], p->blocks[from] + 8, 200, stream));
        memcpy(p->model[to], p->model[from] + 8, 200);
    }
    done(p, to, stream);
    done(p, from, stream);
}

static void run_program(uint64_t seed)
{
    program_t p = {.random = {seed}};
    unsigned char back[BLOCK_BYTES];
    for (int i = 0; i < STREAMS; i++)
        p.streams[i] = driver_new_stream(i % 2 != 0 ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT);
    for (int i = 0; i < BLOCKS; i++) {
        p.blocks[i] = new_memory(BLOCK_BYTES);
        p.last[i] = driver_new_event();
        driver_ok(driver.cuMemsetD8(p.blocks[i], (unsigned char)i, BLOCK_BYTES));
        done(&p, (unsigned)i, NULL);
        memset(p.model[i], i, BLOCK_BYTES);
    }
    for (int i = 0; i < 60; i++)
        program_step(&p);
    for (int i = 0; i < BLOCKS; i++) {
        driver_ok(driver.cuEventSynchronize(p.last[i]));
        driver_ok(driver.cuMemcpyDtoH(back, p.blocks[i], BLOCK_BYTES));
        ck_assert_mem_eq(back, p.model[i], BLOCK_BYTES);
        driver_ok(driver.cuMemFree(p.blocks[i]));
        driver_ok(driver.cuEventDestroy(p.last[i]));
    }
    for (int i = 0; i < STREAMS; i++)
        driver_ok(driver.cuStreamDestroy(p.streams[i]));
}

START_TEST(ordered_programs_are_clean_and_right)
{
    for (uint64_t i = 0; i < 150; i++) {
        char seed[24];
        snprintf(seed, sizeof(seed), "%llu", (unsigned long long)i);
        standin->standin_configure("SEED", seed);
        run_program(i * 977 + 1);
        expect_clean();
    }
}
END_TEST

/* ---- Threads ----------------------------------------------------------- */

static void *work_alone(void *user)
{
    unsigned char value = *(unsigned char *)user;
    unsigned char back[512];
    driver_ok(driver.cuCtxSetCurrent(context));
    CUstream stream = driver_new_stream(CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < 100; i++) {
        CUdeviceptr at = new_memory(sizeof(back));
        driver_ok(driver.cuMemsetD8Async(at, value, sizeof(back), stream));
        driver_ok(driver.cuMemcpyDtoHAsync(back, at, sizeof(back), stream));
        driver_ok(driver.cuStreamSynchronize(stream));
        ck_assert_uint_eq(back[0], value);
        ck_assert_uint_eq(back[sizeof(back) - 1], value);
        driver_ok(driver.cuMemFree(at));
    }
    driver_ok(driver.cuStreamDestroy(stream));
    return NULL;
}

START_TEST(threads_do_not_meet)
{
    pthread_t threads[4];
    unsigned char values[4] = {1, 2, 3, 4};
    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, work_alone, &values[i]), 0);
    }
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}
END_TEST

/* ---- Handles ----------------------------------------------------------- */

START_TEST(stream_in_the_place_of_a_dead_one_has_another_id)
{
    int same_handle = 0;
    for (int i = 0; i < 50; i++) {
        unsigned long long before;
        unsigned long long after;
        CUstream first = driver_new_stream(0);
        driver_ok(driver.cuStreamGetId(first, &before));
        driver_ok(driver.cuStreamDestroy(first));
        CUstream second = driver_new_stream(0);
        driver_ok(driver.cuStreamGetId(second, &after));
        ck_assert(before != after);
        same_handle += first == second;
        driver_ok(driver.cuStreamDestroy(second));
    }
    expect_between((uint64_t)same_handle, 1, 49);
}
END_TEST

START_TEST(primary_context_keeps_its_handle)
{
    CUcontext again;
    driver_ok(driver.cuDevicePrimaryCtxRetain(&again, 0));
    ck_assert(again == context);
    driver_ok(driver.cuDevicePrimaryCtxRelease(0));
}
END_TEST

START_TEST(events_tell_the_time_between_them)
{
    CUevent from;
    CUevent to;
    float milliseconds = -1;
    CUdeviceptr at = new_memory(MIB(8));
    driver_ok(driver.cuEventCreate(&from, CU_EVENT_DEFAULT));
    driver_ok(driver.cuEventCreate(&to, CU_EVENT_DEFAULT));
    expect_driver(CUDA_ERROR_INVALID_HANDLE, driver.cuEventElapsedTime(&milliseconds, from, to));
    driver_ok(driver.cuEventRecord(from, NULL));
    driver_ok(driver.cuMemsetD8Async(at, 1, MIB(8), NULL));
    driver_ok(driver.cuEventRecord(to, NULL));
    driver_ok(driver.cuEventSynchronize(to));
    driver_ok(driver.cuEventElapsedTime(&milliseconds, from, to));
    ck_assert(milliseconds > 0 && milliseconds < 10000);
    driver_ok(driver.cuEventDestroy(from));
    driver_ok(driver.cuEventDestroy(to));
    driver_ok(driver.cuMemFree(at));
}
END_TEST

/* ---- Kernels ----------------------------------------------------------- */

typedef struct kernels {
    CUmodule module;
    CUfunction fill;
    CUfunction check;
    CUfunction touch;
    CUfunction spin;
} kernels_t;

static kernels_t load_kernels(void)
{
    kernels_t k = {NULL, NULL, NULL, NULL, NULL};
    k.fill = driver_test_kernel(&k.module, "fill");
    k.check = driver_test_kernel(&k.module, "check");
    k.touch = driver_test_kernel(&k.module, "touch");
    k.spin = driver_test_kernel(&k.module, "spin");
    return k;
}

static void fill_on(const kernels_t *k, CUdeviceptr at, uint64_t bytes, uint64_t seed,
                    CUstream stream)
{
    uint64_t first = 0;
    driver_launch(k->fill, 7, 64, stream, (void *[]){&at, &bytes, &seed, &first});
}

static uint64_t bad_bytes(const kernels_t *k, CUdeviceptr at, uint64_t bytes, uint64_t seed,
                          uint64_t first)
{
    uint64_t bad = 0;
    CUdeviceptr counter = new_memory(sizeof(bad));
    driver_ok(driver.cuMemsetD8(counter, 0, sizeof(bad)));
    driver_launch(k->check, 5, 64, NULL, (void *[]){&at, &bytes, &seed, &first, &counter});
    driver_ok(driver.cuMemcpyDtoH(&bad, counter, sizeof(bad)));
    driver_ok(driver.cuMemFree(counter));
    return bad;
}

START_TEST(kernels_fill_and_check)
{
    kernels_t k = load_kernels();
    uint64_t bytes = MIB(1) + 24 + 5;
    unsigned char back[16];
    CUdeviceptr at = new_memory(bytes);
    fill_on(&k, at, bytes, 42, NULL);
    expect_u64(bad_bytes(&k, at, bytes, 42, 0), 0);
    expect_u64(bad_bytes(&k, at + 800, 4000, 42, 100), 0);
    driver_ok(driver.cuMemcpyDtoH(back, at + 3, sizeof(back)));
    for (size_t i = 0; i < sizeof(back); i++)
        expect_u64(back[i], pattern_byte(42, i + 3));
    driver_ok(driver.cuMemcpyHtoD(at + 500000, "x", 1));
    expect_u64(bad_bytes(&k, at, bytes, 42, 0), 1);
    driver_ok(driver.cuMemFree(at));
    driver_ok(driver.cuModuleUnload(k.module));
}
END_TEST

START_TEST(kernels_touch_adds_one_to_each_word)
{
    kernels_t k = load_kernels();
    uint64_t bytes = 100000;
    uint32_t back[2];
    CUdeviceptr at = new_memory(bytes);
    driver_ok(driver.cuMemsetD32(at, 9, bytes / 4));
    driver_launch(k.touch, 3, 32, NULL, (void *[]){&at, &bytes});
    driver_ok(driver.cuMemcpyDtoH(back, at + bytes - 8, 8));
    expect_u64(back[0], 10);
    expect_u64(back[1], 10);
    driver_ok(driver.cuMemFree(at));
    driver_ok(driver.cuModuleUnload(k.module));
}
END_TEST

START_TEST(kernels_spin_until_the_flag_is_set)
{
    kernels_t k = load_kernels();
    unsigned *flag;
    uint64_t cycles = 0;
    CUstream stream = driver_new_stream(CU_STREAM_NON_BLOCKING);
    driver_ok(driver.cuMemHostAlloc((void **)&flag, sizeof(*flag), 0));
    *flag = 0;
    driver_launch(k.spin, 1, 1, stream, (void *[]){&flag, &cycles});
    standin->standin_run(1000);
    expect_driver(CUDA_ERROR_NOT_READY, driver.cuStreamQuery(stream));
    *flag = 1;
    driver_ok(driver.cuStreamSynchronize(stream));
    driver_ok(driver.cuMemFreeHost(flag));
    driver_ok(driver.cuStreamDestroy(stream));
    driver_ok(driver.cuModuleUnload(k.module));
}
END_TEST

START_TEST(a_module_may_be_a_file)
{
    CUmodule module = NULL;
    CUfunction function;
    char path[] = "/tmp/standin-XXXXXX";
    const char text[] = ".version 7.0\n.target sm_70\n.visible .entry mine()\n{ ret; }\n";
    int file = mkstemp(path);
    ck_assert(file >= 0 && write(file, text, sizeof(text) - 1) == (ssize_t)sizeof(text) - 1);
    close(file);
    driver_ok(driver.cuModuleLoad(&module, path));
    unlink(path);
    driver_ok(driver.cuModuleGetFunction(&function, module, "mine"));
    driver_ok(driver.cuModuleUnload(module));
    expect_driver(CUDA_ERROR_FILE_NOT_FOUND, driver.cuModuleLoad(&module, path));
}
END_TEST

START_TEST(modules_are_read)
{
    CUmodule module = NULL;
    CUfunction function;
    const char *text = "// a comment\n.version 7.0 /* and\n one */\n.target "
                       "sm_70\n.visible .entry mine(.param .u64 a,\n.param "
                       ".align 8 .b8 b[24])\n{ ret; }\n";
    expect_driver(CUDA_ERROR_INVALID_IMAGE, driver.cuModuleLoadData(&module, "no such thing"));
    expect_driver(CUDA_ERROR_INVALID_PTX,
                  driver.cuModuleLoadData(&module, ".version 7.0\n.what\n"));
    expect_driver(CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
                  driver.cuModuleLoadData(&module, ".version 99.0\n.target sm_70\n"));
    expect_driver(CUDA_ERROR_NO_BINARY_FOR_GPU,
                  driver.cuModuleLoadData(&module, ".version 7.0\n.target sm_120\n"));
    driver_ok(driver.cuModuleLoadData(&module, text));
    expect_driver(CUDA_ERROR_NOT_FOUND, driver.cuModuleGetFunction(&function, module, "yours"));
    driver_ok(driver.cuModuleGetFunction(&function, module, "mine"));
    driver_ok(driver.cuModuleUnload(module));
}
END_TEST

/* A kernel whose workers take turns: worker i waits until i others are done, each a 4 byte
 * counter's increment; so it is right in any interleaving. */
static uint64_t turns_address;

static void *begin_turns(const standin_launch_t *launch, unsigned *workers)
{
    memcpy(&turns_address, launch->params[0], sizeof(turns_address));
    *workers = 20;
    return calloc(*workers, 1);
}

static standin_step_t step_turns(void *state, unsigned worker, standin_access_t *access)
{
    bool *done_once = state;
    if (done_once[worker])
        return STANDIN_DONE;
    uint32_t *count = access->update(access, turns_address, 4);
    if (count == NULL)
        return STANDIN_FAULT;
    if (*count != worker)
        return STANDIN_BLOCKED;
    ++*count;
    done_once[worker] = true;
    return STANDIN_PROGRESS;
}

START_TEST(registered_kernels_run_interleaved)
{
    const standin_kernel_t kernel = {"turns", begin_turns, step_turns, free};
    CUmodule module;
    CUfunction function;
    uint32_t count = 0;
    CUdeviceptr at = new_memory(4);
    driver_ok(driver.cuModuleLoadData(
        &module, ".version 7.0\n.target sm_70\n.entry turns(.param .u64 a){ret;}"));
    driver_ok(driver.cuModuleGetFunction(&function, module, "turns"));
    expect_driver(CUDA_ERROR_NOT_SUPPORTED, driver.cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0,
                                                                  NULL, (void *[]){&at}, NULL));
    expect_report(STANDIN_MISUSE);
    ck_assert_int_eq(standin->standin_register_kernel(&kernel), 0);
    for (int i = 0; i < 50; i++) {
        driver_ok(driver.cuMemsetD32(at, 0, 1));
        driver_launch(function, 1, 1, NULL, (void *[]){&at});
        driver_ok(driver.cuMemcpyDtoH(&count, at, 4));
        expect_u64(count, 20);
    }
    driver_ok(driver.cuMemFree(at));
    driver_ok(driver.cuModuleUnload(module));
}
END_TEST

/* ---- Finding entry points ---------------------------------------------- */

START_TEST(entries_are_found_by_version)
{
    CUdriverProcAddressQueryResult found;
    void *old;
    void *new;
    driver_ok(driver.cuGetProcAddress("cuStreamGetCaptureInfo", &old, 12000, 0, &found));
    driver_ok(driver.cuGetProcAddress("cuStreamGetCaptureInfo", &new, 12030, 0, &found));
    ck_assert(old != NULL && new != NULL &&old != new);
    driver_ok(driver.cuGetProcAddress("cuCtxGetId", &new, 11080, 0, &found));
    expect_u64(found, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    ck_assert_ptr_null(new);
    driver_ok(driver.cuGetProcAddress("cuNothing", &new, 12000, 0, &found));
    expect_u64(found, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    expect_driver(CUDA_ERROR_INVALID_VALUE,
                  driver.cuGetProcAddress("cuInit", &new, 99000, 0, &found));
}
END_TEST

START_TEST(every_entry_of_the_table_is_there)
{
#define IS_THERE(name, symbol) ck_assert_msg(driver.name != NULL, #symbol);
    DRIVER_CALLS(IS_THERE)
#define IS_CONTROL(name) ck_assert_msg(standin->name != NULL, #name);
    STANDIN_CALLS(IS_CONTROL)
}
END_TEST

START_TEST(addresses_are_described)
{
    CUdeviceptr at = new_memory(1000);
    CUdeviceptr base = 0;
    size_t bytes = 0;
    unsigned type = 0;
    uint64_t start = 0;
    int unknown;
    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                   CU_POINTER_ATTRIBUTE_RANGE_START_ADDR};
    driver_ok(driver.cuMemGetAddressRange(&base, &bytes, at + 10));
    expect_u64(base, at);
    expect_u64(bytes, 1000);
    driver_ok(driver.cuPointerGetAttributes(2, which, (void *[]){&type, &start}, at + 10));
    expect_u64(type, CU_MEMORYTYPE_DEVICE);
    expect_u64(start, at);
    expect_driver(CUDA_ERROR_INVALID_VALUE,
                  driver.cuPointerGetAttribute(&unknown, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                               (CUdeviceptr)(uintptr_t)&unknown));
    driver_ok(driver.cuMemFree(at));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("standin");
    TCase *tcase = suite_add_list(
        suite, "clean",
        TEST_LIST(copy_there_and_back, copy_from_pageable_takes_the_bytes_at_once,
                  fills_write_bytes_and_words, work_is_late_until_waited_for, queries_get_there,
                  order_of_streams_is_any_and_the_seed_says_which, order_of_streams_keeps_to_waits,
                  legacy_stream_waits_for_blocking_streams_and_they_for_it,
                  per_thread_versions_take_null_for_the_threads_own_stream,
                  ordered_programs_are_clean_and_right, threads_do_not_meet,
                  stream_in_the_place_of_a_dead_one_has_another_id,
                  primary_context_keeps_its_handle, events_tell_the_time_between_them,
                  kernels_fill_and_check, kernels_touch_adds_one_to_each_word,
                  kernels_spin_until_the_flag_is_set, modules_are_read, a_module_may_be_a_file,
                  registered_kernels_run_interleaved, entries_are_found_by_version,
                  every_entry_of_the_table_is_there, addresses_are_described));
    tcase_add_checked_fixture(tcase, one_device, nothing_left);
    return standin_main(suite);
}
