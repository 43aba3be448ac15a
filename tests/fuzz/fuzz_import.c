/*
 * Fuzz target: bytes are a snapshot of PyTorch if they begin as a pickle does, else a log of RMM.
 * What is read of either must be a trace: an id is allocated once, and freed once after that.
 * Aborts if not.
 */
#include "../../tools/pickle.h"
#include "../../tools/rmm_log.h"
#include "../../tools/torch_snapshot.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Where each id stands: NAME_... */
typedef struct states {
    uint8_t *of;
    uint32_t count;
    bool reserved; /* what was reserved is known */
} states_t;

static void check_event(states_t *states, const recording_event_t *event)
{
    uint8_t wanted = event->frees ? NAME_LIVE : NAME_NEW;
    if (event->id >= states->count || states->of[event->id] != wanted) {
        fprintf(stderr, "id %u of %u is %s in a wrong place\n", event->id, states->count,
                event->frees ? "freed" : "allocated");
        abort();
    }
    if (event->reserved > INT64_MAX && states->reserved) {
        fprintf(stderr, "id %u finds %llu bytes reserved\n", event->id,
                (unsigned long long)event->reserved);
        abort();
    }
    states->of[event->id] = event->frees ? NAME_FREED : NAME_LIVE;
}

static void check_recording(const recording_t *recording)
{
    states_t states = {.count = recording->ids, .reserved = recording->allocator != NULL};
    states.of = calloc(1, (size_t)states.count + 1);
    if (states.of == NULL)
        abort();
    for (size_t i = 0; i < recording->older.count; i++)
        check_event(&states, &recording->older.list[i]);
    for (size_t i = 0; i < recording->events.count; i++)
        check_event(&states, &recording->events.list[i]);
    free(states.of);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fault_t fault = {""};
    recording_t recording = {.ids = 0};
    const char *bytes = size > 0 ? (const char *)data : "";
    bool good =
        pickle_begins(bytes, size)
            ? torch_snapshot_read("snapshot", bytes, size, TORCH_ANY_DEVICE, &recording, &fault)
            : rmm_log_read("log", bytes, size, &recording, &fault);
    if (good == (fault.text[0] != '\0')) {
        fprintf(stderr, "read: %d, with the fault '%s'\n", good, fault.text);
        abort();
    }
    check_recording(&recording);
    recording_drop(&recording);
    return 0;
}
