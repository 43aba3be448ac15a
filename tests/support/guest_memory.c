#include "guest_memory.h"

#include "expect.h"

#include <string.h>

_Alignas(65536) unsigned char guest_bytes[GUEST_SIZE];
guest_t guest;
cuarena_memory_ops_t guest_table;

static void note(void *user, const char *call)
{
    guest_t *self = user;
    strncat(self->calls, call, sizeof(self->calls) - strlen(self->calls) - 1);
    strncat(self->calls, " ", sizeof(self->calls) - strlen(self->calls) - 1);
}

static cuarena_status_t guest_available(void *user, uint64_t *bytes_out)
{
    guest_t *self = user;
    *bytes_out = GUEST_SIZE;
    return self->status;
}

static cuarena_status_t guest_get(void *user, uint64_t bytes, uint64_t address_bytes,
                                  cuarena_memory_segment_t *segment_out)
{
    guest_t *self = user;
    self->gets++;
    *segment_out = (cuarena_memory_segment_t){
        .address = (uintptr_t)guest_bytes,
        .bytes = bytes,
        .address_bytes = address_bytes,
    };
    if (self->answers)
        *segment_out = self->answer;
    return self->status;
}

static void guest_give_back(void *user, cuarena_memory_segment_t *segment)
{
    guest_t *self = user;
    (void)segment;
    self->give_backs++;
}

static cuarena_status_t guest_grow(void *user, cuarena_memory_segment_t *segment,
                                   uint64_t new_bytes)
{
    guest_t *self = user;
    (void)segment;
    (void)new_bytes;
    note(user, "grow");
    return self->status;
}

static void guest_shrink(void *user, cuarena_memory_segment_t *segment, uint64_t new_bytes)
{
    (void)segment;
    (void)new_bytes;
    note(user, "shrink");
}

static void guest_punch(void *user, cuarena_memory_segment_t *segment, uint64_t offset,
                        uint64_t bytes)
{
    (void)segment;
    (void)offset;
    (void)bytes;
    note(user, "punch");
}

static cuarena_status_t guest_fill(void *user, cuarena_memory_segment_t *segment, uint64_t offset,
                                   uint64_t bytes)
{
    guest_t *self = user;
    (void)segment;
    (void)offset;
    (void)bytes;
    note(user, "fill");
    return self->status;
}

static cuarena_status_t guest_relocate(void *user, const cuarena_relocation_t *list, size_t count,
                                       cuarena_stream_t stream, size_t *done_out)
{
    guest_t *self = user;
    (void)stream;
    note(user, "relocate");
    for (size_t i = 0; self->status == CUARENA_OK && i < count; i++)
        memmove(list[i].to, list[i].from, list[i].bytes);
    *done_out = self->status == CUARENA_OK ? 0 : count + 5;
    return self->status;
}

static cuarena_status_t guest_zero(void *user, void *address, uint64_t bytes,
                                   cuarena_stream_t stream)
{
    guest_t *self = user;
    (void)stream;
    note(user, "zero");
    memset(address, 0, bytes);
    return self->status;
}

static cuarena_status_t guest_set(void *user, void *address, int32_t value, uint64_t bytes,
                                  cuarena_stream_t stream)
{
    guest_t *self = user;
    (void)stream;
    note(user, "set");
    memset(address, value, bytes);
    return self->status;
}

static cuarena_status_t guest_read(void *user, void *to, const void *address, uint64_t bytes)
{
    guest_t *self = user;
    note(user, "read");
    memcpy(to, address, bytes);
    return self->status;
}

static cuarena_status_t guest_zero_captured(void *user, void *address, uint64_t bytes,
                                            cuarena_stream_t stream)
{
    guest_t *self = user;
    (void)address;
    (void)bytes;
    (void)stream;
    note(user, "zero_captured");
    return self->status;
}

static cuarena_status_t guest_identify(void *user, cuarena_stream_t stream,
                                       cuarena_stream_info_t *info_out)
{
    note(user, "identify");
    if (stream == CUARENA_STREAM_PER_THREAD)
        return CUARENA_BAD_ARGUMENT;
    *info_out = (cuarena_stream_info_t){.id = 7, .device = -1};
    return CUARENA_OK;
}

static cuarena_status_t guest_record_event(void *user, cuarena_stream_t stream, void **event_out)
{
    guest_t *self = user;
    (void)stream;
    note(user, "record_event");
    *event_out = user;
    return self->status;
}

static cuarena_status_t guest_query_event(void *user, void *event)
{
    guest_t *self = user;
    (void)event;
    note(user, "query_event");
    return self->status;
}

static cuarena_status_t guest_wait_event(void *user, void *event, cuarena_stream_t stream,
                                         int32_t host)
{
    guest_t *self = user;
    (void)event;
    (void)stream;
    (void)host;
    note(user, "wait_event");
    return self->status;
}

static void guest_end_event(void *user, void *event)
{
    (void)event;
    note(user, "end_event");
}

static void guest_end(void *user)
{
    guest_t *self = user;
    self->ends++;
}

void guest_reset(void)
{
    guest = (guest_t){0};
    cuarena_memory_ops_t *ops = &guest_table;
    cuarena_memory_ops_init(ops);
    ops->name = "guest";
    ops->properties = CUARENA_MEMORY_HOST_READABLE | CUARENA_MEMORY_TOUCHES;
    ops->available = guest_available;
    ops->total = guest_available;
    ops->get = guest_get;
    ops->give_back = guest_give_back;
    ops->grow = guest_grow;
    ops->shrink = guest_shrink;
    ops->punch = guest_punch;
    ops->fill = guest_fill;
    ops->relocate = guest_relocate;
    ops->zero_bytes = guest_zero;
    ops->zero_captured = guest_zero_captured;
    ops->set_bytes = guest_set;
    ops->read_bytes = guest_read;
    ops->identify = guest_identify;
    ops->record_event = guest_record_event;
    ops->query_event = guest_query_event;
    ops->wait_event = guest_wait_event;
    ops->end_event = guest_end_event;
    ops->end = guest_end;
}

void guest_add_list(Suite *suite, const char *name, const TTest *const *tests)
{
    TCase *tcase = suite_add_list(suite, name, tests);
    tcase_add_checked_fixture(tcase, guest_reset, NULL);
}

void guest_add_rows(Suite *suite, const char *name, const TTest *test, size_t rows)
{
    TCase *tcase = suite_add_case(suite, name);
    tcase_add_checked_fixture(tcase, guest_reset, NULL);
    tcase_add_loop_test(tcase, test, 0, (int)rows);
}

/* ---- Opening ----------------------------------------------------------- */

static unsigned char callers_bytes[GUEST_SIZE + 4096];

cuarena_config_t memory_config(int32_t memory)
{
    cuarena_config_t config;
    cuarena_config_init(&config);
    config.memory = memory;
    config.alignment = 256; /* what presets say */
    config.in_place = 1;
    config.bytes = callers_bytes;
    config.bytes_size = sizeof(callers_bytes);
    config.ops = &guest_table;
    config.ops_user = &guest;
    return config;
}

cuai_memory_t memory_opened(int32_t kind)
{
    cuarena_config_t config = memory_config(kind);
    cuai_memory_t memory = {0};
    expect_ok(cuai_memory_open(&config, &memory));
    return memory;
}

static cuai_memory_t memory_of_test;

static void end_memory(void)
{
    cuai_memory_close(&memory_of_test);
}

cuai_memory_t memory_kept(int32_t kind)
{
    memory_of_test = memory_opened(kind);
    after_test(end_memory);
    return memory_of_test;
}

cuarena_memory_segment_t memory_got(const cuai_memory_t *memory, uint64_t bytes, uint64_t reserve)
{
    cuarena_memory_segment_t segment = {0};
    expect_ok(memory->ops.get(memory->user, bytes, reserve, &segment));
    return segment;
}

void memory_give_back(const cuai_memory_t *memory, cuarena_memory_segment_t *segment)
{
    memory->ops.give_back(memory->user, segment);
}

unsigned char *memory_at(const cuarena_memory_segment_t *segment, uint64_t offset)
{
    return (unsigned char *)(uintptr_t)(segment->address + offset);
}
