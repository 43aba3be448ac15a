/* See arena_memory.h. */
#define _GNU_SOURCE

#include "arena_memory.h"
#include "checks.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static const char *const op_names[OP_COUNT] = {"available", "total", "get",  "give_back", "grow",
                                               "shrink",    "punch", "fill", "relocate",  "zero",
                                               "set",       "read",  "end"};

/* Addresses that it sets aside for one segment: tools that watch memory have little to spare. */
#define RESERVE_MOST GIB(1)
#define FRESH_BYTE 0xa5
#define PAGE_UNBACKED 0
#define PAGE_BACKED 1

static void fault(test_memory_t *memory, const char *text)
{
    memory->faults++;
    if (memory->fault == NULL)
        memory->fault = text;
}

static void record_call(test_memory_t *memory, memory_call_t call)
{
    memory->counts[call.op]++;
    if (memory->call_count < MEMORY_CALLS_MAX)
        memory->calls[memory->call_count] = call;
    memory->call_count++;
}

static int may_fail(memory_op_t op)
{
    return op == OP_AVAILABLE || op == OP_TOTAL || op == OP_GET || op == OP_GROW || op == OP_FILL ||
           op == OP_RELOCATE || op == OP_ZERO || op == OP_SET || op == OP_READ;
}

static int fails_now(test_memory_t *memory, memory_op_t op)
{
    if (memory->fail_in == 0 || !may_fail(op))
        return 0;
    if (memory->fail_op >= 0 && memory->fail_op != (int32_t)op)
        return 0;
    if (--memory->fail_in != 0)
        return 0;
    if (memory->fail_again > 0) {
        memory->fail_again--;
        memory->fail_in = 1;
    }
    return 1;
}

/* Enters a function of the table; the lock is held from here to leave(). */
static cuarena_status_t enter(test_memory_t *memory, memory_call_t call)
{
    pthread_mutex_lock(&memory->lock);
    call.status = fails_now(memory, call.op) ? memory->fail_with : CUARENA_OK;
    record_call(memory, call);
    return call.status;
}

static cuarena_status_t leave(test_memory_t *memory, cuarena_status_t status)
{
    pthread_mutex_unlock(&memory->lock);
    return status;
}

static void call_hook(test_memory_t *memory, memory_op_t op)
{
    if (memory->hook != NULL)
        memory->hook(memory, op, NULL, 0);
}

/* Which pages of a segment have bytes behind them, one byte each. It lies
 * past the reserved addresses and a page that nobody may touch. */
#define GUARD_BYTES UINT64_C(4096)
static uint8_t *page_map(const memory_record_t *record)
{
    return (uint8_t *)(uintptr_t)(record->address + record->address_bytes + GUARD_BYTES);
}

static uint64_t map_bytes(const test_memory_t *memory, uint64_t reserved)
{
    uint64_t page_multiple = reserved / memory->ops.granularity;
    return (page_multiple + 4095) & ~UINT64_C(4095);
}

static uint64_t count_backed(const test_memory_t *memory, const memory_record_t *record,
                             uint64_t offset, uint64_t bytes)
{
    uint64_t granularity = memory->ops.granularity, backed = 0;
    for (uint64_t at = offset; at < offset + bytes; at += granularity)
        backed += page_map(record)[at / granularity];
    return backed * granularity;
}

static void protect(const memory_record_t *record, uint64_t offset, uint64_t bytes, int access)
{
    if (bytes != 0)
        mprotect((void *)(uintptr_t)(record->address + offset), bytes, access);
}

static void set_page_sizes(test_memory_t *memory, memory_record_t *record, uint64_t offset,
                           uint64_t bytes, uint8_t value)
{
    uint64_t granularity = memory->ops.granularity;
    if (bytes != 0)
        memset(page_map(record) + offset / granularity, value, bytes / granularity);
}

static void back(test_memory_t *memory, memory_record_t *record, uint64_t offset, uint64_t bytes)
{
    protect(record, offset, bytes, PROT_READ | PROT_WRITE);
    set_page_sizes(memory, record, offset, bytes, PAGE_BACKED);
    memory->reserved_bytes += bytes;
    if (!memory->quiet && bytes != 0)
        memset((void *)(uintptr_t)(record->address + offset), FRESH_BYTE, bytes);
}

static void check_zeros(test_memory_t *memory, const memory_record_t *record, uint64_t offset,
                        uint64_t bytes)
{
    uint64_t granularity = memory->ops.granularity;
    const unsigned char *base = (unsigned char *)(uintptr_t)record->address;
    for (uint64_t at = offset; memory->wants_zeros && at < offset + bytes; at++)
        if (page_map(record)[at / granularity] == PAGE_UNBACKED)
            at += granularity - 1 - at % granularity;
        else if (base[at] != 0) {
            fault(memory, "bytes went back that were not set to 0");
            return;
        }
}

static void unback(test_memory_t *memory, memory_record_t *record, uint64_t offset, uint64_t bytes)
{
    check_zeros(memory, record, offset, bytes);
    memory->reserved_bytes -= count_backed(memory, record, offset, bytes);
    set_page_sizes(memory, record, offset, bytes, PAGE_UNBACKED);
    protect(record, offset, bytes, PROT_NONE);
}

static void check_granularity(test_memory_t *memory, uint64_t a, uint64_t b)
{
    if ((a | b) % memory->ops.granularity != 0)
        fault(memory, "a size or offset is no multiple of the granularity");
}

static cuarena_status_t check_budget(const test_memory_t *memory, uint64_t more)
{
    return more > memory->budget_bytes - memory->reserved_bytes ? CUARENA_OUT_OF_MEMORY
                                                                : CUARENA_OK;
}

/* The record of a segment that the arena hands back, or NULL with a fault. */
static memory_record_t *record_of(test_memory_t *memory, const cuarena_memory_segment_t *segment)
{
    memory_record_t *record = segment->cookie;
    if (record < memory->segments || record >= memory->segments + MEMORY_SEGMENTS_MAX ||
        record->address != segment->address || record->address == 0) {
        fault(memory, "a segment that was not given");
        return NULL;
    }
    if (record->bytes != segment->bytes || record->address_bytes != segment->address_bytes)
        fault(memory, "a segment of another length than was given");
    return record;
}

static memory_record_t *free_record(test_memory_t *memory)
{
    for (size_t i = 0; i < MEMORY_SEGMENTS_MAX; i++)
        if (memory->segments[i].address == 0)
            return &memory->segments[i];
    return NULL;
}

/* Maps `bytes` at a multiple of `alignment`; 0 if it cannot. */
static uint64_t map_aligned(uint64_t bytes, uint64_t alignment)
{
    uint64_t all = bytes + alignment;
    char *raw = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED)
        return 0;
    uint64_t head = (alignment - (uint64_t)(uintptr_t)raw % alignment) % alignment;
    if (head != 0)
        munmap(raw, head);
    munmap(raw + head + bytes, alignment - head);
    return (uint64_t)(uintptr_t)(raw + head);
}

static cuarena_status_t memory_available(void *user, uint64_t *bytes_out)
{
    test_memory_t *memory = user;
    call_hook(memory, OP_AVAILABLE);
    cuarena_status_t status = enter(memory, (memory_call_t){.op = OP_AVAILABLE});
    if (status == CUARENA_OK)
        *bytes_out = memory->available_bytes;
    return leave(memory, status);
}

static cuarena_status_t memory_total(void *user, uint64_t *bytes_out)
{
    test_memory_t *memory = user;
    call_hook(memory, OP_TOTAL);
    cuarena_status_t status = enter(memory, (memory_call_t){.op = OP_TOTAL});
    if (status == CUARENA_OK)
        *bytes_out = memory->total_bytes;
    return leave(memory, status);
}

static cuarena_status_t map_segment(test_memory_t *memory, uint64_t bytes, uint64_t reserve,
                                    memory_record_t *record)
{
    uint64_t map = map_bytes(memory, reserve);
    uint64_t address = map_aligned(reserve + GUARD_BYTES + map, memory->ops.alignment);
    if (address == 0)
        return CUARENA_OUT_OF_MEMORY;
    *record = (memory_record_t){address, bytes, reserve, 0};
    mprotect(page_map(record), map, PROT_READ | PROT_WRITE);
    back(memory, record, 0, bytes);
    return CUARENA_OK;
}

static cuarena_status_t get_segment(test_memory_t *memory, uint64_t bytes, uint64_t reserve,
                                    cuarena_memory_segment_t *segment_out)
{
    check_granularity(memory, bytes, reserve);
    if (bytes == 0 || reserve < bytes)
        fault(memory, "get of no bytes, or more bytes than addresses");
    if (memory->ops.grow == NULL || memory->reserves_none || reserve < bytes)
        reserve = bytes;
    else if (reserve > RESERVE_MOST)
        reserve = bytes > RESERVE_MOST ? bytes : RESERVE_MOST;
    memory_record_t *record = free_record(memory);
    if (record == NULL || check_budget(memory, bytes) != CUARENA_OK)
        return CUARENA_OUT_OF_MEMORY;
    cuarena_status_t status = map_segment(memory, bytes, reserve, record);
    if (status == CUARENA_OK)
        *segment_out = (cuarena_memory_segment_t){record->address, bytes, reserve, record};
    return status;
}

static cuarena_status_t memory_get(void *user, uint64_t bytes, uint64_t reserve,
                                   cuarena_memory_segment_t *segment_out)
{
    test_memory_t *memory = user;
    call_hook(memory, OP_GET);
    cuarena_status_t status = enter(memory, (memory_call_t){.op = OP_GET, .bytes = bytes});
    if (status == CUARENA_OK)
        status = get_segment(memory, bytes, reserve, segment_out);
    return leave(memory, status);
}

static void memory_give_back(void *user, cuarena_memory_segment_t *segment)
{
    test_memory_t *memory = user;
    call_hook(memory, OP_GIVE_BACK);
    enter(memory, (memory_call_t){
                      .op = OP_GIVE_BACK, .address = segment->address, .bytes = segment->bytes});
    memory_record_t *record = record_of(memory, segment);
    if (record != NULL) {
        unback(memory, record, 0, record->bytes);
        munmap((void *)(uintptr_t)record->address,
               record->address_bytes + GUARD_BYTES + map_bytes(memory, record->address_bytes));
        *record = (memory_record_t){0};
    }
    leave(memory, CUARENA_OK);
}

/* Counts who is inside for one segment: the contract says one at most. */
static void occupy(test_memory_t *memory, const cuarena_memory_segment_t *segment, int32_t by)
{
    pthread_mutex_lock(&memory->lock);
    memory_record_t *record = record_of(memory, segment);
    if (record != NULL) {
        record->busy += by;
        if (record->busy > 1)
            fault(memory, "two calls at once for one segment");
    }
    pthread_mutex_unlock(&memory->lock);
}

static cuarena_status_t grow_segment(test_memory_t *memory, cuarena_memory_segment_t *segment,
                                     uint64_t new_bytes)
{
    memory_record_t *record = record_of(memory, segment);
    check_granularity(memory, new_bytes, 0);
    if (record == NULL || new_bytes <= record->bytes || new_bytes > record->address_bytes) {
        fault(memory, "grow out of the reserved addresses");
        return CUARENA_DRIVER;
    }
    uint64_t more = new_bytes - record->bytes;
    if (check_budget(memory, more) != CUARENA_OK)
        return CUARENA_OUT_OF_MEMORY;
    back(memory, record, record->bytes, more);
    record->bytes = segment->bytes = new_bytes;
    return CUARENA_OK;
}

static cuarena_status_t memory_grow(void *user, cuarena_memory_segment_t *segment,
                                    uint64_t new_bytes)
{
    test_memory_t *memory = user;
    occupy(memory, segment, 1);
    call_hook(memory, OP_GROW);
    cuarena_status_t status = enter(
        memory, (memory_call_t){.op = OP_GROW, .address = segment->address, .bytes = new_bytes});
    if (status == CUARENA_OK)
        status = grow_segment(memory, segment, new_bytes);
    leave(memory, status);
    occupy(memory, segment, -1);
    return status;
}

static void memory_shrink(void *user, cuarena_memory_segment_t *segment, uint64_t new_bytes)
{
    test_memory_t *memory = user;
    occupy(memory, segment, 1);
    call_hook(memory, OP_SHRINK);
    enter(memory,
          (memory_call_t){.op = OP_SHRINK, .address = segment->address, .bytes = new_bytes});
    memory_record_t *record = record_of(memory, segment);
    check_granularity(memory, new_bytes, 0);
    if (new_bytes == 0)
        fault(memory, "a segment that shrinks to nothing");
    if (record != NULL && new_bytes < record->bytes) {
        unback(memory, record, new_bytes, record->bytes - new_bytes);
        record->bytes = segment->bytes = new_bytes;
    } else {
        fault(memory, "shrink to more than there is");
    }
    leave(memory, CUARENA_OK);
    occupy(memory, segment, -1);
}

/* A stretch whose backing changes is inside and all of one kind before. */
static void check_stretch(test_memory_t *memory, const memory_record_t *record, uint64_t offset,
                          uint64_t bytes, int backed)
{
    check_granularity(memory, offset, bytes);
    if (record == NULL || offset + bytes > record->bytes || bytes == 0) {
        fault(memory, "a stretch outside of its segment");
        return;
    }
    if (count_backed(memory, record, offset, bytes) != (backed ? bytes : 0))
        fault(memory, "punch of a hole, or fill of what is no hole");
}

static void memory_punch(void *user, cuarena_memory_segment_t *segment, uint64_t offset,
                         uint64_t bytes)
{
    test_memory_t *memory = user;
    occupy(memory, segment, 1);
    call_hook(memory, OP_PUNCH);
    enter(memory, (memory_call_t){OP_PUNCH, segment->address, offset, bytes, CUARENA_OK});
    memory_record_t *record = record_of(memory, segment);
    check_stretch(memory, record, offset, bytes, 1);
    if (record != NULL)
        unback(memory, record, offset, bytes);
    leave(memory, CUARENA_OK);
    occupy(memory, segment, -1);
}

static cuarena_status_t fill_segment(test_memory_t *memory, cuarena_memory_segment_t *segment,
                                     uint64_t offset, uint64_t bytes)
{
    memory_record_t *record = record_of(memory, segment);
    check_stretch(memory, record, offset, bytes, 0);
    if (record == NULL || check_budget(memory, bytes) != CUARENA_OK)
        return CUARENA_OUT_OF_MEMORY;
    back(memory, record, offset, bytes);
    return CUARENA_OK;
}

static cuarena_status_t memory_fill(void *user, cuarena_memory_segment_t *segment, uint64_t offset,
                                    uint64_t bytes)
{
    test_memory_t *memory = user;
    occupy(memory, segment, 1);
    call_hook(memory, OP_FILL);
    cuarena_status_t status =
        enter(memory, (memory_call_t){OP_FILL, segment->address, offset, bytes, CUARENA_OK});
    if (status == CUARENA_OK)
        status = fill_segment(memory, segment, offset, bytes);
    leave(memory, status);
    occupy(memory, segment, -1);
    return status;
}

static memory_call_t call_of_list(const cuarena_relocation_t *list, size_t count)
{
    memory_call_t call = {.op = OP_RELOCATE, .offset = count};
    if (count > 0)
        call.address = (uint64_t)(uintptr_t)list[0].from;
    for (size_t i = 0; i < count; i++)
        call.bytes += list[i].bytes;
    return call;
}

static cuarena_status_t memory_relocate(void *user, const cuarena_relocation_t *list, size_t count,
                                        cuarena_stream_t stream, size_t *done_out)
{
    test_memory_t *memory = user;
    if (memory->hook != NULL)
        memory->hook(memory, OP_RELOCATE, list, count);
    cuarena_status_t status = enter(memory, call_of_list(list, count));
    if (stream != CUARENA_NO_STREAM)
        fault(memory, "a stream for a memory that has no events");
    leave(memory, status);
    size_t done = status == CUARENA_OK        ? count
                  : memory->fail_done < count ? memory->fail_done
                                              : count;
    for (size_t i = 0; i < done; i++)
        memmove(list[i].to, list[i].from, list[i].bytes);
    *done_out = done;
    return status;
}

static cuarena_status_t memory_zero(void *user, void *address, uint64_t bytes,
                                    cuarena_stream_t stream)
{
    test_memory_t *memory = user;
    (void)stream;
    call_hook(memory, OP_ZERO);
    cuarena_status_t status =
        enter(memory, (memory_call_t){OP_ZERO, (uint64_t)(uintptr_t)address, 0, bytes, 0});
    leave(memory, status);
    if (status == CUARENA_OK)
        memset(address, 0, bytes);
    return status;
}

static cuarena_status_t memory_set(void *user, void *address, int32_t value, uint64_t bytes,
                                   cuarena_stream_t stream)
{
    test_memory_t *memory = user;
    (void)stream;
    call_hook(memory, OP_SET);
    cuarena_status_t status =
        enter(memory, (memory_call_t){OP_SET, (uint64_t)(uintptr_t)address, 0, bytes, 0});
    leave(memory, status);
    if (status == CUARENA_OK)
        memset(address, value, bytes);
    return status;
}

static cuarena_status_t memory_read(void *user, void *to, const void *address, uint64_t bytes)
{
    test_memory_t *memory = user;
    call_hook(memory, OP_READ);
    cuarena_status_t status =
        enter(memory, (memory_call_t){OP_READ, (uint64_t)(uintptr_t)address, 0, bytes, 0});
    leave(memory, status);
    if (status == CUARENA_OK)
        memcpy(to, address, bytes);
    return status;
}

static void memory_end(void *user)
{
    test_memory_t *memory = user;
    enter(memory, (memory_call_t){.op = OP_END});
    if (test_memory_segments(memory) != 0)
        fault(memory, "end before the last segment came back");
    leave(memory, CUARENA_OK);
}

void test_memory_init(test_memory_t *memory)
{
    memset(memory, 0, sizeof *memory);
    pthread_mutex_init(&memory->lock, NULL);
    memory->available_bytes = GIB(1);
    memory->total_bytes = GIB(1);
    memory->budget_bytes = UINT64_MAX;
    memory->fail_op = -1;
    memory->fail_with = CUARENA_DRIVER;
    cuarena_memory_ops_t *ops = &memory->ops;
    cuarena_memory_ops_init(ops);
    ops->name = "test";
    ops->properties = CUARENA_MEMORY_HOST_READABLE | CUARENA_MEMORY_TOUCHES;
    ops->alignment = 4096;
    ops->available = memory_available;
    ops->total = memory_total;
    ops->get = memory_get;
    ops->give_back = memory_give_back;
    ops->grow = memory_grow;
    ops->shrink = memory_shrink;
    ops->punch = memory_punch;
    ops->fill = memory_fill;
    ops->relocate = memory_relocate;
    ops->zero_bytes = memory_zero;
    ops->set_bytes = memory_set;
    ops->read_bytes = memory_read;
    ops->end = memory_end;
}

void test_memory_make_plain(test_memory_t *memory)
{
    memory->ops.grow = NULL;
    memory->ops.shrink = NULL;
    memory->ops.punch = NULL;
    memory->ops.fill = NULL;
    memory->ops.relocate = NULL;
    memory->ops.zero_bytes = NULL;
    memory->ops.set_bytes = NULL;
    memory->ops.read_bytes = NULL;
}

size_t test_memory_segments(const test_memory_t *memory)
{
    size_t count = 0;
    for (size_t i = 0; i < MEMORY_SEGMENTS_MAX; i++)
        count += memory->segments[i].address != 0;
    return count;
}

void test_memory_forget_calls(test_memory_t *memory)
{
    memory->call_count = 0;
    memset(memory->counts, 0, sizeof memory->counts);
}

const char *test_memory_sequence(const test_memory_t *memory)
{
    static char text[1024];
    size_t used = 0, kept = memory->call_count;
    if (kept > MEMORY_CALLS_MAX)
        kept = MEMORY_CALLS_MAX;
    text[0] = '\0';
    for (size_t i = 0; i < kept && used < sizeof text - 16; i++) {
        if (memory->calls[i].op <= OP_TOTAL)
            continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", used == 0 ? "" : " ",
                                 op_names[memory->calls[i].op]);
    }
    return text;
}

void expect_memory_clean(test_memory_t *memory)
{
    ck_assert_msg(memory->faults == 0, "memory: %s (%llu faults)", memory->fault,
                  (unsigned long long)memory->faults);
    ck_assert_uint_eq(test_memory_segments(memory), 0);
    ck_assert_uint_eq(memory->reserved_bytes, 0);
    ck_assert_uint_le(memory->counts[OP_END], 1);
}
