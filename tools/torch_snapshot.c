#include "torch_snapshot.h"

#include <inttypes.h>
#include <stdio.h>

#include "pickle.h"

#define EXPECTED_RECORDING                                                                         \
    "expected one of a program that called torch.cuda.memory._record_memory_history()"

typedef struct reader {
    const char *name;
    const pickle_value_t *snapshot;
    int64_t device;
    const pickle_items_t *entries; /* of the device */
    size_t measured;               /* entries before the segments were looked at */
    const char *free_action;
    uint64_t reserved; /* before the entry that is next */
    recording_t recording;
    fault_t *fault;
} reader_t;

/* ---- Members of dicts ------------------------------------------------------- */

static const pickle_items_t no_items = {NULL, NULL, 0, 0};

static const pickle_items_t *list_in(const pickle_value_t *dict, const char *key)
{
    const pickle_value_t *value = pickle_find(dict, key);
    return value != NULL && value->kind == PICKLE_LIST ? value->items : &no_items;
}

/* A number that is not negative, or `otherwise`. */
static uint64_t count_in(const pickle_value_t *dict, const char *key, uint64_t otherwise)
{
    const pickle_value_t *value = pickle_find(dict, key);
    return value != NULL && value->kind == PICKLE_NUMBER && value->number >= 0
               ? (uint64_t)value->number
               : otherwise;
}

/* No size or address has as many bits. */
#define NO_COUNT UINT64_MAX

static bool is_action(const pickle_value_t *entry, const char *action)
{
    return pickle_is(pickle_find(entry, "action"), action);
}

/* ---- The device -------------------------------------------------------------- */

static size_t entry_count(const pickle_items_t *traces, size_t device)
{
    const pickle_value_t *trace = &traces->values[device];
    return trace->kind == PICKLE_LIST ? trace->items->count : 0;
}

/* "0, 2", of those that have entries; the last of them is `last_out`. */
static size_t list_devices(const pickle_items_t *traces, char *text, size_t room, size_t *last_out)
{
    size_t found = 0, used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < traces->count; i++) {
        if (entry_count(traces, i) == 0)
            continue;
        if (used < room)
            used += (size_t)snprintf(text + used, room - used, "%s%zu", found > 0 ? ", " : "", i);
        *last_out = i;
        found++;
    }
    return found;
}

static bool choose_device(reader_t *r)
{
    char devices[64];
    size_t device = 0;
    const pickle_items_t *traces = list_in(r->snapshot, "device_traces");
    size_t found = list_devices(traces, devices, sizeof devices, &device);
    if (found == 0)
        return fault_set(r->fault, "%s: no device has entries, " EXPECTED_RECORDING, r->name);
    if (r->device == TORCH_ANY_DEVICE && found > 1)
        return fault_set(r->fault, "%s: devices %s have entries, expected --device with one",
                         r->name, devices);
    if (r->device != TORCH_ANY_DEVICE)
        device = (size_t)r->device;
    if (device >= traces->count || entry_count(traces, device) == 0)
        return fault_set(r->fault,
                         "%s: device %zu has no entries, expected --device with one of %s", r->name,
                         device, devices);
    r->device = (int64_t)device;
    r->entries = traces->values[device].items;
    return true;
}

/* ---- What was reserved --------------------------------------------------------- */

/* What an entry adds to the bytes that are reserved, modulo 2^64. */
static uint64_t reserved_by(const pickle_value_t *entry)
{
    uint64_t size = count_in(entry, "size", 0);
    if (is_action(entry, "segment_alloc") || is_action(entry, "segment_map"))
        return size;
    return is_action(entry, "segment_free") || is_action(entry, "segment_unmap") ? 0 - size : 0;
}

static bool is_of_device(const reader_t *r, const pickle_value_t *segment)
{
    return count_in(segment, "device", 0) == (uint64_t)r->device;
}

static uint64_t reserved_at_end(const reader_t *r)
{
    uint64_t bytes = 0;
    const pickle_items_t *segments = list_in(r->snapshot, "segments");
    for (size_t i = 0; i < segments->count; i++)
        if (is_of_device(r, &segments->values[i]))
            bytes += count_in(&segments->values[i], "total_size", 0);
    return bytes;
}

/* The segments were looked at where the last entry of a snapshot is, or at the end. */
static void scan_entries(reader_t *r)
{
    bool completed = false;
    r->measured = r->entries->count;
    for (size_t i = 0; i < r->entries->count; i++) {
        const pickle_value_t *entry = &r->entries->values[i];
        completed = completed || is_action(entry, "free_completed");
        if (is_action(entry, "snapshot"))
            r->measured = i;
    }
    r->free_action = completed ? "free_completed" : "free_requested";
}

/* Goes back from where the segments were looked at to what was reserved before the first entry, and
 * sees to it that no entry takes away more than there is. Sums that do not come out say that
 * entries are missing: then what was reserved is not told. */
static void find_reserved(reader_t *r)
{
    uint64_t bytes = reserved_at_end(r);
    for (size_t i = 0; i < r->measured; i++)
        bytes -= reserved_by(&r->entries->values[i]);
    r->reserved = r->recording.reserved_before = bytes;
    bool good = bytes <= INT64_MAX;
    for (size_t i = 0; i < r->entries->count && good; i++) {
        bytes += reserved_by(&r->entries->values[i]);
        good = bytes <= INT64_MAX;
    }
    r->recording.allocator = good ? "pytorch" : NULL;
}

/* ---- Entries --------------------------------------------------------------------- */

static bool wrong_entry(const reader_t *r, size_t at, const char *key)
{
    return fault_set(r->fault, "%s: entry %zu of device %" PRId64 " has no '%s', expected one",
                     r->name, at, r->device, key);
}

static bool read_event(reader_t *r, size_t at, bool frees)
{
    const pickle_value_t *entry = &r->entries->values[at];
    recording_event_t event = {
        .address = count_in(entry, "addr", NO_COUNT),
        .size = count_in(entry, "size", NO_COUNT),
        .stream = count_in(entry, "stream", 0),
        .time_ns = count_in(entry, "time_us", 0) * 1000,
        .reserved = r->reserved,
    };
    if (event.address == NO_COUNT)
        return wrong_entry(r, at, "addr");
    if (event.size == NO_COUNT)
        return wrong_entry(r, at, "size");
    if (frees)
        recording_free(&r->recording, event);
    else
        recording_alloc(&r->recording, event);
    return true;
}

static bool is_passed_over(const pickle_value_t *entry)
{
    return is_action(entry, "free_requested") || is_action(entry, "snapshot");
}

static bool read_entry(reader_t *r, size_t at)
{
    const pickle_value_t *entry = &r->entries->values[at];
    uint64_t reserved = reserved_by(entry);
    r->reserved += reserved;
    if (pickle_find(entry, "action") == NULL)
        return wrong_entry(r, at, "action");
    if (is_action(entry, "alloc"))
        return read_event(r, at, false);
    if (is_action(entry, r->free_action))
        return read_event(r, at, true);
    if (is_action(entry, "oom"))
        r->recording.refused++;
    else if (reserved == 0 && !is_passed_over(entry))
        r->recording.others++;
    return true;
}

static bool read_entries(reader_t *r)
{
    for (size_t i = 0; i < r->entries->count; i++)
        if (!read_entry(r, i))
            return false;
    return true;
}

/* ---- Blocks that live at the end --------------------------------------------------- */

/* Blocks tile their segment. */
static void read_segment(reader_t *r, const pickle_value_t *segment)
{
    uint64_t address = count_in(segment, "address", 0);
    const pickle_items_t *blocks = list_in(segment, "blocks");
    for (size_t i = 0; i < blocks->count; i++) {
        const pickle_value_t *block = &blocks->values[i];
        uint64_t size = count_in(block, "size", 0);
        recording_event_t event = {
            .address = address,
            .size = count_in(block, "requested_size", size),
            .stream = count_in(segment, "stream", 0),
        };
        if (!pickle_is(pickle_find(block, "state"), "inactive"))
            recording_live(&r->recording, event);
        address += size;
    }
}

static void read_segments(reader_t *r)
{
    const pickle_items_t *segments = list_in(r->snapshot, "segments");
    for (size_t i = 0; i < segments->count; i++)
        if (is_of_device(r, &segments->values[i]))
            read_segment(r, &segments->values[i]);
}

/* ---- The whole ------------------------------------------------------------------------ */

static bool read_snapshot(reader_t *r)
{
    if (pickle_find(r->snapshot, "device_traces") == NULL)
        return fault_set(r->fault,
                         "%s: the pickle has no 'device_traces', expected a snapshot as "
                         "torch.cuda.memory._dump_snapshot() writes it",
                         r->name);
    if (!choose_device(r))
        return false;
    scan_entries(r);
    find_reserved(r);
    if (!read_entries(r))
        return false;
    read_segments(r);
    return true;
}

bool torch_snapshot_read(const char *name, const char *bytes, size_t length, int64_t device,
                         recording_t *recording_out, fault_t *fault)
{
    pickle_t pickle;
    if (!pickle_read(name, bytes, length, &pickle, fault))
        return false;
    reader_t r = {.name = name, .snapshot = &pickle.root, .device = device, .fault = fault};
    bool good = read_snapshot(&r);
    pickle_free(&pickle);
    if (good)
        *recording_out = r.recording;
    else
        recording_drop(&r.recording);
    return good;
}
